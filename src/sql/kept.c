/*-------------------------------------------------------------------------
 *
 * kept.c
 *	  Statements on a table of filters, whose plans the session keeps.
 *
 * To find out what to execute, and to plan it, takes a millisecond or two, so
 * plans are kept as long as they are valid and the table has not outgrown them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "executor/spi.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "sql/kept.h"

/*
 * bloomexp_kept_expect
 *		Raise an internal error on an unexpected SPI result.
 */
void
bloomexp_kept_expect(int result, int expected, const char *function)
{
	if (result != expected)
		elog(ERROR, "%s failed: %s", function, SPI_result_code_string(result));
}

/*
 * bloomexp_kept_schema
 *		The schema of a function that is called.
 *
 * Queries do not lock functions, so the extension may have been dropped meanwhile.
 */
char *
bloomexp_kept_schema(Oid function)
{
	char	   *schema = get_namespace_name(get_func_namespace(function));

	if (schema == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("function with OID %u does not exist", function)));
	return schema;
}

/*
 * bloomexp_kept_ask
 *		Execute a query that says what to keep; the answer is in SPI_tuptable.
 *
 * The catalogs are read as they are now, whatever the isolation level: the plans
 * may live longer than the transaction and its snapshot.
 */
void
bloomexp_kept_ask(const char *query, int nargs, Oid *types, Datum *values, const char *nulls)
{
	PushActiveSnapshot(GetLatestSnapshot());
	bloomexp_kept_expect(SPI_execute_with_args(query, nargs, types, values, nulls, true, 0),
						 SPI_OK_SELECT, "SPI_execute_with_args");
	PopActiveSnapshot();
}

/*
 * bloomexp_kept_prepare
 *		A plan for the statements, which lasts until SPI_finish().
 */
SPIPlanPtr
bloomexp_kept_prepare(const char *statements, int nargs, Oid *types)
{
	SPIPlanPtr	plan = SPI_prepare(statements, nargs, types);

	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	return plan;
}

/*
 * bloomexp_kept_lock_target
 *		Lock a table of filters; returns its pages, 0 if it is partitioned or gone.
 */
BlockNumber
bloomexp_kept_lock_target(Oid target)
{
	Relation	relation = try_relation_open(target, RowExclusiveLock);
	BlockNumber pages = 0;

	if (relation == NULL)
		return 0;
	if (RELKIND_HAS_STORAGE(relation->rd_rel->relkind))
		pages = RelationGetNumberOfBlocks(relation);
	relation_close(relation, NoLock);
	return pages;
}

/*
 * bloomexp_kept_create
 *		A place for entries that begin with a BloomKept.
 */
HTAB *
bloomexp_kept_create(const char *name, Size entry_size)
{
	HASHCTL		control = {.keysize = sizeof(BloomKeptKey),.entrysize = entry_size};

	return hash_create(name, 16, &control, HASH_ELEM | HASH_BLOBS);
}

/*
 * Whether the plans can still be used.
 *
 * The first stands for all: they depend on the same tables, functions and schemas.
 */
static bool
is_good(const BloomKept *kept)
{
	return !kept->outgrown && SPI_plan_is_valid(kept->plans[0]);
}

/*
 * bloomexp_kept_find
 *		The plans of a key, or NULL if there are none that can be used.
 *
 * The lock makes changes of the table by others visible before we look.
 */
BloomKept *
bloomexp_kept_find(HTAB *table, const BloomKeptKey *key)
{
	BloomKept  *kept = hash_search(table, key, HASH_FIND, NULL);

	if (kept == NULL || !SPI_plan_is_valid(kept->plans[0]))
		return NULL;
	kept->outgrown = bloomexp_kept_lock_target(kept->target) / 2 > kept->pages + 4;
	return is_good(kept) ? kept : NULL;
}

static void
free_plans(BloomKept *kept)
{
	for (int i = 0; i < BLOOMEXP_KEPT_PLANS; i++)
	{
		if (kept->plans[i] != NULL)
			SPI_freeplan(kept->plans[i]);
	}
}

/* Free the plans that cannot be used, such as those of dropped triggers. */
static void
forget_bad(HTAB *table)
{
	HASH_SEQ_STATUS scan;
	BloomKept  *kept;

	hash_seq_init(&scan, table);
	while ((kept = hash_seq_search(&scan)) != NULL)
	{
		if (kept->users > 0 || is_good(kept))
			continue;
		free_plans(kept);
		hash_search(table, &kept->key, HASH_REMOVE, NULL);
	}
}

/*
 * bloomexp_kept_keep
 *		Keep an entry in place of the old one of its key; returns where it is.
 *
 * While the old one is in use, nothing is kept, and the new plans last until
 * SPI_finish().
 */
BloomKept *
bloomexp_kept_keep(HTAB *table, BloomKept *made, Size entry_size)
{
	BloomKept  *kept;
	bool		found;

	forget_bad(table);
	kept = hash_search(table, &made->key, HASH_FIND, &found);
	if (found && kept->users > 0)
		return made;
	for (int i = 0; i < BLOOMEXP_KEPT_PLANS; i++)
	{
		if (made->plans[i] != NULL)
			bloomexp_kept_expect(SPI_keepplan(made->plans[i]), 0, "SPI_keepplan");
	}
	kept = hash_search(table, &made->key, HASH_ENTER, &found);
	if (found)
		free_plans(kept);
	memcpy(kept, made, entry_size);
	return kept;
}

/*
 * bloomexp_kept_use
 *		Call back while the plans stay ours, whatever becomes of them meanwhile.
 */
void
bloomexp_kept_use(BloomKept *kept, void (*execute) (BloomKept *kept, void *argument),
				  void *argument)
{
	kept->users++;
	PG_TRY();
	{
		execute(kept, argument);
	}
	PG_CATCH();
	{
		kept->users--;
		PG_RE_THROW();
	}
	PG_END_TRY();
	kept->users--;
}
