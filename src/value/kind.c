/*-------------------------------------------------------------------------
 *
 * kind.c
 *	  Names of the kinds of items.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "value/kind.h"

static const char *const names[BLOOM_KIND_LAST + 1] = {
	[BLOOM_KIND_NONE] = "none",
	[BLOOM_KIND_INTEGER] = "integer",
	[BLOOM_KIND_TEXT] = "text",
	[BLOOM_KIND_UUID] = "uuid",
	[BLOOM_KIND_BYTEA] = "bytea"
};

/*
 * bloomexp_kind_name
 *		Return the name of a kind, as bloom_info() and messages have it.
 */
const char *
bloomexp_kind_name(BloomKind kind)
{
	return names[kind];
}

/*
 * bloomexp_kind_type
 *		Return the SQL type to which items of a kind are cast.
 */
const char *
bloomexp_kind_type(BloomKind kind)
{
	return kind == BLOOM_KIND_INTEGER ? "bigint" : names[kind];
}
