/*-------------------------------------------------------------------------
 *
 * plans.c
 *	  What the session keeps of a trigger, or of a column of filters.
 *
 * To read a definition and to plan its statements takes longer than to execute them.
 * So both are kept, until PostgreSQL reports that one of the tables has changed, or
 * that a plan is not valid any more, or until the table has outgrown the plans.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "executor/spi.h"
#include "storage/bufmgr.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "feed/plans.h"
#include "sql/arguments.h"
#include "value/compat.h"

/* What the hash table has. */
typedef struct Entry
{
	BloomPlansKey key;
	BloomPlans *plans;
} Entry;

static HTAB *entries = NULL;

/* How many times anything has changed on which triggers may depend. */
static uint64 changes = 0;

/* Called by PostgreSQL for each change of a table; InvalidOid: of any. */
static void
tables_changed(Datum argument, Oid table)
{
	HASH_SEQ_STATUS scan;
	Entry	   *entry;

	changes++;
	hash_seq_init(&scan, entries);
	while ((entry = hash_seq_search(&scan)) != NULL)
		entry->plans->stale |= !OidIsValid(table) || table == entry->plans->source ||
			table == entry->plans->target || table == entry->plans->whole;
}

/* ... of a function, an operator or a type, ... */
static void
expressions_changed(Datum argument, BLOOMEXP_SYSCACHE_ID cache, uint32 hash)
{
	HASH_SEQ_STATUS scan;
	Entry	   *entry;

	hash_seq_init(&scan, entries);
	while ((entry = hash_seq_search(&scan)) != NULL)
		entry->plans->stale |= entry->plans->by_expressions;
}

/* ... and of the members of a role. */
static void
members_changed(Datum argument, BLOOMEXP_SYSCACHE_ID cache, uint32 hash)
{
	changes++;
}

static void
create_entries(void)
{
	HASHCTL		control = {.keysize = sizeof(BloomPlansKey),.entrysize = sizeof(Entry)};

	entries = hash_create("bloomexp plans", 16, &control, HASH_ELEM | HASH_BLOBS);
	CacheRegisterRelcacheCallback(tables_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(PROCOID, expressions_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(OPEROID, expressions_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(TYPEOID, expressions_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, members_changed, (Datum) 0);
}

/*
 * bloomexp_plans_changes
 *		A number that is another one after each change of any table, or of the members
 *		of a role.
 */
uint64
bloomexp_plans_changes(void)
{
	if (entries == NULL)
		create_entries();
	return changes;
}

/*
 * bloomexp_plans_expect
 *		Raise an internal error on an unexpected SPI result.
 */
void
bloomexp_plans_expect(int result, int expected, const char *function)
{
	if (result != expected)
		elog(ERROR, "%s failed: %s", function, SPI_result_code_string(result));
}

/*
 * bloomexp_plans_lock_target
 *		Lock a table of filters; returns its pages, 0 if it is partitioned or gone.
 */
BlockNumber
bloomexp_plans_lock_target(Oid target)
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
 * Can the plans still be used?
 *
 * PostgreSQL reports the new name of a schema only through the plans that exist: any
 * of them may be the one.
 */
static bool
is_good(const BloomPlans *plans)
{
	bool		good = !plans->stale;

	for (int i = 0; i < BLOOM_STATEMENTS && good; i++)
		good = plans->plans[i].plan == NULL || SPI_plan_is_valid(plans->plans[i].plan);
	return good;
}

static void
free_entry(Entry *entry)
{
	BloomPlans *plans = entry->plans;

	for (int i = 0; i < BLOOM_STATEMENTS; i++)
	{
		if (plans->plans[i].plan != NULL)
			SPI_freeplan(plans->plans[i].plan);
	}
	hash_search(entries, &entry->key, HASH_REMOVE, NULL);
	MemoryContextDelete(plans->context);
}

/*
 * bloomexp_plans_find
 *		The entry of a key, or NULL if there is none that can be used.
 *
 * The lock makes changes of the table by others visible before we look.
 */
BloomPlans *
bloomexp_plans_find(const BloomPlansKey *key)
{
	Entry	   *entry;
	BlockNumber pages;

	if (entries == NULL)
		create_entries();
	entry = hash_search(entries, key, HASH_FIND, NULL);
	if (entry == NULL || !is_good(entry->plans))
		return NULL;
	bloomexp_arguments_require_privilege(entry->plans->target, ACL_UPDATE);
	pages = bloomexp_plans_lock_target(entry->plans->target);
	if (pages / 2 > entry->plans->pages + 4)
		entry->plans->stale = true;
	return is_good(entry->plans) ? entry->plans : NULL;
}

/* Free the entries that cannot be used, such as those of dropped triggers. */
static void
free_bad_entries(void)
{
	HASH_SEQ_STATUS scan;
	Entry	   *entry;

	hash_seq_init(&scan, entries);
	while ((entry = hash_seq_search(&scan)) != NULL)
	{
		if (entry->plans->users == 0 && !is_good(entry->plans))
			free_entry(entry);
	}
}

/*
 * bloomexp_plans_begin
 *		An empty entry of some size, to be filled and kept.
 */
BloomPlans *
bloomexp_plans_begin(const BloomPlansKey *key, Size size)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "bloomexp plans", ALLOCSET_SMALL_SIZES);
	BloomPlans *plans = MemoryContextAllocZero(context, size);

	plans->key = *key;
	plans->context = context;
	return plans;
}

/*
 * bloomexp_plans_keep
 *		Keep an entry for the session, in place of the old one of its key.
 *
 * While the old one is in use the new one is not kept, and lasts as long as the memory
 * context in which it was begun.
 */
void
bloomexp_plans_keep(BloomPlans *plans)
{
	Entry	   *entry;
	bool		found;

	free_bad_entries();
	entry = hash_search(entries, &plans->key, HASH_FIND, &found);
	if (found && entry->plans->users > 0)
		return;
	if (found)
		free_entry(entry);
	entry = hash_search(entries, &plans->key, HASH_ENTER, NULL);
	entry->plans = plans;
	plans->kept = true;
	MemoryContextSetParent(plans->context, CacheMemoryContext);
}

/*
 * bloomexp_plans_use
 *		Call back while the entry stays ours, whatever becomes of it meanwhile.
 */
void
bloomexp_plans_use(BloomPlans *plans, void (*use) (BloomPlans *plans, void *argument), void *argument)
{
	plans->users++;
	PG_TRY();
	{
		use(plans, argument);
	}
	PG_CATCH();
	{
		plans->users--;
		PG_RE_THROW();
	}
	PG_END_TRY();
	plans->users--;
}

/*
 * bloomexp_plans_execute
 *		Execute a statement, with a snapshot of its own; returns how many rows were
 *		processed.
 */
uint64
bloomexp_plans_execute(BloomPlans *plans, BloomStatement statement, Datum *arguments)
{
	BloomPlan  *plan = &plans->plans[statement];
	MemoryContext caller = CurrentMemoryContext;

	if (plan->plan == NULL)
	{
		SPIPlanPtr	made = SPI_prepare(plan->sql, plan->nargs, plan->types);

		if (made == NULL)
			elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
		if (plans->kept)
			bloomexp_plans_expect(SPI_keepplan(made), 0, "SPI_keepplan");
		plan->plan = made;
	}
	bloomexp_plans_expect(SPI_execute_plan(plan->plan, arguments, NULL, false, 0), plan->expected,
						  "SPI_execute_plan");
	/* (SPI leaves its own context behind, which lasts until SPI_finish()) */
	MemoryContextSwitchTo(caller);
	return SPI_processed;
}
