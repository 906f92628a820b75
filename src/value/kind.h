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

extern const char *bloomexp_kind_name(BloomKind kind);
extern const char *bloomexp_kind_type(BloomKind kind);

#endif							/* BLOOMEXP_KIND_H */
