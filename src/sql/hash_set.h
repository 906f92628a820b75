/*-------------------------------------------------------------------------
 *
 * hash_set.h
 *	  A set of hashes, in memory and exact.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_HASH_SET_H
#define BLOOMEXP_HASH_SET_H

/* A hash of a set, and the index of the next one in the same slot; 0 is none. */
typedef struct BloomHashEntry
{
	uint64		hash;
	uint32		next;
} BloomHashEntry;

typedef struct BloomHashSet
{
	uint32		n;				/* hashes in it */
	uint32		space;			/* hashes for which there is space */
	int			shift;			/* of a product, to a slot */
	BloomHashEntry *entries;	/* from 1 on */
	uint32	   *slots;			/* the first entry of each, or 0 */
	/* made by bloomexp_hash_set_fill() only: */
	uint8	   *maybe;			/* for the low bits of a hash: 1 if a hash has these */
	uint64		maybe_mask;
} BloomHashSet;

extern void bloomexp_hash_set_init(BloomHashSet *set, uint32 space);
extern void bloomexp_hash_set_fill(BloomHashSet *set, const uint64 *hashes, uint32 n);
extern bool bloomexp_hash_set_insert(BloomHashSet *set, uint64 hash);
extern int	bloomexp_hash_set_find_new(const uint64 *hashes, int n, const uint64 *known,
									   int nknown, uint64 *found);
extern void bloomexp_hash_set_mark(const BloomHashSet *set, const uint64 *hashes, int n,
								   bool *contained);

#endif							/* BLOOMEXP_HASH_SET_H */
