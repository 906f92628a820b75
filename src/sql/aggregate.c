/*-------------------------------------------------------------------------
 *
 * aggregate.c
 *	  bloom_agg() and bloom_window_agg(): one filter of a group's items, sized for
 *	  the distinct ones.
 *
 * The size is known only when all items are.  So the state is a list of their hashes,
 * of 8 bytes each, or of 16 with the time slice for a filter with a window; the filter is
 * made at the end.  Bits do not depend on the order in which they are set, and an item
 * of a window goes into the slice of its newest exposure only, so every plan makes the
 * same bytes.  Dropping repetitions from the list changes nothing that a later row can
 * see, so functions that only read the state may do it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "libpq/pqformat.h"
#include "utils/timestamp.h"

#include "sql/arguments.h"
#include "sql/item.h"
#include "value/compat.h"
#include "value/distinct.h"
#include "value/filter.h"
#include "value/growth.h"
#include "value/kind.h"
#include "value/layout.h"
#include "value/list.h"
#include "value/window.h"

PG_FUNCTION_INFO_V1(bloomexp_agg);
PG_FUNCTION_INFO_V1(bloomexp_window_agg);
PG_FUNCTION_INFO_V1(bloomexp_agg_combine);
PG_FUNCTION_INFO_V1(bloomexp_agg_serialize);
PG_FUNCTION_INFO_V1(bloomexp_agg_deserialize);
PG_FUNCTION_INFO_V1(bloomexp_agg_final);

/* A filter for more than a thousand times what was seen is a mistake. */
#define MAX_HEADROOM 1000

static const BloomListType hash_list = {
	.size = sizeof(uint64),
	.initial_space = 64,
	.first_compact = 8192,
	.max = 120000000,
	.compact = bloomexp_distinct_keep,
	.hint = "Make the filter with bloom_new(capacity) and add the items in parts."
};

static const BloomListType exposure_list = {
	.size = sizeof(BloomExposure),
	.initial_space = 8,
	.first_compact = 2048,
	.max = 60000000,
	.compact = bloomexp_window_keep_newest,
	.hint = "Make the filter with bloom_window() and add the items in parts."
};

/* What all rows of a group have in common; without padding, because it is serialized. */
typedef struct Parameters
{
	double		fpr;
	double		headroom;		/* as a fraction of the items seen */
	int64		width;			/* of the window, in microseconds; 0: without one */
	int32		slices;
	BloomKind	kind;
} Parameters;

StaticAssertDecl(sizeof(Parameters) == 4 * sizeof(int64), "the parameters of an aggregate have no padding");

typedef struct AggState
{
	Parameters	parameters;
	int64		slice_length;
	BloomList	list;			/* hashes, or exposures */
} AggState;

static MemoryContext
get_context(FunctionCallInfo fcinfo)
{
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "aggregate function called in non-aggregate context");
	return context;
}

/* Make a state with space for elements of `size` bytes in all. */
static AggState *
new_state(MemoryContext context, const Parameters *parameters, Size size)
{
	AggState   *state = MemoryContextAlloc(context, sizeof(AggState));
	bool		windowed = parameters->width > 0;

	state->parameters = *parameters;
	state->slice_length = windowed ? bloomexp_window_slice_length(parameters->width, parameters->slices) : 0;
	bloomexp_list_init(&state->list, windowed ? &exposure_list : &hash_list, context, size);
	return state;
}

/* Raise an error if the parameter `name` differs within a group. */
static void
require_same(double mine, double other, const char *name)
{
	if (mine != other)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be the same for all rows of a group", name),
				 errdetail("The values are %.17g and %.17g.", mine, other)));
}

static void
require_same_parameters(const Parameters *mine, const Parameters *other)
{
	require_same(mine->fpr, other->fpr, "fpr");
	require_same(mine->headroom, other->headroom, "headroom");
	require_same(mine->slices, other->slices, "slices");
	if (mine->width != other->width)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be the same for all rows of a group", "width")));
}

/* Get the parameters of bloom_agg() in this row. */
static Parameters
get_parameters(FunctionCallInfo fcinfo, BloomKind kind)
{
	static const char *const names[] = {"fpr", "headroom"};

	bloomexp_arguments_require_not_null(fcinfo, 2, names, PG_NARGS() - 2);
	return (Parameters) {
		.kind = kind,
		.fpr = PG_NARGS() > 2 ? PG_GETARG_FLOAT8(2) : BLOOMEXP_DEFAULT_FPR,
		.headroom = PG_NARGS() > 3 ? PG_GETARG_FLOAT8(3) : 0.0
	};
}

/* Transition: bloom_agg(item [, fpr [, headroom]]) */
Datum
bloomexp_agg(PG_FUNCTION_ARGS)
{
	const BloomItemType *type = bloomexp_arguments_item_type(fcinfo);
	AggState   *state = PG_ARGISNULL(0) ? NULL : (AggState *) PG_GETARG_POINTER(0);

	if (state == NULL)
	{
		Parameters	parameters = get_parameters(fcinfo, type->kind);

		bloomexp_growth_check_fpr(parameters.fpr);
		if (!(parameters.headroom >= 0.0 && parameters.headroom <= MAX_HEADROOM))	/* NaN too */
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("headroom must be between 0 and %d", MAX_HEADROOM),
					 errhint("Write 0.2 for room for 20%% more items.")));
		state = new_state(get_context(fcinfo), &parameters, 0);
	}
	/* the same in every row of nearly every query: nothing else may cost anything here */
	else if ((PG_NARGS() > 2 && (PG_ARGISNULL(2) || PG_GETARG_FLOAT8(2) != state->parameters.fpr)) ||
			 (PG_NARGS() > 3 && (PG_ARGISNULL(3) || PG_GETARG_FLOAT8(3) != state->parameters.headroom)))
	{
		Parameters	parameters = get_parameters(fcinfo, type->kind);

		require_same_parameters(&state->parameters, &parameters);
	}

	if (!PG_ARGISNULL(1))
	{
		uint64		hash = bloomexp_arguments_hash(fcinfo, type, 0);

		bloomexp_list_add(&state->list, &hash, sizeof(hash));
	}
	PG_RETURN_POINTER(state);
}

/* Transition: bloom_window_agg(item, shown_at, width, slices, fpr) */
Datum
bloomexp_window_agg(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"width", "slices", "fpr"};
	const BloomItemType *type = bloomexp_arguments_item_type(fcinfo);
	Parameters	parameters = {.kind = type->kind};
	AggState   *state;

	bloomexp_arguments_require_not_null(fcinfo, 3, names, lengthof(names));
	parameters.width = bloomexp_arguments_width(PG_GETARG_INTERVAL_P(3));
	parameters.slices = PG_GETARG_INT32(4);
	parameters.fpr = PG_GETARG_FLOAT8(5);
	if (PG_ARGISNULL(0))
	{
		BloomFilter filter;

		/* for its errors */
		bloomexp_window_init(&filter, parameters.width, parameters.slices, parameters.fpr, 0);
		state = new_state(get_context(fcinfo), &parameters, 0);
	}
	else
	{
		state = (AggState *) PG_GETARG_POINTER(0);
		require_same_parameters(&state->parameters, &parameters);
	}

	if (!PG_ARGISNULL(1))
	{
		int64		shown_at = bloomexp_arguments_time(fcinfo, 2, "shown_at");
		BloomExposure exposure = {
			.hash = bloomexp_arguments_hash(fcinfo, type, 0),
			.slice = bloomexp_window_slice_of(shown_at, state->slice_length)
		};

		bloomexp_list_add(&state->list, &exposure, sizeof(exposure));
	}
	PG_RETURN_POINTER(state);
}

Datum
bloomexp_agg_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = get_context(fcinfo);
	AggState   *state;
	AggState   *other;

	if (PG_ARGISNULL(1))
		return bloomexp_arguments_return_untouched(fcinfo);
	other = (AggState *) PG_GETARG_POINTER(1);
	state = PG_ARGISNULL(0) ? new_state(context, &other->parameters, other->list.n * other->list.type->size) :
		(AggState *) PG_GETARG_POINTER(0);
	require_same_parameters(&state->parameters, &other->parameters);
	bloomexp_list_append(&state->list, other->list.elements, other->list.n);
	PG_RETURN_POINTER(state);
}

/* Write the state for another process of the same server: parameters, then the list. */
Datum
bloomexp_agg_serialize(PG_FUNCTION_ARGS)
{
	AggState   *state = (AggState *) PG_GETARG_POINTER(0);
	Size		size;
	StringInfoData message;

	bloomexp_list_compact(&state->list);
	size = state->list.n * state->list.type->size;
	pq_begintypsend(&message);
	enlargeStringInfo(&message, sizeof(Parameters) + size);
	appendBinaryStringInfo(&message, (char *) &state->parameters, sizeof(Parameters));
	appendBinaryStringInfo(&message, (char *) state->list.elements, size);
	PG_RETURN_BYTEA_P(pq_endtypsend(&message));
}

/* Read a state for bloomexp_agg_combine(), which copies it. */
Datum
bloomexp_agg_deserialize(PG_FUNCTION_ARGS)
{
	bytea	   *message = PG_GETARG_BYTEA_PP(0);
	const char *bytes = VARDATA_ANY(message);
	Size		size = VARSIZE_ANY_EXHDR(message) - sizeof(Parameters);
	Parameters	parameters;
	AggState   *state;

	memcpy(&parameters, bytes, sizeof(parameters));
	state = new_state(CurrentMemoryContext, &parameters, size);
	state->list.n = size / state->list.type->size;
	memcpy(state->list.elements, bytes + sizeof(parameters), size);
	PG_RETURN_POINTER(state);
}

/* Make the filter; NULL for a group without items. */
Datum
bloomexp_agg_final(PG_FUNCTION_ARGS)
{
	AggState   *state = PG_ARGISNULL(0) ? NULL : (AggState *) PG_GETARG_POINTER(0);
	const Parameters *parameters;
	BloomFilter filter;

	if (state == NULL || state->list.n == 0)
		PG_RETURN_NULL();
	bloomexp_list_compact(&state->list);
	parameters = &state->parameters;
	if (parameters->width == 0)
		PG_RETURN_POINTER(bloomexp_filter_build(parameters->kind, state->list.elements, state->list.n,
												parameters->fpr, parameters->headroom));
	bloomexp_window_init(&filter, parameters->width, parameters->slices, parameters->fpr, 0);
	PG_RETURN_POINTER(bloomexp_window_add(&filter, parameters->kind, state->list.elements,
										  state->list.n, true));
}
