/*-------------------------------------------------------------------------
 *
 * take.c
 *	  Candidates that are taken and remembered in one statement.
 *
 * bloom_take_statements(), in SQL, finds the column of users and writes the
 * statements; there it is said why two calls never take the same.  How a filter
 * starts is in the definition of its column, which is a trigger on some other
 * table, and no plan here depends on that.  PostgreSQL tells us of changes to any
 * table of the database, and to the members of a role, but not whether they matter.
 * There can be a thousand a second, by temporary tables alone.  So the definition is
 * looked up again only if what it comes from is not as it was.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_coerce.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "kernel/batch.h"
#include "kernel/murmur3.h"
#include "sql/arguments.h"
#include "sql/definition.h"
#include "sql/item.h"
#include "sql/kept.h"
#include "sql/stored.h"
#include "sql/survivors.h"
#include "value/compat.h"
#include "value/filter.h"
#include "value/kind.h"
#include "value/layout.h"
#include "value/window.h"

PG_FUNCTION_INFO_V1(bloomexp_take);

/* The kept plans of each column: read the filters of a user, */
#define READ 0
/* insert a row with a filter, or lock the one that there is, */
#define START 1
/* write the filter, unless the row is another version now. */
#define WRITE 2

/* What is kept of a column of filters. */
typedef struct TakePlans
{
	BloomKept	kept;
	uint64		looked_up;		/* the value of changes when it was right */
	uint64		fingerprint;	/* of what the definition comes from */
	Oid			user_type;		/* of the users, without domains */
	BloomKind	kind;			/* of items; BLOOM_KIND_NONE: of any */
	int			filters;		/* in a row: the large one, and a live one */
	/* a new filter: */
	int64		capacity;
	double		fpr;
	int32		slices;			/* 0: without a window */
	int64		width;			/* of the window, in microseconds */
} TakePlans;

/* A call. */
typedef struct Take
{
	FunctionCallInfo fcinfo;
	ArrayType  *candidates;
	int			wanted;
	Datum		user;
	MemoryContext context;		/* for the result */
	ArrayType  *taken;			/* the result */
	uint64	   *hashes;			/* of what was taken */
	int			n;
} Take;

/* The hashes of what was taken. */
typedef struct Taken
{
	uint64		hash;
	char		status;
} Taken;

/* What whoever chooses ids cannot know: without it the table could be one long run. */
static uint64 secret;

#define SH_PREFIX taken
#define SH_ELEMENT_TYPE Taken
#define SH_KEY_TYPE uint64
#define SH_KEY hash
#define SH_HASH_KEY(table, key) ((uint32) murmur3_avalanche((key) ^ secret))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

static HTAB *kept_plans = NULL;

/* How many times something has changed on which a definition may depend. */
static uint64 changes = 0;

/* Called by PostgreSQL for each change of a table, and of who is a member of a role. */
static void
count_change(Datum argument, Oid table)
{
	changes++;
}

static void
count_member(Datum argument, BLOOMEXP_SYSCACHE_ID cache, uint32 hash)
{
	changes++;
}

/* A column of the row that SPI found, not NULL. */
static Datum
get_found(int column)
{
	bool		isnull;

	return SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, &isnull);
}

/* Prepare a statement that a column of that row has; `nargs` of its arguments are used. */
static SPIPlanPtr
prepare_found(int column, Oid *types, int nargs)
{
	char	   *statement = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column);

	return bloomexp_kept_prepare(statement, nargs, types);
}

/* What the definition of a table's filters comes from now. */
static uint64
get_fingerprint(FunctionCallInfo fcinfo, Oid target)
{
	return bloomexp_definition_fingerprint(get_func_namespace(fcinfo->flinfo->fn_oid), target);
}

/* Whether the definition would be found as it was. */
static bool
is_defined_alike(FunctionCallInfo fcinfo, TakePlans *plans)
{
	uint64		looked_up = changes;

	if (plans->looked_up != looked_up)
	{
		if (plans->fingerprint != get_fingerprint(fcinfo, plans->kept.target))
			return false;
		plans->looked_up = looked_up;
	}
	return true;
}

/*
 * Ask for the statements and plan them.
 *
 * The arguments are of exactly the declared types, so that no other function of
 * the name can be called.
 */
static void
prepare(FunctionCallInfo fcinfo, TakePlans *made)
{
	char	   *schema = bloomexp_kept_schema(fcinfo->flinfo->fn_oid);
	Oid			types[] = {NAMEOID, REGCLASSOID, NAMEOID};
	Datum		values[] = {
		DirectFunctionCall1(namein, CStringGetDatum(schema)),
		ObjectIdGetDatum(made->kept.target),
		NameGetDatum(&made->kept.key.column)
	};
	char		nulls[] = {' ', ' ', PG_ARGISNULL(4) ? 'n' : ' '};
	char	   *query;
	Oid			arguments[3] = {[2] = XIDOID};
	SPITupleTable *found;

	made->kept.pages = bloomexp_kept_lock_target(made->kept.target);
	made->looked_up = changes;
	made->fingerprint = get_fingerprint(fcinfo, made->kept.target);
	query = psprintf("SELECT read, start, write, user_type, filter_type, has_live, capacity, fpr, slices, width, item_kind "
					 "FROM %s.bloom_take_statements($1, $2, $3)", quote_identifier(schema));
	bloomexp_kept_ask(query, lengthof(types), types, values, nulls);
	found = SPI_tuptable;
	made->user_type = arguments[0] = DatumGetObjectId(get_found(4));
	arguments[1] = DatumGetObjectId(get_found(5));
	made->filters = DatumGetBool(get_found(6)) ? 2 : 1;
	made->capacity = DatumGetInt64(get_found(7));
	made->fpr = DatumGetFloat8(get_found(8));
	made->slices = DatumGetInt32(get_found(9));
	if (made->slices != 0)
		made->width = bloomexp_arguments_width(DatumGetIntervalP(get_found(10)));
	made->kind = DatumGetInt32(get_found(11));
	made->kept.plans[READ] = prepare_found(1, arguments, 1);
	made->kept.plans[START] = prepare_found(2, arguments, 2);
	made->kept.plans[WRITE] = prepare_found(3, arguments, 3);
	SPI_freetuptable(found);
}

/* The plans for the table and column of a call. */
static TakePlans *
get_plans(FunctionCallInfo fcinfo, TakePlans *space)
{
	TakePlans  *plans;

	if (kept_plans == NULL)
	{
		if (!pg_strong_random(&secret, sizeof(secret)))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("could not generate random values")));
		kept_plans = bloomexp_kept_create("bloom_take plans", sizeof(TakePlans));
		CacheRegisterRelcacheCallback(count_change, (Datum) 0);
		CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, count_member, (Datum) 0);
	}

	memset(space, 0, sizeof(*space));
	space->kept.key.object = space->kept.target = PG_GETARG_OID(0);
	if (!PG_ARGISNULL(4))
		space->kept.key.column = *PG_GETARG_NAME(4);
	bloomexp_arguments_require_update(space->kept.target);

	plans = (TakePlans *) bloomexp_kept_find(kept_plans, &space->kept.key);
	if (plans != NULL && is_defined_alike(fcinfo, plans))
		return plans;
	prepare(fcinfo, space);
	return (TakePlans *) bloomexp_kept_keep(kept_plans, &space->kept, sizeof(TakePlans));
}

/*
 * The user of a call as a value of the type of the table's users.
 *
 * A cast of that type could be anybody's function.  Its input function is the
 * type's own.
 */
static Datum
get_user(FunctionCallInfo fcinfo, Oid type)
{
	Oid			given = getBaseType(get_fn_expr_argtype(fcinfo->flinfo, 1));
	Datum		user = PG_GETARG_DATUM(1);
	Oid			output;
	Oid			input;
	Oid			parameter;
	bool		is_varlena;

	if (IsBinaryCoercible(given, type))
		return user;
	if (given == BPCHAROID)
	{
		/* its blanks at the end mean nothing */
		user = DirectFunctionCall1(rtrim1, user);
		given = TEXTOID;
	}
	getTypeOutputInfo(given, &output, &is_varlena);
	getTypeInputInfo(type, &input, &parameter);
	return OidInputFunctionCall(input, OidOutputFunctionCall(output, user), parameter, -1);
}

/* The collation of the candidates; that of the call comes from the user as well. */
static Oid
get_collation(FunctionCallInfo fcinfo)
{
	Node	   *call = fcinfo->flinfo->fn_expr;

	return call != NULL && IsA(call, FuncExpr) ?
		exprCollation(list_nth(((FuncExpr *) call)->args, 2)) : PG_GET_COLLATION();
}

/*
 * Take the candidates that are not marked, until there are as many as wanted; marks
 * what comes again, and the rest.
 */
static void
take_new(Take *take, taken_hash *taken, const uint64 *hashes, int n, bool *omit)
{
	for (int i = 0; i < n; i++)
	{
		omit[i] |= take->n == take->wanted;
		if (omit[i])
			continue;
		taken_insert(taken, hashes[i], &omit[i]);
		if (!omit[i])
			take->hashes[take->n++] = hashes[i];
	}
}

/* Take the first candidates that no filter contains; hash them by `seed`. */
static void
pick(Take *take, const BloomFilters *filters, BloomItems *candidates, uint32 seed)
{
	taken_hash *taken = taken_create(CurrentMemoryContext, Min(take->wanted, 256), NULL);
	ArrayType  *result = bloomexp_survivors_open_array(take->context, take->candidates);
	char	   *end = ARR_DATA_PTR(result);
	BloomBatch	batch;
	bool		omit[BLOOMEXP_BATCH];
	int			copied = 0;

	bloomexp_survivors_require_kind(filters, candidates->type->kind);
	take->n = 0;
	take->hashes = palloc_extended(Max(candidates->nitems, 1) * sizeof(uint64), MCXT_ALLOC_HUGE);
	while (take->n < take->wanted && bloomexp_item_next(candidates, seed, &batch))
	{
		CHECK_FOR_INTERRUPTS();
		bloomexp_survivors_mark(filters, &batch, omit);
		take_new(take, taken, bloomexp_item_hashes(&batch, seed), batch.n, omit);
		end = bloomexp_item_copy(end, &batch, omit, &copied);
	}
	take->taken = bloomexp_survivors_close_array(result, end, copied, candidates->element_type);
}

/* The filter with what was taken, shown now. */
static struct varlena *
remember(const Take *take, BloomFilter *filter, BloomKind kind)
{
	BloomExposure *exposures;
	int64		shown_at;
	int64		slice;

	if (!filter->windowed)
		return bloomexp_filter_add(filter, kind, take->hashes, take->n);

	/* what is before the floor would be forgotten at once */
	shown_at = Max(GetCurrentTransactionStartTimestamp(), filter->floor);
	slice = bloomexp_window_slice_of(shown_at,
									 bloomexp_window_slice_length(filter->width, filter->slices));
	exposures = palloc_extended(take->n * sizeof(BloomExposure), MCXT_ALLOC_HUGE);
	for (int i = 0; i < take->n; i++)
		exposures[i] = (BloomExposure) {.hash = take->hashes[i], .slice = slice};
	return bloomexp_window_add(filter, kind, exposures, take->n, false);
}

/*
 * Refuse candidates of another kind than what is tracked.
 *
 * A filter that they start would keep out every exposure of its user.
 */
static void
require_kind(const TakePlans *plans, BloomKind kind)
{
	if (plans->kind != BLOOM_KIND_NONE && plans->kind != kind)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("filters of table \"%s\" hold %s items, not %s", get_rel_name(plans->kept.target),
						bloomexp_kind_name(plans->kind), bloomexp_kind_name(kind)),
				 errhint("Cast the candidates to %s[].", bloomexp_kind_type(plans->kind))));
}

/* Start a filter for the first items of a user. */
static void
start_filter(const TakePlans *plans, BloomFilter *filter, int n)
{
	if (plans->slices != 0)
		bloomexp_window_init(filter, plans->width, plans->slices, plans->fpr, 0);
	else
		bloomexp_filter_init(filter, Max(plans->capacity, n), plans->fpr, 0, false);
}

/*
 * Take candidates by the filters that are stored for a user, of which any may be
 * NULL; returns the last one as it is to be stored, or NULL if nothing is taken.
 */
static struct varlena *
take_from(const TakePlans *plans, Take *take, struct varlena **stored)
{
	int			last = plans->filters - 1;
	BloomStored asked[2];
	BloomFilters filters = {asked, 0};
	BloomFilter adding;
	BloomItems	candidates;

	bloomexp_item_begin(&candidates, take->candidates, get_collation(take->fcinfo));
	require_kind(plans, candidates.type->kind);
	for (int i = 0; i < last; i++)
	{
		if (stored[i] != NULL)
			bloomexp_stored_open(&asked[filters.n++], stored[i], candidates.nitems);
	}
	if (stored[last] != NULL)
	{
		struct varlena *value = PG_DETOAST_DATUM_PACKED(PointerGetDatum(stored[last]));

		bloomexp_stored_open_whole(&asked[filters.n++], value);
		bloomexp_layout_open(&adding, value);
	}

	pick(take, &filters, &candidates, stored[last] != NULL ? adding.seed : 0);
	if (take->n == 0)
		return NULL;
	if (stored[last] == NULL)
		start_filter(plans, &adding, take->n);
	return remember(take, &adding, candidates.type->kind);
}

/* Execute one of the plans for the user of a call, a filter, and a version of the row. */
static uint64
execute(const TakePlans *plans, int plan, const Take *take, struct varlena *filter, Datum version)
{
	static const int results[] = {SPI_OK_SELECT, SPI_OK_INSERT, SPI_OK_UPDATE};
	Datum		arguments[] = {take->user, PointerGetDatum(filter), version};

	bloomexp_kept_expect(SPI_execute_plan(plans->kept.plans[plan], arguments, NULL, false, 0),
						 results[plan], "SPI_execute_plan");
	return SPI_processed;
}

/*
 * Take by the row of the user; false if there is none, or if it has changed before
 * the filter was written.
 */
static bool
take_from_row(const TakePlans *plans, Take *take)
{
	struct varlena *stored[2];
	struct varlena *filter;
	Datum		version;

	if (execute(plans, READ, take, NULL, (Datum) 0) == 0)
		return false;
	version = get_found(1);
	for (int i = 0; i < plans->filters; i++)
	{
		bool		isnull;
		Datum		value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, i + 2, &isnull);

		stored[i] = isnull ? NULL : (struct varlena *) DatumGetPointer(value);
	}
	filter = take_from(plans, take, stored);
	return filter == NULL || execute(plans, WRITE, take, filter, version) == 1;
}

/* Take for a user without a row; false if there is one now, which is locked then. */
static bool
take_first(const TakePlans *plans, Take *take)
{
	struct varlena *stored[2] = {NULL, NULL};
	struct varlena *filter = take_from(plans, take, stored);

	return filter == NULL || execute(plans, START, take, filter, (Datum) 0) == 1;
}

/* Take: for bloomexp_kept_use(). */
static void
take_by_plans(BloomKept *kept, void *argument)
{
	const TakePlans *plans = (const TakePlans *) kept;
	Take	   *take = argument;

	/* (an input function can execute anybody's code, and that may come here again) */
	take->user = get_user(take->fcinfo, plans->user_type);
	if (!take_from_row(plans, take) && !take_first(plans, take) && !take_from_row(plans, take))
		ereport(ERROR,
				(errcode(ERRCODE_TRIGGERED_ACTION_EXCEPTION),
				 errmsg("taken items are not stored in table \"%s\"", get_rel_name(kept->target)),
				 errdetail("A policy or a trigger of the table keeps its rows as they are, or the column of the users stores another value.")));
}

/* bloom_take(target, user, candidates, wanted, filter_column) */
Datum
bloomexp_take(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"target", "user"};
	TakePlans	space;
	TakePlans  *plans;
	Take		take;

	bloomexp_arguments_require(fcinfo, 0, names, lengthof(names));
	if (PG_ARGISNULL(2))
		PG_RETURN_NULL();
	if (!PG_ARGISNULL(3) && PG_GETARG_INT32(3) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("wanted must not be negative")));
	bloomexp_survivors_check_type(fcinfo, 2);

	memset(&take, 0, sizeof(take));
	take.fcinfo = fcinfo;
	take.candidates = bloomexp_arguments_array(fcinfo, 2);
	take.wanted = PG_ARGISNULL(3) ? INT_MAX : PG_GETARG_INT32(3);
	take.context = CurrentMemoryContext;

	bloomexp_kept_expect(SPI_connect(), SPI_OK_CONNECT, "SPI_connect");
	plans = get_plans(fcinfo, &space);
	bloomexp_kept_use(&plans->kept, take_by_plans, &take);
	bloomexp_kept_expect(SPI_finish(), SPI_OK_FINISH, "SPI_finish");
	PG_RETURN_ARRAYTYPE_P(take.taken);
}
