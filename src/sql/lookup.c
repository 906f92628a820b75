/*-------------------------------------------------------------------------
 *
 * lookup.c
 *	  Filters to look items up in.
 *
 * How it works:
 *
 * A large filter lies out of line in TOAST chunks, and all probes of an item fall
 * into one block of a layer, which is about one chunk.  So for a few lookups only the
 * headers are read, and for each item a block of each layer until one contains it.
 * For many lookups that costs more than to read the whole filter at once:
 * pays_to_slice() decides.
 *
 * A query that looks up many items in one stored filter, one at a time, passes the
 * same TOAST pointer each time.  That names one value for as long as the statement
 * can see it, so the filter is kept with the call site: first its headers, and after
 * many lookups all of it.
 *
 * Limits:
 *
 * - A compressed value is read as a whole, and so is one whose headers do not fit in
 *   one chunk (eighty layers).
 * - A call site keeps one filter.  If it gets two in turn, it reads both again and
 *   again.
 * - A filter inline in its row is not kept: to open it costs less than to find out
 *   whether it is the same.
 * - Items that fall into one block read it once each, which is rare where slices pay.
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

/* One TOAST chunk. */
#define HEADERS_SLICE 1996

/*
 * To read a block costs about as much as to read it and this many bytes more of the
 * whole filter.  Measured in a filter of 120 MB, with its chunks in shared buffers:
 * 9 us a block, 125 ms for all of it.
 */
#define BYTES_PER_SLICE 6500

/* Layers of this size are one block, so to read that is to read the whole layer. */
#define MAX_UNSLICED (BLOOMEXP_BLOCKED_FROM * sizeof(uint64))

/* The filter that a call site keeps. */
typedef struct CachedLookup
{
	MemoryContext context;		/* holds the opened filter */
	struct varatt_external pointer; /* names the stored value */
	uint64		items;			/* looked up in it so far; 0: no filter is open */
	BloomLookup lookup;
} CachedLookup;

/*
 * Open the headers of a value by a slice of it; false if it lies in its row, is
 * compressed, or has headers that are longer than the slice.
 */
static bool
open_headers(struct varlena *source, BloomFilter *filter)
{
	struct varlena *slice;
	Size		size;
	bool		opened;

	if (!VARATT_IS_EXTERNAL_ONDISK(source))
		return false;
	size = toast_raw_datum_size(PointerGetDatum(source)) - VARHDRSZ;
	if (toast_datum_size(PointerGetDatum(source)) != size)
		return false;
	slice = detoast_attr_slice(source, 0, HEADERS_SLICE);
	opened = bloomexp_layout_open_headers(filter, (uint8 *) VARDATA_ANY(slice),
										  VARSIZE_ANY_EXHDR(slice), size);
	pfree(slice);
	return opened;
}

/* Open a filter of which only the headers are used; its layers may have no bits. */
void
bloomexp_lookup_headers(struct varlena *source, BloomFilter *filter)
{
	if (!open_headers(source, filter))
		bloomexp_layout_open(filter, PG_DETOAST_DATUM_PACKED(PointerGetDatum(source)));
}

/* Read all of a filter. */
void
bloomexp_lookup_open_whole(BloomLookup *lookup, struct varlena *source)
{
	lookup->source = NULL;
	bloomexp_layout_open(&lookup->filter, PG_DETOAST_DATUM_PACKED(PointerGetDatum(source)));
}

/* Whether to look items up by slices costs less than to read the whole filter. */
static bool
pays_to_slice(const BloomFilter *filter, uint64 items)
{
	uint64		bytes = 0;

	for (uint32 i = 0; i < filter->nlayers; i++)
		bytes += BYTES_PER_SLICE + bloomexp_probe_block_bytes(&filter->layers[i].bits);
	return items * bytes < bloomexp_layout_size(filter);
}

/* Open a filter in the way that costs the least for that number of items. */
static void
open_lookup(BloomLookup *lookup, struct varlena *source, uint64 items)
{
	if (VARATT_IS_EXTERNAL_ONDISK(source))
	{
		Size		size = toast_raw_datum_size(PointerGetDatum(source));

		/* the headers are read only if slices may pay, with a layer at least */
		if (Max(items * BYTES_PER_SLICE, MAX_UNSLICED) < size &&
			open_headers(source, &lookup->filter) && pays_to_slice(&lookup->filter, items))
		{
			lookup->source = source;
			return;
		}
	}
	bloomexp_lookup_open_whole(lookup, source);
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
 * Open n filters to look items of a type up in, probably so many; 0 is no filter, and contains
 * nothing.
 */
void
bloomexp_lookup_open(BloomLookups *lookups, const Datum *filters, int n,
					 const BloomItemType *type, uint64 items)
{
	lookups->n = 0;
	lookups->items = 0;
	lookups->entries = palloc_extended(Max(n, 1) * sizeof(BloomLookup), MCXT_ALLOC_HUGE);
	for (int i = 0; i < n; i++)
	{
		BloomLookup *lookup = &lookups->entries[lookups->n];

		CHECK_FOR_INTERRUPTS();
		if (filters[i] == 0)
			continue;
		open_lookup(lookup, (struct varlena *) DatumGetPointer(filters[i]), items);
		require_type(&lookup->filter, type);
		lookups->n++;
	}
}

/* Test whether a filter contains an item. */
bool
bloomexp_lookup_contains(BloomLookup *lookup, uint64 hash)
{
	const BloomFilter *filter = &lookup->filter;
	bool		contained = false;
	Size		start;

	if (lookup->source == NULL)
		return bloomexp_filter_contains(filter, hash);
	start = bloomexp_layout_size(filter) - VARHDRSZ;
	for (uint32 i = filter->nlayers; i-- > 0 && !contained;)
	{
		const BloomLayer *layer = &filter->layers[i];
		BloomBits	block = layer->bits;
		Size		size = bloomexp_probe_block_bytes(&block);
		Size		block_start;
		struct varlena *slice;

		CHECK_FOR_INTERRUPTS();
		start -= bloomexp_layout_layer_size(layer);
		if (layer->bits_set == 0)
			continue;
		block_start = start + size * bloomexp_position_block_of(&block.shape, hash);
		slice = detoast_attr_slice(lookup->source, block_start, size);
		if (VARSIZE_ANY_EXHDR(slice) != size)
			bloomexp_layout_report_damage("The value is truncated.");
		block.shape.blocks = 1;
		block.bytes = (uint8 *) VARDATA_ANY(slice);
		contained = bloomexp_probe_contains(&block, hash);
		pfree(slice);
	}
	return contained;
}

/*
 * Mark the items of a batch that a filter contains; those marked already are not looked up.
 *
 * A filter that was opened for fewer items than come is read as a whole when that pays.
 */
void
bloomexp_lookup_mark(BloomLookups *lookups, const BloomItems *items, bool *contained)
{
	lookups->items += items->n;
	for (int i = 0; i < lookups->n; i++)
	{
		BloomLookup *lookup = &lookups->entries[i];

		CHECK_FOR_INTERRUPTS();
		if (i > 0 && memchr(contained, false, items->n) == NULL)
			break;
		if (lookup->source != NULL && !pays_to_slice(&lookup->filter, lookups->items))
			bloomexp_lookup_open_whole(lookup, lookup->source);
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
 * Open a filter that lies out of line for one more item.  It stays in *cache, in `context`,
 * which must be the same from call to call; at first *cache is NULL.
 */
BloomLookup *
bloomexp_lookup_open_cached(struct varlena *source, void **cache, MemoryContext context)
{
	struct varatt_external pointer;
	CachedLookup *cached = *cache;
	BloomLookup *lookup;
	MemoryContext caller;
	uint64		items = 1;

	if (cached == NULL)
	{
		cached = MemoryContextAllocZero(context, sizeof(CachedLookup));
		cached->context = AllocSetContextCreate(context, "bloom filter of a call site",
												ALLOCSET_DEFAULT_SIZES);
		*cache = cached;
	}
	lookup = &cached->lookup;
	VARATT_EXTERNAL_GET_POINTER(pointer, source);
	if (cached->items > 0 && memcmp(&cached->pointer, &pointer, sizeof(pointer)) == 0)
	{
		if (lookup->source == NULL)
			return lookup;
		items = ++cached->items;
		lookup->source = source;
		if (pays_to_slice(&lookup->filter, items))
			return lookup;
	}

	cached->items = 0;
	MemoryContextReset(cached->context);
	caller = MemoryContextSwitchTo(cached->context);
	open_lookup(lookup, source, items);
	MemoryContextSwitchTo(caller);
	cached->pointer = pointer;
	cached->items = items;
	return lookup;
}
