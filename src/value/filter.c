/*-------------------------------------------------------------------------
 *
 * filter.c
 *	  A filter over its layers.
 *
 * How it works:
 *
 * A filter contains an item if one of its layers does.  The newest layer is probed first,
 * and each only for the items that no newer one contains.  To add items, drop those that
 * the filter contains, let growth.c find layers for the others, lay out the new value, and
 * set bits there.
 *
 * Limits:
 *
 * - An item that seems to be contained is not added; with it go no bits and no count.
 * - Only counting filters forget items, and these have one layer.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "kernel/probe.h"
#include "kernel/sizing.h"
#include "value/filter.h"

/* Up to so many hashes are sorted by insertion. */
#define INSERTION_SORT_MAX 32

/*
 * Start an empty filter with one layer for `capacity` items; it has no bytes until it is
 * bloomexp_layout_form()ed.
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

/* Start a filter without layers, for the kind of items, the rate and the window of another. */
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

/* Raise an error unless a filter can hold items of `kind`. */
void
bloomexp_filter_require_kind(const BloomFilter *filter, BloomKind kind)
{
	if (!bloomexp_filter_can_hold(filter, kind))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("filter holds %s items, not %s",
						bloomexp_kind_name(filter->kind), bloomexp_kind_name(kind)),
				 errhint("Cast the items to %s.", filter->kind == BLOOM_KIND_INTEGER ? "bigint" :
						 bloomexp_kind_name(filter->kind))));
}

/* Test whether any layer contains an item, the newest first. */
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
 * Mark those of n items, at most BLOOMEXP_BATCH, that layers from `first` on contain; those
 * that are marked already are not looked up.
 *
 * The items that no newer layer contains stand side by side, in no order: to keep them in
 * order would cost more than to probe them.
 */
void
bloomexp_filter_mark(const BloomFilter *filter, uint32 first, const uint64 *hashes, int n,
					 bool *contained)
{
	uint64		pending[BLOOMEXP_BATCH];
	uint16		origins[BLOOMEXP_BATCH];	/* their indexes */
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
		/* before another layer, the last items take the places of the hits, which ascend */
		while (i > first && nhits > 0)
		{
			int			hit = hits[--nhits];

			npending--;
			pending[hit] = pending[npending];
			origins[hit] = origins[npending];
		}
	}
}

static inline void
insertion_sort(uint64 *hashes, uint64 n)
{
	for (uint64 i = 1; i < n; i++)
	{
		uint64		hash = hashes[i];
		uint64		place = i;

		for (; place > 0 && hashes[place - 1] > hash; place--)
			hashes[place] = hashes[place - 1];
		hashes[place] = hash;
	}
}

/*
 * Sort hashes that differ in the 8 bits from `shift` on, or in lower ones: into parts by
 * these bits, in place, and then each part.
 *
 * By qsort(), which takes no notice of how evenly hashes are spread, a bloom_agg() of five
 * million items takes two to three times as long.
 */
static void
sort_hashes(uint64 *hashes, uint64 n, int shift)
{
	uint64		next[256] = {0};
	uint64		ends[256];
	uint64		end = 0;

	for (uint64 i = 0; i < n; i++)
		next[(hashes[i] >> shift) % 256]++;
	for (int part = 0; part < 256; part++)
	{
		ends[part] = end + next[part];
		next[part] = end;
		end = ends[part];
	}
	for (int part = 0; part < 256; part++)
	{
		CHECK_FOR_INTERRUPTS();
		/* a hash that is not in its part is moved there, and displaces the next one */
		while (next[part] < ends[part])
		{
			uint64		hash = hashes[next[part]];
			int			home = (hash >> shift) % 256;

			hashes[next[part]] = hashes[next[home]];
			hashes[next[home]++] = hash;
		}
	}

	for (int part = 0; shift > 0 && part < 256; part++)
	{
		uint64		start = part > 0 ? ends[part - 1] : 0;

		if (ends[part] - start > INSERTION_SORT_MAX)
			sort_hashes(hashes + start, ends[part] - start, shift - 8);
		else
			insertion_sort(hashes + start, ends[part] - start);
	}
}

/*
 * Drop the repetitions among n hashes; returns how many remain, in ascending order, which is
 * that of the blocks of a large filter.
 */
uint64
bloomexp_filter_distinct(uint64 *hashes, uint64 n)
{
	uint64		kept = 0;

	if (n > INSERTION_SORT_MAX)
		sort_hashes(hashes, n, 56);
	else
		insertion_sort(hashes, n);
	for (uint64 i = 0; i < n; i++)
	{
		if (kept == 0 || hashes[kept - 1] != hashes[i])
			hashes[kept++] = hashes[i];
	}
	return kept;
}

/*
 * Make a filter of `n` distinct items, at least one, sized for them and for a fraction
 * `headroom` more.
 */
struct varlena *
bloomexp_filter_build(BloomKind kind, const uint64 *hashes, uint64 n, double fpr, double headroom)
{
	BloomFilter filter;
	BloomLayer *layer = &filter.inline_layers[0];
	struct varlena *value;

	bloomexp_filter_init(&filter, (int64) ceil(n * (1.0 + headroom)), fpr, false);
	filter.kind = kind;
	value = bloomexp_layout_form(&filter);
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
 * Make a counting filter with `n` more items.  Each of them is counted, so that it can
 * be removed as often as it was added; so there is one layer only.
 */
static struct varlena *
add_counting(BloomFilter *filter, BloomKind kind, const uint64 *hashes, int n)
{
	BloomLayer *layer = &filter->layers[0];
	uint32		full = bloomexp_growth_counting_limit(filter, n);
	struct varlena *value;

	filter->kind = kind;
	value = bloomexp_layout_form(filter);
	for (int i = 0; i < n; i++)
	{
		uint32		newly_set;

		if (layer->items >= full && !bloomexp_probe_contains(&layer->bits, hashes[i]))
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("counting filter is full"),
					 errdetail("It has room for %u items and cannot grow.", full),
					 errhint("Make it again with a larger capacity: "
							 "bloom_new(capacity, counting => true).")));
		newly_set = bloomexp_probe_count(&layer->bits, hashes[i], 1);
		layer->bits_set += newly_set;
		if (newly_set > 0)
			layer->items++;
		if (i % BLOOMEXP_INTERRUPT_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
	}
	bloomexp_layout_write_headers(filter, value);
	return value;
}

/*
 * Set the bits of the items of a part in its layers, which count them already and say how
 * many each takes.  Reorders the hashes.
 *
 * A layer that takes only some of them takes them spread over the whole part.  Many hashes
 * come in nearly ascending order, which is that of blocks: the first ones would all fall into
 * the first blocks of one layer, and leave these blocks of the next one empty; the others
 * would then hold more than they were sized for.
 */
static void
fill_part(BloomFilter *filter, const BloomSliceItems *part)
{
	uint64	   *hashes = part->hashes;
	int64		n = part->n;
	bool		blocked = false;

	for (uint32 i = part->first_layer; i < part->end_layer; i++)
		blocked |= filter->layers[i].added > 0 && filter->layers[i].bits.shape.blocks > 1;

	for (uint32 i = part->first_layer; i < part->end_layer && n > 0; i++)
	{
		BloomLayer *layer = &filter->layers[i];
		int64		others = 0;		/* stay for the layers after this one */
		int64		before = 0;		/* items of this layer before the next one */

		if (layer->added == 0)
			continue;
		for (int64 j = 0; j < n; j++)
		{
			int64		after = blocked ? (j + 1) * layer->added / n : Min(j + 1, layer->added);

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
 * Leave in each part the items that are not contained, each of them once; returns their
 * number.  Reorders the hashes.
 *
 * An item that a newer slice contains is not added to an older one.
 */
int64
bloomexp_filter_keep_new(const BloomFilter *filter, BloomSliceItems *parts, int nparts)
{
	int64		n = 0;

	for (BloomSliceItems *part = parts; part < parts + nparts; part++)
	{
		uint32		first = bloomexp_growth_slice_start(filter, part->slice);
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
		/* an item that comes twice needs a place for one */
		part->n = bloomexp_filter_distinct(part->hashes, kept);
		n += part->n;
	}
	return n;
}

/*
 * Make a new value: the filter with more items, which bloomexp_filter_keep_new() left.  Each
 * part is of one slice, oldest first.
 */
struct varlena *
bloomexp_filter_add_parts(BloomFilter *filter, BloomKind kind, BloomSliceItems *parts, int nparts)
{
	struct varlena *value;

	bloomexp_growth_place_parts(filter, parts, nparts);
	filter->kind = kind;
	value = bloomexp_layout_form(filter);
	for (int i = 0; i < nparts; i++)
		fill_part(filter, &parts[i]);
	bloomexp_layout_write_headers(filter, value);
	return value;
}

/*
 * Make a new value: the filter with n more items, or NULL if it contains them all already.
 * Reorders the hashes.
 *
 * The opened filter cannot be used afterwards.  A NULL filter starts a new one.
 */
struct varlena *
bloomexp_filter_add(BloomFilter *filter, BloomKind kind, uint64 *hashes, int n)
{
	BloomFilter fresh;
	BloomSliceItems part = {.hashes = hashes, .n = n};

	if (filter == NULL)
	{
		part.n = bloomexp_filter_distinct(hashes, n);
		if (part.n == 0)
			return NULL;
		filter = &fresh;
		bloomexp_filter_init(filter, Max(part.n, BLOOMEXP_DEFAULT_CAPACITY),
							 BLOOMEXP_DEFAULT_FPR, false);
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
 * Make a new value: the filter without n items, or NULL if it contains none of them.
 *
 * An add is counted if it newly sets a position, and a removal if it newly unsets one.
 * These are different events, so a mere count would drift at random as items come and
 * go, and with it what the layer can take.  The number of positions set is exact: the
 * count is held to the items that it stands for.
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
		return NULL;			/* no item was ever added */

	for (int i = 0; i < n; i++)
	{
		uint32		newly_unset;
		double		estimate;

		if (i % BLOOMEXP_INTERRUPT_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		if (!bloomexp_probe_contains(&layer->bits, hashes[i]))
			continue;
		if (value == NULL)
			value = bloomexp_layout_form(filter);
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
 * Make a new value: the filter with another target rate for further layers, or NULL if it has
 * that one, or if readers would then refuse the layers that there are.
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
 * Estimate the distinct items in a filter.  An item that is in two layers, after a union,
 * counts twice.
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
 * Return the false positive rate of a filter now: an item is missed only if every layer
 * misses it.
 */
double
bloomexp_filter_fpr(const BloomFilter *filter)
{
	double		missed = 0.0;	/* logarithm of the chance */

	for (uint32 i = 0; i < filter->nlayers; i++)
	{
		CHECK_FOR_INTERRUPTS();
		missed += log1p(-bloomexp_sizing_current_fpr(&filter->layers[i].bits.shape,
													 filter->layers[i].bits_set));
	}
	return 0.0 - expm1(missed);	/* never -0 */
}
