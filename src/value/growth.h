/*-------------------------------------------------------------------------
 *
 * growth.h
 *	  Which layers take new items, and how a new layer is sized.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_GROWTH_H
#define BLOOMEXP_GROWTH_H

#include "value/layout.h"

/* Capacity and rate of bloom_new() and of the first bloom_add() without arguments. */
#define BLOOMEXP_DEFAULT_CAPACITY 100
#define BLOOMEXP_DEFAULT_FPR 0.01

/* Items to add to one slice of a windowed filter, or to a filter without a window. */
typedef struct BloomSliceItems
{
	int64		slice;
	uint64	   *hashes;
	int			n;
	bool		final;			/* the last items of the slice: leave no room for more */
} BloomSliceItems;

/* What an add does to the layers of a filter. */
typedef struct BloomAddPlan
{
	BloomFilter filter;			/* counts the new items, whose bits are not set yet */
	uint32	   *added;			/* for each of its layers, the new items that go into it */
} BloomAddPlan;

extern void bloomexp_growth_check_fpr(double fpr);
extern BloomLayer bloomexp_growth_first_layer(int64 capacity, double fpr, bool counting);
extern int64 bloomexp_growth_capacity(uint64 size, double fpr);
extern uint32 bloomexp_growth_counting_limit(const BloomFilter *filter, int n);
extern uint32 bloomexp_growth_first_of_slice(const BloomFilter *filter, int64 slice);
extern uint32 bloomexp_growth_end_of_slice(const BloomFilter *filter, int64 slice);
extern void bloomexp_growth_place_parts(const BloomFilter *filter, const BloomSliceItems *parts,
										int nparts, BloomAddPlan *plan);

#endif							/* BLOOMEXP_GROWTH_H */
