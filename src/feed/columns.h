/*-------------------------------------------------------------------------
 *
 * columns.h
 *	  The columns that a definition names: whether they fit, and how they are read
 *	  and compared.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_COLUMNS_H
#define BLOOMEXP_COLUMNS_H

#include "nodes/primnodes.h"

#include "feed/definition.h"
#include "feed/triggers.h"
#include "value/kind.h"

/* A table of filters and its column of users. */
typedef struct BloomKey
{
	Oid			table;
	char	   *column;
	Oid			type;			/* of the column, without domains */
	Oid			collation;
	Oid			array_type;
	int16		length;			/* of its values, as pg_type.typlen */
	bool		by_value;
	char		align;
	Oid			compared_type;	/* as which its values are compared */
	Oid			less;			/* operators of that type */
	Oid			equal;
	Oid			greater;

	/* for statements in which the table is "f" */
	char	   *table_sql;		/* the table, with its schema */
	char	   *column_sql;
	char	   *compared_sql;	/* the column as it is compared */
	char	   *type_sql;		/* as which users are compared */
	char	   *equal_sql;		/* OPERATOR(...) */
	char	   *greater_sql;
} BloomKey;

/*
 * What is read of a row of exposures: expressions over its columns, which are the Vars
 * of relation 1.  The row is an exposure if user, item and time are not NULL, and the
 * condition is true.
 */
typedef struct BloomColumns
{
	Node	   *user;			/* as the key's type */
	Node	   *item;			/* as the type of its kind */
	Node	   *time;			/* as timestamptz; NULL: none is named */
	BloomKind	kind;
} BloomColumns;

extern char *bloomexp_columns_table_sql(Oid table);
extern void bloomexp_columns_require_same(Oid table, bool same);
extern bool bloomexp_columns_is_domain_not_null(Oid type);
extern bool bloomexp_columns_has_index(Oid table, const char *column);
extern void bloomexp_columns_find_key(Oid table, const char *column, BloomKey *key);
extern Datum bloomexp_columns_make_users(const BloomKey *key, Datum *users, int n);
extern void bloomexp_columns_find(const BloomDefinition *definition, Oid source, const BloomKey *key,
								  BloomColumns *columns);
extern BloomKind bloomexp_columns_item_kind(Oid source, const char *column);
extern void bloomexp_columns_check_time(Oid table, const char *column);
extern void bloomexp_columns_check_generated(Oid table, AttrNumber column);
extern void bloomexp_columns_check_tracked(const BloomDefinition *definition, Oid source);
extern void bloomexp_columns_require_nullable(Oid table, const char *column, const char *why);
extern void bloomexp_columns_check_live(const BloomExtension *extension, const BloomDefinition *definition,
										Oid target, const char *filter_column);

#endif							/* BLOOMEXP_COLUMNS_H */
