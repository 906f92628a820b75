/*-------------------------------------------------------------------------
 *
 * kind.h
 *	  What the items of a filter are.
 *
 * A new kind needs: a number here and a name in kind.c, its SQL types in item.c,
 * a line of BLOOMEXP_FUNCTION_PER_KIND in arguments.h, its name in the kinds of the
 * Makefile, from which the install script makes what takes one item, and its
 * canonical bytes in doc/internals/format.md.
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

extern const char *bloomexp_kind_name(BloomKind kind);
extern const char *bloomexp_kind_type(BloomKind kind);

#endif							/* BLOOMEXP_KIND_H */
