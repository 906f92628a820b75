/*-------------------------------------------------------------------------
 *
 * item.h
 *	  What can be an item, and its hash.
 *
 * There are four kinds.  Equal values of one kind are one item, whatever SQL
 * type they came in: 7::smallint is 7::bigint.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_ITEM_H
#define BLOOMEXP_ITEM_H

#include "access/tupmacs.h"
#include "utils/array.h"

#include "kernel/bits.h"
#include "value/kind.h"

/* An SQL type whose values can be items. */
typedef struct BloomItemType
{
	Oid			oid;
	BloomKind	kind;
	int16		length;			/* as pg_type.typlen */
	char		align;			/* as pg_type.typalign */
} BloomItemType;

/* Whether an element of an array of one dimension is NULL. */
static inline bool
bloomexp_item_is_null(ArrayType *array, int element)
{
	return ARR_HASNULL(array) && att_isnull(element, ARR_NULLBITMAP(array));
}

/* The bytes of an item. */
typedef struct BloomBytes
{
	const uint8 *start;
	Size		length;
} BloomBytes;

/* The items of an array, or packed ones, read in batches. */
typedef struct BloomItems
{
	const BloomItemType *type;
	Oid			element_type;	/* of the array: the type, or a domain over it;
								 * of packed integers none */
	int			nitems;			/* that are not NULL */
	int			left;			/* not yet read */
	int			batch;			/* the most to read at a time */
	const char *next;			/* the next one: NULLs take no space */
} BloomItems;

/* Some items where they stand, and their hashes. */
typedef struct BloomBatch
{
	const BloomItemType *type;
	int			n;
	const char *first;			/* they follow each other */
	const char *varlenas[BLOOMEXP_BATCH + 1];	/* of variable length: each of
												 * them, and their end */
	uint64		hashes[BLOOMEXP_BATCH];
} BloomBatch;

extern void bloomexp_item_check_collation(Oid collation);
extern const BloomItemType *bloomexp_item_type(Oid type, Oid collation);
extern uint64 bloomexp_item_hash(BloomKind kind, bool blank_padded, Datum item);
extern void bloomexp_item_check_dimensions(const ArrayType *array, const char *what);
extern void bloomexp_item_begin(BloomItems *items, ArrayType *array, Oid collation);
extern void bloomexp_item_begin_packed(BloomItems *items, bytea *packed);
extern bool bloomexp_item_next(BloomItems *items, BloomBatch *batch);
extern BloomBytes bloomexp_item_bytes(const BloomBatch *batch, int i);
extern char *bloomexp_item_copy(char *out, const BloomBatch *batch, const bool *omit, int *copied);
extern uint64 *bloomexp_item_hash_array(ArrayType *array, Oid collation,
										BloomKind *kind, int *n);

#endif							/* BLOOMEXP_ITEM_H */
