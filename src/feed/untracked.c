/*-------------------------------------------------------------------------
 *
 * untracked.c
 *	  What is wrong with the triggers on bloom_track() of a table and its partitions.
 *
 * Looking evaluates nothing that others wrote: only the catalogs are read, and
 * conditions are parsed as condition.c does it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_trigger.h"
#include "funcapi.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "feed/columns.h"
#include "feed/definition.h"
#include "feed/rows.h"
#include "feed/shards.h"
#include "feed/track.h"
#include "feed/triggers.h"

PG_FUNCTION_INFO_V1(bloomexp_untracked);

/* A table of exposures. */
typedef struct Table
{
	Oid			oid;
	char	   *sql;			/* its name, with the schema */
} Table;

/* A trigger that all of the tables should have, or one of them has. */
typedef struct Wanted
{
	const BloomTrigger *trigger;
	const char *event;
	char	   *definition;		/* what follows the name of the table in its command */
	char	   *no_command;		/* why no command is given, or NULL */
} Wanted;

/* A row of the result. */
typedef struct Problem
{
	Oid			relation;
	char	   *trigger_name;	/* or NULL, as the next one */
	char	   *command;
	char	   *problem;
} Problem;

static void
add_problem(List **problems, Oid relation, char *trigger_name, char *command, char *problem)
{
	Problem    *row = palloc(sizeof(Problem));

	*row = (Problem) {relation, trigger_name, command, problem};
	*problems = lappend(*problems, row);
}

static int
compare_tables(const ListCell *a, const ListCell *b)
{
	return strcmp(((const Table *) lfirst(a))->sql, ((const Table *) lfirst(b))->sql);
}

/* A table and its partitions, by name. */
static List *
list_tables(Oid source)
{
	List	   *oids = get_rel_relkind(source) == RELKIND_PARTITIONED_TABLE ?
		find_all_inheritors(source, NoLock, NULL) : list_make1_oid(source);
	List	   *tables = NIL;
	ListCell   *cell;

	foreach (cell, oids)
	{
		Table	   *table;

		if (get_rel_name(lfirst_oid(cell)) == NULL)
			continue;
		table = palloc(sizeof(Table));
		table->oid = lfirst_oid(cell);
		table->sql = bloomexp_columns_table_sql(table->oid);
		tables = lappend(tables, table);
	}
	list_sort(tables, compare_tables);
	return tables;
}

/* The table of an OID, or NULL. */
static const Table *
find_table(List *tables, Oid oid)
{
	ListCell   *cell;

	foreach (cell, tables)
	{
		const Table *table = lfirst(cell);

		if (table->oid == oid)
			return table;
	}
	return NULL;
}

static bool
is_enabled(const BloomTrigger *trigger)
{
	return trigger->enabled == TRIGGER_FIRES_ON_ORIGIN || trigger->enabled == TRIGGER_FIRES_ALWAYS;
}

static const char *
get_event(const BloomTrigger *trigger)
{
	return TRIGGER_FOR_INSERT(trigger->type) ? "INSERT" : "UPDATE";
}

/*
 * What follows the name of the table in the command of a trigger, or NULL.
 *
 * It is cut off only where it is sure to begin: whoever owns a partition has chosen its
 * name.
 */
static char *
get_definition(const BloomTrigger *trigger, const Table *table)
{
	char	   *command;
	char	   *prefix;
	int			level;

	if (!trigger->plain)
		return NULL;
	/* with the schema of every name */
	level = NewGUCNestLevel();
	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	command = TextDatumGetCString(DirectFunctionCall1(pg_get_triggerdef, ObjectIdGetDatum(trigger->oid)));
	AtEOXact_GUC(true, level);
	prefix = psprintf("CREATE TRIGGER %s AFTER %s ON %s ", quote_identifier(trigger->name), get_event(trigger), table->sql);
	return strncmp(command, prefix, strlen(prefix)) == 0 ? command + strlen(prefix) : NULL;
}

/* Can a role that has not the privileges of the owner create triggers on a table? */
static bool
is_open_to_others(Oid table, Oid owner)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
	bool		isnull;
	bool		open = false;
	Datum		privileges;
	Acl		   *acl;

	if (!HeapTupleIsValid(tuple))
		return true;
	privileges = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_relacl, &isnull);
	if (!isnull)
	{
		acl = DatumGetAclP(privileges);
		for (int i = 0; i < ACL_NUM(acl); i++)
		{
			const AclItem *item = &ACL_DAT(acl)[i];

			open |= (ACLITEM_GET_PRIVS(*item) & ACL_TRIGGER) != 0 &&
				(item->ai_grantee == ACL_ID_PUBLIC || !has_privs_of_role(item->ai_grantee, owner));
		}
	}
	ReleaseSysCache(tuple);
	return open;
}

/* Is there a mistake in a trigger? */
static bool
has_mistake(List *mistakes, const BloomTrigger *trigger)
{
	ListCell   *cell;

	foreach (cell, mistakes)
	{
		const Problem *mistake = lfirst(cell);

		if (mistake->relation == trigger->relation && strcmp(mistake->trigger_name, trigger->name) == 0)
			return true;
	}
	return false;
}

/* Why no command is given that makes a trigger on other tables, too, or NULL. */
static char *
get_reason(const BloomTrigger *trigger, Oid root, List *mistakes)
{
	if (trigger->has_when)
		return "There is no command for a trigger with WHEN.";
	if (!trigger->counts)
		return psprintf("There is no command, because the owner of table \"%s\" does not have the privileges of the owner of table \"%s\".",
						trigger->relation_name, get_rel_name(root));
	/* it would bring another one's code to who writes elsewhere */
	if (is_open_to_others(trigger->relation, bloomexp_triggers_table_owner(root)))
		return psprintf("There is no command, because roles without the privileges of the owner of table \"%s\" may create triggers on table \"%s\".",
						get_rel_name(root), trigger->relation_name);
	if (has_mistake(mistakes, trigger))
		return psprintf("There is no command, because of the mistake in trigger %s.", bloomexp_triggers_describe(trigger));
	return NULL;
}

/* Order by what a trigger does; of the same, those with a command first, then by name. */
static int
compare_wanted(const ListCell *a, const ListCell *b)
{
	const Wanted *x = lfirst(a);
	const Wanted *y = lfirst(b);
	int			order = strcmp(x->event, y->event);

	if (order == 0)
		order = strcmp(x->definition, y->definition);
	if (order == 0 && (x->no_command == NULL) != (y->no_command == NULL))
		order = x->no_command == NULL ? -1 : 1;
	return order != 0 ? order : strcmp(x->trigger->name, y->trigger->name);
}

static bool
is_same(const Wanted *a, const Wanted *b)
{
	return strcmp(a->event, b->event) == 0 && strcmp(a->definition, b->definition) == 0;
}

/* The triggers of the tables which the others should have, too. */
static List *
list_wanted(List *triggers, List *tables, Oid root, List *mistakes)
{
	List	   *wanted = NIL;
	ListCell   *cell;

	foreach (cell, triggers)
	{
		const BloomTrigger *trigger = lfirst(cell);
		char	   *definition = get_definition(trigger, find_table(tables, trigger->relation));

		if (definition != NULL)
		{
			Wanted	   *one = palloc(sizeof(Wanted));

			*one = (Wanted) {trigger, get_event(trigger), definition, get_reason(trigger, root, mistakes)};
			wanted = lappend(wanted, one);
		}
	}
	list_sort(wanted, compare_wanted);
	return wanted;
}

/* Add a row for a table that lacks a trigger, unless it has one that does the same. */
static void
check_wanted(List **problems, const Table *table, const Wanted *wanted, List *all)
{
	bool		is_there = false;
	char	   *what;
	char	   *command;
	ListCell   *cell;

	foreach (cell, all)
	{
		const Wanted *other = lfirst(cell);

		if (other->trigger->relation != table->oid || !is_same(other, wanted))
			continue;
		if (is_enabled(other->trigger))
			return;
		is_there |= strcmp(other->trigger->name, wanted->trigger->name) == 0;
	}
	what = is_there ? "the trigger is disabled" : "the trigger is missing";
	if (wanted->no_command != NULL)
		command = NULL;
	else if (is_there)
		command = psprintf("ALTER TABLE %s ENABLE TRIGGER %s", table->sql, quote_identifier(wanted->trigger->name));
	else
		command = psprintf("CREATE TRIGGER %s AFTER %s ON %s %s", quote_identifier(wanted->trigger->name), wanted->event,
						   table->sql, wanted->definition);
	add_problem(problems, table->oid, wanted->trigger->name, command,
				wanted->no_command ? psprintf("%s\n%s", what, wanted->no_command) : what);
}

/* Order by the name of the trigger, then by what it does. */
static int
compare_trigger_names(const ListCell *a, const ListCell *b)
{
	int			order = strcmp(((const Wanted *) lfirst(a))->trigger->name,
							   ((const Wanted *) lfirst(b))->trigger->name);

	return order != 0 ? order : compare_wanted(a, b);
}

/* What the tables lack. */
static void
check_tables(List **problems, List *tables, List *triggers, Oid root, List *mistakes)
{
	List	   *all = list_wanted(triggers, tables, root, mistakes);
	List	   *wanted = NIL;
	bool		inserts = false;
	const Wanted *last = NULL;
	ListCell   *cell;

	foreach (cell, triggers)
		inserts |= TRIGGER_FOR_INSERT(((const BloomTrigger *) lfirst(cell))->type);
	foreach (cell, all)
	{
		if (last == NULL || !is_same(last, lfirst(cell)))
			wanted = lappend(wanted, lfirst(cell));
		last = lfirst(cell);
	}
	list_sort(wanted, compare_trigger_names);

	foreach (cell, tables)
	{
		const Table *table = lfirst(cell);
		ListCell   *one;

		foreach (one, wanted)
			check_wanted(problems, table, lfirst(one), all);
		if (!inserts)
			add_problem(problems, table->oid, NULL, NULL, "no trigger adds what is inserted");
	}
}

/* Does a BEFORE INSERT trigger of a table fill its rows, perhaps? */
static bool
has_filler(Relation table)
{
	return table->trigdesc != NULL && table->trigdesc->trig_insert_before_row;
}

/* Refuse a column of the table of filters that a new row of a trigger leaves empty. */
static void
check_new_row(const BloomRows *rows)
{
	Relation	table = table_open(rows->plans.target, AccessShareLock);
	TupleDesc	columns = RelationGetDescr(table);
	const char *filled = rows->definition.live_column ? rows->definition.live_column : rows->filter_column;

	for (int i = 0; i < columns->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(columns, i);
		const char *name = NameStr(column->attname);
		bool		domain_not_null;

		if (column->attisdropped || column->atthasdef || column->attidentity != '\0' ||
			strcmp(name, rows->key.column) == 0 || strcmp(name, filled) == 0)
			continue;
		/* (a trigger of that table may fill it, which is too late for a domain) */
		domain_not_null = bloomexp_columns_is_domain_not_null(column->atttypid);
		if ((domain_not_null || (column->attnotnull && !has_filler(table))) &&
			get_typdefault(column->atttypid) == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("column \"%s\" of table \"%s\" must have a default or allow nulls", name, RelationGetRelationName(table)),
					 errdetail("The row of a new user gets the user and a filter, and nothing else.")));
	}
	table_close(table, AccessShareLock);
}

/* A column of filters, whose triggers were compared. */
typedef struct Compared
{
	Oid			target;
	const char *filter_column;
	ErrorData  *error;			/* NULL: they agree */
} Compared;

/* Raise an error if the triggers of a column of filters differ; they are compared once. */
static void
check_agreement(const BloomExtension *extension, Oid target, const char *filter_column, List **compared)
{
	MemoryContext caller = CurrentMemoryContext;
	BloomDefinition nothing = {0};
	BloomDefinition definition;
	Compared   *column;
	ListCell   *cell;

	foreach (cell, *compared)
	{
		column = lfirst(cell);
		if (column->target != target || strcmp(column->filter_column, filter_column) != 0)
			continue;
		if (column->error != NULL)
			ReThrowError(column->error);
		return;
	}
	column = palloc(sizeof(Compared));
	*column = (Compared) {target, pstrdup(filter_column), NULL};
	PG_TRY();
	{
		bloomexp_definition_agree(extension, target, filter_column, &nothing, 0, &definition);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(caller);
		column->error = CopyErrorData();
		*compared = lappend(*compared, column);
		PG_RE_THROW();
	}
	PG_END_TRY();
	*compared = lappend(*compared, column);
}

/* Raise an error if a trigger cannot do its work, or a rebuild or bloom_take() cannot. */
static void
check_trigger(const BloomExtension *extension, BloomTrigger *trigger, List **compared)
{
	BloomTracker tracker;
	BloomRows  *rows = &tracker.rows;
	Oid			target;

	if (!trigger->works)
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("the trigger is not for each statement, with a transition table of new rows")));
	bloomexp_triggers_read_arguments(trigger);
	memset(&tracker, 0, sizeof(tracker));
	bloomexp_track_read(extension, trigger->relation, trigger->nargs, trigger->args, &tracker);
	target = rows->plans.target;
	check_agreement(extension, target, rows->filter_column, compared);
	if (!has_privs_of_role(trigger->owner, bloomexp_triggers_table_owner(target)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("bloom_rebuild() and bloom_take() ignore this trigger"),
				 errdetail("The owner of table \"%s\" does not have the privileges of the owner of table \"%s\".",
						   trigger->relation_name, get_rel_name(target))));
	check_new_row(rows);
}

/* Is an error one of a trigger, and not of the server or the moment? */
static bool
is_mistake(int code)
{
	switch (ERRCODE_TO_CATEGORY(code))
	{
		case ERRCODE_TO_CATEGORY(ERRCODE_TRANSACTION_ROLLBACK):
		case ERRCODE_TO_CATEGORY(ERRCODE_INSUFFICIENT_RESOURCES):
		case ERRCODE_TO_CATEGORY(ERRCODE_OPERATOR_INTERVENTION):
		case ERRCODE_TO_CATEGORY(ERRCODE_SYSTEM_ERROR):
		case ERRCODE_TO_CATEGORY(ERRCODE_INTERNAL_ERROR):
			return false;
		default:
			return code != ERRCODE_LOCK_NOT_AVAILABLE;
	}
}

/* The error of a trigger that cannot do its work, or NULL. */
static char *
find_mistake(const BloomExtension *extension, BloomTrigger *trigger, List **compared)
{
	MemoryContext caller = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	char	   *volatile mistake = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(caller);
	PG_TRY();
	{
		check_trigger(extension, trigger, compared);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(caller);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		if (!is_mistake(error->sqlerrcode))
			ReThrowError(error);
		mistake = psprintf("%s%s%s%s%s", error->message, error->detail ? "\n" : "", error->detail ? error->detail : "",
						   error->hint ? "\n" : "", error->hint ? error->hint : "");
	}
	PG_END_TRY();
	MemoryContextSwitchTo(caller);
	CurrentResourceOwner = owner;
	return mistake;
}

/* What separates the lines of an answer; no message has it. */
#define SEPARATOR "\x1e"

/* The statement by which a node looks at its shards of a distributed table. */
static char *
write_look(const BloomExtension *extension, List *shards, const BloomNode *node)
{
	List	   *here = list_make1(unconstify(BloomNode *, node));
	StringInfoData names;
	ListCell   *cell;

	initStringInfo(&names);
	foreach (cell, shards)
	{
		const BloomShard *shard = lfirst(cell);

		if (bloomexp_shards_find_node(here, shard) != NULL)
			appendStringInfo(&names, "%s(%s::pg_catalog.text)", names.len > 0 ? ", " : "", quote_literal_cstr(shard->source));
	}
	return psprintf("SELECT pg_catalog.string_agg(pg_catalog.concat('shard ', s.name, %s, u.problem), '" SEPARATOR "') "
					"FROM (VALUES %s) AS s (name), %s(s.name::pg_catalog.regclass) AS u",
					quote_literal_cstr(psprintf(" on %s:%d: ", node->name, node->port)), names.data,
					bloomexp_triggers_object(extension, "bloom_untracked"));
}

/* Is something wrong with all of a table, so that it need not be said for each shard? */
static bool
is_known(List *problems, const char *line)
{
	ListCell   *cell;

	foreach (cell, problems)
	{
		if (strstr(line, ((const Problem *) lfirst(cell))->problem) != NULL)
			return true;
	}
	return false;
}

/* Add what a node says of its shards. */
static void
add_answer(List **problems, Oid source, List *known, const BloomNodeCommand *command)
{
	char	   *rest = command->result && command->result[0] != '\0' ? pstrdup(command->result) : NULL;
	char	   *line;

	if (!command->success)
		add_problem(problems, source, NULL, NULL, psprintf("node %s:%d: %s", command->node, command->port, rest ? rest : ""));
	while (command->success && (line = strsep(&rest, SEPARATOR)) != NULL)
	{
		if (!is_known(known, line))
			add_problem(problems, source, NULL, NULL, line);
	}
}

/* Have each node look at its shards of a distributed table, as this one looks at the whole. */
static void
ask_nodes(List **problems, Oid source, const BloomExtension *extension, Oid function)
{
	List	   *known = list_copy(*problems);
	List	   *shards = bloomexp_shards_list(source, source, NULL);
	List	   *nodes = NIL;
	List	   *commands = NIL;
	char	   *version = bloomexp_shards_version();
	ListCell   *cell;

	bloomexp_shards_check_nodes(&nodes, shards, function);
	foreach (cell, nodes)
	{
		const BloomNode *node = lfirst(cell);
		BloomNodeCommand *command;

		if (node->problem != NULL)
		{
			add_problem(problems, source, NULL, NULL, psprintf("node %s:%d: %s", node->name, node->port, node->problem));
			continue;
		}
		if (strcmp(node->version, version) != 0)
			add_problem(problems, source, NULL, NULL,
						psprintf("node %s:%d has version %s of bloomexp, and this node has version %s", node->name,
								 node->port, node->version, version));
		command = palloc0(sizeof(BloomNodeCommand));
		command->node = node->name;
		command->port = node->port;
		command->command = write_look(extension, shards, node);
		commands = lappend(commands, command);
	}
	bloomexp_shards_run(commands);
	foreach (cell, commands)
		add_answer(problems, source, known, lfirst(cell));
}

/* All that is wrong. */
static List *
find_problems(FunctionCallInfo fcinfo)
{
	Oid			source = PG_GETARG_OID(0);
	Oid			root = bloomexp_triggers_table_root(source);
	List	   *tables = list_tables(source);
	List	   *triggers = NIL;
	List	   *problems = NIL;
	List	   *mistakes = NIL;
	List	   *compared = NIL;
	BloomExtension extension;
	ListCell   *cell;

	if (tables == NIL)
		return NIL;
	bloomexp_triggers_find_extension(fcinfo->flinfo->fn_oid, &extension);
	foreach (cell, bloomexp_triggers_list(&extension, bloomexp_triggers_table_owner(root)))
	{
		if (find_table(tables, ((BloomTrigger *) lfirst(cell))->relation) != NULL)
			triggers = lappend(triggers, lfirst(cell));
	}

	/* Triggers with mistakes, which are errors when a row is written or filters are rebuilt. */
	foreach (cell, triggers)
	{
		BloomTrigger *trigger = lfirst(cell);
		char	   *mistake = find_mistake(&extension, trigger, &compared);

		if (mistake != NULL)
			add_problem(&mistakes, trigger->relation, trigger->name, NULL, mistake);
	}
	check_tables(&problems, tables, triggers, root, mistakes);
	problems = list_concat(problems, mistakes);
	if (bloomexp_shards_is_whole(source))
		ask_nodes(&problems, source, &extension, fcinfo->flinfo->fn_oid);
	return problems;
}

/* bloom_untracked(source) */
Datum
bloomexp_untracked(PG_FUNCTION_ARGS)
{
	FuncCallContext *call;
	const Problem *problem;
	Datum		values[4];
	bool		nulls[4] = {false};

	if (SRF_IS_FIRSTCALL())
	{
		MemoryContext caller;

		call = SRF_FIRSTCALL_INIT();
		caller = MemoryContextSwitchTo(call->multi_call_memory_ctx);
		if (get_call_result_type(fcinfo, NULL, &call->tuple_desc) != TYPEFUNC_COMPOSITE)
			elog(ERROR, "return type must be a row type");
		call->tuple_desc = BlessTupleDesc(call->tuple_desc);
		call->user_fctx = find_problems(fcinfo);
		call->max_calls = list_length(call->user_fctx);
		MemoryContextSwitchTo(caller);
	}

	call = SRF_PERCALL_SETUP();
	if (call->call_cntr == call->max_calls)
		SRF_RETURN_DONE(call);
	problem = list_nth(call->user_fctx, call->call_cntr);
	values[0] = ObjectIdGetDatum(problem->relation);
	nulls[1] = problem->trigger_name == NULL;
	if (!nulls[1])
		values[1] = DirectFunctionCall1(namein, CStringGetDatum(problem->trigger_name));
	nulls[2] = problem->command == NULL;
	if (!nulls[2])
		values[2] = CStringGetTextDatum(problem->command);
	values[3] = CStringGetTextDatum(problem->problem);
	SRF_RETURN_NEXT(call, HeapTupleGetDatum(heap_form_tuple(call->tuple_desc, values, nulls)));
}
