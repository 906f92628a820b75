/*-------------------------------------------------------------------------
 *
 * contains.c
 *	  SQL functions that test items against a filter.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "compat.h"
#include "kernel/murmur3.h"
#include "sql/arguments.h"
#include "sql/item.h"
#include "sql/lookup.h"
#include "value/filter.h"

/* Return the hash of an item whose SQL type is that of its kind, such as bigint for integers. */
static inline uint64
hash_of_kind(BloomKind kind, Datum item)
{
	if (kind == BLOOM_KIND_INTEGER)
		return bloomexp_murmur3_int64((uint64) DatumGetInt64(item));
	return bloomexp_item_hash_bytes(kind, false, item);
}

/* Return whether the filter in argument `filter_arg` contains the item in `item_arg`. */
static inline Datum
contains_item(FunctionCallInfo fcinfo, int filter_arg, int item_arg, BloomKind kind)
{
	FmgrInfo   *call_site = fcinfo->flinfo;
	struct varlena *source;
	BloomLookup local_lookup;
	BloomLookup *lookup = &local_lookup;

	if (PG_ARGISNULL(item_arg))
		PG_RETURN_NULL();
	if (PG_ARGISNULL(filter_arg))
		PG_RETURN_BOOL(false);

	source = PG_GETARG_BLOOM_STORED(filter_arg);
	if (VARATT_IS_EXTERNAL_ONDISK(source) && call_site != NULL)
		lookup = bloomexp_lookup_open_cached(source, &call_site->fn_extra, call_site->fn_mcxt);
	else
		bloomexp_lookup_open(lookup, source, 1);
	bloomexp_filter_require_kind(&lookup->filter, kind);
	if (kind == BLOOM_KIND_TEXT)
		bloomexp_item_check_collation(PG_GET_COLLATION());
	PG_RETURN_BOOL(bloomexp_lookup_contains(lookup, hash_of_kind(kind, PG_GETARG_DATUM(item_arg))));
}

/* bloom_contains(filter, item), filter @> item, and item <@ filter, for one kind of items */
#define CONTAINS(suffix, kind) \
	PG_FUNCTION_INFO_V1(bloomexp_contains_##suffix); \
	Datum bloomexp_contains_##suffix(PG_FUNCTION_ARGS) \
	{ \
		return contains_item(fcinfo, 0, 1, kind); \
	} \
	PG_FUNCTION_INFO_V1(bloomexp_contained_##suffix); \
	Datum bloomexp_contained_##suffix(PG_FUNCTION_ARGS) \
	{ \
		return contains_item(fcinfo, 1, 0, kind); \
	} \
	extern Datum bloomexp_contained_##suffix(PG_FUNCTION_ARGS)

CONTAINS(int8, BLOOM_KIND_INTEGER);
CONTAINS(text, BLOOM_KIND_TEXT);
CONTAINS(uuid, BLOOM_KIND_UUID);
CONTAINS(bytea, BLOOM_KIND_BYTEA);

/*
 * Test the items of an array that are not NULL: sets (*contained)[i] to whether the filter of
 * argument 0 contains item i.  Returns the number of items tested.
 */
static int
find_contained(FunctionCallInfo fcinfo, ArrayType *array, bool **contained)
{
	Datum		filter = PG_ARGISNULL(0) ? 0 : PG_GETARG_DATUM(0);
	BloomItems	items;
	BloomLookups lookups;
	int			n = 0;

	bloomexp_item_begin(&items, array, PG_GET_COLLATION());
	bloomexp_lookup_open_all(&lookups, &filter, 1, items.type, items.nitems);
	*contained = palloc0(Max(items.nitems, 1));
	while (bloomexp_item_next(&items, BLOOMEXP_BATCH))
	{
		bloomexp_lookup_mark(&lookups, &items, *contained + n);
		n += items.n;
	}
	return n;
}

/* bloom_contains_any(filter, items) */
PG_FUNCTION_INFO_V1(bloomexp_contains_any);
Datum
bloomexp_contains_any(PG_FUNCTION_ARGS)
{
	bool	   *contained;
	int			n;

	if (PG_ARGISNULL(1))
		PG_RETURN_NULL();
	n = find_contained(fcinfo, bloomexp_arguments_array(fcinfo, 1), &contained);
	PG_RETURN_BOOL(memchr(contained, true, n) != NULL);
}

/* bloom_contains_all(filter, items): a NULL item is not contained */
PG_FUNCTION_INFO_V1(bloomexp_contains_all);
Datum
bloomexp_contains_all(PG_FUNCTION_ARGS)
{
	ArrayType  *array;
	bool	   *contained;
	int			n;

	if (PG_ARGISNULL(1))
		PG_RETURN_NULL();
	array = bloomexp_arguments_array(fcinfo, 1);
	n = find_contained(fcinfo, array, &contained);
	PG_RETURN_BOOL(n == ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) &&
				   memchr(contained, false, n) == NULL);
}

/*
 * bloom_contains_each(filter, items): NULL for a NULL item
 *
 * The result has the header and the null bitmap of the array, and booleans as its elements.
 */
PG_FUNCTION_INFO_V1(bloomexp_contains_each);
Datum
bloomexp_contains_each(PG_FUNCTION_ARGS)
{
	ArrayType  *array;
	ArrayType  *result;
	bool	   *contained;
	Size		start;
	int			n;

	if (PG_ARGISNULL(1))
		PG_RETURN_NULL();
	array = bloomexp_arguments_array(fcinfo, 1);
	n = find_contained(fcinfo, array, &contained);
	start = ARR_DATA_PTR(array) - (char *) array;
	result = palloc(start + n);
	memcpy(result, array, start);
	memcpy((char *) result + start, contained, n);
	SET_VARSIZE(result, start + n);
	result->elemtype = BOOLOID;
	PG_RETURN_ARRAYTYPE_P(result);
}
