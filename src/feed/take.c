/*-------------------------------------------------------------------------
 *
 * take.c
 *	  Candidates that are taken and remembered in one statement.
 *
 * See rows.c for why two calls never take the same.  How a filter starts is in the
 * definition of its column, which is a trigger on some other table.  So after a change of
 * any table, or of the members of a role, the triggers are looked at again: if they and
 * their tables are those that they were, the definition is, too.
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
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "feed/columns.h"
#include "feed/definition.h"
#include "feed/plans.h"
#include "feed/rows.h"
#include "feed/triggers.h"
#include "kernel/batch.h"
#include "kernel/murmur3.h"
#include "sql/arguments.h"
#include "sql/item.h"
#include "sql/lookup.h"
#include "value/compat.h"
#include "value/filter.h"
#include "value/kind.h"
#include "value/layout.h"
#include "value/window.h"

PG_FUNCTION_INFO_V1(bloomexp_take);

/* What is kept of a column of filters. */
typedef struct TakePlans
{
	BloomRows	rows;
	BloomKind	kind;			/* of items; BLOOM_KIND_NONE: of any */
	Oid			track;			/* bloom_track(), by whose triggers this is defined */
	Oid			owner;			/* of the table of filters */
	uint64		fingerprint;	/* of the triggers */
	uint64		changes;		/* that had happened when they were looked at */
} TakePlans;

/* A call. */
typedef struct Take
{
	FunctionCallInfo fcinfo;
	const TakePlans *plans;
	ArrayType  *candidates;
	int			wanted;
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

/*
 * Look at the other triggers that feed a table: what they add to a column of filters is of
 * one kind, and nothing else may start a filter there; and a live column is none to take
 * by.
 */
static BloomKind
find_kind(const BloomExtension *extension, Oid target, const char *filter_column)
{
	BloomKind	kind = BLOOM_KIND_NONE;
	bool		differ = false;
	ListCell   *cell;

	foreach (cell, bloomexp_definition_feeders(extension, target, NULL))
	{
		const BloomTrigger *trigger = lfirst(cell);
		const char *its_column = trigger->column;
		BloomDefinition definition;
		BloomKind	its_kind;

		if (!trigger->counts)
			continue;
		bloomexp_definition_of_trigger(trigger->nargs, trigger->args, &definition);
		if (definition.live_column != NULL && strcmp(definition.live_column, filter_column) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("column \"%s\" of table \"%s\" is the live column of \"%s\"", filter_column,
							get_rel_name(target), its_column),
					 errhint("Name column \"%s\".", its_column)));
		if (strcmp(its_column, filter_column) != 0)
			continue;
		its_kind = bloomexp_columns_item_kind(trigger->relation, definition.item_column);
		differ |= kind != BLOOM_KIND_NONE && kind != its_kind;
		kind = its_kind;
	}
	return differ ? BLOOM_KIND_NONE : kind;
}

/* The definition of a column of filters, as far as it matters here. */
static void
read_definition(const BloomExtension *extension, TakePlans *plans)
{
	BloomRows  *rows = &plans->rows;
	Oid			target = rows->plans.target;
	BloomDefinition nothing = {0};

	/* Triggers need not agree in what does not matter here. */
	uint32		no_matter = BLOOM_SETTING_BIT(BLOOM_SETTING_SOURCE) |
		BLOOM_SETTING_BIT(BLOOM_SETTING_USER_COLUMN) | BLOOM_SETTING_BIT(BLOOM_SETTING_ITEM_COLUMN) |
		BLOOM_SETTING_BIT(BLOOM_SETTING_TIME_COLUMN) | BLOOM_SETTING_BIT(BLOOM_SETTING_HEADROOM) |
		BLOOM_SETTING_BIT(BLOOM_SETTING_CONDITION);

	bloomexp_definition_agree(extension, target, rows->filter_column, &nothing,
							  no_matter | BLOOM_SETTING_BIT(BLOOM_SETTING_WIDTH), &rows->definition);
	if (rows->definition.slices > 0)
		bloomexp_definition_agree(extension, target, rows->filter_column, &nothing, no_matter,
								  &rows->definition);
	if (rows->definition.ignored != NULL)
		ereport(WARNING,
				(errmsg("bloom_take() ignores trigger %s", rows->definition.ignored),
				 errdetail("The owner of that table does not have the privileges of the owner of table \"%s\".",
						   get_rel_name(target))));
	plans->kind = find_kind(extension, target, rows->filter_column);
}

/* Find out how to take by a column of a table. */
static TakePlans *
make_plans(FunctionCallInfo fcinfo, const BloomPlansKey *key)
{
	TakePlans  *plans = (TakePlans *) bloomexp_plans_begin(key, sizeof(TakePlans));
	BloomRows  *rows = &plans->rows;
	MemoryContext caller = MemoryContextSwitchTo(rows->plans.context);
	BloomExtension extension;

	ereport(DEBUG1, (errmsg_internal("bloom_take() reads the definition of table \"%s\"", get_rel_name(key->target))));
	/* a partition is as its whole is */
	rows->plans.target = bloomexp_triggers_table_root(key->target);
	rows->plans.pages = bloomexp_plans_lock_target(rows->plans.target);
	bloomexp_triggers_find_extension(fcinfo->flinfo->fn_oid, &extension);
	plans->track = extension.track;
	plans->owner = bloomexp_triggers_table_owner(rows->plans.target);
	plans->changes = bloomexp_plans_changes();
	plans->fingerprint = bloomexp_triggers_fingerprint(plans->track, plans->owner);

	rows->filter_column = bloomexp_definition_filter_column(&extension, rows->plans.target,
															PG_ARGISNULL(4) ? NULL :
																NameStr(*PG_GETARG_NAME(4)));
	read_definition(&extension, plans);
	bloomexp_columns_find_key(rows->plans.target, rows->definition.target_user_column, &rows->key);
	bloomexp_columns_check_live(&extension, &rows->definition, rows->plans.target, rows->filter_column);
	bloomexp_rows_prepare(rows, &extension);
	MemoryContextSwitchTo(caller);
	bloomexp_plans_keep(&rows->plans);
	return plans;
}

/* Are the triggers still those by which the plans were made? */
static bool
is_defined_so(TakePlans *plans)
{
	uint64		changes = bloomexp_plans_changes();

	if (plans->changes == changes)
		return true;
	if (plans->owner != bloomexp_triggers_table_owner(plans->rows.plans.target) ||
		plans->fingerprint != bloomexp_triggers_fingerprint(plans->track, plans->owner))
		return false;
	plans->changes = changes;
	return true;
}

/* The plans for the table and column of a call. */
static TakePlans *
get_plans(FunctionCallInfo fcinfo)
{
	BloomPlansKey key;
	TakePlans  *plans;

	if (secret == 0 && !pg_strong_random(&secret, sizeof(secret)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate random values")));
	memset(&key, 0, sizeof(key));
	key.target = PG_GETARG_OID(0);
	if (!PG_ARGISNULL(4))
		key.column = *PG_GETARG_NAME(4);
	bloomexp_arguments_require_privilege(key.target, ACL_UPDATE);
	plans = (TakePlans *) bloomexp_plans_find(&key);
	return plans != NULL && is_defined_so(plans) ? plans : make_plans(fcinfo, &key);
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

/*
 * Take the first candidates that no filter contains; hash them by the seed of the filter
 * that will remember them.
 */
static void
pick(Take *take, BloomLookups *filters, BloomItems *candidates, uint32 seed)
{
	taken_hash *taken = taken_create(CurrentMemoryContext, Min(take->wanted, 256), NULL);
	ArrayType  *result = bloomexp_item_begin_array(take->context, take->candidates);
	char	   *end = ARR_DATA_PTR(result);
	BloomBatch	batch;
	bool		omit[BLOOMEXP_BATCH];
	int			copied = 0;

	bloomexp_lookup_require_kind(filters, candidates->type->kind);
	take->n = 0;
	take->hashes = palloc_extended(Max(candidates->nitems, 1) * sizeof(uint64), MCXT_ALLOC_HUGE);
	while (take->n < take->wanted && bloomexp_item_next(candidates, seed, &batch))
	{
		CHECK_FOR_INTERRUPTS();
		bloomexp_lookup_mark(filters, &batch, omit);
		take_new(take, taken, bloomexp_item_hashes(&batch, seed), batch.n, omit);
		end = bloomexp_item_copy(end, &batch, omit, &copied);
	}
	take->taken = bloomexp_item_end_array(result, end, copied, candidates->element_type);
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
				 errmsg("filters of table \"%s\" hold %s items, not %s", get_rel_name(plans->rows.plans.target),
						bloomexp_kind_name(plans->kind), bloomexp_kind_name(kind)),
				 errhint("Cast the candidates to %s[].", bloomexp_kind_type(plans->kind))));
}

/*
 * Take candidates by the filters that are stored for a user, of which any may be
 * NULL; returns the last one as it is to be stored, or NULL if nothing is taken: a
 * BloomChange.
 */
static struct varlena *
take_from(void *argument, uint64 nth, struct varlena **stored)
{
	Take	   *take = argument;
	const TakePlans *plans = take->plans;
	int			n = plans->rows.nfilters;
	Datum		values[BLOOM_ROW_FILTERS];
	BloomLookups filters;
	BloomFilter fresh = {0};
	BloomFilter *adding = &fresh;
	BloomItems	candidates;

	bloomexp_item_begin(&candidates, take->candidates, get_collation(take->fcinfo));
	require_kind(plans, candidates.type->kind);
	for (int i = 0; i < n; i++)
		values[i] = PointerGetDatum(stored[i]);
	/* (the last one is needed as a whole, to add to it) */
	if (stored[n - 1] != NULL)
		values[n - 1] = PointerGetDatum(PG_DETOAST_DATUM_PACKED(values[n - 1]));
	bloomexp_lookup_open(&filters, values, n, candidates.nitems);
	if (stored[n - 1] != NULL)
		adding = &filters.each[filters.n - 1].filter;

	pick(take, &filters, &candidates, adding->seed);
	if (take->n == 0)
		return NULL;
	if (adding == &fresh)
		bloomexp_definition_start_filter(&plans->rows.definition, adding, take->n);
	return remember(take, adding, candidates.type->kind);
}

/* Take: for bloomexp_plans_use(). */
static void
take_by_plans(BloomPlans *kept, void *argument)
{
	TakePlans  *plans = (TakePlans *) kept;
	Take	   *take = argument;
	BloomChanges changes = {.change = take_from, .argument = take};

	/* (an input function can execute anybody's code, and that may come here again) */
	Datum		user = get_user(take->fcinfo, plans->rows.key.type);

	take->plans = plans;
	if (!bloomexp_rows_change(&plans->rows, &changes, 0, user))
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
	TakePlans  *plans;
	Take		take;

	bloomexp_arguments_require(fcinfo, 0, names, lengthof(names));
	if (PG_ARGISNULL(2))
		PG_RETURN_NULL();
	if (!PG_ARGISNULL(3) && PG_GETARG_INT32(3) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("wanted must not be negative")));
	bloomexp_arguments_check_candidates(fcinfo, 2);

	memset(&take, 0, sizeof(take));
	take.fcinfo = fcinfo;
	take.candidates = bloomexp_arguments_array(fcinfo, 2);
	take.wanted = PG_ARGISNULL(3) ? INT_MAX : PG_GETARG_INT32(3);
	take.context = CurrentMemoryContext;

	bloomexp_plans_expect(SPI_connect(), SPI_OK_CONNECT, "SPI_connect");
	plans = get_plans(fcinfo);
	bloomexp_plans_use(&plans->rows.plans, take_by_plans, &take);
	bloomexp_plans_expect(SPI_finish(), SPI_OK_FINISH, "SPI_finish");
	PG_RETURN_ARRAYTYPE_P(take.taken);
}
