/*-------------------------------------------------------------------------
 *
 * rebuild_shards.c
 *	  A rebuild of a table that Citus has distributed over nodes.
 *
 * A shard and its partner, a shard of the exposures, are ordinary tables of their node, and
 * are rebuilt there as such: by a call of bloom_rebuild() in a session of the same user.
 * Each node has one shard at a time, and all nodes work at the same time.
 *
 * A rebuild writes without the knowledge of Citus, which may be about to move the shard,
 * and has copied it already.  Nothing is lost then, because the filter that it has copied
 * contains all exposures, but that shard is as it was.  So when all are done, a statement
 * goes by way of Citus that changes nothing and waits for such moves and splits.  Shards
 * that are elsewhere after it, or new, are still to be done.
 *
 * A dry run goes the same way, from shard to shard, by calls of bloom_dry_run().
 *
 * Citus leaves out pg_catalog in the queries that it writes for the nodes, so another
 * function or type there could be taken for one of ours or of PostgreSQL's.  The only
 * such query here is that statement, which names neither.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "pgstat.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "feed/columns.h"
#include "feed/definition.h"
#include "feed/plans.h"
#include "feed/rebuild_plan.h"
#include "feed/rebuild_shards.h"
#include "feed/shards.h"

/* So many failures are named. */
#define NAMED_FAILURES 8

/* A shard that was rebuilt, or was not. */
typedef struct Outcome
{
	int64		shard;
	char	   *node;
	int32		port;
	char	   *error;			/* or NULL */
} Outcome;

/* What came of a shard where it is, or NULL. */
static const Outcome *
find_result(List *results, const BloomShard *shard)
{
	ListCell   *cell;

	foreach (cell, results)
	{
		const Outcome *result = lfirst(cell);

		if (result->shard == shard->id && result->port == shard->port &&
			strcmp(result->node, shard->node) == 0)
			return result;
	}
	return NULL;
}

/* The first shard of each node that is still to be done. */
static List *
choose(List *shards, List *results)
{
	List	   *chosen = NIL;
	ListCell   *cell;

	foreach (cell, shards)
	{
		const BloomShard *shard = lfirst(cell);
		bool		busy = find_result(results, shard) != NULL;
		ListCell   *other;

		foreach (other, chosen)
		{
			const BloomShard *first = lfirst(other);

			busy |= first->port == shard->port && strcmp(first->node, shard->node) == 0;
		}
		if (!busy)
			chosen = lappend(chosen, lfirst(cell));
	}
	return chosen;
}

/* The message of an error without its level. */
static char *
get_message(const char *result)
{
	const char *message = result ? result : "";

	if (strncmp(message, "ERROR:", 6) == 0)
		message += 6;

	while (*message == ' ')
		message++;
	return pstrdup(message);
}

/* Keep what a dry run of a shard has counted; returns false if that cannot be read. */
static bool
add_counts(BloomRebuild *rebuild, const char *result, double *seconds)
{
	unsigned long long exposures;
	unsigned long long users;
	unsigned long long bytes;
	unsigned long long others;

	if (sscanf(result ? result : "", "%llu %llu %llu %llu %lf", &exposures, &users, &bytes, &others, seconds) != 5)
		return false;
	rebuild->exposures += exposures;
	rebuild->built += users;
	rebuild->bytes += bytes;
	rebuild->others += others;
	return true;
}

/* A statement that does a shard. */
static char *
write_command(FunctionCallInfo fcinfo, const BloomRebuild *rebuild, Oid function, const BloomShard *shard)
{
	char	   *call = bloomexp_rebuild_plan_write_call(fcinfo, rebuild, function, shard->target, shard->source);

	return !rebuild->dry_run ? psprintf("CALL %s", call) :
		psprintf("SELECT pg_catalog.concat_ws(' ', d.exposures, d.filters, d.bytes, d.others, d.seconds) FROM %s AS d", call);
}

/* Do some shards, each on a node of its own. */
static void
do_some(FunctionCallInfo fcinfo, BloomRebuild *rebuild, Oid function, List *chosen, List *nodes, List **results)
{
	List	   *commands = NIL;
	ListCell   *cell;
	int			next = 0;
	MemoryContext caller;

	foreach (cell, chosen)
	{
		const BloomShard *shard = lfirst(cell);
		BloomNodeCommand *command = palloc0(sizeof(BloomNodeCommand));

		if (bloomexp_shards_find_node(nodes, shard)->problem != NULL)
			continue;
		command->node = shard->node;
		command->port = shard->port;
		command->command = write_command(fcinfo, rebuild, function, shard);
		commands = lappend(commands, command);
	}
	bloomexp_shards_run(commands);
	caller = MemoryContextSwitchTo(rebuild->context);
	foreach (cell, chosen)
	{
		const BloomShard *shard = lfirst(cell);
		BloomNode  *node = bloomexp_shards_find_node(nodes, shard);
		const BloomNodeCommand *command = node->problem ? NULL : list_nth(commands, next++);
		char	   *error = node->problem;
		double		seconds = 0;
		Outcome	   *result = palloc(sizeof(Outcome));

		if (command != NULL && (!command->success ||
								(rebuild->dry_run && !add_counts(rebuild, command->result, &seconds))))
			error = get_message(command->result);
		/* the nodes work at the same time */
		node->seconds += seconds;
		rebuild->seconds = Max(rebuild->seconds, node->seconds);
		*result = (Outcome) {
			.shard = shard->id,
			.node = node->name,
			.port = node->port,
			.error = error
		};
		*results = lappend(*results, result);
	}
	MemoryContextSwitchTo(caller);
}

/*
 * Wait for shards that are being moved or split now: by a statement that Citus holds up
 * meanwhile as it does all that write, on a node that has just answered.
 */
static void
wait_for_moves(const BloomRebuild *rebuild, List *results)
{
	const char *column = quote_identifier(rebuild->filter_column);
	BloomNodeCommand command = {NULL};
	ListCell   *cell;

	foreach (cell, results)
	{
		const Outcome *result = lfirst(cell);

		if (result->error == NULL)
		{
			command.node = result->node;
			command.port = result->port;
		}
	}
	if (command.node == NULL)
		return;
	command.command = psprintf("UPDATE %s AS f SET %s = f.%s WHERE CURRENT_TIMESTAMP IS NULL",
							   rebuild->key.table_sql, column, column);
	bloomexp_shards_run(list_make1(&command));
	if (!command.success)
		ereport(WARNING,
				(errmsg("shards of table \"%s\" may have been moved or split during the rebuild", rebuild->target_name),
				 errdetail("That could not be found out: %s", get_message(command.result)),
				 errhint("Rebuild again after a move or a split.")));
}

/* Complain about the shards that were not rebuilt. */
static void
report_failures(BloomRebuild *rebuild, List *shards, List *results)
{
	StringInfoData detail;
	int			failed = 0;
	ListCell   *cell;

	initStringInfo(&detail);
	foreach (cell, shards)
	{
		const BloomShard *shard = lfirst(cell);
		const Outcome *result = find_result(results, shard);

		if (result == NULL || result->error == NULL)
			continue;
		if (failed++ < NAMED_FAILURES)
			appendStringInfo(&detail, "%sShard %s on %s:%d: %s", failed > 1 ? "\n" : "", shard->target, shard->node,
							 shard->port, result->error);
	}
	rebuild->shards = list_length(shards) - failed;
	if (failed > 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 rebuild->dry_run ?
				 errmsg("%d of %d shards of table \"%s\" cannot be rebuilt", failed, list_length(shards), rebuild->target_name) :
				 errmsg("%d of %d shards of table \"%s\" were not rebuilt", failed, list_length(shards), rebuild->target_name),
				 errdetail("%s", detail.data),
				 rebuild->dry_run ? 0 : errhint("The others are done. Call bloom_rebuild() again.")));
}

/* The users for whom a call is, or NULL: all. */
static ArrayType *
get_users(const BloomRebuild *rebuild)
{
	const BloomUsers *users = &rebuild->users;

	return !rebuild->given ? NULL :
		DatumGetArrayTypeP(bloomexp_columns_make_users(&rebuild->key, users->values, users->n));
}

/* Tell of nodes that have another version of the extension. */
static void
warn_of_versions(List *nodes)
{
	char	   *version = bloomexp_shards_version();
	ListCell   *cell;

	foreach (cell, nodes)
	{
		const BloomNode *node = lfirst(cell);

		if (node->version != NULL && strcmp(node->version, version) != 0)
			ereport(WARNING,
					(errmsg("node %s:%d has version %s of bloomexp, and this node has version %s", node->name,
							node->port, node->version, version),
					 errhint("Install the same release on all nodes, then execute ALTER EXTENSION bloomexp UPDATE.")));
	}
}

/*
 * bloomexp_rebuild_shards_do
 *		Rebuild all shards, or those of some users, or count what that would write, by
 *		calls of a function on their nodes.
 */
void
bloomexp_rebuild_shards_do(FunctionCallInfo fcinfo, BloomRebuild *rebuild, Oid function)
{
	ArrayType  *users = get_users(rebuild);
	List	   *results = NIL;
	List	   *nodes = NIL;
	int			waited_for = 0;

	for (;;)
	{
		List	   *shards;
		List	   *chosen;

		MemoryContextReset(rebuild->batch);
		if (!rebuild->dry_run)
			bloomexp_rebuild_plan_next_transaction();
		MemoryContextSwitchTo(rebuild->batch);
		bloomexp_rebuild_plan_begin(rebuild);
		shards = bloomexp_shards_list(rebuild->target, rebuild->definition.source, users);
		MemoryContextSwitchTo(rebuild->context);
		bloomexp_shards_check_nodes(&nodes, shards, function);
		MemoryContextSwitchTo(rebuild->batch);
		chosen = choose(shards, results);
		pgstat_report_activity(STATE_RUNNING,
							   psprintf("bloom_rebuild: %d of %d shards%s (%s)", list_length(results),
										list_length(shards), rebuild->which, rebuild->target_name));
		if (chosen != NIL)
			do_some(fcinfo, rebuild, function, chosen, nodes, &results);
		else if (!rebuild->dry_run && waited_for < list_length(results))
		{
			waited_for = list_length(results);
			wait_for_moves(rebuild, results);
		}
		else
		{
			report_failures(rebuild, shards, results);
			break;
		}
	}
	MemoryContextSwitchTo(rebuild->context);
	if (rebuild->dry_run)
		warn_of_versions(nodes);
}
