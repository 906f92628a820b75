/*-------------------------------------------------------------------------
 *
 * contains.c
 *	  SQL functions that test items against a filter.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"

#include "kernel/murmur3.h"
#include "sql/arguments.h"
#include "sql/item.h"
#include "sql/lookup.h"
#include "value/compat.h"
#include "value/filter.h"
#include "value/kind.h"

PG_FUNCTION_INFO_V1(bloomexp_contains_any);
PG_FUNCTION_INFO_V1(bloomexp_contains_all);
PG_FUNCTION_INFO_V1(bloomexp_contains_each);

/* Whether the filter of one argument contains the item of another. */
static Datum
contains_argument(FunctionCallInfo fcinfo, int filter_arg, int item_arg, BloomKind kind)
{
	FmgrInfo   *call_site = fcinfo->flinfo;
	struct varlena *source;
	uint32		seed;
	uint64		hash;
	BloomLookup space;
	BloomLookup *lookup = &space;

	if (PG_ARGISNULL(item_arg))
		PG_RETURN_NULL();
	if (PG_ARGISNULL(filter_arg))
		PG_RETURN_BOOL(false);

	source = PG_GETARG_BLOOM_STORED(filter_arg);
	if (VARATT_IS_EXTERNAL_ONDISK(source) && call_site != NULL)
		lookup = bloomexp_lookup_open_cached(source, &call_site->fn_extra, call_site->fn_mcxt);
	else
		bloomexp_lookup_open_whole(lookup, source);
	bloomexp_filter_require_kind(&lookup->filter, kind);
	seed = lookup->filter.seed;
	if (kind == BLOOM_KIND_TEXT)
		bloomexp_item_check_collation(PG_GET_COLLATION());
	hash = kind == BLOOM_KIND_INTEGER ? bloomexp_murmur3_int64((uint64) PG_GETARG_INT64(item_arg), seed) :
		bloomexp_item_hash(kind, false, PG_GETARG_DATUM(item_arg), seed);
	PG_RETURN_BOOL(bloomexp_lookup_contains(lookup, hash));
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
 * Return, for each item of the array of argument 1 that is not NULL, in order, whether
 * the filter of argument 0 contains it; *n receives their number.
 */
static bool *
contained_items(FunctionCallInfo fcinfo, ArrayType *array, int *n)
{
	Datum		filter = PG_ARGISNULL(0) ? 0 : PG_GETARG_DATUM(0);
	BloomItems	items;
	BloomBatch	batch;
	BloomLookups lookups;
	bool	   *contained;

	bloomexp_item_begin(&items, array, PG_GET_COLLATION());
	bloomexp_lookup_open(&lookups, &filter, 1, items.nitems);
	bloomexp_lookup_require_kind(&lookups, items.type->kind);
	contained = palloc(Max(items.nitems, 1));
	*n = 0;
	while (bloomexp_item_next(&items, bloomexp_lookup_seed(&lookups), &batch))
	{
		CHECK_FOR_INTERRUPTS();
		bloomexp_lookup_mark(&lookups, &batch, contained + *n);
		*n += batch.n;
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
