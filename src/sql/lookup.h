/*-------------------------------------------------------------------------
 *
 * lookup.h
 *	  Filters to look items up in.
 *
 * Either several filters, of which any can contain the items of a batch, or one for a single
 * item, which its call site keeps if it is large.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_LOOKUP_H
#define BLOOMEXP_LOOKUP_H

#include "sql/item.h"
#include "value/layout.h"

/* A filter as it is stored, not detoasted. */
#define PG_GETARG_BLOOM_STORED(n) ((struct varlena *) PG_GETARG_POINTER(n))

/*
 * A filter to look items up in.
 *
 * Do not copy the struct: `filter` may point into itself.
 */
typedef struct BloomLookup
{
	BloomFilter filter;			/* read by slices: its layers have no bits */
	struct varlena *source;		/* the stored value, to read slices of; NULL: all
								 * of it is read */
} BloomLookup;

/* Filters that are read together. */
typedef struct BloomLookups
{
	int			n;
	BloomLookup *entries;
	uint64		items;			/* looked up so far */
} BloomLookups;

extern void bloomexp_lookup_headers(struct varlena *source, BloomFilter *filter);
extern void bloomexp_lookup_open(BloomLookups *lookups, const Datum *filters, int n,
								 const BloomItemType *type, uint64 items);
extern void bloomexp_lookup_mark(BloomLookups *lookups, const BloomItems *items, bool *contained);
extern BloomLookup *bloomexp_lookup_open_cached(struct varlena *source, void **cache,
												MemoryContext context);
extern void bloomexp_lookup_open_whole(BloomLookup *lookup, struct varlena *source);
extern bool bloomexp_lookup_contains(BloomLookup *lookup, uint64 hash);

#endif							/* BLOOMEXP_LOOKUP_H */
