/*-------------------------------------------------------------------------
 *
 * kept.h
 *	  Statements on a table of filters, whose plans the session keeps.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_KEPT_H
#define BLOOMEXP_KEPT_H

#include "executor/spi.h"
#include "storage/block.h"
#include "utils/hsearch.h"

/* What the statements are for: a trigger, or a column of a table. */
typedef struct BloomKeptKey
{
	Oid			object;
	NameData	column;			/* empty if there is none to name */
} BloomKeptKey;

#define BLOOMEXP_KEPT_PLANS 3

/* Plans that belong together; a room's own entries begin with it. */
typedef struct BloomKept
{
	BloomKeptKey key;
	Oid			target;			/* the table of the filters */
	BlockNumber pages;			/* its size when planned */
	bool		outgrown;		/* it is much larger now */
	SPIPlanPtr	plans[BLOOMEXP_KEPT_PLANS];
	int			users;			/* calls that execute them now: a table of filters
								 * may have triggers that come here again */
} BloomKept;

extern void bloomexp_kept_expect(int result, int expected, const char *function);
extern char *bloomexp_kept_schema(Oid function);
extern void bloomexp_kept_ask(const char *query, int nargs, Oid *types, Datum *values,
							  const char *nulls);
extern SPIPlanPtr bloomexp_kept_prepare(const char *statements, int nargs, Oid *types);
extern BlockNumber bloomexp_kept_lock_target(Oid target);
extern HTAB *bloomexp_kept_create(const char *name, Size entry_size);
extern BloomKept *bloomexp_kept_find(HTAB *table, const BloomKeptKey *key);
extern BloomKept *bloomexp_kept_keep(HTAB *table, BloomKept *made, Size entry_size);
extern void bloomexp_kept_use(BloomKept *kept, void (*execute) (BloomKept *kept, void *argument),
							  void *argument);

#endif							/* BLOOMEXP_KEPT_H */
