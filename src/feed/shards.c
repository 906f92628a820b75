/*-------------------------------------------------------------------------
 *
 * shards.c
 *	  Tables that Citus has distributed over nodes, and their shards.
 *
 * Nothing else here knows Citus.  It is not linked: its catalogs and its functions are
 * found in pg_catalog, where only superusers create anything, and only if the extension
 * is installed.  They are read with the rights of who calls, and every name in a
 * statement has its schema, so that neither a search_path nor a table that is called
 * like one of theirs, or like a shard, makes a difference.
 *
 * Tables are colocated if the rows of a user are in shards that are always on the same
 * node and always move together.  A trigger on a shard of exposures, which Citus creates
 * there, adds to its partner, the shard of filters with the same users.  That is an ordinary table of the node.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

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
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "feed/plans.h"
#include "feed/shards.h"

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
	char	   *column;			/* by which it is distributed; NULL: it is one shard */
	int64		placements;		/* of a shard, at most */
} Whole;

/* The extension, or InvalidOid. */
static Oid
find_citus(void)
{
	return get_extension_oid("citus", true);
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

/* What Citus makes of a table. */
static Whole
read_whole(Oid table)
{
	Oid			types[] = {OIDOID};
	Datum		arguments[] = {ObjectIdGetDatum(table)};
	Whole		whole = {DISTRIBUTION_NONE, 0, NULL, 0};

	begin();
	if (ask("SELECT p.colocationid, "
			"CASE WHEN p.partkey IS NOT NULL THEN pg_catalog.column_to_column_name(p.logicalrelid, p.partkey) END, "
			"p.partmethod OPERATOR(pg_catalog.=) 'n' AND p.repmodel OPERATOR(pg_catalog.=) 't', "
			"p.partmethod OPERATOR(pg_catalog.=) 'n' AND p.repmodel OPERATOR(pg_catalog.<>) 't' AND p.colocationid OPERATOR(pg_catalog.=) 0, "
			"(SELECT pg_catalog.max(c.n) FROM (SELECT pg_catalog.count(*) AS n FROM pg_catalog.pg_dist_shard AS s, pg_catalog.pg_dist_placement AS l "
			"WHERE s.logicalrelid OPERATOR(pg_catalog.=) p.logicalrelid AND l.shardid OPERATOR(pg_catalog.=) s.shardid GROUP BY s.shardid) AS c) "
			"FROM pg_catalog.pg_dist_partition AS p WHERE p.logicalrelid OPERATOR(pg_catalog.=) $1", 1, types, arguments) == 1)
	{
		bool		isnull;
		bool		reference = DatumGetBool(get(0, 3, &isnull));
		bool		local = DatumGetBool(get(0, 4, &isnull));

		whole.distribution = reference ? DISTRIBUTION_REFERENCE :
			local ? DISTRIBUTION_NONE : DISTRIBUTION_SHARDS;
		whole.colocation = DatumGetInt32(get(0, 1, &isnull));
		whole.column = get_text(0, 2);
		whole.placements = DatumGetInt64(get(0, 5, &isnull));
	}
	end();
	return whole;
}

/*
 * bloomexp_shards_is_whole
 *		Is a table one that Citus has distributed over nodes?
 */
bool
bloomexp_shards_is_whole(Oid table)
{
	return OidIsValid(find_citus()) && read_whole(table).distribution == DISTRIBUTION_SHARDS;
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
	Oid			citus = number != 0 ? find_citus() : InvalidOid;
	Oid			types[] = {REGCLASSOID};
	Oid			function;

	if (!OidIsValid(citus))
		return 0;
	function = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum("relation_is_a_known_shard"),
							   PointerGetDatum(buildoidvector(types, lengthof(types))),
							   ObjectIdGetDatum(PG_CATALOG_NAMESPACE));
	return OidIsValid(function) && getExtensionOfObject(ProcedureRelationId, function) == citus &&
		DatumGetBool(OidFunctionCall1(function, ObjectIdGetDatum(table))) ? number : 0;
}

/*
 * bloomexp_shards_find_whole
 *		The table of which a table is a shard, or InvalidOid.
 */
Oid
bloomexp_shards_find_whole(Oid table)
{
	int64		shard = get_shard(table);
	Oid			types[] = {INT8OID};
	Datum		arguments[] = {Int64GetDatum(shard)};
	Oid			whole = InvalidOid;
	bool		isnull;

	if (shard == 0)
		return InvalidOid;
	begin();
	if (ask("SELECT s.logicalrelid::pg_catalog.oid FROM pg_catalog.pg_dist_shard AS s WHERE s.shardid OPERATOR(pg_catalog.=) $1",
			1, types, arguments) == 1)
		whole = DatumGetObjectId(get(0, 1, &isnull));
	end();
	return whole;
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

/* The partner of a shard, of another table and on the same node, or InvalidOid. */
static Oid
find_beside(int64 shard, Oid other)
{
	Oid			types[] = {INT8OID, OIDOID};
	Datum		arguments[] = {Int64GetDatum(shard), ObjectIdGetDatum(other)};
	Oid			beside = InvalidOid;

	begin();
	if (ask("SELECT pg_catalog.shard_name(o.logicalrelid, o.shardid) FROM pg_catalog.pg_dist_shard AS s, pg_catalog.pg_dist_shard AS o "
			"WHERE s.shardid OPERATOR(pg_catalog.=) $1 AND o.logicalrelid OPERATOR(pg_catalog.=) $2 "
			"AND (o.shardminvalue OPERATOR(pg_catalog.=) s.shardminvalue OR (o.shardminvalue IS NULL AND s.shardminvalue IS NULL))",
			2, types, arguments) == 1)
		beside = get_relname_relid(get_shard_name(0, 1), get_rel_namespace(other));
	end();
	return beside;
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
	if (of_source.placements > 1 || of_target.placements > 1)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" has more than one placement of a shard",
						get_rel_name(of_source.placements > 1 ? source : target)),
				 errdetail("The filters of placements would not stay the same."),
				 errhint("Distribute both tables with citus.shard_replication_factor = 1, and replicate each node as a whole.")));
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
	int64		shard;
	Oid			whole;
	Oid			partner;

	if (!OidIsValid(find_citus()))
		return target;
	shard = get_shard(source);
	if (shard == 0)
	{
		check_colocated(source, target);
		return target;
	}
	whole = bloomexp_shards_find_whole(source);
	if (!OidIsValid(target))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" and the table of its filters are not colocated", get_rel_name(whole)),
				 errdetail("This node has shards of the exposures, and no table of the filters."),
				 errhint("SELECT create_distributed_table('...', '...', colocate_with => %s); with the table of the filters and the column of the users.",
						 quote_table(whole))));
	if (get_shard(target) != 0 || (read_whole(whole).distribution == DISTRIBUTION_NONE &&
								   read_whole(target).distribution == DISTRIBUTION_NONE))
		return target;
	check_colocated(whole, target);
	partner = find_beside(shard, target);
	if (!OidIsValid(partner))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("no shard of table \"%s\" is colocated with shard \"%s\"", get_rel_name(target), get_rel_name(source)),
				 errdetail("The shard is being moved or split."),
				 errhint("Try again.")));
	return partner;
}

/*
 * bloomexp_shards_is_fed
 *		Does a trigger on a table that names a table of filters add to a table?  `whole`
 *		is that of which the latter is a shard, or InvalidOid; or the latter is distributed.
 *
 * A shard is fed from its partner, and not by the trigger of the whole, nor the
 * whole by those of shards.
 */
bool
bloomexp_shards_is_fed(Oid target, Oid whole, bool distributed, Oid source, Oid named)
{
	int64		shard;

	if (named != target && (named != whole || !OidIsValid(whole)))
		return false;
	shard = get_shard(source);
	if (named == target)
		return shard == 0 || !distributed;
	return shard != 0 && find_beside(shard, named) == target;
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

	if (!OidIsValid(find_citus()))
		return;
	whole = bloomexp_shards_find_whole(source);
	read = read_whole(OidIsValid(whole) ? whole : source);
	if (read.distribution != DISTRIBUTION_SHARDS || read.column == NULL || strcmp(read.column, column) == 0)
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
					 "AND (s.shardminvalue OPERATOR(pg_catalog.=) t.shardminvalue OR (s.shardminvalue IS NULL AND t.shardminvalue IS NULL)) "
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
