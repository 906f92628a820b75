/*-------------------------------------------------------------------------
 *
 * filter.h
 *	  Making, testing and changing filters.
 *
 * An item is its 64-bit hash here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_FILTER_H
#define BLOOMEXP_FILTER_H

#include "value/growth.h"
#include "value/layout.h"

/* Return whether a filter can hold items of a kind: it must have none of another kind. */
static inline bool
bloomexp_filter_can_hold(const BloomFilter *filter, BloomKind kind)
{
	return filter->kind == kind || filter->kind == BLOOM_KIND_NONE;
}

extern void bloomexp_filter_init(BloomFilter *filter, int64 capacity, double fpr,
								 bool counting);
extern void bloomexp_filter_like(BloomFilter *filter, const BloomFilter *other);
extern void bloomexp_filter_require_kind(const BloomFilter *filter, BloomKind kind);

extern bool bloomexp_filter_contains(const BloomFilter *filter, uint64 hash);
extern void bloomexp_filter_mark(const BloomFilter *filter, uint32 first,
								 const uint64 *hashes, int n, bool *contained);
extern uint64 bloomexp_filter_distinct(uint64 *hashes, uint64 n);
extern struct varlena *bloomexp_filter_build(BloomKind kind, const uint64 *hashes, uint64 n,
											 double fpr, double headroom);
extern struct varlena *bloomexp_filter_add(const BloomFilter *filter, BloomKind kind,
										   uint64 *hashes, int n);
extern int64 bloomexp_filter_keep_new(const BloomFilter *filter, BloomSliceItems *parts,
									  int nparts);
extern struct varlena *bloomexp_filter_add_parts(const BloomFilter *filter, BloomKind kind,
												 const BloomSliceItems *parts, int nparts);
extern struct varlena *bloomexp_filter_remove(BloomFilter *filter, BloomKind kind,
											  uint64 *hashes, int n);
extern struct varlena *bloomexp_filter_with_fpr(BloomFilter *filter, double fpr);

extern double bloomexp_filter_items(const BloomFilter *filter);
extern double bloomexp_filter_fpr(const BloomFilter *filter);

extern void bloomexp_filter_check_for_interrupts(void);

#endif							/* BLOOMEXP_FILTER_H */
