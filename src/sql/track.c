/*-------------------------------------------------------------------------
 *
 * track.c
 *	  The trigger that adds new exposures to the filters of their users.
 *
 * bloom_track_statements(), in SQL, checks the trigger's arguments and writes
 * the statements that it executes.  Lookups and planning take a millisecond or
 * two, so each trigger's plans are kept for the session, as long as the first of
 * them is valid.  That is all there is to watch: the plan depends on the tables
 * of filters and of exposures (whose row type the transition table has), on the
 * functions and on the schemas.  Whatever would lead to other statements, such as
 * a dropped index or new arguments of the trigger, invalidates the plan.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "storage/sinval.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/tuplestore.h"

#include "sql/kept.h"

/*
 * A statement of more rows gets a plan of its own.  Planning costs little beside
 * so many rows, and a plan for few rows may scan a small table of filters once
 * for each user.
 */
#define FEW_ROWS 100

PG_FUNCTION_INFO_V1(bloomexp_track);

/* The kept plans of each trigger: they lock and add ... */
#define ADD 0
/* ... and count the users whose filters were not reached. */
#define COUNT_MISSED 1

static HTAB *kept_plans = NULL;

/* The calling trigger; raises an error if it is of the wrong kind. */
static TriggerData *
get_trigger(FunctionCallInfo fcinfo)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("trigger functions can only be called as triggers")));
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

/*
 * Give the statements their transition table, and the planner a number of rows.
 *
 * (SPI_register_trigger_data() would tell the true number, but a kept plan must
 * not be one for the first statement that came along.)
 */
static void
register_new_rows(const TriggerData *trigger, double rows)
{
	EphemeralNamedRelation table = palloc0(sizeof(EphemeralNamedRelationData));

	table->md.name = trigger->tg_trigger->tgnewtable;
	table->md.reliddesc = RelationGetRelid(trigger->tg_relation);
	table->md.enrtype = ENR_NAMED_TUPLESTORE;
	table->md.enrtuples = rows;
	table->reldata = trigger->tg_newtable;
	bloomexp_kept_expect(SPI_register_relation(table), SPI_OK_REL_REGISTER, "SPI_register_relation");
}

/* The arguments of a trigger. */
static ArrayType *
get_arguments(const Trigger *trigger)
{
	Datum	   *arguments = palloc(trigger->tgnargs * sizeof(Datum));

	for (int i = 0; i < trigger->tgnargs; i++)
		arguments[i] = CStringGetTextDatum(trigger->tgargs[i]);
	return construct_array(arguments, trigger->tgnargs, TEXTOID, -1, false, TYPALIGN_INT);
}

/*
 * The statements for a trigger, the one that counts what they *missed, and the
 * table of its filters, from the schema where `function` is.
 *
 * The arguments are of exactly the declared types, so that no other function of
 * the name can be called.
 */
static char *
ask_statements(const TriggerData *trigger, Oid function, Oid *target, char **missed)
{
	char	   *schema = bloomexp_kept_schema(function);
	Oid			types[] = {NAMEOID, REGCLASSOID, TEXTOID, TEXTARRAYOID};
	Datum		values[] = {
		DirectFunctionCall1(namein, CStringGetDatum(schema)),
		ObjectIdGetDatum(RelationGetRelid(trigger->tg_relation)),
		CStringGetTextDatum(trigger->tg_trigger->tgnewtable),
		PointerGetDatum(get_arguments(trigger->tg_trigger))
	};
	char	   *query;
	bool		isnull;

	query = psprintf("SELECT target, statements, missed FROM %s.bloom_track_statements($1, $2, $3, $4)",
					 quote_identifier(schema));
	bloomexp_kept_ask(query, lengthof(types), types, values, NULL);
	*target = DatumGetObjectId(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	*missed = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 3);
	return SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2);
}

/*
 * Make the plan of a trigger.
 *
 * The table of the filters is locked before the statements are planned, and if
 * anything in the catalogs changed until we had the lock, they are written anew.
 */
static void
prepare(const TriggerData *trigger, Oid function, BloomKept *made)
{
	Oid			locked = InvalidOid;
	char	   *statements;
	char	   *missed;

	for (;;)
	{
		uint64		messages = SharedInvalidMessageCounter;

		statements = ask_statements(trigger, function, &made->target, &missed);
		if (made->target == locked)
			break;
		made->pages = bloomexp_kept_lock_target(made->target);
		if (messages == SharedInvalidMessageCounter)
			break;
		locked = made->target;
	}

	made->plans[ADD] = bloomexp_kept_prepare(statements, 0, NULL);
	made->plans[COUNT_MISSED] = bloomexp_kept_prepare(missed, 0, NULL);
}

/*
 * Rows that a policy hides from an UPDATE stay as they are, without an error.
 * An exposure must not be lost like that.
 */
static void
check_nothing_missed(const BloomKept *plan)
{
	bool		isnull;
	Datum		users;

	if (check_enable_rls(plan->target, InvalidOid, true) != RLS_ENABLED)
		return;
	bloomexp_kept_expect(SPI_execute_plan(plan->plans[COUNT_MISSED], NULL, NULL, false, 0),
		   SPI_OK_SELECT, "SPI_execute_plan");
	users = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
	if (DatumGetInt64(users) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("row-level security policies of table \"%s\" keep new exposures out of the filters",
						get_rel_name(plan->target)),
				 errhint("Who writes exposures needs policies for SELECT, INSERT and UPDATE.")));
}

/* Add, each statement with a snapshot of its own: for bloomexp_kept_use(). */
static void
add(BloomKept *plan, void *argument)
{
	bloomexp_kept_expect(SPI_execute_plan(plan->plans[ADD], NULL, NULL, false, 0),
						 SPI_OK_UPDATE, "SPI_execute_plan");
	check_nothing_missed(plan);
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
	int64		rows = tuplestore_tuple_count(trigger->tg_newtable);
	bool		few = rows <= FEW_ROWS;
	BloomKept  *plan = NULL;
	BloomKept	made = {.key.object = trigger->tg_trigger->tgoid};
	ErrorContextCallback context = {error_context_stack, name_trigger, trigger};

	if (rows == 0)
		return PointerGetDatum(NULL);
	error_context_stack = &context;
	if (kept_plans == NULL)
		kept_plans = bloomexp_kept_create("bloom_track plans", sizeof(BloomKept));
	bloomexp_kept_expect(SPI_connect(), SPI_OK_CONNECT, "SPI_connect");
	register_new_rows(trigger, few ? 1 : rows);

	if (few)
		plan = bloomexp_kept_find(kept_plans, &made.key);
	if (plan == NULL)
	{
		prepare(trigger, fcinfo->flinfo->fn_oid, &made);
		plan = few ? bloomexp_kept_keep(kept_plans, &made, sizeof(made)) : &made;
	}
	bloomexp_kept_use(plan, add, NULL);

	bloomexp_kept_expect(SPI_finish(), SPI_OK_FINISH, "SPI_finish");
	error_context_stack = context.previous;
	return PointerGetDatum(NULL);
}
