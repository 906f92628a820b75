/*-------------------------------------------------------------------------
 *
 * rebuild.c
 *	  The procedure that builds filters from scratch, while writers continue.
 *
 * It works in batches of users, each in a transaction of its own: find the next users,
 * lock their rows, read their exposures with a snapshot that is younger than the locks,
 * write, commit.  See rows.c for why no exposure is lost.
 *
 * It does not wait for a writer while it holds the filters of a batch: those that are
 * locked by others it does afterwards, one in a transaction.  So nobody waits for it
 * longer than its own work takes, and writers that lock several users in an order of
 * their own do not deadlock with it.
 *
 * A dry run goes the same way, but locks and writes nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "nodes/nodeFuncs.h"
#include "pgstat.h"
#include "tcop/pquery.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "feed/columns.h"
#include "feed/definition.h"
#include "feed/exposures.h"
#include "feed/plans.h"
#include "feed/rebuild.h"
#include "feed/rebuild_lock.h"
#include "feed/rebuild_plan.h"
#include "feed/rebuild_shards.h"
#include "sql/arguments.h"
#include "value/compat.h"
#include "value/distinct.h"
#include "value/filter.h"
#include "value/layout.h"
#include "value/window.h"

PG_FUNCTION_INFO_V1(bloomexp_rebuild);
PG_FUNCTION_INFO_V1(bloomexp_dry_run);

/* What is left to wait for is a user without a row that another session inserts just now. */
#define LOCK_TIMEOUT "10ms"

#define NOTICE_SECONDS 20
#define WRITE_BYTES ((Size) 16 * 1024 * 1024)

/* The table that this session rebuilds now, or InvalidOid. */
static Oid	rebuilt = InvalidOid;

/*
 * bloomexp_rebuild_target
 *		The table of filters that this session rebuilds now, or InvalidOid.
 */
Oid
bloomexp_rebuild_target(void)
{
	return rebuilt;
}

/* Refuse a call that cannot commit. */
static void
require_nonatomic(FunctionCallInfo fcinfo)
{
	if (fcinfo->context == NULL || !IsA(fcinfo->context, CallContext) ||
		((CallContext *) fcinfo->context)->atomic || IsSubTransaction())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_TERMINATION),
				 errmsg("bloom_rebuild() cannot be called inside a transaction"),
				 errdetail("It commits after each batch of users."),
				 errhint("Call it in autocommit mode, alone, as a statement of its own.")));
}

/* Is a user in the part of this call? */
static bool
is_in_part(const BloomRebuild *rebuild, Datum user)
{
	BloomUsers	one = {&user, 1};
	uint64		hash;

	if (rebuild->parts == 1)
		return true;
	hash = DatumGetUInt64(FunctionCall2Coll(rebuild->hash, rebuild->key.collation,
											bloomexp_columns_make_users(&rebuild->key, one.values,
																		one.n), Int64GetDatum(0)));
	return (hash & PG_INT64_MAX) % rebuild->parts == (uint64) rebuild->part - 1;
}

/* Copy the users that a statement found. */
static BloomUsers
get_found_users(const BloomRebuild *rebuild)
{
	BloomUsers	users = {.values = palloc(Max(SPI_processed, 1) * sizeof(Datum))};

	bloomexp_columns_require_same(rebuild->target,
								  TupleDescAttr(SPI_tuptable->tupdesc,
												0)->atttypid == rebuild->key.compared_type);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		bool		isnull;
		Datum		user = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &isnull);

		if (!isnull)
			users.values[users.n++] = datumCopy(user, rebuild->key.by_value, rebuild->key.length);
	}
	SPI_freetuptable(SPI_tuptable);
	return users;
}

/* Execute a statement; returns how many rows were processed. */
static uint64
execute(const BloomRebuild *rebuild, BloomRebuildStatement statement, Datum *arguments)
{
	MemoryContext caller = CurrentMemoryContext;
	int			result = SPI_execute_plan(rebuild->plans[statement], arguments, NULL, false, 0);

	if (result < 0)
		elog(ERROR, "SPI_execute_plan failed: %s", SPI_result_code_string(result));
	/* (SPI leaves its own context behind, which lasts until the end of the call) */
	MemoryContextSwitchTo(caller);
	return SPI_processed;
}

/* Those users who are in a table, or whose rows could be locked. */
static BloomUsers
find_users(const BloomRebuild *rebuild, BloomRebuildStatement statement, const BloomUsers *users)
{
	Datum		arguments[] = {bloomexp_columns_make_users(&rebuild->key, users->values, users->n)};

	(void) execute(rebuild, statement, arguments);
	return get_found_users(rebuild);
}

/* The users of the first list, in their order, who are not in the second. */
static BloomUsers
subtract(BloomRebuild *rebuild, const BloomUsers *users, const BloomUsers *others)
{
	BloomUsers	rest = {.values = palloc(Max(users->n, 1) * sizeof(Datum))};
	int			next = 0;

	for (int i = 0; i < users->n; i++)
	{
		while (next < others->n &&
			   bloomexp_rebuild_plan_compare(&others->values[next], &users->values[i], rebuild) < 0)
			next++;
		if (next == others->n ||
			bloomexp_rebuild_plan_compare(&others->values[next], &users->values[i], rebuild) != 0)
			rest.values[rest.n++] = users->values[i];
	}
	return rest;
}

/* The next users to do; false at the end. *last is the last one of all parts. */
static bool
find_batch(BloomRebuild *rebuild, BloomUsers *batch, Datum *last)
{
	Datum		arguments[] = {
		Int64GetDatum((int64) rebuild->batch_size * rebuild->parts),
		bloomexp_rebuild_plan_start(rebuild), rebuild->last
	};
	BloomUsers	found;
	int			level;

	if (rebuild->given)
	{
		*batch = (BloomUsers) {rebuild->users.values, Min(rebuild->batch_size, rebuild->users.n)};
		rebuild->users.values += batch->n;
		rebuild->users.n -= batch->n;
		if (batch->n > 0)
			*last = batch->values[batch->n - 1];
		return batch->n > 0;
	}

	/*
	 * Without sorting, each step of a walk is one look into the index, even if old
	 * statistics know of no exposure in the window.
	 */
	level = NewGUCNestLevel();
	if (rebuild->walks)
		(void) set_config_option("enable_sort", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	(void) execute(rebuild, rebuild->has_last ? BLOOM_REBUILD_NEXT_USERS :
				   BLOOM_REBUILD_FIRST_USERS, arguments);
	AtEOXact_GUC(true, level);
	found = get_found_users(rebuild);
	if (found.n == 0)
		return false;
	*last = found.values[found.n - 1];
	*batch = (BloomUsers) {.values = found.values};
	for (int i = 0; i < found.n; i++)
	{
		if (is_in_part(rebuild, found.values[i]))
			batch->values[batch->n++] = found.values[i];
	}
	return true;
}

/* The destination of the rows of a query. */
typedef struct Receiver
{
	DestReceiver pub;
	BloomExposures *exposures;
	const BloomRebuild *rebuild;
} Receiver;

/* For each row: user, item and, for a window, the time. */
static bool
receive_row(TupleTableSlot *row, DestReceiver *self)
{
	BloomExposures *exposures = ((Receiver *) self)->exposures;
	int64		time = 0;

	slot_getallattrs(row);
	if (exposures->timed)
		time = bloomexp_arguments_check_time(row->tts_values[2], false, "shown_at");
	bloomexp_exposures_add(exposures, row->tts_values[0], row->tts_values[1], time);
	return true;
}

/* The query must return the types that were planned, whatever became of the table. */
static void
begin_receiving(DestReceiver *self, int operation, TupleDesc shape)
{
	const BloomRebuild *rebuild = ((Receiver *) self)->rebuild;

	bloomexp_columns_require_same(rebuild->definition.source,
								  TupleDescAttr(shape, 0)->atttypid == exprType(rebuild->columns.user) &&
								  TupleDescAttr(shape, 1)->atttypid == exprType(rebuild->columns.item) &&
								  (shape->natts == 2 || TupleDescAttr(shape, 2)->atttypid == TIMESTAMPTZOID));
}

static void
end_receiving(DestReceiver *self)
{
}

/*
 * Gather the exposures of some users.
 *
 * They go from the executor straight to where they are gathered: SPI would copy each row.
 */
static BloomExposures *
gather(BloomRebuild *rebuild, const BloomUsers *users)
{
	Receiver	receiver = {
		.pub.receiveSlot = receive_row,
		.pub.rStartup = begin_receiving,
		.pub.rShutdown = end_receiving,
		.pub.rDestroy = end_receiving,
		.pub.mydest = DestNone,
		.exposures = palloc(sizeof(BloomExposures)),
		.rebuild = rebuild
	};
	MemoryContext caller = CurrentMemoryContext;
	Datum		arguments[] = {
		bloomexp_rebuild_plan_start(rebuild),
		bloomexp_columns_make_users(&rebuild->key, users->values, users->n)
	};
	Portal		portal = SPI_cursor_open(NULL, rebuild->plans[BLOOM_REBUILD_EXPOSURES], arguments,
										 NULL, false);

	MemoryContextSwitchTo(caller);
	bloomexp_exposures_begin(receiver.exposures, &rebuild->key, rebuild->columns.kind, 0,
							 rebuild->definition.slices > 0);
	(void) PortalRunFetch(portal, FETCH_FORWARD, FETCH_ALL, &receiver.pub);
	SPI_cursor_close(portal);
	MemoryContextSwitchTo(caller);
	bloomexp_exposures_group(receiver.exposures);
	return receiver.exposures;
}

/* The filter of what a user was shown. */
static struct varlena *
build(const BloomRebuild *rebuild, const BloomExposures *exposures, const BloomShown *shown)
{
	const BloomDefinition *definition = &rebuild->definition;
	double		fpr = bloomexp_definition_rebuilt_fpr(definition);
	uint64	   *hashes = exposures->hashes + shown->first;
	BloomExposure *added;
	int64		length;
	struct varlena *value;
	struct varlena *expired;
	BloomFilter filter;
	uint64		n;

	if (definition->slices == 0)
		return bloomexp_filter_build(exposures->kind, hashes, bloomexp_distinct_keep(hashes, shown->n), fpr,
									 definition->headroom);

	bloomexp_window_init(&filter, bloomexp_arguments_width(definition->width), definition->slices, fpr, 0);
	length = bloomexp_window_slice_length(filter.width, filter.slices);
	added = palloc_extended(shown->n * sizeof(BloomExposure), MCXT_ALLOC_HUGE);
	for (uint64 i = 0; i < shown->n; i++)
		added[i] = (BloomExposure) {
			.hash = hashes[i], .slice = bloomexp_window_slice_of(exposures->times[shown->first + i], length)
		};
	n = bloomexp_window_keep_newest(added, shown->n);
	value = bloomexp_window_add(&filter, exposures->kind, added, n, true);
	bloomexp_layout_open(&filter, value);
	expired = bloomexp_window_expire(&filter, bloomexp_rebuild_plan_at(rebuild));
	return expired != NULL ? expired : value;
}

/* Some users and their filters, to be written together. */
typedef struct Writing
{
	BloomRebuildStatement statement;
	BloomUsers	users;
	Datum	   *filters;
	Size		size;
} Writing;

static Writing
begin_writing(BloomRebuildStatement statement, uint64 n)
{
	return (Writing) {
		.statement = statement,
		.users.values = palloc(Max(n, 1) * sizeof(Datum)),
		.filters = palloc(Max(n, 1) * sizeof(Datum))
	};
}

/* Write what there is to write. */
static void
flush_writing(const BloomRebuild *rebuild, Writing *writing)
{
	Datum		arguments[2];
	Oid			filter_type = get_element_type(SPI_getargtypeid(rebuild->plans[BLOOM_REBUILD_WRITE], 1));

	if (writing->users.n == 0)
		return;
	arguments[0] = bloomexp_columns_make_users(&rebuild->key, writing->users.values, writing->users.n);
	arguments[1] = PointerGetDatum(construct_array(writing->filters, writing->users.n, filter_type,
												   -1, false, TYPALIGN_INT));
	for (int i = 0; i < writing->users.n; i++)
		pfree(DatumGetPointer(writing->filters[i]));
	writing->users.n = 0;
	writing->size = 0;
	(void) execute(rebuild, writing->statement, arguments);
	pfree(DatumGetPointer(arguments[0]));
	pfree(DatumGetPointer(arguments[1]));
}

static void
write_filter(const BloomRebuild *rebuild, Writing *writing, Datum user, struct varlena *filter)
{
	writing->users.values[writing->users.n] = user;
	writing->filters[writing->users.n++] = PointerGetDatum(filter);
	writing->size += VARSIZE_ANY(filter);
	if (writing->size > WRITE_BYTES)
		flush_writing(rebuild, writing);
}

/*
 * Write the filters of some users, of whom those with rows that are locked are known.
 *
 * What is not locked has no row as far as we know, and is inserted or united.
 */
static void
write_batch(BloomRebuild *rebuild, const BloomUsers *users, const BloomUsers *locked)
{
	BloomExposures *exposures = gather(rebuild, users);
	Writing		old = begin_writing(BLOOM_REBUILD_WRITE, exposures->nusers);
	Writing		new = begin_writing(BLOOM_REBUILD_WRITE_NEW, exposures->nusers);
	BloomUsers	fresh = {.values = palloc(Max(exposures->nusers, 1) * sizeof(Datum))};
	BloomUsers	gone;
	int			next = 0;

	for (uint64 i = 0; i < exposures->nusers; i++)
	{
		const BloomShown *shown = &exposures->users[i];
		Datum		user = shown->user;

		CHECK_FOR_INTERRUPTS();
		while (next < locked->n && bloomexp_rebuild_plan_compare(&locked->values[next], &user, rebuild) < 0)
			next++;
		fresh.values[fresh.n++] = user;
		write_filter(rebuild, next < locked->n &&
					 bloomexp_rebuild_plan_compare(&locked->values[next], &user, rebuild) == 0 ? &old : &new,
					 user, build(rebuild, exposures, shown));
	}
	flush_writing(rebuild, &old);
	gone = subtract(rebuild, locked, &fresh);
	if (gone.n > 0)
	{
		Datum		arguments[] = {bloomexp_columns_make_users(&rebuild->key, gone.values, gone.n)};

		rebuild->removed += execute(rebuild, BLOOM_REBUILD_REMOVE, arguments);
	}
	flush_writing(rebuild, &new);
	rebuild->built += fresh.n;
}

/* Count what a batch would write. */
static void
count_batch(BloomRebuild *rebuild, const BloomUsers *users)
{
	BloomExposures *exposures = gather(rebuild, users);
	BloomUsers	present = find_users(rebuild, BLOOM_REBUILD_PRESENT, users);
	BloomUsers	fresh = {.values = palloc(Max(exposures->nusers, 1) * sizeof(Datum))};
	BloomUsers	others;

	for (uint64 i = 0; i < exposures->nusers; i++)
	{
		struct varlena *filter;

		CHECK_FOR_INTERRUPTS();
		fresh.values[fresh.n++] = exposures->users[i].user;
		filter = build(rebuild, exposures, &exposures->users[i]);
		rebuild->bytes += VARSIZE_ANY(filter);
		pfree(filter);
	}
	others = subtract(rebuild, &present, &fresh);
	rebuild->exposures += exposures->n;
	rebuild->built += fresh.n;
	rebuild->others += others.n;
}

/* Lock what is free, and write that; returns the users who must wait. */
static BloomUsers
do_batch(BloomRebuild *rebuild, const BloomUsers *users)
{
	BloomUsers	present = find_users(rebuild, BLOOM_REBUILD_PRESENT, users);
	BloomUsers	locked = find_users(rebuild, BLOOM_REBUILD_LOCK_FREE, users);
	BloomUsers	busy = subtract(rebuild, &present, &locked);
	BloomUsers	free_users = subtract(rebuild, users, &busy);

	write_batch(rebuild, &free_users, &locked);
	return busy;
}

/*
 * Do a batch; returns the users who must wait, which may be all of them: the batch is
 * given up before anybody deadlocks.
 */
static BloomUsers
try_batch(BloomRebuild *rebuild, const BloomUsers *users)
{
	MemoryContext caller = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	BloomUsers	busy = *users;
	uint64		built = rebuild->built;
	uint64		removed = rebuild->removed;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(caller);
	PG_TRY();
	{
		bloomexp_rebuild_plan_set_locally("lock_timeout", LOCK_TIMEOUT);
		busy = do_batch(rebuild, users);
		ReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(caller);
		CurrentResourceOwner = owner;
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(caller);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(caller);
		CurrentResourceOwner = owner;
		if (error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE &&
			error->sqlerrcode != ERRCODE_T_R_DEADLOCK_DETECTED)
			ReThrowError(error);
		rebuild->built = built;
		rebuild->removed = removed;
		busy = *users;
	}
	PG_END_TRY();
	return busy;
}

/* Do the users who had to wait, one in a transaction. */
static void
do_busy(BloomRebuild *rebuild, const BloomUsers *busy)
{
	for (int i = 0; i < busy->n; i++)
	{
		BloomUsers	one = {&busy->values[i], 1};
		BloomUsers	locked;

		bloomexp_rebuild_plan_next_transaction();
		bloomexp_rebuild_plan_begin(rebuild);
		locked = find_users(rebuild, BLOOM_REBUILD_LOCK_ALL, &one);
		write_batch(rebuild, &one, &locked);
	}
}

/* A user as a text, for a message. */
static char *
show_user(const BloomRebuild *rebuild, Datum user)
{
	Oid			output;
	bool		is_varlena;

	getTypeOutputInfo(rebuild->key.type, &output, &is_varlena);
	return OidOutputFunctionCall(output, user);
}

/* Report the progress in place of the statement, for the roles that may see the statement. */
static void
report_progress(const BloomRebuild *rebuild)
{
	Datum		name = DirectFunctionCall1(regclassout, ObjectIdGetDatum(rebuild->target));
	char	   *progress = psprintf("bloom_rebuild: " UINT64_FORMAT " users%s (%s)", rebuild->done, rebuild->which,
								  DatumGetCString(name));

	pgstat_report_activity(STATE_RUNNING, progress);
	pfree(progress);
}

/* Undo all that lasts longer than a transaction, ... */
static void
end_call(BloomRebuild *rebuild)
{
	bloomexp_rebuild_plan_free(rebuild);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
}

/* ... and what only a rebuild has. */
static void
end_rebuild(BloomRebuild *rebuild)
{
	rebuilt = InvalidOid;
	bloomexp_rebuild_lock_release();
	end_call(rebuild);
}

/* Go on behind a batch. */
static void
finish_batch(BloomRebuild *rebuild, Datum last, int n)
{
	MemoryContext caller = MemoryContextSwitchTo(rebuild->context);
	TimestampTz now = GetCurrentTimestamp();

	rebuild->last = datumCopy(last, rebuild->key.by_value, rebuild->key.length);
	rebuild->has_last = true;
	MemoryContextSwitchTo(caller);
	rebuild->done += n;
	rebuild->batches++;
	report_progress(rebuild);
	if (rebuild->dry_run)
		return;
	if (TimestampDifferenceExceeds(rebuild->told_at, now, NOTICE_SECONDS * 1000))
	{
		ereport(NOTICE,
				(errmsg("rebuilt the filters of " UINT64_FORMAT " users, the last one is %s", rebuild->done,
						show_user(rebuild, rebuild->last))));
		rebuild->told_at = now;
	}
	if (rebuild->pause > 0)
	{
		/* in a transaction of its own, so that the window does not end before it */
		bloomexp_rebuild_plan_next_transaction();
		DirectFunctionCall1(pg_sleep, Float8GetDatum(rebuild->pause));
	}
}

/* Do batch after batch. */
static void
do_all(BloomRebuild *rebuild)
{
	for (;;)
	{
		BloomUsers	batch;
		BloomUsers	busy = {NULL, 0};
		Datum		last = (Datum) 0;

		MemoryContextReset(rebuild->batch);
		if (!rebuild->dry_run)
			bloomexp_rebuild_plan_next_transaction();
		MemoryContextSwitchTo(rebuild->batch);
		if (!rebuild->dry_run)
			bloomexp_rebuild_plan_begin(rebuild);
		if (!find_batch(rebuild, &batch, &last))
			break;
		if (batch.n > 0 && rebuild->dry_run)
			count_batch(rebuild, &batch);
		else if (batch.n > 0)
		{
			busy = try_batch(rebuild, &batch);
			do_busy(rebuild, &busy);
		}
		finish_batch(rebuild, last, batch.n);
	}
	MemoryContextSwitchTo(rebuild->context);
}

/* Say what a rebuild would do. */
static void
report_dry_run(const BloomRebuild *rebuild)
{
	/* (a pause may be endless) */
	Interval	takes = {.time = ((int64) (Min(rebuild->seconds, 1e12) / 60) + 1) * USECS_PER_MINUTE};

	ereport(NOTICE,
			(errmsg("dry run%s: " UINT64_FORMAT " exposures of " UINT64_FORMAT " users would make filters of " UINT64_FORMAT " bytes, in about %s; " UINT64_FORMAT " rows are of other users",
					rebuild->which, rebuild->exposures, rebuild->built, rebuild->bytes,
					DatumGetCString(DirectFunctionCall1(interval_out, IntervalPGetDatum(&takes))), rebuild->others),
			 rebuild->distributed ? errdetail("The tables have %d shards.", rebuild->shards) : 0));
}

/* Say what the call has done. */
static void
report(const BloomRebuild *rebuild)
{
	if (rebuild->distributed)
	{
		ereport(NOTICE,
				(errmsg("rebuilt the filters of %d shards%s", rebuild->shards, rebuild->which)));
		return;
	}
	if (!rebuild->given && rebuild->parts == 1 && !rebuild->started_after && rebuild->built == 0 &&
		rebuild->removed > 0)
		ereport(WARNING,
				(errmsg("no exposure in the window: removed the filters of " UINT64_FORMAT " users", rebuild->removed)));
	ereport(NOTICE,
			(errmsg("rebuilt the filters of " UINT64_FORMAT " users%s", rebuild->done, rebuild->which)));
}

/* Begin a call. */
static void
begin_call(BloomRebuild *rebuild, int options)
{
	memset(rebuild, 0, sizeof(*rebuild));
	bloomexp_plans_expect(SPI_connect_ext(options), SPI_OK_CONNECT, "SPI_connect_ext");
	rebuild->context = CurrentMemoryContext;
	rebuild->batch = AllocSetContextCreate(CurrentMemoryContext, "bloom_rebuild batch", ALLOCSET_DEFAULT_SIZES);
}

/* Count what a rebuild would write; a function does that on other nodes. */
static void
count_all(FunctionCallInfo fcinfo, BloomRebuild *rebuild, Oid function)
{
	if (rebuild->distributed)
		bloomexp_rebuild_shards_do(fcinfo, rebuild, function);
	else
	{
		do_all(rebuild);
		/* what a rebuild writes comes on top */
		rebuild->seconds = (GetCurrentTimestamp() - rebuild->started_at) / 1e6 +
			rebuild->batches * rebuild->pause;
	}
}

/* bloom_dry_run(), which has the arguments of bloom_rebuild(). */
static Oid
find_dry_run(Oid procedure)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(procedure));
	Form_pg_proc form;
	Oid			function;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", procedure);
	form = (Form_pg_proc) GETSTRUCT(tuple);
	function = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum("bloom_dry_run"),
							   PointerGetDatum(&form->proargtypes), ObjectIdGetDatum(form->pronamespace));
	ReleaseSysCache(tuple);
	return function;
}

/* bloom_rebuild() */
Datum
bloomexp_rebuild(PG_FUNCTION_ARGS)
{
	BloomRebuild rebuild;

	require_nonatomic(fcinfo);
	begin_call(&rebuild, SPI_OPT_NONATOMIC);
	PG_TRY();
	{
		bloomexp_rebuild_plan_next_transaction();
		bloomexp_rebuild_plan_prepare(fcinfo, &rebuild);
		rebuild.started_after = rebuild.has_last;
		rebuild.started_at = rebuild.told_at = GetCurrentTimestamp();

		/*
		 * Held until the end of the call, whatever it commits.  A rebuild of some users does
		 * without: the locks on their rows are enough, and an application that forgets an
		 * item must not have to wait for the night to end.
		 */
		if (!rebuild.given && !rebuild.dry_run)
			bloomexp_rebuild_lock_acquire(rebuild.target, rebuild.part, rebuild.parts,
										  bloomexp_rebuild_plan_common_hash(&rebuild));
		report_progress(&rebuild);
		rebuilt = rebuild.dry_run ? InvalidOid : rebuild.target;
		if (rebuild.dry_run)
			count_all(fcinfo, &rebuild, find_dry_run(fcinfo->flinfo->fn_oid));
		else if (rebuild.distributed)
			bloomexp_rebuild_shards_do(fcinfo, &rebuild, fcinfo->flinfo->fn_oid);
		else
			do_all(&rebuild);
	}
	PG_CATCH();
	{
		end_rebuild(&rebuild);
		PG_RE_THROW();
	}
	PG_END_TRY();
	end_rebuild(&rebuild);
	/* (nothing that was set for the rebuild is left in a block that continues) */
	SPI_commit();
	SPI_start_transaction();
	if (rebuild.dry_run)
		report_dry_run(&rebuild);
	else
		report(&rebuild);
	bloomexp_plans_expect(SPI_finish(), SPI_OK_FINISH, "SPI_finish");
	PG_RETURN_VOID();
}

/* bloom_dry_run(): a dry run as a row, in the transaction of the caller; of shards in those of their nodes */
Datum
bloomexp_dry_run(PG_FUNCTION_ARGS)
{
	Datum		values[5];
	bool		nulls[5] = {false};
	int			level = NewGUCNestLevel();
	TupleDesc	shape;
	BloomRebuild rebuild;

	if (get_call_result_type(fcinfo, NULL, &shape) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	shape = BlessTupleDesc(shape);
	begin_call(&rebuild, 0);
	rebuild.dry_run = true;
	PG_TRY();
	{
		bloomexp_rebuild_plan_prepare(fcinfo, &rebuild);
		rebuild.started_at = GetCurrentTimestamp();
		count_all(fcinfo, &rebuild, fcinfo->flinfo->fn_oid);
	}
	PG_CATCH();
	{
		end_call(&rebuild);
		PG_RE_THROW();
	}
	PG_END_TRY();
	end_call(&rebuild);
	/* (what was set is as it was) */
	AtEOXact_GUC(false, level);
	bloomexp_plans_expect(SPI_finish(), SPI_OK_FINISH, "SPI_finish");
	values[0] = Int64GetDatum((int64) rebuild.exposures);
	values[1] = Int64GetDatum((int64) rebuild.built);
	values[2] = Int64GetDatum((int64) rebuild.bytes);
	values[3] = Int64GetDatum((int64) rebuild.others);
	values[4] = Float8GetDatum(rebuild.seconds);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(shape, values, nulls)));
}
