/*-------------------------------------------------------------------------
 *
 * change.c
 *	  SQL functions that make and change filters.
 *
 * Everywhere a NULL filter is an empty one, so that a user who was never shown
 * anything needs no row; and a NULL item is no item.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "sql/arguments.h"
#include "sql/item.h"
#include "value/compat.h"
#include "value/filter.h"
#include "value/kind.h"
#include "value/layout.h"
#include "value/union.h"

PG_FUNCTION_INFO_V1(bloomexp_new);
PG_FUNCTION_INFO_V1(bloomexp_add);
PG_FUNCTION_INFO_V1(bloomexp_remove);
PG_FUNCTION_INFO_V1(bloomexp_add_array);
PG_FUNCTION_INFO_V1(bloomexp_remove_array);
PG_FUNCTION_INFO_V1(bloomexp_union);

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

	if (PG_ARGISNULL(1))
		return bloomexp_arguments_return_untouched(fcinfo);
	if (!PG_ARGISNULL(0))
		bloomexp_layout_open(&filter, PG_GETARG_BLOOM_PP(0));
	if (by_array)
		hashes = bloomexp_item_hash_array(bloomexp_arguments_array(fcinfo, 1), PG_GET_COLLATION(), &kind, &n);
	else
	{
		const BloomItemType *type = bloomexp_arguments_item_type(fcinfo);

		kind = type->kind;
		hash = bloomexp_arguments_hash(fcinfo, type);
	}
	return bloomexp_arguments_return_changed(fcinfo, change(PG_ARGISNULL(0) ? NULL : &filter, kind, hashes, n));
}

/* bloom_add(filter, item anynonarray) */
Datum
bloomexp_add(PG_FUNCTION_ARGS)
{
	return change_filter(fcinfo, bloomexp_filter_add, false);
}

/* bloom_add(filter, items anyarray) */
Datum
bloomexp_add_array(PG_FUNCTION_ARGS)
{
	return change_filter(fcinfo, bloomexp_filter_add, true);
}

/* bloom_remove(filter, item anynonarray) */
Datum
bloomexp_remove(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	return change_filter(fcinfo, bloomexp_filter_remove, false);
}

/* bloom_remove(filter, items anyarray) */
Datum
bloomexp_remove_array(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	return change_filter(fcinfo, bloomexp_filter_remove, true);
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
