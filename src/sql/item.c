/*-------------------------------------------------------------------------
 *
 * item.c
 *	  Items: conversion of SQL values to 64-bit hashes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/uuid.h"

#include "compat.h"
#include "kernel/interrupt.h"
#include "kernel/simd.h"
#include "sql/item.h"

/* The size of the pieces in which items of variable length are copied, in bytes. */
#define COPY_PIECE 48

static const BloomItemType item_types[] = {
	{INT8OID, BLOOM_KIND_INTEGER, sizeof(int64), false},
	{INT4OID, BLOOM_KIND_INTEGER, sizeof(int32), false},
	{INT2OID, BLOOM_KIND_INTEGER, sizeof(int16), false},
	{TEXTOID, BLOOM_KIND_TEXT, -1, false},
	{VARCHAROID, BLOOM_KIND_TEXT, -1, false},
	{BPCHAROID, BLOOM_KIND_TEXT, -1, true},
	{UUIDOID, BLOOM_KIND_UUID, UUID_LEN, false},
	{BYTEAOID, BLOOM_KIND_BYTEA, -1, false},
};

/* Packed integers: 8 little-endian bytes each, not aligned. */
static const BloomItemType packed_type = {InvalidOid, BLOOM_KIND_INTEGER, sizeof(int64), false};

/*
 * Raise an error if texts of a collation cannot be items.
 *
 * Under a nondeterministic collation equal strings can have different bytes, so an item could be
 * shown again in another spelling.  An indeterminate collation is an error, as it is for
 * PostgreSQL's operator = for text.
 */
void
bloomexp_item_check_collation(Oid collation)
{
	if (!OidIsValid(collation))
		ereport(ERROR,
				(errcode(ERRCODE_INDETERMINATE_COLLATION),
				 errmsg("could not determine which collation to use for text items"),
				 errhint("Use the COLLATE clause to set the collation explicitly.")));
	if (collation != DEFAULT_COLLATION_OID &&
		!get_collation_isdeterministic(collation))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("text under nondeterministic collation \"%s\" cannot be in a filter",
						get_collation_name(collation)),
				 errdetail("Text items are compared byte by byte."),
				 errhint("Apply COLLATE \"C\" to the item.  If case must not matter, use lower(), "
						 "too.")));
}

static const BloomItemType *
find_type(Oid oid)
{
	for (int i = 0; i < (int) lengthof(item_types); i++)
	{
		if (item_types[i].oid == oid)
			return &item_types[i];
	}
	return NULL;
}

/*
 * Return the item type for an SQL type, or for a domain over one.  Raises an error if there is
 * none, or if it is text and the collation of the items is not deterministic.
 */
const BloomItemType *
bloomexp_item_type(Oid type, Oid collation)
{
	const BloomItemType *found = find_type(type);

	if (found == NULL)
		found = find_type(getBaseType(type));
	if (found == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("items of type %s cannot be in a filter", format_type_be(type)),
				 errdetail("Items are integers (smallint, integer, bigint), text (text, varchar, "
						   "char), uuid or bytea."),
				 errhint("Cast an item with ::bigint or ::text, an array with ::bigint[] or "
						 "::text[].")));
	if (found->kind == BLOOM_KIND_TEXT)
		bloomexp_item_check_collation(collation);
	return found;
}

/* Return the first half of the hash of some bytes. */
static inline uint64
hash_bytes64(const void *bytes, Size length)
{
	uint64_t	hash[2];

	bloomexp_murmur3(bytes, length, hash);
	return hash[0];
}

/* Return the hash of an item of variable length.  `size` includes its length word. */
static inline uint64
hash_varlena(const char *item, Size size, bool blank_padded)
{
	char	   *start = (char *) VARDATA_ANY(item);
	int			length = item + size - start;

	if (blank_padded)
		length = bpchartruelen(start, length);
	return hash_bytes64(start, length);
}

/* Return the hash of an item of kind text, uuid or bytea. */
uint64
bloomexp_item_hash_bytes(BloomKind kind, bool blank_padded, Datum item)
{
	char	   *value;
	uint64		hash;

	if (kind == BLOOM_KIND_UUID)
		return hash_bytes64(DatumGetPointer(item), UUID_LEN);

	value = (char *) PG_DETOAST_DATUM_PACKED(item);
	hash = hash_varlena(value, VARSIZE_ANY(value), blank_padded);
	if (value != DatumGetPointer(item))
		pfree(value);
	return hash;
}

/* Raise an error if an array of `what` has more than one dimension. */
void
bloomexp_item_check_dimensions(const ArrayType *array, const char *what)
{
	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("array of %s has %d dimensions", what, ARR_NDIM(array)),
				 errdetail("Only arrays of one dimension can be used.")));
}

/* Start reading the items of an array.  `collation` is that of its elements. */
void
bloomexp_item_begin(BloomItems *items, ArrayType *array, Oid collation)
{
	int			nelements = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));

	bloomexp_item_check_dimensions(array, "items");
	items->type = bloomexp_item_type(ARR_ELEMTYPE(array), collation);
	items->nitems = nelements;
	if (ARR_HASNULL(array))
	{
		for (int i = 0; i < nelements; i++)
		{
			if (i % BLOOMEXP_INTERRUPT_EVERY == 0)
				CHECK_FOR_INTERRUPTS();
			items->nitems -= bloomexp_item_is_null(array, i);
		}
	}
	items->left = items->nitems;
	items->next = ARR_DATA_PTR(array);
}

/* Start reading packed integers. */
void
bloomexp_item_begin_packed(BloomItems *items, bytea *packed)
{
	Size		size = VARSIZE_ANY_EXHDR(packed);

	if (size % sizeof(int64) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("length of packed items must be a multiple of 8 bytes, not %zu", size),
				 errdetail("Each item is an integer of 8 bytes, in little-endian byte order.")));
	items->type = &packed_type;
	items->nitems = items->left = (int) (size / sizeof(int64));
	items->next = VARDATA_ANY(packed);
}

/* Store n signed integers of a C type at `from` as 64-bit numbers at `to`. */
#define WIDEN_INTEGERS(ctype, from, n, to) \
	do \
	{ \
		for (int i_ = 0; i_ < (n); i_++) \
			(to)[i_] = (uint64) (int64) ((const ctype *) (from))[i_]; \
	} while (0)

/*
 * Find and hash the items of a batch, which are of variable length.
 *
 * An item can be found only once the length of the one before has been read.  Because finding and
 * hashing are one loop, the CPU hashes one item while it loads the length of the next.
 */
static pg_attribute_always_inline void
hash_varlenas(BloomItems *items, bool blank_padded)
{
	const char *next = items->first;

	for (int i = 0; i < items->n; i++)
	{
		Size		size = VARSIZE_ANY(next);

		items->varlenas[i] = next;
		items->hashes[i] = hash_varlena(next, size, blank_padded);
		next += INTALIGN(size);
	}
	items->varlenas[items->n] = next;
}

/* Read and hash the next batch, of at most max_items items.  Returns false at the end. */
bool
bloomexp_item_next(BloomItems *items, int max_items)
{
	const BloomItemType *type = items->type;

	CHECK_FOR_INTERRUPTS();
	items->n = Min(items->left, max_items);
	items->first = items->next;
	switch (type->length)
	{
		case sizeof(int64):
			if (type == &packed_type)
			{
				for (int i = 0; i < items->n; i++)
					items->hashes[i] = murmur3_read_word(items->first + i * sizeof(int64));
			}
			else
				WIDEN_INTEGERS(int64, items->first, items->n, items->hashes);
			break;
		case sizeof(int32):
			WIDEN_INTEGERS(int32, items->first, items->n, items->hashes);
			break;
		case sizeof(int16):
			WIDEN_INTEGERS(int16, items->first, items->n, items->hashes);
			break;
		case UUID_LEN:
			bloomexp_simd_hash_uuids((const uint8 *) items->first, items->n, items->hashes);
			break;
		default:				/* a constant argument saves a test per item */
			if (type->blank_padded)
				hash_varlenas(items, true);
			else
				hash_varlenas(items, false);
			break;
	}
	if (type->kind == BLOOM_KIND_INTEGER)
		bloomexp_simd_hash_int64s(items->hashes, items->n);

	items->left -= items->n;
	if (type->length > 0)
		items->next += (Size) items->n * type->length;
	else
		items->next = items->varlenas[items->n];
	return items->n > 0;
}

/* bloomexp_item_copy() for items of `length` bytes */
static inline int
copy_fixed(char **out, const BloomItems *items, const bool *omit, Size length)
{
	const char *item = items->first;
	char	   *next = *out;
	char	   *start = next;

	/* no branch that could be mispredicted: the next item overwrites an omitted one */
	for (int i = 0; i < items->n; i++, item += length)
	{
		memcpy(next, item, length);
		next += omit[i] ? 0 : length;
	}
	*out = next;
	return (next - start) / length;
}

/*
 * bloomexp_item_copy() for items of variable length, with their padding
 *
 * Most items are short, so they are copied in pieces of a constant length, which compile to a few
 * instructions instead of a call.  The last piece of an item may also copy bytes that follow it.
 * The next item overwrites these.  This cannot overrun the output: what is copied lies within the
 * input, and the write position is never ahead of the read position.
 */
static int
copy_varlenas(char **out, const BloomItems *items, const bool *omit)
{
	const char *end = items->varlenas[items->n];
	char	   *next = *out;
	uint16		picks[BLOOMEXP_BATCH];
	int			n = 0;

	for (int i = 0; i < items->n; i++)
	{
		picks[n] = i;
		n += !omit[i];
	}
	for (int i = 0; i < n; i++)
	{
		const char *item = items->varlenas[picks[i]];
		Size		size = items->varlenas[picks[i] + 1] - item;

		if (size + COPY_PIECE > (Size) (end - item))
			memcpy(next, item, size);
		else
		{
			for (Size done = 0; done < size; done += COPY_PIECE)
				memcpy(next + done, item + done, COPY_PIECE);
		}
		next += size;
	}
	*out = next;
	return n;
}

/*
 * Copy the items of the last batch for which omit[i] is false to *out, laid out as in an array.
 * Advances *out, and returns their number.  The output must have space for all items of the input.
 */
int
bloomexp_item_copy(char **out, const BloomItems *items, const bool *omit)
{
	/* a constant length makes each copy one instruction */
	switch (items->type->length)
	{
		case sizeof(int64):
			return copy_fixed(out, items, omit, sizeof(int64));
		case sizeof(int32):
			return copy_fixed(out, items, omit, sizeof(int32));
		case sizeof(int16):
			return copy_fixed(out, items, omit, sizeof(int16));
		case UUID_LEN:
			return copy_fixed(out, items, omit, UUID_LEN);
		default:
			return copy_varlenas(out, items, omit);
	}
}

/*
 * Return the hashes of all items of an array that are not NULL.  Sets *kind to their kind, and *n
 * to their number.
 */
uint64 *
bloomexp_item_hash_array(ArrayType *array, Oid collation, BloomKind *kind, int *n)
{
	BloomItems	items;
	uint64	   *hashes;

	bloomexp_item_begin(&items, array, collation);
	hashes = palloc_extended(Max(items.nitems, 1) * sizeof(uint64), MCXT_ALLOC_HUGE);
	*kind = items.type->kind;
	*n = 0;
	while (bloomexp_item_next(&items, BLOOMEXP_BATCH))
	{
		memcpy(hashes + *n, items.hashes, items.n * sizeof(uint64));
		*n += items.n;
	}
	return hashes;
}
