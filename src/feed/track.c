/*-------------------------------------------------------------------------
 *
 * track.c
 *	  The trigger that adds new exposures to the filters of their users.
 *
 * The rows come in a transition table.  They are read here, once, and grouped by their
 * users; then the filter of each user is changed once.  See rows.c for how.
 *
 * A trigger is read when it is called for the first time, and kept until its table or
 * that of the filters changes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/tuplestore.h"

#include "feed/columns.h"
#include "feed/condition.h"
#include "feed/definition.h"
#include "feed/exposures.h"
#include "feed/plans.h"
#include "feed/rows.h"
#include "feed/shards.h"
#include "feed/track.h"
#include "feed/triggers.h"
#include "sql/arguments.h"
#include "sql/item.h"
#include "value/filter.h"
#include "value/kind.h"
#include "value/layout.h"
#include "value/window.h"

PG_FUNCTION_INFO_V1(bloomexp_track);

/* Change up to FEW_USERS one by one, and more users in batches. */
#define FEW_USERS 3
#define BATCH_USERS 500

/*
 * How many exposures are gathered at a time, which takes some 100 MB.  Larger statements go
 * through their users once for each of these parts, so then writers can deadlock.
 */
#define PART_EXPOSURES (UINT64_C(4) * 1024 * 1024)

/* A call. */
typedef struct Call
{
	const TriggerData *trigger;
	BloomTracker *tracker;
	int			pointer;		/* ours to read the transition table */
	uint64		first;			/* rows of the transition table: the first one of this part, */
	uint64		end;			/* ... and that of the next */
	uint8	   *counted;		/* bits: which rows are exposures? */
	BloomExposures *exposures;	/* hashed by seed 0, as nearly all filters are */
	BloomExposures *with_items; /* ... and with their items, for a filter of another seed */
} Call;

/* The calling trigger; raises an error if it is of the wrong kind. */
static TriggerData *
get_trigger(FunctionCallInfo fcinfo)
{
	TriggerData *trigger = bloomexp_triggers_require_call(fcinfo);

	if (!TRIGGER_FIRED_AFTER(trigger->tg_event) ||
		!TRIGGER_FIRED_FOR_STATEMENT(trigger->tg_event) ||
		!(TRIGGER_FIRED_BY_INSERT(trigger->tg_event) ||
		  TRIGGER_FIRED_BY_UPDATE(trigger->tg_event)) ||
		trigger->tg_newtable == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("bloom_track() must be called by an AFTER INSERT or AFTER UPDATE trigger for each statement, with a transition table"),
				 errhint("CREATE TRIGGER ... AFTER INSERT ON ... REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION bloom_track(...);")));
	return trigger;
}

/* The table to which a trigger on a table adds. */
static Oid
find_target(Oid source, const char *name, Oid *named)
{
	bool		is_shard = OidIsValid(bloomexp_shards_find_whole(source));

	*named = bloomexp_definition_target(get_rel_namespace(source), name, is_shard);
	return bloomexp_shards_partner(source, *named);
}

/* Lock the table of the filters that the trigger names, for whoever may update it. */
static BlockNumber
lock_target(const TriggerData *trigger)
{
	const char *name = trigger->tg_trigger->tgargs[BLOOMEXP_TRIGGER_TARGET];
	Oid			source = RelationGetRelid(trigger->tg_relation);
	Oid			named;
	Oid			target = find_target(source, name, &named);
	Oid			locked;
	BlockNumber pages;

	/* until the name leads to what is locked */
	do
	{
		locked = target;
		bloomexp_arguments_require_privilege(locked, ACL_UPDATE);
		pages = bloomexp_plans_lock_target(locked);
		target = find_target(source, name, &named);
	} while (target != locked);
	return pages;
}

/* Does an expression only read a column? */
static bool
is_column(const Node *expression)
{
	while (expression != NULL && IsA(expression, RelabelType))
		expression = (const Node *) ((const RelabelType *) expression)->arg;
	return expression == NULL || IsA(expression, Var);
}

/* Is a cast one of the server's own, which never change?  Of others, nothing is known. */
static bool
is_built_in(const Node *expression)
{
	while (expression != NULL && IsA(expression, FuncExpr) &&
		   ((const FuncExpr *) expression)->funcid < FirstNormalObjectId &&
		   list_length(((const FuncExpr *) expression)->args) > 0)
		expression = linitial(((const FuncExpr *) expression)->args);
	return is_column(expression);
}

/*
 * bloomexp_track_read
 *		What a trigger on a table does, by its arguments; an error if it cannot do it.
 *
 * This only reads the catalogs.
 */
void
bloomexp_track_read(const BloomExtension *extension, Oid source, int nargs, char **args,
					BloomTracker *tracker)
{
	BloomRows  *rows = &tracker->rows;
	BloomDefinition *definition = &rows->definition;
	Oid			target;

	bloomexp_definition_of_trigger(nargs, args, definition);
	bloomexp_shards_check_user(source, definition->user_column);
	rows->plans.source = source;
	rows->plans.target = target = find_target(source, args[BLOOMEXP_TRIGGER_TARGET], &rows->plans.whole);
	bloomexp_columns_find_key(target, definition->target_user_column, &rows->key);
	rows->filter_column = bloomexp_definition_filter_column(extension, target,
															args[BLOOMEXP_TRIGGER_COLUMN]);
	bloomexp_columns_find(definition, source, &rows->key, &tracker->columns);
	if (definition->condition != NULL)
		tracker->condition = bloomexp_condition_parse(source, definition->condition);
	bloomexp_columns_check_tracked(definition, source);
	bloomexp_columns_check_live(extension, definition, target, rows->filter_column);
	if (tracker->columns.kind == BLOOM_KIND_TEXT)
		bloomexp_item_check_collation(exprCollation(tracker->columns.item));
	tracker->windowed = bloomexp_definition_tracks_window(definition);
	rows->plans.by_expressions = tracker->condition != NULL || !is_built_in(tracker->columns.user) ||
		!is_built_in(tracker->columns.item) || !is_built_in(tracker->columns.time);
}

/* Read a trigger, and keep what it does. */
static BloomTracker *
make_tracker(const TriggerData *trigger, Oid function)
{
	BloomPlansKey key = {.trigger = trigger->tg_trigger->tgoid};
	BloomTracker *tracker = (BloomTracker *) bloomexp_plans_begin(&key, sizeof(BloomTracker));
	BloomRows  *rows = &tracker->rows;
	MemoryContext caller = MemoryContextSwitchTo(rows->plans.context);
	BloomExtension extension;

	ereport(DEBUG1, (errmsg_internal("bloom_track() reads trigger \"%s\"", trigger->tg_trigger->tgname)));
	bloomexp_triggers_find_extension(function, &extension);
	if (trigger->tg_trigger->tgnargs > BLOOMEXP_TRIGGER_TARGET)
		rows->plans.pages = lock_target(trigger);
	bloomexp_track_read(&extension, RelationGetRelid(trigger->tg_relation), trigger->tg_trigger->tgnargs,
						trigger->tg_trigger->tgargs, tracker);
	bloomexp_rows_prepare(rows, &extension);
	MemoryContextSwitchTo(caller);
	bloomexp_plans_keep(&rows->plans);
	return tracker;
}

/* An expression over the rows of the transition table, ready to be evaluated. */
typedef struct Reader
{
	AttrNumber	column;			/* it only reads this one, */
	ExprState  *expression;		/* ... or is something else, or nothing */
} Reader;

static Reader
make_reader(Node *expression, EState *estate)
{
	Reader		reader = {InvalidAttrNumber, NULL};

	if (expression == NULL)
		return reader;
	if (!is_column(expression))
	{
		reader.expression = ExecPrepareExpr((Expr *) expression, estate);
		return reader;
	}
	while (IsA(expression, RelabelType))
		expression = (Node *) ((RelabelType *) expression)->arg;
	reader.column = ((Var *) expression)->varattno;
	return reader;
}

/* The value of an expression for a row. */
static inline Datum
read_row(const Reader *reader, TupleTableSlot *row, ExprContext *context, bool *isnull)
{
	if (reader->column != InvalidAttrNumber)
		return slot_getattr(row, reader->column, isnull);
	*isnull = false;
	return reader->expression ? ExecEvalExprSwitchContext(reader->expression, context, isnull) : (Datum) 0;
}

/* Is a row an exposure?  A condition is evaluated once per row. */
static bool
counts(Call *call, uint64 row, bool first, const Reader *condition, TupleTableSlot *slot,
	   ExprContext *context)
{
	uint8	   *byte = &call->counted[row / 8];
	uint8		bit = 1 << (row % 8);
	bool		isnull;

	if (first && (call->tracker->condition == NULL ||
				  (DatumGetBool(read_row(condition, slot, context, &isnull)) && !isnull)))
		*byte |= bit;
	return (*byte & bit) != 0;
}

/* Gather the next part of the exposures, or for the second time, with their items, this one. */
static BloomExposures *
gather(Call *call, bool first)
{
	const BloomTracker *tracker = call->tracker;
	Tuplestorestate *rows = call->trigger->tg_newtable;
	BloomExposures *exposures = palloc(sizeof(BloomExposures));
	EState	   *estate = CreateExecutorState();
	ExprContext *context = GetPerTupleExprContext(estate);
	TupleTableSlot *row = MakeSingleTupleTableSlot(RelationGetDescr(call->trigger->tg_relation),
												   &TTSOpsMinimalTuple);
	Reader		user = make_reader(tracker->columns.user, estate);
	Reader		item = make_reader(tracker->columns.item, estate);
	Reader		time = make_reader(tracker->columns.time, estate);
	Reader		condition = make_reader(tracker->condition, estate);
	uint64		nth = call->first;

	bloomexp_exposures_begin(exposures, &tracker->rows.key, tracker->columns.kind, 0, tracker->windowed);
	exposures->keeps_items = !first;
	context->ecxt_scantuple = row;
	tuplestore_select_read_pointer(rows, call->pointer);
	tuplestore_rescan(rows);
	(void) tuplestore_skiptuples(rows, (int64) call->first, true);
	while ((first ? exposures->n < PART_EXPOSURES : nth < call->end) &&
		   tuplestore_gettupleslot(rows, true, false, row))
	{
		bool		isnull[3];
		Datum		its_user = read_row(&user, row, context, &isnull[0]);
		Datum		its_item = read_row(&item, row, context, &isnull[1]);
		Datum		its_time = read_row(&time, row, context, &isnull[2]);

		CHECK_FOR_INTERRUPTS();
		if (!isnull[0] && !isnull[1] && !isnull[2] && counts(call, nth, first, &condition, row, context))
			bloomexp_exposures_add(exposures, its_user, its_item,
								   tracker->windowed ?
									   bloomexp_arguments_check_time(its_time, false, "shown_at") : 0);
		ResetExprContext(context);
		nth++;
	}
	tuplestore_select_read_pointer(rows, 0);
	call->end = nth;
	ExecDropSingleTupleTableSlot(row);
	FreeExecutorState(estate);
	bloomexp_exposures_group(exposures);
	return exposures;
}

/*
 * Write the hashes of what a user was shown, by the seed of a filter.
 *
 * A seed other than 0 is rare.  Then the rows are read once more, and their items are kept.
 */
static void
get_hashes(Call *call, uint64 nth, uint32 seed, uint64 *hashes)
{
	BloomExposures *exposures = call->exposures;

	if (seed != exposures->seed)
	{
		if (call->with_items == NULL)
		{
			MemoryContext caller = MemoryContextSwitchTo(exposures->context);

			call->with_items = gather(call, false);
			MemoryContextSwitchTo(caller);
		}
		if (call->with_items->nusers != exposures->nusers ||
			call->with_items->users[nth].n != exposures->users[nth].n)
			elog(ERROR, "exposures are others when they are read again");
		exposures = call->with_items;
	}
	bloomexp_exposures_hash(exposures, &exposures->users[nth], seed, hashes);
}

/* Add what a user was shown to a windowed filter. */
static struct varlena *
add_in_window(BloomFilter *filter, const BloomExposures *exposures, const BloomShown *shown,
			  const uint64 *hashes)
{
	int64		length;
	BloomExposure *added = palloc_extended(shown->n * sizeof(BloomExposure), MCXT_ALLOC_HUGE);
	uint64		n = 0;

	bloomexp_window_require(filter, "bloom_add_at()");
	length = bloomexp_window_slice_length(filter->width, filter->slices);
	for (uint64 i = 0; i < shown->n; i++)
	{
		int64		time = exposures->times[shown->first + i];

		added[n].hash = hashes[i];
		added[n].slice = bloomexp_window_slice_of(time, length);
		n += time >= filter->floor;
	}
	n = bloomexp_window_keep_newest(added, n);
	return bloomexp_window_add(filter, exposures->kind, added, n, false);
}

/* The filter of a user with what was shown: a BloomChange. */
static struct varlena *
add_shown(void *argument, uint64 nth, struct varlena **stored)
{
	Call	   *call = argument;
	const BloomRows *rows = &call->tracker->rows;
	struct varlena *value = stored[rows->nfilters - 1];
	const BloomExposures *exposures = call->exposures;
	const BloomShown *shown = &exposures->users[nth];
	BloomFilter filter;
	uint64	   *hashes;

	if (shown->n > INT_MAX / 2)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many exposures of one user in one statement")));
	if (value != NULL)
		bloomexp_layout_open(&filter, PG_DETOAST_DATUM_PACKED(PointerGetDatum(value)));
	else
		bloomexp_definition_start_filter(&rows->definition, &filter, (int64) shown->n);

	/* (they are reordered) */
	hashes = palloc_extended(shown->n * sizeof(uint64), MCXT_ALLOC_HUGE);
	get_hashes(call, nth, filter.seed, hashes);
	return call->tracker->windowed ? add_in_window(&filter, exposures, shown, hashes) :
		bloomexp_filter_add(&filter, exposures->kind, hashes, (int) shown->n);
}

/* Can a trigger of a table keep its rows as they are?  That is its owner's business. */
static bool
has_keeper(Oid table)
{
	Relation	relation = table_open(table, NoLock);
	bool		has = relation->trigdesc != NULL &&
		(relation->trigdesc->trig_insert_before_row || relation->trigdesc->trig_update_before_row);

	table_close(relation, NoLock);
	return has;
}

/* Complain if filters were not reached: an exposure must not be lost like that. */
static void
check_all(const BloomRows *rows)
{
	Oid			target = rows->plans.target;

	/* rows that a policy hides from an UPDATE stay as they are, without an error */
	if (check_enable_rls(target, InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("row-level security policies of table \"%s\" keep new exposures out of the filters",
						get_rel_name(target)),
				 errhint("Roles that insert exposures need policies for SELECT, INSERT and UPDATE.")));
	if (!has_keeper(target))
		ereport(ERROR,
				(errcode(ERRCODE_TRIGGERED_ACTION_EXCEPTION),
				 errmsg("exposures are not stored in table \"%s\"", get_rel_name(target)),
				 errdetail("The column of the users stores another value than it is given."),
				 errhint("Give both columns of users the same type.")));
}

/* Change the filters of the users of the next part; returns whether each has a row that takes it. */
static bool
add_part(Call *call)
{
	BloomRows  *rows = &call->tracker->rows;
	BloomChanges changes = {.change = add_shown, .argument = call, .must_lock = true};
	BloomExposures *exposures;
	bool		all = true;

	call->with_items = NULL;
	exposures = call->exposures = gather(call, true);
	if (exposures->nusers <= FEW_USERS)
	{
		for (uint64 i = 0; i < exposures->nusers; i++)
			all &= bloomexp_rows_change(rows, &changes, i, exposures->users[i].user);
	}
	else
	{
		for (uint64 i = 0; i < exposures->nusers; i += BATCH_USERS)
			all &= bloomexp_rows_change_many(rows, &changes, exposures, i,
											 Min(BATCH_USERS, exposures->nusers - i));
	}
	return all;
}

/* Change the filters of all users: for bloomexp_plans_use(). */
static void
add(BloomPlans *plans, void *argument)
{
	Call	   *call = argument;
	Tuplestorestate *rows = call->trigger->tg_newtable;
	uint64		nrows = tuplestore_tuple_count(rows);
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext part = AllocSetContextCreate(caller, "bloom_track part", ALLOCSET_DEFAULT_SIZES);
	bool		all = true;

	/* (also for users who have a row: the privilege must not be missing some other day) */
	bloomexp_arguments_require_privilege(plans->target, ACL_INSERT);
	call->counted = palloc0(nrows / 8 + 1);
	call->pointer = tuplestore_alloc_read_pointer(rows, EXEC_FLAG_REWIND);
	for (call->first = 0; call->first < nrows; call->first = call->end)
	{
		MemoryContextReset(part);
		MemoryContextSwitchTo(part);
		all &= add_part(call);
		MemoryContextSwitchTo(caller);
	}
	MemoryContextDelete(part);
	if (!all)
		check_all((BloomRows *) plans);
}

/* To each error, which trigger it was: a table may have some. */
static void
name_trigger(void *argument)
{
	const TriggerData *trigger = argument;

	errcontext("trigger \"%s\" of table \"%s\"", trigger->tg_trigger->tgname,
			   RelationGetRelationName(trigger->tg_relation));
}

/* bloom_track() */
Datum
bloomexp_track(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = get_trigger(fcinfo);
	BloomPlansKey key = {.trigger = trigger->tg_trigger->tgoid};
	ErrorContextCallback context = {error_context_stack, name_trigger, trigger};
	Call		call = {.trigger = trigger};

	if (tuplestore_tuple_count(trigger->tg_newtable) == 0)
		return PointerGetDatum(NULL);
	error_context_stack = &context;
	bloomexp_plans_expect(SPI_connect(), SPI_OK_CONNECT, "SPI_connect");
	call.tracker = (BloomTracker *) bloomexp_plans_find(&key);
	if (call.tracker == NULL)
		call.tracker = make_tracker(trigger, fcinfo->flinfo->fn_oid);
	bloomexp_plans_use(&call.tracker->rows.plans, add, &call);
	bloomexp_plans_expect(SPI_finish(), SPI_OK_FINISH, "SPI_finish");
	error_context_stack = context.previous;
	return PointerGetDatum(NULL);
}
