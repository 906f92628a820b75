/*-------------------------------------------------------------------------
 *
 * union_functions.c
 *	  bloom_union() and bloom_union_agg().
 *
 * bloom_union() is also the transition and the combine function of the aggregate,
 * whose state has the type of a filter: a distributed database can send that from
 * node to node, and cannot send a state of type internal.  To copy the whole union
 * in each row would take a time that is quadratic in the number of filters.  So from
 * the second filter on the state is an expanded object, which the executor hands
 * from row to row as it is, and which becomes a value when it is stored, sent or
 * returned.  See array_append(), which does the same.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/memnodes.h"
#include "utils/expandeddatum.h"
#include "utils/memutils.h"

#include "sql/arguments.h"
#include "value/compat.h"
#include "value/layout.h"
#include "value/union.h"

PG_FUNCTION_INFO_V1(bloomexp_union);
PG_FUNCTION_INFO_V1(bloomexp_union_agg_final);

/* A union as an expanded object, which owns all that it refers to. */
typedef struct ExpandedUnion
{
	ExpandedObjectHeader header;
	BloomUnion	united;
} ExpandedUnion;

static Size
get_flat_size(ExpandedObjectHeader *header)
{
	return bloomexp_union_size(&((ExpandedUnion *) header)->united);
}

static void
flatten_into(ExpandedObjectHeader *header, void *result, Size allocated_size)
{
	BloomFilter filter;

	bloomexp_union_get_filter(&((ExpandedUnion *) header)->united, &filter);
	bloomexp_layout_form_into(&filter, result, allocated_size);
	bloomexp_layout_close(&filter);
}

static const ExpandedObjectMethods expanded_union_methods = {
	get_flat_size,
	flatten_into
};

/*
 * Return the memory context of the states of an aggregate's groups.
 *
 * The executor takes an expanded object over as it is only if it is in a child of
 * the aggregate's context.  A child for each group would be slow: a hash aggregate
 * adds up the memory of all of them for each new group.  So they share one, and
 * none of them may be deleted by itself; it never is, because the transition returns
 * the object that it was given.
 */
static MemoryContext
context_of_states(MemoryContext aggregate)
{
	static const char identifier[] = "bloom_union_agg";
	MemoryContext context = aggregate->firstchild;

	while (context != NULL && context->ident != identifier)
		context = context->nextchild;
	if (context == NULL)
	{
		context = AllocSetContextCreate(aggregate, "bloom unions", ALLOCSET_START_SMALL_SIZES);
		MemoryContextSetIdentifier(context, identifier);
	}
	return context;
}

/* Add the filter of argument 1 to the state of an aggregate, expanded if it is a filter still. */
static Datum
add_to_state(FunctionCallInfo fcinfo, MemoryContext aggregate)
{
	Datum		datum = PG_GETARG_DATUM(0);
	ExpandedUnion *state = NULL;
	BloomFilter filter;

	if (VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(datum)) &&
		DatumGetEOHP(datum)->eoh_methods == &expanded_union_methods)
		state = (ExpandedUnion *) DatumGetEOHP(datum);
	if (state == NULL)
	{
		MemoryContext context = context_of_states(aggregate);

		state = MemoryContextAlloc(context, sizeof(ExpandedUnion));
		EOH_init_header(&state->header, &expanded_union_methods, context);
		bloomexp_layout_open(&filter, PG_GETARG_BLOOM_PP(0));
		bloomexp_union_start(&state->united, &filter, context, true);
	}
	bloomexp_layout_open(&filter, PG_GETARG_BLOOM_PP(1));
	bloomexp_union_add(&state->united, &filter);
	PG_RETURN_DATUM(EOHPGetRWDatum(&state->header));
}

/*
 * bloom_union(a, b), a | b
 *
 * It needs nothing of the call site, which a remote node may not have.
 */
Datum
bloomexp_union(PG_FUNCTION_ARGS)
{
	MemoryContext aggregate;
	BloomFilter a;
	BloomFilter b;
	BloomUnion	united;

	if (PG_ARGISNULL(1))
		return bloomexp_arguments_return_untouched(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_DATUM(PG_GETARG_DATUM(1));
	if (AggCheckCallContext(fcinfo, &aggregate))
		return add_to_state(fcinfo, aggregate);

	bloomexp_layout_open(&a, PG_GETARG_BLOOM_PP(0));
	bloomexp_layout_open(&b, PG_GETARG_BLOOM_PP(1));
	bloomexp_union_start(&united, &a, CurrentMemoryContext, false);
	bloomexp_union_add(&united, &b);
	bloomexp_union_get_filter(&united, &a);
	PG_RETURN_POINTER(bloomexp_layout_form(&a));
}

/*
 * Return the union as a value, in one piece.  Later releases of PostgreSQL would return
 * the expanded object, and each read of that copies all of it.
 */
Datum
bloomexp_union_agg_final(PG_FUNCTION_ARGS)
{
	Datum		state = PG_GETARG_DATUM(0);

	if (VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(state)))
		PG_RETURN_POINTER(PG_DETOAST_DATUM_PACKED(state));
	PG_RETURN_DATUM(state);
}
