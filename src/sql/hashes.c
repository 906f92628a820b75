/*-------------------------------------------------------------------------
 *
 * hashes.c
 *	  SQL functions for the hashes of items.
 *
 * A filter does not store items, only bits that follow from their hashes.  So a row of a feed
 * keeps its newest items as hashes, and adds many of them to its filter at a time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "kernel/interrupt.h"
#include "sql/arguments.h"
#include "sql/hash_set.h"
#include "sql/hashes.h"
#include "sql/item.h"
#include "value/filter.h"
#include "value/layout.h"
#include "value/window.h"

/* Return an array of n hashes, of type bigint[]. */
ArrayType *
bloomexp_hashes_to_array(const uint64 *hashes, int n)
{
	Size		size = ARR_OVERHEAD_NONULLS(1) + n * sizeof(uint64);
	ArrayType  *array;

	if (n == 0)
		return construct_empty_array(INT8OID);
	if (!AllocSizeIsValid(size))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many items for an array of hashes"),
				 errdetail("There are %d items; an array must be smaller than 1 GB.", n)));
	array = palloc(size);
	SET_VARSIZE(array, size);
	array->ndim = 1;
	array->dataoffset = 0;
	array->elemtype = INT8OID;
	*ARR_DIMS(array) = n;
	*ARR_LBOUND(array) = 1;
	memcpy(ARR_DATA_PTR(array), hashes, n * sizeof(uint64));
	return array;
}

/* bloom_hashes(items) */
PG_FUNCTION_INFO_V1(bloomexp_hashes);
Datum
bloomexp_hashes(PG_FUNCTION_ARGS)
{
	BloomKind	kind;
	uint64	   *hashes;
	int			n;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	hashes = bloomexp_item_hash_array(bloomexp_arguments_array(fcinfo, 0), PG_GET_COLLATION(),
									  &kind, &n);
	PG_RETURN_ARRAYTYPE_P(bloomexp_hashes_to_array(hashes, n));
}

/* bloomexp.hash(item) */
PG_FUNCTION_INFO_V1(bloomexp_hash);
Datum
bloomexp_hash(PG_FUNCTION_ARGS)
{
	const BloomItemType *type = bloomexp_arguments_item_type(fcinfo, 0);

	PG_RETURN_INT64((int64) bloomexp_item_hash(type, PG_GETARG_DATUM(0)));
}

/* Return the elements of an array, in the order of unnest(), as an array of one dimension. */
static ArrayType *
flat_array(ArrayType *array)
{
	Datum	   *elements;
	bool	   *nulls;
	int16		length;
	bool		by_value;
	char		alignment;
	int			dims[1];
	int			lower_bounds[1] = {1};

	if (ARR_NDIM(array) <= 1)
		return array;
	get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &alignment);
	deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, alignment, &elements, &nulls,
					  dims);
	return construct_md_array(elements, nulls, 1, dims, lower_bounds, ARR_ELEMTYPE(array), length,
							  by_value, alignment);
}

/* bloomexp.hashes_with_nulls(items) */
PG_FUNCTION_INFO_V1(bloomexp_hashes_with_nulls);
Datum
bloomexp_hashes_with_nulls(PG_FUNCTION_ARGS)
{
	ArrayType  *items = flat_array(bloomexp_arguments_array(fcinfo, 0));
	BloomKind	kind;
	uint64	   *hashes;
	Datum	   *elements;
	bool	   *nulls;
	int			nhashes;
	int			nitems;
	int			dims[1];
	int			lower_bounds[1] = {1};

	hashes = bloomexp_item_hash_array(items, PG_GET_COLLATION(), &kind, &nhashes);
	nitems = ArrayGetNItems(ARR_NDIM(items), ARR_DIMS(items));
	if (nhashes == nitems)
		PG_RETURN_ARRAYTYPE_P(bloomexp_hashes_to_array(hashes, nhashes));

	elements = palloc_extended(nitems * sizeof(Datum), MCXT_ALLOC_HUGE);
	nulls = palloc_extended(nitems * sizeof(bool), MCXT_ALLOC_HUGE);
	for (int i = 0; i < nitems; i++)
	{
		if (i % BLOOMEXP_INTERRUPT_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		nulls[i] = bloomexp_item_is_null(items, i);
		elements[i] = nulls[i] ? (Datum) 0 : Int64GetDatum((int64) *hashes++);
	}
	dims[0] = nitems;
	PG_RETURN_ARRAYTYPE_P(construct_md_array(elements, nulls, 1, dims, lower_bounds, INT8OID,
											 sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

/* bloomexp.new_hashes(hashes, known) */
PG_FUNCTION_INFO_V1(bloomexp_new_hashes);
Datum
bloomexp_new_hashes(PG_FUNCTION_ARGS)
{
	const uint64 *hashes;
	const uint64 *known;
	uint64	   *found;
	int			nhashes;
	int			nknown;

	hashes = bloomexp_arguments_hashes(fcinfo, 0, &nhashes);
	known = bloomexp_arguments_hashes(fcinfo, 1, &nknown);
	found = palloc_extended(Max(nhashes, 1) * sizeof(uint64), MCXT_ALLOC_HUGE);
	nhashes = bloomexp_hash_set_find_new(hashes, nhashes, known, nknown, found);
	PG_RETURN_ARRAYTYPE_P(bloomexp_hashes_to_array(found, nhashes));
}

/* bloom_add_hashes(filter, kind, hashes) */
PG_FUNCTION_INFO_V1(bloomexp_add_hashes);
Datum
bloomexp_add_hashes(PG_FUNCTION_ARGS)
{
	BloomFilter space;
	BloomFilter *filter;
	BloomKind	kind;
	const uint64 *hashes;
	uint64	   *copies;
	struct varlena *value;
	int			n;

	bloomexp_arguments_require(fcinfo, 1, "kind");
	kind = bloomexp_arguments_kind(PG_GETARG_DATUM(1));
	if (PG_ARGISNULL(2))
		return bloomexp_arguments_return_untouched(fcinfo);
	filter = bloomexp_arguments_filter(fcinfo, &space);
	hashes = bloomexp_arguments_hashes(fcinfo, 2, &n);
	copies = palloc_extended(Max(n, 1) * sizeof(uint64), MCXT_ALLOC_HUGE);
	memcpy(copies, hashes, n * sizeof(uint64));
	value = bloomexp_filter_add(filter, kind, copies, n);
	return bloomexp_arguments_return_changed(fcinfo, value);
}

/* bloom_add_hashes_at(filter, kind, hashes, shown_at, final) */
PG_FUNCTION_INFO_V1(bloomexp_add_hashes_at);
Datum
bloomexp_add_hashes_at(PG_FUNCTION_ARGS)
{
	BloomFilter filter;
	BloomKind	kind;
	const uint64 *hashes;
	struct varlena *value;
	int64		shown_at;
	int			n;
	int			flags = BLOOMEXP_ADD_DROP_OLD;

	bloomexp_arguments_open_windowed(fcinfo, &filter, "bloom_add_hashes_at()");
	bloomexp_arguments_require(fcinfo, 1, "kind");
	kind = bloomexp_arguments_kind(PG_GETARG_DATUM(1));
	if (PG_ARGISNULL(2))
		return bloomexp_arguments_return_untouched(fcinfo);
	hashes = bloomexp_arguments_hashes(fcinfo, 2, &n);
	shown_at = bloomexp_arguments_time(fcinfo->args[3], "shown_at");
	bloomexp_arguments_require(fcinfo, 4, "final");
	if (PG_GETARG_BOOL(4))
		flags |= BLOOMEXP_ADD_FINAL;
	value = bloomexp_window_add_hashes(&filter, kind, hashes, n, shown_at, flags);
	return bloomexp_arguments_return_changed(fcinfo, value);
}
