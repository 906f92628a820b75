/*-------------------------------------------------------------------------
 *
 * definition.c
 *	  What definition.sql asks the server for, and whether it would say the same again.
 *
 * Both look at tables, types and triggers of others, and must not run what these
 * have put there.  So they ask the catalogs, and try nothing out.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "parser/parse_coerce.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "sql/definition.h"
#include "value/compat.h"

/* The argument of a trigger that names the column of the items. */
#define ITEM_COLUMN 4

PG_FUNCTION_INFO_V1(bloomexp_track_converts);
PG_FUNCTION_INFO_V1(bloomexp_track_arguments);

/* What tells whether a trigger says the same. */
typedef struct Said
{
	Oid			trigger;
	Oid			relation;
	TransactionId trigger_version;
	TransactionId relation_version;
	Oid			item_type;
} Said;

/* bloom_track_converts(source oid, target oid) */
Datum
bloomexp_track_converts(PG_FUNCTION_ARGS)
{
	Oid			source = PG_GETARG_OID(0);
	Oid			target = PG_GETARG_OID(1);

	PG_RETURN_BOOL(can_coerce_type(1, &source, &target, COERCION_EXPLICIT));
}

/* bloom_track_arguments(bytes bytea): each ends with a zero; what does not was cut off. */
Datum
bloomexp_track_arguments(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);
	const char *argument = VARDATA_ANY(bytes);
	const char *end = argument + VARSIZE_ANY_EXHDR(bytes);
	const char *zero;
	ArrayBuildState *arguments = initArrayResult(TEXTOID, CurrentMemoryContext, false);

	while ((zero = memchr(argument, '\0', end - argument)) != NULL)
	{
		int			length = zero - argument;

		pg_verifymbstr(argument, length, false);
		arguments = accumArrayResult(arguments, PointerGetDatum(cstring_to_text_with_len(argument, length)),
									 false, TEXTOID, CurrentMemoryContext);
		argument = zero + 1;
	}
	PG_RETURN_DATUM(makeArrayResult(arguments, CurrentMemoryContext));
}

/* The n-th argument of a trigger, or NULL. */
static const char *
find_argument(bytea *arguments, int n)
{
	const char *argument = VARDATA_ANY(arguments);
	const char *end = argument + VARSIZE_ANY_EXHDR(arguments);

	while (--n > 0 && argument != NULL)
	{
		argument = memchr(argument, '\0', end - argument);
		argument = argument == NULL ? NULL : argument + 1;
	}
	return argument != NULL && memchr(argument, '\0', end - argument) != NULL ? argument : NULL;
}

/* The type of the items that a trigger adds, or InvalidOid. */
static Oid
get_item_type(Relation triggers, HeapTuple trigger)
{
	Oid			relation = ((Form_pg_trigger) GETSTRUCT(trigger))->tgrelid;
	bool		isnull;
	Datum		arguments = heap_getattr(trigger, Anum_pg_trigger_tgargs,
										 RelationGetDescr(triggers), &isnull);
	const char *column = isnull ? NULL : find_argument(DatumGetByteaPP(arguments), ITEM_COLUMN);

	return column == NULL ? InvalidOid : get_atttype(relation, get_attnum(relation, column));
}

/*
 * A number for a trigger; 0 if its table does not belong to somebody with the privileges
 * of the owner of the filters, or is a temporary one of another session.
 */
static uint64
hash_trigger(Relation triggers, HeapTuple trigger, Oid owner)
{
	Said		said = {
		.trigger = ((Form_pg_trigger) GETSTRUCT(trigger))->oid,
		.relation = ((Form_pg_trigger) GETSTRUCT(trigger))->tgrelid,
		.trigger_version = HeapTupleHeaderGetRawXmin(trigger->t_data)
	};
	HeapTuple	relation = SearchSysCache1(RELOID, ObjectIdGetDatum(said.relation));
	Form_pg_class table;
	bool		counts;

	if (!HeapTupleIsValid(relation))
		return 0;
	table = (Form_pg_class) GETSTRUCT(relation);
	said.relation_version = HeapTupleHeaderGetRawXmin(relation->t_data);
	counts = has_privs_of_role(table->relowner, owner) &&
		(table->relpersistence != RELPERSISTENCE_TEMP || isTempNamespace(table->relnamespace));
	ReleaseSysCache(relation);
	if (!counts)
		return 0;
	said.item_type = get_item_type(triggers, trigger);
	return DatumGetUInt64(hash_any_extended((unsigned char *) &said, sizeof(said), 0));
}

/* A number for the trigger of an OID. */
static uint64
hash_trigger_of(Relation triggers, Oid id, Oid owner)
{
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	trigger;
	uint64		hash = 0;

	ScanKeyInit(&key, Anum_pg_trigger_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(id));
	scan = systable_beginscan(triggers, TriggerOidIndexId, true, NULL, 1, &key);
	trigger = systable_getnext(scan);
	if (HeapTupleIsValid(trigger))
		hash = hash_trigger(triggers, trigger, owner);
	systable_endscan(scan);
	return hash;
}

/* The owner of a table of filters, or of the one of which it is a partition. */
static Oid
get_owner(Oid target)
{
	List	   *wholes = get_rel_relispartition(target) ? get_partition_ancestors(target) : NIL;
	HeapTuple	relation;
	Oid			owner = InvalidOid;

	if (wholes != NIL)
		target = llast_oid(wholes);
	relation = SearchSysCache1(RELOID, ObjectIdGetDatum(target));
	if (HeapTupleIsValid(relation))
	{
		owner = ((Form_pg_class) GETSTRUCT(relation))->relowner;
		ReleaseSysCache(relation);
	}
	return owner;
}

/*
 * bloomexp_definition_fingerprint
 *		A number that stays while the triggers on bloom_track() in `schema` say the same
 *		of the filters in a table, as bloom_track_feeders() has them.
 *
 * Triggers that do not count can come and go.
 */
uint64
bloomexp_definition_fingerprint(Oid schema, Oid target)
{
	oidvector  *no_arguments = buildoidvector(NULL, 0);
	Oid			function = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
										   CStringGetDatum("bloom_track"),
										   PointerGetDatum(no_arguments),
										   ObjectIdGetDatum(schema));
	Oid			owner = get_owner(target);
	Relation	depends = table_open(DependRelationId, AccessShareLock);
	Relation	triggers = table_open(TriggerRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	uint64		sum = 0;

	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(ProcedureRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(function));
	scan = systable_beginscan(depends, DependReferenceIndexId, true, NULL, 2, keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend depend = (Form_pg_depend) GETSTRUCT(tuple);

		if (depend->classid == TriggerRelationId)
			sum += hash_trigger_of(triggers, depend->objid, owner);
	}
	systable_endscan(scan);
	table_close(triggers, AccessShareLock);
	table_close(depends, AccessShareLock);
	return sum;
}
