/*-------------------------------------------------------------------------
 *
 * hashset.h
 *	  A set of 64-bit hashes: the distinct items of a group while it is read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_HASHSET_H
#define BLOOMEXP_HASHSET_H

#include "postgres.h"

/*
 * The most hashes in one set, so that a serialized one fits in a bytea (1 GB)
 * whichever plan is chosen.
 */
#define BLOOMEXP_HASHSET_MAX 120000000

typedef struct BloomHashSet
{
	MemoryContext context;		/* where the slots live */
	uint64		count;			/* hashes in the set */
	uint64		nslots;
	uint64	   *slots;			/* 0: free */
	bool		has_zero;		/* the hash 0, which no slot can hold */
} BloomHashSet;

extern void bloomexp_hashset_init(BloomHashSet *set, MemoryContext context);
extern void bloomexp_hashset_reserve(BloomHashSet *set, uint64 count);
extern void bloomexp_hashset_add(BloomHashSet *set, uint64 hash);
extern int	bloomexp_hashset_read(const BloomHashSet *set, uint64 *position,
								  uint64 *hashes, int max);

#endif							/* BLOOMEXP_HASHSET_H */
