/*-------------------------------------------------------------------------
 *
 * lookup.c
 *	  Lookups of items in stored filters.
 *
 * How it works:
 *
 * A large filter is stored out of line in TOAST chunks, and all positions of an item are in
 * one block of a layer, which is about one chunk.  So for a few lookups only the headers are
 * read, and for each item one block of each layer, until a layer contains the item.  For
 * many lookups, reading the whole filter at once is cheaper: see block_reads_pay().
 *
 * A query that looks up items one at a time in one stored filter passes the same TOAST
 * pointer each time.  A TOAST pointer names the same value for as long as the statement can
 * see it.  So the filter is kept with the call site: first its headers, and after many
 * lookups all of it.
 *
 * Limits:
 *
 * - Compressed values, and values whose headers do not fit in one chunk (more than 81 layers
 *   with a window, or 123 without), are read as a whole.
 * - A call site keeps one filter.  If it gets two in turn, it reads both again and again.
 * - A filter inline in its row is not kept, because opening it costs less than finding out
 *   whether it is the same.
 * - Several items in one block read it once each.  This is rare where block reads pay.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "compat.h"
#include "kernel/position.h"
#include "sql/lookup.h"
#include "value/filter.h"

/* The first bytes of a value, which are read for its headers.  They are in one TOAST chunk. */
#define HEADERS_BYTES 1996

/*
 * The overhead of a block read, apart from the bytes of the block: the number of bytes that reading
 * the whole filter fetches in that time.  Measured with a filter of 120 MB in shared buffers: 9 us
 * for a block, 125 ms for all of it.
 */
#define BLOCK_READ_COST 6500

/*
 * The largest layer of bits with one block, in bytes.  A block read would read all of it.  A layer
 * of counters with one block can have four times as many.
 */
#define MAX_ONE_BLOCK (BLOOMEXP_BLOCKED_FROM * sizeof(uint64))

/* The filter that a call site keeps. */
typedef struct CachedLookup
{
	MemoryContext context;		/* holds the opened filter */
	struct varatt_external pointer; /* the TOAST pointer of the stored value */
	uint64		nlookups;		/* items looked up so far; 0 if no filter is open */
	BloomLookup lookup;
} CachedLookup;

/*
 * Open only the headers of a value that is stored out of line.  Returns false if it is inline or
 * compressed, or if its headers do not fit in one chunk.
 */
static bool
open_toasted_headers(BloomFilter *filter, struct varlena *source)
{
	struct varlena *start;
	Size		size;
	bool		opened;

	if (!VARATT_IS_EXTERNAL_ONDISK(source))
		return false;
	size = toast_raw_datum_size(PointerGetDatum(source)) - VARHDRSZ;
	if (toast_datum_size(PointerGetDatum(source)) != size)
		return false;
	start = detoast_attr_slice(source, 0, HEADERS_BYTES);
	opened = bloomexp_layout_open_headers(filter, (uint8 *) VARDATA_ANY(start),
										  VARSIZE_ANY_EXHDR(start), size);
	pfree(start);
	return opened;
}

/* Open all of a filter. */
static void
open_whole(BloomFilter *filter, struct varlena *source)
{
	bloomexp_layout_open(filter, PG_DETOAST_DATUM_PACKED(PointerGetDatum(source)));
}

/* Open a filter for what its headers say.  Its bits may not have been read. */
void
bloomexp_lookup_open_headers(BloomFilter *filter, struct varlena *source)
{
	if (!open_toasted_headers(filter, source))
		open_whole(filter, source);
}

/* Return whether reading blocks for `nlookups` lookups costs less than reading the whole filter. */
static bool
block_reads_pay(const BloomFilter *filter, uint64 nlookups)
{
	uint64		bytes = 0;

	for (uint32 i = 0; i < filter->nlayers; i++)
		bytes += BLOCK_READ_COST + bloomexp_probe_block_bytes(&filter->layers[i].bits);
	return nlookups * bytes < bloomexp_layout_size(filter);
}

/* Open a filter in the way that costs least for about `nlookups` lookups. */
void
bloomexp_lookup_open(BloomLookup *lookup, struct varlena *source, uint64 nlookups)
{
	if (VARATT_IS_EXTERNAL_ONDISK(source))
	{
		Size		size = toast_raw_datum_size(PointerGetDatum(source));

		/* do not read the headers if block reads do not pay even with one layer */
		if (Max(nlookups * BLOCK_READ_COST, MAX_ONE_BLOCK) < size &&
			open_toasted_headers(&lookup->filter, source) &&
			block_reads_pay(&lookup->filter, nlookups))
		{
			lookup->source = source;
			return;
		}
	}
	lookup->source = NULL;
	open_whole(&lookup->filter, source);
}

/* Raise an error unless a filter can hold items of a type. */
static void
require_type(const BloomFilter *filter, const BloomItemType *type)
{
	if (type->oid == InvalidOid && !bloomexp_filter_can_hold(filter, type->kind))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("filter holds %s items, not packed integers",
						bloomexp_kind_name(filter->kind)),
				 errhint("Use bloom_exclude_array() with an array of %s.",
						 bloomexp_kind_name(filter->kind))));
	bloomexp_filter_require_kind(filter, type->kind);
}

/*
 * Open n filters for about `nlookups` lookups of items of `type`.  A Datum of 0 stands for no
 * filter, which contains nothing.
 */
void
bloomexp_lookup_open_all(BloomLookups *lookups, const Datum *filters, int n,
						 const BloomItemType *type, uint64 nlookups)
{
	lookups->n = 0;
	lookups->nlookups = 0;
	lookups->entries = palloc_extended(Max(n, 1) * sizeof(BloomLookup), MCXT_ALLOC_HUGE);
	for (int i = 0; i < n; i++)
	{
		BloomLookup *lookup = &lookups->entries[lookups->n];

		CHECK_FOR_INTERRUPTS();
		if (filters[i] == 0)
			continue;
		bloomexp_lookup_open(lookup, (struct varlena *) DatumGetPointer(filters[i]), nlookups);
		require_type(&lookup->filter, type);
		lookups->n++;
	}
}

/* Return whether a filter contains an item. */
bool
bloomexp_lookup_contains(const BloomLookup *lookup, uint64 hash)
{
	const BloomFilter *filter = &lookup->filter;
	bool		contained = false;
	Size		start;			/* of the bits of a layer, in the value */

	if (lookup->source == NULL)
		return bloomexp_filter_contains(filter, hash);
	start = bloomexp_layout_size(filter) - VARHDRSZ;
	for (uint32 i = filter->nlayers; i-- > 0 && !contained;)
	{
		const BloomLayer *layer = &filter->layers[i];
		BloomBits	block = layer->bits;
		Size		size = bloomexp_probe_block_bytes(&block);
		Size		block_start;
		struct varlena *bytes;

		CHECK_FOR_INTERRUPTS();
		start -= bloomexp_layout_layer_size(layer);
		if (layer->bits_set == 0)
			continue;
		block_start = start + size * bloomexp_position_block_of(&block.shape, hash);
		bytes = detoast_attr_slice(lookup->source, block_start, size);
		if (VARSIZE_ANY_EXHDR(bytes) != size)
			bloomexp_layout_raise_damage("The value is truncated.");
		block.shape.blocks = 1;
		block.bytes = (uint8 *) VARDATA_ANY(bytes);
		contained = bloomexp_probe_contains(&block, hash);
		pfree(bytes);
	}
	return contained;
}

/*
 * Set contained[i] for each item of a batch that one of the filters contains.  Items for which it
 * is already set are not looked up.
 *
 * A filter that gets more lookups than it was opened for is read as a whole once that pays.
 */
void
bloomexp_lookup_mark(BloomLookups *lookups, const BloomItems *items, bool *contained)
{
	lookups->nlookups += items->n;
	for (int i = 0; i < lookups->n; i++)
	{
		BloomLookup *lookup = &lookups->entries[i];

		CHECK_FOR_INTERRUPTS();
		if (i > 0 && memchr(contained, false, items->n) == NULL)
			break;
		if (lookup->source != NULL && !block_reads_pay(&lookup->filter, lookups->nlookups))
		{
			open_whole(&lookup->filter, lookup->source);
			lookup->source = NULL;
		}
		if (lookup->source == NULL)
			bloomexp_filter_mark(&lookup->filter, 0, items->hashes, items->n, contained);
		else
		{
			for (int j = 0; j < items->n; j++)
				contained[j] = contained[j] || bloomexp_lookup_contains(lookup, items->hashes[j]);
		}
	}
}

/*
 * Open a filter that is stored out of line for one more lookup.  It is kept in *cache, which must
 * be NULL before the first call, and allocated in `context`, which must be the same in all calls.
 */
BloomLookup *
bloomexp_lookup_open_cached(struct varlena *source, void **cache, MemoryContext context)
{
	struct varatt_external pointer;
	CachedLookup *cached = *cache;
	BloomLookup *lookup;
	MemoryContext caller;
	uint64		nlookups = 1;

	if (cached == NULL)
	{
		cached = MemoryContextAllocZero(context, sizeof(CachedLookup));
		cached->context = AllocSetContextCreate(context, "bloom filter of a call site",
												ALLOCSET_DEFAULT_SIZES);
		*cache = cached;
	}
	lookup = &cached->lookup;
	VARATT_EXTERNAL_GET_POINTER(pointer, source);
	if (cached->nlookups > 0 && memcmp(&cached->pointer, &pointer, sizeof(pointer)) == 0)
	{
		if (lookup->source == NULL)
			return lookup;
		nlookups = ++cached->nlookups;
		lookup->source = source;
		if (block_reads_pay(&lookup->filter, nlookups))
			return lookup;
	}

	cached->nlookups = 0;
	MemoryContextReset(cached->context);
	caller = MemoryContextSwitchTo(cached->context);
	bloomexp_lookup_open(lookup, source, nlookups);
	MemoryContextSwitchTo(caller);
	cached->pointer = pointer;
	cached->nlookups = nlookups;
	return lookup;
}
