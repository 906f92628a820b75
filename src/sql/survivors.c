/*-------------------------------------------------------------------------
 *
 * survivors.c
 *	  The candidates that no filter of a call contains.
 *
 * The others are marked batch by batch, and these go into an array of the candidates' type.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "sql/survivors.h"
#include "value/filter.h"
#include "value/kind.h"

/*
 * bloomexp_survivors_check_type
 *		Refuse candidates that cannot go out as an array of their type.
 */
void
bloomexp_survivors_check_type(FunctionCallInfo fcinfo, int argno)
{
	/* an array type of its own, whose subscripts start at 0 */
	if (get_fn_expr_argtype(fcinfo->flinfo, argno) == INT2VECTOROID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("candidates of type int2vector are not supported"),
				 errhint("Cast the candidates to smallint[].")));
}

/*
 * bloomexp_survivors_require_kind
 *		Refuse candidates of another kind than what the filters hold.
 */
void
bloomexp_survivors_require_kind(const BloomFilters *filters, BloomKind kind)
{
	for (int i = 0; i < filters->n; i++)
		bloomexp_filter_require_kind(&filters->stored[i].filter, kind);
}

/*
 * bloomexp_survivors_mark
 *		Mark the candidates of a batch that a filter contains, and no others.
 */
void
bloomexp_survivors_mark(const BloomFilters *filters, BloomBatch *batch, bool *exposed)
{
	memset(exposed, false, batch->n);
	for (int i = 0; i < filters->n; i++)
	{
		BloomStored *stored = &filters->stored[i];

		if (i > 0 && memchr(exposed, false, batch->n) == NULL)
			break;
		bloomexp_stored_mark(stored, bloomexp_item_hashes(batch, stored->filter.seed),
							 batch->n, exposed);
	}
}

/*
 * bloomexp_survivors_open_array
 *		Room in a memory context for an array of survivors, which take no more
 *		than the candidates did; they go to its ARR_DATA_PTR.
 */
ArrayType *
bloomexp_survivors_open_array(MemoryContext context, const ArrayType *candidates)
{
	ArrayType  *array = MemoryContextAllocHuge(context, MAXALIGN(VARSIZE(candidates)) +
											   ARR_OVERHEAD_NONULLS(1));

	array->ndim = 1;
	array->dataoffset = 0;
	return array;
}

/*
 * bloomexp_survivors_close_array
 *		That array as a value: so many survivors, up to `end`.
 */
ArrayType *
bloomexp_survivors_close_array(ArrayType *array, char *end, int survivors, Oid element_type)
{
	array->elemtype = element_type;
	if (survivors == 0)
	{
		/* an empty array has no dimension; it must stay in its memory context */
		array->ndim = 0;
		SET_VARSIZE(array, ARR_OVERHEAD_NONULLS(0));
		return array;
	}
	SET_VARSIZE(array, end - (char *) array);
	ARR_DIMS(array)[0] = survivors;
	ARR_LBOUND(array)[0] = 1;
	return array;
}
