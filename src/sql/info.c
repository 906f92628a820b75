/*-------------------------------------------------------------------------
 *
 * info.c
 *	  SQL functions that describe filters and slices, and calculate sizes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "common/int.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "kernel/sizing.h"
#include "sql/arguments.h"
#include "sql/lookup.h"
#include "value/filter.h"
#include "value/growth.h"
#include "value/layout.h"
#include "value/window.h"

/* Return the row type that the called function returns. */
static TupleDesc
result_tupdesc(FunctionCallInfo fcinfo)
{
	TupleDesc	tupdesc;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return BlessTupleDesc(tupdesc);
}

/* bloom_sizing(capacity, fpr) */
PG_FUNCTION_INFO_V1(bloomexp_sizing);
Datum
bloomexp_sizing(PG_FUNCTION_ARGS)
{
	enum
	{
		BITS,
		HASHES,
		BYTES,
		EXPECTED_FPR,
		NCOLUMNS,
	};
	Datum		values[NCOLUMNS];
	bool		nulls[NCOLUMNS] = {false};
	BloomFilter filter;
	const BloomLayer *layer = &filter.inline_layers[0];
	const BloomShape *shape = &layer->bits.shape;

	bloomexp_arguments_require(fcinfo, 0, "capacity");
	bloomexp_arguments_require(fcinfo, 1, "fpr");
	bloomexp_filter_init(&filter, PG_GETARG_INT64(0), PG_GETARG_FLOAT8(1), false);

	values[BITS] = Int64GetDatum((int64) bloomexp_sizing_bits(shape));
	values[HASHES] = Int32GetDatum(shape->hashes);
	values[BYTES] = Int64GetDatum((int64) bloomexp_layout_size(&filter));
	values[EXPECTED_FPR] = Float8GetDatum(bloomexp_sizing_expected_fpr(shape, layer->capacity));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(result_tupdesc(fcinfo), values, nulls)));
}

/* bloom_capacity(bytes, fpr) */
PG_FUNCTION_INFO_V1(bloomexp_capacity);
Datum
bloomexp_capacity(PG_FUNCTION_ARGS)
{
	enum
	{
		CAPACITY,
		BITS,
		HASHES,
		BYTES,
		EXPECTED_FPR,
		NCOLUMNS,
	};
	Datum		values[NCOLUMNS];
	bool		nulls[NCOLUMNS] = {false};
	BloomFilter filter;
	const BloomLayer *layer = &filter.inline_layers[0];
	const BloomShape *shape = &layer->bits.shape;
	int64		capacity;

	bloomexp_arguments_require(fcinfo, 0, "bytes");
	bloomexp_arguments_require(fcinfo, 1, "fpr");
	capacity = bloomexp_growth_capacity(Max(PG_GETARG_INT64(0), 0), PG_GETARG_FLOAT8(1));
	if (capacity == 0)
	{
		bloomexp_filter_init(&filter, 1, PG_GETARG_FLOAT8(1), false);
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bytes must be at least %llu at this false positive rate",
						(unsigned long long) bloomexp_layout_size(&filter))));
	}
	bloomexp_filter_init(&filter, capacity, PG_GETARG_FLOAT8(1), false);

	values[CAPACITY] = Int64GetDatum(capacity);
	values[BITS] = Int64GetDatum((int64) bloomexp_sizing_bits(shape));
	values[HASHES] = Int32GetDatum(shape->hashes);
	values[BYTES] = Int64GetDatum((int64) bloomexp_layout_size(&filter));
	values[EXPECTED_FPR] = Float8GetDatum(bloomexp_sizing_expected_fpr(shape, layer->capacity));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(result_tupdesc(fcinfo), values, nulls)));
}

/* bloom_cardinality(filter) */
PG_FUNCTION_INFO_V1(bloomexp_cardinality);
Datum
bloomexp_cardinality(PG_FUNCTION_ARGS)
{
	BloomFilter filter;
	double		items;

	if (PG_ARGISNULL(0))
		PG_RETURN_INT64(0);
	bloomexp_lookup_open_headers(&filter, PG_GETARG_BLOOM_STORED(0));
	items = bloomexp_filter_items(&filter);
	/* if probes of the only item hit the same position, the estimate is less than one */
	PG_RETURN_INT64(items > 0.0 ? (int64) rint(Max(items, 1.0)) : 0);
}

/* bloom_fpr(filter) */
PG_FUNCTION_INFO_V1(bloomexp_fpr);
Datum
bloomexp_fpr(PG_FUNCTION_ARGS)
{
	BloomFilter filter;

	if (PG_ARGISNULL(0))
		PG_RETURN_FLOAT8(0.0);
	bloomexp_lookup_open_headers(&filter, PG_GETARG_BLOOM_STORED(0));
	PG_RETURN_FLOAT8(bloomexp_filter_fpr(&filter));
}

/* Return a time as a timestamptz, which is infinite if the time is out of its range. */
static Datum
time_datum(int64 time)
{
	if (time < MIN_TIMESTAMP)
		return TimestampTzGetDatum(DT_NOBEGIN);
	if (time >= END_TIMESTAMP)
		return TimestampTzGetDatum(DT_NOEND);
	return TimestampTzGetDatum(time);
}

/* Return the start of a slice as a timestamptz, which is infinite if it is out of range. */
static Datum
slice_start(int64 slice, int64 width, int32 slices)
{
	int64		start;

	if (pg_mul_s64_overflow(slice, bloomexp_window_slice_length(width, slices), &start))
		start = slice < 0 ? PG_INT64_MIN : PG_INT64_MAX;
	return time_datum(start);
}

/* Return the start of the slice that contains a time; arguments 1 and 2 are width and slices. */
static Datum
slice_start_of(FunctionCallInfo fcinfo, int64 time)
{
	int64		width = bloomexp_arguments_width(PG_GETARG_INTERVAL_P(1));
	int32		slices = PG_GETARG_INT32(2);
	int64		length;

	bloomexp_window_check(width, slices, BLOOMEXP_DEFAULT_FPR);
	length = bloomexp_window_slice_length(width, slices);
	return slice_start(bloomexp_window_slice_of(time, length), width, slices);
}

/* bloom_slice_start(shown_at, width, slices) */
PG_FUNCTION_INFO_V1(bloomexp_slice_start);
Datum
bloomexp_slice_start(PG_FUNCTION_ARGS)
{
	PG_RETURN_DATUM(slice_start_of(fcinfo,
								   bloomexp_arguments_time(fcinfo->args[0], "shown_at")));
}

/* bloomexp.oldest_slice(at, width, slices) */
PG_FUNCTION_INFO_V1(bloomexp_oldest_slice);
Datum
bloomexp_oldest_slice(PG_FUNCTION_ARGS)
{
	int64		at = bloomexp_arguments_time(fcinfo->args[0], "at");
	int64		width = bloomexp_arguments_width(PG_GETARG_INTERVAL_P(1));
	int64		start;

	if (pg_sub_s64_overflow(at, width, &start))
		start = PG_INT64_MIN;
	PG_RETURN_DATUM(slice_start_of(fcinfo, start));
}

/* bloom_info(filter) */
PG_FUNCTION_INFO_V1(bloomexp_info);
Datum
bloomexp_info(PG_FUNCTION_ARGS)
{
	enum
	{
		KIND,
		ITEMS,
		CAPACITY,
		FPR,
		FPR_NOW,
		BITS,
		BITS_SET,
		FILL,
		LAYERS,
		BYTES,
		COUNTING,
		WINDOW_WIDTH,
		SLICES,
		EXPIRED_BEFORE,
		NCOLUMNS,
	};
	Datum		values[NCOLUMNS];
	bool		nulls[NCOLUMNS] = {false};
	BloomFilter filter;
	Interval   *width = palloc0(sizeof(Interval));
	int64		items = 0;
	int64		capacity = 0;
	int64		bits = 0;
	int64		bits_set = 0;

	bloomexp_lookup_open_headers(&filter, PG_GETARG_BLOOM_STORED(0));
	for (uint32 i = 0; i < filter.nlayers; i++)
	{
		const BloomLayer *layer = &filter.layers[i];

		items += layer->items;
		capacity += layer->capacity;
		bits += bloomexp_sizing_bits(&layer->bits.shape);
		bits_set += layer->bits_set;
	}

	values[KIND] = CStringGetTextDatum(bloomexp_kind_name(filter.kind));
	nulls[KIND] = filter.kind == BLOOM_KIND_NONE;
	values[ITEMS] = Int64GetDatum(items);
	values[CAPACITY] = Int64GetDatum(capacity);
	values[FPR] = Float8GetDatum(filter.fpr);
	values[FPR_NOW] = Float8GetDatum(bloomexp_filter_fpr(&filter));
	values[BITS] = Int64GetDatum(bits);
	values[BITS_SET] = Int64GetDatum(bits_set);
	values[FILL] = Float8GetDatum(bits > 0 ? (double) bits_set / bits : 0.0);
	values[LAYERS] = Int32GetDatum(filter.nlayers);
	values[BYTES] = Int64GetDatum((int64) bloomexp_layout_size(&filter));
	values[COUNTING] = BoolGetDatum(filter.counting);
	nulls[WINDOW_WIDTH] = nulls[SLICES] = nulls[EXPIRED_BEFORE] = !filter.windowed;
	if (filter.windowed)
	{
		/* whole days as days, as users write them */
		width->day = (int32) (filter.width / USECS_PER_DAY);
		width->time = filter.width % USECS_PER_DAY;
		values[WINDOW_WIDTH] = IntervalPGetDatum(width);
		values[SLICES] = Int32GetDatum((int32) filter.slices);
		values[EXPIRED_BEFORE] = time_datum(filter.expired_before);
		nulls[EXPIRED_BEFORE] = filter.expired_before == BLOOMEXP_NEVER_EXPIRED;
	}
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(result_tupdesc(fcinfo), values, nulls)));
}

/* bloom_layers(filter): one row per layer, oldest first */
PG_FUNCTION_INFO_V1(bloomexp_layers);
Datum
bloomexp_layers(PG_FUNCTION_ARGS)
{
	enum
	{
		LAYER,
		ITEMS,
		CAPACITY,
		FPR,
		FPR_NOW,
		BITS,
		BITS_SET,
		FILL,
		HASHES,
		BLOCKS,
		BYTES,
		SLICE,
		SLICE_START,
		NCOLUMNS,
	};
	FuncCallContext *call;
	BloomFilter *filter;
	const BloomLayer *layer;
	const BloomShape *shape;
	int64		bits;
	Datum		values[NCOLUMNS];
	bool		nulls[NCOLUMNS] = {false};

	if (SRF_IS_FIRSTCALL())
	{
		MemoryContext caller;

		call = SRF_FIRSTCALL_INIT();
		caller = MemoryContextSwitchTo(call->multi_call_memory_ctx);
		call->tuple_desc = result_tupdesc(fcinfo);
		filter = palloc(sizeof(BloomFilter));
		bloomexp_lookup_open_headers(filter, PG_GETARG_BLOOM_STORED(0));
		call->user_fctx = filter;
		call->max_calls = filter->nlayers;
		MemoryContextSwitchTo(caller);
	}

	call = SRF_PERCALL_SETUP();
	if (call->call_cntr == call->max_calls)
		SRF_RETURN_DONE(call);
	filter = call->user_fctx;
	layer = &filter->layers[call->call_cntr];
	shape = &layer->bits.shape;
	bits = bloomexp_sizing_bits(shape);

	values[LAYER] = Int32GetDatum((int32) call->call_cntr + 1);
	values[ITEMS] = Int64GetDatum(layer->items);
	values[CAPACITY] = Int64GetDatum(layer->capacity);
	values[FPR] = Float8GetDatum(bloomexp_sizing_expected_fpr(shape, layer->capacity));
	values[FPR_NOW] = Float8GetDatum(bloomexp_sizing_current_fpr(shape, layer->bits_set));
	values[BITS] = Int64GetDatum(bits);
	values[BITS_SET] = Int64GetDatum(layer->bits_set);
	values[FILL] = Float8GetDatum((double) layer->bits_set / bits);
	values[HASHES] = Int32GetDatum(shape->hashes);
	values[BLOCKS] = Int32GetDatum(shape->blocks);
	values[BYTES] = Int64GetDatum((int64) bloomexp_layout_layer_size(layer));
	values[SLICE] = Int64GetDatum(layer->slice);
	nulls[SLICE] = nulls[SLICE_START] = !filter->windowed;
	if (filter->windowed)
		values[SLICE_START] = slice_start(layer->slice, filter->width, filter->slices);
	SRF_RETURN_NEXT(call, HeapTupleGetDatum(heap_form_tuple(call->tuple_desc, values, nulls)));
}
