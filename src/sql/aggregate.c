/*-------------------------------------------------------------------------
 *
 * aggregate.c
 *	  bloom_agg(): one filter of a group's items, sized for the distinct ones.
 *
 * The size is known only when all items are.  So the state is a list of their
 * hashes, 8 bytes each, and the filter is made at the end.  Bits do not depend on
 * the order in which they are set, so every plan makes the same bytes.  (Dropping
 * repetitions from the list changes nothing that a later row can see, so
 * functions that only read the state may do it.)
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "libpq/pqformat.h"

#include "sql/aggregate.h"
#include "sql/arguments.h"
#include "sql/item.h"
#include "value/compat.h"
#include "value/distinct.h"
#include "value/filter.h"
#include "value/growth.h"
#include "value/kind.h"
#include "value/list.h"

PG_FUNCTION_INFO_V1(bloomexp_agg);
PG_FUNCTION_INFO_V1(bloomexp_agg_combine);
PG_FUNCTION_INFO_V1(bloomexp_agg_serialize);
PG_FUNCTION_INFO_V1(bloomexp_agg_deserialize);
PG_FUNCTION_INFO_V1(bloomexp_agg_final);

/* More room than for a thousand times what was seen is a mistake. */
#define MAX_HEADROOM 1000

/* bloomexp_distinct_keep() for a list of hashes. */
static uint64
keep_distinct(void *hashes, uint64 n)
{
	return bloomexp_distinct_keep(hashes, n);
}

static const BloomListType hash_list = {
	.size = sizeof(uint64),
	.initial_space = 64,
	.first_compact = 8192,
	.max = 120000000,
	.compact = keep_distinct,
	.hint = "Make the filter with bloom_new(capacity) and add the items in parts."
};

typedef struct AggState
{
	BloomKind	kind;
	double		fpr;
	double		headroom;		/* room for this part more than seen */
	BloomList	hashes;
} AggState;

/*
 * bloomexp_aggregate_context
 *		The context in which an aggregate's state lives.
 */
MemoryContext
bloomexp_aggregate_context(FunctionCallInfo fcinfo)
{
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "aggregate function called in non-aggregate context");
	return context;
}

static AggState *
new_state(MemoryContext context, BloomKind kind, double fpr, double headroom,
		  uint64 space)
{
	AggState   *state = MemoryContextAlloc(context, sizeof(AggState));

	state->kind = kind;
	state->fpr = fpr;
	state->headroom = headroom;
	bloomexp_list_init(&state->hashes, &hash_list, context, space);
	return state;
}

/* The parameters of the aggregate in this row. */
static void
get_parameters(FunctionCallInfo fcinfo, double *fpr, double *headroom)
{
	static const char *const names[] = {"fpr", "headroom"};

	bloomexp_arguments_require(fcinfo, 2, names, PG_NARGS() - 2);
	*fpr = PG_NARGS() > 2 ? PG_GETARG_FLOAT8(2) : BLOOMEXP_DEFAULT_FPR;
	*headroom = PG_NARGS() > 3 ? PG_GETARG_FLOAT8(3) : 0.0;
}

/*
 * bloomexp_aggregate_check_headroom
 *		Refuse a headroom that cannot be meant.
 */
void
bloomexp_aggregate_check_headroom(double headroom)
{
	if (!(headroom >= 0.0 && headroom <= MAX_HEADROOM))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("headroom must be between 0 and %d", MAX_HEADROOM),
				 errhint("Write 0.2 for room for 20%% more items.")));
}

/* The state of a group at its first row. */
static AggState *
first_state(FunctionCallInfo fcinfo, BloomKind kind)
{
	double		fpr;
	double		headroom;

	get_parameters(fcinfo, &fpr, &headroom);
	bloomexp_growth_check_fpr(fpr);
	bloomexp_aggregate_check_headroom(headroom);
	return new_state(bloomexp_aggregate_context(fcinfo), kind, fpr, headroom, 0);
}

/*
 * bloomexp_aggregate_require_same
 *		Refuse a parameter that differs within a group.
 */
void
bloomexp_aggregate_require_same(double mine, double other, const char *name)
{
	if (mine != other)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be the same for all rows of a group", name),
				 errdetail("It is both %.17g and %.17g.", mine, other)));
}

static void
require_same_parameters(const AggState *state, double fpr, double headroom)
{
	bloomexp_aggregate_require_same(state->fpr, fpr, "fpr");
	bloomexp_aggregate_require_same(state->headroom, headroom, "headroom");
}

/*
 * Refuse parameters that differ from those of the first row.
 *
 * In every row of nearly every query they are the same; nothing else may cost
 * anything here.
 */
static inline void
check_parameters(FunctionCallInfo fcinfo, const AggState *state)
{
	double		fpr;
	double		headroom;

	if (PG_NARGS() <= 2)
		return;
	if (!PG_ARGISNULL(2) && PG_GETARG_FLOAT8(2) == state->fpr &&
		(PG_NARGS() <= 3 || (!PG_ARGISNULL(3) && PG_GETARG_FLOAT8(3) == state->headroom)))
		return;
	get_parameters(fcinfo, &fpr, &headroom);
	require_same_parameters(state, fpr, headroom);
}

/* Transition: bloom_agg(item [, fpr [, headroom]]) */
Datum
bloomexp_agg(PG_FUNCTION_ARGS)
{
	const BloomItemType *type = bloomexp_arguments_item_type(fcinfo, 1);
	AggState   *state;

	if (PG_ARGISNULL(0))
		state = first_state(fcinfo, type->kind);
	else
	{
		state = (AggState *) PG_GETARG_POINTER(0);
		check_parameters(fcinfo, state);
	}

	if (!PG_ARGISNULL(1))
	{
		uint64		hash = bloomexp_arguments_hash(fcinfo, 1, type, 0);

		bloomexp_list_add(&state->hashes, &hash, sizeof(hash));
	}
	PG_RETURN_POINTER(state);
}

Datum
bloomexp_agg_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = bloomexp_aggregate_context(fcinfo);
	AggState   *state;
	AggState   *other;

	if (PG_ARGISNULL(1))
		return bloomexp_arguments_return_untouched(fcinfo);
	other = (AggState *) PG_GETARG_POINTER(1);
	state = PG_ARGISNULL(0) ?
		new_state(context, other->kind, other->fpr, other->headroom, other->hashes.n) :
		(AggState *) PG_GETARG_POINTER(0);
	require_same_parameters(state, other->fpr, other->headroom);
	bloomexp_list_append(&state->hashes, other->hashes.elements, other->hashes.n);
	PG_RETURN_POINTER(state);
}

/* To another process of the same server: parameters, then the hashes. */
Datum
bloomexp_agg_serialize(PG_FUNCTION_ARGS)
{
	AggState   *state = (AggState *) PG_GETARG_POINTER(0);
	Size		size;
	StringInfoData message;

	bloomexp_list_compact(&state->hashes);
	size = state->hashes.n * sizeof(uint64);
	pq_begintypsend(&message);
	enlargeStringInfo(&message, 32 + size);
	pq_sendint32(&message, state->kind);
	pq_sendfloat8(&message, state->fpr);
	pq_sendfloat8(&message, state->headroom);
	appendBinaryStringInfo(&message, (char *) state->hashes.elements, size);
	PG_RETURN_BYTEA_P(pq_endtypsend(&message));
}

/*
 * bloomexp_aggregate_read_message
 *		Let the functions of pqformat.h read a serialized state.
 */
void
bloomexp_aggregate_read_message(StringInfo message, bytea *bytes)
{
	message->data = VARDATA_ANY(bytes);
	message->len = message->maxlen = VARSIZE_ANY_EXHDR(bytes);
	message->cursor = 0;
}

/* A state only for bloomexp_agg_combine(), which copies it. */
Datum
bloomexp_agg_deserialize(PG_FUNCTION_ARGS)
{
	StringInfoData message;
	AggState   *state;
	BloomKind	kind;
	double		fpr;
	double		headroom;
	int			n;

	bloomexp_aggregate_read_message(&message, PG_GETARG_BYTEA_PP(0));
	kind = pq_getmsgint(&message, 4);
	fpr = pq_getmsgfloat8(&message);
	headroom = pq_getmsgfloat8(&message);
	n = (message.len - message.cursor) / (int) sizeof(uint64);
	state = new_state(CurrentMemoryContext, kind, fpr, headroom, n);
	state->hashes.n = n;
	pq_copymsgbytes(&message, (char *) state->hashes.elements, n * (int) sizeof(uint64));
	pq_getmsgend(&message);
	PG_RETURN_POINTER(state);
}

/* The filter; NULL for a group without items. */
Datum
bloomexp_agg_final(PG_FUNCTION_ARGS)
{
	AggState   *state = PG_ARGISNULL(0) ? NULL : (AggState *) PG_GETARG_POINTER(0);

	if (state == NULL || state->hashes.n == 0)
		PG_RETURN_NULL();
	bloomexp_list_compact(&state->hashes);
	PG_RETURN_POINTER(bloomexp_filter_build(state->kind, state->hashes.elements, state->hashes.n,
											state->fpr, state->headroom));
}
