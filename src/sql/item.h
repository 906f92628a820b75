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

#include "kernel/murmur3.h"
#include "kernel/probe.h"
#include "value/layout.h"

/* An SQL type whose values can be items, or none: that of packed integers. */
typedef struct BloomItemType
{
	Oid			oid;
	BloomKind	kind;
	int16		length;			/* as pg_type.typlen; says how values are read */
	bool		blank_padded;	/* blanks at the end are no part of a value */
} BloomItemType;

/* Whether an element of an array of one dimension is NULL. */
static inline bool
bloomexp_item_is_null(ArrayType *array, int element)
{
	return ARR_HASNULL(array) && att_isnull(element, ARR_NULLBITMAP(array));
}

/* The items of an array, or packed ones, read in batches. */
typedef struct BloomItems
{
	const BloomItemType *type;
	int			nitems;			/* that are not NULL */
	int			left;			/* not yet read */
	const char *next;			/* the next one: NULLs take no space */
	/* the batch that was read last: */
	int			n;
	const char *first;			/* they follow each other */
	const char *varlenas[BLOOMEXP_BATCH + 1];	/* of variable length: each of
												 * them, and their end */
	uint64		hashes[BLOOMEXP_BATCH];
} BloomItems;

extern void bloomexp_item_check_collation(Oid collation);
extern const BloomItemType *bloomexp_item_type(Oid type, Oid collation);
extern uint64 bloomexp_item_hash_bytes(BloomKind kind, bool blank_padded, Datum item);
extern void bloomexp_item_check_dimensions(const ArrayType *array, const char *what);
extern void bloomexp_item_begin(BloomItems *items, ArrayType *array, Oid collation);
extern void bloomexp_item_begin_packed(BloomItems *items, bytea *packed);
extern bool bloomexp_item_next(BloomItems *items, int max_items);
extern int	bloomexp_item_copy(char **out, const BloomItems *items, const bool *omit);
extern uint64 *bloomexp_item_hash_array(ArrayType *array, Oid collation,
										BloomKind *kind, int *n);

/* Return the hash of one item, not NULL. */
static inline uint64
bloomexp_item_hash(const BloomItemType *type, Datum item)
{
	switch (type->length)
	{
		case sizeof(int64):
			return bloomexp_murmur3_int64((uint64) DatumGetInt64(item));
		case sizeof(int32):
			return bloomexp_murmur3_int64((uint64) (int64) DatumGetInt32(item));
		case sizeof(int16):
			return bloomexp_murmur3_int64((uint64) (int64) DatumGetInt16(item));
		default:
			return bloomexp_item_hash_bytes(type->kind, type->blank_padded, item);
	}
}

#endif							/* BLOOMEXP_ITEM_H */
