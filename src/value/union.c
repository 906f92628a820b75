/*-------------------------------------------------------------------------
 *
 * union.c
 *	  Unions of filters.
 *
 * How it works:
 *
 * A union has the layers of both filters.  In each slice those of the first filter come before
 * those of the second.  But if the first filter has a layer of the same shape and slice as a layer
 * of the second, there are two exceptions:
 *
 * - If the layer of the first filter has all bits of the other, the other is dropped.
 * - If the items of both layers together fit in either, the layers are merged, bit by bit.
 *	 Items in both count once: two filters that were once the same have most bits in common.
 *
 * So the rates of all full layers together never exceed the sum of the rates of both filters.
 * And any two layers of one shape have more items together than either could hold, so most layers
 * are at least half full, however many unions there were.
 *
 * Limits:
 *
 * - Layers of different shapes cannot be merged, because positions depend on the shape.
 * - In each case the bits of a layer of the second filter are compared with those of at most
 *	 LAYERS_TO_COMPARE layers of the first.
 * - Items that are in both filters, but in layers of different shapes, stay in both layers.
 * - A union of more layers than BLOOMEXP_MAX_LAYERS is an error, unless dropping the slices that
 *	 either window has expired helps.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "miscadmin.h"

#include "kernel/sizing.h"
#include "value/filter.h"
#include "value/layout.h"
#include "value/union.h"
#include "value/window.h"

/* The most layers of the first filter whose bits are compared with those of one layer. */
#define LAYERS_TO_COMPARE 8

#define NO_LAYER PG_UINT32_MAX

/* Raise an error unless two filters can be united. */
static void
require_compatible(const BloomFilter *a, const BloomFilter *b)
{
	if (a->kind != b->kind && a->kind != BLOOM_KIND_NONE && b->kind != BLOOM_KIND_NONE)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("filters of different item types cannot be united"),
				 errdetail("One holds %s items, the other %s.",
						   bloomexp_kind_name(a->kind), bloomexp_kind_name(b->kind))));
	if (a->counting != b->counting)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("counting and non-counting filters cannot be united"),
				 errhint("Rebuild one of them in the same way as the other.")));
	if (a->windowed != b->windowed)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("windowed and non-windowed filters cannot be united"),
				 errhint("To test against both, pass both to bloom_exclude().")));
	if (a->windowed && (a->width != b->width || a->slices != b->slices))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("filters with different windows cannot be united"),
				 errdetail("Their widths or numbers of slices differ."),
				 errhint("Make all filters of a table with the same width and slices.")));
}

/* Return whether items have the same positions in two layers. */
static bool
same_shape(const BloomLayer *a, const BloomLayer *b)
{
	return a->bits.shape.words == b->bits.shape.words &&
		a->bits.shape.hashes == b->bits.shape.hashes;
}

/* Return whether `items` items fit in either of two layers. */
static bool
fit_in_either(const BloomLayer *a, const BloomLayer *b, double items)
{
	return items <= Min(a->capacity, b->capacity);
}

/* Cheap pre-check on the first 64 bytes: false if `other` has a bit there that `layer` lacks. */
static bool
may_contain(const BloomLayer *layer, const BloomLayer *other)
{
	uint64		size = Min(bloomexp_layout_layer_size(layer), 64);

	for (uint64 i = 0; i < size; i++)
	{
		if (other->bits.bytes[i] & ~layer->bits.bytes[i])
			return false;
	}
	return true;
}

/*
 * Return the index of a layer that has all bits of `layer`, or NO_LAYER.  The candidates are the
 * layers of the union from `first` to before `end`, all of the slice of `layer`.
 */
static uint32
find_superset(const BloomFilter *united, uint32 first, uint32 end, const BloomLayer *layer)
{
	int			to_compare = LAYERS_TO_COMPARE;

	for (uint32 i = end; i-- > first && to_compare > 0;)
	{
		const BloomLayer *candidate = &united->layers[i];

		CHECK_FOR_INTERRUPTS();
		if (!same_shape(candidate, layer) || !may_contain(candidate, layer))
			continue;
		to_compare--;
		if (bloomexp_layout_count_set_in_either(candidate, layer) == candidate->bits_set)
			return i;
	}
	return NO_LAYER;
}

/*
 * Return the index of a layer to merge `layer` with, or NO_LAYER: one such that the items of both
 * together fit in either.  The candidates are those of find_superset(), except layers that absorb
 * another one already.
 *
 * A layer that has many items in common with `layer` is preferred to one with room for all items of
 * both.
 */
static uint32
find_mergeable(const BloomFilter *united, uint32 first, uint32 end, const BloomLayer *layer,
			   const BloomLayer **absorbed)
{
	const BloomShape *shape = &layer->bits.shape;
	int			to_compare = layer->bits.counting ? 0 : LAYERS_TO_COMPARE;
	uint32		roomy = NO_LAYER;

	for (uint32 i = end; i-- > first;)
	{
		const BloomLayer *candidate = &united->layers[i];
		uint32		set;

		CHECK_FOR_INTERRUPTS();
		if (!same_shape(candidate, layer) || absorbed[i] != NULL)
			continue;
		if (fit_in_either(candidate, layer, (double) candidate->items + layer->items))
		{
			if (roomy == NO_LAYER)
				roomy = i;
			continue;
		}
		if (to_compare == 0)
			continue;
		to_compare--;
		set = bloomexp_layout_count_set_in_either(candidate, layer);
		if (set == layer->bits_set ||
			fit_in_either(candidate, layer, ceil(bloomexp_sizing_estimate_items(shape, set))))
			return i;
	}
	return roomy;
}

/*
 * Add a layer of the second filter to a union.  `end` is the index after the last layer from the
 * first filter, all of whose layers up to the slice of `layer` are there.
 *
 * If a layer of the first filter has all bits of `layer`, nothing is added.  If one can be merged
 * with it, `layer` is noted in absorbed[] until the union has bits of its own.  Otherwise it is
 * appended.
 */
static void
add_layer(BloomFilter *united, uint32 end, const BloomLayer *layer, const BloomLayer **absorbed)
{
	uint32		first = end;
	uint32		target;

	while (first > 0 && united->layers[first - 1].slice == layer->slice)
		first--;
	/* counters are added, so no counting layer already has those of another */
	if (!united->counting && find_superset(united, first, end, layer) != NO_LAYER)
		return;
	target = find_mergeable(united, first, end, layer, absorbed);
	if (target != NO_LAYER)
		absorbed[target] = layer;
	else
		united->layers[united->nlayers++] = *layer;
}

/*
 * Merge a layer into `target`, which has the same shape.
 *
 * The layers may have items in common, so the count of items is estimated from the bits, within
 * the possible range.  If one layer has all bits of the other, its own numbers are better.
 */
static void
merge(BloomLayer *target, const BloomLayer *layer)
{
	uint32		before = target->bits_set;
	double		items;

	bloomexp_layout_merge(target, layer);
	target->bits_set = bloomexp_layout_count_set(target);
	if (target->bits_set == before)
		return;
	if (target->bits_set == layer->bits_set)
	{
		target->items = layer->items;
		target->capacity = layer->capacity;
		return;
	}
	items = ceil(bloomexp_sizing_estimate_items(&target->bits.shape, target->bits_set));
	items = Min(items, (double) target->items + layer->items);
	target->items = (uint32) Max(items, Max(target->items, layer->items));
	target->capacity = Max(Min(target->capacity, layer->capacity), target->items);
}

/*
 * Return whether all slices of one window are older than those of the other.  Such windows are
 * parts of one, in which each slice keeps its share of the rate.
 */
static bool
follow_each_other(const BloomFilter *a, const BloomFilter *b)
{
	return a->windowed &&
		(a->nlayers == 0 || b->nlayers == 0 ||
		 a->layers[a->nlayers - 1].slice < b->layers[0].slice ||
		 b->layers[b->nlayers - 1].slice < a->layers[0].slice);
}

/*
 * Return how many of the oldest layers of a union to leave out because there are too many.
 *
 * A union keeps the slices that only one of the two windows has expired, unless it would have too
 * many layers with them.
 */
static uint32
count_left_out(const BloomFilter *a, const BloomFilter *b, const BloomFilter *united)
{
	if (!united->windowed || united->nlayers <= BLOOMEXP_MAX_LAYERS)
		return 0;
	return bloomexp_window_expired_layers(united, Max(a->expired_before, b->expired_before));
}

/*
 * Return a new value that contains what either of two filters contains.
 *
 * Its target rate is the sum of theirs, or the larger one for windows that follow each other.  It
 * is never less than either, because readers refuse layers with more items than the target rate
 * explains.  A union of windows is expired up to the earlier of the two times, so that it accepts
 * every exposure that either of them would.
 */
struct varlena *
bloomexp_union_form(const BloomFilter *a, const BloomFilter *b)
{
	BloomFilter united;
	const BloomLayer **absorbed;	/* for each layer of the union, the one to merge into it */
	uint32		nlayers = a->nlayers + b->nlayers;
	uint32		end_a = 0;		/* after the last layer from a */
	uint32		next_a = 0;
	uint32		next_b = 0;
	uint32		left_out;
	struct varlena *value;

	require_compatible(a, b);
	bloomexp_filter_like(&united, a);
	if (united.kind == BLOOM_KIND_NONE)
		united.kind = b->kind;
	united.fpr = Max(a->fpr, b->fpr);
	if (!follow_each_other(a, b))
		united.fpr = Max(united.fpr, Min(a->fpr + b->fpr, 1.0 - DBL_EPSILON));
	if (united.windowed)
		united.expired_before = Min(a->expired_before, b->expired_before);

	united.layers = palloc(Max(nlayers, 1) * sizeof(BloomLayer));
	absorbed = palloc0(Max(nlayers, 1) * sizeof(BloomLayer *));
	while (next_a < a->nlayers || next_b < b->nlayers)
	{
		if (next_b == b->nlayers ||
			(next_a < a->nlayers && a->layers[next_a].slice <= b->layers[next_b].slice))
		{
			united.layers[united.nlayers++] = a->layers[next_a++];
			end_a = united.nlayers;
		}
		else
			add_layer(&united, end_a, &b->layers[next_b++], absorbed);
	}
	if (united.counting && united.nlayers > 1)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("union of the counting filters does not fit in one"),
				 errdetail("They differ in capacity or false positive rate, "
						   "or hold too many items together."),
				 errhint("Make both with the same bloom_new(capacity, fpr, counting => true), "
						 "with room for the items of both.")));

	left_out = count_left_out(a, b, &united);
	united.layers += left_out;
	united.nlayers -= left_out;
	absorbed += left_out;
	value = bloomexp_layout_rewrite(&united);
	for (uint32 i = 0; i < united.nlayers; i++)
	{
		if (absorbed[i] != NULL)
			merge(&united.layers[i], absorbed[i]);
	}
	bloomexp_layout_write_headers(&united, value);
	return value;
}
