/*-------------------------------------------------------------------------
 *
 * aggregate.c
 *	  bloom_agg(): one filter of a group's items, sized for the distinct ones.
 *
 * The size is known only when all items are: so the state is the set of their
 * hashes, 8 bytes each, and the filter is made at the end.  Bits do not depend
 * on the order in which they are set, so every plan makes the same bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "libpq/pqformat.h"
#include "miscadmin.h"

#include "datum.h"
#include "hashset.h"

PG_FUNCTION_INFO_V1(bloomexp_agg_combine);
PG_FUNCTION_INFO_V1(bloomexp_agg_serialize);
PG_FUNCTION_INFO_V1(bloomexp_agg_deserialize);
PG_FUNCTION_INFO_V1(bloomexp_agg_final);

typedef struct AggState
{
	BloomKind	kind;
	double		fpr;
	double		headroom;		/* room for this part more than seen */
	BloomHashSet set;
} AggState;

/* The context in which the state lives. */
static MemoryContext
aggregate_context(FunctionCallInfo fcinfo)
{
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "aggregate function called in non-aggregate context");
	return context;
}

static AggState *
new_state(MemoryContext context, BloomKind kind, double fpr, double headroom)
{
	AggState   *state = MemoryContextAlloc(context, sizeof(AggState));

	state->kind = kind;
	state->fpr = fpr;
	state->headroom = headroom;
	bloomexp_hashset_init(&state->set, context);
	return state;
}

/* A parameter of the aggregate, which may not be NULL. */
static double
get_parameter(FunctionCallInfo fcinfo, int argno, const char *name, double otherwise)
{
	if (PG_NARGS() <= argno)
		return otherwise;
	if (PG_ARGISNULL(argno))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", name)));
	return PG_GETARG_FLOAT8(argno);
}

/* Complain about a parameter that is not the group's. */
static void
require_same(double mine, double other, const char *name)
{
	if (mine != other)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be the same for all rows of a group", name),
				 errdetail("It is both %g and %g.", mine, other)));
}

/* Transition: bloom_agg(item [, fpr [, headroom]]) */
static Datum
agg(FunctionCallInfo fcinfo, BloomKind kind)
{
	MemoryContext context = aggregate_context(fcinfo);
	AggState   *state = PG_ARGISNULL(0) ? NULL : (AggState *) PG_GETARG_POINTER(0);
	double		fpr = get_parameter(fcinfo, 2, "fpr", BLOOMEXP_DEFAULT_FPR);
	double		headroom = get_parameter(fcinfo, 3, "headroom", 0.0);

	if (state == NULL)
	{
		bloomexp_check_fpr(fpr);
		if (!(headroom >= 0.0 && headroom <= 1000.0))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("headroom must be between 0 and 1000"),
					 errhint("Write 0.2 for room for 20%% more items.")));
		state = new_state(context, kind, fpr, headroom);
	}
	require_same(state->fpr, fpr, "fpr");
	require_same(state->headroom, headroom, "headroom");

	if (!PG_ARGISNULL(1))
		bloomexp_hashset_add(&state->set, bloomexp_getarg_hash(fcinfo, 1, kind, 0));
	PG_RETURN_POINTER(state);
}

BLOOMEXP_FUNCTION_PER_KIND(agg);

/* Add all hashes of one set to another. */
static void
add_set(BloomHashSet *set, const BloomHashSet *other)
{
	uint64		hashes[BLOOMEXP_BATCH];
	uint64		position = 0;
	int			n;

	bloomexp_hashset_reserve(set, set->count + other->count);
	while ((n = bloomexp_hashset_read(other, &position, hashes, BLOOMEXP_BATCH)) > 0)
	{
		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < n; i++)
			bloomexp_hashset_add(set, hashes[i]);
	}
}

Datum
bloomexp_agg_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	AggState   *state;
	AggState   *other;

	if (PG_ARGISNULL(1))
	{
		if (PG_ARGISNULL(0))
			PG_RETURN_NULL();
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	}
	other = (AggState *) PG_GETARG_POINTER(1);
	state = PG_ARGISNULL(0) ?
		new_state(context, other->kind, other->fpr, other->headroom) :
		(AggState *) PG_GETARG_POINTER(0);
	require_same(state->fpr, other->fpr, "fpr");
	require_same(state->headroom, other->headroom, "headroom");
	add_set(&state->set, &other->set);
	PG_RETURN_POINTER(state);
}

/* To another process of the same server: parameters, then the hashes. */
Datum
bloomexp_agg_serialize(PG_FUNCTION_ARGS)
{
	AggState   *state = (AggState *) PG_GETARG_POINTER(0);
	StringInfoData message;
	uint64		hashes[BLOOMEXP_BATCH];
	uint64		position = 0;
	int			n;

	pq_begintypsend(&message);
	enlargeStringInfo(&message, 32 + state->set.count * sizeof(uint64));
	pq_sendint32(&message, state->kind);
	pq_sendfloat8(&message, state->fpr);
	pq_sendfloat8(&message, state->headroom);
	pq_sendint64(&message, state->set.count);
	while ((n = bloomexp_hashset_read(&state->set, &position, hashes, BLOOMEXP_BATCH)) > 0)
	{
		CHECK_FOR_INTERRUPTS();
		appendBinaryStringInfo(&message, (char *) hashes, n * sizeof(uint64));
	}
	PG_RETURN_BYTEA_P(pq_endtypsend(&message));
}

Datum
bloomexp_agg_deserialize(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);
	StringInfoData message;
	AggState   *state;
	BloomKind	kind;
	double		fpr;
	double		headroom;
	uint64		count;

	message.data = VARDATA_ANY(bytes);
	message.len = message.maxlen = VARSIZE_ANY_EXHDR(bytes);
	message.cursor = 0;

	kind = pq_getmsgint(&message, 4);
	fpr = pq_getmsgfloat8(&message);
	headroom = pq_getmsgfloat8(&message);
	count = pq_getmsgint64(&message);

	state = new_state(context, kind, fpr, headroom);
	bloomexp_hashset_reserve(&state->set, count);
	for (uint64 i = 0; i < count; i++)
	{
		uint64		hash;

		pq_copymsgbytes(&message, (char *) &hash, sizeof(hash));
		bloomexp_hashset_add(&state->set, hash);
	}
	pq_getmsgend(&message);
	PG_RETURN_POINTER(state);
}

/* The filter; NULL for a group without items. */
Datum
bloomexp_agg_final(PG_FUNCTION_ARGS)
{
	AggState   *state = PG_ARGISNULL(0) ? NULL : (AggState *) PG_GETARG_POINTER(0);
	BloomFilter filter;
	struct varlena *value;
	uint64		hashes[BLOOMEXP_BATCH];
	uint64		position = 0;
	int			n;

	if (state == NULL || state->set.count == 0)
		PG_RETURN_NULL();

	bloomexp_init(&filter, (int64) ceil(state->set.count * (1.0 + state->headroom)),
				  state->fpr, 0, false);
	filter.kind = state->kind;
	value = bloomexp_form(&filter);
	while ((n = bloomexp_hashset_read(&state->set, &position, hashes, BLOOMEXP_BATCH)) > 0)
	{
		CHECK_FOR_INTERRUPTS();
		bloomexp_fill(&filter, hashes, n);
	}
	bloomexp_store(&filter, value);
	PG_RETURN_POINTER(value);
}
