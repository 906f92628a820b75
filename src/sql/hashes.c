/*-------------------------------------------------------------------------
 *
 * hashes.c
 *	  SQL functions for the hashes of items.
 *
 * A row of a feed keeps its newest items as their hashes, by which a filter knows them, and
 * adds them to its filter later, many at a time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "sql/arguments.h"
#include "sql/hash_set.h"
#include "sql/item.h"
#include "value/filter.h"
#include "value/layout.h"
#include "value/window.h"

/* Make an array of n hashes, at least one, whose values the caller writes. */
static ArrayType *
make_array(int n)
{
	Size		size = ARR_OVERHEAD_NONULLS(1) + n * sizeof(uint64);
	ArrayType  *array;

	if (!AllocSizeIsValid(size))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many items for an array of hashes"),
				 errdetail("There are %d; an array takes less than 1 GB.", n)));
	array = palloc(size);
	SET_VARSIZE(array, size);
	array->ndim = 1;
	array->dataoffset = 0;
	array->elemtype = INT8OID;
	ARR_DIMS(array)[0] = n;
	ARR_LBOUND(array)[0] = 1;
	return array;
}

/* bloom_hashes(items) */
PG_FUNCTION_INFO_V1(bloomexp_hashes);
Datum
bloomexp_hashes(PG_FUNCTION_ARGS)
{
	BloomItems	items;
	ArrayType  *result;
	uint64	   *next;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	bloomexp_item_begin(&items, bloomexp_arguments_array(fcinfo, 0), PG_GET_COLLATION());
	if (items.nitems == 0)
		PG_RETURN_ARRAYTYPE_P(construct_empty_array(INT8OID));
	result = make_array(items.nitems);
	next = (uint64 *) ARR_DATA_PTR(result);
	while (bloomexp_item_next(&items, BLOOMEXP_BATCH))
	{
		memcpy(next, items.hashes, items.n * sizeof(uint64));
		next += items.n;
	}
	PG_RETURN_ARRAYTYPE_P(result);
}

/*
 * bloomexp.new_hashes(hashes, known)
 *
 * The result takes no more than `hashes` do, so it is made for all of them and then cut.
 */
PG_FUNCTION_INFO_V1(bloomexp_new_hashes);
Datum
bloomexp_new_hashes(PG_FUNCTION_ARGS)
{
	const uint64 *hashes;
	const uint64 *known;
	BloomHashSet set;
	ArrayType  *result;
	uint64	   *next;
	int			nhashes;
	int			nknown;
	int			n = 0;

	hashes = bloomexp_arguments_hashes(fcinfo, 0, &nhashes);
	known = bloomexp_arguments_hashes(fcinfo, 1, &nknown);
	if (nhashes == 0)
		PG_RETURN_ARRAYTYPE_P(construct_empty_array(INT8OID));
	bloomexp_hash_set_init(&set, (uint32) nknown + (uint32) nhashes);
	for (int i = 0; i < nknown; i++)
	{
		if (i % BLOOMEXP_INTERRUPT_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		bloomexp_hash_set_insert(&set, known[i]);
	}
	result = make_array(nhashes);
	next = (uint64 *) ARR_DATA_PTR(result);
	for (int i = 0; i < nhashes; i++)
	{
		if (i % BLOOMEXP_INTERRUPT_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		if (bloomexp_hash_set_insert(&set, hashes[i]))
			next[n++] = hashes[i];
	}
	if (n == 0)
		PG_RETURN_ARRAYTYPE_P(construct_empty_array(INT8OID));
	ARR_DIMS(result)[0] = n;
	SET_VARSIZE(result, ARR_OVERHEAD_NONULLS(1) + n * sizeof(uint64));
	PG_RETURN_ARRAYTYPE_P(result);
}

/* Return the kind of items that argument 1 names. */
static BloomKind
get_kind(FunctionCallInfo fcinfo)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(1));

	for (BloomKind kind = BLOOM_KIND_NONE + 1; kind <= BLOOM_KIND_LAST; kind++)
	{
		if (strcmp(name, bloomexp_kind_name(kind)) == 0)
			return kind;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized kind of items: \"%s\"", name),
			 errhint("The kinds are integer, text, uuid and bytea.")));
}

/* bloom_add_hashes(filter, kind, hashes) */
PG_FUNCTION_INFO_V1(bloomexp_add_hashes);
Datum
bloomexp_add_hashes(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"kind"};
	BloomFilter space;
	BloomFilter *filter;
	BloomKind	kind;
	const uint64 *hashes;
	uint64	   *copies;
	struct varlena *value;
	int			n;

	bloomexp_arguments_require_not_null(fcinfo, 1, names, lengthof(names));
	kind = get_kind(fcinfo);
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
	static const char *const kind_name[] = {"kind"};
	static const char *const final_name[] = {"final"};
	BloomFilter filter;
	BloomKind	kind;
	BloomExposure *exposures;
	const uint64 *hashes;
	struct varlena *value;
	int64		shown_at;
	int64		slice;
	bool		final;
	int			n;

	bloomexp_arguments_open_windowed(fcinfo, &filter, "bloom_add_hashes_at()");
	bloomexp_arguments_require_not_null(fcinfo, 1, kind_name, 1);
	kind = get_kind(fcinfo);
	if (PG_ARGISNULL(2))
		return bloomexp_arguments_return_untouched(fcinfo);
	hashes = bloomexp_arguments_hashes(fcinfo, 2, &n);
	shown_at = bloomexp_arguments_time(fcinfo->args[3], "shown_at");
	bloomexp_arguments_require_not_null(fcinfo, 4, final_name, 1);
	final = PG_GETARG_BOOL(4);

	bloomexp_filter_require_kind(&filter, kind);
	if (shown_at < filter.expired_before)
		return bloomexp_arguments_return_untouched(fcinfo);
	slice = bloomexp_window_slice_at(&filter, shown_at);
	exposures = palloc_extended(Max(n, 1) * sizeof(BloomExposure), MCXT_ALLOC_HUGE);
	for (int i = 0; i < n; i++)
	{
		if (i % BLOOMEXP_INTERRUPT_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		exposures[i].hash = hashes[i];
		exposures[i].slice = slice;
	}
	value = bloomexp_window_add(&filter, kind, exposures, n, final, true);
	return bloomexp_arguments_return_changed(fcinfo, value);
}
