/*-------------------------------------------------------------------------
 *
 * contains.c
 *	  SQL functions that test items against a filter.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/uuid.h"

#include "compat.h"
#include "sql/arguments.h"
#include "sql/item.h"
#include "sql/lookup.h"
#include "value/filter.h"

/* Return whether the filter in argument `filter_arg` contains the item in `item_arg`, of `type`. */
static inline Datum
contains_item(FunctionCallInfo fcinfo, int filter_arg, int item_arg, const BloomItemType *type)
{
	FmgrInfo   *call_site = fcinfo->flinfo;
	struct varlena *source;
	BloomLookup local_lookup;
	BloomLookup *lookup = &local_lookup;

	if (PG_ARGISNULL(item_arg))
		PG_RETURN_NULL();
	if (type->kind == BLOOM_KIND_TEXT)
		bloomexp_item_check_collation(PG_GET_COLLATION());
	if (PG_ARGISNULL(filter_arg))
		PG_RETURN_BOOL(false);

	source = PG_GETARG_BLOOM_STORED(filter_arg);
	if (VARATT_IS_EXTERNAL_ONDISK(source) && call_site != NULL)
		lookup = bloomexp_lookup_open_cached(source, &call_site->fn_extra, call_site->fn_mcxt);
	else
		bloomexp_lookup_open(lookup, source, 1);
	bloomexp_filter_require_kind(&lookup->filter, type->kind);
	PG_RETURN_BOOL(bloomexp_lookup_contains(
		lookup, bloomexp_item_hash(type, PG_GETARG_DATUM(item_arg))));
}

/*
 * bloom_contains(filter, item), filter @> item, and item <@ filter, for items of one SQL type.  The
 * arguments after the suffix are the fields of its BloomItemType.
 */
#define CONTAINS(suffix, ...) \
	static const BloomItemType suffix##_type = {__VA_ARGS__}; \
	PG_FUNCTION_INFO_V1(bloomexp_contains_##suffix); \
	Datum bloomexp_contains_##suffix(PG_FUNCTION_ARGS) \
	{ \
		return contains_item(fcinfo, 0, 1, &suffix##_type); \
	} \
	PG_FUNCTION_INFO_V1(bloomexp_contained_##suffix); \
	Datum bloomexp_contained_##suffix(PG_FUNCTION_ARGS) \
	{ \
		return contains_item(fcinfo, 1, 0, &suffix##_type); \
	} \
	extern Datum bloomexp_contained_##suffix(PG_FUNCTION_ARGS)

CONTAINS(int8, INT8OID, BLOOM_KIND_INTEGER, sizeof(int64), false);
CONTAINS(text, TEXTOID, BLOOM_KIND_TEXT, -1, false);
CONTAINS(uuid, UUIDOID, BLOOM_KIND_UUID, UUID_LEN, false);
CONTAINS(bytea, BYTEAOID, BLOOM_KIND_BYTEA, -1, false);

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
