/*-------------------------------------------------------------------------
 *
 * union.c
 *	  Two filters made one.
 *
 * Layers of equal shape are merged bit by bit if the merged layer, which holds the
 * items of both, keeps the sum of their rates.  Other layers stand side by side.
 * Either way nothing is lost.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "miscadmin.h"

#include "kernel/probe.h"
#include "kernel/sizing.h"
#include "value/compat.h"
#include "value/filter.h"
#include "value/kind.h"
#include "value/layout.h"
#include "value/union.h"

/* A copy of `a` with the bits of `b`, of the same shape, as well. */
static BloomLayer
merge_layers(const BloomLayer *a, const BloomLayer *b)
{
	BloomLayer	merged = *a;
	Size		size = bloomexp_layout_layer_size(a);
	double		items;

	merged.bits.bytes = palloc_extended(size, MCXT_ALLOC_HUGE);
	memcpy(merged.bits.bytes, a->bits.bytes, size);
	CHECK_FOR_INTERRUPTS();		/* half a gigabyte takes a while */
	bloomexp_probe_merge(&merged.bits, &b->bits);
	CHECK_FOR_INTERRUPTS();
	merged.bits_set = bloomexp_probe_count_set(&merged.bits);

	/* where one adds nothing to the other, its count is the better one */
	if (merged.bits_set == b->bits_set)
		merged.items = b->items;
	else if (merged.bits_set > a->bits_set)
	{
		items = ceil(bloomexp_filter_layer_items(&merged));
		items = Min(items, (double) a->items + b->items);
		items = Max(items, Max(a->items, b->items));
		merged.items = (uint32) Min(items, (double) PG_UINT32_MAX);
	}
	merged.capacity = Max(Max(a->capacity, b->capacity), merged.items);
	return merged;
}

/*
 * Merge `layer` into a layer of equal shape, if the rate of the merged layer stays
 * within the sum of what the two may reach by themselves.
 */
static bool
merge_into(BloomFilter *filter, const BloomLayer *layer)
{
	for (uint32 i = 0; i < filter->nlayers; i++)
	{
		BloomLayer *mine = &filter->layers[i];
		double		both;
		BloomLayer	merged;

		CHECK_FOR_INTERRUPTS();
		if (mine->bits.shape.words != layer->bits.shape.words ||
			mine->bits.shape.hashes != layer->bits.shape.hashes ||
			mine->slice != layer->slice)
			continue;
		both = bloomexp_sizing_expected_fpr(&mine->bits.shape, mine->capacity) +
			bloomexp_sizing_expected_fpr(&layer->bits.shape, layer->capacity);
		merged = merge_layers(mine, layer);
		if (bloomexp_sizing_expected_fpr(&merged.bits.shape, merged.capacity) <= both &&
			bloomexp_filter_layer_fpr(&merged) <= both)
		{
			*mine = merged;
			return true;
		}
		pfree(merged.bits.bytes);
	}
	return false;
}

/* Refuse filters whose time slices differ. */
static void
require_same_window(const BloomFilter *a, const BloomFilter *b)
{
	if (a->windowed != b->windowed)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a windowed filter cannot be united with one that is not"),
				 errhint("To ask both, name both in bloom_exclude().")));
	if (a->windowed && (a->width != b->width || a->slices != b->slices))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("filters with unlike windows cannot be united"),
				 errdetail("Their widths or numbers of slices differ."),
				 errhint("Filters of one table should have one window: give bloom_track() and bloom_rebuild() the same width and slices.")));
}

/* Refuse filters that cannot become one. */
static void
require_unitable(const BloomFilter *a, const BloomFilter *b)
{
	if (a->kind != b->kind && a->kind != BLOOM_KIND_NONE && b->kind != BLOOM_KIND_NONE)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("filters of unlike kinds of items cannot be united"),
				 errdetail("One holds %s items, the other %s.",
						   bloomexp_kind_name(a->kind), bloomexp_kind_name(b->kind))));
	if (a->seed != b->seed)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("filters with unlike seeds cannot be united"),
				 errdetail("One has seed %d, the other %d.", (int32) a->seed, (int32) b->seed)));
	if (a->counting != b->counting)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a counting filter cannot be united with one that is not"),
				 errhint("Rebuild one of them as the other is.")));
	require_same_window(a, b);
}

/*
 * bloomexp_union_make
 *		A new value that contains what `a` or `b` contain.
 *
 * Layers of `b` are merged with their equals in `a` where the promise allows
 * it, and stand behind them otherwise.  The promised rate is the sum.  Of two
 * windows the earlier floor stands, so that nothing is ignored that one of them
 * would take.
 */
struct varlena *
bloomexp_union_make(BloomFilter *a, BloomFilter *b)
{
	BloomLayer *layers = palloc_extended(((Size) a->nlayers + b->nlayers) * sizeof(BloomLayer),
										 MCXT_ALLOC_HUGE);
	uint32		nlayers = 0;
	uint32		rest = 0;		/* of the layers of b */
	uint32		next = 0;		/* of a */

	require_unitable(a, b);
	for (uint32 i = 0; i < b->nlayers; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!merge_into(a, &b->layers[i]))
			b->layers[rest++] = b->layers[i];
	}

	/* in each slice those of b stand behind those of a */
	for (uint32 i = 0; i < rest; i++)
	{
		while (next < a->nlayers && a->layers[next].slice <= b->layers[i].slice)
			layers[nlayers++] = a->layers[next++];
		layers[nlayers++] = b->layers[i];
	}
	memcpy(layers + nlayers, a->layers + next, (a->nlayers - next) * sizeof(BloomLayer));
	a->nlayers += rest;
	a->layers = layers;
	if (a->windowed)
		a->floor = Min(a->floor, b->floor);
	if (a->counting && a->nlayers > 1)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("union of the counting filters does not fit in one"),
				 errdetail("They differ in capacity or false positive rate, or hold too many items together."),
				 errhint("Make both with the same bloom_new(capacity, fpr, counting => true), with room for the items of both.")));
	if (a->kind == BLOOM_KIND_NONE)
		a->kind = b->kind;
	a->fpr = Min(a->fpr + b->fpr, 1.0 - DBL_EPSILON);
	return bloomexp_layout_form(a);
}
