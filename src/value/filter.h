/*-------------------------------------------------------------------------
 *
 * filter.h
 *	  A filter over its layers; filter.c says how it works.
 *
 * An item is its 64-bit hash here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_FILTER_H
#define BLOOMEXP_FILTER_H

#include "value/growth.h"
#include "value/layout.h"

/* Whether the items of a filter, if it has any, are of a kind. */
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
extern struct varlena *bloomexp_filter_add(BloomFilter *filter, BloomKind kind,
										   uint64 *hashes, int n);
extern int64 bloomexp_filter_keep_new(const BloomFilter *filter, BloomSliceItems *parts,
									  int nparts);
extern struct varlena *bloomexp_filter_add_parts(BloomFilter *filter, BloomKind kind,
												 BloomSliceItems *parts, int nparts);
extern struct varlena *bloomexp_filter_remove(BloomFilter *filter, BloomKind kind,
											  uint64 *hashes, int n);
extern struct varlena *bloomexp_filter_with_fpr(BloomFilter *filter, double fpr);

extern double bloomexp_filter_items(const BloomFilter *filter);
extern double bloomexp_filter_fpr(const BloomFilter *filter);

#endif							/* BLOOMEXP_FILTER_H */
