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

PG_FUNCTION_INFO_V1(bloomexp_new);
PG_FUNCTION_INFO_V1(bloomexp_add);
PG_FUNCTION_INFO_V1(bloomexp_remove);
PG_FUNCTION_INFO_V1(bloomexp_add_array);
PG_FUNCTION_INFO_V1(bloomexp_remove_array);

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

/* The filter of argument 0, opened in *filter, or NULL where there is none yet. */
static BloomFilter *
open_argument(FunctionCallInfo fcinfo, BloomFilter *filter)
{
	if (PG_ARGISNULL(0))
		return NULL;
	bloomexp_layout_open(filter, PG_GETARG_BLOOM_PP(0));
	return filter;
}

/* The seed of a filter, or of the one that will be started for NULL. */
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
change_by_item(FunctionCallInfo fcinfo, Change change)
{
	const BloomItemType *type;
	BloomFilter space;
	BloomFilter *filter;
	uint64		hash;

	if (PG_ARGISNULL(1))
		return bloomexp_arguments_return_untouched(fcinfo);
	type = bloomexp_arguments_item_type(fcinfo, 1);
	filter = open_argument(fcinfo, &space);
	hash = bloomexp_arguments_hash(fcinfo, 1, type, seed_of(filter));
	return bloomexp_arguments_return_changed(fcinfo, change(filter, type->kind, &hash, 1));
}

/* bloom_add(filter, item anynonarray) */
Datum
bloomexp_add(PG_FUNCTION_ARGS)
{
	return change_by_item(fcinfo, bloomexp_filter_add);
}

/* bloom_remove(filter, item anynonarray) */
Datum
bloomexp_remove(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	return change_by_item(fcinfo, bloomexp_filter_remove);
}

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
