/*-------------------------------------------------------------------------
 *
 * window_aggregate.c
 *	  bloom_window_agg(): one windowed filter of a group's exposures.
 *
 * As for bloom_agg() the state is what was seen, 16 bytes an exposure, and the
 * filter is made at the end, with a layer of the right size for each slice.  An
 * item goes into the slice of its newest exposure only, which depends on no
 * order: so every plan makes the same bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "libpq/pqformat.h"

#include "sql/aggregate.h"
#include "sql/arguments.h"
#include "value/window.h"

PG_FUNCTION_INFO_V1(bloomexp_window_agg_combine);
PG_FUNCTION_INFO_V1(bloomexp_window_agg_serialize);
PG_FUNCTION_INFO_V1(bloomexp_window_agg_deserialize);
PG_FUNCTION_INFO_V1(bloomexp_window_agg_final);

/* A list starts with room for so many, */
#define MIN_SPACE 8

/* looks for repetitions before it grows past so many, */
#define FIRST_LOOK 2048

/* and a serialized one must fit in a bytea of 1 GB, whichever plan is chosen. */
#define MAX_EXPOSURES 60000000

/* The parameters of a group. */
typedef struct Window
{
	int64		width;
	int32		slices;
	double		fpr;
} Window;

typedef struct WindowAggState
{
	BloomKind	kind;
	Window		window;
	int64		length;			/* of a slice */
	uint64		n;
	uint64		space;
	BloomExposure *exposures;	/* repetitions among them */
} WindowAggState;

static WindowAggState *
new_state(MemoryContext context, BloomKind kind, const Window *window, uint64 space)
{
	WindowAggState *state = MemoryContextAlloc(context, sizeof(WindowAggState));

	state->kind = kind;
	state->window = *window;
	state->length = bloomexp_window_slice_length(window->width, window->slices);
	state->n = 0;
	state->space = Max(space, MIN_SPACE);
	state->exposures = MemoryContextAllocHuge(context, state->space * sizeof(BloomExposure));
	return state;
}

/* Leave every item in the list just once. */
static void
compact(WindowAggState *state)
{
	state->n = bloomexp_window_keep_newest(state->exposures, state->n);
	if (state->n > MAX_EXPOSURES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many distinct items in one group"),
				 errdetail("An aggregate takes at most %d.", MAX_EXPOSURES),
				 errhint("Make the filter with bloom_window() and add the items in parts.")));
}

/* See to it that there is room for n more exposures. */
static void
make_room(WindowAggState *state, uint64 n)
{
	uint64		space = state->space;

	if (state->n + n <= space)
		return;
	if (space >= FIRST_LOOK)
		compact(state);
	while (space < state->n + n || space / 2 < state->n)
		space *= 2;
	if (space > state->space)
		state->exposures = repalloc_huge(state->exposures, space * sizeof(BloomExposure));
	state->space = space;
}

/* The window that the parameters of this row describe. */
static Window
get_window(FunctionCallInfo fcinfo)
{
	static const char *const names[] = {"width", "slices", "fpr"};
	Window		window;

	bloomexp_arguments_require(fcinfo, 3, names, lengthof(names));
	window.width = bloomexp_arguments_width(fcinfo, 3);
	window.slices = PG_GETARG_INT32(4);
	window.fpr = PG_GETARG_FLOAT8(5);
	return window;
}

/* An empty filter with the window of a group; an error if there can't be one. */
static void
init_filter(BloomFilter *filter, const Window *window)
{
	bloomexp_window_init(filter, window->width, window->slices, window->fpr, 0);
}

/* Complain about parameters that are not the group's. */
static void
require_same_parameters(const WindowAggState *state, const Window *window)
{
	bloomexp_aggregate_require_same(state->window.fpr, window->fpr, "fpr");
	bloomexp_aggregate_require_same(state->window.slices, window->slices, "slices");
	if (state->window.width != window->width)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be the same for all rows of a group", "width")));
}

/* Transition: bloom_window_agg(item, shown_at, width, slices, fpr) */
static Datum
window_agg(FunctionCallInfo fcinfo, BloomKind kind)
{
	Window		window = get_window(fcinfo);
	WindowAggState *state;

	if (PG_ARGISNULL(0))
	{
		BloomFilter filter;

		init_filter(&filter, &window);
		state = new_state(bloomexp_aggregate_context(fcinfo), kind, &window, 0);
	}
	else
	{
		state = (WindowAggState *) PG_GETARG_POINTER(0);
		require_same_parameters(state, &window);
	}

	if (!PG_ARGISNULL(1))
	{
		int64		shown_at = bloomexp_arguments_time(fcinfo, 2, "shown_at");

		make_room(state, 1);
		state->exposures[state->n++] = (BloomExposure) {
			.hash = bloomexp_arguments_hash(fcinfo, 1, kind, 0),
			.slice = bloomexp_window_slice_of(shown_at, state->length)
		};
	}
	PG_RETURN_POINTER(state);
}

BLOOMEXP_FUNCTION_PER_KIND(window_agg);

Datum
bloomexp_window_agg_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = bloomexp_aggregate_context(fcinfo);
	WindowAggState *state;
	WindowAggState *other;

	if (PG_ARGISNULL(1))
		return bloomexp_arguments_return_untouched(fcinfo);
	other = (WindowAggState *) PG_GETARG_POINTER(1);
	state = PG_ARGISNULL(0) ?
		new_state(context, other->kind, &other->window, other->n) :
		(WindowAggState *) PG_GETARG_POINTER(0);
	require_same_parameters(state, &other->window);
	make_room(state, other->n);
	memcpy(state->exposures + state->n, other->exposures, other->n * sizeof(BloomExposure));
	state->n += other->n;
	PG_RETURN_POINTER(state);
}

/* To another process of the same server: parameters, then the exposures. */
Datum
bloomexp_window_agg_serialize(PG_FUNCTION_ARGS)
{
	WindowAggState *state = (WindowAggState *) PG_GETARG_POINTER(0);
	Size		size;
	StringInfoData message;

	compact(state);
	size = state->n * sizeof(BloomExposure);
	pq_begintypsend(&message);
	enlargeStringInfo(&message, 32 + size);
	pq_sendint32(&message, state->kind);
	pq_sendint64(&message, state->window.width);
	pq_sendint32(&message, state->window.slices);
	pq_sendfloat8(&message, state->window.fpr);
	appendBinaryStringInfo(&message, (char *) state->exposures, size);
	PG_RETURN_BYTEA_P(pq_endtypsend(&message));
}

/* A state only for bloomexp_window_agg_combine(), which copies it. */
Datum
bloomexp_window_agg_deserialize(PG_FUNCTION_ARGS)
{
	StringInfoData message;
	WindowAggState *state;
	Window		window;
	BloomKind	kind;
	int			n;

	bloomexp_aggregate_read_message(&message, PG_GETARG_BYTEA_PP(0));
	kind = pq_getmsgint(&message, 4);
	window.width = pq_getmsgint64(&message);
	window.slices = pq_getmsgint(&message, 4);
	window.fpr = pq_getmsgfloat8(&message);
	n = (message.len - message.cursor) / (int) sizeof(BloomExposure);
	state = new_state(CurrentMemoryContext, kind, &window, n);
	state->n = n;
	pq_copymsgbytes(&message, (char *) state->exposures, n * (int) sizeof(BloomExposure));
	pq_getmsgend(&message);
	PG_RETURN_POINTER(state);
}

/* The filter; NULL for a group without items. */
Datum
bloomexp_window_agg_final(PG_FUNCTION_ARGS)
{
	WindowAggState *state = PG_ARGISNULL(0) ? NULL : (WindowAggState *) PG_GETARG_POINTER(0);
	BloomFilter filter;

	if (state == NULL || state->n == 0)
		PG_RETURN_NULL();
	compact(state);
	init_filter(&filter, &state->window);
	PG_RETURN_POINTER(bloomexp_window_add(&filter, state->kind, state->exposures,
											 state->n, true));
}
