/*-------------------------------------------------------------------------
 *
 * columns.c
 *	  The columns that a definition names.
 *
 * Only the catalogs are asked: no expression of others is evaluated here, whoever
 * looks.  What is compared and converted later is safe for another reason: its types
 * are checked so that nobody but a superuser, or who owns the filters anyway, can have
 * made or can still make the operator or the cast that PostgreSQL finds for them.
 *
 * Operators and types are named with their schema in statements, and each operand is of
 * exactly the operator's type.  PostgreSQL takes such a match before all others.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_am.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "feed/columns.h"
#include "feed/triggers.h"

/* A column of a table, or an error. */
static AttrNumber
find_column(Oid table, const char *column)
{
	AttrNumber	number = get_attnum(table, column);

	if (number <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist", column, get_rel_name(table))));
	return number;
}

/*
 * bloomexp_columns_table_sql
 *		A table with its schema, for a statement.
 */
char *
bloomexp_columns_table_sql(Oid table)
{
	char	   *schema = get_namespace_name(get_rel_namespace(table));
	char	   *name = get_rel_name(table);

	if (schema == NULL || name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", table)));
	return quote_qualified_identifier(schema, name);
}

/* A type with its schema: format_type_be() would write some in other ways. */
static char *
get_type_sql(Oid type)
{
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	Form_pg_type form;
	char	   *sql;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", type);
	form = (Form_pg_type) GETSTRUCT(tuple);
	sql = quote_qualified_identifier(get_namespace_name(form->typnamespace), NameStr(form->typname));
	ReleaseSysCache(tuple);
	return sql;
}

/* An operator with its schema. */
static char *
get_operator_sql(Oid operator)
{
	HeapTuple	tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(operator));
	Form_pg_operator form;
	char	   *sql;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator %u", operator);
	form = (Form_pg_operator) GETSTRUCT(tuple);
	sql = psprintf("OPERATOR(%s.%s)", quote_identifier(get_namespace_name(form->oprnamespace)), NameStr(form->oprname));
	ReleaseSysCache(tuple);
	return sql;
}

/* The owner of a type. */
static Oid
get_type_owner(Oid type)
{
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", type);
	owner = ((Form_pg_type) GETSTRUCT(tuple))->typowner;
	ReleaseSysCache(tuple);
	return owner;
}

/*
 * bloomexp_columns_require_same
 *		Complain unless the columns of a table are the same as when a statement was written.
 */
void
bloomexp_columns_require_same(Oid table, bool same)
{
	if (!same)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("columns of table \"%s\" have changed meanwhile", get_rel_name(table)),
				 errhint("Try again.")));
}

/*
 * bloomexp_columns_is_domain_not_null
 *		Is a type a domain that is declared NOT NULL, or over such a domain?
 */
bool
bloomexp_columns_is_domain_not_null(Oid type)
{
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	Form_pg_type form;
	bool		not_null;
	Oid			base;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", type);
	form = (Form_pg_type) GETSTRUCT(tuple);
	not_null = form->typtype == TYPTYPE_DOMAIN && form->typnotnull;
	base = form->typtype == TYPTYPE_DOMAIN ? form->typbasetype : InvalidOid;
	ReleaseSysCache(tuple);
	return not_null || (OidIsValid(base) && bloomexp_columns_is_domain_not_null(base));
}

/* An index, as far as it matters here. */
typedef struct TableIndex
{
	AttrNumber	column;			/* the first one */
	int			ncolumns;		/* but for those that are only included */
	bool		primary;
	bool		unique;			/* at once, so that ON CONFLICT can use it */
	Oid			class;			/* default operator class of the column, if all rows are
								 * found by it; else InvalidOid */
} TableIndex;

/* The default operator class by which an index finds all rows by its first column, or InvalidOid. */
static Oid
get_default_class(HeapTuple row, TupleDesc shape)
{
	Form_pg_index index = (Form_pg_index) GETSTRUCT(row);
	bool		isnull;
	bool		whole;
	Datum		classes = heap_getattr(row, Anum_pg_index_indclass, shape, &isnull);
	Datum		collations = heap_getattr(row, Anum_pg_index_indcollation, shape, &isnull);
	Oid			class = ((oidvector *) DatumGetPointer(classes))->values[0];
	Oid			type;
	int32		modifier;
	Oid			collation;
	HeapTuple	tuple;
	bool		is_default;

	(void) heap_getattr(row, Anum_pg_index_indpred, shape, &whole);
	if (!index->indisvalid || !whole || index->indkey.values[0] <= 0)
		return InvalidOid;
	/* by another collation other users are the same */
	get_atttypetypmodcoll(index->indrelid, index->indkey.values[0], &type, &modifier, &collation);
	if (collation != ((oidvector *) DatumGetPointer(collations))->values[0])
		return InvalidOid;
	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(class));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", class);
	is_default = ((Form_pg_opclass) GETSTRUCT(tuple))->opcdefault &&
		((Form_pg_opclass) GETSTRUCT(tuple))->opcmethod == BTREE_AM_OID;
	ReleaseSysCache(tuple);
	return is_default ? class : InvalidOid;
}

/* The indexes of a table. */
static List *
list_indexes(Oid table)
{
	Relation	indexes = table_open(IndexRelationId, AccessShareLock);
	List	   *found = NIL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	row;

	ScanKeyInit(&key, Anum_pg_index_indrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(table));
	scan = systable_beginscan(indexes, IndexIndrelidIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(row = systable_getnext(scan)))
	{
		Form_pg_index form = (Form_pg_index) GETSTRUCT(row);
		TableIndex *index = palloc(sizeof(TableIndex));

		index->column = form->indkey.values[0];
		index->ncolumns = form->indnkeyatts;
		index->primary = form->indisprimary;
		index->unique = form->indisunique && form->indimmediate;
		index->class = get_default_class(row, RelationGetDescr(indexes));
		found = lappend(found, index);
	}
	systable_endscan(scan);
	table_close(indexes, AccessShareLock);
	return found;
}

/* The only column of the primary key, or InvalidAttrNumber. */
static AttrNumber
find_primary_key(List *indexes)
{
	ListCell   *cell;

	foreach (cell, indexes)
	{
		const TableIndex *index = lfirst(cell);

		if (index->primary && index->ncolumns == 1)
			return index->column;
	}
	return InvalidAttrNumber;
}

/* The operator class of the index that distinguishes the users of a column, or InvalidOid. */
static Oid
find_unique_class(List *indexes, AttrNumber column)
{
	ListCell   *cell;

	foreach (cell, indexes)
	{
		const TableIndex *index = lfirst(cell);

		if (index->unique && index->ncolumns == 1 && index->column == column && OidIsValid(index->class))
			return index->class;
	}
	return InvalidOid;
}

/*
 * bloomexp_columns_has_index
 *		Can the rows of a table be found by a column, in its order?
 */
bool
bloomexp_columns_has_index(Oid table, const char *column)
{
	AttrNumber	number = find_column(table, column);
	ListCell   *cell;

	foreach (cell, list_indexes(table))
	{
		const TableIndex *index = lfirst(cell);

		if (index->column == number && OidIsValid(index->class))
			return true;
	}
	return false;
}

/*
 * Between the type of the users and that of the operators there may be a cast, and an
 * implicit one can let another operator than that of a polymorphic type fit, such as an
 * enum's.  The owner of the type can make these by any function, at any time.  So he must
 * be one whose code runs with the table anyway.
 */
static void
check_type(const BloomKey *key)
{
	if (has_privs_of_role(get_type_owner(key->type), bloomexp_triggers_table_owner(key->table)))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("users of type %s are not trusted", format_type_be(key->type)),
			 errdetail("The owner of the type does not have the privileges of the owner of table \"%s\", and could make casts of it by any function.",
					   get_rel_name(key->table)),
			 errhint("Let the owner of the table own the type, or let users be of another type.")));
}

/*
 * bloomexp_columns_find_key
 *		A table of filters and its column of users, which is the primary key if it is
 *		not named.
 */
void
bloomexp_columns_find_key(Oid table, const char *column, BloomKey *key)
{
	char		kind = get_rel_relkind(table);
	List	   *indexes;
	AttrNumber	number;
	Oid			class;
	Oid			family;
	int32		modifier;

	if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table", get_rel_name(table)),
				 errdetail("Filters are kept in a table or a partitioned table.")));
	if (kind == RELKIND_RELATION && find_inheritance_children(table, NoLock) != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("table \"%s\" has tables that inherit from it", get_rel_name(table)),
				 errdetail("A user could have a row in each of them.")));
	indexes = list_indexes(table);
	number = column != NULL ? find_column(table, column) : find_primary_key(indexes);
	if (number <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" has no primary key of one column", get_rel_name(table)),
				 errdetail("The primary key says which row is whose."),
				 errhint("Make the column of the users the primary key.")));

	memset(key, 0, sizeof(*key));
	key->table = table;
	key->table_sql = bloomexp_columns_table_sql(table);
	key->column = get_attname(table, number, false);
	key->column_sql = pstrdup(quote_identifier(key->column));
	get_atttypetypmodcoll(table, number, &key->type, &modifier, &key->collation);
	key->type = getBaseType(key->type);
	get_typlenbyvalalign(key->type, &key->length, &key->by_value, &key->align);
	class = find_unique_class(indexes, number);
	if (!OidIsValid(class))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" has no unique index on column \"%s\" alone", get_rel_name(table), key->column),
				 errhint("ALTER TABLE %s ADD PRIMARY KEY (%s);", key->table_sql, key->column_sql)));
	key->compared_type = get_opclass_input_type(class);
	if (key->compared_type == ANYARRAYOID)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("users of type %s are not supported", format_type_be(key->type)),
				 errdetail("They are arrays.")));
	if (get_typtype(key->type) == TYPTYPE_COMPOSITE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("users of type %s are not supported", format_type_be(key->type)),
				 errdetail("They are rows.")));
	key->array_type = get_array_type(key->type);
	if (!OidIsValid(key->array_type))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("users of type %s are not supported", format_type_be(key->type)),
				 errdetail("There are no arrays of them.")));
	family = get_opclass_family(class);
	key->less = get_opfamily_member(family, key->compared_type, key->compared_type, BTLessStrategyNumber);
	key->equal = get_opfamily_member(family, key->compared_type, key->compared_type, BTEqualStrategyNumber);
	key->greater = get_opfamily_member(family, key->compared_type, key->compared_type,
									   BTGreaterStrategyNumber);
	if (key->compared_type != key->type)
		check_type(key);
	if (get_typtype(key->compared_type) == TYPTYPE_PSEUDO)
		key->compared_type = key->type;
	key->type_sql = get_type_sql(key->compared_type);
	key->compared_sql = psprintf("f.%s::%s", key->column_sql, key->type_sql);
	key->equal_sql = get_operator_sql(key->equal);
	key->greater_sql = get_operator_sql(key->greater);
}

/*
 * bloomexp_columns_make_users
 *		An array of users, as an argument of a statement.
 */
Datum
bloomexp_columns_make_users(const BloomKey *key, Datum *users, int n)
{
	return PointerGetDatum(construct_array(users, n, key->type, key->length, key->by_value, key->align));
}

/* A column of the exposures as an expression. */
static Node *
make_column(Oid source, const char *name)
{
	AttrNumber	number = find_column(source, name);
	Oid			type;
	int32		typmod;
	Oid			collation;

	get_atttypetypmodcoll(source, number, &type, &typmod, &collation);
	return (Node *) makeVar(1, number, type, typmod, collation, 0);
}

/* Refuse to convert users of two types, unless both belong to superusers. */
static void
check_conversion(const Node *user, const BloomKey *key)
{
	Oid			base = getBaseType(exprType(user));
	Oid			not_ours = !superuser_arg(get_type_owner(base)) ? base :
		!superuser_arg(get_type_owner(key->type)) ? key->type : InvalidOid;

	if (base == key->type || !OidIsValid(not_ours))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("users of type %s cannot be converted to type %s", format_type_be(exprType(user)),
					format_type_be(get_atttype(key->table, get_attnum(key->table, key->column)))),
			 errdetail("The owner of type %s is not a superuser, and could make that cast by any function.",
					   format_type_be(not_ours)),
			 errhint("Give both columns the same type.")));
}

/*
 * A column of the users as the type of the key.
 *
 * It is not converted to a domain, whose check is for what is written.  Only who owns a
 * type can make casts of it, now or while a rebuild runs.
 */
static Node *
make_user(const BloomDefinition *definition, Oid source, const BloomKey *key)
{
	Node	   *user = make_column(source, definition->user_column);
	Oid			type = exprType(user);
	Node	   *converted;

	check_conversion(user, key);
	converted = coerce_to_target_type(NULL, user, type, key->type, -1, COERCION_EXPLICIT,
									  COERCE_EXPLICIT_CAST, -1);
	if (converted == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("users of type %s cannot be those of a table with users of type %s",
						format_type_be(type),
						format_type_be(get_atttype(key->table, get_attnum(key->table, key->column)))),
				 errdetail("They are in columns \"%s\" of relation \"%s\" and \"%s\" of table \"%s\".",
						   definition->user_column, get_rel_name(source), key->column,
						   get_rel_name(key->table)),
				 errhint("Give both columns the same type.")));
	assign_expr_collations(NULL, converted);
	if (OidIsValid(key->collation) && exprCollation(converted) != key->collation)
	{
		CollateExpr *collate = makeNode(CollateExpr);

		collate->arg = (Expr *) converted;
		collate->collOid = key->collation;
		collate->location = -1;
		converted = (Node *) collate;
	}
	return converted;
}

/*
 * bloomexp_columns_item_kind
 *		The kind of the items in a column, or an error.
 */
BloomKind
bloomexp_columns_item_kind(Oid source, const char *column)
{
	Oid			type = get_atttype(source, find_column(source, column));
	Oid			base = getBaseType(type);
	char		category;
	bool		preferred;

	if (base == INT2OID || base == INT4OID || base == INT8OID)
		return BLOOM_KIND_INTEGER;
	if (base == UUIDOID)
		return BLOOM_KIND_UUID;
	if (base == BYTEAOID)
		return BLOOM_KIND_BYTEA;
	get_type_category_preferred(base, &category, &preferred);
	if (category != TYPCATEGORY_STRING)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("items of type %s cannot be in a filter", format_type_be(type)),
				 errdetail("Items are integers (smallint, integer, bigint), text (text, varchar, char), uuid or bytea.")));
	return BLOOM_KIND_TEXT;
}

/* A column as a type, or an error. */
static Node *
make_converted(Oid source, const char *name, Oid type)
{
	Node	   *column = make_column(source, name);
	Oid			given = exprType(column);
	Node	   *converted = coerce_to_target_type(NULL, column, given, type, -1, COERCION_EXPLICIT,
												  COERCE_EXPLICIT_CAST, -1);

	if (converted == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_CANNOT_COERCE),
				 errmsg("cannot cast type %s to %s", format_type_be(given), format_type_be(type))));
	assign_expr_collations(NULL, converted);
	return converted;
}

/* The type as which items of a kind are read. */
static Oid
get_item_type(BloomKind kind)
{
	switch (kind)
	{
		case BLOOM_KIND_INTEGER:
			return INT8OID;
		case BLOOM_KIND_UUID:
			return UUIDOID;
		case BLOOM_KIND_BYTEA:
			return BYTEAOID;
		default:
			return TEXTOID;
	}
}

/*
 * bloomexp_columns_check_time
 *		Refuse a column of no date/time type.
 */
void
bloomexp_columns_check_time(Oid table, const char *column)
{
	Oid			type = get_atttype(table, find_column(table, column));
	char		category;
	bool		preferred;

	get_type_category_preferred(getBaseType(type), &category, &preferred);
	if (category != TYPCATEGORY_DATETIME)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of relation \"%s\" is not of a date/time type", column, get_rel_name(table)),
				 errdetail("It is of type %s.", format_type_be(type)),
				 errhint("Name a column of type timestamp with time zone, timestamp or date.")));
}

/*
 * bloomexp_columns_find
 *		What is read of a row of exposures.
 */
void
bloomexp_columns_find(const BloomDefinition *definition, Oid source, const BloomKey *key,
					  BloomColumns *columns)
{
	memset(columns, 0, sizeof(*columns));
	columns->user = make_user(definition, source, key);
	columns->kind = bloomexp_columns_item_kind(source, definition->item_column);
	columns->item = make_converted(source, definition->item_column, get_item_type(columns->kind));
	if (definition->time_column != NULL)
	{
		bloomexp_columns_check_time(source, definition->time_column);
		columns->time = make_converted(source, definition->time_column, TIMESTAMPTZOID);
	}
}

/*
 * bloomexp_columns_check_generated
 *		Refuse a generated column where a transition table may not have its value.
 *
 * A virtual one is not stored at all, and a stored one is not computed in rows that a
 * partitioned table hands on to a partition of another layout.
 */
void
bloomexp_columns_check_generated(Oid table, AttrNumber column)
{
	char		generated = get_attgenerated(table, column);

	if (generated == '\0' ||
		(generated == ATTRIBUTE_GENERATED_STORED && get_rel_relkind(table) != RELKIND_PARTITIONED_TABLE))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("generated column \"%s\" cannot be used by bloom_track()", get_attname(table, column, false)),
			 errdetail("Its value may not be there yet when the trigger is called."),
			 errhint("Use the columns from which it is generated, or a trigger on each partition.")));
}

/*
 * bloomexp_columns_check_tracked
 *		Refuse columns that a trigger on a table cannot read.
 */
void
bloomexp_columns_check_tracked(const BloomDefinition *definition, Oid source)
{
	const char *columns[] = {definition->user_column, definition->item_column, definition->time_column};

	for (int i = 0; i < (int) lengthof(columns); i++)
	{
		if (columns[i] != NULL)
			bloomexp_columns_check_generated(source, find_column(source, columns[i]));
	}
}

/*
 * bloomexp_columns_require_nullable
 *		Refuse a column that cannot be NULL; `why` it must is the detail of the error.
 */
void
bloomexp_columns_require_nullable(Oid table, const char *column, const char *why)
{
	HeapTuple	tuple = SearchSysCacheAttName(table, column);
	bool		not_null;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for column \"%s\" of relation %u", column, table);
	not_null = ((Form_pg_attribute) GETSTRUCT(tuple))->attnotnull;
	ReleaseSysCache(tuple);
	if (not_null)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("column \"%s\" of table \"%s\" must allow nulls", column, get_rel_name(table)),
				 errdetail("%s", why),
				 errhint("ALTER TABLE %s ALTER %s DROP NOT NULL;", bloomexp_columns_table_sql(table), quote_identifier(column))));
}

/*
 * bloomexp_columns_check_live
 *		Refuse a live column that cannot be one.
 */
void
bloomexp_columns_check_live(const BloomExtension *extension, const BloomDefinition *definition,
							Oid target, const char *filter_column)
{
	static const char *why = "A new user has only a live filter, and a rebuild removes that.";
	bool		filter_first;

	if (definition->live_column == NULL)
		return;
	(void) bloomexp_definition_filter_column(extension, target, definition->live_column);
	if (strcmp(definition->live_column, filter_column) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("live column must not be the column of the filters, \"%s\"", filter_column),
				 errhint("Add a second column of type bloom.")));
	filter_first = get_attnum(target, filter_column) < get_attnum(target, definition->live_column);
	bloomexp_columns_require_nullable(target, filter_first ? filter_column : definition->live_column, why);
	bloomexp_columns_require_nullable(target, filter_first ? definition->live_column : filter_column, why);
}
