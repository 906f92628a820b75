/*-------------------------------------------------------------------------
 *
 * stored.c
 *	  Filters as they are stored.
 *
 * A large filter lies out of line in TOAST chunks, and all probes of an item
 * fall into one block of a layer, which is about one chunk.  So a few lookups
 * need a few chunks, and a filter of 100 MB is not read as a whole for them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "miscadmin.h"

#include "kernel/murmur3.h"
#include "kernel/probe.h"
#include "sql/item.h"
#include "sql/stored.h"
#include "value/compat.h"
#include "value/filter.h"

/* Enough for the headers of eighty layers, and still one TOAST chunk. */
#define HEADERS_SLICE 1996

/*
 * One lookup by way of one block costs about as much as to read this many bytes
 * of the whole filter.  (Measured in a filter of 120 MB, with its chunks in
 * shared buffers: 9 us a lookup, 125 ms for all of it.)
 */
#define BYTES_PER_LOOKUP 8500

/* The stored filter that a call site asked last. */
typedef struct CachedFilter
{
	struct varatt_external pointer; /* names the stored value */
	uint64		lookups;		/* in this value so far */
	bool		open;			/* is the rest valid? */
	BloomStored stored;
} CachedFilter;

/* Whether a value lies out of line and uncompressed, so that slices can be read. */
static bool
can_be_sliced(struct varlena *source)
{
	Datum		datum = PointerGetDatum(source);

	return VARATT_IS_EXTERNAL_ONDISK(source) &&
		toast_datum_size(datum) == toast_raw_datum_size(datum) - VARHDRSZ;
}

/*
 * bloomexp_stored_is_same
 *		Whether two are one value: the same memory, or the same TOAST pointer.
 */
bool
bloomexp_stored_is_same(struct varlena *a, struct varlena *b)
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
 * bloomexp_stored_headers
 *		Open a filter of which only the headers are asked; its layers may have
 *		no bits.
 */
void
bloomexp_stored_headers(struct varlena *source, BloomFilter *filter)
{
	if (!can_be_sliced(source) || !open_headers(source, filter))
		bloomexp_layout_open(filter, PG_DETOAST_DATUM_PACKED(PointerGetDatum(source)));
}

/*
 * bloomexp_stored_open_whole
 *		Open a value all of which is in memory.
 */
void
bloomexp_stored_open_whole(BloomStored *stored, struct varlena *value)
{
	stored->value = value;
	stored->source = NULL;
	stored->fetched = NULL;
	stored->first_block = NULL;
	bloomexp_layout_open(&stored->filter, value);
}

/* Whether so many lookups by slices cost less than to read the whole value. */
static bool
pays_to_slice(struct varlena *source, uint64 lookups)
{
	return can_be_sliced(source) &&
		lookups * BYTES_PER_LOOKUP < toast_raw_datum_size(PointerGetDatum(source));
}

/*
 * Open the headers of a stored value and make room for its blocks; false if it
 * costs less to read all of it.
 */
static bool
open_sliced(BloomStored *stored, struct varlena *source, uint64 lookups)
{
	BloomFilter *filter = &stored->filter;
	uint32		blocks = 0;

	if (!open_headers(source, filter))
		return false;
	if (!pays_to_slice(source, lookups * filter->nlayers))
	{
		bloomexp_layout_close(filter);
		return false;
	}

	/*
	 * The system gives us only the pages of this that are used.  (Where it must
	 * commit all of them, reading the whole value would have taken as much.)
	 */
	stored->source = source;
	stored->value = palloc_extended(bloomexp_layout_size(filter), MCXT_ALLOC_HUGE);
	bloomexp_layout_locate(filter, (uint8 *) VARDATA(stored->value));
	stored->first_block = palloc(Max(filter->nlayers, 1) * sizeof(uint32));
	for (uint32 i = 0; i < filter->nlayers; i++)
	{
		stored->first_block[i] = blocks;
		blocks += filter->layers[i].bits.shape.blocks;
	}
	stored->fetched = palloc0(blocks / 8 + 1);
	return true;
}

/*
 * bloomexp_stored_open
 *		Open a filter for so many lookups, as a whole or block by block.
 */
void
bloomexp_stored_open(BloomStored *stored, struct varlena *source, uint64 lookups)
{
	if (!pays_to_slice(source, lookups) || !open_sliced(stored, source, lookups))
		bloomexp_stored_open_whole(stored, PG_DETOAST_DATUM_PACKED(PointerGetDatum(source)));
}

/* Free what opening allocated. */
static void
close_stored(BloomStored *stored)
{
	bloomexp_layout_close(&stored->filter);
	pfree(stored->value);
	if (stored->fetched)
	{
		pfree(stored->fetched);
		pfree(stored->first_block);
	}
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

/* Fetch a block of a layer, unless it is there. */
static void
fetch_block(BloomStored *stored, const BloomBits *bits, uint32 block, uint32 nth)
{
	Size		size = bloomexp_probe_block_bytes(bits);
	uint8	   *place = bits->bytes + block * size;
	struct varlena *slice;

	if (stored->fetched[nth / 8] & (1 << (nth % 8)))
		return;
	slice = read_slice(stored->source, place - (uint8 *) VARDATA(stored->value), size);
	memcpy(place, VARDATA_ANY(slice), size);
	pfree(slice);
	stored->fetched[nth / 8] |= 1 << (nth % 8);
}

/* Fetch the blocks of a layer that some items need: a BloomFetch. */
static void
fetch_blocks(void *source, uint32 layer, const uint64 *hashes, int n)
{
	BloomStored *stored = source;
	const BloomBits *bits = &stored->filter.layers[layer].bits;

	for (int i = 0; i < n; i++)
	{
		uint32		block = bloomexp_probe_block_of(&bits->shape, hashes[i]);

		fetch_block(stored, bits, block, stored->first_block[layer] + block);
	}
}

/*
 * bloomexp_stored_mark
 *		Mark the items that the filter contains; see bloomexp_filter_mark().
 */
void
bloomexp_stored_mark(BloomStored *stored, const uint64 *hashes, int n, bool *contained)
{
	bloomexp_filter_mark(&stored->filter, stored->source ? fetch_blocks : NULL, stored,
						 hashes, n, contained);
}

/* This call site's cache entry, reset if it is for another value. */
static CachedFilter *
get_cached(FmgrInfo *call_site, struct varlena *source)
{
	CachedFilter *cached = call_site->fn_extra;
	struct varatt_external pointer;

	VARATT_EXTERNAL_GET_POINTER(pointer, source);
	if (cached == NULL)
		call_site->fn_extra = cached =
			MemoryContextAllocZero(call_site->fn_mcxt, sizeof(CachedFilter));
	if (memcmp(&cached->pointer, &pointer, sizeof(pointer)) != 0)
	{
		if (cached->open)
			close_stored(&cached->stored);
		cached->open = false;
		cached->pointer = pointer;
		cached->lookups = 0;
	}
	return cached;
}

/*
 * Open the headers of a value for the one lookup that may be all; false if it
 * costs less to read all of it.
 */
static bool
open_once(BloomStored *stored, struct varlena *source)
{
	if (!pays_to_slice(source, 1) || !open_headers(source, &stored->filter))
		return false;
	if (!pays_to_slice(source, stored->filter.nlayers))
	{
		bloomexp_layout_close(&stored->filter);
		return false;
	}
	stored->source = source;
	stored->value = NULL;
	return true;
}

/*
 * Whether a filter that was opened by open_once() contains an item.
 *
 * To map memory for the whole of a large value, as for many lookups, takes longer
 * than to fetch a block.
 */
static bool
contains_once(const BloomStored *stored, uint64 hash)
{
	const BloomFilter *filter = &stored->filter;
	Size		start = toast_raw_datum_size(PointerGetDatum(stored->source)) - VARHDRSZ;
	bool		contained = false;

	for (uint32 i = filter->nlayers; i-- > 0 && !contained;)
	{
		const BloomLayer *layer = &filter->layers[i];
		Size		size = bloomexp_probe_block_bytes(&layer->bits);
		struct varlena *block;

		start -= bloomexp_layout_layer_size(layer);
		if (layer->bits_set == 0)
			continue;
		block = read_slice(stored->source,
						   start + size * bloomexp_probe_block_of(&layer->bits.shape, hash), size);
		contained = bloomexp_probe_block_contains(&layer->bits, (uint8 *) VARDATA_ANY(block), hash);
		pfree(block);
	}
	return contained;
}

/*
 * The filter of an argument for one more lookup.
 *
 * A query that looks up many items in one stored filter hands us the same TOAST
 * pointer each time, and to read the filter each time would cost far more than
 * the lookup.  A TOAST pointer names one value for as long as the statement can
 * see it, so the filter asked last is kept with the call site from the second
 * lookup on: the blocks that were needed, and after many lookups all of it.
 */
static BloomStored *
open_for_lookup(FunctionCallInfo fcinfo, int argno, BloomStored *space)
{
	struct varlena *source = PG_GETARG_BLOOM_STORED(argno);
	MemoryContext caller;
	CachedFilter *cached;

	if (!VARATT_IS_EXTERNAL_ONDISK(source) || fcinfo->flinfo == NULL)
	{
		bloomexp_stored_open_whole(space, PG_DETOAST_DATUM_PACKED(PointerGetDatum(source)));
		return space;
	}

	cached = get_cached(fcinfo->flinfo, source);
	cached->lookups++;
	if (cached->lookups == 1 && open_once(space, source))
		return space;
	if (cached->open && cached->stored.source)
	{
		cached->stored.source = source;
		if (!pays_to_slice(source, cached->lookups * cached->stored.filter.nlayers))
		{
			close_stored(&cached->stored);
			cached->open = false;
		}
	}
	if (!cached->open)
	{
		caller = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
		bloomexp_stored_open(&cached->stored, source, cached->lookups);
		MemoryContextSwitchTo(caller);
		cached->open = true;
	}
	return &cached->stored;
}

/* Hash of an item of an argument of the type of its kind. */
static inline uint64
hash_argument(FunctionCallInfo fcinfo, int argno, BloomKind kind, uint32 seed)
{
	if (kind == BLOOM_KIND_INTEGER)
		return bloomexp_murmur3_int64((uint64) PG_GETARG_INT64(argno), seed);
	if (kind == BLOOM_KIND_TEXT)
		bloomexp_item_check_collation(PG_GET_COLLATION());
	return bloomexp_item_hash(kind, false, PG_GETARG_DATUM(argno), seed);
}

/*
 * bloomexp_stored_contains
 *		Whether the filter of one argument contains the item of another; neither
 *		is NULL.
 */
bool
bloomexp_stored_contains(FunctionCallInfo fcinfo, int filter_arg, int item_arg,
						 BloomKind kind)
{
	BloomStored space;
	BloomStored *stored = open_for_lookup(fcinfo, filter_arg, &space);
	const BloomFilter *filter = &stored->filter;
	uint64		hash;
	bool		contained = false;

	bloomexp_filter_require_kind(filter, kind);
	hash = hash_argument(fcinfo, item_arg, kind, filter->seed);
	if (stored->source == NULL)
		return bloomexp_filter_contains(filter, hash);
	if (stored->value == NULL)
		return contains_once(stored, hash);
	bloomexp_stored_mark(stored, &hash, 1, &contained);
	return contained;
}
