/*-------------------------------------------------------------------------
 *
 * layout.h
 *	  The bytes of a value: reading, checking, laying out.
 *
 * doc/format.md describes the bytes and is the contract.  Outside this room
 * nobody knows an offset.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_LAYOUT_H
#define BLOOMEXP_LAYOUT_H

#include "sql/item.h"
#include "kernel/probe.h"

/* The largest value, length word included: a larger one can't be dumped as hex. */
#define BLOOMEXP_MAX_SIZE	((Size) 500 * 1024 * 1024)

/* The most layers a value may have. */
#define BLOOMEXP_MAX_LAYERS 4096

/*
 * The smallest false positive rate that can be promised: two items have the
 * same 64-bit hash with a chance that adds up to 2.4e-11 in the largest filter.
 */
#define BLOOMEXP_MIN_FPR 1e-9

/* The most slices a window may have. */
#define BLOOMEXP_MAX_SLICES 1000

/* The floor of a window that was never expired. */
#define BLOOMEXP_NO_FLOOR PG_INT64_MIN

typedef struct BloomLayer
{
	BloomBits	bits;			/* shape, and where its bytes are */
	uint32		capacity;		/* items it was sized for */
	uint32		items;			/* items added */
	uint32		bits_set;		/* positions that are set */
	int64		slice;			/* time slice, if windowed */
} BloomLayer;

/* Most values have few layers; these need no memory of their own. */
#define BLOOMEXP_FEW_LAYERS 4

/*
 * A value, unpacked: the layers' bytes are still those of the value.
 *
 * Do not copy the struct: `layers` may point into it.
 */
typedef struct BloomFilter
{
	BloomKind	kind;
	bool		counting;
	bool		windowed;
	uint32		seed;
	double		fpr;			/* promised, for all layers together */
	int64		width;			/* of the window, in microseconds */
	int64		floor;			/* of the window: what was shown before is gone */
	uint32		slices;			/* in one width */
	uint32		nlayers;
	BloomLayer *layers;			/* oldest first */
	BloomLayer	few[BLOOMEXP_FEW_LAYERS];
} BloomFilter;

extern Size bloomexp_layout_headers_size(const BloomFilter *filter);
extern Size bloomexp_layout_size(const BloomFilter *filter);
extern void bloomexp_layout_check_layers(uint32 nlayers);
extern void bloomexp_layout_open(BloomFilter *filter, struct varlena *value);
extern bool bloomexp_layout_open_headers(BloomFilter *filter, const uint8 *data,
								  Size available, Size size);
extern void bloomexp_layout_close(BloomFilter *filter);
extern bool bloomexp_layout_check(const uint8 *data, Size size, Node *escontext);
extern struct varlena *bloomexp_layout_form(BloomFilter *filter);
extern void bloomexp_layout_store(const BloomFilter *filter, struct varlena *value);

/* Bytes that a layer's positions take. */
static inline Size
bloomexp_layout_layer_size(const BloomLayer *layer)
{
	return bloomexp_probe_bytes(layer->bits.shape.words, layer->bits.counting);
}

#endif							/* BLOOMEXP_LAYOUT_H */
