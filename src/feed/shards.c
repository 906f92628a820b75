/*-------------------------------------------------------------------------
 *
 * shards.c
 *	  Tables that Citus has distributed over nodes, and their shards.
 *
 * Nothing else here knows Citus.  It is not linked: its catalogs and its functions are
 * found in pg_catalog, where only superusers create anything, and only if the extension
 * is installed.  Statements run with the rights of who calls, and every name in one has
 * its schema, so that neither a search_path nor a table that is called like one of
 * theirs, or like a shard, makes a difference.
 *
 * Tables are colocated if the rows of a user are in shards that are always on the same
 * node and always move together.  A trigger on a shard of exposures, which Citus creates
 * there, adds to its partner, the shard of filters with the same users.  That is an ordinary table of the node.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "feed/plans.h"
#include "feed/shards.h"
#include "feed/triggers.h"
#include "value/compat.h"

/* What Citus makes of a table. */
typedef enum Distribution
{
	DISTRIBUTION_NONE,			/* nothing, or a table on the coordinator that it knows */
	DISTRIBUTION_REFERENCE,		/* a copy on each node */
	DISTRIBUTION_SHARDS
} Distribution;

typedef struct Whole
{
	Distribution distribution;
	int32		colocation;		/* that of tables which are colocated; 0 without such */
	char		column[NAMEDATALEN];	/* by which it is distributed; "": it is one shard */
	bool		replicated;		/* has a shard more than one placement? */
} Whole;

/* What is known of a table. */
typedef struct Known
{
	Oid			table;
	bool		has_whole;
	Whole		whole;
	bool		has_parent;
	Oid			parent;			/* of which it is a shard, or InvalidOid */
	Oid			other;			/* a table, ... */
	Oid			partner;		/* ... and the shard of it that is the partner, or InvalidOid */
} Known;

/*
 * What is known of tables, until any table changes: with each change of its catalogs Citus
 * invalidates the table that this is about in all sessions.
 */
static HTAB *known = NULL;
static uint64 known_at;

/* Citus, as it was found, until a function changes, as those of an extension do with it. */
static bool citus_known = false;
static Oid	citus;				/* the extension, or InvalidOid */
static Oid	citus_is_shard;		/* its relation_is_a_known_shard(), or InvalidOid */

/* Called by PostgreSQL for each change of a function. */
static void
functions_changed(Datum argument, BLOOMEXP_SYSCACHE_ID cache, uint32 hash)
{
	citus_known = false;
}

/* Is the extension there? */
static bool
has_citus(void)
{
	static bool registered = false;
	Oid			types[] = {REGCLASSOID};

	if (citus_known)
		return OidIsValid(citus);
	if (!registered)
		CacheRegisterSyscacheCallback(PROCOID, functions_changed, (Datum) 0);
	registered = true;

	/* (what changes while we look makes this untrue again) */
	citus_known = true;
	citus_is_shard = InvalidOid;
	citus = get_extension_oid("citus", true);
	if (!OidIsValid(citus))
		return false;
	citus_is_shard = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum("relation_is_a_known_shard"),
									 PointerGetDatum(buildoidvector(types, lengthof(types))),
									 ObjectIdGetDatum(PG_CATALOG_NAMESPACE));
	if (OidIsValid(citus_is_shard) && getExtensionOfObject(ProcedureRelationId, citus_is_shard) != citus)
		citus_is_shard = InvalidOid;
	return true;
}

/* The entry of a table. */
static Known *
recall(Oid table)
{
	uint64		changes = bloomexp_plans_changes();
	HASHCTL		control = {.keysize = sizeof(Oid),.entrysize = sizeof(Known)};
	Known	   *entry;
	bool		found;

	if (known != NULL && known_at != changes)
	{
		hash_destroy(known);
		known = NULL;
	}
	if (known == NULL)
		known = hash_create("bloomexp shards", 16, &control, HASH_ELEM | HASH_BLOBS);
	known_at = changes;
	entry = hash_search(known, &table, HASH_ENTER, &found);
	if (!found)
		memset((char *) entry + sizeof(Oid), 0, sizeof(Known) - sizeof(Oid));
	return entry;
}

/* Execute a query, in the memory context of the caller; returns its rows. */
static uint64
ask(const char *sql, int nargs, Oid *types, Datum *arguments)
{
	MemoryContext caller = CurrentMemoryContext;

	bloomexp_plans_expect(SPI_execute_with_args(sql, nargs, types, arguments, NULL, false, 0),
						  SPI_OK_SELECT, "SPI_execute_with_args");
	MemoryContextSwitchTo(caller);
	return SPI_processed;
}

/* Begin to ask; what is allocated stays with the caller. */
static void
begin(void)
{
	MemoryContext caller = CurrentMemoryContext;

	bloomexp_plans_expect(SPI_connect(), SPI_OK_CONNECT, "SPI_connect");
	MemoryContextSwitchTo(caller);
}

static void
end(void)
{
	MemoryContext caller = CurrentMemoryContext;

	bloomexp_plans_expect(SPI_finish(), SPI_OK_FINISH, "SPI_finish");
	MemoryContextSwitchTo(caller);
}

/* A column of a row of the answer. */
static Datum
get(uint64 row, int column, bool *isnull)
{
	return SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column, isnull);
}

/* A text of a row of the answer, or NULL. */
static char *
get_text(uint64 row, int column)
{
	bool		isnull;
	Datum		value = get(row, column, &isnull);

	return isnull ? NULL : TextDatumGetCString(value);
}

/* A table with its schema, as a literal. */
static char *
quote_table(Oid table)
{
	char	   *schema = get_namespace_name(get_rel_namespace(table));
	char	   *name = get_rel_name(table);

	/* (nothing locks it) */
	if (schema == NULL || name == NULL)
		elog(ERROR, "cache lookup failed for relation %u", table);
	return quote_literal_cstr(quote_qualified_identifier(schema, name));
}

/* May what was read be kept?  Not if something has changed since. */
static bool
is_new(uint64 changes_before)
{
	return changes_before == bloomexp_plans_changes();
}

/* A look into a catalog of Citus, by an index: planning a query would take longer. */
typedef struct Look
{
	Relation	catalog;
	SysScanDesc scan;
	HeapTuple	row;
} Look;

static void
begin_look(Look *look, const char *catalog, const char *index, const char *column, Oid equal, Datum value)
{
	Oid			number = get_relname_relid(index, PG_CATALOG_NAMESPACE);
	ScanKeyData key;

	look->catalog = table_open(get_relname_relid(catalog, PG_CATALOG_NAMESPACE), AccessShareLock);
	ScanKeyInit(&key, get_attnum(RelationGetRelid(look->catalog), column), BTEqualStrategyNumber, equal, value);
	look->scan = systable_beginscan(look->catalog, number, OidIsValid(number), NULL, 1, &key);
}

/* The next row; false at the end. */
static bool
look_on(Look *look)
{
	look->row = systable_getnext(look->scan);
	return HeapTupleIsValid(look->row);
}

static void
end_look(Look *look)
{
	systable_endscan(look->scan);
	table_close(look->catalog, AccessShareLock);
}

/* A column of the row. */
static Datum
see(const Look *look, const char *column, bool *isnull)
{
	return heap_getattr(look->row, get_attnum(RelationGetRelid(look->catalog), column),
						RelationGetDescr(look->catalog), isnull);
}

/* Has a shard of a table more than one placement? */
static bool
is_replicated(Oid table)
{
	bool		replicated = false;
	Look		shards;

	begin_look(&shards, "pg_dist_shard", "pg_dist_shard_logical_relid_index", "logicalrelid", F_OIDEQ, ObjectIdGetDatum(table));
	while (!replicated && look_on(&shards))
	{
		bool		isnull;
		int			n = 0;
		Look		placements;

		begin_look(&placements, "pg_dist_placement", "pg_dist_placement_shardid_index", "shardid", F_INT8EQ,
				   see(&shards, "shardid", &isnull));
		while (look_on(&placements))
			n++;
		end_look(&placements);
		replicated = n > 1;
	}
	end_look(&shards);
	return replicated;
}

/* The name of the column by which a table is distributed. */
static char *
get_column(Oid table, Datum key)
{
	Oid			types[] = {REGCLASSOID, TEXTOID};
	Oid			function = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum("column_to_column_name"),
										   PointerGetDatum(buildoidvector(types, lengthof(types))),
										   ObjectIdGetDatum(PG_CATALOG_NAMESPACE));

	return OidIsValid(function) ? TextDatumGetCString(OidFunctionCall2(function, ObjectIdGetDatum(table), key)) : "";
}

/* Read what Citus makes of a table, from its catalogs. */
static Whole
look_up_whole(Oid table)
{
	Whole		whole = {DISTRIBUTION_NONE, 0, "", false};
	Look		look;

	begin_look(&look, "pg_dist_partition", "pg_dist_partition_logical_relid_index", "logicalrelid", F_OIDEQ, ObjectIdGetDatum(table));
	if (look_on(&look))
	{
		bool		isnull;
		char		method = DatumGetChar(see(&look, "partmethod", &isnull));
		char		model = DatumGetChar(see(&look, "repmodel", &isnull));
		Datum		key;

		whole.colocation = DatumGetInt32(see(&look, "colocationid", &isnull));
		whole.distribution = method != 'n' ? DISTRIBUTION_SHARDS : model == 't' ? DISTRIBUTION_REFERENCE :
			whole.colocation == 0 ? DISTRIBUTION_NONE : DISTRIBUTION_SHARDS;
		key = see(&look, "partkey", &isnull);
		if (!isnull)
			strlcpy(whole.column, get_column(table, key), sizeof(whole.column));
		/* (those that are not, all tables by default, have another model) */
		whole.replicated = whole.distribution == DISTRIBUTION_SHARDS && model == 'c' && is_replicated(table);
	}
	end_look(&look);
	return whole;
}

/* What Citus makes of a table. */
static Whole
read_whole(Oid table)
{
	Known	   *entry = recall(table);

	if (!entry->has_whole)
	{
		uint64		changes = bloomexp_plans_changes();
		Whole		whole = look_up_whole(table);

		entry = recall(table);
		entry->whole = whole;
		entry->has_whole = is_new(changes);
	}
	return entry->whole;
}

/*
 * bloomexp_shards_is_whole
 *		Is a table one that Citus has distributed over nodes?
 */
bool
bloomexp_shards_is_whole(Oid table)
{
	return has_citus() && read_whole(table).distribution == DISTRIBUTION_SHARDS;
}

/* The number at the end of a name that a shard could have, or 0. */
static int64
get_number(const char *name)
{
	const char *underscore = name ? strrchr(name, '_') : NULL;

	return underscore == NULL || underscore[1] == '\0' || strlen(underscore + 1) > 18 ||
		strspn(underscore + 1, "0123456789") != strlen(underscore + 1) ? 0 :
		strtoll(underscore + 1, NULL, 10);
}

/* The number of a shard, or 0 for any other table: names alone prove nothing. */
static int64
get_shard(Oid table)
{
	int64		number = get_number(get_rel_name(table));

	return number != 0 && has_citus() && OidIsValid(citus_is_shard) &&
		DatumGetBool(OidFunctionCall1(citus_is_shard, ObjectIdGetDatum(table))) ? number : 0;
}

/* Read of which table one is a shard, from the catalogs of Citus. */
static Oid
look_up_parent(Oid table)
{
	int64		shard = get_shard(table);
	Oid			parent = InvalidOid;
	bool		isnull;
	Look		look;

	if (shard == 0)
		return InvalidOid;
	begin_look(&look, "pg_dist_shard", "pg_dist_shard_shardid_index", "shardid", F_INT8EQ, Int64GetDatum(shard));
	if (look_on(&look))
		parent = DatumGetObjectId(see(&look, "logicalrelid", &isnull));
	end_look(&look);
	return parent;
}

/*
 * bloomexp_shards_find_whole
 *		The table of which a table is a shard, or InvalidOid.
 */
Oid
bloomexp_shards_find_whole(Oid table)
{
	Known	   *entry;

	if (!has_citus())
		return InvalidOid;
	entry = recall(table);
	if (!entry->has_parent)
	{
		uint64		changes = bloomexp_plans_changes();
		Oid			parent = look_up_parent(table);

		entry = recall(table);
		entry->parent = parent;
		entry->has_parent = is_new(changes);
	}
	return entry->parent;
}

/* A shard's name without its schema, which shard_name() writes or not. */
static char *
get_shard_name(uint64 row, int column)
{
	bool		isnull;
	Datum		name = get(row, column, &isnull);

	if (isnull)
		elog(ERROR, "shard has no name");	/* its table was dropped just now */
	return strVal(llast(textToQualifiedNameList(DatumGetTextPP(name))));
}

/*
 * The partners of a shard, of all tables or of one: the shards with the same users, on the
 * same node.
 */
static List *
list_partners(int64 shard, Oid table)
{
	Oid			types[] = {INT8OID, OIDOID};
	Datum		arguments[] = {Int64GetDatum(shard), ObjectIdGetDatum(table)};
	List	   *partners = NIL;
	uint64		n;

	begin();
	n = ask("SELECT o.logicalrelid::pg_catalog.oid, pg_catalog.shard_name(o.logicalrelid, o.shardid) "
			"FROM pg_catalog.pg_dist_shard AS s, pg_catalog.pg_dist_partition AS p, pg_catalog.pg_dist_partition AS q, pg_catalog.pg_dist_shard AS o "
			"WHERE s.shardid OPERATOR(pg_catalog.=) $1 AND p.logicalrelid OPERATOR(pg_catalog.=) s.logicalrelid "
			"AND q.colocationid OPERATOR(pg_catalog.=) p.colocationid AND o.logicalrelid OPERATOR(pg_catalog.=) q.logicalrelid "
			"AND $2 OPERATOR(pg_catalog.=) ANY (ARRAY[q.logicalrelid::pg_catalog.oid, 0::pg_catalog.oid]) "
			"AND COALESCE(o.shardminvalue, '') OPERATOR(pg_catalog.=) COALESCE(s.shardminvalue, '')",
			2, types, arguments);
	for (uint64 i = 0; i < n; i++)
	{
		bool		isnull;
		Oid			whole = DatumGetObjectId(get(i, 1, &isnull));

		partners = lappend_oid(partners, get_relname_relid(get_shard_name(i, 2), get_rel_namespace(whole)));
	}
	end();
	return partners;
}

/* The smallest hash of a shard, or "": of a table that is one shard. */
static char *
get_minimum(const Look *look)
{
	bool		isnull;
	Datum		minimum = see(look, "shardminvalue", &isnull);

	return isnull ? "" : TextDatumGetCString(minimum);
}

/* The partner of a shard, of a colocated table and on the same node, or InvalidOid. */
static Oid
look_up_partner(int64 shard, Oid other)
{
	const char *minimum = NULL;
	Oid			partner = InvalidOid;
	Look		look;

	begin_look(&look, "pg_dist_shard", "pg_dist_shard_shardid_index", "shardid", F_INT8EQ, Int64GetDatum(shard));
	if (look_on(&look))
		minimum = get_minimum(&look);
	end_look(&look);
	if (minimum == NULL)
		return InvalidOid;
	begin_look(&look, "pg_dist_shard", "pg_dist_shard_logical_relid_index", "logicalrelid", F_OIDEQ, ObjectIdGetDatum(other));
	while (!OidIsValid(partner) && look_on(&look))
	{
		bool		isnull;
		char	   *name;

		if (strcmp(get_minimum(&look), minimum) != 0)
			continue;
		name = psprintf("%s_" INT64_FORMAT, get_rel_name(other), DatumGetInt64(see(&look, "shardid", &isnull)));
		if (strlen(name) < NAMEDATALEN)
			partner = get_relname_relid(name, get_rel_namespace(other));
		else
		{
			/* Citus shortens it. */
			List	   *partners = list_partners(shard, other);

			partner = partners == NIL ? InvalidOid : linitial_oid(partners);
		}
		break;
	}
	end_look(&look);
	return partner;
}

/* The partner of a shard, of another table and on the same node, or InvalidOid. */
static Oid
find_partner(Oid table, Oid other)
{
	Known	   *entry = recall(table);

	if (entry->other != other || !OidIsValid(entry->partner))
	{
		uint64		changes = bloomexp_plans_changes();
		Oid			partner = look_up_partner(get_shard(table), other);

		entry = recall(table);
		entry->other = is_new(changes) ? other : InvalidOid;
		entry->partner = partner;
	}
	return entry->partner;
}

/* Refuse tables whose shards have no partners of the same users. */
static void
check_colocated(Oid source, Oid target)
{
	Whole		of_source = read_whole(source);
	Whole		of_target = read_whole(target);
	Oid			reference = of_target.distribution == DISTRIBUTION_REFERENCE ? target : source;

	if (of_source.distribution == DISTRIBUTION_NONE && of_target.distribution == DISTRIBUTION_NONE)
		return;
	if (get_rel_relkind(source) != RELKIND_RELATION && get_rel_relkind(source) != RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table", get_rel_name(source)),
				 errdetail("Table \"%s\" is distributed. Each of its shards is rebuilt from the shard of exposures with the same users, and only tables have shards.",
						   get_rel_name(target)),
				 errhint("Name the table of the exposures, and say by condition which rows count.")));
	if (of_source.distribution == DISTRIBUTION_REFERENCE || of_target.distribution == DISTRIBUTION_REFERENCE)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" is a reference table", get_rel_name(reference)),
				 errdetail("Each node has a copy of it, and what changes filters on one node would leave the other copies as they are."),
				 errhint("Distribute it by the user: SELECT undistribute_table(%s); then create_distributed_table().",
						 quote_table(reference))));
	if (of_source.distribution != of_target.distribution || of_source.colocation != of_target.colocation ||
		of_source.colocation == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("tables \"%s\" and \"%s\" are not colocated", get_rel_name(source), get_rel_name(target)),
				 errdetail("The filter of a user must be where the exposures of that user are."),
				 of_source.distribution == DISTRIBUTION_NONE ?
				 errhint("SELECT create_distributed_table(%s, '...', colocate_with => %s); with the column of the users.",
						 quote_table(source), quote_table(target)) :
				 of_target.distribution == DISTRIBUTION_NONE ?
				 errhint("SELECT create_distributed_table(%s, '...', colocate_with => %s); with the column of the users.",
						 quote_table(target), quote_table(source)) :
				 errhint("SELECT alter_distributed_table(%s, colocate_with => %s);", quote_table(target),
						 quote_table(source))));
	if (of_source.replicated || of_target.replicated)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" has more than one placement of a shard",
						get_rel_name(of_source.replicated ? source : target)),
				 errdetail("The filters of placements would not stay the same."),
				 errhint("Distribute both tables with citus.shard_replication_factor = 1, and replicate each node as a whole.")));
}

/*
 * Refuse what has the name of a shard that is elsewhere, and is another's: Citus gives
 * shards the owner of their table.
 */
static void
check_owner(Oid table)
{
	Oid			whole = bloomexp_shards_find_whole(table);

	if (OidIsValid(whole) && bloomexp_triggers_table_owner(table) != bloomexp_triggers_table_owner(whole))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" is called like a shard and is none", get_rel_name(table)),
				 errdetail("It does not have the owner of table \"%s\".", get_rel_name(whole))));
}

/*
 * bloomexp_shards_partner
 *		The table to which a trigger on a table adds that names a table of filters:
 *		that one, or for a shard its partner; an error if there is no such.  For
 *		a shard it may be none, InvalidOid.
 */
Oid
bloomexp_shards_partner(Oid source, Oid target)
{
	Oid			whole;
	Oid			partner;

	if (!has_citus())
		return target;
	check_owner(source);
	check_owner(target);
	whole = bloomexp_shards_find_whole(source);
	if (!OidIsValid(whole))
	{
		check_colocated(source, target);
		return target;
	}
	if (!OidIsValid(target))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" and the table of its filters are not colocated", get_rel_name(whole)),
				 errdetail("This node has shards of the exposures, and no table of the filters."),
				 errhint("SELECT create_distributed_table('...', '...', colocate_with => %s); with the table of the filters and the column of the users.",
						 quote_table(whole))));
	if (OidIsValid(bloomexp_shards_find_whole(target)) ||
		(read_whole(whole).distribution == DISTRIBUTION_NONE && read_whole(target).distribution == DISTRIBUTION_NONE))
		return target;
	check_colocated(whole, target);
	partner = find_partner(source, target);
	if (!OidIsValid(partner))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("no shard of table \"%s\" is colocated with shard \"%s\"", get_rel_name(target), get_rel_name(source)),
				 errdetail("The shard is being moved or split."),
				 errhint("Try again.")));
	check_owner(partner);
	return partner;
}

/*
 * bloomexp_shards_begin_fed
 *		Find out what feeds a table of filters, before its triggers are looked at one by
 *		one: a node can have thousands.
 */
void
bloomexp_shards_begin_fed(Oid target, BloomFed *fed)
{
	fed->target = target;
	fed->whole = bloomexp_shards_find_whole(target);
	fed->distributed = bloomexp_shards_is_whole(target);
	fed->partners = OidIsValid(fed->whole) ? list_partners(get_shard(target), InvalidOid) : NIL;
}

/*
 * bloomexp_shards_is_fed
 *		Does a trigger on a table that names a table of filters add to that which is fed?
 *
 * A shard is fed from a partner, and not by the trigger of the whole, nor the
 * whole by those of shards.
 */
bool
bloomexp_shards_is_fed(const BloomFed *fed, Oid source, Oid named)
{
	if (named == fed->target)
		return !fed->distributed || get_shard(source) == 0;
	return OidIsValid(fed->whole) && named == fed->whole && list_member_oid(fed->partners, source);
}

/*
 * bloomexp_shards_check_user
 *		Refuse exposures that are distributed by anything else than a column of users.
 */
void
bloomexp_shards_check_user(Oid source, const char *column)
{
	Oid			whole;
	Whole		read;

	if (!has_citus())
		return;
	whole = bloomexp_shards_find_whole(source);
	read = read_whole(OidIsValid(whole) ? whole : source);
	if (read.distribution != DISTRIBUTION_SHARDS || read.column[0] == '\0' || strcmp(read.column, column) == 0)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("table \"%s\" is not distributed by column \"%s\"",
					get_rel_name(OidIsValid(whole) ? whole : source), column),
			 errdetail("It is distributed by column \"%s\".", read.column),
			 errhint("Distribute the exposures and the filters by the user.")));
}

/* The name of a shard as a statement of any node has it. */
static char *
write_shard(Oid whole, uint64 row, int column)
{
	return pstrdup(quote_qualified_identifier(get_namespace_name(get_rel_namespace(whole)),
											  get_shard_name(row, column)));
}

/*
 * bloomexp_shards_list
 *		The shards of a distributed table of filters, as they are now; of all users, or
 *		an array of them if it is not NULL.
 */
List *
bloomexp_shards_list(Oid target, Oid source, ArrayType *users)
{
	bool		given = users != NULL;
	Oid			types[] = {REGCLASSOID, OIDOID, given ? get_array_type(ARR_ELEMTYPE(users)) : InvalidOid};
	Datum		arguments[] = {ObjectIdGetDatum(target), ObjectIdGetDatum(source), PointerGetDatum(users)};
	List	   *shards = NIL;
	uint64		n;

	begin();
	n = ask(psprintf("SELECT t.shardid, n.nodename, n.nodeport, pg_catalog.shard_name(t.logicalrelid, t.shardid), pg_catalog.shard_name(s.logicalrelid, s.shardid) "
					 "FROM pg_catalog.pg_dist_shard AS t, pg_catalog.pg_dist_shard AS s, pg_catalog.pg_dist_placement AS p, pg_catalog.pg_dist_node AS n "
					 "WHERE t.logicalrelid OPERATOR(pg_catalog.=) $1 AND s.logicalrelid OPERATOR(pg_catalog.=) $2 "
					 "AND COALESCE(s.shardminvalue, '') OPERATOR(pg_catalog.=) COALESCE(t.shardminvalue, '') "
					 "AND p.shardid OPERATOR(pg_catalog.=) t.shardid AND p.shardstate OPERATOR(pg_catalog.=) 1 "
					 "AND n.groupid OPERATOR(pg_catalog.=) p.groupid AND n.noderole OPERATOR(pg_catalog.=) 'primary'%s "
					 "ORDER BY t.shardid", given ?
					 " AND t.shardid OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT pg_catalog.get_shard_id_for_distribution_column($1, u.u) FROM pg_catalog.unnest($3) AS u (u)))" : ""),
			given ? 3 : 2, types, arguments);
	for (uint64 i = 0; i < n; i++)
	{
		BloomShard *shard = palloc(sizeof(BloomShard));
		bool		isnull;

		shard->id = DatumGetInt64(get(i, 1, &isnull));
		shard->node = get_text(i, 2);
		shard->port = DatumGetInt32(get(i, 3, &isnull));
		shard->target = write_shard(target, i, 4);
		shard->source = write_shard(source, i, 5);
		shards = lappend(shards, shard);
	}
	end();
	return shards;
}

/*
 * bloomexp_shards_run
 *		Have each node of a list execute its statement, at the same time, in a session of
 *		its own of the same user, as a statement alone: so it can commit.
 */
void
bloomexp_shards_run(List *commands)
{
	int			n = list_length(commands);
	Oid			types[] = {TEXTARRAYOID, INT4ARRAYOID, TEXTARRAYOID};
	Datum	   *nodes = palloc(Max(n, 1) * sizeof(Datum));
	Datum	   *ports = palloc(Max(n, 1) * sizeof(Datum));
	Datum	   *texts = palloc(Max(n, 1) * sizeof(Datum));
	Datum		arguments[3];

	if (n == 0)
		return;
	for (int i = 0; i < n; i++)
	{
		const BloomNodeCommand *command = list_nth(commands, i);

		nodes[i] = CStringGetTextDatum(command->node);
		ports[i] = Int32GetDatum(command->port);
		texts[i] = CStringGetTextDatum(command->command);
	}
	arguments[0] = PointerGetDatum(construct_array(nodes, n, TEXTOID, -1, false, TYPALIGN_INT));
	arguments[1] = PointerGetDatum(construct_array(ports, n, INT4OID, sizeof(int32), true, TYPALIGN_INT));
	arguments[2] = PointerGetDatum(construct_array(texts, n, TEXTOID, -1, false, TYPALIGN_INT));
	begin();
	if (ask("SELECT r.success, r.result FROM pg_catalog.master_run_on_worker($1, $2, $3, true) AS r", 3, types, arguments) != (uint64) n)
		elog(ERROR, "nodes did not answer");
	for (int i = 0; i < n; i++)
	{
		BloomNodeCommand *command = list_nth(commands, i);
		bool		isnull;

		command->success = DatumGetBool(get(i, 1, &isnull)) && !isnull;
		command->result = get_text(i, 2);
	}
	end();
}

/*
 * bloomexp_shards_version
 *		The version of this extension on this node, to compare with that of others.
 */
char *
bloomexp_shards_version(void)
{
	char	   *version = NULL;

	begin();
	if (ask("SELECT e.extversion FROM pg_catalog.pg_extension AS e WHERE e.extname OPERATOR(pg_catalog.=) 'bloomexp'",
			0, NULL, NULL) == 1)
		version = get_text(0, 1);
	end();
	return version ? version : "";
}

/*
 * bloomexp_shards_find_node
 *		The node of a shard, or NULL.
 */
BloomNode *
bloomexp_shards_find_node(List *nodes, const BloomShard *shard)
{
	ListCell   *cell;

	foreach (cell, nodes)
	{
		BloomNode  *node = lfirst(cell);

		if (node->port == shard->port && strcmp(node->name, shard->node) == 0)
			return node;
	}
	return NULL;
}

/*
 * bloomexp_shards_check_nodes
 *		Add the nodes of shards that a list does not have yet, and find out for each of
 *		them whether a function of this extension can be called there.
 *
 * It is called by its name and the types of its arguments.  If the extension is in another
 * schema there, anybody could have made a function of these.  Otherwise PostgreSQL takes
 * the extension's before any other, because each argument is of just its type.
 */
void
bloomexp_shards_check_nodes(List **nodes, List *shards, Oid function)
{
	char	   *question = psprintf("SELECT e.extversion FROM pg_catalog.pg_extension AS e, pg_catalog.pg_depend AS d "
									"WHERE e.extname OPERATOR(pg_catalog.=) 'bloomexp' AND d.refobjid OPERATOR(pg_catalog.=) e.oid "
									"AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass "
									"AND d.deptype OPERATOR(pg_catalog.=) 'e' "
									"AND d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass "
									"AND d.objid OPERATOR(pg_catalog.=) pg_catalog.to_regprocedure(%s)",
									quote_literal_cstr(format_procedure_qualified(function)));
	int			checked = list_length(*nodes);
	List	   *commands = NIL;
	ListCell   *cell;

	foreach (cell, shards)
	{
		const BloomShard *shard = lfirst(cell);
		BloomNode  *node;
		BloomNodeCommand *command;

		if (bloomexp_shards_find_node(*nodes, shard) != NULL)
			continue;
		node = palloc0(sizeof(BloomNode));
		node->name = pstrdup(shard->node);
		node->port = shard->port;
		*nodes = lappend(*nodes, node);
		command = palloc0(sizeof(BloomNodeCommand));
		command->node = node->name;
		command->port = node->port;
		command->command = question;
		commands = lappend(commands, command);
	}
	bloomexp_shards_run(commands);
	foreach (cell, commands)
	{
		const BloomNodeCommand *command = lfirst(cell);
		BloomNode  *node = list_nth(*nodes, checked++);

		if (!command->success)
			node->problem = command->result ? command->result : pstrdup("");
		else if (command->result == NULL || command->result[0] == '\0')
			node->problem = psprintf("%s() of bloomexp is not there", get_func_name(function));
		else
			node->version = command->result;
	}
}
