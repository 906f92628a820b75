/*-------------------------------------------------------------------------
 *
 * item.c
 *	  From SQL values to 64-bit hashes.
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
#include "kernel/simd.h"
#include "sql/item.h"

/* Bytes of an item of variable length that are copied at a time. */
#define COPY_PIECE 48

static const BloomItemType item_types[] = {
	{INT8OID, BLOOM_KIND_INTEGER, sizeof(int64), false},
	{INT4OID, BLOOM_KIND_INTEGER, sizeof(int32), false},
	{INT2OID, BLOOM_KIND_INTEGER, sizeof(int16), false},
	{TEXTOID, BLOOM_KIND_TEXT, -1, false},
	{VARCHAROID, BLOOM_KIND_TEXT, -1, false},
	{BPCHAROID, BLOOM_KIND_TEXT, -1, true},
	{UUIDOID, BLOOM_KIND_UUID, UUID_LEN, false},
	{BYTEAOID, BLOOM_KIND_BYTEA, -1, false}
};

/* Integers of no SQL type: 8 little-endian bytes each, not aligned. */
static const BloomItemType packed_type = {InvalidOid, BLOOM_KIND_INTEGER, sizeof(int64), false};

/*
 * Raise an error if equal strings under `collation` can differ in bytes: an exposed item
 * could pass as another spelling of itself.  Raise one for an indeterminate collation, too,
 * as PostgreSQL's = does.
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
				(errcode(ERRCODE_INDETERMINATE_COLLATION),
				 errmsg("text under nondeterministic collation \"%s\" cannot be in a filter",
						get_collation_name(collation)),
				 errdetail("Text items are compared byte by byte."),
				 errhint("Add COLLATE \"C\" to the item, and fold it yourself, for example by "
						 "lower().")));
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
 * Return the item type of an SQL type or a domain over it, or raise an error; `collation` is
 * what applies to the items, if they are text.
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

/* Return the first 64 bits of the hash of some bytes. */
static inline uint64
hash_bytes64(const void *bytes, Size length)
{
	uint64_t	hash[2];

	bloomexp_murmur3(bytes, length, hash);
	return hash[0];
}

/* Return the hash of an item of variable length, of `size` bytes with its length word. */
static inline uint64
hash_varlena(const char *item, Size size, bool blank_padded)
{
	char	   *start = (char *) VARDATA_ANY(item);
	int			length = item + size - start;

	if (blank_padded)
		length = bpchartruelen(start, length);
	return hash_bytes64(start, length);
}

/* Return the hash of one uuid, bytea or text, which may be `blank_padded`. */
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

/*
 * Start to read the items of an array; `collation` is what applies to its elements, if they
 * are text.
 */
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

/* Start to read packed integers, of 8 little-endian bytes each. */
void
bloomexp_item_begin_packed(BloomItems *items, bytea *packed)
{
	Size		size = VARSIZE_ANY_EXHDR(packed);

	if (size % sizeof(int64) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("length of packed items must be a multiple of 8 bytes, not %zu", size),
				 errdetail("Each item is an integer of 8 bytes, the lowest first.")));
	items->type = &packed_type;
	items->nitems = items->left = (int) (size / sizeof(int64));
	items->next = VARDATA_ANY(packed);
}

/* Widen the numbers of a batch into the array where their hashes go. */
#define READ_NUMBERS(ctype) \
	for (int i = 0; i < items->n; i++) \
		items->hashes[i] = (uint64) (int64) ((const ctype *) items->first)[i]

/*
 * Find the items of variable length of a batch, and hash them.
 *
 * One loop does both: finding an item waits for the length of the one before, and
 * the CPU hashes meanwhile.
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

/* Read and hash the next batch, of max_items items if there are so many; false at the end. */
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
				READ_NUMBERS(int64);
			break;
		case sizeof(int32):
			READ_NUMBERS(int32);
			break;
		case sizeof(int16):
			READ_NUMBERS(int16);
			break;
		case UUID_LEN:
			bloomexp_simd_hash_uuids((const uint8 *) items->first, items->n, items->hashes);
			break;
		default:				/* a constant saves a test per item */
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

/* Copy the items of a batch, of `length` bytes each, as bloomexp_item_copy() does. */
static inline int
copy_fixed(char **out, const BloomItems *items, const bool *omit, Size length)
{
	const char *item = items->first;
	char	   *next = *out;
	char	   *start = next;

	/* an item to omit is overwritten by the next one: without a branch to mispredict */
	for (int i = 0; i < items->n; i++, item += length)
	{
		memcpy(next, item, length);
		next += omit[i] ? 0 : length;
	}
	*out = next;
	return (next - start) / length;
}

/*
 * Copy the items of a batch that are of variable length, with what pads them, as
 * bloomexp_item_copy() does.
 *
 * Most are short, so they are copied in pieces of a constant length, which are
 * instructions and not calls.  The last piece copies what follows the item, too,
 * and the next item overwrites that: no item is nearer to the end of its array
 * there than here.
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
 * Copy the items of a batch, except those to omit, to *out, as they follow each other in an
 * array; moves *out behind them, and returns their number.  There must be space for all
 * items of their array.
 *
 * A constant length makes each copy one instruction.
 */
int
bloomexp_item_copy(char **out, const BloomItems *items, const bool *omit)
{
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
 * Return the hashes of all items of an array that are not NULL; *n receives their number,
 * *kind their kind.
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
