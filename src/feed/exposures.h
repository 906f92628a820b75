/*-------------------------------------------------------------------------
 *
 * exposures.h
 *	  Exposures, gathered and grouped by their users.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_EXPOSURES_H
#define BLOOMEXP_EXPOSURES_H

#include "utils/sortsupport.h"

#include "feed/columns.h"
#include "value/kind.h"

/* What one user was shown. */
typedef struct BloomShown
{
	Datum		user;
	uint64		first;			/* of the items and their times, which are in a row once
								 * they are grouped */
	uint64		n;
	uint32		index;			/* of the user as they came */
} BloomShown;

typedef struct BloomExposures
{
	MemoryContext context;		/* of all that follows */
	BloomKind	kind;
	uint32		seed;			/* of the hashes */
	bool		timed;
	bool		keeps_items;
	int16		length;			/* of users, as pg_type.typlen */
	bool		by_value;
	SortSupportData order;		/* of users */
	FmgrInfo   *hash;			/* of users; NULL: their type has none */
	struct found_hash *found;	/* where a user is in `users` */

	uint64	   *hashes;			/* of the items */
	Datum	   *items;			/* themselves, if they are kept */
	int64	   *times;			/* in microseconds since 2000-01-01 UTC, if timed */
	uint32	   *owners;			/* of each item: an index of `users`, until they are grouped */
	uint64		n;
	uint64		space;
	uint64		runs;			/* of exposures with the same user */

	BloomShown *users;			/* as they come, then in their order and each once */
	uint32		nusers;
	uint32		users_space;
} BloomExposures;

extern void bloomexp_exposures_begin(BloomExposures *exposures, const BloomKey *key, BloomKind kind,
									 uint32 seed, bool timed);
extern void bloomexp_exposures_add(BloomExposures *exposures, Datum user, Datum item, int64 time);
extern void bloomexp_exposures_group(BloomExposures *exposures);
extern void bloomexp_exposures_hash(const BloomExposures *exposures, const BloomShown *shown, uint32 seed,
									uint64 *hashes);
extern int	bloomexp_exposures_compare(BloomExposures *exposures, Datum a, Datum b);

#endif							/* BLOOMEXP_EXPOSURES_H */
