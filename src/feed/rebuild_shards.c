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
#include "feed/triggers.h"

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

/* Rebuild some shards, each on a node of its own. */
static void
rebuild_some(BloomRebuild *rebuild, const char *procedure, const char *arguments, List *chosen,
			 List **results)
{
	List	   *commands = NIL;
	ListCell   *cell;
	MemoryContext caller;

	foreach (cell, chosen)
	{
		const BloomShard *shard = lfirst(cell);
		BloomNodeCommand *command = palloc0(sizeof(BloomNodeCommand));

		command->node = shard->node;
		command->port = shard->port;
		command->command = psprintf("CALL %s(%s::pg_catalog.regclass, source => %s::pg_catalog.regclass%s)",
									procedure, quote_literal_cstr(shard->target),
									quote_literal_cstr(shard->source), arguments);
		commands = lappend(commands, command);
	}
	bloomexp_shards_run(commands);
	caller = MemoryContextSwitchTo(rebuild->context);
	for (int i = 0; i < list_length(chosen); i++)
	{
		const BloomShard *shard = list_nth(chosen, i);
		const BloomNodeCommand *command = list_nth(commands, i);
		Outcome	   *result = palloc(sizeof(Outcome));

		*result = (Outcome) {
			.shard = shard->id,
			.node = pstrdup(shard->node),
			.port = shard->port,
			.error = command->success ? NULL : get_message(command->result)
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
	command.command = psprintf("UPDATE %s AS f SET %s = f.%s WHERE f.ctid OPERATOR(pg_catalog.=) '(0,0)'::pg_catalog.tid",
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
				 errmsg("%d of %d shards of table \"%s\" were not rebuilt", failed, list_length(shards), rebuild->target_name),
				 errdetail("%s", detail.data),
				 errhint("The others are done. Call bloom_rebuild() again.")));
}

/* The users for whom a call is, or NULL: all. */
static ArrayType *
get_users(const BloomRebuild *rebuild)
{
	const BloomUsers *users = &rebuild->users;

	return !rebuild->given ? NULL :
		DatumGetArrayTypeP(bloomexp_columns_make_users(&rebuild->key, users->values, users->n));
}

/*
 * bloomexp_rebuild_shards_do
 *		Rebuild all shards, or those of some users.
 */
void
bloomexp_rebuild_shards_do(FunctionCallInfo fcinfo, BloomRebuild *rebuild)
{
	ArrayType  *users = get_users(rebuild);
	char	   *arguments = bloomexp_rebuild_plan_write_call(fcinfo, rebuild);
	List	   *results = NIL;
	int			waited_for = 0;
	BloomExtension extension;
	char	   *procedure;

	bloomexp_triggers_find_extension(fcinfo->flinfo->fn_oid, &extension);
	procedure = bloomexp_triggers_object(&extension, "bloom_rebuild");
	for (;;)
	{
		List	   *shards;
		List	   *chosen;

		MemoryContextReset(rebuild->batch);
		bloomexp_rebuild_plan_next_transaction();
		MemoryContextSwitchTo(rebuild->batch);
		bloomexp_rebuild_plan_begin(rebuild);
		shards = bloomexp_shards_list(rebuild->target, rebuild->definition.source, users);
		chosen = choose(shards, results);
		pgstat_report_activity(STATE_RUNNING,
							   psprintf("bloom_rebuild: %d of %d shards%s (%s)", list_length(results),
										list_length(shards), rebuild->which, rebuild->target_name));
		if (chosen != NIL)
			rebuild_some(rebuild, procedure, arguments, chosen, &results);
		else if (waited_for < list_length(results))
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
}

/* The users of a call, as a condition. */
static char *
write_users(const BloomRebuild *rebuild, const char *user)
{
	StringInfoData condition;

	initStringInfo(&condition);
	if (rebuild->given)
		appendStringInfo(&condition, " AND %s %s ANY ($2)", user, rebuild->key.equal_sql);
	if (rebuild->has_last)
		appendStringInfo(&condition, " AND %s %s $3", user, rebuild->key.greater_sql);
	if (rebuild->parts > 1)
		appendStringInfo(&condition, " AND (pg_catalog.hash_array_extended(ARRAY[%s], 0) OPERATOR(pg_catalog.&) " INT64_FORMAT "::pg_catalog.int8) OPERATOR(pg_catalog.%%) %d OPERATOR(pg_catalog.=) %d",
						 user, PG_INT64_MAX, rebuild->parts, rebuild->part - 1);
	return condition.data;
}

/* The filter of a user's exposures, as an aggregate. */
static char *
write_filter(const BloomRebuild *rebuild, const BloomExtension *extension)
{
	const BloomDefinition *definition = &rebuild->definition;
	double		fpr = bloomexp_definition_rebuilt_fpr(definition);

	return definition->slices > 0 ?
		psprintf("%s(%s(%s, %s, $4, %d, %.17g::pg_catalog.float8), $5)", bloomexp_triggers_object(extension, "bloom_expire"),
				 bloomexp_triggers_object(extension, "bloom_window_agg"), rebuild->item_sql,
				 rebuild->time_sql, definition->slices, fpr) :
		psprintf("%s(%s, %.17g::pg_catalog.float8, %.17g::pg_catalog.float8)", bloomexp_triggers_object(extension, "bloom_agg"),
				 rebuild->item_sql, fpr, definition->headroom);
}

/*
 * Refuse functions that others have put into the schema of the extension, on any node.
 *
 * Citus passes a query on as a text, in which an aggregate of all types of items gives way
 * to one of the name that has just the type of these.
 */
static void
refuse_planted(const BloomExtension *extension, List *shards)
{
	char	   *sql = psprintf("SELECT pg_catalog.count(*)::pg_catalog.text FROM pg_catalog.pg_proc AS p JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) p.pronamespace "
							   "WHERE n.nspname OPERATOR(pg_catalog.=) %s AND p.proname OPERATOR(pg_catalog.=) ANY ('{bloom_agg,bloom_window_agg,bloom_expire}'::pg_catalog.name[]) "
							   "AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend AS d JOIN pg_catalog.pg_extension AS e ON e.oid OPERATOR(pg_catalog.=) d.refobjid "
							   "WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.objid OPERATOR(pg_catalog.=) p.oid "
							   "AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass AND e.extname OPERATOR(pg_catalog.=) 'bloomexp')",
							   quote_literal_cstr(extension->schema_name));
	List	   *commands = NIL;
	bool		planted;
	ListCell   *cell;

	bloomexp_plans_expect(SPI_execute(sql, true, 0), SPI_OK_SELECT, "SPI_execute");
	planted = strcmp(SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1), "0") != 0;
	foreach (cell, choose(shards, NIL))
	{
		const BloomShard *shard = lfirst(cell);
		BloomNodeCommand *command = palloc0(sizeof(BloomNodeCommand));

		command->node = shard->node;
		command->port = shard->port;
		command->command = sql;
		commands = lappend(commands, command);
	}
	bloomexp_shards_run(commands);
	foreach (cell, commands)
	{
		const BloomNodeCommand *command = lfirst(cell);

		if (!command->success || command->result == NULL)
			elog(ERROR, "node %s:%d did not answer: %s", command->node, command->port,
				 get_message(command->result));
		planted |= strcmp(command->result, "0") != 0;
	}
	if (planted)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("schema \"%s\" has functions that could be called in place of those of the extension",
						extension->schema_name),
				 errhint("Drop each bloom_agg, bloom_window_agg and bloom_expire there that is not the extension's, and revoke CREATE on the schema.")));
}

/*
 * bloomexp_rebuild_shards_count
 *		Count what a rebuild would write, by one query that each shard answers for itself.
 */
void
bloomexp_rebuild_shards_count(Oid procedure, BloomRebuild *rebuild)
{
	const BloomKey *key = &rebuild->key;
	char	   *exposures;
	ArrayType  *users = get_users(rebuild);
	Oid			types[] = {
		TIMESTAMPTZOID, get_array_type(key->type), key->type, INTERVALOID, TIMESTAMPTZOID
	};
	Datum		arguments[] = {
		bloomexp_rebuild_plan_start(rebuild), PointerGetDatum(users), rebuild->last,
		IntervalPGetDatum(rebuild->definition.width),
		TimestampTzGetDatum(bloomexp_rebuild_plan_at(rebuild))
	};
	uint64	   *counts[] = {&rebuild->exposures, &rebuild->built, &rebuild->bytes, &rebuild->others};
	BloomExtension extension;
	List	   *shards = bloomexp_shards_list(rebuild->target, rebuild->definition.source, users);
	char	   *sql;

	bloomexp_triggers_find_extension(procedure, &extension);
	bloomexp_rebuild_plan_set_formats();
	refuse_planted(&extension, shards);
	exposures = psprintf("FROM %s AS e WHERE e.%s OPERATOR(pg_catalog.>=) $1 AND %s", rebuild->source_sql,
						 quote_identifier(rebuild->definition.time_column), rebuild->is_exposure_sql);
	sql = psprintf("SELECT s.n::pg_catalog.int8, s.users, s.bytes::pg_catalog.int8, o.n FROM "
				   "(SELECT COALESCE(pg_catalog.sum(u.n), 0) AS n, pg_catalog.count(*) AS users, COALESCE(pg_catalog.sum(u.bytes), 0) AS bytes FROM "
				   "(SELECT pg_catalog.count(*) AS n, pg_catalog.pg_column_size(%s)::pg_catalog.int8 AS bytes %s%s GROUP BY e.%s) AS u) AS s, "
				   "(SELECT pg_catalog.count(*) AS n FROM %s AS f WHERE NOT EXISTS (SELECT %s AND %s %s %s)%s) AS o",
				   write_filter(rebuild, &extension), exposures, write_users(rebuild, rebuild->user_sql),
				   quote_identifier(rebuild->definition.user_column), key->table_sql, exposures,
				   rebuild->user_sql, key->equal_sql, key->compared_sql,
				   write_users(rebuild, key->compared_sql));
	bloomexp_plans_expect(SPI_execute_with_args(sql, lengthof(types), types, arguments,
												psprintf(" %c%c  ", users ? ' ' : 'n',
														 rebuild->has_last ? ' ' : 'n'), true, 0),
						  SPI_OK_SELECT, "SPI_execute_with_args");
	for (int i = 0; i < (int) lengthof(counts); i++)
	{
		bool		isnull;

		*counts[i] = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, i + 1,
												 &isnull));
	}
	rebuild->shards = list_length(shards);
}
