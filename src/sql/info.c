/*-------------------------------------------------------------------------
 *
 * info.c
 *	  What a filter tells of itself.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "sql/arguments.h"

PG_FUNCTION_INFO_V1(bloomexp_info);
PG_FUNCTION_INFO_V1(bloomexp_layers);

/* The window's width as an interval: days where they fit, else a time. */
static Interval *
width_interval(int64 width)
{
	Interval   *interval = palloc0(sizeof(Interval));

	interval->day = (int32) (width / USECS_PER_DAY);
	interval->time = width % USECS_PER_DAY;
	return interval;
}

/* bloom_info(filter) */
Datum
bloomexp_info(PG_FUNCTION_ARGS)
{
	enum
	{
		KIND, ITEMS, CAPACITY, FPR, FPR_NOW, BITS, BITS_SET, FILL, LAYERS, BYTES,
		SEED, COUNTING, WINDOW_WIDTH, SLICES, NCOLUMNS
	};
	Datum		values[NCOLUMNS];
	bool		nulls[NCOLUMNS] = {false};
	TupleDesc	tupdesc;
	BloomFilter filter;
	int64		items = 0;
	int64		capacity = 0;
	int64		bits = 0;
	int64		bits_set = 0;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	bloomexp_stored_headers(fcinfo, 0, &filter);
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
	values[BYTES] = Int64GetDatum(bloomexp_layout_size(&filter));
	values[SEED] = Int32GetDatum((int32) filter.seed);
	values[COUNTING] = BoolGetDatum(filter.counting);
	values[WINDOW_WIDTH] = IntervalPGetDatum(width_interval(filter.windowed ? filter.width : 0));
	nulls[WINDOW_WIDTH] = !filter.windowed;
	values[SLICES] = Int32GetDatum(filter.windowed ? (int32) filter.slices : 0);
	nulls[SLICES] = !filter.windowed;
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc), values, nulls)));
}

/* bloom_layers(filter): one row a layer, oldest first */
Datum
bloomexp_layers(PG_FUNCTION_ARGS)
{
	enum
	{
		LAYER, ITEMS, CAPACITY, FPR, FPR_NOW, BITS, BITS_SET, FILL, HASHES, BLOCKS,
		BYTES, SLICE, NCOLUMNS
	};
	FuncCallContext *call;
	BloomFilter *filter;
	const BloomLayer *layer;
	int64		bits;
	Datum		values[NCOLUMNS];
	bool		nulls[NCOLUMNS] = {false};

	if (SRF_IS_FIRSTCALL())
	{
		MemoryContext caller;

		call = SRF_FIRSTCALL_INIT();
		caller = MemoryContextSwitchTo(call->multi_call_memory_ctx);
		if (get_call_result_type(fcinfo, NULL, &call->tuple_desc) != TYPEFUNC_COMPOSITE)
			elog(ERROR, "return type must be a row type");
		BlessTupleDesc(call->tuple_desc);
		filter = palloc(sizeof(BloomFilter));
		bloomexp_stored_headers(fcinfo, 0, filter);
		call->user_fctx = filter;
		call->max_calls = filter->nlayers;
		MemoryContextSwitchTo(caller);
	}

	call = SRF_PERCALL_SETUP();
	if (call->call_cntr == call->max_calls)
		SRF_RETURN_DONE(call);
	filter = call->user_fctx;
	layer = &filter->layers[call->call_cntr];
	bits = bloomexp_sizing_bits(&layer->bits.shape);

	values[LAYER] = Int32GetDatum((int32) call->call_cntr + 1);
	values[ITEMS] = Int64GetDatum(layer->items);
	values[CAPACITY] = Int64GetDatum(layer->capacity);
	values[FPR] = Float8GetDatum(bloomexp_sizing_expected_fpr(&layer->bits.shape, layer->capacity));
	values[FPR_NOW] = Float8GetDatum(bloomexp_filter_layer_fpr(layer));
	values[BITS] = Int64GetDatum(bits);
	values[BITS_SET] = Int64GetDatum(layer->bits_set);
	values[FILL] = Float8GetDatum((double) layer->bits_set / bits);
	values[HASHES] = Int32GetDatum(layer->bits.shape.hashes);
	values[BLOCKS] = Int32GetDatum(layer->bits.shape.blocks);
	values[BYTES] = Int64GetDatum(bloomexp_layout_layer_size(layer));
	values[SLICE] = Int64GetDatum(layer->slice);
	nulls[SLICE] = !filter->windowed;
	SRF_RETURN_NEXT(call, HeapTupleGetDatum(heap_form_tuple(call->tuple_desc, values, nulls)));
}
