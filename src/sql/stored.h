/*-------------------------------------------------------------------------
 *
 * stored.h
 *	  Filters as they are stored: of a large one out of line, only the parts
 *	  that a function needs are read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_STORED_H
#define BLOOMEXP_STORED_H

#include "fmgr.h"

#include "value/kind.h"
#include "value/layout.h"

/* A filter as it is stored, not detoasted. */
#define PG_GETARG_BLOOM_STORED(n) ((struct varlena *) PG_GETARG_POINTER(n))

/*
 * A filter to be asked for many items.  If it is read block by block, its layers
 * point into memory for the whole value, of which only the fetched blocks are
 * valid.
 */
typedef struct BloomStored
{
	BloomFilter filter;
	struct varlena *value;		/* whose bytes the layers point to; NULL if no
								 * block is kept */
	struct varlena *source;		/* to fetch blocks from; NULL if all is there */
	uint8	   *fetched;		/* a bit a block, over all layers */
	uint32	   *first_block;	/* of each layer, an index into these bits */
} BloomStored;

extern bool bloomexp_stored_is_same(struct varlena *a, struct varlena *b);
extern void bloomexp_stored_headers(struct varlena *source, BloomFilter *filter);
extern void bloomexp_stored_open(BloomStored *stored, struct varlena *source, uint64 lookups);
extern void bloomexp_stored_open_whole(BloomStored *stored, struct varlena *value);
extern void bloomexp_stored_mark(BloomStored *stored, const uint64 *hashes, int n, bool *contained);
extern bool bloomexp_stored_contains(FunctionCallInfo fcinfo, int filter_arg,
									 int item_arg, BloomKind kind);

#endif							/* BLOOMEXP_STORED_H */
