/*-------------------------------------------------------------------------
 *
 * exclude.c
 *	  What the extension is for: the candidates that were not exposed.
 *
 * Survivors are found for a whole array in one pass, batch by batch; then they
 * go out as rows, as an array of the candidates' type, or as packed bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "utils/selfuncs.h"

#include "datum.h"

PG_FUNCTION_INFO_V1(bloomexp_exclude);
PG_FUNCTION_INFO_V1(bloomexp_exclude_variadic);
PG_FUNCTION_INFO_V1(bloomexp_exclude_array);
PG_FUNCTION_INFO_V1(bloomexp_exclude_support);

/* PostgreSQL 17 estimates an array's length with the planner's state at hand. */
#if PG_VERSION_NUM >= 170000
#define ARRAY_LENGTH(root, expr) estimate_array_length(root, expr)
#else
#define ARRAY_LENGTH(root, expr) ((double) estimate_array_length(expr))
#endif

/* The candidates that survive, as they stand in their array. */
typedef struct Survivors
{
	const BloomItemType *type;
	Oid			element_type;
	const char **items;
	int			n;
	int			next;			/* to be returned next, as a row */
} Survivors;

/* Unpacked filters, all asked in turn. */
typedef struct Filters
{
	BloomFilter *filters;
	int			n;
} Filters;

/*
 * The candidates of a batch that no filter contains, in order, as indexes into
 * it; returns their number.
 */
static int
pick_survivors(const Filters *filters, const BloomItemType *type,
			   const char **batch, int n, int *picks)
{
	uint64		hashes[BLOOMEXP_BATCH];
	int			nbatch = n;

	for (int i = 0; i < nbatch; i++)
		picks[i] = i;
	for (int i = 0; i < filters->n && n > 0; i++)
	{
		/* filters of one seed share the hashes */
		if (i == 0 || filters->filters[i].seed != filters->filters[i - 1].seed)
			bloomexp_hash_items(type, batch, nbatch, filters->filters[i].seed, hashes);
		n = bloomexp_misses(&filters->filters[i], hashes, picks, n);
	}
	return n;
}

/* All candidates that survive the filters; the array must outlive them. */
static void
find_survivors(Survivors *survivors, ArrayType *candidates, Oid collation,
			   const Filters *filters)
{
	BloomItems	items;
	const char *batch[BLOOMEXP_BATCH];
	int			nbatch;

	bloomexp_items_begin(&items, candidates, collation);
	for (int i = 0; i < filters->n; i++)
		bloomexp_require_kind(&filters->filters[i], items.type->kind);

	survivors->type = items.type;
	survivors->element_type = items.element_type;
	survivors->items = palloc_extended(Max(items.nelements, 1) * sizeof(char *), MCXT_ALLOC_HUGE);
	survivors->n = 0;
	survivors->next = 0;
	while ((nbatch = bloomexp_items_next(&items, batch, BLOOMEXP_BATCH)) > 0)
	{
		int			picks[BLOOMEXP_BATCH];
		int			npicks = pick_survivors(filters, items.type, batch, nbatch, picks);

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < npicks; i++)
			survivors->items[survivors->n++] = batch[picks[i]];
	}
}

/* The one filter of an argument; NULL is none. */
static void
open_filter(FunctionCallInfo fcinfo, int argno, Filters *filters)
{
	filters->n = 0;
	if (PG_ARGISNULL(argno))
		return;
	filters->filters = palloc(sizeof(BloomFilter));
	bloomexp_open(&filters->filters[filters->n++], PG_GETARG_BLOOM_PP(argno));
}

/* The filters of an array argument, NULLs left out. */
static void
open_filters(FunctionCallInfo fcinfo, int argno, Filters *filters)
{
	ArrayType  *array;
	Datum	   *values;
	bool	   *nulls;
	int			n;

	filters->n = 0;
	if (PG_ARGISNULL(argno))
		return;
	array = PG_GETARG_ARRAYTYPE_P(argno);
	bloomexp_check_dimensions(array, "filters");
	deconstruct_array(array, ARR_ELEMTYPE(array), -1, false, TYPALIGN_INT,
					  &values, &nulls, &n);
	filters->filters = palloc_extended(Max(n, 1) * sizeof(BloomFilter), MCXT_ALLOC_HUGE);
	for (int i = 0; i < n; i++)
	{
		if (!nulls[i])
			bloomexp_open(&filters->filters[filters->n++],
						  PG_DETOAST_DATUM_PACKED(values[i]));
	}
}

/*
 * Body of the set-returning functions; `open` gets at the filters of argument
 * 1.  One row a call, from the second call on just the next survivor.
 */
static Datum
exclude(FunctionCallInfo fcinfo,
		void (*open) (FunctionCallInfo fcinfo, int argno, Filters *filters))
{
	FuncCallContext *call;
	Survivors  *survivors;
	const char *item;

	if (SRF_IS_FIRSTCALL())
	{
		MemoryContext caller;

		call = SRF_FIRSTCALL_INIT();
		caller = MemoryContextSwitchTo(call->multi_call_memory_ctx);
		survivors = palloc0(sizeof(Survivors));
		if (!PG_ARGISNULL(0))
		{
			Filters		filters;

			open(fcinfo, 1, &filters);
			find_survivors(survivors, PG_GETARG_ARRAYTYPE_P(0), PG_GET_COLLATION(), &filters);
		}
		call->user_fctx = survivors;
		MemoryContextSwitchTo(caller);
	}

	call = SRF_PERCALL_SETUP();
	survivors = call->user_fctx;
	if (survivors->next == survivors->n)
		SRF_RETURN_DONE(call);
	item = survivors->items[survivors->next++];
	SRF_RETURN_NEXT(call, fetch_att(item, bloomexp_by_value(survivors->type),
									survivors->type->length));
}

/* bloom_exclude(candidates, filter) */
Datum
bloomexp_exclude(PG_FUNCTION_ARGS)
{
	return exclude(fcinfo, open_filter);
}

/* bloom_exclude(candidates, VARIADIC filters) */
Datum
bloomexp_exclude_variadic(PG_FUNCTION_ARGS)
{
	return exclude(fcinfo, open_filters);
}

/* A new array of the survivors, of their type and without NULLs. */
static ArrayType *
array_of_survivors(const Survivors *survivors)
{
	const BloomItemType *type = survivors->type;
	Size		size = ARR_OVERHEAD_NONULLS(1);
	ArrayType  *array;
	char	   *next;

	if (survivors->n == 0)
		return construct_empty_array(survivors->element_type);

	/* no more than the candidates took, so it can't be too much */
	if (type->length > 0)
		size += (Size) survivors->n * type->length;
	else
	{
		for (int i = 0; i < survivors->n; i++)
			size += INTALIGN(VARSIZE_ANY(survivors->items[i]));
	}

	array = palloc0(size);
	SET_VARSIZE(array, size);
	array->ndim = 1;
	array->dataoffset = 0;
	array->elemtype = survivors->element_type;
	ARR_DIMS(array)[0] = survivors->n;
	ARR_LBOUND(array)[0] = 1;

	next = ARR_DATA_PTR(array);
	if (type->length == sizeof(int64))
	{
		for (int i = 0; i < survivors->n; i++)
			((int64 *) next)[i] = *(const int64 *) survivors->items[i];
		return array;
	}
	for (int i = 0; i < survivors->n; i++)
	{
		const char *item = survivors->items[i];
		Size		length = type->length > 0 ? (Size) type->length : VARSIZE_ANY(item);

		memcpy(next, item, length);
		next += type->length > 0 ? length : INTALIGN(length);
	}
	return array;
}

/* bloom_exclude_array(candidates, filter), candidates - filter */
Datum
bloomexp_exclude_array(PG_FUNCTION_ARGS)
{
	Filters		filters;
	Survivors	survivors;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();

	/* an array type of its own, whose values have their bounds start at 0 */
	if (get_fn_expr_argtype(fcinfo->flinfo, 0) == INT2VECTOROID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("candidates of type int2vector are not supported"),
				 errhint("Cast the candidates to smallint[].")));

	open_filter(fcinfo, 1, &filters);
	find_survivors(&survivors, PG_GETARG_ARRAYTYPE_P(0), PG_GET_COLLATION(), &filters);
	PG_RETURN_ARRAYTYPE_P(array_of_survivors(&survivors));
}

/*
 * bloomexp_exclude_support
 *		Planner support: bloom_exclude() returns at most as many rows as there
 *		are candidates.  How many were exposed nobody knows beforehand; too many
 *		rows expected does less harm than too few.
 */
Datum
bloomexp_exclude_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	SupportRequestRows *rows = (SupportRequestRows *) request;

	if (!IsA(request, SupportRequestRows) || !is_funcclause(rows->node))
		PG_RETURN_POINTER(NULL);
	rows->rows = ARRAY_LENGTH(rows->root, linitial(((FuncExpr *) rows->node)->args));
	PG_RETURN_POINTER(rows);
}
