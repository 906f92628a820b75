/*-------------------------------------------------------------------------
 *
 * growth.h
 *	  Which layer takes new items, and how a new one is made.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_GROWTH_H
#define BLOOMEXP_GROWTH_H

#include "value/layout.h"

/* What bloom_new() and the first bloom_add() make without other arguments. */
#define BLOOMEXP_DEFAULT_CAPACITY 100
#define BLOOMEXP_DEFAULT_FPR 0.01

/* Items for one slice of a windowed filter, or for a plain filter. */
typedef struct BloomSliceItems
{
	int64		slice;
	uint64	   *hashes;
	int			n;
	bool		final;			/* the last ones: plan for no more */
	/* set by bloomexp_growth_place_parts(): the layers of the slice, which say what each takes */
	uint32		first_layer;
	uint32		end_layer;
} BloomSliceItems;

extern void bloomexp_growth_check_fpr(double fpr);
extern BloomLayer bloomexp_growth_first_layer(int64 capacity, double fpr, bool counting);
extern int64 bloomexp_growth_capacity(uint64 size, double fpr);
extern uint32 bloomexp_growth_counting_limit(const BloomFilter *filter, int n);
extern uint32 bloomexp_growth_slice_start(const BloomFilter *filter, int64 slice);
extern void bloomexp_growth_place_parts(BloomFilter *filter, BloomSliceItems *parts, int nparts);

#endif							/* BLOOMEXP_GROWTH_H */
