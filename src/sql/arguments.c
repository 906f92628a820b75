/*-------------------------------------------------------------------------
 *
 * datum.c
 *	  Arguments of SQL functions: filters, items, times.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "common/int.h"
#include "utils/timestamp.h"

#include "sql/arguments.h"

/* Enough for the headers of eighty layers, and still one TOAST chunk. */
#define HEADERS_SLICE 1996

/*
 * One look into a stored filter by way of one block costs about as much as to
 * read this many bytes of it whole.  (Measured in a filter of 120 MB, with its
 * chunks in shared buffers: 9 us a look, 125 ms for all of it.)
 */
#define BYTES_PER_LOOK 8500

/* The stored filter that a call site looked into last. */
typedef struct CachedFilter
{
	struct varatt_external pointer; /* names the stored value */
	uint64		looks;			/* into this value */
	bool		open;			/* is the rest valid? */
	BloomStored argument;
} CachedFilter;

/*
 * bloomexp_arguments_require
 *		Complain if an argument is NULL, of those from `first` on that `names`
 *		names.
 */
void
bloomexp_arguments_require(FunctionCallInfo fcinfo, int first, const char *const *names,
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

/*
 * bloomexp_arguments_check_time
 *		A time in microseconds since 2000-01-01 00:00 UTC; NULL and the infinite
 *		ones are errors.
 */
int64
bloomexp_arguments_check_time(Datum time, bool isnull, const char *name)
{
	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", name)));
	if (TIMESTAMP_NOT_FINITE(DatumGetTimestampTz(time)))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("%s must be finite", name)));
	return DatumGetTimestampTz(time);
}

int64
bloomexp_arguments_time(FunctionCallInfo fcinfo, int argno, const char *name)
{
	return bloomexp_arguments_check_time(PG_GETARG_DATUM(argno), PG_ARGISNULL(argno), name);
}

/*
 * bloomexp_arguments_width
 *		An interval in microseconds.
 */
int64
bloomexp_arguments_width(FunctionCallInfo fcinfo, int argno)
{
	const Interval *interval = PG_GETARG_INTERVAL_P(argno);
	int64		days;
	int64		width;

#ifdef INTERVAL_NOT_FINITE
	if (INTERVAL_NOT_FINITE(interval))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("width of the window must be finite")));
#endif
	if (interval->month != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("width of the window must not have months or years"),
				 errdetail("They have no fixed length."),
				 errhint("Write it in days, hours or minutes, such as '30 days'.")));
	if (pg_mul_s64_overflow(interval->day, USECS_PER_DAY, &days) ||
		pg_add_s64_overflow(days, interval->time, &width))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("interval out of range")));
	return width;
}

/* As array_in() and array_out() know blanks. */
static inline bool
is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Whether a text is "{...}", blanks around it allowed. */
static bool
looks_like_array(const text *item)
{
	const char *start = VARDATA_ANY(item);
	const char *end = start + VARSIZE_ANY_EXHDR(item);

	while (start < end && is_blank(*start))
		start++;
	while (start < end && is_blank(end[-1]))
		end--;
	return end - start >= 2 && *start == '{' && end[-1] == '}';
}

/*
 * bloomexp_arguments_require_scalar
 *		Refuse one text item, not NULL, that looks like an array literal.
 *
 * PostgreSQL takes a parameter without a type for text.  An array that a driver
 * sends that way would be one item, and its elements would be lost in silence.
 */
void
bloomexp_arguments_require_scalar(FunctionCallInfo fcinfo, int argno, BloomKind kind)
{
	text	   *item;

	if (kind != BLOOM_KIND_TEXT)
		return;
	item = PG_GETARG_TEXT_PP(argno);
	if (looks_like_array(item))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("text item looks like an array literal"),
				 errdetail("A parameter or literal without a type is taken for text, so the whole array would be one item."),
				 errhint("Cast an array of items, for example $1::text[] or $1::bigint[]. If it is one text, put it into an array: ARRAY[$1::text].")));
	PG_FREE_IF_COPY(item, argno);
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
	bool		opened = bloomexp_layout_open_headers(filter, (uint8 *) VARDATA_ANY(slice),
											   VARSIZE_ANY_EXHDR(slice),
											   toast_raw_datum_size(PointerGetDatum(stored)) - VARHDRSZ);

	pfree(slice);
	return opened;
}

/*
 * bloomexp_stored_headers
 *		A filter for who asks only for what the headers tell; its layers may
 *		have no bits.
 */
void
bloomexp_stored_headers(FunctionCallInfo fcinfo, int argno, BloomFilter *filter)
{
	struct varlena *stored = (struct varlena *) PG_GETARG_POINTER(argno);

	if (!can_be_sliced(stored) || !slice_headers(stored, filter))
		bloomexp_layout_open(filter, PG_DETOAST_DATUM_PACKED(PointerGetDatum(stored)));
}

/*
 * bloomexp_arguments_array
 *		An array, flat.  A PL/pgSQL variable has the flat form beside its own, if
 *		it was not changed in place.
 */
ArrayType *
bloomexp_arguments_array(FunctionCallInfo fcinfo, int argno)
{
	Datum		datum = PG_GETARG_DATUM(argno);

	if (VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(datum)))
	{
		ExpandedArrayHeader *expanded = (ExpandedArrayHeader *) DatumGetEOHP(datum);

		Assert(expanded->ea_magic == EA_MAGIC);
		if (expanded->fvalue)
			return expanded->fvalue;
	}
	return DatumGetArrayTypeP(datum);
}

/*
 * bloomexp_stored_open_whole
 *		Unpack a value that is there as a whole.
 */
void
bloomexp_stored_open_whole(BloomStored *argument, struct varlena *value)
{
	argument->stored = NULL;
	argument->value = value;
	argument->fetched = NULL;
	bloomexp_layout_open(&argument->filter, value);
}

/* Whether `looks` into a stored value cost less by slices than to read all of it. */
static bool
pays_to_slice(struct varlena *stored, uint64 looks)
{
	return can_be_sliced(stored) &&
		looks * BYTES_PER_LOOK < toast_raw_datum_size(PointerGetDatum(stored));
}

/*
 * Unpack the headers of a stored value, and make room for its blocks; false if
 * it costs less to read all of it.
 */
static bool
open_sliced(BloomStored *argument, struct varlena *stored, uint64 looks)
{
	BloomFilter *filter = &argument->filter;
	uint32		blocks = 0;
	uint8	   *next;

	if (!slice_headers(stored, filter))
		return false;
	if (!pays_to_slice(stored, looks * filter->nlayers))
	{
		bloomexp_layout_close(filter);
		return false;
	}

	/*
	 * The system gives us only the pages of this that are used.  (Where it must
	 * promise all of them, reading the whole value would have taken as much.)
	 */
	argument->stored = stored;
	argument->value = palloc_extended(bloomexp_layout_size(filter), MCXT_ALLOC_HUGE);
	next = (uint8 *) VARDATA(argument->value) + bloomexp_layout_headers_size(filter);
	for (uint32 i = 0; i < filter->nlayers; i++)
	{
		filter->layers[i].bits.bytes = next;
		next += bloomexp_layout_layer_size(&filter->layers[i]);
		blocks += filter->layers[i].bits.shape.blocks;
	}
	argument->fetched = palloc0(blocks / 8 + 1);
	return true;
}

/* Open a filter to ask it `looks` times, as a whole or sliced. */
static void
open_for_looks(BloomStored *argument, struct varlena *stored, uint64 looks)
{
	if (!pays_to_slice(stored, looks) || !open_sliced(argument, stored, looks))
		bloomexp_stored_open_whole(argument, PG_DETOAST_DATUM_PACKED(PointerGetDatum(stored)));
}

/*
 * bloomexp_stored_open
 *		A filter that is going to be asked for so many items.
 */
void
bloomexp_stored_open(FunctionCallInfo fcinfo, int argno, int looks,
						  BloomStored *argument)
{
	open_for_looks(argument, (struct varlena *) PG_GETARG_POINTER(argno), looks);
}

/* See to it that a block of a layer is there; it is the nth of all layers. */
static void
fetch_block(BloomStored *argument, const BloomBits *bits, uint32 block, uint32 nth)
{
	Size		size = bloomexp_probe_block_bytes(bits);
	uint8	   *place = bits->bytes + block * size;
	struct varlena *slice;

	if (argument->fetched[nth / 8] & (1 << (nth % 8)))
		return;
	CHECK_FOR_INTERRUPTS();
	slice = detoast_attr_slice(argument->stored,
							   place - (uint8 *) VARDATA(argument->value), size);
	if (VARSIZE_ANY_EXHDR(slice) != size)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stored filter ends early")));
	memcpy(place, VARDATA_ANY(slice), size);
	pfree(slice);
	argument->fetched[nth / 8] |= 1 << (nth % 8);
}

/*
 * bloomexp_stored_misses
 *		Which of some items the filter does not contain; see bloomexp_filter_misses.
 */
int
bloomexp_stored_misses(BloomStored *argument, const uint64 *hashes, int *picks, int n)
{
	const BloomFilter *filter = &argument->filter;
	uint32		first = 0;		/* number of a layer's first block */

	if (argument->stored == NULL)
		return bloomexp_filter_misses(filter, hashes, picks, n);

	for (uint32 i = 0; i < filter->nlayers; i++)
		first += filter->layers[i].bits.shape.blocks;
	for (uint32 i = filter->nlayers; i-- > 0 && n > 0;)
	{
		const BloomBits *bits = &filter->layers[i].bits;

		first -= bits->shape.blocks;
		if (filter->layers[i].bits_set == 0)
			continue;
		for (int j = 0; j < n; j++)
		{
			uint32		block = bloomexp_probe_block_of(&bits->shape, hashes[picks[j]]);

			fetch_block(argument, bits, block, first + block);
		}
		n = bloomexp_probe_misses(bits, hashes, picks, n);
	}
	return n;
}

/* Give back what is known of a stored filter. */
static void
close_cached(CachedFilter *cached)
{
	if (!cached->open)
		return;
	cached->open = false;
	bloomexp_layout_close(&cached->argument.filter);
	pfree(cached->argument.value);
	if (cached->argument.fetched)
		pfree(cached->argument.fetched);
}

/* What the call site knows of a stored filter; nothing where it is another. */
static CachedFilter *
get_cached(FmgrInfo *call_site, struct varlena *stored)
{
	CachedFilter *cached = call_site->fn_extra;
	struct varatt_external pointer;

	VARATT_EXTERNAL_GET_POINTER(pointer, stored);
	if (cached == NULL)
		call_site->fn_extra = cached =
			MemoryContextAllocZero(call_site->fn_mcxt, sizeof(CachedFilter));
	if (memcmp(&cached->pointer, &pointer, sizeof(pointer)) != 0)
	{
		close_cached(cached);
		cached->pointer = pointer;
		cached->looks = 0;
	}
	return cached;
}

/*
 * The filter of an argument for one more look.
 *
 * A query that looks for many items in one stored filter hands us the same
 * TOAST pointer each time, and to read the filter each time would cost far more
 * than the look.  A TOAST pointer names one value for as long as the statement
 * can see it, so what is known of the last filter is kept with the call site:
 * the blocks looked into, and after many looks all of it.
 */
static BloomStored *
get_for_look(FunctionCallInfo fcinfo, int argno, BloomStored *space)
{
	struct varlena *stored = (struct varlena *) PG_GETARG_POINTER(argno);
	MemoryContext caller;
	CachedFilter *cached;

	if (!VARATT_IS_EXTERNAL_ONDISK(stored) || fcinfo->flinfo == NULL)
	{
		bloomexp_stored_open_whole(space, PG_DETOAST_DATUM_PACKED(PointerGetDatum(stored)));
		return space;
	}

	cached = get_cached(fcinfo->flinfo, stored);
	cached->looks++;
	if (cached->open && cached->argument.stored)
	{
		if (pays_to_slice(stored, cached->looks * cached->argument.filter.nlayers))
			cached->argument.stored = stored;
		else
			close_cached(cached);
	}
	if (!cached->open)
	{
		caller = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
		open_for_looks(&cached->argument, stored, cached->looks);
		MemoryContextSwitchTo(caller);
		cached->open = true;
	}
	return &cached->argument;
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
	BloomStored *argument = get_for_look(fcinfo, filter_arg, &space);
	const BloomFilter *filter = &argument->filter;
	uint64		hash;
	int			pick = 0;

	bloomexp_filter_require_kind(filter, kind);
	hash = bloomexp_arguments_hash(fcinfo, item_arg, kind, filter->seed);
	if (argument->stored == NULL)
		return bloomexp_filter_contains(filter, hash);
	return bloomexp_stored_misses(argument, &hash, &pick, 1) == 0;
}
