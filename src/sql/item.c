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

#include "kernel/murmur3.h"
#include "kernel/simd.h"
#include "sql/item.h"
#include "value/compat.h"

/* Bytes of an item of variable length that are copied at a time. */
#define COPY_PIECE 48

static const BloomItemType item_types[] = {
	{INT8OID, BLOOM_KIND_INTEGER, sizeof(int64), TYPALIGN_DOUBLE},
	{INT4OID, BLOOM_KIND_INTEGER, sizeof(int32), TYPALIGN_INT},
	{INT2OID, BLOOM_KIND_INTEGER, sizeof(int16), TYPALIGN_SHORT},
	{TEXTOID, BLOOM_KIND_TEXT, -1, TYPALIGN_INT},
	{VARCHAROID, BLOOM_KIND_TEXT, -1, TYPALIGN_INT},
	{BPCHAROID, BLOOM_KIND_TEXT, -1, TYPALIGN_INT},
	{UUIDOID, BLOOM_KIND_UUID, UUID_LEN, TYPALIGN_CHAR},
	{BYTEAOID, BLOOM_KIND_BYTEA, -1, TYPALIGN_INT}
};

/* Integers of no SQL type: 8 little-endian bytes each, not aligned. */
static const BloomItemType packed_type = {
	InvalidOid, BLOOM_KIND_INTEGER, sizeof(int64), TYPALIGN_CHAR
};

/*
 * bloomexp_item_check_collation
 *		Raise an error if equal strings under `collation` can differ in bytes: an
 *		exposed item could pass as another spelling of itself.  Raise one for an
 *		indeterminate collation, too, as PostgreSQL's = does.
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
				 errhint("Add COLLATE \"C\" to the item, and fold it yourself, for example by lower().")));
}

/*
 * bloomexp_item_type
 *		Return the item type of an SQL type or a domain over it, or raise an error;
 *		`collation` is what applies to the items, if they are text.
 */
const BloomItemType *
bloomexp_item_type(Oid type, Oid collation)
{
	Oid			base = type;

	for (;;)
	{
		for (int i = 0; i < (int) lengthof(item_types); i++)
		{
			if (item_types[i].oid != base)
				continue;
			if (item_types[i].kind == BLOOM_KIND_TEXT)
				bloomexp_item_check_collation(collation);
			return &item_types[i];
		}
		if (base != type)
			break;
		base = getBaseType(type);
		if (base == type)
			break;
	}

	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("items of type %s cannot be in a filter", format_type_be(type)),
			 errdetail("Items are integers (smallint, integer, bigint), text (text, varchar, char), uuid or bytea."),
			 errhint("Cast an item with ::bigint or ::text, an array with ::bigint[] or ::text[].")));
	return NULL;				/* keep compiler quiet */
}

/* Return the first 64 bits of the hash of some bytes. */
static inline uint64
hash_bytes64(const void *bytes, Size length)
{
	uint64_t	hash[2];

	bloomexp_murmur3(bytes, length, hash);
	return hash[0];
}

/*
 * bloomexp_item_hash
 *		Return the hash of one text, which may be `blank_padded`, uuid or bytea; an
 *		integer needs no more than bloomexp_murmur3_int64().
 */
uint64
bloomexp_item_hash(BloomKind kind, bool blank_padded, Datum item)
{
	struct varlena *value;
	int			length;
	uint64		hash;

	if (kind == BLOOM_KIND_UUID)
		return hash_bytes64(DatumGetPointer(item), UUID_LEN);

	value = PG_DETOAST_DATUM_PACKED(item);
	length = VARSIZE_ANY_EXHDR(value);
	if (blank_padded)
		length = bpchartruelen(VARDATA_ANY(value), length);
	hash = hash_bytes64(VARDATA_ANY(value), length);
	if ((Pointer) value != DatumGetPointer(item))
		pfree(value);
	return hash;
}

/*
 * bloomexp_item_check_dimensions
 *		Raise an error if an array of `what` has more than one dimension.
 */
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
 * bloomexp_item_begin
 *		Start to read the items of an array; `collation` is what applies to its
 *		elements, if they are text.
 */
void
bloomexp_item_begin(BloomItems *items, ArrayType *array, Oid collation)
{
	int			nelements = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));

	bloomexp_item_check_dimensions(array, "items");
	items->element_type = ARR_ELEMTYPE(array);
	items->type = bloomexp_item_type(items->element_type, collation);
	items->nitems = nelements;
	if (ARR_HASNULL(array))
	{
		for (int i = 0; i < nelements; i++)
			items->nitems -= bloomexp_item_is_null(array, i);
	}
	items->left = items->nitems;
	items->batch = BLOOMEXP_BATCH;
	items->next = ARR_DATA_PTR(array);
}

/*
 * bloomexp_item_begin_packed
 *		Start to read packed integers, of 8 little-endian bytes each.
 */
void
bloomexp_item_begin_packed(BloomItems *items, bytea *packed)
{
	Size		size = VARSIZE_ANY_EXHDR(packed);

	if (size % sizeof(int64) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("length of packed items must be a multiple of 8 bytes, not %zu", size),
				 errdetail("Each item is an integer of 8 bytes, the lowest first.")));
	items->element_type = InvalidOid;
	items->type = &packed_type;
	items->nitems = items->left = (int) (size / sizeof(int64));
	items->batch = BLOOMEXP_BATCH;
	items->next = VARDATA_ANY(packed);
}

/* Widen the numbers of a batch into the array where their hashes go. */
#define READ_NUMBERS(ctype) \
	for (int i = 0; i < batch->n; i++) \
		batch->hashes[i] = (uint64) (int64) ((const ctype *) batch->first)[i]

/* The bytes of an item of an array; returns where the next one is. */
static inline const char *
read_varlena(const char *item, bool blank_padded, BloomBytes *bytes)
{
	Size		size = VARSIZE_ANY(item);
	char	   *start = (char *) VARDATA_ANY(item);

	bytes->start = (const uint8 *) start;
	bytes->length = item + size - start;
	if (blank_padded)
		bytes->length = bpchartruelen(start, bytes->length);
	return item + INTALIGN(size);
}

/*
 * Find the items of variable length of a batch, and hash them; those that are
 * `blank_padded` without their trailing blanks.
 *
 * One loop does both: finding an item waits for the length of the one before, and
 * the CPU hashes meanwhile.
 */
static inline void
hash_varlenas(BloomBatch *batch, bool blank_padded)
{
	const char *next = batch->first;

	for (int i = 0; i < batch->n; i++)
	{
		BloomBytes	item;

		batch->varlenas[i] = next;
		next = read_varlena(next, blank_padded, &item);
		batch->hashes[i] = hash_bytes64(item.start, item.length);
	}
	batch->varlenas[batch->n] = next;
}

/* Hash the items of a batch. */
static void
hash_batch(BloomBatch *batch)
{
	int			n = batch->n;

	switch (batch->type->oid)
	{
		case InvalidOid:		/* packed */
			for (int i = 0; i < n; i++)
				batch->hashes[i] = murmur3_read_word(batch->first + i * sizeof(int64));
			break;
		case INT8OID:
			READ_NUMBERS(int64);
			break;
		case INT4OID:
			READ_NUMBERS(int32);
			break;
		case INT2OID:
			READ_NUMBERS(int16);
			break;
		case UUIDOID:
			bloomexp_simd_hash_uuids((const uint8 *) batch->first, n, batch->hashes);
			break;
		case BPCHAROID:
			hash_varlenas(batch, true);
			break;
		default:				/* text, varchar, bytea */
			hash_varlenas(batch, false);
			break;
	}
	if (batch->type->kind == BLOOM_KIND_INTEGER)
		bloomexp_simd_hash_int64s(batch->hashes, n);
}

/*
 * bloomexp_item_next
 *		Read the next items into `batch`, with their hashes; false at the end.
 */
bool
bloomexp_item_next(BloomItems *items, BloomBatch *batch)
{
	int			length = items->type->length;

	CHECK_FOR_INTERRUPTS();
	batch->type = items->type;
	batch->n = Min(items->left, items->batch);
	batch->first = items->next;
	hash_batch(batch);
	items->left -= batch->n;
	items->next = length > 0 ? items->next + (Size) batch->n * length : batch->varlenas[batch->n];
	return batch->n > 0;
}

/*
 * bloomexp_item_bytes
 *		Return the bytes by which item i of a batch differs from others of its type.
 */
BloomBytes
bloomexp_item_bytes(const BloomBatch *batch, int i)
{
	Size		length = batch->type->length;
	BloomBytes	bytes;

	if (batch->type->length < 0)
		read_varlena(batch->varlenas[i], batch->type->oid == BPCHAROID, &bytes);
	else
		bytes = (BloomBytes) {.start = (const uint8 *) batch->first + i * length, .length = length};
	return bytes;
}

/*
 * Copy the items of a batch, of `length` bytes each, except those to omit; returns
 * the end of `out`.
 */
static inline char *
copy_fixed(char *out, const BloomBatch *batch, const bool *omit, Size length)
{
	const char *item = batch->first;

	/* an item to omit is overwritten by the next one: without a branch to mispredict */
	for (int i = 0; i < batch->n; i++, item += length)
	{
		memcpy(out, item, length);
		out += omit[i] ? 0 : length;
	}
	return out;
}

/*
 * Copy the items of a batch that are of variable length, with what pads them, except
 * those to omit; returns the end of `out`, and adds their number to *copied.
 *
 * Most are short, so they are copied in pieces of a constant length, which are
 * instructions and not calls.  The last piece copies what follows the item, too,
 * and the next item overwrites that: no item is nearer to the end of its array
 * there than here.
 */
static char *
copy_varlenas(char *out, const BloomBatch *batch, const bool *omit, int *copied)
{
	const char *end = batch->varlenas[batch->n];
	uint16		picks[BLOOMEXP_BATCH];
	int			n = 0;

	for (int i = 0; i < batch->n; i++)
	{
		picks[n] = i;
		n += !omit[i];
	}
	for (int i = 0; i < n; i++)
	{
		const char *item = batch->varlenas[picks[i]];
		Size		size = batch->varlenas[picks[i] + 1] - item;

		if (size + COPY_PIECE > (Size) (end - item))
			memcpy(out, item, size);
		else
		{
			for (Size done = 0; done < size; done += COPY_PIECE)
				memcpy(out + done, item + done, COPY_PIECE);
		}
		out += size;
	}
	*copied += n;
	return out;
}

/*
 * bloomexp_item_copy
 *		Copy the items of a batch, except those to omit, to `out`, as they follow each
 *		other in an array; returns where they end, and adds their number to *copied.
 *		`out` must have space for all items of their array.
 *
 * A constant length makes each copy one instruction.
 */
char *
bloomexp_item_copy(char *out, const BloomBatch *batch, const bool *omit, int *copied)
{
	char	   *end;

	switch (batch->type->length)
	{
		case sizeof(int64):
			end = copy_fixed(out, batch, omit, sizeof(int64));
			break;
		case sizeof(int32):
			end = copy_fixed(out, batch, omit, sizeof(int32));
			break;
		case sizeof(int16):
			end = copy_fixed(out, batch, omit, sizeof(int16));
			break;
		case UUID_LEN:
			end = copy_fixed(out, batch, omit, UUID_LEN);
			break;
		default:
			return copy_varlenas(out, batch, omit, copied);
	}
	*copied += (int) ((end - out) / batch->type->length);
	return end;
}

/*
 * bloomexp_item_hash_array
 *		Return the hashes of all items of an array that are not NULL; *n receives
 *		their number, *kind their kind.
 */
uint64 *
bloomexp_item_hash_array(ArrayType *array, Oid collation, BloomKind *kind, int *n)
{
	BloomItems	items;
	BloomBatch	batch;
	uint64	   *hashes;

	bloomexp_item_begin(&items, array, collation);
	hashes = palloc_extended(Max(items.nitems, 1) * sizeof(uint64), MCXT_ALLOC_HUGE);
	*kind = items.type->kind;
	*n = 0;
	while (bloomexp_item_next(&items, &batch))
	{
		memcpy(hashes + *n, batch.hashes, batch.n * sizeof(uint64));
		*n += batch.n;
	}
	return hashes;
}
