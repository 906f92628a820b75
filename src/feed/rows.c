/*-------------------------------------------------------------------------
 *
 * rows.c
 *	  The rows of a table of filters, as they are changed while others change them.
 *
 * Why no exposure is lost.  An exposure is written, and added to the filter, in one
 * transaction; the add holds a lock on the row of the filter until that transaction ends,
 * even if it changes nothing.  A rebuild locks the row first, and then reads the exposures
 * in a statement of its own, whose snapshot is younger than the lock.  So for each user
 * and each writer there are these cases:
 *
 *	1. The writer has the lock first.  The rebuild gets it when the writer has ended, so
 *	   its snapshot has the exposure if the writer has committed.
 *	2. The rebuild has the lock first.  The writer gets it when the rebuild has committed
 *	   or failed, and adds to the version that it left.  If the rebuild has deleted the
 *	   row, the writer inserts a new one: there was no other exposure, and writers that
 *	   follow wait for the new row.
 *	3. The user has no row.  The rebuild inserts what its snapshot has, and if a row has
 *	   appeared meanwhile it unites, never overwrites.
 *	4. Two writers.  A new value is written only over the version that it was made from:
 *	   an UPDATE that had to wait finds another xmin if the other one has committed, and
 *	   writes nothing.  Then an INSERT decides: it starts a filter if there is no row any
 *	   more, and otherwise it locks the row, so that what is read next stays as it is.
 *	   To lock the row before it is read would be a second WAL record each time.
 *
 * This needs READ COMMITTED in the rebuild, which it sets.  A writer under a stricter
 * level may fail to serialize, but does not lose an exposure.
 *
 * Users are changed in the order of their index, so writers do not deadlock with each
 * other, as long as each changes the filters of a table in one statement.
 *
 * Names in statements have their schema, since a writer may have any search_path, and
 * others may be able to create functions and operators in it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "feed/rows.h"
#include "feed/triggers.h"

/* Write new values when they take more bytes than this. */
#define WRITE_BYTES ((Size) 16 * 1024 * 1024)

/* Set a statement; its arguments are the types that follow. */
static void
set_statement(BloomRows *rows, BloomStatement statement, int expected, char *sql, int nargs, Oid a,
			  Oid b, Oid c)
{
	rows->plans.plans[statement] = (BloomPlan) {
		.sql = sql, .expected = expected, .nargs = nargs, .types = {a, b, c}
	};
}

/*
 * bloomexp_rows_prepare
 *		Write the statements, in the current memory context, that read, lock, start and
 *		write the filters of a table, for $1: a user or many.
 */
void
bloomexp_rows_prepare(BloomRows *rows, const BloomExtension *extension)
{
	const BloomKey *key = &rows->key;
	const char *live = rows->definition.live_column;
	const char *filter = quote_identifier(rows->filter_column);
	const char *changed = live ? quote_identifier(live) : filter;
	char	   *filters = live ? psprintf("f.%s, f.%s", filter, changed) : psprintf("f.%s", filter);
	char	   *of_user = psprintf("%s %s $1::%s", key->compared_sql, key->equal_sql, key->type_sql);

	/* WHERE false locks a row that is there, and leaves it as it is. */
	char	   *on_conflict = psprintf("ON CONFLICT (%s) DO UPDATE SET %s = f.%s WHERE false", key->column_sql, changed, changed);
	Oid			users = key->array_type;

	rows->nfilters = live ? 2 : 1;
	set_statement(rows, BLOOM_READ, SPI_OK_SELECT,
				  psprintf("SELECT f.xmin, %s FROM %s AS f WHERE %s", filters, key->table_sql, of_user),
				  1, key->type, InvalidOid, InvalidOid);
	set_statement(rows, BLOOM_START, SPI_OK_INSERT,
				  psprintf("INSERT INTO %s AS f (%s, %s) VALUES ($1, $2) %s", key->table_sql, key->column_sql, changed, on_conflict),
				  2, key->type, extension->filter_type, InvalidOid);
	set_statement(rows, BLOOM_WRITE, SPI_OK_UPDATE,
				  psprintf("UPDATE %s AS f SET %s = $3 WHERE %s AND f.xmin OPERATOR(pg_catalog.=) $2", key->table_sql, changed, of_user),
				  3, key->type, XIDOID, extension->filter_type);
	set_statement(rows, BLOOM_LOCK, SPI_OK_SELECT,
				  psprintf("SELECT FROM %s AS f WHERE %s AND f.xmin OPERATOR(pg_catalog.=) $2 FOR NO KEY UPDATE", key->table_sql, of_user),
				  2, key->type, XIDOID, InvalidOid);
	set_statement(rows, BLOOM_READ_MANY, SPI_OK_SELECT,
				  psprintf("SELECT f.%s, %s FROM %s AS f WHERE %s %s ANY ($1::%s[]) ORDER BY %s FOR NO KEY UPDATE", key->column_sql, filters,
						   key->table_sql, key->compared_sql, key->equal_sql, key->type_sql,
						   key->compared_sql),
				  1, users, InvalidOid, InvalidOid);
	/* (PostgreSQL itself knows this unnest(), whatever search_path says) */
	set_statement(rows, BLOOM_START_MANY, SPI_OK_INSERT,
				  psprintf("INSERT INTO %s AS f (%s, %s) SELECT n.u, n.c FROM unnest($1, $2) WITH ORDINALITY AS n (u, c, i) ORDER BY n.i %s",
						   key->table_sql, key->column_sql, changed, on_conflict),
				  2, users, extension->filter_array_type, InvalidOid);
	set_statement(rows, BLOOM_WRITE_MANY, SPI_OK_UPDATE,
				  psprintf("UPDATE %s AS f SET %s = n.c FROM unnest($1, $2) AS n (u, c) WHERE %s %s n.u::%s",
						   key->table_sql, changed, key->compared_sql, key->equal_sql, key->type_sql),
				  2, users, extension->filter_array_type, InvalidOid);
}

/*
 * Refuse rows of other types than those for which the statement was written.
 *
 * After a table has changed, its plan is made again and returns the table's new columns.
 */
static void
check_shape(const BloomRows *rows, TupleDesc shape, int column)
{
	Oid			filter_type = rows->plans.plans[BLOOM_START].types[1];
	bool		same = shape->natts == column - 1 + rows->nfilters;

	for (int i = 0; i < rows->nfilters && same; i++)
		same = TupleDescAttr(shape, column - 1 + i)->atttypid == filter_type;
	bloomexp_columns_require_same(rows->key.table, same);
}

/* The filters of a row that was read, from a column on; NULL where there is none. */
static void
get_stored(const BloomRows *rows, TupleDesc shape, HeapTuple row, int column, struct varlena **stored)
{
	for (int i = 0; i < rows->nfilters; i++)
	{
		bool		isnull;
		Datum		value = SPI_getbinval(row, shape, column + i, &isnull);

		stored[i] = isnull ? NULL : (struct varlena *) DatumGetPointer(value);
	}
}

/*
 * Change the filter in the row of a user; false if there is no row, or if it has changed
 * before the filter was written.
 */
static bool
change_row(BloomRows *rows, const BloomChanges *changes, uint64 nth, Datum user)
{
	struct varlena *stored[BLOOM_ROW_FILTERS];
	struct varlena *filter;
	Datum		arguments[BLOOM_STATEMENT_ARGUMENTS] = {user};
	bool		isnull;

	if (bloomexp_plans_execute(&rows->plans, BLOOM_READ, arguments) == 0)
		return false;
	check_shape(rows, SPI_tuptable->tupdesc, 2);
	arguments[1] = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
	get_stored(rows, SPI_tuptable->tupdesc, SPI_tuptable->vals[0], 2, stored);
	filter = changes->change(changes->argument, nth, stored);
	arguments[2] = PointerGetDatum(filter);
	if (filter != NULL)
		return bloomexp_plans_execute(&rows->plans, BLOOM_WRITE, arguments) == 1;
	return !changes->must_lock || bloomexp_plans_execute(&rows->plans, BLOOM_LOCK, arguments) == 1;
}

/* Start a filter for a user; false if there is a row now, which is locked then. */
static bool
start_row(BloomRows *rows, const BloomChanges *changes, uint64 nth, Datum user)
{
	struct varlena *stored[BLOOM_ROW_FILTERS] = {NULL};
	struct varlena *filter = changes->change(changes->argument, nth, stored);
	Datum		arguments[BLOOM_STATEMENT_ARGUMENTS] = {user, PointerGetDatum(filter)};

	return filter == NULL || bloomexp_plans_execute(&rows->plans, BLOOM_START, arguments) == 1;
}

/*
 * bloomexp_rows_change
 *		Change the filter of a user, or start it; false if the table keeps its rows as
 *		they are, by a policy or a trigger.
 */
bool
bloomexp_rows_change(BloomRows *rows, const BloomChanges *changes, uint64 nth, Datum user)
{
	/*
	 * A transaction with one snapshot would read a row that is long gone, and fail.  To
	 * insert first fails only if there is a newer row.
	 */
	bool		read_first = !changes->must_lock || !IsolationUsesXactSnapshot();

	return (read_first && change_row(rows, changes, nth, user)) ||
		start_row(rows, changes, nth, user) || change_row(rows, changes, nth, user);
}

/* Some users and their filters, as arguments of a statement. */
typedef struct Batch
{
	Datum	   *users;
	Datum	   *filters;
	int			n;
	Size		size;			/* of the filters */
} Batch;

static void
begin_batch(Batch *batch, uint64 n)
{
	batch->users = palloc(n * sizeof(Datum));
	batch->filters = palloc(n * sizeof(Datum));
	batch->n = 0;
	batch->size = 0;
}

static void
add_to_batch(Batch *batch, Datum user, struct varlena *filter)
{
	batch->users[batch->n] = user;
	batch->filters[batch->n++] = PointerGetDatum(filter);
	batch->size += VARSIZE_ANY(filter);
}

/* Execute a statement for a batch, which is empty then; returns whether each row was processed. */
static bool
execute_batch(BloomRows *rows, BloomStatement statement, Batch *batch)
{
	Oid			filter_type = get_element_type(rows->plans.plans[statement].types[1]);
	int			n = batch->n;
	Datum		arguments[BLOOM_STATEMENT_ARGUMENTS];
	uint64		processed;

	if (n == 0)
		return true;
	arguments[0] = bloomexp_columns_make_users(&rows->key, batch->users, n);
	arguments[1] = PointerGetDatum(construct_array(batch->filters, n, filter_type, -1, false, TYPALIGN_INT));
	for (int i = 0; i < n; i++)
		pfree(DatumGetPointer(batch->filters[i]));
	batch->n = 0;
	batch->size = 0;
	processed = bloomexp_plans_execute(&rows->plans, statement, arguments);
	pfree(DatumGetPointer(arguments[0]));
	pfree(DatumGetPointer(arguments[1]));
	return processed == (uint64) n;
}

/* Start the filters of users without a row, and lock the rows of the others, in order. */
static void
start_or_lock(BloomRows *rows, const BloomChanges *changes, const BloomExposures *exposures,
			  uint64 first, uint64 n)
{
	struct varlena *stored[BLOOM_ROW_FILTERS] = {NULL};
	Batch		batch;

	begin_batch(&batch, n);
	for (uint64 i = first; i < first + n; i++)
	{
		if (batch.size > WRITE_BYTES)
			(void) execute_batch(rows, BLOOM_START_MANY, &batch);
		add_to_batch(&batch, exposures->users[i].user, changes->change(changes->argument, i, stored));
	}
	(void) execute_batch(rows, BLOOM_START_MANY, &batch);
}

/*
 * Change the filters of users from *next on, whose rows are locked, until so much has been
 * made that it is to be written.  Returns whether each user has a row that takes it.
 */
static bool
change_some(BloomRows *rows, const BloomChanges *changes, BloomExposures *exposures, uint64 *next, uint64 end)
{
	Datum		arguments[BLOOM_STATEMENT_ARGUMENTS];
	uint64		n = end - *next;
	uint64		processed;
	SPITupleTable *found;
	Batch		batch;
	bool		all;

	begin_batch(&batch, n);
	for (uint64 i = 0; i < n; i++)
		batch.users[i] = exposures->users[*next + i].user;
	arguments[0] = bloomexp_columns_make_users(&rows->key, batch.users, (int) n);
	processed = bloomexp_plans_execute(&rows->plans, BLOOM_READ_MANY, arguments);
	found = SPI_tuptable;
	check_shape(rows, found->tupdesc, 2);
	bloomexp_columns_require_same(rows->key.table,
								  getBaseType(TupleDescAttr(found->tupdesc, 0)->atttypid) == rows->key.type);
	all = processed == n;
	for (uint64 i = 0; i < processed && batch.size <= WRITE_BYTES; i++)
	{
		struct varlena *stored[BLOOM_ROW_FILTERS];
		struct varlena *filter;
		bool		isnull;
		Datum		user = SPI_getbinval(found->vals[i], found->tupdesc, 1, &isnull);

		CHECK_FOR_INTERRUPTS();
		while (*next < end && bloomexp_exposures_compare(exposures, exposures->users[*next].user, user) < 0)
			(*next)++;
		if (*next == end || bloomexp_exposures_compare(exposures, exposures->users[*next].user, user) != 0)
			ereport(ERROR,
					(errcode(ERRCODE_CARDINALITY_VIOLATION),
					 errmsg("table \"%s\" has more than one row of a user", get_rel_name(rows->key.table))));
		get_stored(rows, found->tupdesc, found->vals[i], 2, stored);
		filter = changes->change(changes->argument, *next, stored);
		if (filter != NULL)
			add_to_batch(&batch, exposures->users[*next].user, filter);
		(*next)++;
		if (i == processed - 1)
			*next = end;
	}
	if (processed == 0)
		*next = end;
	SPI_freetuptable(found);
	return execute_batch(rows, BLOOM_WRITE_MANY, &batch) && all;
}

/*
 * bloomexp_rows_change_many
 *		Change or start the filters of n users from the first on; false if the table
 *		keeps some of its rows as they are.
 *
 * All rows are locked first, whatever changes.  What triggers of the table do when some
 * are written is seen before the next ones are.
 */
bool
bloomexp_rows_change_many(BloomRows *rows, const BloomChanges *changes, BloomExposures *exposures,
						  uint64 first, uint64 n)
{
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext context = AllocSetContextCreate(caller, "bloomexp rows", ALLOCSET_DEFAULT_SIZES);
	uint64		next = first;
	bool		all = true;

	MemoryContextSwitchTo(context);
	start_or_lock(rows, changes, exposures, first, n);
	while (next < first + n)
	{
		/*
		 * Now each filter is as the last one who had the lock left it.  (It is locked once
		 * more, because a trigger may have kept the INSERT from coming to it.)
		 */
		MemoryContextReset(context);
		all &= change_some(rows, changes, exposures, &next, first + n);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return all;
}
