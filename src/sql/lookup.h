/*-------------------------------------------------------------------------
 *
 * lookup.h
 *	  Filters to look items up in.
 *
 * Interface:
 *
 * bloomexp_lookup_open() opens one or several filters for some items, and
 * bloomexp_lookup_mark() marks the items of a batch that any of them contains.  A
 * call site that looks up one item at a time keeps the filter that
 * bloomexp_lookup_open_cached() opens, and calls bloomexp_lookup_contains().
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

/* Filters that are read together; `inline_entries` saves most calls an allocation. */
typedef struct BloomLookups
{
	int			n;
	BloomLookup *entries;
	BloomLookup inline_entries[2];
} BloomLookups;

extern void bloomexp_lookup_headers(struct varlena *source, BloomFilter *filter);
extern void bloomexp_lookup_open(BloomLookups *lookups, const Datum *filters, int n,
								 const BloomItems *items);
extern void bloomexp_lookup_mark(BloomLookups *lookups, const BloomItems *items, bool *contained);
extern BloomLookup *bloomexp_lookup_open_cached(struct varlena *source, void **cache, MemoryContext context);
extern void bloomexp_lookup_open_whole(BloomLookup *lookup, struct varlena *source);
extern bool bloomexp_lookup_contains(BloomLookup *lookup, uint64 hash);

#endif							/* BLOOMEXP_LOOKUP_H */
