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
 * A layer is full when as many items were added to it as its capacity.  At rates above
 * COUNTING_FPR it can be full earlier: then items that are skipped, because the filter
 * seems to contain them, are not few, and the bits fill up faster than the count says.
 *
 * Limits:
 *
 * - Each further layer takes 0.6 bits an item more.  At 1% a filter that grows from 100 to
 *	 10,000 items takes 2 to 2.6 times the bytes of one that is sized for them.  One that was sized
 *	 for more than 100 items takes more than 4 times when it outgrows these fifty times, at 2%
 *	 eight times, and up to 5.5; at 30% up to 10.
 * - Items that are not counted raise the rate: one that grows at 1% errs up to 0.2% more often
 *	 than its fpr says.
 * - Where unions, or a lower fpr that was set, have spent fpr, a filter errs more often: each
 *	 further layer gets SPENT_SHARE.
 * - Headers can be false without their bits showing it.  A capacity counts only as far as
 *	 the bits can hold it, so that no false one makes the next layer huge.
 * - Counting filters do not grow.
 * - An add looks at LAYERS_TO_LOOK_AT layers, the newest, and takes the others for full.
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
 * A layer is full at its capacity, or earlier at FULL_SHARE of fpr; one of several also at
 * FULL_EXCESS times its own rate.
 */
#define FULL_SHARE (511.0 / 512.0)
#define FULL_EXCESS (129.0 / 128.0)

/*
 * Up to this fpr, items that are not counted, because they were false positives when added,
 * raise the rate of a layer by less than a hundredth of it, and count alone says when it is
 * full.
 */
#define COUNTING_FPR 0.01

/* Share of the unused part of fpr that a new layer gets. */
#define GROWTH_SHARE 0.25

/*
 * Share of fpr that each new layer gets when unions, or a lower fpr that was set, have spent
 * all of it.
 */
#define SPENT_SHARE (1.0 / 64.0)

/* A new layer is for this part of the capacity so far, and for so many items at least. */
#define GROWTH_FACTOR 0.5
#define GROWTH_MIN 50

/*
 * A value has at most BLOOMEXP_MAX_LAYERS, and then cannot grow.  So in one that has half of
 * them already, as only windows of many slices and unions have, a layer has CROWDED_FACTOR
 * times the capacity before it: who may add cannot make the adds of others fail, unless also by
 * thousands of old times, each of which begins a slice.  Not beyond CROWDED_MAX, from where few
 * layers come by GROWTH_FACTOR, and a value can become too large.
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
 * The first layer of a slice is for SLICE_SPARE times the mean number of items of the newest
 * RECENT_SLICES slices before it, the second for SLICE_OVERFLOW of that.  Later ones grow as
 * those of a plain filter.
 */
#define RECENT_SLICES 2
#define SLICE_SPARE (17.0 / 16.0)
#define SLICE_OVERFLOW 0.125

/*
 * When slices expire, what is left of a window is the layers from some slice on.  From no slice
 * on may these have more than WINDOW_SPACE times the optimum for their items; so a new layer
 * gets no more bits than its own slice and each older one allow.  Items, if they are fewer than
 * FEW_ITEMS, count as the mean of both: space is kept until more come.
 *
 * All the same a layer is for SLICE_OVERFLOW of the capacity so far, or layers would become many,
 * and for SLICE_LEAST items, as a smaller one saves less than its header takes; or for
 * WINDOW_LEAST by the slices of a window, if that is less, as all slices may have few items.
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
	uint32		look_from;		/* the first layer that an add looks at */
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

/* Find the layers for items of a slice, or their place if there are none yet. */
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
		/* a window overlaps so many slices, unless it begins with one */
		found.fpr /= filter->slices + 1;
	}
	found.look_from = found.end - Min(found.end - found.first, LAYERS_TO_LOOK_AT);
	return found;
}

/*
 * Make an empty layer for `capacity` items at rate `share`; false if a value has no place for
 * so large a one.
 */
static bool
make_layer(int64 capacity, double share, bool counting, BloomLayer *layer)
{
	uint32		max_words = bloomexp_layout_max_words(BLOOMEXP_MAX_SIZE, counting);

	*layer = (BloomLayer) {
		.bits.counting = counting, .capacity = (uint32) capacity
	};
	return capacity <= PG_UINT32_MAX &&
		bloomexp_sizing_fit((double) capacity, share, max_words, &layer->bits.shape);
}

/*
 * Make the empty first layer of a filter for `capacity` items at `fpr`, or raise an error that
 * names the largest capacity.
 */
BloomLayer
bloomexp_growth_first_layer(int64 capacity, double fpr, bool counting)
{
	double		share = capacity <= UNSIZED_CAPACITY ? UNSIZED_SHARE : SIZED_SHARE;
	BloomLayer	layer;

	if (capacity < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("capacity must be at least 1")));
	bloomexp_growth_check_fpr(fpr);
	if (!make_layer(capacity, fpr * share, counting, &layer))
	{
		uint32		max_words = bloomexp_layout_max_words(BLOOMEXP_MAX_SIZE, counting);
		uint64		most = bloomexp_sizing_max_items(fpr * share, max_words);

		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("capacity of " INT64_FORMAT " items is too large", capacity),
				 errdetail("At a false positive rate of %g a filter of 500 MiB, the limit, "
						   "has room for %llu.", fpr, (unsigned long long) most),
				 errhint("Accept a larger false positive rate, or keep several filters.")));
	}
	return layer;
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
 * Return how many more items may be added to a layer; exact only when `wanted` ones may not fit.
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

	/* without logarithms: a layer is not full when it is half full by the count */
	if (slice->fpr <= 0.5 && fits + wanted <= credible_capacity(layer, slice->fpr) / 2)
		return layer->capacity - layer->items;

	if (slice->end - slice->first > 1)
		limit = Min(limit, bloomexp_sizing_expected_fpr(&layer->bits.shape, layer->capacity) *
					FULL_EXCESS);
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

/*
 * Change the capacity and the rate of one more layer of a slice of a window, as they are for a
 * plain filter, to what earlier slices say, and to what the window has space for.
 *
 * A layer that is for all items which the slice usually still gets is probably its last: it has
 * nearly all that is `left` of the rate, if then enough is left for others.
 */
static void
fit_into_window(const BloomFilter *filter, const SliceLayers *slice, int64 so_far, double left,
				int64 pending, int64 *capacity, double *share)
{
	int64		usual = (int64) ceil(recent_slice_items(filter, slice) * SLICE_SPARE);
	int64		least = Max(Min(WINDOW_LEAST / (filter->slices + 1), SLICE_LEAST), pending);
	double		spare = spare_bits(filter, slice, pending);
	double		growing = *share;	/* as more layers may follow */

	least = Max(least, (int64) (so_far * SLICE_OVERFLOW));
	if (usual > 0 && slice->end - slice->first <= 1)
		*capacity = least;
	*capacity = Max(*capacity, usual - so_far);
	if (so_far < usual && !is_spent(left * (1.0 - SIZED_SHARE), slice))
		*share = left * SIZED_SHARE;

	if (*capacity * optimum(*share) > spare)
	{
		*share = growing;
		*capacity = Max((int64) (spare / optimum(*share)), least);
	}
}

/* Set the capacity, at least `pending` items, and the rate of one more layer of a slice. */
static void
plan_layer(const BloomFilter *filter, const SliceLayers *slice, int64 pending,
		   int64 *capacity, double *share)
{
	double		left = slice->look_from > slice->first ? 0.0 : slice->fpr;
	int64		so_far = 0;		/* capacity of its layers */

	for (uint32 i = slice->look_from; i < slice->end; i++)
	{
		const BloomLayer *layer = &filter->layers[i];

		CHECK_FOR_INTERRUPTS();
		left -= Min(grown_fpr(layer, layer->capacity), slice->fpr * FULL_SHARE);
		so_far += credible_capacity(layer, slice->fpr);
	}

	*capacity = Max(Max((int64) (so_far * GROWTH_FACTOR), GROWTH_MIN), pending);
	if (is_spent(left, slice))
		*share = slice->fpr * SPENT_SHARE;
	else
		*share = left * (so_far == 0 ? UNSIZED_SHARE : GROWTH_SHARE);
	if (filter->windowed)
		fit_into_window(filter, slice, so_far, left, pending, capacity, share);
	if (filter->nlayers >= CROWDED_LAYERS)
		*capacity = Max(*capacity, Min(so_far * CROWDED_FACTOR, CROWDED_MAX));
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
	double		share;

	part->first_layer = slice.first;
	part->end_layer = slice.end;
	for (uint32 i = slice.end; i-- > slice.look_from && left > 0;)
	{
		BloomLayer *layer = &filter->layers[i];

		CHECK_FOR_INTERRUPTS();
		layer->added = takes(filter, &slice, layer, left);
		layer->items += layer->added;
		left -= layer->added;
	}
	if (left == 0)
		return;

	if (part->final && slice.end == slice.first)
	{
		/* no other layers will need a part of the slice's rate */
		capacity = left;
		share = slice.fpr * SIZED_SHARE;
	}
	else
		plan_layer(filter, &slice, left, &capacity, &share);
	bloomexp_layout_check_layers(filter->nlayers + 1);
	memmove(new + 1, new, (filter->nlayers - slice.end) * sizeof(BloomLayer));
	if (!make_layer(capacity, share, false, new))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("filter would be too large"),
				 errdetail("A further layer, for " INT64_FORMAT
						   " items, would take more than 500 MiB.", capacity),
				 errhint("Accept a larger false positive rate, or keep several filters.")));
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
