/*-------------------------------------------------------------------------
 *
 * exclude.c
 *	  What the extension is for: the candidates that were not exposed.
 *
 * The candidates of a whole array that remain are found in one pass, batch by batch, and
 * copied to where they go out from: as an array of the candidates' type, as rows of that
 * array, or as packed bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/tupmacs.h"
#include "common/hashfn.h"
#include "funcapi.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "utils/selfuncs.h"

#include "kernel/bits.h"
#include "sql/arguments.h"
#include "sql/item.h"
#include "sql/lookup.h"
#include "value/compat.h"
#include "value/filter.h"
#include "value/kind.h"
#include "value/layout.h"

PG_FUNCTION_INFO_V1(bloomexp_exclude);
PG_FUNCTION_INFO_V1(bloomexp_exclude_variadic);
PG_FUNCTION_INFO_V1(bloomexp_exclude_array);
PG_FUNCTION_INFO_V1(bloomexp_exclude_wanted);
PG_FUNCTION_INFO_V1(bloomexp_exclude_packed);
PG_FUNCTION_INFO_V1(bloomexp_exclude_support);

/* Remaining candidates that go out as rows. */
typedef struct RemainingRows
{
	const BloomItemType *type;
	const char *next;
	int			left;
} RemainingRows;

/* Candidates to test in the first place, if few are wanted. */
#define FEW_CANDIDATES 64

/* Hidden from whoever chooses ids: they could put all of them into one place. */
static uint64 secret;

/* The candidates that are selected: an open hash table, three quarters full at most. */
typedef struct Selection
{
	uint64		mask;			/* slots less one */
	BloomBytes *slots;			/* a candidate in its array; free ones start at NULL */
} Selection;

/* Start a selection that will have at most `n` candidates, so that it need not grow. */
static Selection
begin_selection(uint64 n)
{
	uint64		slots = 64;

	while (slots / 4 * 3 < n)
		slots *= 2;
	return (Selection) {
		.mask = slots - 1,
		.slots = palloc_extended(slots * sizeof(BloomBytes), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO)
	};
}

/* Select a candidate; false if it is selected already. */
static bool
select_item(const Selection *selection, BloomBytes item)
{
	uint64		i = hash_bytes_extended(item.start, (int) item.length, secret) & selection->mask;

	for (; selection->slots[i].start != NULL; i = (i + 1) & selection->mask)
	{
		if (selection->slots[i].length == item.length &&
			memcmp(selection->slots[i].start, item.start, item.length) == 0)
			return false;
	}
	selection->slots[i] = item;
	return true;
}

/* Open the filter of argument 1, or those of its array, for a number of items. */
static void
open_filters(FunctionCallInfo fcinfo, bool variadic, int items, BloomLookups *filters)
{
	Datum		one = PG_ARGISNULL(1) ? 0 : PG_GETARG_DATUM(1);
	Datum	   *values = &one;
	bool	   *nulls;
	int			n = 1;

	if (variadic && one != 0)
	{
		ArrayType  *array = bloomexp_arguments_array(fcinfo, 1);

		bloomexp_item_check_dimensions(array, "filters");
		/* a NULL comes out as 0 */
		deconstruct_array(array, ARR_ELEMTYPE(array), -1, false, TYPALIGN_INT, &values, &nulls, &n);
	}
	bloomexp_lookup_open(filters, values, n, items);
}

/* Raise an error if the candidates of argument 0 cannot go out as an array of their type. */
static void
check_candidates(FunctionCallInfo fcinfo)
{
	/* an array type of its own, whose subscripts start at 0 */
	if (get_fn_expr_argtype(fcinfo->flinfo, 0) == INT2VECTOROID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("candidates of type int2vector are not supported"),
				 errhint("Cast the candidates to smallint[].")));
}

/* Allocate an array for some items of another one; they go to its ARR_DATA_PTR. */
static ArrayType *
begin_array(MemoryContext context, const ArrayType *items)
{
	ArrayType  *array = MemoryContextAllocHuge(context, MAXALIGN(VARSIZE(items)) +
											   ARR_OVERHEAD_NONULLS(1));

	array->ndim = 1;
	array->dataoffset = 0;
	return array;
}

/* Make the array a value, with n items up to `end`. */
static ArrayType *
end_array(ArrayType *array, char *end, int n, Oid element_type)
{
	array->elemtype = element_type;
	if (n == 0)
	{
		/* an empty array has no dimension; it must stay in its memory context */
		array->ndim = 0;
		SET_VARSIZE(array, ARR_OVERHEAD_NONULLS(0));
		return array;
	}
	SET_VARSIZE(array, end - (char *) array);
	ARR_DIMS(array)[0] = n;
	ARR_LBOUND(array)[0] = 1;
	return array;
}

/*
 * Copy the candidates that no filter contains to `out`, one after another as in an
 * array.  Returns where they end, and their number in *remaining.
 */
static char *
copy_remaining(BloomItems *candidates, BloomLookups *filters, char *out, int *remaining)
{
	BloomBatch	batch;
	bool		exposed[BLOOMEXP_BATCH];

	bloomexp_lookup_require_kind(filters, candidates->type->kind);
	*remaining = 0;
	while (bloomexp_item_next(candidates, &batch))
	{
		bloomexp_lookup_mark(filters, &batch, exposed);
		out = bloomexp_item_copy(out, &batch, exposed, remaining);
	}
	return out;
}

/*
 * Return the candidates of argument 0 that the filters of argument 1 leave, as an array
 * of their type without NULLs in a memory context; *type describes its elements.
 */
static ArrayType *
exclude(FunctionCallInfo fcinfo, bool variadic, MemoryContext context, const BloomItemType **type)
{
	ArrayType  *array = bloomexp_arguments_array(fcinfo, 0);
	ArrayType  *result;
	BloomItems	candidates;
	BloomLookups filters;
	int			remaining;
	char	   *end;

	bloomexp_item_begin(&candidates, array, PG_GET_COLLATION());
	open_filters(fcinfo, variadic, candidates.nitems, &filters);
	*type = candidates.type;

	result = begin_array(context, array);
	end = copy_remaining(&candidates, &filters, ARR_DATA_PTR(result), &remaining);
	return end_array(result, end, remaining, candidates.element_type);
}

/* bloom_exclude_array(candidates, filter), candidates - filter */
Datum
bloomexp_exclude_array(PG_FUNCTION_ARGS)
{
	const BloomItemType *type;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();

	check_candidates(fcinfo);
	PG_RETURN_ARRAYTYPE_P(exclude(fcinfo, false, CurrentMemoryContext, &type));
}

/*
 * bloom_exclude_array(candidates, filter, wanted)
 *
 * A batch is twice what is still wanted: to test a candidate of a large filter is to
 * read a chunk of it.
 */
Datum
bloomexp_exclude_wanted(PG_FUNCTION_ARGS)
{
	int			wanted = PG_ARGISNULL(2) ? INT_MAX : PG_GETARG_INT32(2);
	ArrayType  *array;
	ArrayType  *result;
	BloomItems	candidates;
	BloomLookups filters;
	BloomBatch	batch;
	bool		omit[BLOOMEXP_BATCH];
	Selection	selection;
	int			remaining = 0;
	char	   *end;

	if (wanted < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("wanted must not be negative")));
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	check_candidates(fcinfo);
	if (secret == 0 && !pg_strong_random(&secret, sizeof(secret)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate random values")));

	array = bloomexp_arguments_array(fcinfo, 0);
	bloomexp_item_begin(&candidates, array, PG_GET_COLLATION());
	open_filters(fcinfo, false, candidates.nitems, &filters);
	bloomexp_lookup_require_kind(&filters, candidates.type->kind);

	selection = begin_selection(Min(wanted, candidates.nitems));
	result = begin_array(CurrentMemoryContext, array);
	end = ARR_DATA_PTR(result);
	while (wanted > 0)
	{
		candidates.batch = wanted < BLOOMEXP_BATCH / 2 ? Max(wanted * 2, FEW_CANDIDATES) : BLOOMEXP_BATCH;
		if (!bloomexp_item_next(&candidates, &batch))
			break;
		bloomexp_lookup_mark(&filters, &batch, omit);

		/* omit those that come again, too, and those after the last that is wanted */
		for (int i = 0; i < batch.n; i++)
		{
			omit[i] = omit[i] || wanted == 0 || !select_item(&selection, bloomexp_item_bytes(&batch, i));
			wanted -= !omit[i];
		}
		end = bloomexp_item_copy(end, &batch, omit, &remaining);
	}
	pfree(selection.slots);
	PG_RETURN_ARRAYTYPE_P(end_array(result, end, remaining, candidates.element_type));
}

/* bloom_exclude_packed(candidates, filter) */
Datum
bloomexp_exclude_packed(PG_FUNCTION_ARGS)
{
	bytea	   *packed;
	bytea	   *result;
	BloomItems	candidates;
	BloomLookups filters;
	int			remaining;
	char	   *end;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();

	packed = PG_GETARG_BYTEA_PP(0);
	bloomexp_item_begin_packed(&candidates, packed);
	open_filters(fcinfo, false, candidates.nitems, &filters);
	for (int i = 0; i < filters.n; i++)
	{
		const BloomFilter *filter = &filters.entries[i].filter;

		if (!bloomexp_filter_can_hold(filter, BLOOM_KIND_INTEGER))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("filter holds %s items, not packed integers", bloomexp_kind_name(filter->kind)),
					 errhint("Use bloom_exclude_array() with an array of %s.", bloomexp_kind_name(filter->kind))));
	}

	result = palloc(VARHDRSZ + VARSIZE_ANY_EXHDR(packed));
	end = copy_remaining(&candidates, &filters, VARDATA(result), &remaining);
	SET_VARSIZE(result, end - (char *) result);
	PG_RETURN_BYTEA_P(result);
}

/* Find all remaining candidates in the first call, and return one in each call. */
static Datum
exclude_rows(FunctionCallInfo fcinfo, bool variadic)
{
	FuncCallContext *call;
	RemainingRows *rows;
	const BloomItemType *type;
	const char *item;
	bool		by_value;

	if (SRF_IS_FIRSTCALL())
	{
		call = SRF_FIRSTCALL_INIT();
		call->user_fctx = rows =
			MemoryContextAllocZero(call->multi_call_memory_ctx, sizeof(RemainingRows));
		if (!PG_ARGISNULL(0))
		{
			ArrayType  *array = exclude(fcinfo, variadic, call->multi_call_memory_ctx, &rows->type);

			rows->next = ARR_DATA_PTR(array);
			rows->left = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
		}
	}

	call = SRF_PERCALL_SETUP();
	rows = call->user_fctx;
	if (rows->left == 0)
		SRF_RETURN_DONE(call);
	rows->left--;
	type = rows->type;
	item = rows->next;
	rows->next = att_addlength_pointer(item, type->length, item);
	rows->next = (const char *) att_align_nominal(rows->next, type->align);
	/* integers of up to 8 bytes are passed by value where a Datum has as many */
	by_value = type->length > 0 && type->length <= (int16) sizeof(Datum);
	SRF_RETURN_NEXT(call, fetch_att(item, by_value, type->length));
}

/* bloom_exclude(candidates, filter) */
Datum
bloomexp_exclude(PG_FUNCTION_ARGS)
{
	return exclude_rows(fcinfo, false);
}

/* bloom_exclude(candidates, VARIADIC filters) */
Datum
bloomexp_exclude_variadic(PG_FUNCTION_ARGS)
{
	return exclude_rows(fcinfo, true);
}

/*
 * bloomexp_exclude_support
 *		Tell the planner that bloom_exclude() returns at most as many rows as there
 *		are candidates.  The share of exposed ones is unknown; an estimate too
 *		high does less harm than one too low.
 */
Datum
bloomexp_exclude_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	SupportRequestRows *rows = (SupportRequestRows *) request;

	if (!IsA(request, SupportRequestRows) || !is_funcclause(rows->node))
		PG_RETURN_POINTER(NULL);
	rows->rows = BLOOMEXP_ARRAY_LENGTH(rows->root, linitial(((FuncExpr *) rows->node)->args));
	PG_RETURN_POINTER(rows);
}
