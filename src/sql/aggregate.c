/*-------------------------------------------------------------------------
 *
 * aggregate.c
 *	  bloom_agg() and bloom_window_agg(): one filter of the items of a group, sized
 *	  for the distinct items.
 *
 * The size of the filter is known only when all items are.  So the state is a list of their
 * hashes, 8 bytes each, or 16 bytes with the time slices for a window.  The filter is made at
 * the end.  Every plan makes the same bytes, because the order in which bits are set does not
 * matter, and an item of a window goes only into the slice of its newest exposure.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "libpq/pqformat.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "sql/arguments.h"
#include "sql/item.h"
#include "value/filter.h"
#include "value/growth.h"
#include "value/layout.h"
#include "value/window.h"

/* The most headroom.  More than a thousand times the items seen would be a mistake. */
#define MAX_HEADROOM 1000

/* A list with space for fewer elements grows without a search for duplicates. */
#define FIRST_COMPACT 8192

/* The most bytes of distinct elements, so that a serialized list fits in 1 GB. */
#define MAX_LIST 960000000

/* The arguments that all rows of a group have in common.  Serialized, so it has no padding. */
typedef struct Parameters
{
	double		fpr;
	double		headroom;		/* as a fraction of the items seen */
	int64		width;			/* of the window, in microseconds; 0 without a window */
	int32		slices;
	BloomKind	kind;
} Parameters;

StaticAssertDecl(sizeof(Parameters) == 4 * sizeof(int64),
				 "the parameters of an aggregate have no padding");

/*
 * The state: a list of hashes, or of exposures for a window, with duplicates.
 *
 * Rows of many groups come in turn, so the state of a group is rarely in the CPU's cache.
 * Appending to a list touches one cache line, inserting into a hash table two or three.
 * Duplicates are dropped now and then, for one group at a time.
 */
typedef struct AggState
{
	Parameters	parameters;
	int64		slice_length;
	Size		size;			/* of an element */
	char	   *elements;
	uint64		n;
	uint64		space;			/* elements that fit in `elements` */
} AggState;

/* Return an empty state with space for `space` elements. */
static AggState *
new_state(MemoryContext context, const Parameters *parameters, uint64 space)
{
	AggState   *state = MemoryContextAllocZero(context, sizeof(AggState));
	bool		windowed = parameters->width > 0;

	state->parameters = *parameters;
	if (windowed)
		state->slice_length = bloomexp_window_slice_length(parameters->width, parameters->slices);
	state->size = windowed ? sizeof(BloomExposure) : sizeof(uint64);
	state->space = Max(space, windowed ? 8 : 64);
	state->elements = MemoryContextAllocHuge(context, state->space * state->size);
	return state;
}

/*
 * Drop the duplicates from a list.  Raises an error if too many elements are left.
 *
 * The result of the aggregate stays the same, so this may be done even where the state must not be
 * modified.
 */
static void
compact(AggState *state)
{
	bool		windowed = state->parameters.width > 0;

	if (windowed)
		state->n = bloomexp_window_keep_newest((BloomExposure *) state->elements, state->n);
	else
		state->n = bloomexp_filter_distinct((uint64 *) state->elements, state->n);
	if (state->n > MAX_LIST / state->size)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many distinct items in one group"),
				 errdetail("An aggregate takes at most %llu distinct items.",
						   (unsigned long long) (MAX_LIST / state->size)),
				 errhint("Make the filter with %s and add the items in parts.",
						 windowed ? "bloom_window()" : "bloom_new(capacity)")));
}

/*
 * Make space for n more elements: drop the duplicates, and grow the list if it is still more
 * than half full.
 */
static void
make_space(AggState *state, uint64 n)
{
	uint64		space = state->space;

	if (space >= FIRST_COMPACT)
		compact(state);
	while (space < state->n + n || space / 2 < state->n)
		space *= 2;
	if (space > state->space)
		state->elements = repalloc_huge(state->elements, space * state->size);
	state->space = space;
}

/* Append n elements of `size` bytes each, the size of the elements of the state. */
static inline void
add_elements(AggState *state, const void *elements, uint64 n, Size size)
{
	if (n > state->space - state->n)
		make_space(state, n);
	memcpy(state->elements + state->n * size, elements, n * size);
	state->n += n;
}

/* Raise an error if two rows of a group have different values for the parameter `name`. */
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

/*
 * Return the state of the group in argument 0, or a new one with space for `space` elements.  All
 * rows of a group must have the same parameters.
 */
static AggState *
get_state(FunctionCallInfo fcinfo, const Parameters *parameters, uint64 space)
{
	MemoryContext context;
	AggState   *state;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "aggregate function called in non-aggregate context");
	if (PG_ARGISNULL(0))
		return new_state(context, parameters, space);
	state = (AggState *) PG_GETARG_POINTER(0);
	require_same_parameters(&state->parameters, parameters);
	return state;
}

/*
 * Return the state of bloom_agg() for a row: a new state for the first row.  Raises an error if the
 * parameters are invalid or differ from those of the first row.
 */
static AggState *
get_plain_state(FunctionCallInfo fcinfo, BloomKind kind)
{
	Parameters	parameters = {.kind = kind, .fpr = BLOOMEXP_DEFAULT_FPR};

	if (PG_NARGS() > 2)
	{
		bloomexp_arguments_require(fcinfo, 2, "fpr");
		parameters.fpr = PG_GETARG_FLOAT8(2);
	}
	if (PG_NARGS() > 3)
	{
		bloomexp_arguments_require(fcinfo, 3, "headroom");
		parameters.headroom = PG_GETARG_FLOAT8(3);
	}
	bloomexp_growth_check_fpr(parameters.fpr);
	if (!(parameters.headroom >= 0.0 && parameters.headroom <= MAX_HEADROOM))	/* NaN too */
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("headroom must be between 0 and %d", MAX_HEADROOM),
				 errhint("Write 0.2 for room for 20%% more items.")));
	return get_state(fcinfo, &parameters, 0);
}

/* transition function of bloom_agg(item [, fpr [, headroom]]) */
PG_FUNCTION_INFO_V1(bloomexp_agg);
Datum
bloomexp_agg(PG_FUNCTION_ARGS)
{
	const BloomItemType *type = bloomexp_arguments_item_type(fcinfo, 1);
	AggState   *state = PG_ARGISNULL(0) ? NULL : (AggState *) PG_GETARG_POINTER(0);

	/* this runs for every row, and only the first one needs more than these comparisons */
	if (state == NULL ||
		(PG_NARGS() > 2 && (PG_ARGISNULL(2) || PG_GETARG_FLOAT8(2) != state->parameters.fpr)) ||
		(PG_NARGS() > 3 && (PG_ARGISNULL(3) || PG_GETARG_FLOAT8(3) != state->parameters.headroom)))
		state = get_plain_state(fcinfo, type->kind);

	if (!PG_ARGISNULL(1))
	{
		uint64		hash = bloomexp_item_hash(type, PG_GETARG_DATUM(1));

		add_elements(state, &hash, 1, sizeof(hash));
	}
	PG_RETURN_POINTER(state);
}

/* transition function of bloom_window_agg(item, shown_at, width, slices, fpr) */
PG_FUNCTION_INFO_V1(bloomexp_window_agg);
Datum
bloomexp_window_agg(PG_FUNCTION_ARGS)
{
	const BloomItemType *type = bloomexp_arguments_item_type(fcinfo, 1);
	Parameters	parameters = {.kind = type->kind};
	AggState   *state;

	bloomexp_arguments_require(fcinfo, 3, "width");
	bloomexp_arguments_require(fcinfo, 4, "slices");
	bloomexp_arguments_require(fcinfo, 5, "fpr");
	parameters.width = bloomexp_arguments_width(PG_GETARG_INTERVAL_P(3));
	parameters.slices = PG_GETARG_INT32(4);
	parameters.fpr = PG_GETARG_FLOAT8(5);
	if (PG_ARGISNULL(0))
		bloomexp_window_check(parameters.width, parameters.slices, parameters.fpr);
	state = get_state(fcinfo, &parameters, 0);

	if (!PG_ARGISNULL(1))
	{
		int64		shown_at = bloomexp_arguments_time(fcinfo->args[2], "shown_at");
		BloomExposure exposure = {
			.hash = bloomexp_item_hash(type, PG_GETARG_DATUM(1)),
			.slice = bloomexp_window_slice_of(shown_at, state->slice_length),
		};

		add_elements(state, &exposure, 1, sizeof(exposure));
	}
	PG_RETURN_POINTER(state);
}

/* combine function of both aggregates */
PG_FUNCTION_INFO_V1(bloomexp_agg_combine);
Datum
bloomexp_agg_combine(PG_FUNCTION_ARGS)
{
	AggState   *state;
	AggState   *other;

	if (PG_ARGISNULL(1))
		return bloomexp_arguments_return_untouched(fcinfo);
	other = (AggState *) PG_GETARG_POINTER(1);
	state = get_state(fcinfo, &other->parameters, other->n);
	add_elements(state, other->elements, other->n, state->size);
	PG_RETURN_POINTER(state);
}

/* serialization function, for a process of the same server: the parameters, then the list */
PG_FUNCTION_INFO_V1(bloomexp_agg_serialize);
Datum
bloomexp_agg_serialize(PG_FUNCTION_ARGS)
{
	AggState   *state = (AggState *) PG_GETARG_POINTER(0);
	Size		size;
	StringInfoData message;

	compact(state);
	size = state->n * state->size;
	pq_begintypsend(&message);
	enlargeStringInfo(&message, sizeof(Parameters) + size);
	appendBinaryStringInfo(&message, (char *) &state->parameters, sizeof(Parameters));
	appendBinaryStringInfo(&message, state->elements, size);
	PG_RETURN_BYTEA_P(pq_endtypsend(&message));
}

/* deserialization function: the state lives until bloomexp_agg_combine() has copied it */
PG_FUNCTION_INFO_V1(bloomexp_agg_deserialize);
Datum
bloomexp_agg_deserialize(PG_FUNCTION_ARGS)
{
	bytea	   *message = PG_GETARG_BYTEA_PP(0);
	const char *bytes = VARDATA_ANY(message);
	Size		size = VARSIZE_ANY_EXHDR(message) - sizeof(Parameters);
	Parameters	parameters;
	AggState   *state;

	memcpy(&parameters, bytes, sizeof(parameters));
	size /= parameters.width > 0 ? sizeof(BloomExposure) : sizeof(uint64);
	state = new_state(CurrentMemoryContext, &parameters, size);
	add_elements(state, bytes + sizeof(parameters), size, state->size);
	PG_RETURN_POINTER(state);
}

/* final function of both aggregates: NULL for a group without items */
PG_FUNCTION_INFO_V1(bloomexp_agg_final);
Datum
bloomexp_agg_final(PG_FUNCTION_ARGS)
{
	AggState   *state = PG_ARGISNULL(0) ? NULL : (AggState *) PG_GETARG_POINTER(0);
	const Parameters *parameters;
	BloomFilter filter;

	if (state == NULL || state->n == 0)
		PG_RETURN_NULL();
	compact(state);
	parameters = &state->parameters;
	if (parameters->width == 0)
		PG_RETURN_POINTER(bloomexp_filter_build(parameters->kind, (uint64 *) state->elements,
												state->n, parameters->fpr, parameters->headroom));
	bloomexp_window_init(&filter, parameters->width, parameters->slices, parameters->fpr);
	PG_RETURN_POINTER(bloomexp_window_add(&filter, parameters->kind,
										  (BloomExposure *) state->elements, state->n,
										  BLOOMEXP_ADD_FINAL));
}
