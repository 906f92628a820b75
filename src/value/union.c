/*-------------------------------------------------------------------------
 *
 * union.c
 *	  Unions of filters.
 *
 * How it works:
 *
 * The layers of both filters stand side by side, in each slice those of the first one before
 * those of the second.  But a layer of the second becomes one with a layer of the first that has
 * its shape and slice, by two rules:
 *
 * - It is dropped if the other has all of its bits already.
 * - It is merged, bit by bit, if the items of both fit in either.  Those that are in both count
 *	 once: two filters that began as one and had different items added have most bits in common.
 *
 * So the rates of all layers together, when full, never exceed the sum of those that both
 * filters had.  And any two layers of one shape hold more items than one of them could: most
 * layers are half full at least, however many unions there were.
 *
 * Limits:
 *
 * - Layers of different shapes cannot be merged: an item's positions depend on the shape.
 * - A layer of the second filter is compared by its bits with LAYERS_TO_COMPARE of the first, by
 *	 each rule.
 * - What is in both filters, but in layers of different shapes, stays in both.
 * - A union of more layers than BLOOMEXP_MAX_LAYERS is an error, once the slices that one of
 *	 two windows was expired up to are dropped.
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

/* The most layers of the first filter whose bits are compared with those of a layer. */
#define LAYERS_TO_COMPARE 8

/* Raise an error unless two filters can become one. */
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
				 errmsg("a counting filter cannot be united with one that is not"),
				 errhint("Rebuild one of them in the same way as the other.")));
	if (a->windowed != b->windowed)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a windowed filter cannot be united with one that is not"),
				 errhint("To test against both, pass both to bloom_exclude().")));
	if (a->windowed && (a->width != b->width || a->slices != b->slices))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("filters with different windows cannot be united"),
				 errdetail("Their widths or numbers of slices differ."),
				 errhint("Make all filters of a table with the same width and slices.")));
}

/* Whether an item has the same positions in two layers. */
static bool
same_shape(const BloomLayer *a, const BloomLayer *b)
{
	return a->bits.shape.words == b->bits.shape.words &&
		a->bits.shape.hashes == b->bits.shape.hashes;
}

/* Whether some items of two layers fit in either of them. */
static bool
fit_in_either(const BloomLayer *a, const BloomLayer *b, double items)
{
	return items <= Min(a->capacity, b->capacity);
}

/* Whether the first bytes of a layer let it have all bits that another of its shape has. */
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

/* How a layer of the second filter and one of the first become one. */
typedef enum Merge
{
	MERGE_NOT,					/* they do not */
	MERGE_BITS,					/* the first gets the bits of both */
	MERGE_DROP					/* the first has all of them already */
} Merge;

/*
 * Find a layer among the first n of a union that a layer of the second filter becomes one with;
 * returns its index, and in *how what to do.  `taken` has what each takes already: it takes one.
 */
static uint32
find_merge_target(const BloomFilter *united, uint32 n, const BloomLayer *layer,
				  const BloomLayer **taken, Merge *how)
{
	const BloomShape *shape = &layer->bits.shape;
	int			to_compare = layer->bits.counting ? 0 : LAYERS_TO_COMPARE;
	uint32		first = n;
	uint32		roomy = n;		/* one that has room for all of its items */

	while (first > 0 && united->layers[first - 1].slice == layer->slice)
		first--;

	*how = MERGE_DROP;
	for (uint32 i = n; i-- > first && to_compare > 0;)
	{
		const BloomLayer *target = &united->layers[i];

		CHECK_FOR_INTERRUPTS();
		if (!same_shape(target, layer) || !may_contain(target, layer))
			continue;
		to_compare--;
		if (bloomexp_layout_count_set_in_either(target, layer) == target->bits_set)
			return i;
	}

	*how = MERGE_BITS;
	to_compare = layer->bits.counting ? 0 : LAYERS_TO_COMPARE;
	for (uint32 i = n; i-- > first;)
	{
		const BloomLayer *target = &united->layers[i];
		uint32		set;

		CHECK_FOR_INTERRUPTS();
		if (!same_shape(target, layer) || taken[i] != NULL)
			continue;
		if (fit_in_either(target, layer, (double) target->items + layer->items))
		{
			if (roomy == n)
				roomy = i;
			continue;
		}
		if (to_compare == 0)
			continue;
		to_compare--;
		set = bloomexp_layout_count_set_in_either(target, layer);
		if (set == layer->bits_set ||
			fit_in_either(target, layer, ceil(bloomexp_sizing_estimate_items(shape, set))))
			return i;
	}

	if (roomy == n)
		*how = MERGE_NOT;
	return roomy;
}

/*
 * Merge a layer into one of the same shape.
 *
 * The two may have items in common, so their number is what the bits say, within what is
 * possible; but if one adds nothing to the other, the other's numbers are the better ones.
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
 * Tell whether all slices of one window come before those of the other: then these are
 * parts of one window, in which each slice keeps its share of the rate.
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
 * Return how many of a union's layers to leave out, the oldest ones, because they would be too
 * many.
 *
 * A window contains what either of two contains, also what only one of them has forgotten.
 * But when that is too much, what lies wholly before the later of their windows need not be
 * found any more.
 */
static uint32
count_left_out(const BloomFilter *a, const BloomFilter *b, const BloomFilter *united)
{
	if (!united->windowed || united->nlayers <= BLOOMEXP_MAX_LAYERS)
		return 0;
	return bloomexp_window_expired_layers(united, Max(a->expired_before, b->expired_before));
}

/*
 * Make a new value that contains what either of two filters contains.
 *
 * The target rate is the sum, or the larger one of windows that follow each other.  It is
 * never less than either, because readers refuse layers with more items than the target rate
 * explains.  Of two windows the one expired up to the earlier time counts, so that nothing is
 * ignored that one of them would take.
 */
struct varlena *
bloomexp_union_form(const BloomFilter *a, const BloomFilter *b)
{
	BloomFilter united;
	const BloomLayer **taken = palloc0(Max(a->nlayers + b->nlayers, 1) * sizeof(BloomLayer *));
	uint32		n = 0;			/* end of the last layer of a */
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

	united.layers = palloc(Max(a->nlayers + b->nlayers, 1) * sizeof(BloomLayer));
	while (next_a < a->nlayers || next_b < b->nlayers)
	{
		const BloomLayer *layer;
		uint32		target;
		Merge		how;

		if (next_b == b->nlayers ||
			(next_a < a->nlayers && a->layers[next_a].slice <= b->layers[next_b].slice))
		{
			united.layers[united.nlayers++] = a->layers[next_a++];
			n = united.nlayers;
			continue;
		}
		layer = &b->layers[next_b++];
		target = find_merge_target(&united, n, layer, taken, &how);
		if (how == MERGE_BITS)
			taken[target] = layer;
		else if (how == MERGE_NOT)
			united.layers[united.nlayers++] = *layer;
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
	taken += left_out;
	value = bloomexp_layout_form(&united);
	for (uint32 i = 0; i < united.nlayers; i++)
	{
		if (taken[i] != NULL)
			merge(&united.layers[i], taken[i]);
	}
	bloomexp_layout_write_headers(&united, value);
	return value;
}
