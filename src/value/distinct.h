/*-------------------------------------------------------------------------
 *
 * hashset.h
 *	  A set of 64-bit hashes: the distinct items of a group while it is read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_HASHSET_H
#define BLOOMEXP_HASHSET_H

#include "value/compat.h"

/*
 * The most hashes in one set, so that a serialized one fits in a bytea (1 GB)
 * whichever plan is chosen.
 */
#define BLOOMEXP_HASHSET_MAX 120000000

typedef struct BloomHashSet
{
	uint64	   *hashes;			/* repetitions among them */
	uint64		n;
	uint64		space;
} BloomHashSet;

extern uint64 bloomexp_distinct_keep(uint64 *hashes, uint64 n);

extern void bloomexp_distinct_list_init(BloomHashSet *set, MemoryContext context,
								  uint64 space);
extern void bloomexp_distinct_list_make_room(BloomHashSet *set, uint64 n);
extern void bloomexp_distinct_list_append(BloomHashSet *set, const uint64 *hashes, uint64 n);
extern void bloomexp_distinct_list_compact(BloomHashSet *set);

/* Add a hash. */
static inline void
bloomexp_distinct_list_add(BloomHashSet *set, uint64 hash)
{
	if (set->n == set->space)
		bloomexp_distinct_list_make_room(set, 1);
	set->hashes[set->n++] = hash;
}

#endif							/* BLOOMEXP_HASHSET_H */
