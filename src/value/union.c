/*-------------------------------------------------------------------------
 *
 * union.c
 *	  Unions of filters.
 *
 * How it works:
 *
 * The layers of both filters stand side by side, in each slice those of the first one before
 * those of the second.  But a layer of the second is merged, bit by bit, into one of the first
 * that has its shape and slice, if the rate allows:
 *
 * - The items of both fit in either, or there are so few distinct ones.  Two filters that began
 *	 as one and had different items added have most bits in common.
 * - Merged they err no more often, once full, than side by side.  So is a layer that has no bit
 *	 which the other has not.
 * - They have one word each and one or two items, which a word holds at less than the rate;
 *	 some of the rate is left for it.
 *
 * So the rates of all layers together, when full, never exceed the sum of those that both
 * filters had, but for the last case, and never the new target rate.  And of layers that are of
 * one shape, all but a few are half full at least.
 *
 * Limits:
 *
 * - Layers of different shapes cannot be merged: an item's positions depend on the shape.
 * - A layer of the second filter is compared by its bits with LAYERS_TO_COMPARE of the first.
 * - What is in both filters, but in layers of different shapes, stays in both.
 * - A union of more layers than UNION_MAX_LAYERS is an error, unless one filter has as many
 *	 already.  Before, slices that one of them was expired up to are dropped.
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

/* The most layers of a union: the rest are for items that are added to it. */
#define UNION_MAX_LAYERS (BLOOMEXP_MAX_LAYERS - 64)

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

/* The rate of a layer when it is full, or when it holds `items` items, if those are more. */
static double
full_fpr(const BloomLayer *layer, double items)
{
	return bloomexp_sizing_expected_fpr(&layer->bits.shape, Max(items, layer->capacity));
}

/*
 * Whether two layers of the same shape that have `items` distinct items together err no more
 * often as one, when full, than side by side.
 */
static bool
err_no_more(const BloomLayer *a, const BloomLayer *b, double items)
{
	return items <= Min(a->capacity, b->capacity) ||
		full_fpr(a, items) <= full_fpr(a, 0) + full_fpr(b, 0);
}

/*
 * Whether two layers of one word can be one, with more items than they were made for: if the
 * word errs no more often than either filter may, and the union has that much of its rate to
 * spare, which it then has no more.
 *
 * An item or two have a word of their own only because there is nothing smaller.
 */
static bool
fit_in_one_word(const BloomLayer *a, const BloomLayer *b, double fpr, double *spare)
{
	double		together;
	double		more;

	if (a->bits.shape.words > 1 || *spare <= 0.0)
		return false;
	together = full_fpr(a, (double) a->items + b->items);
	more = together - full_fpr(a, 0) - full_fpr(b, 0);
	if (together > fpr || more > *spare)
		return false;
	*spare -= more;
	return true;
}

/*
 * The rate that a union of two filters has to spare, `fpr` being its target; 0 if no layer of
 * one word can be merged.  Slices have none to spare: each has its share.
 */
static double
spare_fpr(const BloomFilter *a, const BloomFilter *b, double fpr)
{
	const BloomFilter *filters[] = {a, b};
	bool		has_words = false;

	for (uint32 i = 0; i < b->nlayers; i++)
		has_words |= b->layers[i].bits.shape.words == 1;
	if (!has_words || a->windowed || a->counting)
		return 0.0;

	for (int f = 0; f < lengthof(filters); f++)
	{
		for (uint32 i = 0; i < filters[f]->nlayers; i++)
		{
			CHECK_FOR_INTERRUPTS();
			fpr -= full_fpr(&filters[f]->layers[i], 0);
		}
	}
	return fpr;
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
 * returns its index, and in *how what to do.  `taken` has what each layer takes already; it takes one.
 *
 * One that has all bits of the layer, or none but those, is better than one that has room.
 */
static uint32
find_merge_target(const BloomFilter *united, uint32 n, const BloomLayer *layer,
				  const BloomLayer **taken, double fpr, double *spare, Merge *how)
{
	uint32		first = n;
	int			to_compare = LAYERS_TO_COMPARE;

	while (first > 0 && united->layers[first - 1].slice == layer->slice)
		first--;

	for (uint32 i = n; i-- > first && !layer->bits.counting && to_compare > 0;)
	{
		const BloomLayer *target = &united->layers[i];
		uint32		set;

		CHECK_FOR_INTERRUPTS();
		if (!same_shape(target, layer) ||
			(!may_contain(target, layer) && !may_contain(layer, target)))
			continue;
		to_compare--;
		set = bloomexp_layout_count_set_in_either(target, layer);
		*how = set == target->bits_set ? MERGE_DROP : MERGE_BITS;
		if (set == target->bits_set || (set == layer->bits_set && taken[i] == NULL))
			return i;
	}

	*how = MERGE_BITS;
	for (uint32 i = n; i-- > first;)
	{
		const BloomLayer *target = &united->layers[i];
		double		items = (double) target->items + layer->items;

		CHECK_FOR_INTERRUPTS();
		if (!same_shape(target, layer) || taken[i] != NULL)
			continue;
		if (items <= Min(target->capacity, layer->capacity))
			return i;
		if (!layer->bits.counting &&
			(err_no_more(target, layer, items) || fit_in_one_word(target, layer, fpr, spare)))
			return i;
	}

	to_compare = LAYERS_TO_COMPARE;
	for (uint32 i = n; i-- > first && !layer->bits.counting && to_compare > 0;)
	{
		const BloomLayer *target = &united->layers[i];
		uint32		set;

		CHECK_FOR_INTERRUPTS();
		if (!same_shape(target, layer) || taken[i] != NULL)
			continue;
		to_compare--;
		set = bloomexp_layout_count_set_in_either(target, layer);
		if (err_no_more(target, layer,
						ceil(bloomexp_sizing_estimate_items(&layer->bits.shape, set))))
			return i;
	}

	*how = MERGE_NOT;
	return n;
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
 * many; raise an error if even then they are.
 *
 * A window contains what either of two contains, also what only one of them has forgotten.
 * But when that is too much, what lies wholly before the later of their windows need not be
 * found any more.
 */
static uint32
too_many_layers(const BloomFilter *a, const BloomFilter *b, const BloomFilter *united)
{
	uint32		limit = Max(UNION_MAX_LAYERS, Max(a->nlayers, b->nlayers));
	uint32		expired = 0;

	if (united->nlayers <= limit)
		return 0;
	if (united->windowed)
		expired = bloomexp_window_expired_layers(united, Max(a->expired_before, b->expired_before));
	if (united->nlayers - expired > limit)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("filter would have too many layers"),
				 errdetail("The union would have %u; the limit is %u.",
						   united->nlayers - expired, limit),
				 errhint("Rebuild the filter from its items; give a windowed one longer slices.")));
	return expired;
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
	double		spare;
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
	spare = spare_fpr(a, b, united.fpr);

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
		target = find_merge_target(&united, n, layer, taken, Min(a->fpr, b->fpr), &spare, &how);
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

	left_out = too_many_layers(a, b, &united);
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
