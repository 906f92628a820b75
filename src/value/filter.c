/*-------------------------------------------------------------------------
 *
 * filter.c
 *	  Making, testing and changing filters.
 *
 * How it works:
 *
 * A filter contains an item if one of its layers does.  The newest layer is probed first, and
 * each older layer only for the items that no newer layer contains.  An add drops the items
 * that the filter contains, lets growth.c find layers for the others, copies the filter into
 * a new value, and sets bits there.
 *
 * Limits:
 *
 * - An item that seems to be contained is not added.  It sets no bit and is not counted.
 * - Single items can be removed only from counting filters, which have one layer.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "kernel/interrupt.h"
#include "kernel/probe.h"
#include "kernel/sizing.h"
#include "kernel/sort.h"
#include "value/filter.h"

/*
 * Make an empty filter with one layer for `capacity` items.  The layer has no bits until
 * bloomexp_layout_rewrite().
 */
void
bloomexp_filter_init(BloomFilter *filter, int64 capacity, double fpr, bool counting)
{
	memset(filter, 0, sizeof(*filter));
	filter->counting = counting;
	filter->fpr = fpr;
	filter->nlayers = 1;
	filter->layers = filter->inline_layers;
	filter->inline_layers[0] = bloomexp_growth_first_layer(capacity, fpr, counting);
}

/* Make a filter without layers that is like another: kind of items, rate, counting, window. */
void
bloomexp_filter_like(BloomFilter *filter, const BloomFilter *other)
{
	memset(filter, 0, sizeof(*filter));
	filter->kind = other->kind;
	filter->counting = other->counting;
	filter->windowed = other->windowed;
	filter->fpr = other->fpr;
	filter->width = other->width;
	filter->expired_before = other->expired_before;
	filter->slices = other->slices;
	filter->layers = filter->inline_layers;
}

/* Raise an error unless a filter can hold items of a kind. */
void
bloomexp_filter_require_kind(const BloomFilter *filter, BloomKind kind)
{
	if (!bloomexp_filter_can_hold(filter, kind))
	{
		const char *held = bloomexp_kind_name(filter->kind);

		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("filter holds %s items, not %s", held, bloomexp_kind_name(kind)),
				 errhint("Cast the items to %s.",
						 filter->kind == BLOOM_KIND_INTEGER ? "bigint" : held)));
	}
}

/* Return whether a filter contains an item. */
bool
bloomexp_filter_contains(const BloomFilter *filter, uint64 hash)
{
	for (uint32 i = filter->nlayers; i-- > 0;)
	{
		CHECK_FOR_INTERRUPTS();
		if (bloomexp_probe_contains(&filter->layers[i].bits, hash))
			return true;
	}
	return false;
}

/*
 * Set contained[i] for each of n items, at most BLOOMEXP_BATCH, that a layer from `first` on
 * contains.  Items for which it is already set are not looked up.
 *
 * The items that no newer layer contains are kept together, in no order, because keeping their
 * order would take longer than probing them.
 */
void
bloomexp_filter_mark(const BloomFilter *filter, uint32 first, const uint64 *hashes, int n,
					 bool *contained)
{
	uint64		pending[BLOOMEXP_BATCH];
	uint16		origins[BLOOMEXP_BATCH];	/* their indexes in `hashes` */
	uint16		hits[BLOOMEXP_BATCH];
	int			npending = 0;

	for (int i = 0; i < n; i++)
	{
		pending[npending] = hashes[i];
		origins[npending] = i;
		npending += !contained[i];
	}
	for (uint32 i = filter->nlayers; i-- > first && npending > 0;)
	{
		int			nhits;

		CHECK_FOR_INTERRUPTS();
		if (filter->layers[i].bits_set == 0)
			continue;
		nhits = bloomexp_probe_hits(&filter->layers[i].bits, pending, npending, hits);
		for (int j = 0; j < nhits; j++)
			contained[origins[hits[j]]] = true;

		/*
		 * Drop the hits, from the end: the last pending item takes the place of each.  Layer
		 * `first` is the last one to be probed, so its hits can stay.
		 */
		while (i > first && nhits > 0)
		{
			int			hit = hits[--nhits];

			npending--;
			pending[hit] = pending[npending];
			origins[hit] = origins[npending];
		}
	}
}

/* BloomInterruptCheck callback for the kernel */
void
bloomexp_filter_check_for_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

/*
 * Sort n hashes and drop duplicates.  Returns how many remain.  Their ascending order is also
 * the order of their blocks in a layer.
 */
uint64
bloomexp_filter_distinct(uint64 *hashes, uint64 n)
{
	uint64		kept = 0;

	bloomexp_sort_hashes(hashes, n, bloomexp_filter_check_for_interrupts);
	for (uint64 i = 0; i < n; i++)
	{
		if (kept == 0 || hashes[kept - 1] != hashes[i])
			hashes[kept++] = hashes[i];
	}
	return kept;
}

/*
 * Return a filter of n distinct items, at least one, with room for n * headroom more.
 */
struct varlena *
bloomexp_filter_build(BloomKind kind, const uint64 *hashes, uint64 n, double fpr, double headroom)
{
	BloomFilter filter;
	BloomLayer *layer = &filter.inline_layers[0];
	struct varlena *value;

	bloomexp_filter_init(&filter, (int64) ceil(n * (1.0 + headroom)), fpr, false);
	filter.kind = kind;
	value = bloomexp_layout_rewrite(&filter);
	for (uint64 i = 0; i < n; i += BLOOMEXP_INTERRUPT_EVERY)
	{
		CHECK_FOR_INTERRUPTS();
		bloomexp_probe_set_many(&layer->bits, hashes + i, Min(n - i, BLOOMEXP_INTERRUPT_EVERY));
	}
	layer->bits_set = bloomexp_layout_count_set(layer);
	layer->items = n;
	bloomexp_layout_write_headers(&filter, value);
	return value;
}

/*
 * Return a new value with n items added to a counting filter.  Items that it contains are added,
 * too, so that each item can be removed as often as it was added.
 */
static struct varlena *
add_counting(const BloomFilter *filter, BloomKind kind, const uint64 *hashes, int n)
{
	BloomFilter result = *filter;
	BloomLayer	layer = filter->layers[0];
	uint32		full = bloomexp_growth_counting_limit(filter, n);
	struct varlena *value;

	result.kind = kind;
	result.layers = &layer;
	value = bloomexp_layout_rewrite(&result);
	for (int i = 0; i < n; i++)
	{
		uint32		newly_set;

		if (layer.items >= full && !bloomexp_probe_contains(&layer.bits, hashes[i]))
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("counting filter is full"),
					 errdetail("It has room for %u items and cannot grow.", full),
					 errhint("Create it again with a larger capacity: "
							 "bloom_new(capacity, counting => true).")));
		newly_set = bloomexp_probe_count(&layer.bits, hashes[i], 1);
		layer.bits_set += newly_set;
		if (newly_set > 0)
			layer.items++;
		if (i % BLOOMEXP_INTERRUPT_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
	}
	bloomexp_layout_write_headers(&result, value);
	return value;
}

/*
 * Set the bits of the items of a part in the layers that the plan assigns them to.  Reorders the
 * hashes.
 *
 * When a part is split between layers with blocks, each layer takes every n-th hash and not a
 * run of them: hashes arrive nearly sorted, and sorted hashes map to ascending blocks, so a run
 * would overfill some blocks and leave others empty.
 */
static void
fill_part(const BloomAddPlan *plan, const BloomSliceItems *part)
{
	uint32		first = bloomexp_growth_first_of_slice(&plan->filter, part->slice);
	uint32		end = bloomexp_growth_end_of_slice(&plan->filter, part->slice);
	uint64	   *hashes = part->hashes;
	int64		n = part->n;
	bool		blocked = false;

	for (uint32 i = first; i < end; i++)
		blocked |= plan->added[i] > 0 && plan->filter.layers[i].bits.shape.blocks > 1;

	for (uint32 i = first; i < end && n > 0; i++)
	{
		BloomLayer *layer = &plan->filter.layers[i];
		int64		added = plan->added[i];
		int64		others = 0;		/* hashes left for later layers */
		int64		before = 0;		/* of the first j hashes, those for this layer */

		if (added == 0)
			continue;
		for (int64 j = 0; j < n; j++)
		{
			int64		after = blocked ? (j + 1) * added / n : Min(j + 1, added);

			if (before < after)
				layer->bits_set += bloomexp_probe_set(&layer->bits, hashes[j]);
			else
				hashes[others++] = hashes[j];
			before = after;
			if (j % BLOOMEXP_INTERRUPT_EVERY == 0)
				CHECK_FOR_INTERRUPTS();
		}
		n = others;
	}
}

/*
 * Drop from each part the items that the filter contains in the slice of the part or a newer one,
 * and duplicates.  Returns the number of items left in all parts.  Reorders the hashes.
 */
int64
bloomexp_filter_keep_new(const BloomFilter *filter, BloomSliceItems *parts, int nparts)
{
	int64		n = 0;

	for (BloomSliceItems *part = parts; part < parts + nparts; part++)
	{
		uint32		first = bloomexp_growth_first_of_slice(filter, part->slice);
		int			kept = 0;

		for (int from = 0; from < part->n; from += BLOOMEXP_BATCH)
		{
			uint64	   *hashes = part->hashes + from;
			int			batch = Min(part->n - from, BLOOMEXP_BATCH);
			bool		contained[BLOOMEXP_BATCH] = {false};

			CHECK_FOR_INTERRUPTS();
			bloomexp_filter_mark(filter, first, hashes, batch, contained);
			for (int i = 0; i < batch; i++)
			{
				part->hashes[kept] = hashes[i];
				kept += !contained[i];
			}
		}
		part->n = bloomexp_filter_distinct(part->hashes, kept);
		n += part->n;
	}
	return n;
}

/*
 * Return a new value with the items of all parts added.  Each part is of one slice, and the oldest
 * comes first.  Call bloomexp_filter_keep_new() before.
 */
struct varlena *
bloomexp_filter_add_parts(const BloomFilter *filter, BloomKind kind,
						  const BloomSliceItems *parts, int nparts)
{
	BloomAddPlan plan;
	struct varlena *value;

	bloomexp_growth_place_parts(filter, parts, nparts, &plan);
	plan.filter.kind = kind;
	value = bloomexp_layout_rewrite(&plan.filter);
	for (int i = 0; i < nparts; i++)
		fill_part(&plan, &parts[i]);
	bloomexp_layout_write_headers(&plan.filter, value);
	return value;
}

/*
 * Return a new value with n items added to a filter, or NULL if it contains all of them already.  A
 * counting filter counts items that it contains again, so it returns NULL only if n is 0.  A NULL
 * filter is an empty one, sized for these items.  Reorders the hashes.
 */
struct varlena *
bloomexp_filter_add(const BloomFilter *filter, BloomKind kind, uint64 *hashes, int n)
{
	BloomFilter fresh;
	BloomSliceItems part = {.hashes = hashes, .n = n};

	if (filter == NULL)
	{
		part.n = bloomexp_filter_distinct(hashes, n);
		if (part.n == 0)
			return NULL;
		bloomexp_filter_init(&fresh, Max(part.n, BLOOMEXP_DEFAULT_CAPACITY),
							 BLOOMEXP_DEFAULT_FPR, false);
		filter = &fresh;
	}
	bloomexp_filter_require_kind(filter, kind);
	if (filter->windowed)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("items cannot be added to a windowed filter without a time"),
				 errhint("Use bloom_add_at().")));
	if (filter->counting && n > 0)
		return add_counting(filter, kind, hashes, n);
	if (bloomexp_filter_keep_new(filter, &part, 1) == 0)
		return NULL;
	return bloomexp_filter_add_parts(filter, kind, &part, 1);
}

/*
 * Return a new value with n items removed from a counting filter, or NULL if it contains none of
 * them.  `filter` becomes that of the new value.
 *
 * An add counts an item if it sets a position, and a removal uncounts one if it clears a position.
 * These are different events, so the count alone would drift as items come and go, and the room in
 * the layer with it.  So the count is clamped to the estimate from bits_set, which is exact.
 */
struct varlena *
bloomexp_filter_remove(BloomFilter *filter, BloomKind kind, uint64 *hashes, int n)
{
	BloomLayer *layer = &filter->layers[0];
	struct varlena *value = NULL;

	bloomexp_filter_require_kind(filter, kind);
	if (!filter->counting)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("items cannot be removed from this filter"),
				 errdetail("Only a counting filter can forget single items."),
				 errhint("Make the filter with bloom_new(capacity, counting => true), "
						 "or rebuild it from the items that remain.")));

	if (filter->kind == BLOOM_KIND_NONE)
		return NULL;

	for (int i = 0; i < n; i++)
	{
		uint32		newly_unset;
		double		estimate;

		if (i % BLOOMEXP_INTERRUPT_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		if (!bloomexp_probe_contains(&layer->bits, hashes[i]))
			continue;
		if (value == NULL)
			value = bloomexp_layout_rewrite(filter);
		newly_unset = bloomexp_probe_count(&layer->bits, hashes[i], -1);
		layer->bits_set -= newly_unset;
		if (newly_unset > 0 && layer->items > 0)
			layer->items--;
		estimate = bloomexp_sizing_estimate_items(&layer->bits.shape, layer->bits_set);
		estimate = Min(Max(layer->items, floor(estimate)), ceil(estimate));
		layer->items = (uint32) Min(estimate, layer->capacity);
	}
	if (value)
		bloomexp_layout_write_headers(filter, value);
	return value;
}

/*
 * Return a new value with the target rate `fpr` for layers that are added later, and set
 * filter->fpr to it.  Returns NULL if that is the rate already, or if the layers would not be valid
 * at that rate.
 */
struct varlena *
bloomexp_filter_with_fpr(BloomFilter *filter, double fpr)
{
	bloomexp_growth_check_fpr(fpr);
	if (fpr == filter->fpr)
		return NULL;
	for (uint32 i = 0; i < filter->nlayers; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!bloomexp_layout_is_credible(&filter->layers[i], fpr))
			return NULL;
	}
	filter->fpr = fpr;
	return bloomexp_layout_form(filter);
}

/*
 * Return an estimate of the distinct items in a filter, from its bits.  An item that a union left
 * in two layers counts twice.
 */
double
bloomexp_filter_items(const BloomFilter *filter)
{
	double		items = 0.0;

	for (uint32 i = 0; i < filter->nlayers; i++)
	{
		CHECK_FOR_INTERRUPTS();
		items += bloomexp_sizing_estimate_items(&filter->layers[i].bits.shape,
												filter->layers[i].bits_set);
	}
	return items;
}

/*
 * Return the false positive rate of a filter as it stands.  Its layers err independently, so this
 * is 1 minus the product of 1 - rate over all layers.
 */
double
bloomexp_filter_fpr(const BloomFilter *filter)
{
	double		correct = 0.0;	/* logarithm of that product */

	for (uint32 i = 0; i < filter->nlayers; i++)
	{
		CHECK_FOR_INTERRUPTS();
		correct += log1p(-bloomexp_sizing_current_fpr(&filter->layers[i].bits.shape,
													  filter->layers[i].bits_set));
	}
	return 0.0 - expm1(correct);	/* never -0 */
}
