/*-------------------------------------------------------------------------
 *
 * layout.c
 *	  Conversion between the bytes of a value and the BloomFilter that other
 *	  modules work with.
 *
 * There are two levels of checks.  read_header() and read_layers() check that the headers are
 * sane and that every part lies within the value.  They run at every use, so that not even a
 * damaged page makes a kernel read outside of a value.  bloomexp_layout_check() also compares
 * the headers with the bits.  It runs wherever bytes come from outside.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bswap.h"

#include "compat.h"
#include "kernel/interrupt.h"
#include "kernel/probe.h"
#include "kernel/sizing.h"
#include "value/layout.h"

#define FORMAT_VERSION 1

#define HEADER_SIZE 16
#define WINDOW_HEADER_SIZE 24
#define LAYER_HEADER_SIZE 16
#define SLICE_HEADER_SIZE 8

#define KIND_MASK 0x0f
#define FLAG_COUNTING 0x10
#define FLAG_WINDOWED 0x20
#define FLAGS_RESERVED 0xc0

/* The most items per position that a header may claim.  At rates close to 1 a layer has 37. */
#define MAX_ITEMS_PER_POSITION 64

#define WORDS_BITS 26			/* low bits of a stored shape; the others are hashes */

/* Stored numbers are little-endian on every machine, and not aligned. */
#ifdef WORDS_BIGENDIAN
#define little_endian(bits, number) pg_bswap##bits(number)
#else
#define little_endian(bits, number) (number)
#endif

#define NUMBER_ACCESS(bits) \
	static inline uint##bits get_uint##bits(const uint8 *bytes) \
	{ \
		uint##bits	number; \
\
		memcpy(&number, bytes, sizeof(number)); \
		return little_endian(bits, number); \
	} \
	static inline void put_uint##bits(uint8 *bytes, uint##bits number) \
	{ \
		number = little_endian(bits, number); \
		memcpy(bytes, &number, sizeof(number)); \
	}

NUMBER_ACCESS(16)
NUMBER_ACCESS(32)
NUMBER_ACCESS(64)

static Size
header_size(bool windowed)
{
	return HEADER_SIZE + (windowed ? WINDOW_HEADER_SIZE : 0);
}

static Size
layer_header_size(bool windowed)
{
	return LAYER_HEADER_SIZE + (windowed ? SLICE_HEADER_SIZE : 0);
}

/* Return the size of all headers of a filter, in bytes. */
static Size
headers_size(const BloomFilter *filter)
{
	return header_size(filter->windowed) +
		filter->nlayers * layer_header_size(filter->windowed);
}

/* Return the most words that the only layer of a value of `size` bytes can have. */
uint32
bloomexp_layout_max_words(uint64 size, bool counting)
{
	uint64		headers = VARHDRSZ + HEADER_SIZE + LAYER_HEADER_SIZE;

	return size < headers ? 0 : (size - headers) / bloomexp_probe_bytes(1, counting);
}

/* Return the size of a filter as a value, in bytes with the length word. */
uint64
bloomexp_layout_size(const BloomFilter *filter)
{
	uint64		size = VARHDRSZ + headers_size(filter);

	for (uint32 i = 0; i < filter->nlayers; i++)
		size += bloomexp_layout_layer_size(&filter->layers[i]);
	return size;
}

/*
 * Set *problem to a message, and evaluate to false.  Functions that read return false if bytes are
 * not valid, and their callers raise the error.
 */
#define BAD_BYTES(problem, ...) (*(problem) = psprintf(__VA_ARGS__), false)

/*
 * Return whether this release knows the format version of a value.  If not, that is reported to
 * escontext, or raised as an error if escontext is NULL.
 */
static bool
check_version(const uint8 *data, Size available, Node *escontext)
{
	if (available > 0 && data[0] > FORMAT_VERSION)
		ereturn(escontext, false,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("format version %d of type %s is not supported", data[0], "bloom"),
				 errdetail("This release of bloomexp knows format version %d.", FORMAT_VERSION),
				 errhint("Install the release of bloomexp that wrote the value, or a later one.")));
	return true;
}

/* Read the header of a value, of which only the first `available` bytes have been read. */
static bool
read_header(BloomFilter *filter, const uint8 *data, Size available, char **problem)
{
	uint64		image;

	if (available < 1)
		return BAD_BYTES(problem, "The value is empty.");
	if (data[0] != FORMAT_VERSION)
		return BAD_BYTES(problem, "There is no format version %d.", data[0]);
	if (available < HEADER_SIZE)
		return BAD_BYTES(problem, "The value ends within its header.");

	filter->kind = data[1] & KIND_MASK;
	filter->counting = (data[1] & FLAG_COUNTING) != 0;
	filter->windowed = (data[1] & FLAG_WINDOWED) != 0;
	filter->nlayers = get_uint16(data + 2);
	image = get_uint64(data + 8);
	memcpy(&filter->fpr, &image, sizeof(image));

	if (filter->kind > BLOOM_KIND_LAST)
		return BAD_BYTES(problem, "There is no kind of items number %d.", filter->kind);
	if (data[1] & FLAGS_RESERVED)
		return BAD_BYTES(problem, "A reserved flag is set.");
	if (get_uint32(data + 4) != 0)
		return BAD_BYTES(problem, "A reserved field is not 0.");
	if (filter->counting && filter->windowed)
		return BAD_BYTES(problem, "A filter cannot be both counting and windowed.");
	if (!(filter->fpr >= BLOOMEXP_MIN_FPR && filter->fpr < 1.0))	/* NaN too */
		return BAD_BYTES(problem, "The false positive rate is not between %g and 1.",
						 BLOOMEXP_MIN_FPR);
	if (filter->nlayers == 0 && !filter->windowed)
		return BAD_BYTES(problem, "There is no layer.");
	if (filter->nlayers > BLOOMEXP_MAX_LAYERS)
		return BAD_BYTES(problem, "There are %u layers; the limit is %d.",
						 filter->nlayers, BLOOMEXP_MAX_LAYERS);
	if (filter->nlayers > 1 && filter->counting)
		return BAD_BYTES(problem, "A counting filter has more than one layer.");
	if (!filter->windowed)
		return true;

	if (available < HEADER_SIZE + WINDOW_HEADER_SIZE)
		return BAD_BYTES(problem, "The value ends within its header.");
	filter->width = (int64) get_uint64(data + 16);
	filter->expired_before = (int64) get_uint64(data + 24);
	filter->slices = get_uint32(data + 32);
	if (filter->width <= 0)
		return BAD_BYTES(problem, "The width of the window is not positive.");
	if (filter->slices == 0 || filter->slices > BLOOMEXP_MAX_SLICES)
		return BAD_BYTES(problem, "The window does not have between 1 and %d slices.",
						 BLOOMEXP_MAX_SLICES);
	if (get_uint32(data + 36) != 0)
		return BAD_BYTES(problem, "A reserved field is not 0.");
	return true;
}

/* Read the header of one layer.  `number` counts layers from 1, for messages. */
static bool
read_layer(BloomLayer *layer, const BloomFilter *filter, uint32 number,
		   const uint8 *header, char **problem)
{
	uint32		shape = get_uint32(header);
	uint32		words = shape & ((UINT32_C(1) << WORDS_BITS) - 1);
	uint32		hashes = shape >> WORDS_BITS;

	if (words == 0 || hashes == 0)
		return BAD_BYTES(problem, "Layer %u has no bits or no hashes.", number);

	layer->bits.shape = bloomexp_sizing_shape(words, hashes);
	layer->bits.counting = filter->counting;
	layer->bits.bytes = NULL;
	layer->capacity = get_uint32(header + 4);
	layer->items = get_uint32(header + 8);
	layer->bits_set = get_uint32(header + 12);
	layer->slice = filter->windowed ? (int64) get_uint64(header + 16) : 0;

	if (words % layer->bits.shape.blocks != 0)
		return BAD_BYTES(problem, "Layer %u cannot be cut into equal blocks.", number);
	if (layer->capacity == 0)
		return BAD_BYTES(problem, "Layer %u has no capacity.", number);
	if (layer->capacity > MAX_ITEMS_PER_POSITION * bloomexp_sizing_bits(&layer->bits.shape))
		return BAD_BYTES(problem, "Layer %u has a capacity that its bits cannot hold.", number);
	if (layer->items > layer->capacity)
		return BAD_BYTES(problem, "Layer %u holds more items than its capacity.", number);
	if (filter->kind == BLOOM_KIND_NONE && layer->items > 0)
		return BAD_BYTES(problem, "Layer %u holds items of no kind.", number);
	return true;
}

/*
 * Read the headers of the layers, and check that the headers and the bits that they announce make
 * exactly `size` bytes.  All headers must have been read.  The layers do not point at their bits
 * yet.
 */
static bool
read_layers(BloomFilter *filter, const uint8 *data, Size size, char **problem)
{
	const uint8 *header = data + header_size(filter->windowed);
	uint64		expected = headers_size(filter);

	filter->layers = filter->inline_layers;
	if (filter->nlayers > lengthof(filter->inline_layers))
		filter->layers = palloc(filter->nlayers * sizeof(BloomLayer));
	for (uint32 i = 0; i < filter->nlayers; i++)
	{
		if (!read_layer(&filter->layers[i], filter, i + 1, header, problem))
			return false;
		if (i > 0 && filter->layers[i].slice < filter->layers[i - 1].slice)
			return BAD_BYTES(problem, "Layer %u is of an earlier slice than the one before.",
							 i + 1);
		expected += bloomexp_layout_layer_size(&filter->layers[i]);
		header += layer_header_size(filter->windowed);
	}
	if (size != expected)
		return BAD_BYTES(problem, "The headers announce %llu bytes, but there are %llu.",
						 (unsigned long long) expected, (unsigned long long) size);
	return true;
}

/* Point the layers of a filter at their bits in a value. */
static void
point_at_bits(BloomFilter *filter, uint8 *data)
{
	uint8	   *next = data + headers_size(filter);

	for (uint32 i = 0; i < filter->nlayers; i++)
	{
		filter->layers[i].bits.bytes = next;
		next += bloomexp_layout_layer_size(&filter->layers[i]);
	}
}

/* Read a whole value: the headers, and where the bits of the layers are. */
static bool
read_value(BloomFilter *filter, uint8 *data, Size size, char **problem)
{
	if (!read_header(filter, data, size, problem))
		return false;
	if (headers_size(filter) > size)
		return BAD_BYTES(problem, "The value ends within the headers of its layers.");
	if (!read_layers(filter, data, size, problem))
		return false;
	point_at_bits(filter, data);
	return true;
}

/* Raise an error about a stored value: it was checked when it came in, so it was damaged later. */
void
bloomexp_layout_raise_damage(const char *problem)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("stored value of type %s is damaged", "bloom"),
			 errdetail_internal("%s", problem)));
}

/*
 * Open the headers of a value of `size` bytes, of which only the first `available` have been read.
 * Returns false if the headers are longer than these.
 */
bool
bloomexp_layout_open_headers(BloomFilter *filter, const uint8 *data, Size available, Size size)
{
	char	   *problem;

	check_version(data, available, NULL);
	if (!read_header(filter, data, available, &problem))
		bloomexp_layout_raise_damage(problem);
	if (headers_size(filter) > available)
		return false;
	if (!read_layers(filter, data, size, &problem))
		bloomexp_layout_raise_damage(problem);
	return true;
}

/* Open a detoasted value, which may have a short varlena header. */
void
bloomexp_layout_open(BloomFilter *filter, struct varlena *value)
{
	uint8	   *data = (uint8 *) VARDATA_ANY(value);
	Size		size = VARSIZE_ANY_EXHDR(value);
	char	   *problem;

	check_version(data, size, NULL);
	if (!read_value(filter, data, size, &problem))
		bloomexp_layout_raise_damage(problem);
}

/*
 * Return whether the bits of a layer can hold the items that it counts, in a filter of this target
 * rate.
 *
 * bloom_agg() also counts items that set no new bit, so a count up to the layer's design size is
 * always credible.
 */
bool
bloomexp_layout_is_credible(const BloomLayer *layer, double fpr)
{
	const BloomShape *shape = &layer->bits.shape;

	return layer->items <= Max(bloomexp_sizing_most_items(shape, layer->bits_set),
							   bloomexp_sizing_textbook_items(shape, fpr));
}

/* Return whether bytes of a known version are a valid value, whose headers agree with its bits. */
static bool
check_value(const uint8 *data, Size size, char **problem)
{
	BloomFilter filter;

	if (!read_value(&filter, unconstify(uint8 *, data), size, problem))
		return false;
	for (uint32 i = 0; i < filter.nlayers; i++)
	{
		const BloomLayer *layer = &filter.layers[i];
		const BloomShape *shape = &layer->bits.shape;

		if (layer->bits_set != bloomexp_layout_count_set(layer))
			return BAD_BYTES(problem, "Layer %u does not have as many bits set as its header says.",
							 i + 1);
		if (filter.counting)
			continue;			/* a saturated counter stays set when its items are removed */
		/*
		 * Refuse more bits than the items can set, no bits in spite of items, and too few bits for
		 * the items.  The readers in clients/ do the same.
		 */
		if (layer->bits_set > (uint64) layer->items * shape->hashes ||
			(layer->bits_set == 0 && layer->items > 0) ||
			!bloomexp_layout_is_credible(layer, filter.fpr))
			return BAD_BYTES(problem,
							 "Layer %u has a number of bits set that its items cannot explain.",
							 i + 1);
	}
	return true;
}

/*
 * Return whether `size` bytes are a valid value, down to the last bit.  If not, the problem is
 * reported to escontext, or raised as an error if escontext is NULL.
 */
bool
bloomexp_layout_check(const uint8 *data, Size size, Node *escontext)
{
	char	   *problem;

	if (size > BLOOMEXP_MAX_SIZE - VARHDRSZ)
		ereturn(escontext, false,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("value of type %s is too large", "bloom"),
				 errdetail("It has %zu bytes; the limit is %zu.",
						   size, BLOOMEXP_MAX_SIZE - VARHDRSZ)));
	if (!check_version(data, size, escontext))
		return false;
	if (!check_value(data, size, &problem))
		ereturn(escontext, false,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid bytes for type %s", "bloom"),
				 errdetail_internal("%s", problem)));
	return true;
}

/* Write the headers of a filter into its value, which must have been made for as many layers. */
void
bloomexp_layout_write_headers(const BloomFilter *filter, struct varlena *value)
{
	uint8	   *data = (uint8 *) VARDATA(value);
	uint8	   *header = data + header_size(filter->windowed);
	uint64		image;

	data[0] = FORMAT_VERSION;
	data[1] = (uint8) filter->kind |
		(filter->counting ? FLAG_COUNTING : 0) |
		(filter->windowed ? FLAG_WINDOWED : 0);
	put_uint16(data + 2, filter->nlayers);
	put_uint32(data + 4, 0);
	memcpy(&image, &filter->fpr, sizeof(image));
	put_uint64(data + 8, image);
	if (filter->windowed)
	{
		put_uint64(data + 16, (uint64) filter->width);
		put_uint64(data + 24, (uint64) filter->expired_before);
		put_uint32(data + 32, filter->slices);
		put_uint32(data + 36, 0);
	}

	for (uint32 i = 0; i < filter->nlayers; i++)
	{
		const BloomLayer *layer = &filter->layers[i];

		put_uint32(header, layer->bits.shape.hashes << WORDS_BITS | layer->bits.shape.words);
		put_uint32(header + 4, layer->capacity);
		put_uint32(header + 8, layer->items);
		put_uint32(header + 12, layer->bits_set);
		if (filter->windowed)
			put_uint64(header + 16, (uint64) layer->slice);
		header += layer_header_size(filter->windowed);
	}
}

/* Raise an error if a value cannot have nlayers layers. */
void
bloomexp_layout_check_layers(uint32 nlayers)
{
	if (nlayers > BLOOMEXP_MAX_LAYERS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("filter would have too many layers"),
				 errdetail("It would have %u or more; the limit is %d.",
						   nlayers, BLOOMEXP_MAX_LAYERS),
				 errhint("Rebuild the filter from its items.  For a windowed filter, leave out "
						 "items that are older than the window, or use fewer slices.")));
}

/*
 * Layers are processed in pieces of this many bytes, a multiple of the size of a word, with a
 * check for interrupts between them.
 */
#define PIECE_SIZE BLOOMEXP_INTERRUPT_EVERY

/* Return the piece of a layer of `size` bytes that begins at byte `start`. */
static BloomBits
get_piece(const BloomBits *bits, uint64 start, uint64 size)
{
	BloomBits	piece = *bits;

	CHECK_FOR_INTERRUPTS();
	piece.shape.words = Min(size - start, PIECE_SIZE) / bloomexp_probe_bytes(1, bits->counting);
	piece.bytes = bits->bytes + start;
	return piece;
}

/* Copy the positions of a layer to `bytes`: zeros, if it has no bits yet. */
static void
copy_bits(uint8 *bytes, const BloomLayer *layer)
{
	uint64		size = bloomexp_layout_layer_size(layer);

	for (uint64 start = 0; start < size; start += PIECE_SIZE)
	{
		uint64		piece = Min(size - start, PIECE_SIZE);

		CHECK_FOR_INTERRUPTS();
		if (layer->bits.bytes)
			memcpy(bytes + start, layer->bits.bytes + start, piece);
		else
			memset(bytes + start, 0, piece);
	}
}

/* Merge another layer of the same shape into a layer: set its bits, or add its counters. */
void
bloomexp_layout_merge(BloomLayer *layer, const BloomLayer *other)
{
	uint64		size = bloomexp_layout_layer_size(layer);

	for (uint64 start = 0; start < size; start += PIECE_SIZE)
	{
		BloomBits	piece = get_piece(&layer->bits, start, size);
		BloomBits	other_piece = get_piece(&other->bits, start, size);

		bloomexp_probe_merge(&piece, &other_piece);
	}
}

/* Return the number of positions of a layer that are set. */
uint32
bloomexp_layout_count_set(const BloomLayer *layer)
{
	uint64		size = bloomexp_layout_layer_size(layer);
	uint32		set = 0;

	for (uint64 start = 0; start < size; start += PIECE_SIZE)
	{
		BloomBits	piece = get_piece(&layer->bits, start, size);

		set += bloomexp_probe_count_set(&piece);
	}
	return set;
}

/* Return the number of positions that are set in either of two layers of the same shape. */
uint32
bloomexp_layout_count_set_in_either(const BloomLayer *layer, const BloomLayer *other)
{
	uint64		size = bloomexp_layout_layer_size(layer);
	uint8	   *bytes = palloc(Min(size, PIECE_SIZE));
	uint32		set = 0;

	for (uint64 start = 0; start < size; start += PIECE_SIZE)
	{
		BloomBits	piece = get_piece(&layer->bits, start, size);
		BloomBits	other_piece = get_piece(&other->bits, start, size);

		memcpy(bytes, piece.bytes, Min(size - start, PIECE_SIZE));
		piece.bytes = bytes;
		bloomexp_probe_merge(&piece, &other_piece);
		set += bloomexp_probe_count_set(&piece);
	}
	pfree(bytes);
	return set;
}

/*
 * Return a filter as a new value, in the current memory context.  The bits are copied from its
 * layers, and layers without bits get zeros.
 */
struct varlena *
bloomexp_layout_form(const BloomFilter *filter)
{
	uint64		size = bloomexp_layout_size(filter);
	struct varlena *value;
	uint8	   *next;

	bloomexp_layout_check_layers(filter->nlayers);
	if (size > BLOOMEXP_MAX_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("filter would be too large"),
				 errdetail("It would take %llu bytes; the limit is %llu.",
						   (unsigned long long) size, (unsigned long long) BLOOMEXP_MAX_SIZE)));
	value = palloc(size);
	next = (uint8 *) VARDATA(value) + headers_size(filter);

	SET_VARSIZE(value, size);
	for (uint32 i = 0; i < filter->nlayers; i++)
	{
		copy_bits(next, &filter->layers[i]);
		next += bloomexp_layout_layer_size(&filter->layers[i]);
	}
	bloomexp_layout_write_headers(filter, value);
	return value;
}

/*
 * Return a filter as a new value, and move the filter to it: its layers point at the bits of the
 * new value, which the caller may change.  Call bloomexp_layout_write_headers() at the end.
 */
struct varlena *
bloomexp_layout_rewrite(BloomFilter *filter)
{
	struct varlena *value = bloomexp_layout_form(filter);

	point_at_bits(filter, (uint8 *) VARDATA(value));
	return value;
}
