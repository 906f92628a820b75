/*-------------------------------------------------------------------------
 *
 * change.c
 *	  SQL functions that make and change filters, those with a window too.
 *
 * A NULL filter is an empty one, so that a user who was never shown anything needs no
 * row, unless a window is needed; and a NULL item is no item.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "sql/arguments.h"
#include "sql/item.h"
#include "value/filter.h"
#include "value/layout.h"
#include "value/union.h"
#include "value/window.h"

PG_FUNCTION_INFO_V1(bloomexp_new);
PG_FUNCTION_INFO_V1(bloomexp_with_fpr);
PG_FUNCTION_INFO_V1(bloomexp_union);
PG_FUNCTION_INFO_V1(bloomexp_window);
PG_FUNCTION_INFO_V1(bloomexp_window_part);
PG_FUNCTION_INFO_V1(bloomexp_add_at);
PG_FUNCTION_INFO_V1(bloomexp_add_at_array);
PG_FUNCTION_INFO_V1(bloomexp_expire);

/* bloom_new(capacity, fpr, counting) */
Datum
bloomexp_new(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"capacity", "fpr", "counting"};
	BloomFilter filter;

	bloomexp_arguments_require_not_null(fcinfo, 0, names, lengthof(names));
	bloomexp_filter_init(&filter, PG_GETARG_INT64(0), PG_GETARG_FLOAT8(1), PG_GETARG_BOOL(2));
	PG_RETURN_POINTER(bloomexp_layout_form(&filter));
}

/* A change to a filter by some hashes: bloomexp_filter_add or bloomexp_filter_remove. */
typedef struct varlena *(*Change) (BloomFilter *filter, BloomKind kind,
								  uint64 *hashes, int n);

/*
 * Change the filter of argument 0 by the item, or by the array of items, of argument 1.
 */
static Datum
change_filter(FunctionCallInfo fcinfo, Change change, bool by_array)
{
	BloomFilter filter;
	BloomKind	kind;
	uint64		hash;
	uint64	   *hashes = &hash;
	int			n = 1;

	/* nothing can be removed from no filter */
	if (PG_ARGISNULL(1) || (PG_ARGISNULL(0) && change == bloomexp_filter_remove))
		return bloomexp_arguments_return_untouched(fcinfo);
	if (!PG_ARGISNULL(0))
		bloomexp_layout_open(&filter, PG_GETARG_BLOOM_PP(0));
	if (by_array)
		hashes = bloomexp_item_hash_array(bloomexp_arguments_array(fcinfo, 1), PG_GET_COLLATION(), &kind, &n);
	else
	{
		const BloomItemType *type = bloomexp_arguments_item_type(fcinfo);

		kind = type->kind;
		hash = bloomexp_item_hash(type, PG_GETARG_DATUM(1));
	}
	return bloomexp_arguments_return_changed(fcinfo, change(PG_ARGISNULL(0) ? NULL : &filter, kind, hashes, n));
}

/* Define a function that changes a filter by an item, or by an array of items. */
#define CHANGES(name, change, by_array) \
	PG_FUNCTION_INFO_V1(name); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		return change_filter(fcinfo, change, by_array); \
	} \
	extern Datum name(PG_FUNCTION_ARGS)

CHANGES(bloomexp_add, bloomexp_filter_add, false);
CHANGES(bloomexp_add_array, bloomexp_filter_add, true);
CHANGES(bloomexp_remove, bloomexp_filter_remove, false);
CHANGES(bloomexp_remove_array, bloomexp_filter_remove, true);

/*
 * bloom_with_fpr(filter, fpr)
 */
Datum
bloomexp_with_fpr(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"fpr"};
	BloomFilter filter;
	double		before;

	bloomexp_arguments_require_not_null(fcinfo, 1, names, lengthof(names));
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	bloomexp_layout_open(&filter, PG_GETARG_BLOOM_PP(0));
	before = filter.fpr;
	bloomexp_window_set_fpr(&filter, PG_GETARG_FLOAT8(1));
	if (filter.fpr == before)
		return bloomexp_arguments_return_untouched(fcinfo);
	PG_RETURN_POINTER(bloomexp_layout_form(&filter));
}

/*
 * bloom_union(a, b), a | b
 *
 * It needs nothing of the call site, which a remote node may not have.
 */
Datum
bloomexp_union(PG_FUNCTION_ARGS)
{
	BloomFilter a;
	BloomFilter b;

	if (PG_ARGISNULL(1))
		return bloomexp_arguments_return_untouched(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_DATUM(PG_GETARG_DATUM(1));
	bloomexp_layout_open(&a, PG_GETARG_BLOOM_PP(0));
	bloomexp_layout_open(&b, PG_GETARG_BLOOM_PP(1));
	PG_RETURN_POINTER(bloomexp_union_form(&a, &b));
}

/* bloom_window(width, slices, fpr) */
Datum
bloomexp_window(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"width", "slices", "fpr"};
	BloomFilter filter;

	bloomexp_arguments_require_not_null(fcinfo, 0, names, lengthof(names));
	bloomexp_window_init(&filter, bloomexp_arguments_width(PG_GETARG_INTERVAL_P(0)), PG_GETARG_INT32(1),
						 PG_GETARG_FLOAT8(2));
	PG_RETURN_POINTER(bloomexp_layout_form(&filter));
}

/* Open the windowed filter of argument 0 of `function`, or raise an error. */
static void
open_windowed(FunctionCallInfo fcinfo, BloomFilter *filter, const char *function)
{
	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("filter must not be null"),
				 errdetail("The window width is taken from the existing filter."),
				 errhint("Make the filter with bloom_window().")));
	bloomexp_layout_open(filter, PG_GETARG_BLOOM_PP(0));
	if (!filter->windowed)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s needs a windowed filter", function),
				 errdetail("The items of this filter have no times."),
				 errhint("Make the filter with bloom_window() or bloom_window_agg().")));
}

/* bloom_add_at(filter, item, shown_at) */
Datum
bloomexp_add_at(PG_FUNCTION_ARGS)
{
	const BloomItemType *type;
	BloomFilter filter;
	BloomExposure exposure;
	int64		shown_at;

	open_windowed(fcinfo, &filter, "bloom_add_at()");
	if (PG_ARGISNULL(1))
		return bloomexp_arguments_return_untouched(fcinfo);
	type = bloomexp_arguments_item_type(fcinfo);
	shown_at = bloomexp_arguments_time(fcinfo->args[2], "shown_at");
	exposure.hash = bloomexp_item_hash(type, PG_GETARG_DATUM(1));
	exposure.slice = bloomexp_window_slice_of(shown_at, bloomexp_window_slice_length(filter.width, filter.slices));
	return bloomexp_arguments_return_changed(fcinfo, bloomexp_window_add(&filter, type->kind, &exposure,
																		 shown_at >= filter.expired_before, false));
}

/* bloom_add_at(filter, items, shown_at) */
Datum
bloomexp_add_at_array(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"shown_at"};
	BloomFilter filter;
	BloomKind	kind;
	ArrayType  *items;
	ArrayType  *shown_at;
	uint64	   *hashes;
	ArrayIterator times;
	BloomExposure *exposures;
	int64		length;
	int			nhashes;
	int			nitems;
	int			ntimes;
	int			n = 0;

	open_windowed(fcinfo, &filter, "bloom_add_at()");
	if (PG_ARGISNULL(1))
		return bloomexp_arguments_return_untouched(fcinfo);
	bloomexp_arguments_require_not_null(fcinfo, 2, names, lengthof(names));

	items = bloomexp_arguments_array(fcinfo, 1);
	nitems = ArrayGetNItems(ARR_NDIM(items), ARR_DIMS(items));
	hashes = bloomexp_item_hash_array(items, PG_GET_COLLATION(), &kind, &nhashes);
	shown_at = bloomexp_arguments_array(fcinfo, 2);
	bloomexp_item_check_dimensions(shown_at, "shown_at");
	ntimes = ArrayGetNItems(ARR_NDIM(shown_at), ARR_DIMS(shown_at));
	if (ntimes != nitems)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("items and shown_at must be arrays of the same length"),
				 errdetail("The lengths are %d and %d.", nitems, ntimes)));

	exposures = palloc_extended(Max(nhashes, 1) * sizeof(BloomExposure), MCXT_ALLOC_HUGE);
	times = array_create_iterator(shown_at, 0, NULL);
	length = bloomexp_window_slice_length(filter.width, filter.slices);
	for (int i = 0; i < nitems; i++)
	{
		NullableDatum next = {0};
		int64		time;

		if (i % BLOOMEXP_INTERRUPT_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		array_iterate(times, &next.value, &next.isnull);
		if (bloomexp_item_is_null(items, i))
			continue;
		time = bloomexp_arguments_time(next, "shown_at");
		exposures[n].hash = *hashes++;
		exposures[n].slice = bloomexp_window_slice_of(time, length);
		n += time >= filter.expired_before;
	}
	n = bloomexp_window_keep_newest(exposures, n);
	return bloomexp_arguments_return_changed(fcinfo, bloomexp_window_add(&filter, kind, exposures, n, false));
}

/* bloom_expire(filter, at) */
Datum
bloomexp_expire(PG_FUNCTION_ARGS)
{
	BloomFilter filter;
	int64		at = bloomexp_arguments_time(fcinfo->args[1], "at");

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	open_windowed(fcinfo, &filter, "bloom_expire()");
	return bloomexp_arguments_return_changed(fcinfo, bloomexp_window_expire(&filter, at));
}

/* bloom_window(filter, since, upto, fpr) */
Datum
bloomexp_window_part(PG_FUNCTION_ARGS)
{
	BloomFilter filter;
	uint32		first;
	uint32		end;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (PG_ARGISNULL(1) && PG_ARGISNULL(2))
		bloomexp_layout_open(&filter, PG_GETARG_BLOOM_PP(0));	/* a plain one, too: all of it */
	else
		open_windowed(fcinfo, &filter, "bloom_window()");
	if (!PG_ARGISNULL(3))
		bloomexp_window_set_fpr(&filter, PG_GETARG_FLOAT8(3));
	first = PG_ARGISNULL(1) ? 0 : bloomexp_window_layers_before(&filter, PG_GETARG_TIMESTAMPTZ(1));
	end = PG_ARGISNULL(2) ? filter.nlayers : bloomexp_window_layers_before(&filter, PG_GETARG_TIMESTAMPTZ(2));
	PG_RETURN_POINTER(bloomexp_window_cut(&filter, first, Max(first, end)));
}
