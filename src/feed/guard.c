/*-------------------------------------------------------------------------
 *
 * guard.c
 *	  The trigger that keeps filters from being overwritten by older ones.
 *
 * An application that reads a row, changes something and writes the whole row back
 * writes a filter without the exposures that came meanwhile.  The trigger compares
 * the filters of each row that is updated.  What bloom_track(), bloom_take(),
 * bloom_add() and bloom_union() make of the row's filter has all bits of it.  Only
 * bloom_rebuild() may write others.
 *
 * It is against accidents.  Who may update the table can also delete the row, and what
 * other triggers of the table write is the business of its owner.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/partition.h"
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "feed/rebuild.h"
#include "feed/triggers.h"
#include "sql/lookup.h"
#include "value/compat.h"
#include "value/layout.h"
#include "value/union.h"

PG_FUNCTION_INFO_V1(bloomexp_guard);

/* The calling trigger; raises an error if it is of the wrong kind. */
static TriggerData *
get_trigger(FunctionCallInfo fcinfo)
{
	TriggerData *trigger = bloomexp_triggers_require_call(fcinfo);

	if (!TRIGGER_FIRED_BEFORE(trigger->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigger->tg_event) ||
		!TRIGGER_FIRED_BY_UPDATE(trigger->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("bloom_guard() must be called by a BEFORE UPDATE trigger for each row"),
				 errhint("CREATE TRIGGER ... BEFORE UPDATE ON ... FOR EACH ROW EXECUTE FUNCTION bloom_guard();")));
	return trigger;
}

/* Whether the arguments of a trigger say to keep filters in place of an error. */
static bool
get_keep(const Trigger *trigger)
{
	for (int i = 0; i < trigger->tgnargs; i++)
	{
		if (strcmp(trigger->tgargs[i], "keep") != 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("unrecognized argument of bloom_guard(): \"%s\"", trigger->tgargs[i]),
					 errhint("The only argument is 'keep'.")));
	}
	return trigger->tgnargs > 0;
}

/*
 * Whether a column holds filters that can be compared.  (A generated one has no new
 * value yet.)
 */
static bool
is_guarded(Form_pg_attribute column, Oid filter_type)
{
	return !column->attisdropped && column->attgenerated == '\0' &&
		getBaseType(column->atttypid) == filter_type;
}

/* A stored filter, or NULL. */
static struct varlena *
get_filter(HeapTuple row, int column, TupleDesc columns)
{
	bool		isnull;
	Datum		value = heap_getattr(row, column, columns, &isnull);

	return isnull ? NULL : (struct varlena *) DatumGetPointer(value);
}

/* Open a stored filter. */
static BloomFilter *
open_filter(struct varlena *value, BloomFilter *filter)
{
	if (value == NULL)
		return NULL;
	bloomexp_layout_open(filter, PG_DETOAST_DATUM_PACKED(PointerGetDatum(value)));
	return filter;
}

/* Whether a column of the new row lacks something that the filter of the old one has. */
static bool
loses(const TriggerData *trigger, int column)
{
	TupleDesc	columns = RelationGetDescr(trigger->tg_relation);
	struct varlena *stored = get_filter(trigger->tg_trigtuple, column, columns);
	struct varlena *written = get_filter(trigger->tg_newtuple, column, columns);
	BloomFilter before;
	BloomFilter after;

	if (stored == NULL || (written != NULL && bloomexp_lookup_is_same(stored, written)))
		return false;
	return !bloomexp_union_includes(open_filter(written, &after), open_filter(stored, &before));
}

/* Whether this session rebuilds the table, or the whole of which it is a partition. */
static bool
is_rebuilt(Relation relation)
{
	Oid			rebuilt = bloomexp_rebuild_target();

	return OidIsValid(rebuilt) &&
		(rebuilt == RelationGetRelid(relation) ||
		 (relation->rd_rel->relispartition &&
		  list_member_oid(get_partition_ancestors(RelationGetRelid(relation)), rebuilt)));
}

/* The new row with the old one's value of a column. */
static HeapTuple
keep_stored(const TriggerData *trigger, HeapTuple row, int column)
{
	TupleDesc	columns = RelationGetDescr(trigger->tg_relation);
	bool		isnull;
	Datum		stored = heap_getattr(trigger->tg_trigtuple, column, columns, &isnull);

	return heap_modify_tuple_by_cols(row, columns, 1, &column, &stored, &isnull);
}

/*
 * Refuse what PostgreSQL itself refuses under REPEATABLE READ,
 * with the same error code: to repeat all of it, from reading on, is right.
 */
static void
refuse(const TriggerData *trigger, Form_pg_attribute column)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("filter in column \"%s\" of table \"%s\" has changed since it was read",
					NameStr(column->attname), RelationGetRelationName(trigger->tg_relation)),
			 errdetail("The new value lacks items that the stored one contains; they would be shown again."),
			 errhint("Leave the column out of the UPDATE, or add to it there by bloom_add(). Repeating the whole transaction is right, too: it then reads the filter again.")));
}

/* bloom_guard() */
Datum
bloomexp_guard(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = get_trigger(fcinfo);
	TupleDesc	columns = RelationGetDescr(trigger->tg_relation);
	bool		keep = get_keep(trigger->tg_trigger);
	BloomExtension extension;
	HeapTuple	row = trigger->tg_newtuple;

	bloomexp_triggers_find_extension(fcinfo->flinfo->fn_oid, &extension);
	for (int i = 0; i < columns->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(columns, i);

		if (!is_guarded(column, extension.filter_type) || !loses(trigger, i + 1))
			continue;
		if (is_rebuilt(trigger->tg_relation))
			break;
		if (!keep)
			refuse(trigger, column);
		row = keep_stored(trigger, row, i + 1);
	}
	return PointerGetDatum(row);
}
