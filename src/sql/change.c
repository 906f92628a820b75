/*-------------------------------------------------------------------------
 *
 * change.c
 *	  SQL functions that make and change filters.
 *
 * A NULL filter is an empty one, so a user who was never shown anything needs no row.  But a
 * windowed filter must exist, because its width is needed.  A NULL item is ignored.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "kernel/interrupt.h"
#include "sql/arguments.h"
#include "sql/item.h"
#include "value/filter.h"
#include "value/layout.h"
#include "value/union.h"
#include "value/window.h"

/* bloom_new(capacity, fpr, counting) */
PG_FUNCTION_INFO_V1(bloomexp_new);
Datum
bloomexp_new(PG_FUNCTION_ARGS)
{
	BloomFilter filter;

	bloomexp_arguments_require(fcinfo, 0, "capacity");
	bloomexp_arguments_require(fcinfo, 1, "fpr");
	bloomexp_arguments_require(fcinfo, 2, "counting");
	bloomexp_filter_init(&filter, PG_GETARG_INT64(0), PG_GETARG_FLOAT8(1), PG_GETARG_BOOL(2));
	PG_RETURN_POINTER(bloomexp_layout_form(&filter));
}

/* Return the hash of the item in argument 1.  Sets *kind to its kind. */
static uint64
hash_argument(FunctionCallInfo fcinfo, BloomKind *kind)
{
	const BloomItemType *type = bloomexp_arguments_item_type(fcinfo, 1);

	*kind = type->kind;
	return bloomexp_item_hash(type, PG_GETARG_DATUM(1));
}

/* Return the hashes of the items in the array of argument 1.  Sets *kind and their number, *n. */
static uint64 *
hash_array_argument(FunctionCallInfo fcinfo, BloomKind *kind, int *n)
{
	return bloomexp_item_hash_array(bloomexp_arguments_array(fcinfo, 1), PG_GET_COLLATION(),
									kind, n);
}

/* Return the filter of argument 0 with n hashes added. */
static Datum
add(FunctionCallInfo fcinfo, BloomKind kind, uint64 *hashes, int n)
{
	BloomFilter space;
	BloomFilter *filter = bloomexp_arguments_filter(fcinfo, &space);

	return bloomexp_arguments_return_changed(fcinfo,
											 bloomexp_filter_add(filter, kind, hashes, n));
}

/* bloom_add(filter, item) */
PG_FUNCTION_INFO_V1(bloomexp_add);
Datum
bloomexp_add(PG_FUNCTION_ARGS)
{
	BloomKind	kind;
	uint64		hash;

	if (PG_ARGISNULL(1))
		return bloomexp_arguments_return_untouched(fcinfo);
	hash = hash_argument(fcinfo, &kind);
	return add(fcinfo, kind, &hash, 1);
}

/* bloom_add(filter, items) */
PG_FUNCTION_INFO_V1(bloomexp_add_array);
Datum
bloomexp_add_array(PG_FUNCTION_ARGS)
{
	BloomKind	kind;
	uint64	   *hashes;
	int			n;

	if (PG_ARGISNULL(1))
		return bloomexp_arguments_return_untouched(fcinfo);
	hashes = hash_array_argument(fcinfo, &kind, &n);
	return add(fcinfo, kind, hashes, n);
}

/* Return the filter of argument 0, which is not NULL, with n hashes removed. */
static Datum
remove_hashes(FunctionCallInfo fcinfo, BloomKind kind, uint64 *hashes, int n)
{
	BloomFilter filter;

	bloomexp_layout_open(&filter, PG_GETARG_BLOOM_PP(0));
	return bloomexp_arguments_return_changed(fcinfo,
											 bloomexp_filter_remove(&filter, kind, hashes, n));
}

/* bloom_remove(filter, item) */
PG_FUNCTION_INFO_V1(bloomexp_remove);
Datum
bloomexp_remove(PG_FUNCTION_ARGS)
{
	BloomKind	kind;
	uint64		hash;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		return bloomexp_arguments_return_untouched(fcinfo);
	hash = hash_argument(fcinfo, &kind);
	return remove_hashes(fcinfo, kind, &hash, 1);
}

/* bloom_remove(filter, items) */
PG_FUNCTION_INFO_V1(bloomexp_remove_array);
Datum
bloomexp_remove_array(PG_FUNCTION_ARGS)
{
	BloomKind	kind;
	uint64	   *hashes;
	int			n;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		return bloomexp_arguments_return_untouched(fcinfo);
	hashes = hash_array_argument(fcinfo, &kind, &n);
	return remove_hashes(fcinfo, kind, hashes, n);
}

/* bloom_with_fpr(filter, fpr) */
PG_FUNCTION_INFO_V1(bloomexp_with_fpr);
Datum
bloomexp_with_fpr(PG_FUNCTION_ARGS)
{
	BloomFilter filter;
	struct varlena *value;

	bloomexp_arguments_require(fcinfo, 1, "fpr");
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	bloomexp_layout_open(&filter, PG_GETARG_BLOOM_PP(0));
	value = bloomexp_filter_with_fpr(&filter, PG_GETARG_FLOAT8(1));
	return bloomexp_arguments_return_changed(fcinfo, value);
}

/*
 * bloom_union(a, b), a | b
 *
 * Must not use fn_expr or fn_extra: a remote node may call this without them.
 */
PG_FUNCTION_INFO_V1(bloomexp_union);
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
PG_FUNCTION_INFO_V1(bloomexp_window);
Datum
bloomexp_window(PG_FUNCTION_ARGS)
{
	BloomFilter filter;

	bloomexp_arguments_require(fcinfo, 0, "width");
	bloomexp_arguments_require(fcinfo, 1, "slices");
	bloomexp_arguments_require(fcinfo, 2, "fpr");
	bloomexp_window_init(&filter, bloomexp_arguments_width(PG_GETARG_INTERVAL_P(0)),
						 PG_GETARG_INT32(1), PG_GETARG_FLOAT8(2));
	PG_RETURN_POINTER(bloomexp_layout_form(&filter));
}

/* bloom_add_at(filter, item, shown_at) */
PG_FUNCTION_INFO_V1(bloomexp_add_at);
Datum
bloomexp_add_at(PG_FUNCTION_ARGS)
{
	BloomFilter filter;
	BloomKind	kind;
	uint64		hash;
	int64		shown_at;
	struct varlena *value;

	bloomexp_arguments_open_windowed(fcinfo, &filter, "bloom_add_at()");
	if (PG_ARGISNULL(1))
		return bloomexp_arguments_return_untouched(fcinfo);
	hash = hash_argument(fcinfo, &kind);
	shown_at = bloomexp_arguments_time(fcinfo->args[2], "shown_at");
	value = bloomexp_window_add_hashes(&filter, kind, &hash, 1, shown_at,
									   BLOOMEXP_ADD_DROP_OLD);
	return bloomexp_arguments_return_changed(fcinfo, value);
}

/* bloom_add_at(filter, items, shown_at) */
PG_FUNCTION_INFO_V1(bloomexp_add_at_array);
Datum
bloomexp_add_at_array(PG_FUNCTION_ARGS)
{
	BloomFilter filter;
	BloomKind	kind;
	ArrayType  *items;
	ArrayType  *shown_at;
	uint64	   *hashes;
	ArrayIterator times;
	BloomExposure *exposures;
	struct varlena *value;
	int64		length;
	int			nhashes;
	int			nitems;
	int			ntimes;
	int			n = 0;

	bloomexp_arguments_open_windowed(fcinfo, &filter, "bloom_add_at()");
	if (PG_ARGISNULL(1))
		return bloomexp_arguments_return_untouched(fcinfo);
	bloomexp_arguments_require(fcinfo, 2, "shown_at");

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
		if (time >= filter.expired_before)
		{
			exposures[n].hash = *hashes;
			exposures[n].slice = bloomexp_window_slice_of(time, length);
			n++;
		}
		hashes++;
	}
	n = bloomexp_window_keep_newest(exposures, n);
	value = bloomexp_window_add(&filter, kind, exposures, n, BLOOMEXP_ADD_DROP_OLD);
	return bloomexp_arguments_return_changed(fcinfo, value);
}

/* bloom_expire(filter, at) */
PG_FUNCTION_INFO_V1(bloomexp_expire);
Datum
bloomexp_expire(PG_FUNCTION_ARGS)
{
	BloomFilter filter;
	int64		at = bloomexp_arguments_time(fcinfo->args[1], "at");

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	bloomexp_arguments_open_windowed(fcinfo, &filter, "bloom_expire()");
	return bloomexp_arguments_return_changed(fcinfo, bloomexp_window_expire(&filter, at));
}
