/*-------------------------------------------------------------------------
 *
 * growth.c
 *	  Where new items go: into a layer that is not full, or into a new one.
 *
 * This module plans sizes, and touches no bits.
 *
 * How it works:
 *
 * The invariant: at every moment the probability that a filter contains an item that was
 * never added is at most its fpr; in a windowed filter, the probability that any
 * slices + 1 consecutive slices contain it is.  Layers err independently, so each gets a
 * share of fpr for when it is full, and the shares of all layers that can ever be made add
 * up to fpr at most.
 *
 * A layer is full when it has changed for as many items as its capacity.  At rates above
 * COUNTING_FPR it can be full earlier: then items that are skipped, because the filter
 * seems to contain them, are not few, and the bits fill up faster than the count says.
 * A rule by bits_set alone could not replace both: readers refuse more items than the
 * capacity, so the count must be kept as well, and whichever comes first makes a growing
 * filter 0.4% larger at 10,000 items, and 3% at 400.
 *
 * Limits:
 *
 * - A filter that grows item by item takes about twice the bytes of one that is sized for
 *	 its items.
 * - Headers can be false without their bits showing it.  A capacity counts only as far as
 *	 the bits can hold it, so that no false one makes the next layer huge.
 * - Counting filters do not grow.
 * - An add looks at LAYERS_TO_LOOK_AT, and takes the others for full.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "kernel/sizing.h"
#include "value/growth.h"
#include "value/layout.h"

/*
 * A filter for no more items than the default is treated as unsized: its first
 * layer gets half of fpr, so that later layers can have more of it.  At 1% this
 * costs such a layer a sixth more bits, which are few, and saves a filter that
 * grows from 100 to 10,000 items a sixth.
 */
#define UNSIZED_CAPACITY BLOOMEXP_DEFAULT_CAPACITY
#define UNSIZED_SHARE 0.5

/* The first layer of a sized filter gets this share; the rest is for growth. */
#define SIZED_SHARE (127.0 / 128.0)

/*
 * A layer is full at its capacity, or earlier at FULL_SHARE of fpr (sole layer)
 * or FULL_EXCESS times its own rate.
 */
#define FULL_SHARE (511.0 / 512.0)
#define FULL_EXCESS (129.0 / 128.0)

/*
 * Up to this fpr, a layer sized by SIZED_SHARE stays below FULL_SHARE although
 * some items are not counted, because they were false positives when added.
 */
#define COUNTING_FPR 0.01

/* Share of the unused part of fpr that a new layer gets. */
#define GROWTH_SHARE 0.25

/*
 * Share of fpr that each new layer gets when unions, or a lower fpr that was set, have spent
 * all of it.
 */
#define SPENT_SHARE (1.0 / 64.0)

/* Capacity of a new layer: this part of all capacity so far, and at least that. */
#define GROWTH_FACTOR 0.5
#define GROWTH_MIN 50

/*
 * A value has at most BLOOMEXP_MAX_LAYERS, and then cannot grow.  So in one that has half of
 * them already, as only windows of many slices and unions have, a layer has CROWDED_FACTOR
 * times the capacity before it: who may add cannot make the adds of others fail.  Not beyond
 * CROWDED_MAX, from where few layers come by GROWTH_FACTOR, and a value can become too large.
 */
#define CROWDED_LAYERS (BLOOMEXP_MAX_LAYERS / 2)
#define CROWDED_FACTOR 8
#define CROWDED_MAX 65536

/*
 * An add looks at so many layers, the newest ones, of those that keep a rate together.  A
 * filter that grows has fewer, because each is half as large as all before it; unions, windows
 * in which little space is allowed, and hostile values can have more.
 */
#define LAYERS_TO_LOOK_AT 64

/*
 * A new slice of a window is usually for SLICE_SPARE times the mean number of items of the
 * newest RECENT_SLICES slices before it.  When these have come, its second layer has
 * SLICE_OVERFLOW of the capacity so far.
 */
#define RECENT_SLICES 2
#define SLICE_SPARE (17.0 / 16.0)
#define SLICE_OVERFLOW 0.125

/*
 * But users can come less often than before, or late, and full slices leave the window before
 * others.  So a layer has no more bits than leave each end of the window that it is in, from
 * a slice to the newest, within WINDOW_SPACE times the optimum for the items there.  Of fewer
 * than FEW_ITEMS half of those that are missing count as well: space is kept until they come.
 *
 * All the same, a layer is for SLICE_OVERFLOW of the capacity so far, so that layers do not become
 * many; and for SLICE_LEAST items, because a smaller one would save less than its header takes, or
 * a slice's part of WINDOW_LEAST, because many slices of few items would take much together.
 */
#define WINDOW_SPACE 3.0
#define FEW_ITEMS 300
#define SLICE_LEAST 16
#define WINDOW_LEAST 240

/* Raise an error if `fpr` is a target rate that no filter can keep. */
void
bloomexp_growth_check_fpr(double fpr)
{
	if (!(fpr > 0.0 && fpr < 1.0))	/* NaN too */
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("false positive rate must be greater than 0 and less than 1"),
				 errhint("Write 0.01 for 1%%.")));
	if (fpr < BLOOMEXP_MIN_FPR)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("false positive rate must be at least %g", BLOOMEXP_MIN_FPR),
				 errdetail("Items are compared by a 64-bit hash, "
						   "which does not allow a lower rate.")));
}

/*
 * The layers that keep one target rate together: all layers of a plain filter, or
 * those of one slice of a windowed one.
 */
typedef struct SliceLayers
{
	uint32		first;
	uint32		end;			/* index after the last */
	double		fpr;			/* target rate of all of them together */
	uint32		oldest;			/* first layer that is looked at */
} SliceLayers;

/*
 * Return the index of the first layer of a slice, or of its place; those before it are of
 * older slices.
 */
uint32
bloomexp_growth_slice_start(const BloomFilter *filter, int64 slice)
{
	uint32		low = 0;
	uint32		high = filter->windowed ? filter->nlayers : 0;

	while (low < high)
	{
		uint32		middle = (low + high) / 2;

		if (filter->layers[middle].slice < slice)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Find the layers for items of a slice, or their place if there are none yet.  A
 * window overlaps slices + 1 slices unless aligned.
 */
static SliceLayers
find_slice(const BloomFilter *filter, int64 slice)
{
	SliceLayers found = {
		.first = bloomexp_growth_slice_start(filter, slice),
		.end = filter->nlayers,
		.fpr = filter->fpr
	};

	if (filter->windowed)
	{
		found.end = bloomexp_growth_slice_start(filter, slice + 1);
		found.fpr /= filter->slices + 1;
	}
	found.oldest = found.end - Min(found.end - found.first, LAYERS_TO_LOOK_AT);
	return found;
}

/*
 * Make an empty layer for `capacity` items at rate `share`, or raise an error that names
 * the largest capacity; `fpr` is the target rate that the user gave.
 */
static BloomLayer
new_layer(int64 capacity, double share, double fpr, bool counting)
{
	uint32		max_words = bloomexp_layout_max_words(BLOOMEXP_MAX_SIZE, counting);
	BloomLayer	layer = {.bits.counting = counting, .capacity = (uint32) capacity};

	if (capacity > PG_UINT32_MAX ||
		!bloomexp_sizing_fit((double) capacity, share, max_words, &layer.bits.shape))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("capacity of " INT64_FORMAT " items is too large", capacity),
				 errdetail("At a false positive rate of %g a filter of 500 MiB, the limit, "
						   "has room for %llu.",
						   fpr, (unsigned long long) bloomexp_sizing_max_items(share, max_words)),
				 errhint("Accept a larger false positive rate, or keep several filters.")));
	return layer;
}

/* Make the empty first layer of a filter for `capacity` items at `fpr`. */
BloomLayer
bloomexp_growth_first_layer(int64 capacity, double fpr, bool counting)
{
	double		share = capacity <= UNSIZED_CAPACITY ? UNSIZED_SHARE : SIZED_SHARE;

	if (capacity < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("capacity must be at least 1")));
	bloomexp_growth_check_fpr(fpr);
	return new_layer(capacity, fpr * share, fpr, counting);
}

/*
 * Find the largest capacity of a filter with one layer that takes at most `size` bytes,
 * length word included; 0 if there is none.
 */
int64
bloomexp_growth_capacity(uint64 size, double fpr)
{
	uint32		words = bloomexp_layout_max_words(Min(size, BLOOMEXP_MAX_SIZE), false);
	uint64		capacity;

	bloomexp_growth_check_fpr(fpr);
	capacity = bloomexp_sizing_max_items(fpr * SIZED_SHARE, words);
	if (capacity <= UNSIZED_CAPACITY)
		capacity = Min(bloomexp_sizing_max_items(fpr * UNSIZED_SHARE, words), UNSIZED_CAPACITY);
	return capacity;
}

/* Return the expected rate of a layer after `items` items, added one by one, changed it. */
static double
grown_fpr(const BloomLayer *layer, double items)
{
	return bloomexp_sizing_expected_fpr(&layer->bits.shape,
										bloomexp_sizing_offered_items(&layer->bits.shape, items));
}

/*
 * Return the capacity of a layer, as far as its bits can hold that many at the target
 * rate: a false one must not make the next layer huge.
 */
static int64
credible_capacity(const BloomLayer *layer, double fpr)
{
	double		most = ceil(bloomexp_sizing_textbook_items(&layer->bits.shape, fpr));

	return most < layer->capacity ? (int64) most : layer->capacity;
}

/*
 * Return how many more items may change a layer; exact only when `wanted` items may not fit.
 */
static int64
room_in(const BloomLayer *layer, const SliceLayers *slice, int64 wanted)
{
	int64		fits = layer->items;
	int64		too_many = (int64) layer->capacity + 1;
	double		limit = slice->fpr * FULL_SHARE;

	if (layer->items == layer->capacity)
		return 0;

	/* items that are not counted are few */
	if (slice->fpr <= COUNTING_FPR)
		return layer->capacity - layer->items;

	/* they are not so many that a layer is full when it is half full by the count */
	if (slice->fpr <= 0.5 && fits + wanted <= credible_capacity(layer, slice->fpr) / 2)
		return layer->capacity - layer->items;

	if (slice->end - slice->first > 1)
		limit = bloomexp_sizing_expected_fpr(&layer->bits.shape, layer->capacity) * FULL_EXCESS;
	if (grown_fpr(layer, Min(fits + wanted, layer->capacity)) <= limit)
		return layer->capacity - layer->items;
	if (grown_fpr(layer, fits + 1) > limit)
		return 0;

	while (too_many - fits > 1)
	{
		int64		middle = (fits + too_many) / 2;

		if (grown_fpr(layer, middle) <= limit)
			fits = middle;
		else
			too_many = middle;
	}
	return fits - layer->items;
}

/*
 * Return how many of `wanted` items a layer takes.
 *
 * No more than a reader accepts of its shape: a layer with a false header could take an item
 * and become a value that is refused.
 */
static int64
takes(const BloomFilter *filter, const SliceLayers *slice, const BloomLayer *layer, int64 wanted)
{
	int64		room = room_in(layer, slice, wanted);
	double		credible;

	if (room == 0)
		return 0;				/* as most layers, without the logarithms */
	credible = floor(bloomexp_sizing_textbook_items(&layer->bits.shape, filter->fpr));
	if (credible < (double) layer->items + room)
		room = Max((int64) credible - layer->items, 0);
	return Min(room, wanted);
}

/*
 * Return the mean number of items of the newest slices before a slice, as far as their bits can
 * hold that many at the target rate; 0 if there are none.
 */
static double
recent_slice_items(const BloomFilter *filter, const SliceLayers *slice)
{
	double		items = 0.0;
	int			slices = 0;

	for (uint32 i = slice->first; i-- > 0;)
	{
		CHECK_FOR_INTERRUPTS();
		if (i + 1 == slice->first || filter->layers[i].slice != filter->layers[i + 1].slice)
		{
			if (slices == RECENT_SLICES)
				break;
			slices++;
		}
		items += Min(filter->layers[i].items, credible_capacity(&filter->layers[i], slice->fpr));
	}
	return slices > 0 ? items / slices : 0.0;
}

/*
 * Tell whether the rate is spent: less of it is left than the layers of a filter that only grew
 * can leave.  The first takes FULL_SHARE at most, and each further one GROWTH_SHARE of what is
 * left, or more if that leaves enough; a little less counts, because a layer errs a little more
 * often when it is full than it was planned for.
 */
static bool
is_spent(double left, const SliceLayers *slice)
{
	double		least = (1.0 - FULL_SHARE) / 2.0;

	return left < slice->fpr * least * pow(1.0 - GROWTH_SHARE, slice->end - slice->first);
}

/* Return the bits per item of a Bloom filter of fixed size. */
static double
optimum(double fpr)
{
	return -log(fpr) / (log(2.0) * log(2.0));
}

/* Return how many bits layers of a window from one slice on may have, for the items there. */
static double
allowed_bits(const SliceLayers *slice, double items)
{
	return WINDOW_SPACE * optimum(slice->fpr) * Max(items, (items + FEW_ITEMS) / 2);
}

/* Return how many bits one more layer of a slice of a window, for `pending` items, may have. */
static double
spare_bits(const BloomFilter *filter, const SliceLayers *slice, int64 pending)
{
	const BloomLayer *layers = filter->layers;
	double		bits = 0.0;
	double		items = pending;
	double		spare;

	for (uint32 i = slice->first; i < filter->nlayers; i++)
	{
		CHECK_FOR_INTERRUPTS();
		bits += bloomexp_sizing_bits(&layers[i].bits.shape);
		items += layers[i].items;
	}
	spare = allowed_bits(slice, items) - bits;

	for (uint32 i = slice->first; i-- > 0;)
	{
		CHECK_FOR_INTERRUPTS();
		bits += bloomexp_sizing_bits(&layers[i].bits.shape);
		items += layers[i].items;
		if (i == 0 || layers[i - 1].slice != layers[i].slice)
			spare = Min(spare, allowed_bits(slice, items) - bits);
	}
	return spare;
}

/* Set the capacity, at least `pending` items, and the rate of one more layer of a slice. */
static void
plan_layer(const BloomFilter *filter, const SliceLayers *slice, int64 pending,
		   int64 *capacity, double *share)
{
	double		left = slice->oldest > slice->first ? 0.0 : slice->fpr;
	int64		usual = (int64) ceil(recent_slice_items(filter, slice) * SLICE_SPARE);
	int64		present = 0;	/* capacity so far */
	int64		overflow;
	double		growing;		/* the rate, if more layers may follow */

	for (uint32 i = slice->oldest; i < slice->end; i++)
	{
		const BloomLayer *layer = &filter->layers[i];

		CHECK_FOR_INTERRUPTS();
		left -= Min(grown_fpr(layer, layer->capacity), slice->fpr * FULL_SHARE);
		present += credible_capacity(layer, slice->fpr);
	}

	overflow = Max((int64) (present * SLICE_OVERFLOW),
				   Min(WINDOW_LEAST / (filter->slices + 1), SLICE_LEAST));
	if (usual > 0 && slice->end - slice->first <= 1)
		*capacity = overflow;
	else
		*capacity = Max((int64) (present * GROWTH_FACTOR), GROWTH_MIN);
	*capacity = Max(*capacity, Max(usual - present, pending));

	if (is_spent(left, slice))
		growing = slice->fpr * SPENT_SHARE;
	else
		growing = left * (present == 0 ? UNSIZED_SHARE : GROWTH_SHARE);
	*share = growing;
	if (present < usual && !is_spent(left * (1.0 - SIZED_SHARE), slice))
		*share = left * SIZED_SHARE;

	if (filter->windowed)
	{
		double		spare = spare_bits(filter, slice, pending);

		if (*capacity * optimum(*share) > spare)
		{
			*share = growing;
			*capacity = Max((int64) (spare / optimum(*share)), Max(overflow, pending));
		}
	}
	if (filter->nlayers >= CROWDED_LAYERS)
		*capacity = Max(*capacity, Min(present * CROWDED_FACTOR, CROWDED_MAX));
}

/* Return how many items a counting filter can hold; exact only when `n` more may not fit. */
uint32
bloomexp_growth_counting_limit(const BloomFilter *filter, int n)
{
	SliceLayers slice = find_slice(filter, 0);

	return filter->layers[0].items + room_in(&filter->layers[0], &slice, n);
}

/*
 * Place the items of a part in the layers of its slice, the newest first, and those that find
 * no room in a new layer, for which the filter has space.  Count them there, so that later
 * parts see them.
 */
static void
place_part(BloomFilter *filter, BloomSliceItems *part)
{
	SliceLayers slice = find_slice(filter, part->slice);
	BloomLayer *new = filter->layers + slice.end;
	int64		left = part->n;
	int64		capacity;
	double		share = slice.fpr * SIZED_SHARE;

	part->first_layer = slice.first;
	part->end_layer = slice.end;
	for (uint32 i = slice.end; i-- > slice.oldest && left > 0;)
	{
		BloomLayer *layer = &filter->layers[i];

		CHECK_FOR_INTERRUPTS();
		layer->added = takes(filter, &slice, layer, left);
		layer->items += layer->added;
		left -= layer->added;
	}
	if (left == 0)
		return;

	/* the first layer of a slice that gets no others has all of its rate */
	if (part->exact && slice.end == slice.first)
		capacity = left;
	else
		plan_layer(filter, &slice, left, &capacity, &share);
	bloomexp_layout_check_layers(filter->nlayers + 1);
	memmove(new + 1, new, (filter->nlayers - slice.end) * sizeof(BloomLayer));
	*new = new_layer(capacity, share, filter->fpr, false);
	new->slice = part->slice;
	new->items = new->added = left;
	filter->nlayers++;
	part->end_layer++;
}

/* Find layers for the items of all parts: these count them, and say how many they take. */
void
bloomexp_growth_place_parts(BloomFilter *filter, BloomSliceItems *parts, int nparts)
{
	uint32		space = Min(filter->nlayers + nparts, BLOOMEXP_MAX_LAYERS);
	BloomLayer *layers = palloc(Max(space, filter->nlayers) * sizeof(BloomLayer));

	memcpy(layers, filter->layers, filter->nlayers * sizeof(BloomLayer));
	filter->layers = layers;

	/* parts ascend, so a new layer moves only layers of later parts */
	for (int i = 0; i < nparts; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (parts[i].n > 0)
			place_part(filter, &parts[i]);
	}
}
