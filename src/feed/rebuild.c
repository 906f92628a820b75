/*-------------------------------------------------------------------------
 *
 * rebuild.c
 *	  The procedure that builds filters from scratch, while writers go on.
 *
 * It works in batches of users, each in a transaction of its own: find the next users,
 * lock their rows, read their exposures with a snapshot that is younger than the locks,
 * write, commit.  See rows.c for why no exposure is lost.
 *
 * It does not wait for a writer while it holds the filters of a batch: those that are
 * locked by others it does afterwards, one in a transaction.  So nobody waits for it
 * longer than its own work takes, and writers that lock several users in an order of
 * their own do not deadlock with it.
 *
 * Users are values of their own type everywhere.  A text of the caller's becomes one by
 * the type's input function, never by a cast, which the type's owner could make.
 *
 * A dry run goes the same way, but locks and writes nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "pgstat.h"
#include "tcop/dest.h"
#include "tcop/pquery.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/rls.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "feed/columns.h"
#include "feed/condition.h"
#include "feed/definition.h"
#include "feed/exposures.h"
#include "feed/plans.h"
#include "feed/rebuild.h"
#include "feed/rebuild_lock.h"
#include "feed/triggers.h"
#include "sql/arguments.h"
#include "value/compat.h"
#include "value/distinct.h"
#include "value/filter.h"
#include "value/layout.h"
#include "value/window.h"

PG_FUNCTION_INFO_V1(bloomexp_rebuild);

/* The arguments that are no settings. */
#define ARGUMENT_TARGET 0
#define ARGUMENT_FILTER_COLUMN 1
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

/* What is left to wait for is a user without a row that another session inserts just now. */
#define LOCK_TIMEOUT "10ms"

#define NOTICE_SECONDS 20
#define WRITE_BYTES ((Size) 16 * 1024 * 1024)

/* The statements, and their arguments. */
typedef enum Statement
{
	FIRST_USERS,				/* limit, start of the window */
	NEXT_USERS,					/* limit, start of the window, last user */
	PRESENT,					/* users */
	LOCK_FREE,					/* users */
	LOCK_ALL,					/* users */
	EXPOSURES,					/* start of the window, users */
	WRITE,						/* users, filters */
	WRITE_NEW,					/* users, filters */
	REMOVE						/* users */
} Statement;

#define STATEMENTS (REMOVE + 1)

/* Some users, in their order. */
typedef struct Users
{
	Datum	   *values;
	int			n;
} Users;

/* A call. */
typedef struct Rebuild
{
	MemoryContext context;		/* of the call */
	MemoryContext batch;		/* of a batch */
	Oid			target;
	char	   *filter_column;
	char	   *rebuilt_at_column;
	BloomDefinition definition;
	BloomKey	key;
	BloomColumns columns;
	BloomExposures order;		/* that of the users */
	char	   *source_name;
	char	   *source_sql;
	char	   *target_name;
	bool		keeps_rows;		/* of users without exposures, for their other columns */
	bool		walks;			/* from user to user along an index */
	char	   *sql[STATEMENTS];
	SPIPlanPtr	plans[STATEMENTS];
	Oid			users_type;		/* array of the users' type */

	/* arguments */
	int32		batch_size;
	double		pause;			/* in seconds */
	bool		dry_run;
	bool		has_at;
	TimestampTz at;
	bool		given;			/* are users given? */
	Users		users;
	int32		part;
	int32		parts;
	FmgrInfo   *hash;			/* that tells the part of a user */
	char	   *which;			/* of the parts, for messages */

	/* progress */
	bool		started_after;		/* a user that was given */
	bool		has_last;
	Datum		last;			/* the last user done */
	TimestampTz started_at;
	TimestampTz told_at;
	uint64		done;
	uint64		built;
	uint64		removed;
	uint64		exposures;		/* of a dry run: how many, ... */
	uint64		bytes;			/* ... of the filters that they would make */
	uint64		others;			/* ... and rows of users without exposures */
	uint64		batches;
} Rebuild;

/* The table that this session rebuilds now, or InvalidOid. */
static Oid	rebuilt = InvalidOid;

/*
 * bloomexp_rebuild_target
 *		The table of filters that this session rebuilds now, or InvalidOid.
 */
Oid
bloomexp_rebuild_target(void)
{
	return rebuilt;
}

/* Set a setting until the end of the transaction. */
static void
set_locally(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0, false);
}

/* Begin a transaction in the place of the last one. */
static void
begin_transaction(void)
{
	SPI_commit();
	SPI_start_transaction();
	set_locally("transaction_isolation", "read committed");
}

/* Refuse a call that cannot commit. */
static void
require_nonatomic(FunctionCallInfo fcinfo)
{
	if (fcinfo->context == NULL || !IsA(fcinfo->context, CallContext) ||
		((CallContext *) fcinfo->context)->atomic || IsSubTransaction())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_TERMINATION),
				 errmsg("bloom_rebuild() cannot be called inside a transaction"),
				 errdetail("It commits after each batch of users."),
				 errhint("Call it in autocommit mode, alone, as a statement of its own.")));
}

/* An integer argument, or what stands for NULL. */
static int32
get_integer(FunctionCallInfo fcinfo, int argument, int32 initial)
{
	return PG_ARGISNULL(argument) ? initial : PG_GETARG_INT32(argument);
}

/* Read the arguments that need no definition. */
static void
read_arguments(FunctionCallInfo fcinfo, Rebuild *rebuild)
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
	rebuild->dry_run = !PG_ARGISNULL(ARGUMENT_DRY_RUN) && PG_GETARG_BOOL(ARGUMENT_DRY_RUN);
	if (!PG_ARGISNULL(ARGUMENT_REBUILT_AT_COLUMN))
		rebuild->rebuilt_at_column = pstrdup(NameStr(*PG_GETARG_NAME(ARGUMENT_REBUILT_AT_COLUMN)));
}

/* Complain about what neither the call nor a trigger says. */
static void
require_complete(const Rebuild *rebuild)
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
has_further_columns(const Rebuild *rebuild)
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

/* Is a column declared NOT NULL? */
static bool
is_not_null(Oid table, const char *column)
{
	HeapTuple	tuple = SearchSysCacheAttName(table, column);
	bool		not_null;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for column \"%s\" of relation %u", column, table);
	not_null = ((Form_pg_attribute) GETSTRUCT(tuple))->attnotnull;
	ReleaseSysCache(tuple);
	return not_null;
}

/* The first of a vector in the catalogs. */
static Oid
get_first(Datum vector)
{
	return ((oidvector *) DatumGetPointer(vector))->values[0];
}

/* Is an index one along which users can be found, each by one look? */
static bool
is_index_of_users(HeapTuple row, TupleDesc shape, AttrNumber column, Oid collation)
{
	Form_pg_index index = (Form_pg_index) GETSTRUCT(row);
	bool		isnull;
	bool		whole;
	Oid			class = get_first(heap_getattr(row, Anum_pg_index_indclass, shape, &isnull));
	Oid			its_collation = get_first(heap_getattr(row, Anum_pg_index_indcollation, shape, &isnull));
	HeapTuple	tuple;
	bool		fits;

	(void) heap_getattr(row, Anum_pg_index_indpred, shape, &whole);
	if (index->indkey.values[0] != column || !index->indisvalid || !whole || its_collation != collation)
		return false;
	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(class));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", class);
	fits = ((Form_pg_opclass) GETSTRUCT(tuple))->opcdefault &&
		((Form_pg_opclass) GETSTRUCT(tuple))->opcmethod == BTREE_AM_OID;
	ReleaseSysCache(tuple);
	return fits;
}

/*
 * Can the users who have exposures be found by a walk from one to the next along an index?
 * Otherwise all exposures are read.  That is also better with partitions, or tables that
 * inherit, each of which would take a look for each user.
 */
static bool
can_walk(Oid source, AttrNumber column)
{
	Relation	indexes;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	row;
	Oid			type;
	int32		modifier;
	Oid			collation;
	bool		found = false;

	if (get_rel_relkind(source) != RELKIND_RELATION || has_subclass(source))
		return false;
	get_atttypetypmodcoll(source, column, &type, &modifier, &collation);
	indexes = table_open(IndexRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_index_indrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(source));
	scan = systable_beginscan(indexes, IndexIndrelidIndexId, true, NULL, 1, &key);
	while (!found && HeapTupleIsValid(row = systable_getnext(scan)))
		found = is_index_of_users(row, RelationGetDescr(indexes), column, collation);
	systable_endscan(scan);
	table_close(indexes, AccessShareLock);
	return found;
}

/* Is a type one of integers, which have operators that compare all of them? */
static bool
is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

/* Write the statements. */
static void
write_statements(Rebuild *rebuild, const BloomExtension *extension)
{
	const BloomDefinition *definition = &rebuild->definition;
	const BloomKey *key = &rebuild->key;
	Oid			source = definition->source;
	AttrNumber	user_column = get_attnum(source, definition->user_column);
	Oid			user_type = getBaseType(get_atttype(source, user_column));
	char	   *user = bloomexp_condition_write(source, rebuild->columns.user);
	char	   *item = bloomexp_condition_write(source, rebuild->columns.item);
	char	   *time = bloomexp_condition_write(source, rebuild->columns.time);
	const char *filter = quote_identifier(rebuild->filter_column);
	const char *live = definition->live_column ? quote_identifier(definition->live_column) : NULL;
	const char *rebuilt_at = rebuild->rebuilt_at_column ?
		quote_identifier(rebuild->rebuilt_at_column) : NULL;
	bool		is_plain;
	bool		further = rebuild->keeps_rows = has_further_columns(rebuild);
	char	   *compared;
	char	   *condition;
	char	   *is_exposure;
	char	   *in_window;
	char	   *found;
	char	   *touched;
	char	   *emptied;
	char	   *unchanged;
	char	   *locked;
	char	  **sql = rebuild->sql;

	/* A row may be deleted if the filter is all that it tells of the user. */
	if (further && is_not_null(rebuild->target, rebuild->filter_column))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("column \"%s\" of table \"%s\" must allow nulls", rebuild->filter_column, get_rel_name(rebuild->target)),
				 errdetail("The table has further columns, so a row is kept without a filter if its user has no exposure left.")));

	/* A cast keeps an index of the exposures from being used, so there is none where none is needed. */
	is_plain = is_integer(user_type) && is_integer(key->type);
	if (is_plain)
		compared = psprintf("e.%s", quote_identifier(definition->user_column));
	else
	{
		compared = psprintf("%s::%s", user, key->type_sql);
		is_plain = IsA(rebuild->columns.user, Var) ||
			(IsA(rebuild->columns.user, RelabelType) && user_type == key->type);
	}
	rebuild->walks = is_plain && can_walk(source, user_column);
	ereport(DEBUG1, (errmsg_internal("bloom_rebuild() finds users by %s", rebuild->walks ? "a walk along an index" : "all exposures")));

	condition = definition->condition == NULL ? "" :
		psprintf(" AND (%s)",
				 bloomexp_condition_write(source, bloomexp_condition_parse(source, definition->condition)));
	is_exposure = psprintf("%s IS NOT NULL AND %s IS NOT NULL AND %s IS NOT NULL%s", user, item, time, condition);
	rebuild->source_name = get_rel_name(source);
	rebuild->source_sql = bloomexp_columns_table_sql(source);
	rebuild->target_name = get_rel_name(rebuild->target);
	in_window = psprintf("FROM %s AS e WHERE e.%s OPERATOR(pg_catalog.>=) ", rebuild->source_sql,
						 quote_identifier(definition->time_column));

	/* the next users who have rows or exposures; of exposures, one after the other or all */
	for (int i = FIRST_USERS; i <= NEXT_USERS; i++)
	{
		char	   *after = i == FIRST_USERS ? "" : psprintf(" AND %s %s $3", compared, key->greater_sql);
		char	   *target_after = i == FIRST_USERS ? "" :
			psprintf(" AND %s %s $3::%s", key->compared_sql, key->greater_sql, key->type_sql);

		if (i == NEXT_USERS && !is_integer(key->type))
			after = psprintf(" AND %s %s $3::%s", compared, key->greater_sql, key->type_sql);
		if (rebuild->walks)
			found = psprintf("WITH RECURSIVE walk AS ("
							 "(SELECT %s AS u, 1 AS nth %s $2 AND %s%s ORDER BY 1 LIMIT 1) "
							 "UNION ALL SELECT n.u, w.nth OPERATOR(pg_catalog.+) 1 FROM walk AS w "
							 "CROSS JOIN LATERAL (SELECT %s AS u %s $2 AND %s AND %s %s w.u ORDER BY 1 LIMIT 1) AS n "
							 "WHERE w.nth OPERATOR(pg_catalog.<) $1) SELECT w.u::%s FROM walk AS w",
							 compared, in_window, is_exposure, after,
							 compared, in_window, is_exposure, compared, key->greater_sql, key->type_sql);
		else
			found = psprintf("SELECT DISTINCT %s::%s %s $2 AND %s%s ORDER BY 1 LIMIT $1", compared, key->type_sql, in_window,
							 is_exposure, after);
		sql[i] = psprintf("(SELECT %s AS u FROM %s AS f WHERE f.%s IS NOT NULL%s ORDER BY 1 LIMIT $1) UNION (%s) ORDER BY 1 LIMIT $1",
						  key->compared_sql, key->table_sql, key->column_sql, target_after, found);
	}

	locked = psprintf("SELECT %s FROM %s AS f WHERE %s %s ANY ($1::%s[]) ORDER BY 1", key->compared_sql, key->table_sql,
					  key->compared_sql, key->equal_sql, key->type_sql);
	sql[PRESENT] = locked;
	sql[LOCK_FREE] = psprintf("%s FOR UPDATE SKIP LOCKED", locked);
	sql[LOCK_ALL] = psprintf("%s FOR UPDATE", locked);
	sql[EXPOSURES] = psprintf("SELECT %s, %s%s %s $1 AND %s AND %s %s ANY ($2%s)", user, item,
							  definition->slices > 0 ? psprintf(", %s", time) : "", in_window, is_exposure,
							  compared, key->equal_sql, is_integer(key->type) ? "" :
								  psprintf("::%s[]", key->type_sql));

	/*
	 * A live filter has nothing that the exposures lack, once its row is locked: it is
	 * emptied.  What is there already need not be written.
	 */
	touched = rebuilt_at ? psprintf(", %s = pg_catalog.now()", rebuilt_at) : "";
	emptied = live ? psprintf(", %s = NULL", live) : "";
	unchanged = rebuilt_at ? "" : psprintf(" AND (f.%s IS NULL OR f.%s OPERATOR(%s.<>) n.c%s)", filter, filter,
										   quote_identifier(extension->schema_name), live ?
											   psprintf(" OR f.%s IS NOT NULL", live) : "");
	sql[WRITE] = psprintf("UPDATE %s AS f SET %s = n.c%s%s FROM unnest($1, $2) AS n (u, c) WHERE %s %s n.u::%s%s",
						  key->table_sql, filter, touched, emptied, key->compared_sql,
						  key->equal_sql, key->type_sql, unchanged);
	sql[WRITE_NEW] = psprintf("INSERT INTO %s AS f (%s, %s%s) SELECT n.u, n.c%s FROM unnest($1, $2) WITH ORDINALITY AS n (u, c, i) ORDER BY n.i "
							  "ON CONFLICT (%s) DO UPDATE SET %s = %s(f.%s, excluded.%s)%s",
							  key->table_sql, key->column_sql, filter, rebuilt_at ?
								  psprintf(", %s", rebuilt_at) : "",
							  rebuilt_at ? ", pg_catalog.now()" : "", key->column_sql, filter,
							  bloomexp_triggers_object(extension, "bloom_union"), filter, filter, touched);
	if (further)
		sql[REMOVE] = psprintf("UPDATE %s AS f SET %s = NULL%s WHERE (f.%s IS NOT NULL%s) AND %s %s ANY ($1::%s[])",
							   key->table_sql, filter, emptied, filter, live ? psprintf(" OR f.%s IS NOT NULL", live) : "",
							   key->compared_sql, key->equal_sql, key->type_sql);
	else
		sql[REMOVE] = psprintf("DELETE FROM %s AS f WHERE %s %s ANY ($1::%s[])", key->table_sql, key->compared_sql,
							   key->equal_sql, key->type_sql);
}

/* Plan a statement anew each time: for this batch, and for tables that grow meanwhile. */
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
plan_statements(Rebuild *rebuild, const BloomExtension *extension)
{
	Oid			users = rebuild->users_type;
	Oid			filters = extension->filter_array_type;
	Oid			find_types[] = {INT8OID, TIMESTAMPTZOID, rebuild->key.type};
	Oid			read_types[] = {TIMESTAMPTZOID, users};
	Oid			write_types[] = {users, filters};

	for (int i = 0; i < STATEMENTS; i++)
	{
		if (i == FIRST_USERS || i == NEXT_USERS)
			rebuild->plans[i] = plan_statement(rebuild->sql[i], i == FIRST_USERS ? 2 : 3, find_types);
		else if (i == EXPOSURES)
			rebuild->plans[i] = plan_statement(rebuild->sql[i], 2, read_types);
		else
			rebuild->plans[i] = plan_statement(rebuild->sql[i], i == WRITE || i == WRITE_NEW ? 2 :
											   1, write_types);
	}
}

static void
free_plans(Rebuild *rebuild)
{
	for (int i = 0; i < STATEMENTS; i++)
	{
		if (rebuild->plans[i] != NULL)
			SPI_freeplan(rebuild->plans[i]);
	}
}

/* A user from a text of the caller's. */
static Datum
read_user(const Rebuild *rebuild, text *user)
{
	Oid			input;
	Oid			parameter;

	getTypeInputInfo(rebuild->key.type, &input, &parameter);
	return OidInputFunctionCall(input, text_to_cstring(user), parameter, -1);
}

static int
compare_users(const void *a, const void *b, void *rebuild)
{
	return bloomexp_exposures_compare(&((Rebuild *) rebuild)->order,
									  *(const Datum *) a, *(const Datum *) b);
}

/* The users that the caller gives, in their order and each once. */
static void
read_given_users(Rebuild *rebuild, ArrayType *array)
{
	Datum	   *texts;
	bool	   *nulls;
	int			ntexts;
	int			n = 0;
	Users	   *users = &rebuild->users;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &texts, &nulls, &ntexts);
	users->values = palloc(Max(ntexts, 1) * sizeof(Datum));
	for (int i = 0; i < ntexts; i++)
	{
		if (!nulls[i])
			users->values[n++] = read_user(rebuild, DatumGetTextPP(texts[i]));
	}
	qsort_arg(users->values, n, sizeof(Datum), compare_users, rebuild);
	for (int i = 0; i < n; i++)
	{
		if (rebuild->has_last && compare_users(&users->values[i], &rebuild->last, rebuild) <= 0)
			continue;
		if (users->n == 0 || compare_users(&users->values[users->n - 1], &users->values[i], rebuild) != 0)
			users->values[users->n++] = users->values[i];
	}
}

/*
 * How users are split into parts: by the hash of an array of one, which is that of their
 * type, and the same for users who are equal but not alike, as 1.0 and 1.00 are.  Nobody
 * knows by which of them another part finds the user.
 */
static void
prepare_parts(Rebuild *rebuild)
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

/* Users as an argument of a statement. */
static Datum
make_users(const Rebuild *rebuild, const Users *users)
{
	int16		length;
	bool		by_value;
	char		align;

	get_typlenbyvalalign(rebuild->key.type, &length, &by_value, &align);
	return PointerGetDatum(construct_array(users->values, users->n, rebuild->key.type, length,
										   by_value, align));
}

/* Is a user in the part of this call? */
static bool
is_in_part(const Rebuild *rebuild, Datum user)
{
	Users		one = {&user, 1};
	uint64		hash;

	if (rebuild->parts == 1)
		return true;
	hash = DatumGetUInt64(FunctionCall2Coll(rebuild->hash, rebuild->key.collation,
											make_users(rebuild, &one), Int64GetDatum(0)));
	return (hash & PG_INT64_MAX) % rebuild->parts == (uint64) rebuild->part - 1;
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
	bloomexp_plans_expect(SPI_execute(psprintf("SELECT FROM %s AS e WHERE false", sql), false, 0),
						  SPI_OK_SELECT, "SPI_execute");
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
static void
begin_work(Rebuild *rebuild)
{
	Oid			source = rebuild->definition.source;

	/* (what is read may be stored out of line) */
	EnsurePortalSnapshotExists();
	set_locally("row_security", "off");
	/* nothing is compiled anew for each batch */
	set_locally("jit", "off");
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
require_privileges(const Rebuild *rebuild)
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
static void
prepare(FunctionCallInfo fcinfo, Rebuild *rebuild)
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
	bloomexp_columns_find_key(rebuild->target, definition->target_user_column ?
							  definition->target_user_column :
							  definition->user_column, &rebuild->key);
	bloomexp_columns_find(definition, definition->source, &rebuild->key, &rebuild->columns);
	bloomexp_columns_check_live(&extension, definition, rebuild->target, rebuild->filter_column);
	if (rebuild->rebuilt_at_column != NULL)
		bloomexp_columns_check_time(rebuild->target, rebuild->rebuilt_at_column);
	bloomexp_exposures_begin(&rebuild->order, &rebuild->key, rebuild->columns.kind, 0, false);
	rebuild->users_type = get_array_type(rebuild->key.type);
	if (!OidIsValid(rebuild->users_type))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("users of type %s are not supported", format_type_be(rebuild->key.type)),
				 errdetail("There are no arrays of them.")));
	prepare_parts(rebuild);
	write_statements(rebuild, &extension);
	begin_work(rebuild);
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

/* A number that all parts of a rebuild have in common, and other rebuilds have not. */
static uint32
get_common_hash(const Rebuild *rebuild)
{
	StringInfoData common;

	initStringInfo(&common);
	appendStringInfo(&common, "%d " INT64_FORMAT " %d %.17g %.17g %d", rebuild->parts,
					 rebuild->has_at ? rebuild->at : 0, rebuild->has_at,
					 rebuild->definition.fpr, rebuild->definition.headroom, rebuild->definition.slices);
	appendBinaryStringInfo(&common, (char *) rebuild->definition.width, sizeof(Interval));
	for (int i = 0; i < STATEMENTS; i++)
		appendStringInfoString(&common, rebuild->sql[i]);
	return hash_bytes((unsigned char *) common.data, common.len);
}

/* The end of the window: all of a batch is of one time. */
static TimestampTz
get_at(const Rebuild *rebuild)
{
	return rebuild->has_at ? rebuild->at : GetCurrentTransactionStartTimestamp();
}

/* The start of the window, in UTC: a day has 24 hours, and not 23 on some. */
static Datum
get_start(const Rebuild *rebuild)
{
	Datum		zone = CStringGetTextDatum("UTC");
	Datum		at = DirectFunctionCall2(timestamptz_zone, zone, TimestampTzGetDatum(get_at(rebuild)));

	at = DirectFunctionCall2(timestamp_mi_interval, at, IntervalPGetDatum(rebuild->definition.width));
	return DirectFunctionCall2(timestamp_zone, zone, at);
}

/* Copy the users that a statement found. */
static Users
get_found_users(const Rebuild *rebuild)
{
	Users		users = {.values = palloc(Max(SPI_processed, 1) * sizeof(Datum))};

	for (uint64 i = 0; i < SPI_processed; i++)
	{
		bool		isnull;
		Datum		user = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &isnull);

		if (!isnull)
			users.values[users.n++] = datumCopy(user, rebuild->key.by_value, rebuild->key.length);
	}
	SPI_freetuptable(SPI_tuptable);
	return users;
}

/* Execute a statement; returns how many rows were processed. */
static uint64
execute(const Rebuild *rebuild, Statement statement, Datum *arguments)
{
	int			result = SPI_execute_plan(rebuild->plans[statement], arguments, NULL, false, 0);

	if (result < 0)
		elog(ERROR, "SPI_execute_plan failed: %s", SPI_result_code_string(result));
	return SPI_processed;
}

/* Those users who are in a table, or whose rows could be locked. */
static Users
find_users(const Rebuild *rebuild, Statement statement, const Users *users)
{
	Datum		arguments[] = {make_users(rebuild, users)};

	(void) execute(rebuild, statement, arguments);
	return get_found_users(rebuild);
}

/* The users of the first list, in their order, who are not in the second. */
static Users
subtract(Rebuild *rebuild, const Users *users, const Users *others)
{
	Users		rest = {.values = palloc(Max(users->n, 1) * sizeof(Datum))};
	int			next = 0;

	for (int i = 0; i < users->n; i++)
	{
		while (next < others->n && compare_users(&others->values[next], &users->values[i], rebuild) < 0)
			next++;
		if (next == others->n || compare_users(&others->values[next], &users->values[i], rebuild) != 0)
			rest.values[rest.n++] = users->values[i];
	}
	return rest;
}

/* The next users to do; false at the end. *last is the last one of all parts. */
static bool
find_batch(Rebuild *rebuild, Users *batch, Datum *last)
{
	Datum		arguments[] = {
		Int64GetDatum((int64) rebuild->batch_size * rebuild->parts), get_start(rebuild), rebuild->last
	};
	Users		found;
	int			level;

	if (rebuild->given)
	{
		*batch = (Users) {rebuild->users.values, Min(rebuild->batch_size, rebuild->users.n)};
		rebuild->users.values += batch->n;
		rebuild->users.n -= batch->n;
		if (batch->n > 0)
			*last = batch->values[batch->n - 1];
		return batch->n > 0;
	}

	/*
	 * Without sorting, each step of a walk is one look into the index, even if old
	 * statistics know of no exposure in the window.
	 */
	level = NewGUCNestLevel();
	if (rebuild->walks)
		(void) set_config_option("enable_sort", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	(void) execute(rebuild, rebuild->has_last ? NEXT_USERS : FIRST_USERS, arguments);
	AtEOXact_GUC(true, level);
	found = get_found_users(rebuild);
	if (found.n == 0)
		return false;
	*last = found.values[found.n - 1];
	*batch = (Users) {.values = found.values};
	for (int i = 0; i < found.n; i++)
	{
		if (is_in_part(rebuild, found.values[i]))
			batch->values[batch->n++] = found.values[i];
	}
	return true;
}

/* Where the rows of a query go. */
typedef struct Receiver
{
	DestReceiver pub;
	BloomExposures *exposures;
} Receiver;

/* For each row: user, item and, for a window, the time. */
static bool
receive_row(TupleTableSlot *row, DestReceiver *self)
{
	BloomExposures *exposures = ((Receiver *) self)->exposures;
	int64		time = 0;

	slot_getallattrs(row);
	if (exposures->timed)
		time = bloomexp_arguments_check_time(row->tts_values[2], false, "shown_at");
	bloomexp_exposures_add(exposures, row->tts_values[0], row->tts_values[1], time);
	return true;
}

static void
begin_receiving(DestReceiver *self, int operation, TupleDesc shape)
{
}

static void
end_receiving(DestReceiver *self)
{
}

/*
 * Gather the exposures of some users.
 *
 * They go from the executor straight to where they are gathered: SPI would copy each row.
 */
static BloomExposures *
gather(Rebuild *rebuild, const Users *users)
{
	Receiver	receiver = {
		.pub.receiveSlot = receive_row,
		.pub.rStartup = begin_receiving,
		.pub.rShutdown = end_receiving,
		.pub.rDestroy = end_receiving,
		.pub.mydest = DestNone,
		.exposures = palloc(sizeof(BloomExposures))
	};
	Datum		arguments[] = {get_start(rebuild), make_users(rebuild, users)};
	Portal		portal = SPI_cursor_open(NULL, rebuild->plans[EXPOSURES], arguments, NULL, false);

	bloomexp_exposures_begin(receiver.exposures, &rebuild->key, rebuild->columns.kind, 0,
							 rebuild->definition.slices > 0);
	(void) PortalRunFetch(portal, FETCH_FORWARD, FETCH_ALL, &receiver.pub);
	SPI_cursor_close(portal);
	bloomexp_exposures_group(receiver.exposures);
	return receiver.exposures;
}

/* The filter of what a user was shown. */
static struct varlena *
build(const Rebuild *rebuild, const BloomExposures *exposures, const BloomShown *shown)
{
	const BloomDefinition *definition = &rebuild->definition;
	double		fpr = bloomexp_definition_rebuilt_fpr(definition);
	uint64	   *hashes = exposures->hashes + shown->first;
	BloomExposure *added;
	int64		length;
	struct varlena *value;
	struct varlena *expired;
	BloomFilter filter;
	uint64		n;

	if (definition->slices == 0)
		return bloomexp_filter_build(exposures->kind, hashes, bloomexp_distinct_keep(hashes, shown->n), fpr,
									 definition->headroom);

	bloomexp_window_init(&filter, bloomexp_arguments_width(definition->width), definition->slices, fpr, 0);
	length = bloomexp_window_slice_length(filter.width, filter.slices);
	added = palloc_extended(shown->n * sizeof(BloomExposure), MCXT_ALLOC_HUGE);
	for (uint64 i = 0; i < shown->n; i++)
		added[i] = (BloomExposure) {
			.hash = hashes[i], .slice = bloomexp_window_slice_of(exposures->times[shown->first + i], length)
		};
	n = bloomexp_window_keep_newest(added, shown->n);
	value = bloomexp_window_add(&filter, exposures->kind, added, n, true);
	bloomexp_layout_open(&filter, value);
	expired = bloomexp_window_expire(&filter, get_at(rebuild));
	return expired != NULL ? expired : value;
}

/* Some users and their filters, to be written together. */
typedef struct Writing
{
	Statement	statement;
	Users		users;
	Datum	   *filters;
	Size		size;
} Writing;

static Writing
begin_writing(Statement statement, uint64 n)
{
	return (Writing) {
		.statement = statement,
		.users.values = palloc(Max(n, 1) * sizeof(Datum)),
		.filters = palloc(Max(n, 1) * sizeof(Datum))
	};
}

/* Write what there is to write. */
static void
flush_writing(const Rebuild *rebuild, Writing *writing)
{
	Datum		arguments[2];
	Oid			filter_type = get_element_type(SPI_getargtypeid(rebuild->plans[WRITE], 1));

	if (writing->users.n == 0)
		return;
	arguments[0] = make_users(rebuild, &writing->users);
	arguments[1] = PointerGetDatum(construct_array(writing->filters, writing->users.n, filter_type,
												   -1, false, TYPALIGN_INT));
	for (int i = 0; i < writing->users.n; i++)
		pfree(DatumGetPointer(writing->filters[i]));
	writing->users.n = 0;
	writing->size = 0;
	(void) execute(rebuild, writing->statement, arguments);
	pfree(DatumGetPointer(arguments[0]));
	pfree(DatumGetPointer(arguments[1]));
}

static void
write_filter(const Rebuild *rebuild, Writing *writing, Datum user, struct varlena *filter)
{
	writing->users.values[writing->users.n] = user;
	writing->filters[writing->users.n++] = PointerGetDatum(filter);
	writing->size += VARSIZE_ANY(filter);
	if (writing->size > WRITE_BYTES)
		flush_writing(rebuild, writing);
}

/*
 * Write the filters of some users, of whom those with rows that are locked are known.
 *
 * What is not locked has no row as far as we know, and is inserted or united.
 */
static void
write_batch(Rebuild *rebuild, const Users *users, const Users *locked)
{
	BloomExposures *exposures = gather(rebuild, users);
	Writing		old = begin_writing(WRITE, exposures->nusers);
	Writing		new = begin_writing(WRITE_NEW, exposures->nusers);
	Users		fresh = {.values = palloc(Max(exposures->nusers, 1) * sizeof(Datum))};
	Users		gone;
	int			next = 0;

	for (uint64 i = 0; i < exposures->nusers; i++)
	{
		const BloomShown *shown = &exposures->users[i];
		Datum		user = shown->user;

		CHECK_FOR_INTERRUPTS();
		while (next < locked->n && compare_users(&locked->values[next], &user, rebuild) < 0)
			next++;
		fresh.values[fresh.n++] = user;
		write_filter(rebuild, next < locked->n &&
					 compare_users(&locked->values[next], &user, rebuild) == 0 ? &old : &new,
					 user, build(rebuild, exposures, shown));
	}
	flush_writing(rebuild, &old);
	gone = subtract(rebuild, locked, &fresh);
	if (gone.n > 0)
	{
		Datum		arguments[] = {make_users(rebuild, &gone)};

		rebuild->removed += execute(rebuild, REMOVE, arguments);
	}
	flush_writing(rebuild, &new);
	rebuild->built += fresh.n;
}

/* Count what a batch would write. */
static void
count_batch(Rebuild *rebuild, const Users *users)
{
	BloomExposures *exposures = gather(rebuild, users);
	Users		present = find_users(rebuild, PRESENT, users);
	Users		fresh = {.values = palloc(Max(exposures->nusers, 1) * sizeof(Datum))};
	Users		others;

	for (uint64 i = 0; i < exposures->nusers; i++)
	{
		struct varlena *filter;

		CHECK_FOR_INTERRUPTS();
		fresh.values[fresh.n++] = exposures->users[i].user;
		filter = build(rebuild, exposures, &exposures->users[i]);
		rebuild->bytes += VARSIZE_ANY(filter);
		pfree(filter);
	}
	others = subtract(rebuild, &present, &fresh);
	rebuild->exposures += exposures->n;
	rebuild->built += fresh.n;
	rebuild->others += others.n;
}

/* Lock what is free, and write that; returns the users who must wait. */
static Users
do_batch(Rebuild *rebuild, const Users *users)
{
	Users		present = find_users(rebuild, PRESENT, users);
	Users		locked = find_users(rebuild, LOCK_FREE, users);
	Users		busy = subtract(rebuild, &present, &locked);
	Users		free_users = subtract(rebuild, users, &busy);

	write_batch(rebuild, &free_users, &locked);
	return busy;
}

/*
 * Do a batch; returns the users who must wait, which may be all of them: the batch is
 * given up before anybody deadlocks.
 */
static Users
try_batch(Rebuild *rebuild, const Users *users)
{
	MemoryContext caller = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	Users		busy = *users;
	uint64		built = rebuild->built;
	uint64		removed = rebuild->removed;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(caller);
	PG_TRY();
	{
		set_locally("lock_timeout", LOCK_TIMEOUT);
		busy = do_batch(rebuild, users);
		ReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(caller);
		CurrentResourceOwner = owner;
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(caller);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(caller);
		CurrentResourceOwner = owner;
		if (error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE &&
			error->sqlerrcode != ERRCODE_T_R_DEADLOCK_DETECTED)
			ReThrowError(error);
		rebuild->built = built;
		rebuild->removed = removed;
		busy = *users;
	}
	PG_END_TRY();
	return busy;
}

/* Do the users who had to wait, one in a transaction. */
static void
do_busy(Rebuild *rebuild, const Users *busy)
{
	for (int i = 0; i < busy->n; i++)
	{
		Users		one = {&busy->values[i], 1};
		Users		locked;

		begin_transaction();
		begin_work(rebuild);
		locked = find_users(rebuild, LOCK_ALL, &one);
		write_batch(rebuild, &one, &locked);
	}
}

/* A user as a text, for a message. */
static char *
show_user(const Rebuild *rebuild, Datum user)
{
	Oid			output;
	bool		is_varlena;

	getTypeOutputInfo(rebuild->key.type, &output, &is_varlena);
	return OidOutputFunctionCall(output, user);
}

/* Tell the progress, where only those see it who may see the statement. */
static void
report_progress(const Rebuild *rebuild)
{
	Datum		name = DirectFunctionCall1(regclassout, ObjectIdGetDatum(rebuild->target));
	char	   *progress = psprintf("bloom_rebuild: " UINT64_FORMAT " users%s (%s)", rebuild->done, rebuild->which,
								  DatumGetCString(name));

	pgstat_report_activity(STATE_RUNNING, progress);
	pfree(progress);
}

/* Go on behind a batch. */
static void
finish_batch(Rebuild *rebuild, Datum last, int n)
{
	MemoryContext caller = MemoryContextSwitchTo(rebuild->context);
	TimestampTz now = GetCurrentTimestamp();

	rebuild->last = datumCopy(last, rebuild->key.by_value, rebuild->key.length);
	rebuild->has_last = true;
	MemoryContextSwitchTo(caller);
	rebuild->done += n;
	rebuild->batches++;
	report_progress(rebuild);
	if (rebuild->dry_run)
		return;
	if (TimestampDifferenceExceeds(rebuild->told_at, now, NOTICE_SECONDS * 1000))
	{
		ereport(NOTICE,
				(errmsg("rebuilt the filters of " UINT64_FORMAT " users, the last one is %s", rebuild->done,
						show_user(rebuild, rebuild->last))));
		rebuild->told_at = now;
	}
	if (rebuild->pause > 0)
	{
		/* in a transaction of its own, so that the window does not end before it */
		begin_transaction();
		DirectFunctionCall1(pg_sleep, Float8GetDatum(rebuild->pause));
	}
}

/* Do batch after batch. */
static void
do_all(Rebuild *rebuild)
{
	for (;;)
	{
		Users		batch;
		Users		busy = {NULL, 0};
		Datum		last = (Datum) 0;

		MemoryContextReset(rebuild->batch);
		if (!rebuild->dry_run)
			begin_transaction();
		MemoryContextSwitchTo(rebuild->batch);
		if (!rebuild->dry_run)
			begin_work(rebuild);
		if (!find_batch(rebuild, &batch, &last))
			break;
		if (batch.n > 0 && rebuild->dry_run)
			count_batch(rebuild, &batch);
		else if (batch.n > 0)
		{
			busy = try_batch(rebuild, &batch);
			do_busy(rebuild, &busy);
		}
		finish_batch(rebuild, last, batch.n);
	}
	MemoryContextSwitchTo(rebuild->context);
}

/* Say what the call has done, or would do. */
static void
report(const Rebuild *rebuild)
{
	if (rebuild->dry_run)
	{
		/* what a rebuild writes comes on top */
		double		seconds = (GetCurrentTimestamp() - rebuild->started_at) / 1e6 +
			rebuild->batches * rebuild->pause;
		Interval	takes = {.time = ((int64) (seconds / 60) + 1) * USECS_PER_MINUTE};

		ereport(NOTICE,
				(errmsg("dry run%s: " UINT64_FORMAT " exposures of " UINT64_FORMAT " users would make filters of " UINT64_FORMAT " bytes, in about %s; " UINT64_FORMAT " rows are of other users",
						rebuild->which, rebuild->exposures, rebuild->built, rebuild->bytes,
						DatumGetCString(DirectFunctionCall1(interval_out,
															IntervalPGetDatum(&takes))), rebuild->others)));
		return;
	}
	if (!rebuild->given && rebuild->parts == 1 && !rebuild->started_after && rebuild->built == 0 &&
		rebuild->removed > 0)
		ereport(WARNING,
				(errmsg("no exposure in the window: removed the filters of " UINT64_FORMAT " users", rebuild->removed)));
	ereport(NOTICE,
			(errmsg("rebuilt the filters of " UINT64_FORMAT " users%s", rebuild->done, rebuild->which)));
}

/* bloom_rebuild() */
Datum
bloomexp_rebuild(PG_FUNCTION_ARGS)
{
	Rebuild		rebuild;

	require_nonatomic(fcinfo);
	memset(&rebuild, 0, sizeof(rebuild));
	bloomexp_plans_expect(SPI_connect_ext(SPI_OPT_NONATOMIC), SPI_OK_CONNECT, "SPI_connect_ext");
	rebuild.context = CurrentMemoryContext;
	rebuild.batch = AllocSetContextCreate(CurrentMemoryContext, "bloom_rebuild batch", ALLOCSET_DEFAULT_SIZES);
	PG_TRY();
	{
		begin_transaction();
		prepare(fcinfo, &rebuild);
		rebuild.started_after = rebuild.has_last;
		rebuild.started_at = rebuild.told_at = GetCurrentTimestamp();

		/*
		 * Held until the end of the call, whatever it commits.  A rebuild of some users does
		 * without: the locks on their rows are enough, and an application that forgets an
		 * item must not have to wait for the night to end.
		 */
		if (!rebuild.given && !rebuild.dry_run)
			bloomexp_rebuild_lock_acquire(rebuild.target, rebuild.part, rebuild.parts,
										  get_common_hash(&rebuild));
		report_progress(&rebuild);
		rebuilt = rebuild.target;
		do_all(&rebuild);
	}
	PG_CATCH();
	{
		rebuilt = InvalidOid;
		bloomexp_rebuild_lock_release();
		free_plans(&rebuild);
		PG_RE_THROW();
	}
	PG_END_TRY();
	rebuilt = InvalidOid;
	bloomexp_rebuild_lock_release();
	free_plans(&rebuild);
	/* (nothing that was set for the rebuild is left in a block that goes on) */
	SPI_commit();
	SPI_start_transaction();
	report(&rebuild);
	bloomexp_plans_expect(SPI_finish(), SPI_OK_FINISH, "SPI_finish");
	PG_RETURN_VOID();
}
