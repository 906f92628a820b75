/*-------------------------------------------------------------------------
 *
 * union.c
 *	  Unions of filters.
 *
 * The layers of both filters stand side by side, in each slice those of the first one
 * before those of the second.  A layer of the second filter is merged, bit by bit, into one
 * of the first that has its shape and slice, if the items of both fit in either; one that
 * is in the first filter already is dropped.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "miscadmin.h"

#include "kernel/probe.h"
#include "kernel/sizing.h"
#include "value/layout.h"
#include "value/union.h"

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

/*
 * Tell whether one of the first n layers of a filter takes another layer or is the same.
 * `taken` has what each layer takes.
 */
static bool
give_away(const BloomFilter *filter, uint32 n, const BloomLayer *layer, const BloomLayer **taken)
{
	for (uint32 i = n; i-- > 0 && filter->layers[i].slice == layer->slice;)
	{
		const BloomLayer *mine = &filter->layers[i];

		CHECK_FOR_INTERRUPTS();
		if (mine->bits.shape.words != layer->bits.shape.words ||
			mine->bits.shape.hashes != layer->bits.shape.hashes)
			continue;
		if (taken[i] == NULL && (uint64) mine->items + layer->items <= Min(mine->capacity, layer->capacity))
		{
			taken[i] = layer;
			return true;
		}
		if (!layer->bits.counting && mine->capacity == layer->capacity && mine->items == layer->items &&
			mine->bits_set == layer->bits_set &&
			memcmp(mine->bits.bytes, layer->bits.bytes, bloomexp_layout_layer_size(layer)) == 0)
			return true;
	}
	return false;
}

/*
 * Merge a layer into one of the same shape, which has room for its items.
 *
 * The two may have items in common, so their number is what the bits say, within what is
 * possible; but if one adds nothing to the other, the other's count is the better one.
 */
static void
merge(BloomLayer *mine, const BloomLayer *layer)
{
	uint32		before = mine->bits_set;

	bloomexp_probe_merge(&mine->bits, &layer->bits);
	mine->bits_set = bloomexp_probe_count_set(&mine->bits);
	if (mine->bits_set == layer->bits_set)
		mine->items = layer->items;
	else if (mine->bits_set > before)
	{
		double		items = ceil(bloomexp_sizing_estimate_items(&mine->bits.shape, mine->bits_set));

		items = Min(items, (double) mine->items + layer->items);
		mine->items = (uint32) Max(items, Max(mine->items, layer->items));
	}
	mine->capacity = Min(mine->capacity, layer->capacity);
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
	BloomFilter united = *a;
	const BloomLayer **taken = palloc0(Max(a->nlayers + b->nlayers, 1) * sizeof(BloomLayer *));
	uint32		nmine = 0;		/* end of the last layer of a */
	uint32		mine = 0;
	uint32		other = 0;
	struct varlena *value;

	require_compatible(a, b);
	if (united.kind == BLOOM_KIND_NONE)
		united.kind = b->kind;
	united.fpr = Max(a->fpr, b->fpr);
	if (!follow_each_other(a, b))
		united.fpr = Max(united.fpr, Min(a->fpr + b->fpr, 1.0 - DBL_EPSILON));
	united.expired_before = Min(a->expired_before, b->expired_before);

	united.nlayers = 0;
	united.layers = palloc(Max(a->nlayers + b->nlayers, 1) * sizeof(BloomLayer));
	while (mine < a->nlayers || other < b->nlayers)
	{
		if (other == b->nlayers ||
			(mine < a->nlayers && a->layers[mine].slice <= b->layers[other].slice))
		{
			united.layers[united.nlayers++] = a->layers[mine++];
			nmine = united.nlayers;
		}
		else if (give_away(&united, nmine, &b->layers[other], taken))
			other++;
		else
			united.layers[united.nlayers++] = b->layers[other++];
	}
	if (united.counting && united.nlayers > 1)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("union of the counting filters does not fit in one"),
				 errdetail("They differ in capacity or false positive rate, or hold too many items together."),
				 errhint("Make both with the same bloom_new(capacity, fpr, counting => true), with room for the items of both.")));

	value = bloomexp_layout_form(&united);
	for (uint32 i = 0; i < united.nlayers; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (taken[i] != NULL)
			merge(&united.layers[i], taken[i]);
	}
	bloomexp_layout_write_headers(&united, value);
	return value;
}
