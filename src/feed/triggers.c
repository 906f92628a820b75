/*-------------------------------------------------------------------------
 *
 * triggers.c
 *	  The triggers on bloom_track(), as the catalogs have them.
 *
 * pg_depend leads from a function to its triggers, by an index.  So neither the
 * number of tables nor that of other triggers matters.  Arguments are decoded only
 * for tables whose owner counts: any role can have a trigger on a temporary table,
 * with as many arguments as it likes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "feed/triggers.h"
#include "value/compat.h"

/*
 * bloomexp_triggers_require_call
 *		The trigger that calls a function; an error if none does.
 */
TriggerData *
bloomexp_triggers_require_call(FunctionCallInfo fcinfo)
{
	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("trigger functions can only be called as triggers")));
	return (TriggerData *) fcinfo->context;
}

/*
 * bloomexp_triggers_find_extension
 *		The extension's objects, by one of its functions.
 *
 * Functions are not locked while they are called, so the extension may be gone.
 */
void
bloomexp_triggers_find_extension(Oid function, BloomExtension *extension)
{
	oidvector  *no_arguments = buildoidvector(NULL, 0);

	extension->schema = get_func_namespace(function);
	extension->schema_name = OidIsValid(extension->schema) ? get_namespace_name(extension->schema) : NULL;
	if (extension->schema_name != NULL)
	{
		extension->filter_type = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum("bloom"),
												 ObjectIdGetDatum(extension->schema));
		extension->filter_array_type = get_array_type(extension->filter_type);
		extension->track = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum("bloom_track"),
										   PointerGetDatum(no_arguments),
										   ObjectIdGetDatum(extension->schema));
	}
	if (extension->schema_name == NULL || !OidIsValid(extension->filter_array_type) ||
		!OidIsValid(extension->track))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("function with OID %u does not exist", function)));
}

/*
 * bloomexp_triggers_object
 *		The name of an object of the extension, with its schema.
 */
char *
bloomexp_triggers_object(const BloomExtension *extension, const char *name)
{
	return quote_qualified_identifier(extension->schema_name, name);
}

/*
 * bloomexp_triggers_table_owner
 *		The owner of a table, or InvalidOid if it is gone.
 */
Oid
bloomexp_triggers_table_owner(Oid table)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
	Oid			owner = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
		ReleaseSysCache(tuple);
	}
	return owner;
}

/*
 * bloomexp_triggers_table_root
 *		The partitioned table of which a table is a partition, at any level, or the table.
 */
Oid
bloomexp_triggers_table_root(Oid table)
{
	List	   *ancestors = get_rel_relispartition(table) ? get_partition_ancestors(table) : NIL;

	return ancestors == NIL ? table : llast_oid(ancestors);
}

/* Call back for each trigger on a function: its row of pg_trigger. */
static void
for_each_trigger(Oid function, void (*use) (HeapTuple row, TupleDesc shape, void *argument), void *argument)
{
	Relation	depend = table_open(DependRelationId, AccessShareLock);
	Relation	triggers = table_open(TriggerRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	dependency;

	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(ProcedureRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(function));
	scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, 2, keys);
	while (HeapTupleIsValid(dependency = systable_getnext(scan)))
	{
		Form_pg_depend depends = (Form_pg_depend) GETSTRUCT(dependency);
		ScanKeyData key;
		SysScanDesc lookup;
		HeapTuple	row;

		CHECK_FOR_INTERRUPTS();
		if (depends->classid != TriggerRelationId)
			continue;
		ScanKeyInit(&key, Anum_pg_trigger_oid, BTEqualStrategyNumber, F_OIDEQ,
					ObjectIdGetDatum(depends->objid));
		lookup = systable_beginscan(triggers, TriggerOidIndexId, true, NULL, 1, &key);
		row = systable_getnext(lookup);
		if (HeapTupleIsValid(row))
			use(row, RelationGetDescr(triggers), argument);
		systable_endscan(lookup);
	}
	systable_endscan(scan);
	table_close(triggers, AccessShareLock);
	table_close(depend, AccessShareLock);
}

/*
 * Of the arguments of a trigger that does not count, no more is read: enough for the
 * names of a table and a column.
 */
#define FIRST_BYTES 512
#define FIRST_ARGUMENTS 2

/* Split the arguments of a trigger, each of which ends with a zero. */
static void
split_arguments(BloomTrigger *trigger, const bytea *bytes, int nargs)
{
	char	   *next = VARDATA_ANY(bytes);
	char	   *end = next + VARSIZE_ANY_EXHDR(bytes);

	trigger->args = palloc(Max(nargs, 1) * sizeof(char *));
	trigger->nargs = 0;
	while (trigger->nargs < nargs)
	{
		char	   *zero = memchr(next, 0, end - next);

		if (zero == NULL)
			break;
		trigger->args[trigger->nargs++] = next;
		next = zero + 1;
	}
}

/* Read the arguments in a row of pg_trigger. */
static void
read_arguments(BloomTrigger *trigger, HeapTuple row, TupleDesc shape)
{
	int			nargs = ((Form_pg_trigger) GETSTRUCT(row))->tgnargs;
	bool		isnull;
	Datum		arguments = heap_getattr(row, Anum_pg_trigger_tgargs, shape, &isnull);

	Assert(!isnull);
	if (trigger->counts)
		split_arguments(trigger, DatumGetByteaPCopy(arguments), nargs);
	else
		split_arguments(trigger, DatumGetByteaPSlice(arguments, 0, FIRST_BYTES),
						Min(nargs, FIRST_ARGUMENTS));
	if (trigger->nargs > BLOOMEXP_TRIGGER_COLUMN)
		trigger->column = DatumGetCString(DirectFunctionCall1(nameout, DirectFunctionCall1(namein,
			CStringGetDatum(trigger->args[BLOOMEXP_TRIGGER_COLUMN]))));
}

/*
 * Whether a table is a temporary one of another session.  Only that session's rows
 * come there, and no other can read them.
 */
static bool
is_of_other_session(Form_pg_class relation)
{
	return relation->relpersistence == RELPERSISTENCE_TEMP &&
		!isTempOrTempToastNamespace(relation->relnamespace);
}

/* What bloomexp_triggers_list() looks for. */
typedef struct Search
{
	Oid			owner;
	List	   *found;
} Search;

/* Add a trigger to a list: for for_each_trigger(). */
static void
list_trigger(HeapTuple row, TupleDesc shape, void *argument)
{
	Search	   *search = argument;
	Form_pg_trigger form = (Form_pg_trigger) GETSTRUCT(row);
	HeapTuple	table = SearchSysCache1(RELOID, ObjectIdGetDatum(form->tgrelid));
	Form_pg_class relation;
	BloomTrigger *trigger;
	bool		no_table;
	bool		no_condition;

	if (!HeapTupleIsValid(table))
		return;
	relation = (Form_pg_class) GETSTRUCT(table);
	if (is_of_other_session(relation))
	{
		ReleaseSysCache(table);
		return;
	}

	trigger = palloc0(sizeof(BloomTrigger));
	trigger->oid = form->oid;
	trigger->relation = form->tgrelid;
	trigger->parent = relation->relispartition ? BLOOMEXP_PARTITION_PARENT(form->tgrelid) : form->tgrelid;
	trigger->namespace = relation->relnamespace;
	trigger->owner = relation->relowner;
	trigger->name = pstrdup(NameStr(form->tgname));
	trigger->relation_name = pstrdup(NameStr(relation->relname));
	trigger->namespace_name = get_namespace_name(relation->relnamespace);
	trigger->type = form->tgtype;
	trigger->enabled = form->tgenabled;
	ReleaseSysCache(table);

	(void) heap_getattr(row, Anum_pg_trigger_tgnewtable, shape, &no_table);
	trigger->works = !no_table && TRIGGER_FOR_AFTER(form->tgtype) && !TRIGGER_FOR_ROW(form->tgtype) &&
		(TRIGGER_FOR_INSERT(form->tgtype) || TRIGGER_FOR_UPDATE(form->tgtype));
	trigger->plain = trigger->works &&
		(form->tgtype == TRIGGER_TYPE_INSERT || form->tgtype == TRIGGER_TYPE_UPDATE) &&
		form->tgattr.dim1 == 0 && !OidIsValid(form->tgconstraint);
	(void) heap_getattr(row, Anum_pg_trigger_tgqual, shape, &no_condition);
	trigger->has_when = !no_condition;
	trigger->counts = has_privs_of_role(trigger->owner, search->owner);
	read_arguments(trigger, row, shape);
	if (trigger->namespace_name != NULL)
		search->found = lappend(search->found, trigger);
}

/* Order by the names of schema, table and trigger. */
static int
compare_triggers(const ListCell *a, const ListCell *b)
{
	const BloomTrigger *x = lfirst(a);
	const BloomTrigger *y = lfirst(b);
	int			order = strcmp(x->namespace_name, y->namespace_name);

	if (order == 0)
		order = strcmp(x->relation_name, y->relation_name);
	return order != 0 ? order : strcmp(x->name, y->name);
}

/*
 * bloomexp_triggers_list
 *		All triggers on bloom_track(), but for those of other sessions' temporary
 *		tables, in the order of their names.  Those of tables whose owner has the
 *		privileges of `owner` count.
 */
List *
bloomexp_triggers_list(const BloomExtension *extension, Oid owner)
{
	Search		search = {.owner = owner};

	for_each_trigger(extension->track, list_trigger, &search);
	list_sort(search.found, compare_triggers);
	return search.found;
}

/*
 * bloomexp_triggers_read_arguments
 *		Read all arguments, even of a trigger that does not count.
 */
void
bloomexp_triggers_read_arguments(BloomTrigger *trigger)
{
	Relation	triggers;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	row;

	if (trigger->counts)
		return;
	triggers = table_open(TriggerRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_trigger_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(trigger->oid));
	scan = systable_beginscan(triggers, TriggerOidIndexId, true, NULL, 1, &key);
	row = systable_getnext(scan);
	if (HeapTupleIsValid(row))
	{
		trigger->counts = true;
		read_arguments(trigger, row, RelationGetDescr(triggers));
		trigger->counts = false;
	}
	systable_endscan(scan);
	table_close(triggers, AccessShareLock);
}

/*
 * bloomexp_triggers_same_arguments
 *		Whether two triggers have the same arguments.
 */
bool
bloomexp_triggers_same_arguments(const BloomTrigger *a, const BloomTrigger *b)
{
	bool		same = a->nargs == b->nargs;

	for (int i = 0; same && i < a->nargs; i++)
		same = strcmp(a->args[i], b->args[i]) == 0;
	return same;
}

/*
 * bloomexp_triggers_describe
 *		A trigger in a message: its name and that of its table.
 */
char *
bloomexp_triggers_describe(const BloomTrigger *trigger)
{
	return psprintf("\"%s\" of table \"%s\"", trigger->name, trigger->relation_name);
}

/* The type of the items that a trigger adds, or InvalidOid. */
static Oid
get_item_type(HeapTuple row, TupleDesc shape)
{
	BloomTrigger trigger = {.counts = true, .relation = ((Form_pg_trigger) GETSTRUCT(row))->tgrelid};

	read_arguments(&trigger, row, shape);
	return trigger.nargs <= BLOOMEXP_TRIGGER_ITEM ? InvalidOid :
		get_atttype(trigger.relation, get_attnum(trigger.relation, trigger.args[BLOOMEXP_TRIGGER_ITEM]));
}

/* What bloomexp_triggers_fingerprint() adds up. */
typedef struct Fingerprint
{
	Oid			owner;
	uint64		sum;
} Fingerprint;

/* Add the versions of a trigger and its table: for for_each_trigger(). */
static void
add_versions(HeapTuple row, TupleDesc shape, void *argument)
{
	Fingerprint *fingerprint = argument;
	Form_pg_trigger form = (Form_pg_trigger) GETSTRUCT(row);
	HeapTuple	table = SearchSysCache1(RELOID, ObjectIdGetDatum(form->tgrelid));
	Form_pg_class relation;
	uint32		versions[5];

	if (!HeapTupleIsValid(table))
		return;
	relation = (Form_pg_class) GETSTRUCT(table);
	if (!is_of_other_session(relation) && has_privs_of_role(relation->relowner, fingerprint->owner))
	{
		versions[0] = form->oid;
		versions[1] = HeapTupleHeaderGetRawXmin(row->t_data);
		versions[2] = form->tgrelid;
		versions[3] = HeapTupleHeaderGetRawXmin(table->t_data);
		versions[4] = get_item_type(row, shape);
		/* (a sum, for they come in any order) */
		fingerprint->sum += hash_bytes_extended((unsigned char *) versions, sizeof(versions), 0);
	}
	ReleaseSysCache(table);
}

/*
 * bloomexp_triggers_fingerprint
 *		A number that changes when one of the triggers comes, changes or goes that
 *		count for an owner of filters, or one of their tables.
 *
 * Sessions that do something else with tables all the time, such as temporary ones,
 * change nothing here.
 */
uint64
bloomexp_triggers_fingerprint(Oid track, Oid owner)
{
	Fingerprint fingerprint = {.owner = owner};

	for_each_trigger(track, add_versions, &fingerprint);
	return fingerprint.sum;
}
