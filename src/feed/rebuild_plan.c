/*-------------------------------------------------------------------------
 *
 * rebuild_plan.c
 *	  What a rebuild is to do: its arguments, checked, and its statements.
 *
 * Users are values of their own type in all of them.  A text of the caller's becomes one
 * by the type's input function, never by a cast, which the type's owner could make.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_inherits.h"
#include "common/hashfn.h"
#include "pgstat.h"
#include "tcop/pquery.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "feed/columns.h"
#include "feed/condition.h"
#include "feed/definition.h"
#include "feed/exposures.h"
#include "feed/plans.h"
#include "feed/rebuild_plan.h"
#include "feed/shards.h"
#include "feed/triggers.h"
#include "sql/arguments.h"
#include "value/compat.h"

/* The arguments that are no settings. */
#define ARGUMENT_TARGET 0
#define ARGUMENT_FILTER_COLUMN 1
#define ARGUMENT_SOURCE 2
#define ARGUMENT_BATCH_SIZE 10
#define ARGUMENT_PAUSE 11
#define ARGUMENT_START_AFTER 12
#define ARGUMENT_REBUILT_AT_COLUMN 13
#define ARGUMENT_DRY_RUN 14
#define ARGUMENT_AT 16
#define ARGUMENT_USERS 19
#define ARGUMENT_PART 20
#define ARGUMENT_PARTS 21

#define MAX_PARTS 1000

/* Set a setting until the end of the transaction. */
void
bloomexp_rebuild_plan_set_locally(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0, false);
}

/* Let values be written as every other session reads them, until the end of the transaction. */
static void
set_formats(void)
{
	bloomexp_rebuild_plan_set_locally("datestyle", "ISO");
	bloomexp_rebuild_plan_set_locally("intervalstyle", "iso_8601");
	bloomexp_rebuild_plan_set_locally("extra_float_digits", "3");
}

/* Begin a transaction in the place of the last one. */
void
bloomexp_rebuild_plan_next_transaction(void)
{
	SPI_commit();
	SPI_start_transaction();
	bloomexp_rebuild_plan_set_locally("transaction_isolation", "read committed");
}

/* The end of the window: all of a batch is of one time. */
TimestampTz
bloomexp_rebuild_plan_at(const BloomRebuild *rebuild)
{
	return rebuild->has_at ? rebuild->at : GetCurrentTransactionStartTimestamp();
}

/* The start of the window, in UTC: a day has 24 hours, and not 23 on some. */
Datum
bloomexp_rebuild_plan_start(const BloomRebuild *rebuild)
{
	Datum		zone = CStringGetTextDatum("UTC");
	Datum		at = DirectFunctionCall2(timestamptz_zone, zone,
										 TimestampTzGetDatum(bloomexp_rebuild_plan_at(rebuild)));

	at = DirectFunctionCall2(timestamp_mi_interval, at, IntervalPGetDatum(rebuild->definition.width));
	return DirectFunctionCall2(timestamp_zone, zone, at);
}

/* An integer argument, or what stands for NULL. */
static int32
get_integer(FunctionCallInfo fcinfo, int argument, int32 initial)
{
	return PG_ARGISNULL(argument) ? initial : PG_GETARG_INT32(argument);
}

/* Read the arguments that need no definition. */
static void
read_arguments(FunctionCallInfo fcinfo, BloomRebuild *rebuild)
{
	if (PG_ARGISNULL(ARGUMENT_TARGET))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("target must not be null")));
	rebuild->target = PG_GETARG_OID(ARGUMENT_TARGET);
	rebuild->batch_size = get_integer(fcinfo, ARGUMENT_BATCH_SIZE, 0);
	if (rebuild->batch_size < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("batch_size must be at least 1")));
	rebuild->has_at = !PG_ARGISNULL(ARGUMENT_AT);
	if (rebuild->has_at)
	{
		rebuild->at = PG_GETARG_TIMESTAMPTZ(ARGUMENT_AT);
		if (TIMESTAMP_NOT_FINITE(rebuild->at))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("at must be finite")));
	}
	rebuild->part = get_integer(fcinfo, ARGUMENT_PART, 1);
	rebuild->parts = get_integer(fcinfo, ARGUMENT_PARTS, 1);
	if (rebuild->parts < 1 || rebuild->parts > MAX_PARTS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("parts must be from 1 to %d", MAX_PARTS)));
	if (rebuild->part < 1 || rebuild->part > rebuild->parts)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("part must be from 1 to parts, which is %d", rebuild->parts)));
	rebuild->given = !PG_ARGISNULL(ARGUMENT_USERS);
	if (rebuild->parts > 1 && rebuild->given)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("users and parts cannot be given together"),
				 errhint("Rebuild the filters of some users in one call, without parts.")));
	rebuild->which = rebuild->parts > 1 ? psprintf(", part %d of %d", rebuild->part, rebuild->parts) : "";
	rebuild->pause = PG_ARGISNULL(ARGUMENT_PAUSE) ? 0.0 :
		DatumGetFloat8(DirectFunctionCall2(interval_part, CStringGetTextDatum("epoch"),
										   PG_GETARG_DATUM(ARGUMENT_PAUSE)));
	/* (a negative one is none, also for the estimate of a dry run) */
	rebuild->pause = Max(rebuild->pause, 0.0);
	rebuild->dry_run |= !PG_ARGISNULL(ARGUMENT_DRY_RUN) && PG_GETARG_BOOL(ARGUMENT_DRY_RUN);
	if (!PG_ARGISNULL(ARGUMENT_REBUILT_AT_COLUMN))
		rebuild->rebuilt_at_column = pstrdup(NameStr(*PG_GETARG_NAME(ARGUMENT_REBUILT_AT_COLUMN)));
}

/* Complain about what neither the call nor a trigger says. */
static void
require_complete(const BloomRebuild *rebuild)
{
	const BloomDefinition *definition = &rebuild->definition;
	const struct
	{
		const char *name;
		bool		missing;
	}			arguments[] = {
		{"source", !OidIsValid(definition->source)},
		{"user_column", definition->user_column == NULL},
		{"item_column", definition->item_column == NULL},
		{"time_column", definition->time_column == NULL}
	};
	StringInfoData missing;

	initStringInfo(&missing);
	for (int i = 0; i < (int) lengthof(arguments); i++)
	{
		if (arguments[i].missing)
			appendStringInfo(&missing, "%s%s", missing.len > 0 ? ", " : "", arguments[i].name);
	}
	if (missing.len == 0)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("arguments of bloom_rebuild() are missing: %s", missing.data),
			 definition->trigger != NULL ? errdetail("Trigger %s is not given time=....", definition->trigger) :
			 definition->ignored != NULL ?
			 errdetail("Trigger %s does not count, because the owner of that table does not have the privileges of the owner of table \"%s\".",
					   definition->ignored, get_rel_name(rebuild->target)) :
			 errdetail("No trigger on bloom_track() adds to column \"%s\" of table \"%s\".",
					   rebuild->filter_column, get_rel_name(rebuild->target)),
			 definition->trigger != NULL ?
			 errhint("Name the column of the times of the exposures, in the trigger or in the call.") :
			 errhint("Name the table of the exposures and its columns of users, items and times.")));
}

/* Has the table of filters columns that are not the rebuild's? */
static bool
has_further_columns(const BloomRebuild *rebuild)
{
	const char *ours[] = {rebuild->filter_column, rebuild->key.column, rebuild->rebuilt_at_column,
						  rebuild->definition.live_column};
	Relation	relation = table_open(rebuild->target, AccessShareLock);
	TupleDesc	columns = RelationGetDescr(relation);
	bool		further = false;

	for (int i = 0; i < columns->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(columns, i);
		bool		is_ours = column->attisdropped;

		for (int j = 0; j < (int) lengthof(ours); j++)
			is_ours |= ours[j] != NULL && strcmp(NameStr(column->attname), ours[j]) == 0;
		further |= !is_ours;
	}
	table_close(relation, NoLock);
	return further;
}

/*
 * Can the users who have exposures be found by a walk from one to the next along an index?
 * Otherwise all exposures are read.  That is also better with partitions, or tables that
 * inherit, each of which would take a look for each user.
 */
static bool
can_walk(Oid source, const char *user_column)
{
	return get_rel_relkind(source) == RELKIND_RELATION && !has_subclass(source) &&
		bloomexp_columns_has_index(source, user_column);
}

/* Is a type one of integers, which have operators that compare all of them? */
static bool
is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

/* The table of exposures in statements, where it is "e". */
typedef struct Source
{
	char	   *user;
	char	   *compared;		/* user, as it is compared with the key */
	char	   *cast;			/* of what it is compared with */
	char	   *item;
	char	   *time;
	char	   *is_exposure;	/* condition on a row */
	char	   *in_window;		/* FROM and WHERE, up to the start of the window */
} Source;

/* Write the parts of statements that read the exposures. */
static void
write_source(BloomRebuild *rebuild, Source *source)
{
	const BloomDefinition *definition = &rebuild->definition;
	const BloomKey *key = &rebuild->key;
	const Node *user = rebuild->columns.user;
	Oid			table = definition->source;
	Oid			user_type = getBaseType(get_atttype(table, get_attnum(table, definition->user_column)));
	bool		both_integers = is_integer(user_type) && is_integer(key->type);

	source->user = bloomexp_condition_write(table, rebuild->columns.user);
	source->item = bloomexp_condition_write(table, rebuild->columns.item);
	source->time = bloomexp_condition_write(table, rebuild->columns.time);

	/* A cast keeps an index from being used, and integers have operators for each two of them. */
	source->compared = both_integers ? psprintf("e.%s", quote_identifier(definition->user_column)) :
		psprintf("%s::%s", source->user, key->type_sql);
	source->cast = both_integers ? "" : psprintf("::%s", key->type_sql);
	rebuild->walks = can_walk(table, definition->user_column) &&
		(both_integers || IsA(user, Var) || (IsA(user, RelabelType) && user_type == key->type));
	ereport(DEBUG1, (errmsg_internal("bloom_rebuild() finds users by %s", rebuild->walks ? "a walk along an index" : "all exposures")));

	source->is_exposure = psprintf("%s IS NOT NULL AND %s IS NOT NULL AND %s IS NOT NULL%s",
								   source->user, source->item, source->time,
								   definition->condition == NULL ? "" :
									   psprintf(" AND (%s)", bloomexp_condition_write(table,
										   bloomexp_condition_parse(table, definition->condition))));
	rebuild->source_name = get_rel_name(table);
	rebuild->source_sql = bloomexp_columns_table_sql(table);
	source->in_window = psprintf("FROM %s AS e WHERE e.%s OPERATOR(pg_catalog.>=) ", rebuild->source_sql,
								 quote_identifier(definition->time_column));
}

/* Write the statement that finds the next users who have rows or exposures, from the first or after one. */
static char *
write_find(const BloomRebuild *rebuild, const Source *source, bool after)
{
	const BloomKey *key = &rebuild->key;
	char	   *found;
	char	   *found_after = !after ? "" :
		psprintf(" AND %s %s $3%s", source->compared, key->greater_sql, source->cast);
	char	   *row_after = !after ? "" :
		psprintf(" AND %s %s $3::%s", key->compared_sql, key->greater_sql, key->type_sql);

	if (rebuild->walks)
		found = psprintf("WITH RECURSIVE walk AS ("
						 "(SELECT %s AS u, 1 AS nth %s $2 AND %s%s ORDER BY 1 LIMIT 1) "
						 "UNION ALL SELECT n.u, w.nth OPERATOR(pg_catalog.+) 1 FROM walk AS w "
						 "CROSS JOIN LATERAL (SELECT %s AS u %s $2 AND %s AND %s %s w.u ORDER BY 1 LIMIT 1) AS n "
						 "WHERE w.nth OPERATOR(pg_catalog.<) $1) SELECT w.u::%s FROM walk AS w",
						 source->compared, source->in_window, source->is_exposure, found_after,
						 source->compared, source->in_window, source->is_exposure, source->compared,
						 key->greater_sql, key->type_sql);
	else
		found = psprintf("SELECT DISTINCT %s::%s %s $2 AND %s%s ORDER BY 1 LIMIT $1", source->compared,
						 key->type_sql, source->in_window, source->is_exposure, found_after);
	return psprintf("(SELECT %s AS u FROM %s AS f WHERE f.%s IS NOT NULL%s ORDER BY 1 LIMIT $1) UNION (%s) ORDER BY 1 LIMIT $1",
					key->compared_sql, key->table_sql, key->column_sql, row_after, found);
}

/* Write the statements that change the filters. */
static void
write_changes(BloomRebuild *rebuild, const BloomExtension *extension)
{
	const BloomKey *key = &rebuild->key;
	const char *filter = quote_identifier(rebuild->filter_column);
	const char *live_column = rebuild->definition.live_column;
	const char *live = live_column ? quote_identifier(live_column) : NULL;
	const char *rebuilt_at = rebuild->rebuilt_at_column ? quote_identifier(rebuild->rebuilt_at_column) : NULL;
	char	   *now = rebuilt_at ? psprintf(", %s = pg_catalog.now()", rebuilt_at) : "";

	/* (so that a join need not read all rows) */
	char	   *of_users = psprintf("%s %s ANY ($1::%s[])", key->compared_sql, key->equal_sql, key->type_sql);

	/*
	 * A live filter has nothing that the exposures lack, once its row is locked: it is
	 * emptied.  What is there already need not be written.
	 */
	char	   *emptied = live ? psprintf(", %s = NULL", live) : "";
	char	   *or_live = live ? psprintf(" OR f.%s IS NOT NULL", live) : "";
	char	   *unchanged = rebuilt_at ? "" :
		psprintf(" AND (f.%s IS NULL OR f.%s OPERATOR(%s.<>) n.c%s)", filter, filter,
				 quote_identifier(extension->schema_name), or_live);

	rebuild->sql[BLOOM_REBUILD_WRITE] =
		psprintf("UPDATE %s AS f SET %s = n.c%s%s FROM unnest($1, $2) AS n (u, c) WHERE %s %s n.u::%s AND %s%s",
				 key->table_sql, filter, now, emptied, key->compared_sql, key->equal_sql, key->type_sql,
				 of_users, unchanged);
	rebuild->sql[BLOOM_REBUILD_WRITE_NEW] =
		psprintf("INSERT INTO %s AS f (%s, %s%s) SELECT n.u, n.c%s FROM unnest($1, $2) WITH ORDINALITY AS n (u, c, i) ORDER BY n.i "
				 "ON CONFLICT (%s) DO UPDATE SET %s = %s(f.%s, excluded.%s)%s",
				 key->table_sql, key->column_sql, filter, rebuilt_at ? psprintf(", %s", rebuilt_at) : "",
				 rebuilt_at ? ", pg_catalog.now()" : "", key->column_sql, filter,
				 bloomexp_triggers_object(extension, "bloom_union"), filter, filter, now);

	/* A row may be deleted if it has nothing else of the user than the filter. */
	rebuild->keeps_rows = has_further_columns(rebuild);
	if (rebuild->keeps_rows)
		bloomexp_columns_require_nullable(rebuild->target, rebuild->filter_column,
										  "The table has further columns, so a row is kept without a filter if its user has no exposure left.");
	rebuild->sql[BLOOM_REBUILD_REMOVE] =
		psprintf("%s WHERE %s",
				 !rebuild->keeps_rows ? psprintf("DELETE FROM %s AS f", key->table_sql) :
					 psprintf("UPDATE %s AS f SET %s = NULL%s", key->table_sql, filter, emptied), of_users);
	if (rebuild->keeps_rows)
		rebuild->sql[BLOOM_REBUILD_REMOVE] = psprintf("%s AND (f.%s IS NOT NULL%s)",
													  rebuild->sql[BLOOM_REBUILD_REMOVE], filter, or_live);
}

/* Write the statements. */
static void
write_statements(BloomRebuild *rebuild, const BloomExtension *extension)
{
	const BloomKey *key = &rebuild->key;
	char	   *locked = psprintf("SELECT %s FROM %s AS f WHERE %s %s ANY ($1::%s[]) ORDER BY 1", key->compared_sql,
								  key->table_sql, key->compared_sql, key->equal_sql, key->type_sql);
	Source		source;

	rebuild->target_name = get_rel_name(rebuild->target);
	write_changes(rebuild, extension);
	write_source(rebuild, &source);
	rebuild->sql[BLOOM_REBUILD_FIRST_USERS] = write_find(rebuild, &source, false);
	rebuild->sql[BLOOM_REBUILD_NEXT_USERS] = write_find(rebuild, &source, true);
	rebuild->sql[BLOOM_REBUILD_PRESENT] = locked;
	rebuild->sql[BLOOM_REBUILD_LOCK_FREE] = psprintf("%s FOR UPDATE SKIP LOCKED", locked);
	rebuild->sql[BLOOM_REBUILD_LOCK_ALL] = psprintf("%s FOR UPDATE", locked);
	rebuild->sql[BLOOM_REBUILD_EXPOSURES] =
		psprintf("SELECT %s, %s%s %s $1 AND %s AND %s %s ANY ($2%s)", source.user, source.item,
				 rebuild->definition.slices > 0 ? psprintf(", %s", source.time) : "", source.in_window,
				 source.is_exposure, source.compared, key->equal_sql,
				 source.cast[0] == '\0' ? "" : psprintf("%s[]", source.cast));
}

/* Prepare a statement that is planned at each execution: for its batch, and because tables grow. */
static SPIPlanPtr
plan_statement(const char *sql, int nargs, Oid *types)
{
	SPIPlanPtr	plan = SPI_prepare_cursor(sql, nargs, types, CURSOR_OPT_CUSTOM_PLAN);

	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	bloomexp_plans_expect(SPI_keepplan(plan), 0, "SPI_keepplan");
	return plan;
}

/* Plan all statements; the plans last until they are freed. */
static void
plan_statements(BloomRebuild *rebuild, const BloomExtension *extension)
{
	Oid			users = rebuild->key.array_type;
	Oid			filters = extension->filter_array_type;
	Oid			find_types[] = {INT8OID, TIMESTAMPTZOID, rebuild->key.type};
	Oid			read_types[] = {TIMESTAMPTZOID, users};
	Oid			write_types[] = {users, filters};

	for (int i = 0; i < BLOOM_REBUILD_STATEMENTS; i++)
	{
		if (i == BLOOM_REBUILD_FIRST_USERS || i == BLOOM_REBUILD_NEXT_USERS)
			rebuild->plans[i] = plan_statement(rebuild->sql[i], i == BLOOM_REBUILD_FIRST_USERS ? 2 :
											   3, find_types);
		else if (i == BLOOM_REBUILD_EXPOSURES)
			rebuild->plans[i] = plan_statement(rebuild->sql[i], 2, read_types);
		else
			rebuild->plans[i] = plan_statement(rebuild->sql[i], i == BLOOM_REBUILD_WRITE ||
											   i == BLOOM_REBUILD_WRITE_NEW ? 2 :
											   1, write_types);
	}
}

void
bloomexp_rebuild_plan_free(BloomRebuild *rebuild)
{
	for (int i = 0; i < BLOOM_REBUILD_STATEMENTS; i++)
	{
		if (rebuild->plans[i] != NULL)
			SPI_freeplan(rebuild->plans[i]);
	}
}

/* A user from a text of the caller's. */
static Datum
read_user(const BloomRebuild *rebuild, text *user)
{
	Oid			input;
	Oid			parameter;

	getTypeInputInfo(rebuild->key.type, &input, &parameter);
	return OidInputFunctionCall(input, text_to_cstring(user), parameter, -1);
}

int
bloomexp_rebuild_plan_compare(const void *a, const void *b, void *rebuild)
{
	return bloomexp_exposures_compare(&((BloomRebuild *) rebuild)->order,
									  *(const Datum *) a, *(const Datum *) b);
}

/* The users that the caller gives, in their order and each once. */
static void
read_given_users(BloomRebuild *rebuild, ArrayType *array)
{
	Datum	   *texts;
	bool	   *nulls;
	int			ntexts;
	int			n = 0;
	BloomUsers *users = &rebuild->users;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &texts, &nulls, &ntexts);
	users->values = palloc(Max(ntexts, 1) * sizeof(Datum));
	for (int i = 0; i < ntexts; i++)
	{
		if (!nulls[i])
			users->values[n++] = read_user(rebuild, DatumGetTextPP(texts[i]));
	}
	qsort_arg(users->values, n, sizeof(Datum), bloomexp_rebuild_plan_compare, rebuild);
	for (int i = 0; i < n; i++)
	{
		if (rebuild->has_last &&
			bloomexp_rebuild_plan_compare(&users->values[i], &rebuild->last, rebuild) <= 0)
			continue;
		if (users->n == 0 || bloomexp_rebuild_plan_compare(&users->values[users->n - 1],
														   &users->values[i], rebuild) != 0)
			users->values[users->n++] = users->values[i];
	}
}

/*
 * How users are split into parts: by the hash of an array of one, which is that of their
 * type, and the same for users who are equal but not alike, as 1.0 and 1.00 are.  Nobody
 * knows by which of them another part finds the user.
 */
static void
prepare_parts(BloomRebuild *rebuild)
{
	TypeCacheEntry *type;

	if (rebuild->parts == 1)
		return;
	type = lookup_type_cache(rebuild->key.compared_type, TYPECACHE_HASH_EXTENDED_PROC);
	if (!OidIsValid(type->hash_extended_proc))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("users of table \"%s\" cannot be split into parts", get_rel_name(rebuild->target)),
				 errdetail("Their type has no extended hash function."),
				 errhint("Rebuild in one part.")));
	rebuild->hash = palloc(sizeof(FmgrInfo));
	fmgr_info(F_HASH_ARRAY_EXTENDED, rebuild->hash);
}

/* Refuse policies that hide rows of a table from the caller. */
static void
check_policies(Oid table, const char *detail)
{
	if (check_enable_rls(table, InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("row-level security policies of table \"%s\" apply to role \"%s\"",
						get_rel_name(table), GetUserNameFromId(GetUserId(), false)),
				 errdetail("%s", detail),
				 errhint("Rebuild as a role with BYPASSRLS, or as the owner of the table without FORCE ROW LEVEL SECURITY.")));
}

/* Lock a table by its name, as a query does, and refuse another one of the name. */
static void
check_name(Oid table, const char *name, const char *sql)
{
	MemoryContext caller = CurrentMemoryContext;

	bloomexp_plans_expect(SPI_execute(psprintf("SELECT FROM %s AS e WHERE false", sql), false, 0),
						  SPI_OK_SELECT, "SPI_execute");
	MemoryContextSwitchTo(caller);
	if (bloomexp_definition_target(InvalidOid, sql, true) != table)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" was replaced during the rebuild", name),
				 errdetail("Its name now belongs to another table."),
				 errhint("Rebuild again.")));
}

/*
 * Begin to work in a transaction.
 *
 * Policies are an error, also those behind a view or a function, and those that somebody
 * creates while it runs.  Names lead to the same tables until the transaction ends.
 */
void
bloomexp_rebuild_plan_begin(BloomRebuild *rebuild)
{
	Oid			source = rebuild->definition.source;

	/* (what is read may be stored out of line) */
	EnsurePortalSnapshotExists();
	bloomexp_rebuild_plan_set_locally("row_security", "off");
	/* compiling would cost more than it saves in a batch */
	bloomexp_rebuild_plan_set_locally("jit", "off");
	check_policies(source, "Users whose exposures they hide would lose their filters.");
	check_policies(rebuild->target, "Filters that they hide would not be rebuilt.");
	check_name(source, rebuild->source_name, rebuild->source_sql);
	check_name(rebuild->target, rebuild->target_name, rebuild->key.table_sql);
}

/*
 * Refuse who lacks a privilege for any of what a rebuild may write: it must not be missing
 * some other night.
 */
static void
require_privileges(const BloomRebuild *rebuild)
{
	AclResult	may_update = pg_attribute_aclcheck(rebuild->target,
												   get_attnum(rebuild->target, rebuild->filter_column),
												   GetUserId(), ACL_UPDATE);

	if (may_update != ACLCHECK_OK &&
		pg_class_aclcheck(rebuild->target, GetUserId(), ACL_UPDATE) != ACLCHECK_OK)
		aclcheck_error(may_update, OBJECT_TABLE, get_rel_name(rebuild->target));
	bloomexp_arguments_require_privilege(rebuild->target, ACL_INSERT);
	if (!rebuild->keeps_rows)
		bloomexp_arguments_require_privilege(rebuild->target, ACL_DELETE);
}

/* Read the definition, check it, and plan. */
void
bloomexp_rebuild_plan_prepare(FunctionCallInfo fcinfo, BloomRebuild *rebuild)
{
	BloomDefinition *definition = &rebuild->definition;
	BloomDefinition given;
	BloomExtension extension;

	EnsurePortalSnapshotExists();
	read_arguments(fcinfo, rebuild);
	bloomexp_triggers_find_extension(fcinfo->flinfo->fn_oid, &extension);
	rebuild->filter_column = bloomexp_definition_filter_column(&extension, rebuild->target,
		PG_ARGISNULL(ARGUMENT_FILTER_COLUMN) ? NULL : NameStr(*PG_GETARG_NAME(ARGUMENT_FILTER_COLUMN)));

	/* What the call leaves out the triggers say. */
	bloomexp_definition_of_call(fcinfo, &given);
	bloomexp_definition_agree(&extension, rebuild->target, rebuild->filter_column, &given, 0, definition);
	require_complete(rebuild);
	bloomexp_definition_check(definition);
	(void) bloomexp_shards_partner(definition->source, rebuild->target);
	bloomexp_shards_check_user(definition->source, definition->user_column);
	rebuild->distributed = bloomexp_shards_is_whole(rebuild->target);
	bloomexp_columns_find_key(rebuild->target, definition->target_user_column ?
							  definition->target_user_column :
							  definition->user_column, &rebuild->key);
	bloomexp_columns_find(definition, definition->source, &rebuild->key, &rebuild->columns);
	bloomexp_columns_check_live(&extension, definition, rebuild->target, rebuild->filter_column);
	if (rebuild->rebuilt_at_column != NULL)
		bloomexp_columns_check_time(rebuild->target, rebuild->rebuilt_at_column);
	bloomexp_exposures_begin(&rebuild->order, &rebuild->key, rebuild->columns.kind, 0, false);
	prepare_parts(rebuild);
	write_statements(rebuild, &extension);
	bloomexp_rebuild_plan_begin(rebuild);
	if (!rebuild->dry_run)
		require_privileges(rebuild);
	plan_statements(rebuild, &extension);

	if (!PG_ARGISNULL(ARGUMENT_START_AFTER))
	{
		rebuild->has_last = true;
		rebuild->last = read_user(rebuild, PG_GETARG_TEXT_PP(ARGUMENT_START_AFTER));
	}
	if (rebuild->given)
		read_given_users(rebuild, PG_GETARG_ARRAYTYPE_P(ARGUMENT_USERS));
}

/* An argument of a call as a text, or NULL. */
static char *
write_argument(FunctionCallInfo fcinfo, const BloomRebuild *rebuild, int argument, Oid type)
{
	char	   *said = bloomexp_definition_write_argument(&rebuild->definition, argument);
	Oid			output;
	bool		is_varlena;

	if (argument == ARGUMENT_FILTER_COLUMN)
		return rebuild->filter_column;
	if (said != NULL || PG_ARGISNULL(argument))
		return said;
	getTypeOutputInfo(type, &output, &is_varlena);
	return OidOutputFunctionCall(output, PG_GETARG_DATUM(argument));
}

/*
 * bloomexp_rebuild_plan_write_call
 *		Write a call that does the same for another pair of tables, on another node, in
 *		whatever format that expects dates: all arguments by their position, each of just
 *		its type.  So no other function fits as well.
 */
char *
bloomexp_rebuild_plan_write_call(FunctionCallInfo fcinfo, const BloomRebuild *rebuild, Oid function,
								 const char *target, const char *source)
{
	StringInfoData call;
	Oid		   *types;
	int			n;

	set_formats();
	(void) get_func_signature(function, &types, &n);
	initStringInfo(&call);
	appendStringInfoString(&call, quote_qualified_identifier(get_namespace_name(get_func_namespace(function)),
															 get_func_name(function)));
	for (int i = 0; i < n; i++)
	{
		const char *value = i == ARGUMENT_TARGET ? target : i == ARGUMENT_SOURCE ? source :
			write_argument(fcinfo, rebuild, i, types[i]);

		appendStringInfo(&call, "%s%s::%s", i == 0 ? "(" : ", ", value ? quote_literal_cstr(value) : "NULL",
						 format_type_be_qualified(types[i]));
	}
	appendStringInfoChar(&call, ')');
	return call.data;
}

/* A number that all parts of a rebuild have in common, and other rebuilds have not. */
uint32
bloomexp_rebuild_plan_common_hash(const BloomRebuild *rebuild)
{
	StringInfoData common;

	initStringInfo(&common);
	appendStringInfo(&common, "%d " INT64_FORMAT " %d %.17g %.17g %d", rebuild->parts,
					 rebuild->has_at ? rebuild->at : 0, rebuild->has_at,
					 rebuild->definition.fpr, rebuild->definition.headroom, rebuild->definition.slices);
	appendBinaryStringInfo(&common, (char *) rebuild->definition.width, sizeof(Interval));
	for (int i = 0; i < BLOOM_REBUILD_STATEMENTS; i++)
		appendStringInfoString(&common, rebuild->sql[i]);
	return hash_bytes((unsigned char *) common.data, common.len);
}
