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
#include "utils/timestamp.h"

#include "sql/aggregate.h"
#include "sql/arguments.h"
#include "sql/item.h"
#include "value/compat.h"
#include "value/kind.h"
#include "value/layout.h"
#include "value/list.h"
#include "value/window.h"

PG_FUNCTION_INFO_V1(bloomexp_window_agg);
PG_FUNCTION_INFO_V1(bloomexp_window_agg_combine);
PG_FUNCTION_INFO_V1(bloomexp_window_agg_serialize);
PG_FUNCTION_INFO_V1(bloomexp_window_agg_deserialize);
PG_FUNCTION_INFO_V1(bloomexp_window_agg_final);

/* bloomexp_window_keep_newest() for a list of exposures. */
static uint64
keep_newest(void *exposures, uint64 n)
{
	return bloomexp_window_keep_newest(exposures, n);
}

static const BloomListType exposure_list = {
	.size = sizeof(BloomExposure),
	.initial_space = 8,
	.first_compact = 2048,
	.max = 60000000,
	.compact = keep_newest,
	.hint = "Make the filter with bloom_window() and add the items in parts."
};

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
	BloomList	exposures;
} WindowAggState;

static WindowAggState *
new_state(MemoryContext context, BloomKind kind, const Window *window, uint64 space)
{
	WindowAggState *state = MemoryContextAlloc(context, sizeof(WindowAggState));

	state->kind = kind;
	state->window = *window;
	state->length = bloomexp_window_slice_length(window->width, window->slices);
	bloomexp_list_init(&state->exposures, &exposure_list, context, space);
	return state;
}

/* The window that the parameters of this row describe. */
static Window
get_window(FunctionCallInfo fcinfo)
{
	static const char *const names[] = {"width", "slices", "fpr"};
	Window		window;

	bloomexp_arguments_require(fcinfo, 3, names, lengthof(names));
	window.width = bloomexp_arguments_width(PG_GETARG_INTERVAL_P(3));
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
Datum
bloomexp_window_agg(PG_FUNCTION_ARGS)
{
	const BloomItemType *type = bloomexp_arguments_item_type(fcinfo, 1);
	Window		window = get_window(fcinfo);
	WindowAggState *state;

	if (PG_ARGISNULL(0))
	{
		BloomFilter filter;

		init_filter(&filter, &window);
		state = new_state(bloomexp_aggregate_context(fcinfo), type->kind, &window, 0);
	}
	else
	{
		state = (WindowAggState *) PG_GETARG_POINTER(0);
		require_same_parameters(state, &window);
	}

	if (!PG_ARGISNULL(1))
	{
		int64		shown_at = bloomexp_arguments_time(fcinfo, 2, "shown_at");
		BloomExposure exposure = {
			.hash = bloomexp_arguments_hash(fcinfo, 1, type, 0),
			.slice = bloomexp_window_slice_of(shown_at, state->length)
		};

		bloomexp_list_add(&state->exposures, &exposure, sizeof(exposure));
	}
	PG_RETURN_POINTER(state);
}

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
		new_state(context, other->kind, &other->window, other->exposures.n) :
		(WindowAggState *) PG_GETARG_POINTER(0);
	require_same_parameters(state, &other->window);
	bloomexp_list_append(&state->exposures, other->exposures.elements, other->exposures.n);
	PG_RETURN_POINTER(state);
}

/* To another process of the same server: parameters, then the exposures. */
Datum
bloomexp_window_agg_serialize(PG_FUNCTION_ARGS)
{
	WindowAggState *state = (WindowAggState *) PG_GETARG_POINTER(0);
	Size		size;
	StringInfoData message;

	bloomexp_list_compact(&state->exposures);
	size = state->exposures.n * sizeof(BloomExposure);
	pq_begintypsend(&message);
	enlargeStringInfo(&message, 32 + size);
	pq_sendint32(&message, state->kind);
	pq_sendint64(&message, state->window.width);
	pq_sendint32(&message, state->window.slices);
	pq_sendfloat8(&message, state->window.fpr);
	appendBinaryStringInfo(&message, (char *) state->exposures.elements, size);
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
	state->exposures.n = n;
	pq_copymsgbytes(&message, (char *) state->exposures.elements, n * (int) sizeof(BloomExposure));
	pq_getmsgend(&message);
	PG_RETURN_POINTER(state);
}

/* The filter; NULL for a group without items. */
Datum
bloomexp_window_agg_final(PG_FUNCTION_ARGS)
{
	WindowAggState *state = PG_ARGISNULL(0) ? NULL : (WindowAggState *) PG_GETARG_POINTER(0);
	BloomFilter filter;

	if (state == NULL || state->exposures.n == 0)
		PG_RETURN_NULL();
	bloomexp_list_compact(&state->exposures);
	init_filter(&filter, &state->window);
	PG_RETURN_POINTER(bloomexp_window_add(&filter, state->kind, state->exposures.elements,
										  state->exposures.n, true));
}
