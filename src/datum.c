/*-------------------------------------------------------------------------
 *
 * datum.c
 *	  Arguments of SQL functions: the filter and the item.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"

#include "datum.h"

/* Enough for the headers of a hundred layers, and still one TOAST chunk. */
#define HEADERS_SLICE 1996

/*
 * One look into a stored filter by way of its headers and one block costs about
 * as much as to read this many bytes of it whole.  (3,500 bytes measured, with
 * the chunks in shared buffers.)
 */
#define BYTES_PER_LOOK 3500

/* The stored filter that a call site looked into last. */
typedef struct CachedFilter
{
	struct varatt_external pointer; /* names the stored value */
	uint64		looks;			/* into this value */
	struct varlena *value;		/* detoasted; NULL while slices do */
	bool		headers_known;
	BloomFilter headers;		/* without bits */
} CachedFilter;

/*
 * bloomexp_require_arguments
 *		Complain if an argument is NULL, of those from `first` on that `names`
 *		names.
 */
void
bloomexp_require_arguments(FunctionCallInfo fcinfo, int first, const char *const *names,
						   int n)
{
	for (int i = 0; i < n; i++)
	{
		if (PG_ARGISNULL(first + i))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("%s must not be null", names[i])));
	}
}

/* Whether a value is stored in chunks, not compressed, that can be read one by one. */
static bool
can_be_sliced(struct varlena *stored)
{
	Datum		datum = PointerGetDatum(stored);

	return VARATT_IS_EXTERNAL_ONDISK(stored) &&
		toast_datum_size(datum) == toast_raw_datum_size(datum) - VARHDRSZ;
}

/* Unpack the headers of a value that can be sliced; false if they are too long. */
static bool
slice_headers(struct varlena *stored, BloomFilter *filter)
{
	struct varlena *slice = detoast_attr_slice(stored, 0, HEADERS_SLICE);
	bool		opened = bloomexp_open_headers(filter, (uint8 *) VARDATA_ANY(slice),
											   VARSIZE_ANY_EXHDR(slice),
											   toast_raw_datum_size(PointerGetDatum(stored)) - VARHDRSZ);

	pfree(slice);
	return opened;
}

/*
 * bloomexp_getarg_headers
 *		A filter for who asks only for what the headers tell; its layers may
 *		have no bits.
 */
void
bloomexp_getarg_headers(FunctionCallInfo fcinfo, int argno, BloomFilter *filter)
{
	struct varlena *stored = (struct varlena *) PG_GETARG_POINTER(argno);

	if (!can_be_sliced(stored) || !slice_headers(stored, filter))
		bloomexp_open(filter, PG_DETOAST_DATUM_PACKED(PointerGetDatum(stored)));
}

/* What the call site knows of a stored filter; nothing where it is another. */
static CachedFilter *
get_cached(FmgrInfo *call_site, struct varlena *stored)
{
	CachedFilter *cached = call_site->fn_extra;
	struct varatt_external pointer;

	VARATT_EXTERNAL_GET_POINTER(pointer, stored);
	if (cached && memcmp(&cached->pointer, &pointer, sizeof(pointer)) == 0)
		return cached;

	if (cached == NULL)
		cached = MemoryContextAlloc(call_site->fn_mcxt, sizeof(CachedFilter));
	else
	{
		if (cached->value)
			pfree(cached->value);
		if (cached->headers_known)
			bloomexp_close(&cached->headers);
	}
	memset(cached, 0, sizeof(CachedFilter));
	cached->pointer = pointer;
	call_site->fn_extra = cached;
	return cached;
}

/*
 * The filter of an argument for one more look: whole, or for a few looks into
 * a large stored one just its headers.
 *
 * A query that looks for many items in one stored filter hands us the same
 * TOAST pointer each time, and to read the filter each time would cost far more
 * than the look.  A TOAST pointer names one value for as long as the statement
 * can see it, so what is known of the last filter is kept with the call site.
 */
static BloomFilter *
get_for_look(FunctionCallInfo fcinfo, int argno, BloomFilter *space)
{
	struct varlena *stored = (struct varlena *) PG_GETARG_POINTER(argno);
	MemoryContext caller;
	CachedFilter *cached;

	if (!VARATT_IS_EXTERNAL_ONDISK(stored) || fcinfo->flinfo == NULL)
	{
		bloomexp_open(space, PG_DETOAST_DATUM_PACKED(PointerGetDatum(stored)));
		return space;
	}

	cached = get_cached(fcinfo->flinfo, stored);
	caller = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	if (cached->value == NULL)
	{
		bool		slices = can_be_sliced(stored) &&
			++cached->looks * BYTES_PER_LOOK < toast_raw_datum_size(PointerGetDatum(stored));

		if (slices && !cached->headers_known)
			cached->headers_known = slices = slice_headers(stored, &cached->headers);
		if (!slices)
			cached->value = detoast_attr(stored);
	}
	MemoryContextSwitchTo(caller);

	if (cached->value == NULL)
		return &cached->headers;
	bloomexp_open(space, cached->value);
	return space;
}

/* bloomexp_contains for a filter of which only the headers are at hand. */
static bool
contains_by_slices(const BloomFilter *filter, struct varlena *stored, uint64 hash)
{
	Size		offset = bloomexp_filter_size(filter) - VARHDRSZ;

	for (uint32 i = filter->nlayers; i-- > 0;)
	{
		const BloomBits *bits = &filter->layers[i].bits;
		Size		size = bloomexp_block_size(bits);
		struct varlena *slice;
		bool		contained;

		offset -= bloomexp_layer_size(&filter->layers[i]);
		slice = detoast_attr_slice(stored,
								   offset + bloomexp_block_of(&bits->shape, hash) * size,
								   size);
		if (VARSIZE_ANY_EXHDR(slice) != size)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("stored filter ends early")));
		contained = bloomexp_probe_block(bits, (uint8 *) VARDATA_ANY(slice), hash);
		pfree(slice);
		if (contained)
			return true;
	}
	return false;
}

/*
 * bloomexp_getarg_contains
 *		Whether the filter of one argument contains the item of another; neither
 *		is NULL.
 */
bool
bloomexp_getarg_contains(FunctionCallInfo fcinfo, int filter_arg, int item_arg,
						 BloomKind kind)
{
	BloomFilter space;
	BloomFilter *filter = get_for_look(fcinfo, filter_arg, &space);
	uint64		hash;

	bloomexp_require_kind(filter, kind);
	hash = bloomexp_getarg_hash(fcinfo, item_arg, kind, filter->seed);
	if (filter == &space)
		return bloomexp_contains(filter, hash);
	return contains_by_slices(filter, (struct varlena *) PG_GETARG_POINTER(filter_arg), hash);
}
