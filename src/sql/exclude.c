/*-------------------------------------------------------------------------
 *
 * exclude.c
 *	  SQL functions that exclude candidates that were shown before.
 *
 * One pass over the candidates, batch by batch, copies those that remain into the result: an
 * array of the candidates' type, the rows of a set-returning function, or packed bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "kernel/probe.h"
#include "sql/arguments.h"
#include "sql/hash_set.h"
#include "sql/item.h"
#include "sql/lookup.h"

/* The fewest candidates that are tested at a time, even if fewer are wanted. */
#define MIN_CANDIDATES 64

/* The value of `wanted` for all candidates that remain, duplicates too. */
#define ALL_CANDIDATES (-1)

/* The value of `hashes_arg` if no argument has hashes to exclude. */
#define NO_HASHES (-1)

/* What is excluded: items that one of the filters contains, and items with these hashes. */
typedef struct Exclusion
{
	const Datum *filters;		/* 0 stands for no filter */
	int			nfilters;
	const BloomHashSet *hashes; /* NULL for none */
} Exclusion;

/*
 * Set omit[] for duplicates, and for everything after the first `wanted` distinct candidates of
 * all batches.  `selection` has the hashes of the candidates kept so far.
 */
static void
select_items(BloomHashSet *selection, uint32 wanted, const BloomItems *items, bool *omit)
{
	for (int i = 0; i < items->n; i++)
	{
		if (!omit[i])
			omit[i] = selection->n == wanted ||
				!bloomexp_hash_set_insert(selection, items->hashes[i]);
	}
}

/*
 * Copy the candidates that are not excluded to `out`, laid out as in an array: the first `wanted`
 * distinct ones, or ALL_CANDIDATES.  Returns the end of the copies, and sets *remaining to their
 * number.
 */
static char *
copy_remaining(BloomItems *candidates, const Exclusion *exclusion, int wanted, char *out,
			   int *remaining)
{
	BloomHashSet selection;
	BloomLookups lookups;
	bool		omit[BLOOMEXP_BATCH];
	bool		distinct = wanted != ALL_CANDIDATES;
	int			most = distinct ? wanted : INT_MAX;
	int			batch = BLOOMEXP_BATCH;
	int64		expected_tests = Max((int64) most * 2, MIN_CANDIDATES); /* if half remain */

	bloomexp_lookup_open_all(&lookups, exclusion->filters, exclusion->nfilters, candidates->type,
							 Min(expected_tests, candidates->nitems));
	if (distinct)
		bloomexp_hash_set_init(&selection, Min(Min(most, candidates->nitems), BLOOMEXP_BATCH));

	*remaining = 0;
	while (*remaining < most)
	{
		/* test no more than probably needed: each test in a large filter reads a chunk of it */
		if (most - *remaining < BLOOMEXP_BATCH / 2)
			batch = Max((most - *remaining) * 2, MIN_CANDIDATES);
		if (!bloomexp_item_next(candidates, batch))
			break;
		memset(omit, false, candidates->n);
		if (exclusion->hashes != NULL)
			bloomexp_hash_set_mark(exclusion->hashes, candidates->hashes, candidates->n, omit);
		bloomexp_lookup_mark(&lookups, candidates, omit);
		if (distinct)
			select_items(&selection, most, candidates, omit);
		*remaining += bloomexp_item_copy(&out, candidates, omit);
	}
	return out;
}

/*
 * Return the candidates of argument 0 that are not excluded, as an array of their type without
 * nulls, in a memory context.  `wanted` is that of copy_remaining().
 */
static ArrayType *
exclude(FunctionCallInfo fcinfo, const Exclusion *exclusion, int wanted, MemoryContext context)
{
	ArrayType  *array = bloomexp_arguments_array(fcinfo, 0);
	ArrayType  *result;
	BloomItems	candidates;
	char	   *end;
	int			remaining;

	bloomexp_item_begin(&candidates, array, PG_GET_COLLATION());
	result = MemoryContextAllocHuge(context,
									MAXALIGN(VARSIZE(array)) + ARR_OVERHEAD_NONULLS(1));
	result->ndim = 1;
	result->dataoffset = 0;
	result->elemtype = ARR_ELEMTYPE(array);
	end = copy_remaining(&candidates, exclusion, wanted, ARR_DATA_PTR(result), &remaining);
	if (remaining == 0)
	{
		/* an empty array has no dimension */
		result->ndim = 0;
		SET_VARSIZE(result, ARR_OVERHEAD_NONULLS(0));
		return result;
	}
	SET_VARSIZE(result, end - (char *) result);
	*ARR_DIMS(result) = remaining;
	*ARR_LBOUND(result) = 1;
	return result;
}

/*
 * Return the hashes of an argument as a set in *space, or NULL if the argument is NULL or has
 * none.
 */
static const BloomHashSet *
read_hashes(FunctionCallInfo fcinfo, int argno, BloomHashSet *space)
{
	const uint64 *hashes;
	int			n;

	hashes = bloomexp_arguments_hashes(fcinfo, argno, &n);
	if (n == 0)
		return NULL;
	bloomexp_hash_set_fill(space, hashes, n);
	return space;
}

/*
 * Return the candidates of argument 0 without those that the filter of argument 1 contains, and
 * without those whose hashes are in argument `hashes_arg`, unless that is NO_HASHES.  `wanted` is
 * that of copy_remaining().
 */
static Datum
exclude_array(FunctionCallInfo fcinfo, int wanted, int hashes_arg)
{
	Datum		filter = PG_ARGISNULL(1) ? 0 : PG_GETARG_DATUM(1);
	Exclusion	exclusion = {.filters = &filter, .nfilters = 1};
	BloomHashSet hashes;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	/* int2vector is an array type with subscripts from 0, which its readers rely on */
	if (get_fn_expr_argtype(fcinfo->flinfo, 0) == INT2VECTOROID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("candidates of type int2vector are not supported"),
				 errhint("Cast the candidates to smallint[].")));
	if (hashes_arg != NO_HASHES)
		exclusion.hashes = read_hashes(fcinfo, hashes_arg, &hashes);
	PG_RETURN_ARRAYTYPE_P(exclude(fcinfo, &exclusion, wanted, CurrentMemoryContext));
}

/* bloom_exclude_array(candidates, filter), candidates - filter */
PG_FUNCTION_INFO_V1(bloomexp_exclude_array);
Datum
bloomexp_exclude_array(PG_FUNCTION_ARGS)
{
	return exclude_array(fcinfo, ALL_CANDIDATES, NO_HASHES);
}

/* bloom_exclude_array(candidates, filter, hashes) */
PG_FUNCTION_INFO_V1(bloomexp_exclude_array_hashes);
Datum
bloomexp_exclude_array_hashes(PG_FUNCTION_ARGS)
{
	return exclude_array(fcinfo, ALL_CANDIDATES, 2);
}

/* Return how many distinct candidates are wanted, from argument 2: all if it is NULL. */
static int
get_wanted(FunctionCallInfo fcinfo)
{
	int			wanted = PG_ARGISNULL(2) ? INT_MAX : PG_GETARG_INT32(2);

	if (wanted < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("wanted must not be negative")));
	return wanted;
}

/* bloom_exclude_first(candidates, filter, wanted) */
PG_FUNCTION_INFO_V1(bloomexp_exclude_first);
Datum
bloomexp_exclude_first(PG_FUNCTION_ARGS)
{
	return exclude_array(fcinfo, get_wanted(fcinfo), NO_HASHES);
}

/* bloom_exclude_first(candidates, filter, wanted, hashes) */
PG_FUNCTION_INFO_V1(bloomexp_exclude_first_hashes);
Datum
bloomexp_exclude_first_hashes(PG_FUNCTION_ARGS)
{
	return exclude_array(fcinfo, get_wanted(fcinfo), 3);
}

/* bloom_exclude_packed(candidates, filter) */
PG_FUNCTION_INFO_V1(bloomexp_exclude_packed);
Datum
bloomexp_exclude_packed(PG_FUNCTION_ARGS)
{
	Datum		filter = PG_ARGISNULL(1) ? 0 : PG_GETARG_DATUM(1);
	Exclusion	exclusion = {.filters = &filter, .nfilters = 1};
	bytea	   *packed;
	bytea	   *result;
	BloomItems	candidates;
	int			remaining;
	char	   *end;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();

	packed = PG_GETARG_BYTEA_PP(0);
	bloomexp_item_begin_packed(&candidates, packed);
	result = palloc(VARHDRSZ + VARSIZE_ANY_EXHDR(packed));
	end = copy_remaining(&candidates, &exclusion, ALL_CANDIDATES, VARDATA(result), &remaining);
	SET_VARSIZE(result, end - (char *) result);
	PG_RETURN_BYTEA_P(result);
}

/*
 * Begin a set-returning function: find all candidates of argument 0 that remain, for next_row().
 *
 * They are kept as an array, which bloom_exclude_array() would return, and a Datum for each of its
 * elements.  A tuplestore would be a little faster in FROM, but slower in the SELECT list.
 */
static void
begin_rows(FunctionCallInfo fcinfo, const Exclusion *exclusion)
{
	FuncCallContext *call = SRF_FIRSTCALL_INIT();
	MemoryContext caller;
	ArrayType  *array;
	Datum	   *rows;
	int			n;
	int16		length;
	bool		by_value;
	char		align;

	if (PG_ARGISNULL(0))
		return;
	array = exclude(fcinfo, exclusion, ALL_CANDIDATES, call->multi_call_memory_ctx);
	get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &align);
	caller = MemoryContextSwitchTo(call->multi_call_memory_ctx);
	deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, align, &rows, NULL, &n);
	MemoryContextSwitchTo(caller);
	call->user_fctx = rows;
	call->max_calls = n;
}

/* Return the next row of those that begin_rows() found. */
static Datum
next_row(FunctionCallInfo fcinfo)
{
	FuncCallContext *call = SRF_PERCALL_SETUP();
	Datum		row;

	if (call->call_cntr == call->max_calls)
		SRF_RETURN_DONE(call);
	row = ((Datum *) call->user_fctx)[call->call_cntr];
	SRF_RETURN_NEXT(call, row);
}

/* bloom_exclude(candidates, filter) */
PG_FUNCTION_INFO_V1(bloomexp_exclude);
Datum
bloomexp_exclude(PG_FUNCTION_ARGS)
{
	if (SRF_IS_FIRSTCALL())
	{
		Datum		filter = PG_ARGISNULL(1) ? 0 : PG_GETARG_DATUM(1);
		Exclusion	exclusion = {.filters = &filter, .nfilters = 1};

		begin_rows(fcinfo, &exclusion);
	}
	return next_row(fcinfo);
}

/* bloom_exclude(candidates, filter, hashes) */
PG_FUNCTION_INFO_V1(bloomexp_exclude_hashes);
Datum
bloomexp_exclude_hashes(PG_FUNCTION_ARGS)
{
	if (SRF_IS_FIRSTCALL())
	{
		Datum		filter = PG_ARGISNULL(1) ? 0 : PG_GETARG_DATUM(1);
		BloomHashSet hashes;
		Exclusion	exclusion = {.filters = &filter, .nfilters = 1};

		if (!PG_ARGISNULL(0))
			exclusion.hashes = read_hashes(fcinfo, 2, &hashes);
		begin_rows(fcinfo, &exclusion);
	}
	return next_row(fcinfo);
}

/* bloom_exclude(candidates, VARIADIC filters) */
PG_FUNCTION_INFO_V1(bloomexp_exclude_filters);
Datum
bloomexp_exclude_filters(PG_FUNCTION_ARGS)
{
	if (SRF_IS_FIRSTCALL())
	{
		Datum	   *filters = NULL;
		bool	   *nulls;
		int			n = 0;
		Exclusion	exclusion = {.filters = NULL};

		if (!PG_ARGISNULL(1))
		{
			ArrayType  *array = bloomexp_arguments_array(fcinfo, 1);

			bloomexp_item_check_dimensions(array, "filters");
			/* deconstruct_array() returns 0 for a NULL, and 0 is no filter */
			deconstruct_array(array, ARR_ELEMTYPE(array), -1, false, TYPALIGN_INT,
							  &filters, &nulls, &n);
		}
		exclusion.filters = filters;
		exclusion.nfilters = n;
		begin_rows(fcinfo, &exclusion);
	}
	return next_row(fcinfo);
}

/*
 * planner support function of bloom_exclude()
 *
 * The estimate is the number of candidates, or PostgreSQL's guess of it, as for unnest().  How many
 * of them remain is unknown, and too high an estimate does less harm than too low a one.
 */
PG_FUNCTION_INFO_V1(bloomexp_exclude_support);
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
