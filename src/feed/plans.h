/*-------------------------------------------------------------------------
 *
 * plans.h
 *	  What the session keeps of a trigger, or of a column of filters: its definition,
 *	  and the plans of its statements.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_PLANS_H
#define BLOOMEXP_PLANS_H

#include "executor/spi.h"
#include "storage/block.h"

/* What an entry is of. */
typedef struct BloomPlansKey
{
	Oid			trigger;		/* or InvalidOid */
	Oid			target;			/* ... and the table of the filters, */
	NameData	column;			/* ... and their column, empty if it is not named */
} BloomPlansKey;

/* The statements of an entry. */
typedef enum BloomStatement
{
	BLOOM_READ,
	BLOOM_START,
	BLOOM_WRITE,
	BLOOM_LOCK,
	BLOOM_READ_MANY,
	BLOOM_START_MANY,
	BLOOM_WRITE_MANY
} BloomStatement;

#define BLOOM_STATEMENTS (BLOOM_WRITE_MANY + 1)
#define BLOOM_STATEMENT_ARGUMENTS 3

/* A statement is planned when it is executed for the first time. */
typedef struct BloomPlan
{
	char	   *sql;
	int			expected;		/* result of SPI */
	int			nargs;
	Oid			types[BLOOM_STATEMENT_ARGUMENTS];
	SPIPlanPtr	plan;
} BloomPlan;

/* An entry; what others keep begins with it, and lives in its memory context. */
typedef struct BloomPlans
{
	BloomPlansKey key;
	MemoryContext context;
	Oid			source;			/* tables whose changes make it stale, */
	Oid			target;
	Oid			whole;			/* of which the target is a shard, or the target */
	bool		by_expressions;	/* ... and so do changes of functions, operators, types */
	bool		stale;
	bool		kept;
	BlockNumber pages;			/* of the target, when it was planned */
	int			users;			/* calls that use it now: a table of filters may have
								 * triggers that come here again */
	BloomPlan	plans[BLOOM_STATEMENTS];
} BloomPlans;

extern void bloomexp_plans_expect(int result, int expected, const char *function);
extern BlockNumber bloomexp_plans_lock_target(Oid target);
extern BloomPlans *bloomexp_plans_find(const BloomPlansKey *key);
extern BloomPlans *bloomexp_plans_begin(const BloomPlansKey *key, Size size);
extern void bloomexp_plans_keep(BloomPlans *plans);
extern void bloomexp_plans_use(BloomPlans *plans, void (*use) (BloomPlans *plans, void *argument),
							   void *argument);
extern uint64 bloomexp_plans_execute(BloomPlans *plans, BloomStatement statement, Datum *arguments);
extern uint64 bloomexp_plans_changes(void);

#endif							/* BLOOMEXP_PLANS_H */
