/*-------------------------------------------------------------------------
 *
 * fuzz.c
 *	  Passes values that libFuzzer generates through the reader and the text input.
 *	  Values that these accept go through add, remove, expire, union and exclude.
 *
 * Whatever the input is, nothing may crash, errors must be those meant for users, and results
 * must be valid values that lost no item.
 *
 * An input has a header of INPUT_HEADER bytes, which are a number that chooses times and kinds,
 * and the length of the first value.  The bytes of two values follow.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <setjmp.h>
#include <sys/queue.h>

#include "access/detoast.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "common/int.h"

#include "compat.h"
#include "kernel/murmur3.h"
#include "kernel/probe.h"
#include "value/filter.h"
#include "value/growth.h"
#include "value/layout.h"
#include "value/union.h"
#include "value/window.h"

/*
 * Stand-ins for what the modules of src/ need from the server: memory, where each chunk has an
 * allocation of its own so that sanitizers see its bounds, and errors, which end a call.
 */

volatile sig_atomic_t InterruptPending = false;
MemoryContext CurrentMemoryContext = NULL;

/*
 * Memory, which is freed after each input.
 */

typedef struct Chunk
{
	LIST_ENTRY(Chunk) link;
	max_align_t bytes[];
} Chunk;

static LIST_HEAD(, Chunk) chunks = LIST_HEAD_INITIALIZER(chunks);

static Chunk *
chunk_of(void *bytes)
{
	return (Chunk *) ((char *) bytes - offsetof(Chunk, bytes));
}

static void *
adopt(Chunk *chunk)
{
	if (chunk == NULL)
		abort();
	LIST_INSERT_HEAD(&chunks, chunk, link);
	return chunk->bytes;
}

void *
palloc(Size size)
{
	return adopt(malloc(offsetof(Chunk, bytes) + size));
}

void *
palloc0(Size size)
{
	return memset(palloc(size), 0, size);
}

void *
palloc_extended(Size size, int flags)
{
	return flags & MCXT_ALLOC_ZERO ? palloc0(size) : palloc(size);
}

void *
MemoryContextAlloc(MemoryContext context, Size size)
{
	return palloc(size);
}

void *
MemoryContextAllocExtended(MemoryContext context, Size size, int flags)
{
	return palloc_extended(size, flags);
}

void *
repalloc(void *bytes, Size size)
{
	LIST_REMOVE(chunk_of(bytes), link);
	return adopt(realloc(chunk_of(bytes), offsetof(Chunk, bytes) + size));
}

void
pfree(void *bytes)
{
	LIST_REMOVE(chunk_of(bytes), link);
	free(chunk_of(bytes));
}

static void
free_all(void)
{
	while (!LIST_EMPTY(&chunks))
		pfree(LIST_FIRST(&chunks)->bytes);
}

/* Nothing is stored out of line here. */
struct varlena *
pg_detoast_datum_packed(struct varlena *datum)
{
	return datum;
}

/* No call has a VARIADIC array. */
bool
get_fn_expr_variadic(FmgrInfo *flinfo)
{
	return false;
}

/*
 * Errors.  try() returns whether a call ended without one.
 */

static jmp_buf on_error;
static int	error_code;

#define try(...) (setjmp(on_error) == 0 ? (__VA_ARGS__, true) : false)

bool
errstart(int elevel, const char *domain)
{
	error_code = ERRCODE_INTERNAL_ERROR;
	return true;
}

bool
errstart_cold(int elevel, const char *domain)
{
	return errstart(elevel, domain);
}

int
errcode(int sqlerrcode)
{
	return error_code = sqlerrcode;
}

/* Messages are formatted, so that sanitizers see wrong arguments, and then discarded. */
#define MESSAGE(name) \
	int \
	name(const char *format, ...) \
	{ \
		char		text[1024]; \
		va_list		arguments; \
\
		va_start(arguments, format); \
		vsnprintf(text, sizeof(text), format, arguments); \
		va_end(arguments); \
		return 0; \
	}

MESSAGE(errmsg)
MESSAGE(errmsg_internal)
MESSAGE(errdetail)
MESSAGE(errdetail_internal)
MESSAGE(errhint)

void
errfinish(const char *file, int line, const char *function)
{
	longjmp(on_error, 1);
}

#if PG_VERSION_NUM >= 160000
bool
errsave_start(struct Node *context, const char *domain)
{
	return errstart(ERROR, domain);
}

void
errsave_finish(struct Node *context, const char *file, int line, const char *function)
{
	errfinish(file, line, function);
}
#endif

#define INPUT_HEADER 6

/* The values of the corpus have integers up to ITEMS.  Adds have the first ADDED integers. */
#define ITEMS 64
#define ADDED 20
#define CANDIDATES 600			/* more than one batch */

/*
 * ADDED items may make a value at most GROWTH_TIMES as large, plus GROWTH_MORE bytes.  At rates
 * close to 1 a layer has 37 items per position, and a new layer for half as many items can have 30
 * positions per item.
 */
#define GROWTH_TIMES 1024
#define GROWTH_MORE 65536

extern Datum bloomexp_in(PG_FUNCTION_ARGS);
extern Datum bloomexp_exclude_packed(PG_FUNCTION_ARGS);

size_t		LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

#define expect(condition) \
	do { \
		if (!(condition)) \
		{ \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			abort(); \
		} \
	} while (0)

static uint32 choice;			/* the number in the header of the input */

/* Copy a value into memory of its own, so that sanitizers see reads beyond its end. */
static struct varlena *
make_varlena(const void *bytes, Size size)
{
	struct varlena *value = palloc(VARHDRSZ + size);

	SET_VARSIZE(value, VARHDRSZ + size);
	memcpy(VARDATA(value), bytes, size);
	return value;
}

static bool
same(const struct varlena *a, const struct varlena *b)
{
	return VARSIZE(a) == VARSIZE(b) && memcmp(a, b, VARSIZE(a)) == 0;
}

static uint64
hash_of(uint64 item)
{
	return bloomexp_murmur3_int64(item);
}

/*
 * The reader
 */

/* Return bytes as a value, or NULL if the reader refuses them. */
static struct varlena *
read_value(const uint8 *bytes, Size size)
{
	struct varlena *value = make_varlena(bytes, size);

	if (try(bloomexp_layout_check((uint8 *) VARDATA(value), size, NULL)))
		return value;
	expect(error_code == ERRCODE_INVALID_BINARY_REPRESENTATION ||
		   error_code == ERRCODE_FEATURE_NOT_SUPPORTED);
	return NULL;
}

/* Expect that the reader accepts a value that the modules made. */
static void
expect_value(struct varlena *value)
{
	expect(try(bloomexp_layout_check((uint8 *) VARDATA(value), VARSIZE(value) - VARHDRSZ, NULL)));
}

/* Expect that opening a value and forming it again changes nothing. */
static void
expect_fixed_point(struct varlena *value)
{
	BloomFilter filter;

	bloomexp_layout_open(&filter, value);
	expect(same(value, bloomexp_layout_form(&filter)));
}

/* Return the value of a text, or NULL if the input function refuses it. */
static struct varlena *
read_text(const char *text)
{
	LOCAL_FCINFO(fcinfo, 1);
	static Datum value;

	InitFunctionCallInfoData(*fcinfo, NULL, 1, InvalidOid, NULL, NULL);
	fcinfo->args[0].value = CStringGetDatum(text);
	fcinfo->args[0].isnull = false;
	if (try(value = bloomexp_in(fcinfo)))
		return (struct varlena *) DatumGetPointer(value);
	expect(error_code == ERRCODE_INVALID_TEXT_REPRESENTATION ||
		   error_code == ERRCODE_INVALID_BINARY_REPRESENTATION ||
		   error_code == ERRCODE_FEATURE_NOT_SUPPORTED);
	return NULL;
}

/* Expect that bytes written as text are the same value, or none. */
static void
expect_same_by_text(const uint8 *bytes, Size size, const struct varlena *value)
{
	char	   *text = palloc(2 * size + 1);
	struct varlena *read;

	for (Size i = 0; i < size; i++)
	{
		text[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
		text[2 * i + 1] = "0123456789ABCDEF"[bytes[i] & 0xf];
	}
	text[2 * size] = '\0';
	read = read_text(text);
	expect((read == NULL) == (value == NULL));
	expect(value == NULL || same(read, value));
}

/* Read bytes as a text. */
static void
try_as_text(const uint8 *bytes, Size size)
{
	char	   *text = memcpy(palloc(size + 1), bytes, size);
	struct varlena *value;

	text[size] = '\0';
	value = read_text(text);
	if (value != NULL)
		expect_value(value);
}

/*
 * Contents of values
 */

static void
expect_contains(struct varlena *value, uint64 nitems)
{
	BloomFilter filter;

	bloomexp_layout_open(&filter, value);
	for (uint64 item = 0; item < nitems; item++)
		expect(bloomexp_filter_contains(&filter, hash_of(item)));
}

/* Expect that `after` contains all items that `before` contains. */
static void
expect_kept(struct varlena *before, struct varlena *after)
{
	BloomFilter old;
	BloomFilter new;

	bloomexp_layout_open(&old, before);
	bloomexp_layout_open(&new, after);
	for (uint64 item = 0; item < ITEMS; item++)
		expect(!bloomexp_filter_contains(&old, hash_of(item)) ||
			   bloomexp_filter_contains(&new, hash_of(item)));
}

/* Expect that exclude drops exactly the candidates that the filter contains. */
static void
expect_excluded(struct varlena *value)
{
	LOCAL_FCINFO(fcinfo, 2);
	static Datum result;
	BloomFilter filter;
	uint64		candidates[CANDIDATES];
	uint64	   *survivors = palloc(sizeof(candidates));
	int			n = 0;

	bloomexp_layout_open(&filter, value);
	for (int i = 0; i < CANDIDATES; i++)
	{
		candidates[i] = i % 3 == 0 ? (uint64) i / 3
			: (uint64) i * UINT64_C(0x9E3779B97F4A7C15) * choice;
		if (!bloomexp_filter_contains(&filter, hash_of(candidates[i])))
			survivors[n++] = candidates[i];
	}
	InitFunctionCallInfoData(*fcinfo, NULL, 2, InvalidOid, NULL, NULL);
	fcinfo->args[0].value = PointerGetDatum(make_varlena(candidates, sizeof(candidates)));
	fcinfo->args[0].isnull = false;
	fcinfo->args[1].value = PointerGetDatum(value);
	fcinfo->args[1].isnull = false;
	if (!try(result = bloomexp_exclude_packed(fcinfo)))
		expect(error_code == ERRCODE_DATATYPE_MISMATCH &&
			   !bloomexp_filter_can_hold(&filter, BLOOM_KIND_INTEGER));
	else
		expect(same((struct varlena *) DatumGetPointer(result),
					make_varlena(survivors, n * sizeof(uint64))));
}

/*
 * Changes of values
 */

/* Return the value after a change, or NULL if the change exceeded a limit. */
static struct varlena *
changed(bool done, struct varlena *before, struct varlena *after)
{
	if (!done)
	{
		expect(error_code == ERRCODE_PROGRAM_LIMIT_EXCEEDED);
		return NULL;
	}
	if (after == NULL)
		return before;
	expect_value(after);
	return after;
}

/* Return the slice to which items are added: that of a layer, or any. */
static int64
near_slice(const BloomFilter *filter)
{
	if (filter->nlayers == 0)
		return (int64) choice - PG_INT32_MAX;
	return filter->layers[choice % filter->nlayers].slice;
}

/* Return a windowed value, expired up to a slice, or another value as it is. */
static struct varlena *
expire(struct varlena *value, int64 slice)
{
	static struct varlena *result;
	BloomFilter filter;
	int64		at;

	bloomexp_layout_open(&filter, value);
	if (!filter.windowed ||
		pg_mul_s64_overflow(slice, bloomexp_window_slice_length(filter.width, filter.slices),
			&at) ||
		pg_add_s64_overflow(at, filter.width, &at))
		return value;
	expect(try(result = bloomexp_window_expire(&filter, at)));
	return changed(true, value, result);
}

/* Return a windowed value without the layers before a slice, or another value as it is. */
static struct varlena *
since(struct varlena *value, int64 slice)
{
	BloomFilter filter;
	uint32		older;

	bloomexp_layout_open(&filter, value);
	older = bloomexp_growth_first_of_slice(&filter, slice);
	filter.layers += older;
	filter.nlayers -= older;
	return bloomexp_layout_form(&filter);
}

/*
 * Return whether items added to slice + 1 make `slice` leave the window.  The newest slice of the
 * filter may be so far ahead that it was not believed, and slice + 1 can confirm it.
 */
static bool
leaves_window(const BloomFilter *filter, int64 slice)
{
	int64		length;
	int64		start;

	if (!filter->windowed || filter->nlayers == 0 || slice == PG_INT64_MAX)
		return false;
	length = bloomexp_window_slice_length(filter->width, filter->slices);
	return !pg_mul_s64_overflow(filter->layers[filter->nlayers - 1].slice, length, &start) &&
		!pg_sub_s64_overflow(start, filter->width, &start) &&
		bloomexp_window_slice_of(start, length) == slice + 1;
}

static struct varlena *
add_to_window(BloomFilter *filter, BloomKind kind, int64 slice)
{
	BloomExposure *exposures = palloc(ADDED * sizeof(BloomExposure));

	for (int i = 0; i < ADDED; i++)
	{
		exposures[i].hash = hash_of(i);
		exposures[i].slice = slice;
		if (i % 4 == 3 && slice < PG_INT64_MAX)
			exposures[i].slice++;
	}
	return bloomexp_window_add(filter, kind, exposures, ADDED,
							   (choice % 2 == 0 ? BLOOMEXP_ADD_FINAL : 0) |
							   (choice % 3 > 0 ? BLOOMEXP_ADD_DROP_OLD : 0));
}

static struct varlena *
add_to_filter(BloomFilter *filter, BloomKind kind)
{
	uint64	   *hashes = palloc(ADDED * sizeof(uint64));

	for (int i = 0; i < ADDED; i++)
		hashes[i] = hash_of(i);
	return bloomexp_filter_add(filter, kind, hashes, ADDED);
}

/* Return the value with items 0 to ADDED - 1 added. */
static struct varlena *
add(struct varlena *value)
{
	static struct varlena *result;
	BloomFilter filter;
	BloomKind	kind;
	int64		slice;
	bool		done;

	bloomexp_layout_open(&filter, value);
	slice = near_slice(&filter);
	kind = filter.kind == BLOOM_KIND_NONE ? BLOOM_KIND_INTEGER : filter.kind;
	done = try(result = filter.windowed ? add_to_window(&filter, kind, slice)
		: add_to_filter(&filter, kind));
	result = changed(done, value, result);
	if (result == NULL)
		return value;
	bloomexp_layout_open(&filter, value);
	if (!leaves_window(&filter, slice))
	{
		expect_contains(result, ADDED);
		expect_contains(expire(result, slice), ADDED);
		expect_kept(since(value, slice), result);
	}
	else
		expect_kept(since(value, slice + 1), result);
	expect(VARSIZE(result) <= (Size) VARSIZE(value) * GROWTH_TIMES + GROWTH_MORE);
	return result;
}

/* Expect that removing what was added to a counting filter leaves what it contained before. */
static void
expect_removed(struct varlena *before, struct varlena *added)
{
	static struct varlena *result;
	BloomFilter filter;
	uint64		hashes[ADDED];

	bloomexp_layout_open(&filter, added);
	for (int i = 0; i < ADDED; i++)
		hashes[i] = hash_of(i);
	if (!filter.counting || before == added)
		return;
	expect(try(result = bloomexp_filter_remove(&filter, filter.kind, hashes, ADDED)));
	expect_kept(before, changed(true, added, result));
}

static struct varlena *
form_union(struct varlena *a, struct varlena *b)
{
	BloomFilter first;
	BloomFilter second;

	bloomexp_layout_open(&first, a);
	bloomexp_layout_open(&second, b);
	return bloomexp_union_form(&first, &second);
}

static void
unite(struct varlena *a, struct varlena *b)
{
	static struct varlena *result;

	if (!try(result = form_union(a, b)))
	{
		expect(error_code == ERRCODE_INVALID_PARAMETER_VALUE
			   || error_code == ERRCODE_DATATYPE_MISMATCH ||
			   error_code == ERRCODE_PROGRAM_LIMIT_EXCEEDED);
		return;
	}
	expect_value(result);
	expect_kept(a, result);
	expect_kept(b, result);
	expect(VARSIZE(result) <= VARSIZE(a) + VARSIZE(b));
	expect_excluded(result);
	add(result);
}

/*
 * Inputs
 */

typedef struct Input
{
	uint32		choice;
	const uint8 *values[2];
	Size		sizes[2];
} Input;

static bool
read_input(const uint8 *data, Size size, Input *input)
{
	uint16		first;

	if (size < INPUT_HEADER)
		return false;
	memcpy(&input->choice, data, sizeof(input->choice));
	memcpy(&first, data + sizeof(input->choice), sizeof(first));
	size -= INPUT_HEADER;
	input->values[0] = data + INPUT_HEADER;
	input->sizes[0] = Min(first, size);
	input->values[1] = input->values[0] + input->sizes[0];
	input->sizes[1] = size - input->sizes[0];
	return true;
}

/* Write an input and return its size.  Values that do not fit are cut. */
static Size
write_input(uint8 *data, Size max_size, const Input *input)
{
	uint8	   *copy = palloc(max_size);
	uint16		first = Min(Min(input->sizes[0], PG_UINT16_MAX), max_size - INPUT_HEADER);
	Size		second = Min(input->sizes[1], max_size - INPUT_HEADER - first);

	/* the values of the input may lie in `data` */
	memcpy(copy, &input->choice, sizeof(input->choice));
	memcpy(copy + sizeof(input->choice), &first, sizeof(first));
	memcpy(copy + INPUT_HEADER, input->values[0], first);
	memcpy(copy + INPUT_HEADER + first, input->values[1], second);
	memcpy(data, copy, INPUT_HEADER + first + second);
	free_all();
	return INPUT_HEADER + first + second;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Input		input;
	struct varlena *values[2];

	if (!read_input(data, size, &input))
		return 0;
	choice = input.choice;
	for (int i = 0; i < 2; i++)
	{
		values[i] = read_value(input.values[i], input.sizes[i]);
		try_as_text(input.values[i], input.sizes[i]);
		expect_same_by_text(input.values[i], input.sizes[i], values[i]);
		if (values[i] == NULL)
			continue;
		expect_fixed_point(values[i]);
		expect_excluded(values[i]);
		expect_removed(values[i], add(values[i]));
	}
	if (values[0] != NULL && values[1] != NULL)
		unite(values[0], values[1]);
	free_all();
	return 0;
}

/*
 * Set the header fields that depend on the bits, or nearly every mutant would be refused.  The
 * offsets are those of doc/internals/format.md.
 */
static void
repair(uint8 *value, Size size)
{
	Size		window = size > 1 && value[1] & 0x20 ? 8 : 0;
	uint16		nlayers;
	Size		header = 16 + 3 * window;
	Size		bits;

	if (size < header)
		return;
	memcpy(&nlayers, value + 2, sizeof(nlayers));
	bits = header + nlayers * (16 + window);
	for (; nlayers-- > 0 && bits < size; header += 16 + window)
	{
		BloomBits	layer = {.counting = (value[1] & 0x10) != 0, .bytes = value + bits};
		uint32		fields[4];	/* shape, capacity, items, bits set */

		memcpy(fields, value + header, sizeof(fields));
		layer.shape = bloomexp_sizing_shape(Max(fields[0] & 0x3ffffff, 1), Max(fields[0] >> 26, 1));
		bits += bloomexp_probe_bytes(layer.shape.words, layer.counting);
		if (bits > size)
			return;
		fields[3] = bloomexp_probe_count_set(&layer);
		fields[2] = Max(fields[2], (fields[3] + layer.shape.hashes - 1) / layer.shape.hashes);
		fields[1] = Max(fields[1], Max(fields[2], 1));
		memcpy(value + header, fields, sizeof(fields));
	}
}

/* Mutate one of the values, and repair most mutants. */
size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	Input		input;
	int			which = seed % 2;
	uint8	   *changed_value;

	if (!read_input(data, size, &input) || max_size < INPUT_HEADER)
		return LLVMFuzzerMutate(data, size, max_size);
	input.choice = seed / 32;
	changed_value = palloc(max_size);
	memcpy(changed_value, input.values[which], input.sizes[which]);
	input.sizes[which] = LLVMFuzzerMutate(changed_value, input.sizes[which],
		max_size - INPUT_HEADER);
	input.values[which] = changed_value;
	if (seed / 2 % 8 > 0)
		repair(changed_value, input.sizes[which]);
	if (seed / 16 % 8 == 0)
	{
		input.values[!which] = changed_value;
		input.sizes[!which] = input.sizes[which];
	}
	return write_input(data, max_size, &input);
}
