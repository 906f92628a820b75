/*-------------------------------------------------------------------------
 *
 * kind.h
 *	  What the items of a filter are.
 *
 * src/README.md lists what a new kind needs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_KIND_H
#define BLOOMEXP_KIND_H

/* The numbers are part of the format. */
typedef enum BloomKind
{
	BLOOM_KIND_NONE = 0,		/* nothing added yet */
	BLOOM_KIND_INTEGER = 1,
	BLOOM_KIND_TEXT = 2,
	BLOOM_KIND_UUID = 3,
	BLOOM_KIND_BYTEA = 4
} BloomKind;

#define BLOOM_KIND_LAST BLOOM_KIND_BYTEA

/* The name of a kind, as bloom_info() and messages have it. */
static inline const char *
bloomexp_kind_name(BloomKind kind)
{
	static const char *const names[] = {"none", "integer", "text", "uuid", "bytea"};

	return names[kind];
}

#endif							/* BLOOMEXP_KIND_H */
