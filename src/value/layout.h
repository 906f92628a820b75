/*-------------------------------------------------------------------------
 *
 * layout.h
 *	  The bytes of a value: reading, checking and writing them.
 *
 *	+--------+----------------+----------------+------------+------------+
 *	| header | layer header 0 | layer header 1 | bits of 0  | bits of 1  |
 *	+--------+----------------+----------------+------------+------------+
 *	  version  words, hashes                     blocks of block_bits
 *	  kind     capacity                          positions each; a position
 *	  flags    items                             is a bit, or a counter of
 *	  fpr      bits set                          4 bits
 *	  (window) (time slice)
 *
 * Layers are stored oldest first.  The parts in parentheses exist in windowed filters.
 * doc/internals/format.md is the contract.  No other module knows the offsets.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_LAYOUT_H
#define BLOOMEXP_LAYOUT_H

#include "nodes/nodes.h"

#include "kernel/probe.h"

/* The largest value, in bytes with its length word.  A larger one could not be dumped as text. */
#define BLOOMEXP_MAX_SIZE	((Size) 500 * 1024 * 1024)

/* The most layers of a value. */
#define BLOOMEXP_MAX_LAYERS 4096

/*
 * The smallest target rate.  Equal 64-bit hashes add false positives to any rate, but only 2.4e-11
 * in the largest filter at 1%.
 */
#define BLOOMEXP_MIN_FPR 1e-9

/* The most slices of a window. */
#define BLOOMEXP_MAX_SLICES 1000

/* `expired_before` of a window that was never expired: no exposure is too old. */
#define BLOOMEXP_NEVER_EXPIRED PG_INT64_MIN

/*
 * The kind of the items of a filter.  The numbers are part of the format.  src/README.md lists
 * what a new kind needs.
 */
typedef enum BloomKind
{
	BLOOM_KIND_NONE = 0,		/* no item was added yet */
	BLOOM_KIND_INTEGER = 1,
	BLOOM_KIND_TEXT = 2,
	BLOOM_KIND_UUID = 3,
	BLOOM_KIND_BYTEA = 4
} BloomKind;

#define BLOOM_KIND_LAST BLOOM_KIND_BYTEA

/* Return the name of a kind for bloom_info() and for messages. */
static inline const char *
bloomexp_kind_name(BloomKind kind)
{
	static const char *const names[] = {"none", "integer", "text", "uuid", "bytea"};

	return names[kind];
}

/* A layer, with what its header says. */
typedef struct BloomLayer
{
	BloomBits	bits;			/* its shape, and its bytes in the value */
	uint32		capacity;		/* items that it was sized for */
	uint32		items;			/* items added */
	uint32		bits_set;		/* positions that are set */
	int64		slice;			/* number of its time slice; 0 without a window */
} BloomLayer;

/* A value with at most this many layers is opened without allocating memory. */
#define BLOOMEXP_INLINE_LAYERS 4

/*
 * An opened value.  The bits of its layers lie in the value, so the value must outlive it.  A layer
 * whose bits were not read, or that is new, has bits.bytes NULL.
 *
 * `layers` may point into the struct, so a copy of the struct must not outlive it.
 */
typedef struct BloomFilter
{
	BloomKind	kind;
	bool		counting;
	bool		windowed;
	double		fpr;			/* target rate; with a window, of any slices + 1 slices in a row */
	int64		width;			/* of the window, in microseconds */
	int64		expired_before; /* exposures before this time are ignored */
	uint32		slices;			/* of the window */
	uint32		nlayers;
	BloomLayer *layers;			/* oldest first */
	BloomLayer	inline_layers[BLOOMEXP_INLINE_LAYERS];
} BloomFilter;

/* Return the size of the positions of a layer, in bytes. */
static inline uint64
bloomexp_layout_layer_size(const BloomLayer *layer)
{
	return bloomexp_probe_bytes(layer->bits.shape.words, layer->bits.counting);
}

extern uint32 bloomexp_layout_max_words(uint64 size, bool counting);
extern uint64 bloomexp_layout_size(const BloomFilter *filter);
extern void bloomexp_layout_open(BloomFilter *filter, struct varlena *value);
extern bool bloomexp_layout_open_headers(BloomFilter *filter, const uint8 *data,
										 Size available, Size size);
extern void bloomexp_layout_raise_damage(const char *problem);
extern bool bloomexp_layout_check(const uint8 *data, Size size, Node *escontext);
extern bool bloomexp_layout_is_credible(const BloomLayer *layer, double fpr);
extern void bloomexp_layout_check_layers(uint32 nlayers);
extern struct varlena *bloomexp_layout_form(const BloomFilter *filter);
extern struct varlena *bloomexp_layout_rewrite(BloomFilter *filter);
extern void bloomexp_layout_merge(BloomLayer *layer, const BloomLayer *other);
extern uint32 bloomexp_layout_count_set(const BloomLayer *layer);
extern uint32 bloomexp_layout_count_set_in_either(const BloomLayer *layer, const BloomLayer *other);
extern void bloomexp_layout_write_headers(const BloomFilter *filter, struct varlena *value);

#endif							/* BLOOMEXP_LAYOUT_H */
