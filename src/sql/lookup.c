/*-------------------------------------------------------------------------
 *
 * lookup.c
 *	  Filters to look items up in; lookup.h has the interface.
 *
 * How it works:
 *
 * A large filter lies out of line in TOAST chunks, and all probes of an item fall
 * into one block of a layer, which is about one chunk.  So a few lookups read the
 * headers and a few chunks, and a filter of 100 MB is not read as a whole for them.
 * For many lookups that would cost more than to read all of it at once:
 * pays_to_slice() decides.
 *
 * To read block by block for many items, memory for the whole value is mapped, each
 * block is put where it belongs, and the kernels work as on a whole value.  For one
 * item, mapping that memory would take longer than to fetch a block.
 *
 * A query that looks up many items in one stored filter, one at a time, passes the
 * same TOAST pointer each time.  That names one value for as long as the statement
 * can see it, so the filter is kept with the call site: first its headers, then the
 * blocks that were needed, and after many lookups all of it.
 *
 * Limits:
 *
 * - A compressed value is read as a whole, and so is one whose headers do not fit in
 *   one chunk (eighty layers).
 * - A call site keeps one filter.  If it gets two in turn, it reads both again and
 *   again.
 * - A filter inline in its row is not kept: to open it costs less than to find out
 *   whether it is the same.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "miscadmin.h"

#include "kernel/probe.h"
#include "sql/lookup.h"
#include "value/compat.h"
#include "value/filter.h"

/* One TOAST chunk. */
#define HEADERS_SLICE 1996

/*
 * One lookup by way of one block costs about as much as to read this many bytes
 * of the whole filter.  (Measured in a filter of 120 MB, with its chunks in
 * shared buffers: 9 us a lookup, 125 ms for all of it.)
 */
#define BYTES_PER_LOOKUP 8500

/* What a call site keeps. */
typedef struct Kept
{
	struct varatt_external pointer; /* names the stored value */
	uint64		items;			/* looked up in it so far */
	BloomLookup lookup;
} Kept;

/* Whether a value lies out of line and uncompressed, so that slices can be read. */
static bool
can_be_sliced(struct varlena *source)
{
	Datum		datum = PointerGetDatum(source);

	return VARATT_IS_EXTERNAL_ONDISK(source) &&
		toast_datum_size(datum) == toast_raw_datum_size(datum) - VARHDRSZ;
}

/* Whether to look items up by slices costs less than to read the whole value. */
static bool
pays_to_slice(struct varlena *source, uint64 items)
{
	return can_be_sliced(source) &&
		items * BYTES_PER_LOOKUP < toast_raw_datum_size(PointerGetDatum(source));
}

/*
 * bloomexp_lookup_is_same
 *		Whether two are one value: the same memory, or the same TOAST pointer.
 */
bool
bloomexp_lookup_is_same(struct varlena *a, struct varlena *b)
{
	return a == b ||
		(VARATT_IS_EXTERNAL_ONDISK(a) && VARATT_IS_EXTERNAL_ONDISK(b) &&
		 memcmp(a, b, VARSIZE_EXTERNAL(a)) == 0);
}

/* Open the headers of a value that can be sliced; false if they are too long. */
static bool
open_headers(struct varlena *source, BloomFilter *filter)
{
	struct varlena *slice = detoast_attr_slice(source, 0, HEADERS_SLICE);
	Size		size = toast_raw_datum_size(PointerGetDatum(source)) - VARHDRSZ;
	bool		opened = bloomexp_layout_open_headers(filter, (uint8 *) VARDATA_ANY(slice),
													  VARSIZE_ANY_EXHDR(slice), size);

	pfree(slice);
	return opened;
}

/*
 * bloomexp_lookup_headers
 *		Open a filter of which only the headers are asked; its layers may have
 *		no bits.
 */
void
bloomexp_lookup_headers(struct varlena *source, BloomFilter *filter)
{
	if (!can_be_sliced(source) || !open_headers(source, filter))
		bloomexp_layout_open(filter, PG_DETOAST_DATUM_PACKED(PointerGetDatum(source)));
}

/*
 * bloomexp_lookup_open_whole
 *		Read all of a filter.
 */
void
bloomexp_lookup_open_whole(BloomLookup *lookup, struct varlena *source)
{
	lookup->value = PG_DETOAST_DATUM_PACKED(PointerGetDatum(source));
	bloomexp_layout_open(&lookup->filter, lookup->value);
	lookup->mode = BLOOM_LOOKUP_WHOLE;
}

/*
 * Open the headers of a filter; false if it costs less to read all of it for that number
 * of items.
 */
static bool
open_sliced(BloomLookup *lookup, struct varlena *source, uint64 items)
{
	if (!pays_to_slice(source, items) || !open_headers(source, &lookup->filter))
		return false;
	if (!pays_to_slice(source, items * lookup->filter.nlayers))
	{
		bloomexp_layout_close(&lookup->filter);
		return false;
	}
	lookup->mode = BLOOM_LOOKUP_ONCE;
	lookup->source = source;
	return true;
}

/*
 * Make space for the blocks of a filter whose headers are open.
 *
 * The system gives us only the pages of this that are used.  (Where it must commit
 * all of them, reading the whole value would have taken as much.)
 */
static void
make_space(BloomLookup *lookup)
{
	BloomFilter *filter = &lookup->filter;
	uint32		blocks = 0;

	lookup->value = palloc_extended(bloomexp_layout_size(filter), MCXT_ALLOC_HUGE);
	bloomexp_layout_locate(filter, (uint8 *) VARDATA(lookup->value));
	lookup->first_block = palloc(Max(filter->nlayers, 1) * sizeof(uint32));
	for (uint32 i = 0; i < filter->nlayers; i++)
	{
		lookup->first_block[i] = blocks;
		blocks += filter->layers[i].bits.shape.blocks;
	}
	lookup->fetched = palloc0(blocks / 8 + 1);
	lookup->mode = BLOOM_LOOKUP_BLOCKS;
}

/*
 * bloomexp_lookup_open
 *		Open n filters for a number of items; 0 is no filter, and contains nothing.
 */
void
bloomexp_lookup_open(BloomLookups *lookups, const Datum *filters, int n, uint64 items)
{
	int			filled = 0;

	for (int i = 0; i < n; i++)
		filled += filters[i] != 0;
	lookups->n = 0;
	lookups->each = filled <= (int) lengthof(lookups->few) ? lookups->few :
		palloc_extended(filled * sizeof(BloomLookup), MCXT_ALLOC_HUGE);
	for (int i = 0; i < n; i++)
	{
		struct varlena *source = (struct varlena *) DatumGetPointer(filters[i]);
		BloomLookup *lookup;

		if (source == NULL)
			continue;
		lookup = &lookups->each[lookups->n++];
		if (open_sliced(lookup, source, items))
			make_space(lookup);
		else
			bloomexp_lookup_open_whole(lookup, source);
	}
}

/*
 * bloomexp_lookup_require_kind
 *		Refuse items of another kind than what the filters hold.
 */
void
bloomexp_lookup_require_kind(const BloomLookups *lookups, BloomKind kind)
{
	for (int i = 0; i < lookups->n; i++)
		bloomexp_filter_require_kind(&lookups->each[i].filter, kind);
}

/* A part of a value that can be sliced. */
static struct varlena *
read_slice(struct varlena *source, Size offset, Size size)
{
	struct varlena *slice;

	CHECK_FOR_INTERRUPTS();
	slice = detoast_attr_slice(source, offset, size);
	if (VARSIZE_ANY_EXHDR(slice) != size)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stored value of type %s is damaged", "bloom"),
				 errdetail("It ends early.")));
	return slice;
}

/* Fetch the blocks of a layer that some items need, unless they are there: a BloomFetch. */
static void
fetch_blocks(void *argument, uint32 layer, const uint64 *hashes, int n)
{
	BloomLookup *lookup = argument;
	const BloomBits *bits = &lookup->filter.layers[layer].bits;
	Size		size = bloomexp_probe_block_bytes(bits);

	for (int i = 0; i < n; i++)
	{
		uint32		block = bloomexp_probe_block_of(&bits->shape, hashes[i]);
		uint32		nth = lookup->first_block[layer] + block;
		uint8	   *place = bits->bytes + block * size;
		struct varlena *slice;

		if (lookup->fetched[nth / 8] & (1 << (nth % 8)))
			continue;
		slice = read_slice(lookup->source, place - (uint8 *) VARDATA(lookup->value), size);
		memcpy(place, VARDATA_ANY(slice), size);
		pfree(slice);
		lookup->fetched[nth / 8] |= 1 << (nth % 8);
	}
}

/* Mark those of n items, at most BLOOMEXP_BATCH, that a filter contains. */
static void
mark(BloomLookup *lookup, const uint64 *hashes, int n, bool *contained)
{
	bloomexp_filter_mark(&lookup->filter, 0, lookup->mode == BLOOM_LOOKUP_BLOCKS ? fetch_blocks : NULL,
						 lookup, hashes, n, contained);
}

/*
 * bloomexp_lookup_mark
 *		Mark the items of a batch that a filter contains, and no others.
 */
void
bloomexp_lookup_mark(BloomLookups *lookups, BloomBatch *batch, bool *contained)
{
	memset(contained, false, batch->n);
	for (int i = 0; i < lookups->n; i++)
	{
		BloomLookup *lookup = &lookups->each[i];

		if (i > 0 && memchr(contained, false, batch->n) == NULL)
			break;
		mark(lookup, bloomexp_item_hashes(batch, lookup->filter.seed), batch->n, contained);
	}
}

/* Free what opening a filter allocated. */
static void
close_lookup(BloomLookup *lookup)
{
	if (lookup->mode != BLOOM_LOOKUP_CLOSED)
		bloomexp_layout_close(&lookup->filter);
	if (lookup->mode == BLOOM_LOOKUP_WHOLE || lookup->mode == BLOOM_LOOKUP_BLOCKS)
		pfree(lookup->value);
	if (lookup->mode == BLOOM_LOOKUP_BLOCKS)
	{
		pfree(lookup->fetched);
		pfree(lookup->first_block);
	}
	lookup->mode = BLOOM_LOOKUP_CLOSED;
}

/*
 * bloomexp_lookup_open_kept
 *		Open a filter that lies out of line for one more item.  It stays in *kept,
 *		in `context`, which must be the same from call to call; at first *kept is
 *		NULL.
 */
BloomLookup *
bloomexp_lookup_open_kept(struct varlena *source, void **kept, MemoryContext context)
{
	struct varatt_external pointer;
	Kept	   *mine = *kept;
	BloomLookup *lookup;
	MemoryContext caller;

	if (mine == NULL)
		*kept = mine = MemoryContextAllocZero(context, sizeof(Kept));
	lookup = &mine->lookup;
	VARATT_EXTERNAL_GET_POINTER(pointer, source);
	if (memcmp(&mine->pointer, &pointer, sizeof(pointer)) != 0)
	{
		close_lookup(lookup);
		mine->pointer = pointer;
		mine->items = 0;
	}
	if (lookup->mode == BLOOM_LOOKUP_WHOLE)
		return lookup;

	mine->items++;
	lookup->source = source;
	if (lookup->mode != BLOOM_LOOKUP_CLOSED && !pays_to_slice(source, mine->items * lookup->filter.nlayers))
		close_lookup(lookup);
	caller = MemoryContextSwitchTo(context);
	if (lookup->mode == BLOOM_LOOKUP_ONCE)
		make_space(lookup);
	else if (lookup->mode == BLOOM_LOOKUP_CLOSED && !open_sliced(lookup, source, mine->items))
		bloomexp_lookup_open_whole(lookup, source);
	MemoryContextSwitchTo(caller);
	return lookup;
}

/* Whether a filter of which only the headers are open contains an item. */
static bool
contains_once(const BloomLookup *lookup, uint64 hash)
{
	const BloomFilter *filter = &lookup->filter;
	Size		start = toast_raw_datum_size(PointerGetDatum(lookup->source)) - VARHDRSZ;
	bool		contained = false;

	for (uint32 i = filter->nlayers; i-- > 0 && !contained;)
	{
		const BloomLayer *layer = &filter->layers[i];
		Size		size = bloomexp_probe_block_bytes(&layer->bits);
		struct varlena *block;

		start -= bloomexp_layout_layer_size(layer);
		if (layer->bits_set == 0)
			continue;
		block = read_slice(lookup->source,
						   start + size * bloomexp_probe_block_of(&layer->bits.shape, hash), size);
		contained = bloomexp_probe_block_contains(&layer->bits, (uint8 *) VARDATA_ANY(block), hash);
		pfree(block);
	}
	return contained;
}

/*
 * bloomexp_lookup_contains
 *		Whether a filter contains an item, which is hashed by its seed.
 */
bool
bloomexp_lookup_contains(BloomLookup *lookup, uint64 hash)
{
	bool		contained = false;

	switch (lookup->mode)
	{
		case BLOOM_LOOKUP_WHOLE:
			return bloomexp_filter_contains(&lookup->filter, hash);
		case BLOOM_LOOKUP_ONCE:
			return contains_once(lookup, hash);
		default:
			mark(lookup, &hash, 1, &contained);
			return contained;
	}
}
