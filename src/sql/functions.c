/*-------------------------------------------------------------------------
 *
 * functions.c
 *	  SQL functions that make, change, ask and compare filters.
 *
 * Everywhere a NULL filter is an empty one, so that a user who was never shown
 * anything needs no row; and a NULL item is no item.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/detoast.h"
#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "funcapi.h"

#include "sql/arguments.h"
#include "value/union.h"

PG_FUNCTION_INFO_V1(bloomexp_new);
PG_FUNCTION_INFO_V1(bloomexp_sizing);
PG_FUNCTION_INFO_V1(bloomexp_add_array);
PG_FUNCTION_INFO_V1(bloomexp_remove_array);
PG_FUNCTION_INFO_V1(bloomexp_contains_any);
PG_FUNCTION_INFO_V1(bloomexp_contains_all);
PG_FUNCTION_INFO_V1(bloomexp_contains_each);
PG_FUNCTION_INFO_V1(bloomexp_union);
PG_FUNCTION_INFO_V1(bloomexp_cardinality);
PG_FUNCTION_INFO_V1(bloomexp_fpr);
PG_FUNCTION_INFO_V1(bloomexp_eq);
PG_FUNCTION_INFO_V1(bloomexp_ne);
PG_FUNCTION_INFO_V1(bloomexp_hash);
PG_FUNCTION_INFO_V1(bloomexp_hash_extended);

/* bloom_new(capacity, fpr, seed, counting) */
Datum
bloomexp_new(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"capacity", "fpr", "seed", "counting"};
	BloomFilter filter;

	bloomexp_arguments_require(fcinfo, 0, names, lengthof(names));
	bloomexp_filter_init(&filter, PG_GETARG_INT64(0), PG_GETARG_FLOAT8(1),
				  (uint32) PG_GETARG_INT32(2), PG_GETARG_BOOL(3));
	PG_RETURN_POINTER(bloomexp_layout_form(&filter));
}

/* bloom_sizing(capacity, fpr) */
Datum
bloomexp_sizing(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"capacity", "fpr"};
	TupleDesc	tupdesc;
	BloomFilter filter;
	const BloomShape *shape = &filter.few[0].bits.shape;
	Datum		values[4];
	bool		nulls[4] = {false};

	bloomexp_arguments_require(fcinfo, 0, names, lengthof(names));
	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");

	bloomexp_filter_init(&filter, PG_GETARG_INT64(0), PG_GETARG_FLOAT8(1), 0, false);
	values[0] = Int64GetDatum((int64) bloomexp_sizing_bits(shape));
	values[1] = Int32GetDatum(shape->hashes);
	values[2] = Int64GetDatum(bloomexp_layout_size(&filter));
	values[3] = Float8GetDatum(bloomexp_sizing_expected_fpr(shape, filter.few[0].capacity));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc), values, nulls)));
}

/*
 * The filter of argument 0, unpacked to where `filter` points, or NULL where
 * there is none yet.
 */
static BloomFilter *
open_argument(FunctionCallInfo fcinfo, BloomFilter *filter)
{
	if (PG_ARGISNULL(0))
		return NULL;
	bloomexp_layout_open(filter, PG_GETARG_BLOOM_PP(0));
	return filter;
}

/* The seed of a filter that may be none yet. */
static uint32
seed_of(const BloomFilter *filter)
{
	return filter ? filter->seed : 0;
}

/* A change to a filter by some hashes: bloomexp_filter_add or bloomexp_filter_remove. */
typedef struct varlena *(*Change) (BloomFilter *filter, BloomKind kind,
								   uint64 *hashes, int n);

/* Change the filter of argument 0 by the item of argument 1. */
static Datum
change_by_item(FunctionCallInfo fcinfo, BloomKind kind, Change change)
{
	BloomFilter space;
	BloomFilter *filter;
	uint64		hash;

	if (PG_ARGISNULL(1))
		return bloomexp_arguments_return_untouched(fcinfo);
	bloomexp_arguments_require_scalar(fcinfo, 1, kind);
	filter = open_argument(fcinfo, &space);
	hash = bloomexp_arguments_hash(fcinfo, 1, kind, seed_of(filter));
	return bloomexp_arguments_return_changed(fcinfo, change(filter, kind, &hash, 1));
}

/* bloom_add(filter, item) */
static Datum
add(FunctionCallInfo fcinfo, BloomKind kind)
{
	return change_by_item(fcinfo, kind, bloomexp_filter_add);
}

/* bloom_remove(filter, item) */
static Datum
remove_item(FunctionCallInfo fcinfo, BloomKind kind)
{
	if (PG_ARGISNULL(0))
	{
		if (!PG_ARGISNULL(1))
			bloomexp_arguments_require_scalar(fcinfo, 1, kind);
		PG_RETURN_NULL();
	}
	return change_by_item(fcinfo, kind, bloomexp_filter_remove);
}

BLOOMEXP_FUNCTION_PER_KIND(add);
BLOOMEXP_FUNCTION_PER_KIND(remove_item);

/* Change the filter of argument 0 by the array of items of argument 1. */
static Datum
change_by_array(FunctionCallInfo fcinfo, Change change)
{
	BloomFilter space;
	BloomFilter *filter;
	BloomKind	kind;
	int			n;
	uint64	   *hashes;

	if (PG_ARGISNULL(1))
		return bloomexp_arguments_return_untouched(fcinfo);
	filter = open_argument(fcinfo, &space);
	hashes = bloomexp_item_hash_array(bloomexp_arguments_array(fcinfo, 1), PG_GET_COLLATION(),
								 seed_of(filter), &kind, &n);
	return bloomexp_arguments_return_changed(fcinfo, change(filter, kind, hashes, n));
}

/* bloom_add(filter, items anyarray) */
Datum
bloomexp_add_array(PG_FUNCTION_ARGS)
{
	return change_by_array(fcinfo, bloomexp_filter_add);
}

/* bloom_remove(filter, items anyarray) */
Datum
bloomexp_remove_array(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	return change_by_array(fcinfo, bloomexp_filter_remove);
}

/* Whether the filter of one argument contains the item of another. */
static Datum
contains_argument(FunctionCallInfo fcinfo, int filter_arg, int item_arg, BloomKind kind)
{
	if (PG_ARGISNULL(item_arg))
		PG_RETURN_NULL();
	bloomexp_arguments_require_scalar(fcinfo, item_arg, kind);
	if (PG_ARGISNULL(filter_arg))
		PG_RETURN_BOOL(false);
	PG_RETURN_BOOL(bloomexp_stored_contains(fcinfo, filter_arg, item_arg, kind));
}

/* bloom_contains(filter, item), filter @> item */
static Datum
contains(FunctionCallInfo fcinfo, BloomKind kind)
{
	return contains_argument(fcinfo, 0, 1, kind);
}

/* item <@ filter */
static Datum
contained(FunctionCallInfo fcinfo, BloomKind kind)
{
	return contains_argument(fcinfo, 1, 0, kind);
}

BLOOMEXP_FUNCTION_PER_KIND(contains);
BLOOMEXP_FUNCTION_PER_KIND(contained);

/*
 * For each item of the array of argument 1 that is not NULL, in order, whether
 * the filter of argument 0 contains it.
 */
static bool *
contained_items(FunctionCallInfo fcinfo, ArrayType *array, int *n)
{
	int			nelements = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	BloomStored argument;
	uint32		seed = 0;
	BloomKind	kind;
	uint64	   *hashes;
	bool	   *contained = palloc0(Max(nelements, 1));

	if (!PG_ARGISNULL(0))
	{
		bloomexp_stored_open(fcinfo, 0, nelements, &argument);
		seed = argument.filter.seed;
	}
	hashes = bloomexp_item_hash_array(array, PG_GET_COLLATION(), seed, &kind, n);
	if (PG_ARGISNULL(0))
		return contained;

	bloomexp_filter_require_kind(&argument.filter, kind);
	memset(contained, true, *n);
	for (int from = 0; from < *n; from += BLOOMEXP_BATCH)
	{
		int			picks[BLOOMEXP_BATCH];
		int			misses = bloomexp_probe_pick_all(picks, *n - from);

		CHECK_FOR_INTERRUPTS();
		misses = bloomexp_stored_misses(&argument, hashes + from, picks, misses);
		for (int i = 0; i < misses; i++)
			contained[from + picks[i]] = false;
	}
	return contained;
}

/* bloom_contains_any(filter, items) */
Datum
bloomexp_contains_any(PG_FUNCTION_ARGS)
{
	int			n;
	bool	   *contained;

	if (PG_ARGISNULL(1))
		PG_RETURN_NULL();
	contained = contained_items(fcinfo, bloomexp_arguments_array(fcinfo, 1), &n);
	PG_RETURN_BOOL(memchr(contained, true, n) != NULL);
}

/* bloom_contains_all(filter, items); a NULL item is not contained */
Datum
bloomexp_contains_all(PG_FUNCTION_ARGS)
{
	ArrayType  *array;
	int			n;
	bool	   *contained;

	if (PG_ARGISNULL(1))
		PG_RETURN_NULL();
	array = bloomexp_arguments_array(fcinfo, 1);
	contained = contained_items(fcinfo, array, &n);
	PG_RETURN_BOOL(n == ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) &&
				   memchr(contained, false, n) == NULL);
}

/* bloom_contains_each(filter, items): NULL for a NULL item */
Datum
bloomexp_contains_each(PG_FUNCTION_ARGS)
{
	ArrayType  *array;
	int			nelements;
	int			n;
	int			seen = 0;
	int			lower_bound;
	bool	   *contained;
	Datum	   *values;
	bool	   *nulls;

	if (PG_ARGISNULL(1))
		PG_RETURN_NULL();
	array = bloomexp_arguments_array(fcinfo, 1);
	contained = contained_items(fcinfo, array, &n);
	nelements = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	if (nelements == 0)
		PG_RETURN_ARRAYTYPE_P(construct_empty_array(BOOLOID));

	lower_bound = ARR_LBOUND(array)[0];
	values = palloc_extended(nelements * sizeof(Datum), MCXT_ALLOC_HUGE);
	nulls = palloc_extended(nelements * sizeof(bool), MCXT_ALLOC_HUGE);
	for (int i = 0; i < nelements; i++)
	{
		nulls[i] = bloomexp_item_is_null(array, i);
		values[i] = BoolGetDatum(!nulls[i] && contained[seen]);
		seen += !nulls[i];
	}
	PG_RETURN_ARRAYTYPE_P(construct_md_array(values, nulls, 1, &nelements, &lower_bound,
											 BOOLOID, sizeof(bool), true, TYPALIGN_CHAR));
}

/*
 * bloom_union(a, b), a | b
 *
 * Also the transition and the combine function of bloom_union_agg(): so it
 * needs nothing of the call site, which a remote node may not have.
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
	PG_RETURN_POINTER(bloomexp_union_make(&a, &b));
}

/* bloom_cardinality(filter) */
Datum
bloomexp_cardinality(PG_FUNCTION_ARGS)
{
	BloomFilter filter;
	double		items;

	if (PG_ARGISNULL(0))
		PG_RETURN_INT64(0);
	bloomexp_stored_headers(fcinfo, 0, &filter);
	items = bloomexp_filter_items(&filter);
	/* an item whose probes meet in one place looks like less than one */
	PG_RETURN_INT64(items > 0.0 ? (int64) rint(Max(items, 1.0)) : 0);
}

/* bloom_fpr(filter) */
Datum
bloomexp_fpr(PG_FUNCTION_ARGS)
{
	BloomFilter filter;

	if (PG_ARGISNULL(0))
		PG_RETURN_FLOAT8(0.0);
	bloomexp_stored_headers(fcinfo, 0, &filter);
	PG_RETURN_FLOAT8(bloomexp_filter_fpr(&filter));
}

/* Whether two values have the same bytes. */
static bool
same_bytes(FunctionCallInfo fcinfo)
{
	Size		size = toast_raw_datum_size(PG_GETARG_DATUM(0));
	struct varlena *a;
	struct varlena *b;
	bool		same;

	if (size != toast_raw_datum_size(PG_GETARG_DATUM(1)))
		return false;
	a = PG_GETARG_BLOOM_PP(0);
	b = PG_GETARG_BLOOM_PP(1);
	same = memcmp(VARDATA_ANY(a), VARDATA_ANY(b), VARSIZE_ANY_EXHDR(a)) == 0;

	/* who compares may do so for many rows in one memory context */
	PG_FREE_IF_COPY(a, 0);
	PG_FREE_IF_COPY(b, 1);
	return same;
}

Datum
bloomexp_eq(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(same_bytes(fcinfo));
}

Datum
bloomexp_ne(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(!same_bytes(fcinfo));
}

Datum
bloomexp_hash(PG_FUNCTION_ARGS)
{
	struct varlena *value = PG_GETARG_BLOOM_PP(0);
	Datum		hash = hash_any((unsigned char *) VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));

	PG_FREE_IF_COPY(value, 0);
	PG_RETURN_DATUM(hash);
}

Datum
bloomexp_hash_extended(PG_FUNCTION_ARGS)
{
	struct varlena *value = PG_GETARG_BLOOM_PP(0);
	Datum		hash = hash_any_extended((unsigned char *) VARDATA_ANY(value),
										 VARSIZE_ANY_EXHDR(value), PG_GETARG_INT64(1));

	PG_FREE_IF_COPY(value, 0);
	PG_RETURN_DATUM(hash);
}
