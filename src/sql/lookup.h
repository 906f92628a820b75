/*-------------------------------------------------------------------------
 *
 * lookup.h
 *	  Lookups of items in stored filters.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_LOOKUP_H
#define BLOOMEXP_LOOKUP_H

#include "sql/item.h"
#include "value/layout.h"

/* The filter in an argument as it is stored, not detoasted */
#define PG_GETARG_BLOOM_STORED(n) ((struct varlena *) PG_GETARG_POINTER(n))

/*
 * A filter that is open for lookups.  If only its headers were read, `source` is the stored value,
 * from which each lookup reads the blocks that it needs.
 *
 * Do not copy the struct: `filter` may point into itself.
 */
typedef struct BloomLookup
{
	BloomFilter filter;
	struct varlena *source;		/* NULL if all of the filter was read */
} BloomLookup;

/* Filters that are open for lookups of the same items. */
typedef struct BloomLookups
{
	int			n;
	BloomLookup *entries;
	uint64		nlookups;		/* items looked up so far */
} BloomLookups;

extern void bloomexp_lookup_open_headers(BloomFilter *filter, struct varlena *source);
extern void bloomexp_lookup_open(BloomLookup *lookup, struct varlena *source, uint64 nlookups);
extern BloomLookup *bloomexp_lookup_open_cached(struct varlena *source, void **cache,
												MemoryContext context);
extern bool bloomexp_lookup_contains(const BloomLookup *lookup, uint64 hash);
extern void bloomexp_lookup_open_all(BloomLookups *lookups, const Datum *filters, int n,
									 const BloomItemType *type, uint64 nlookups);
extern void bloomexp_lookup_mark(BloomLookups *lookups, const BloomItems *items, bool *contained);

#endif							/* BLOOMEXP_LOOKUP_H */
