/*-------------------------------------------------------------------------
 *
 * hash_set.h
 *	  An exact set of hashes in memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_HASH_SET_H
#define BLOOMEXP_HASH_SET_H

/* A hash in a set. */
typedef struct BloomHashEntry
{
	uint64		hash;
	uint32		next;			/* index of the next entry in the same slot, or 0 */
} BloomHashEntry;

typedef struct BloomHashSet
{
	uint32		n;				/* hashes in the set */
	uint32		space;			/* hashes that fit in `entries` */
	int			shift;			/* the slot of a hash is hash * secret >> shift */
	BloomHashEntry *entries;	/* from index 1 on */
	uint32	   *slots;			/* index of the first entry of each slot, or 0 */
	/* only after bloomexp_hash_set_fill(): */
	uint8	   *prefilter;		/* 1 at the low bits of each hash */
	uint64		prefilter_mask;
} BloomHashSet;

extern void bloomexp_hash_set_init(BloomHashSet *set, uint32 space);
extern void bloomexp_hash_set_fill(BloomHashSet *set, const uint64 *hashes, uint32 n);
extern bool bloomexp_hash_set_insert(BloomHashSet *set, uint64 hash);
extern int bloomexp_hash_set_find_new(const uint64 *hashes, int n, const uint64 *known,
									  int nknown, uint64 *found);
extern void bloomexp_hash_set_mark(const BloomHashSet *set, const uint64 *hashes, int n,
								   bool *contained);

#endif							/* BLOOMEXP_HASH_SET_H */
