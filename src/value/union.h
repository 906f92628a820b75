/*-------------------------------------------------------------------------
 *
 * union.h
 *	  Unions of filters.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_UNION_H
#define BLOOMEXP_UNION_H

#include "utils/palloc.h"

#include "value/layout.h"

/* A layer of a union. */
typedef struct BloomUnionLayer
{
	BloomLayer	layer;
	double		full_fpr;		/* to expect at its capacity; negative: not computed yet */
	bool		owned;			/* its bits are the union's, which may change them */
	uint64		digest;			/* of its bits; 0: not computed yet, or changed */
	uint32		next;			/* earlier layer of the same bucket */
} BloomUnionLayer;

/*
 * A union to which any number of filters can be added.  A filter's layer finds those
 * of its shape by a hash table, so filters cost what their bytes cost, however many
 * have come before.
 */
typedef struct BloomUnion
{
	BloomFilter head;			/* all but the layers */
	MemoryContext context;		/* of the layers, and of bits that are owned */
	bool		keeps_bits;		/* false: the filters outlive it */
	uint64		bits_size;		/* bytes of the bits of all layers */
	int64		work;			/* that the rates of the filter at hand may still cost */
	uint32		space;			/* layers, and buckets; a power of two */
	BloomUnionLayer *layers;	/* in the order in which they came */
	uint32	   *buckets;		/* first layer of each */
} BloomUnion;

extern void bloomexp_union_start(BloomUnion *united, const BloomFilter *first,
								 MemoryContext context, bool keeps_bits);
extern void bloomexp_union_add(BloomUnion *united, const BloomFilter *filter);
extern uint64 bloomexp_union_size(const BloomUnion *united);
extern void bloomexp_union_get_filter(const BloomUnion *united, BloomFilter *filter);

#endif							/* BLOOMEXP_UNION_H */
