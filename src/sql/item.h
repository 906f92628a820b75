/*-------------------------------------------------------------------------
 *
 * item.h
 *	  Items: values of several SQL types, and their hashes.
 *
 * Equal values of one kind are the same item, whatever their SQL types are: 7::smallint is
 * 7::bigint.
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

/* An SQL type whose values can be items.  Packed integers are of no SQL type: oid is InvalidOid. */
typedef struct BloomItemType
{
	Oid			oid;
	BloomKind	kind;
	int16		length;			/* pg_type.typlen, which decides how values are read */
	bool		blank_padded;	/* trailing blanks do not count */
} BloomItemType;

/* Return whether an element of an array of one dimension is NULL. */
static inline bool
bloomexp_item_is_null(ArrayType *array, int element)
{
	return ARR_HASNULL(array) && att_isnull(element, ARR_NULLBITMAP(array));
}

/* A reader of the items of an array, or of packed integers, in batches. */
typedef struct BloomItems
{
	const BloomItemType *type;
	int			nitems;			/* items that are not NULL */
	int			left;			/* items not yet read */
	const char *next;			/* the next item: nulls take no space in an array */
	/* the batch that was read last: */
	int			n;
	const char *first;			/* its first item, which the others follow */
	const char *varlenas[BLOOMEXP_BATCH + 1];	/* its items, if of variable length, and
												 * their end */
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

/* Return the hash of an item, which must not be NULL. */
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
