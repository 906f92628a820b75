/*-------------------------------------------------------------------------
 *
 * exclude.c
 *	  What the extension is for: the candidates that were not exposed.
 *
 * Survivors are found for a whole array in one pass, batch by batch, and copied
 * to where they go out from: as an array of the candidates' type, as rows of
 * that array, or as packed bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "utils/selfuncs.h"

#include "kernel/batch.h"
#include "sql/arguments.h"
#include "sql/item.h"
#include "sql/stored.h"
#include "sql/survivors.h"
#include "value/compat.h"
#include "value/filter.h"
#include "value/kind.h"
#include "value/layout.h"

PG_FUNCTION_INFO_V1(bloomexp_exclude);
PG_FUNCTION_INFO_V1(bloomexp_exclude_variadic);
PG_FUNCTION_INFO_V1(bloomexp_exclude_array);
PG_FUNCTION_INFO_V1(bloomexp_exclude_packed);
PG_FUNCTION_INFO_V1(bloomexp_exclude_support);

/* Opens the filters of an argument: open_filter or open_filters. */
typedef void (*Opener) (FunctionCallInfo fcinfo, int argno, int lookups, BloomFilters *filters);

/* Survivors that go out as rows: the next of them, and how many are left. */
typedef struct Rows
{
	const BloomItemType *type;
	const char *next;
	int			left;
} Rows;

/* The one filter of an argument, for `lookups` lookups; NULL is none. */
static void
open_filter(FunctionCallInfo fcinfo, int argno, int lookups, BloomFilters *filters)
{
	filters->n = 0;
	if (PG_ARGISNULL(argno))
		return;
	filters->stored = palloc(sizeof(BloomStored));
	bloomexp_stored_open(&filters->stored[filters->n++],
						 PG_GETARG_BLOOM_STORED(argno), lookups);
}

/* The filters of an array argument without NULLs; each is there as a whole. */
static void
open_filters(FunctionCallInfo fcinfo, int argno, int lookups, BloomFilters *filters)
{
	ArrayType  *array;
	Datum	   *values;
	bool	   *nulls;
	int			n;
	Size		filled = 0;

	filters->n = 0;
	if (PG_ARGISNULL(argno))
		return;
	array = bloomexp_arguments_array(fcinfo, argno);
	bloomexp_item_check_dimensions(array, "filters");
	deconstruct_array(array, ARR_ELEMTYPE(array), -1, false, TYPALIGN_INT,
					  &values, &nulls, &n);
	for (int i = 0; i < n; i++)
		filled += !nulls[i];
	filters->stored = palloc_extended(Max(filled, 1) * sizeof(BloomStored), MCXT_ALLOC_HUGE);
	for (int i = 0; i < n; i++)
	{
		if (!nulls[i])
			bloomexp_stored_open_whole(&filters->stored[filters->n++],
									   PG_DETOAST_DATUM_PACKED(values[i]));
	}
}

/*
 * Copy the candidates that survive the filters to `out`, one after another as
 * in an array.  Returns where they end, and their number in *survivors.
 */
static char *
copy_survivors(BloomItems *candidates, const BloomFilters *filters, char *out, int *survivors)
{
	uint32		seed = filters->n > 0 ? filters->stored[0].filter.seed : 0;
	BloomBatch	batch;
	bool		exposed[BLOOMEXP_BATCH];

	bloomexp_survivors_require_kind(filters, candidates->type->kind);
	*survivors = 0;
	while (bloomexp_item_next(candidates, seed, &batch))
	{
		CHECK_FOR_INTERRUPTS();
		bloomexp_survivors_mark(filters, &batch, exposed);
		out = bloomexp_item_copy(out, &batch, exposed, survivors);
	}
	return out;
}

/*
 * The candidates of argument 0 that survive the filters of argument 1, as an
 * array of their type without NULLs in a memory context; *type tells about its
 * elements.
 */
static ArrayType *
exclude(FunctionCallInfo fcinfo, Opener opener, MemoryContext context,
		const BloomItemType **type)
{
	ArrayType  *array = bloomexp_arguments_array(fcinfo, 0);
	ArrayType  *result;
	BloomItems	candidates;
	BloomFilters filters;
	int			survivors;
	char	   *end;

	bloomexp_item_begin(&candidates, array, PG_GET_COLLATION());
	opener(fcinfo, 1, candidates.nitems, &filters);
	*type = candidates.type;

	result = bloomexp_survivors_open_array(context, array);
	end = copy_survivors(&candidates, &filters, ARR_DATA_PTR(result), &survivors);
	return bloomexp_survivors_close_array(result, end, survivors, candidates.element_type);
}

/* bloom_exclude_array(candidates, filter), candidates - filter */
Datum
bloomexp_exclude_array(PG_FUNCTION_ARGS)
{
	const BloomItemType *type;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();

	bloomexp_survivors_check_type(fcinfo, 0);
	PG_RETURN_ARRAYTYPE_P(exclude(fcinfo, open_filter, CurrentMemoryContext, &type));
}

/* Refuse filters whose items cannot be packed. */
static void
require_integers(const BloomFilters *filters)
{
	for (int i = 0; i < filters->n; i++)
	{
		const BloomFilter *filter = &filters->stored[i].filter;

		if (!bloomexp_filter_can_hold(filter, BLOOM_KIND_INTEGER))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("filter holds %s items, not packed integers", bloomexp_kind_name(filter->kind)),
					 errhint("Use bloom_exclude_array() with an array of %s.", bloomexp_kind_name(filter->kind))));
	}
}

/* bloom_exclude_packed(candidates, filter) */
Datum
bloomexp_exclude_packed(PG_FUNCTION_ARGS)
{
	bytea	   *packed;
	bytea	   *result;
	BloomItems	candidates;
	BloomFilters filters;
	int			survivors;
	char	   *end;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();

	packed = PG_GETARG_BYTEA_PP(0);
	bloomexp_item_begin_packed(&candidates, packed);
	open_filter(fcinfo, 1, candidates.nitems, &filters);
	require_integers(&filters);

	result = palloc(VARHDRSZ + VARSIZE_ANY_EXHDR(packed));
	end = copy_survivors(&candidates, &filters, VARDATA(result), &survivors);
	SET_VARSIZE(result, end - (char *) result);
	PG_RETURN_BYTEA_P(result);
}

/*
 * Body of the set-returning functions: all survivors are found in the first
 * call, and go out one a call.
 */
static Datum
exclude_rows(FunctionCallInfo fcinfo, Opener opener)
{
	FuncCallContext *call;
	Rows	   *rows;
	const char *item;

	if (SRF_IS_FIRSTCALL())
	{
		call = SRF_FIRSTCALL_INIT();
		call->user_fctx = rows =
			MemoryContextAllocZero(call->multi_call_memory_ctx, sizeof(Rows));
		if (!PG_ARGISNULL(0))
		{
			ArrayType  *array = exclude(fcinfo, opener, call->multi_call_memory_ctx, &rows->type);

			rows->next = ARR_DATA_PTR(array);
			rows->left = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
		}
	}

	call = SRF_PERCALL_SETUP();
	rows = call->user_fctx;
	if (rows->left == 0)
		SRF_RETURN_DONE(call);
	rows->left--;
	item = rows->next;
	rows->next = att_addlength_pointer(item, rows->type->length, item);
	rows->next = (const char *) att_align_nominal(rows->next, rows->type->align);
	SRF_RETURN_NEXT(call, fetch_att(item, bloomexp_item_by_value(rows->type), rows->type->length));
}

/* bloom_exclude(candidates, filter) */
Datum
bloomexp_exclude(PG_FUNCTION_ARGS)
{
	return exclude_rows(fcinfo, open_filter);
}

/* bloom_exclude(candidates, VARIADIC filters) */
Datum
bloomexp_exclude_variadic(PG_FUNCTION_ARGS)
{
	return exclude_rows(fcinfo, open_filters);
}

/*
 * bloomexp_exclude_support
 *		Planner support: bloom_exclude() returns at most as many rows as there
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
