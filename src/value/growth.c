/*-------------------------------------------------------------------------
 *
 * growth.c
 *	  Which layers take new items, and how a new layer is sized.
 *
 * This module plans.  It touches no bits.
 *
 * How it works:
 *
 * The invariant: the false positive rate of a filter is at most fpr.  For a windowed filter
 * this holds for any slices + 1 consecutive slices.  Layers err independently, so each layer
 * gets a share of fpr as its rate when it is full, and the shares of all layers that can ever
 * be made add up to fpr at most.  This is the scalable Bloom filter of Almeida, Baquero,
 * Preguica, Hutchison, "Scalable Bloom Filters", Inf. Process. Lett. 101, 2007, with other
 * shares and capacities.
 *
 * A layer is full when the items added to it reach its capacity.  At rates above
 * COUNTING_FPR it can be full earlier, because an add skips items that the filter seems to
 * contain.  They would set no new bit, so the bits are those of all items offered.  But the
 * count leaves them out, and at such rates there are many of them.
 *
 * Limits:
 *
 * - Each further layer takes 0.6 more bits per item than the one before.  At 1% a filter that
 *	 grows from 100 to 10,000 items takes 2 to 2.6 times the bytes of one that is sized for
 *	 them.  A filter sized for more than 100 items takes more than 4 times the bytes once it
 *	 holds fifty times its capacity (at 2%, eight times its capacity), and at most 5.5 times.
 *	 At 30% it takes at most 10 times the bytes.
 * - Skipped items raise the rate: a filter that grows at 1% errs up to 0.2% more often than its
 *	 fpr says.
 * - Unions can use up fpr, and so can bloom_with_fpr() with a lower one.  Each further layer gets
 *	 SPENT_SHARE all the same, and the filter errs more often than its fpr says.
 * - Headers can be forged to agree with the bits.  So a capacity counts only as far as the bits
 *	 can hold it: otherwise a forged one would make the next layer huge.
 * - Counting filters do not grow.
 * - An add examines the newest LAYERS_TO_LOOK_AT layers of a group, and treats older ones as full.
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
 * A filter whose capacity is at most the default counts as unsized: its first layer gets only
 * half of fpr, which leaves more for later layers.  At 1% the first layer takes a sixth more
 * bits, which is little, but a filter that grows from 100 to 10,000 items takes a sixth fewer.
 */
#define UNSIZED_CAPACITY BLOOMEXP_DEFAULT_CAPACITY
#define UNSIZED_SHARE 0.5

/* The share of fpr that the first layer of a sized filter gets.  The rest is for growth. */
#define SIZED_SHARE (127.0 / 128.0)

/*
 * A layer is full at its capacity, or when its rate reaches FULL_SHARE of fpr, or, if there are
 * several layers, FULL_EXCESS times its own share.
 */
#define FULL_SHARE (511.0 / 512.0)
#define FULL_EXCESS (129.0 / 128.0)

/*
 * Up to this fpr the count of items alone decides whether a layer is full: items that were
 * skipped raise its rate by less than a hundredth.
 */
#define COUNTING_FPR 0.01

/* The share that a new layer gets of what earlier layers leave of fpr. */
#define GROWTH_SHARE 0.25

/* The share of fpr that a new layer gets once fpr is used up: see is_spent(). */
#define SPENT_SHARE (1.0 / 64.0)

/*
 * The capacity of a new layer is GROWTH_FACTOR times the capacity so far, and at least
 * GROWTH_MIN.
 */
#define GROWTH_FACTOR 0.5
#define GROWTH_MIN 50

/*
 * A value cannot grow past BLOOMEXP_MAX_LAYERS.  Once it has half as many, which takes unions
 * or a window of many slices, each new layer has CROWDED_FACTOR times the capacity so far, so
 * that the adds of one client cannot exhaust the limit for the others.  (Thousands of different
 * old times still can, because each begins a slice.)  This factor makes no layer for more than
 * CROWDED_MAX items: from there on ordinary growth adds few layers, and a large factor could
 * exceed BLOOMEXP_MAX_SIZE.
 */
#define CROWDED_LAYERS (BLOOMEXP_MAX_LAYERS / 2)
#define CROWDED_FACTOR 8
#define CROWDED_MAX 65536

/*
 * An add examines this many of the newest layers of a group.  A filter that only grew has fewer,
 * because each layer is half as large as all layers before it together.  Unions, windows with
 * little space to spare and hostile values can have more.
 */
#define LAYERS_TO_LOOK_AT 64

/*
 * The capacity of the first layer of a slice is SLICE_SPARE times the mean number of items in the
 * RECENT_SLICES slices before it.  The capacity of the second layer is at least SLICE_OVERFLOW
 * times that of the first.  Further layers are sized as in a filter without a window.
 */
#define RECENT_SLICES 2
#define SLICE_SPARE (17.0 / 16.0)
#define SLICE_OVERFLOW 0.125

/*
 * Expiry drops the oldest slices.  However many it drops, the slices that are left may have at most
 * WINDOW_SPACE times the optimal bits for their items.  So the size of a new layer is limited once
 * for its own slice and once for each older slice.  Here n items count as (n + FEW_ITEMS) / 2 if n
 * is less than FEW_ITEMS, because more will come.
 *
 * The limits never take a layer below SLICE_OVERFLOW of the slice's capacity so far, or there
 * would be too many layers.  Nor do they take it below SLICE_LEAST items, because a smaller layer
 * saves less than its header takes, or below WINDOW_LEAST / (slices + 1) items if that is less:
 * if all slices have few items, WINDOW_LEAST is enough for the whole window.
 */
#define WINDOW_SPACE 3.0
#define FEW_ITEMS 300
#define SLICE_LEAST 16
#define WINDOW_LEAST 240

/* Raise an error if no filter can have the target rate `fpr`. */
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
 * The layers that keep one target rate together: all layers of a filter without a window, or the
 * layers of one slice of a windowed filter.
 */
typedef struct LayerGroup
{
	uint32		first;
	uint32		end;			/* index after the last layer */
	double		fpr;			/* target rate of all of them together */
	uint32		look_from;		/* the first layer that an add examines */
} LayerGroup;

/* A layer to be made. */
typedef struct LayerPlan
{
	int64		capacity;
	double		fpr;			/* expected rate when it is full */
} LayerPlan;

/*
 * Return the index of the first layer of a slice, or the index where it would be.  Without a window
 * that is 0.
 */
uint32
bloomexp_growth_first_of_slice(const BloomFilter *filter, int64 slice)
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

/* Return the index after the last layer of a slice, or of the filter if it has no window. */
uint32
bloomexp_growth_end_of_slice(const BloomFilter *filter, int64 slice)
{
	return filter->windowed ? bloomexp_growth_first_of_slice(filter, slice + 1) : filter->nlayers;
}

/* Return the layers of a slice.  If it has none yet, the group is empty, at its place. */
static LayerGroup
find_group(const BloomFilter *filter, int64 slice)
{
	LayerGroup	group = {
		.first = bloomexp_growth_first_of_slice(filter, slice),
		.end = bloomexp_growth_end_of_slice(filter, slice),
		.fpr = filter->fpr,
	};

	/* a window that begins within a slice overlaps slices + 1 of them */
	if (filter->windowed)
		group.fpr /= filter->slices + 1;
	group.look_from = group.end - Min(group.end - group.first, LAYERS_TO_LOOK_AT);
	return group;
}

/* Make an empty layer.  Returns false if it would be too large for a value. */
static bool
make_layer(LayerPlan plan, bool counting, BloomLayer *layer)
{
	uint32		max_words = bloomexp_layout_max_words(BLOOMEXP_MAX_SIZE, counting);

	*layer = (BloomLayer) {
		.bits.counting = counting,
		.capacity = (uint32) plan.capacity,
	};
	return plan.capacity <= PG_UINT32_MAX &&
		bloomexp_sizing_fit((double) plan.capacity, plan.fpr, max_words, &layer->bits.shape);
}

/*
 * Return the first layer of an empty filter for `capacity` items at target rate `fpr`.  If it would
 * be too large, the error names the largest capacity.
 */
BloomLayer
bloomexp_growth_first_layer(int64 capacity, double fpr, bool counting)
{
	double		share = capacity <= UNSIZED_CAPACITY ? UNSIZED_SHARE : SIZED_SHARE;
	LayerPlan	plan = {capacity, fpr * share};
	BloomLayer	layer;

	if (capacity < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("capacity must be at least 1")));
	bloomexp_growth_check_fpr(fpr);
	if (!make_layer(plan, counting, &layer))
	{
		uint32		max_words = bloomexp_layout_max_words(BLOOMEXP_MAX_SIZE, counting);
		uint64		most = bloomexp_sizing_max_items(plan.fpr, max_words);

		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("capacity of " INT64_FORMAT " items is too large", capacity),
				 errdetail("At a false positive rate of %g the limit is %llu items.",
						   fpr, (unsigned long long) most),
				 errhint("Use a higher false positive rate, or several filters.")));
	}
	return layer;
}

/*
 * Return the largest capacity of a filter with one layer and at most `size` bytes, with the length
 * word, or 0 if there is none.
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

/*
 * Return the expected rate of a layer when it counts `items` items.  Its bits are also those of
 * items that adds have skipped, which the count leaves out.
 */
static double
grown_fpr(const BloomLayer *layer, double items)
{
	return bloomexp_sizing_expected_fpr(&layer->bits.shape,
										bloomexp_sizing_offered_items(&layer->bits.shape, items));
}

/*
 * Return the capacity of a layer, or fewer items if its bits cannot hold as many at the target
 * rate: a false capacity must not make the next layer huge.
 */
static int64
credible_capacity(const BloomLayer *layer, double fpr)
{
	double		most = ceil(bloomexp_sizing_textbook_items(&layer->bits.shape, fpr));

	return most < layer->capacity ? (int64) most : layer->capacity;
}

/*
 * Return the number of items that a layer has room for.  The result can be too high, but only if
 * `wanted` items fit.
 */
static int64
room_in(const BloomLayer *layer, const LayerGroup *group, int64 wanted)
{
	int64		fits = layer->items;
	int64		too_many = (int64) layer->capacity + 1;
	double		limit = group->fpr * FULL_SHARE;

	if (layer->items == layer->capacity)
		return 0;

	if (group->fpr <= COUNTING_FPR)
		return layer->capacity - layer->items;

	/* fast path, without logarithms: a layer at half its count cannot be full by its bits */
	if (group->fpr <= 0.5 && fits + wanted <= credible_capacity(layer, group->fpr) / 2)
		return layer->capacity - layer->items;

	if (group->end - group->first > 1)
	{
		double		own = bloomexp_sizing_expected_fpr(&layer->bits.shape, layer->capacity);

		limit = Min(limit, own * FULL_EXCESS);
	}
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
 * Return how many of `wanted` items go into a layer.
 *
 * The layer never gets more items than the validator accepts for its shape, or an add to a layer
 * with a forged header could make a value that cannot be read back.
 */
static int64
count_taken(const BloomFilter *filter, const LayerGroup *group, const BloomLayer *layer,
			int64 wanted)
{
	int64		room = room_in(layer, group, wanted);
	double		credible;

	if (room == 0)
		return 0;				/* most layers are full: save the logarithms */
	credible = floor(bloomexp_sizing_textbook_items(&layer->bits.shape, filter->fpr));
	if (credible < (double) layer->items + room)
		room = Max((int64) credible - layer->items, 0);
	return Min(room, wanted);
}

/*
 * Return the mean number of items in the RECENT_SLICES slices before a slice, or 0 if there are
 * none.  Items that the bits cannot hold at the target rate do not count.
 */
static double
recent_slice_items(const BloomFilter *filter, const LayerGroup *group)
{
	double		items = 0.0;
	int			slices = 0;

	for (uint32 i = group->first; i-- > 0;)
	{
		CHECK_FOR_INTERRUPTS();
		if (i + 1 == group->first || filter->layers[i].slice != filter->layers[i + 1].slice)
		{
			if (slices == RECENT_SLICES)
				break;
			slices++;
		}
		items += Min(filter->layers[i].items, credible_capacity(&filter->layers[i], group->fpr));
	}
	return slices > 0 ? items / slices : 0.0;
}

/*
 * Return whether the rate of a group is used up: unions or a lower fpr have left less of it than
 * growth alone can leave.
 *
 * The first layer leaves at least 1 - FULL_SHARE, and each further layer 1 - GROWTH_SHARE of what
 * was left.  The bound is half of that, because a full layer can err a little more often than its
 * share.
 */
static bool
is_spent(double left, const LayerGroup *group)
{
	double		least = (1.0 - FULL_SHARE) / 2.0;

	return left < group->fpr * least * pow(1.0 - GROWTH_SHARE, group->end - group->first);
}

/* Return the bits per item of the optimal Bloom filter, by the textbook: -ln p / (ln 2)^2. */
static double
optimum(double fpr)
{
	return -log(fpr) / (log(2.0) * log(2.0));
}

/* Return how many bits a slice and all newer ones may have if they hold `items` items together. */
static double
allowed_bits(const LayerGroup *group, double items)
{
	return WINDOW_SPACE * optimum(group->fpr) * Max(items, (items + FEW_ITEMS) / 2);
}

/*
 * Return how many bits a further layer of a slice, for `pending` new items, may have.  See
 * WINDOW_SPACE.
 */
static double
spare_bits(const BloomFilter *filter, const LayerGroup *group, int64 pending)
{
	const BloomLayer *layers = filter->layers;
	double		bits = 0.0;
	double		items = pending;
	double		spare;

	for (uint32 i = group->first; i < filter->nlayers; i++)
	{
		CHECK_FOR_INTERRUPTS();
		bits += bloomexp_sizing_bits(&layers[i].bits.shape);
		items += layers[i].items;
	}
	spare = allowed_bits(group, items) - bits;

	for (uint32 i = group->first; i-- > 0;)
	{
		CHECK_FOR_INTERRUPTS();
		bits += bloomexp_sizing_bits(&layers[i].bits.shape);
		items += layers[i].items;
		if (i == 0 || layers[i - 1].slice != layers[i].slice)
			spare = Min(spare, allowed_bits(group, items) - bits);
	}
	return spare;
}

/*
 * Return a plan for a further layer of a slice.  `plain` is the plan for a filter without a window.
 * The capacity follows that of earlier slices, within the space of the window.  The layers of the
 * slice have capacity `so_far` in all, and leave `left` of its rate.
 *
 * A layer for all items that the slice can still expect is probably its last.  So it gets nearly
 * all that is left of the rate, unless the rate would be spent then.
 */
static LayerPlan
fit_into_window(LayerPlan plain, const BloomFilter *filter, const LayerGroup *group,
				int64 so_far, double left, int64 pending)
{
	LayerPlan	plan = plain;
	int64		usual = (int64) ceil(recent_slice_items(filter, group) * SLICE_SPARE);
	int64		least = Max(Min(WINDOW_LEAST / (filter->slices + 1), SLICE_LEAST), pending);
	double		spare = spare_bits(filter, group, pending);

	least = Max(least, (int64) (so_far * SLICE_OVERFLOW));
	if (usual > 0 && group->end - group->first <= 1)
		plan.capacity = least;
	plan.capacity = Max(plan.capacity, usual - so_far);
	if (so_far < usual && !is_spent(left * (1.0 - SIZED_SHARE), group))
		plan.fpr = left * SIZED_SHARE;

	if (plan.capacity * optimum(plan.fpr) > spare)
	{
		/* a layer for fewer items than expected is not the last one */
		plan.fpr = plain.fpr;
		plan.capacity = Max((int64) (spare / optimum(plan.fpr)), least);
	}
	return plan;
}

/* Return a plan for a further layer of a group, with room for at least `pending` new items. */
static LayerPlan
plan_layer(const BloomFilter *filter, const LayerGroup *group, int64 pending)
{
	LayerPlan	plan;
	double		left = group->look_from > group->first ? 0.0 : group->fpr;
	int64		so_far = 0;		/* capacity of the group */

	for (uint32 i = group->look_from; i < group->end; i++)
	{
		const BloomLayer *layer = &filter->layers[i];

		CHECK_FOR_INTERRUPTS();
		left -= Min(grown_fpr(layer, layer->capacity), group->fpr * FULL_SHARE);
		so_far += credible_capacity(layer, group->fpr);
	}

	plan.capacity = Max(Max((int64) (so_far * GROWTH_FACTOR), GROWTH_MIN), pending);
	if (is_spent(left, group))
		plan.fpr = group->fpr * SPENT_SHARE;
	else
		plan.fpr = left * (so_far == 0 ? UNSIZED_SHARE : GROWTH_SHARE);
	if (filter->windowed)
		plan = fit_into_window(plan, filter, group, so_far, left, pending);
	if (filter->nlayers >= CROWDED_LAYERS)
		plan.capacity = Max(plan.capacity, Min(so_far * CROWDED_FACTOR, CROWDED_MAX));
	return plan;
}

/*
 * Return how many items a counting filter can hold.  The result can be too high, but only if n more
 * items fit.
 */
uint32
bloomexp_growth_counting_limit(const BloomFilter *filter, int n)
{
	LayerGroup	group = find_group(filter, 0);

	return filter->layers[0].items + room_in(&filter->layers[0], &group, n);
}

/* Insert an empty layer before layer number `place` of a plan, which has space for it. */
static BloomLayer *
insert_layer(BloomAddPlan *plan, uint32 place, LayerPlan layer_plan)
{
	BloomFilter *filter = &plan->filter;
	BloomLayer *layer = filter->layers + place;
	uint32		nafter = filter->nlayers - place;

	bloomexp_layout_check_layers(filter->nlayers + 1);
	memmove(layer + 1, layer, nafter * sizeof(BloomLayer));
	memmove(plan->added + place + 1, plan->added + place, nafter * sizeof(uint32));
	if (!make_layer(layer_plan, false, layer))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("filter would be too large"),
				 errdetail("A further layer, for " INT64_FORMAT
						   " items, would take more than 500 MiB.",
						   layer_plan.capacity),
				 errhint("Use a higher false positive rate, or several filters.")));
	filter->nlayers++;
	return layer;
}

/*
 * Assign the items of a part to the layers of its slice, the newest layer first, and the rest to a
 * new layer.  Counts are updated at once, because the plan for later parts depends on them.
 */
static void
place_part(BloomAddPlan *plan, const BloomSliceItems *part)
{
	BloomFilter *filter = &plan->filter;
	LayerGroup	group = find_group(filter, part->slice);
	BloomLayer *new;
	LayerPlan	new_plan;
	int64		left = part->n;

	for (uint32 i = group.end; i-- > group.look_from && left > 0;)
	{
		BloomLayer *layer = &filter->layers[i];

		CHECK_FOR_INTERRUPTS();
		plan->added[i] = count_taken(filter, &group, layer, left);
		layer->items += plan->added[i];
		left -= plan->added[i];
	}
	if (left == 0)
		return;

	if (part->final && group.end == group.first)
	{
		/* no further layer will need a share of the slice's rate */
		new_plan = (LayerPlan) {left, group.fpr * SIZED_SHARE};
	}
	else
		new_plan = plan_layer(filter, &group, left);
	new = insert_layer(plan, group.end, new_plan);
	new->slice = part->slice;
	new->items = plan->added[group.end] = left;
}

/*
 * Plan an add of the items of all parts.  Each part is of one slice, and the oldest comes first.
 * The items must be new: see bloomexp_filter_keep_new().
 */
void
bloomexp_growth_place_parts(const BloomFilter *filter, const BloomSliceItems *parts, int nparts,
							BloomAddPlan *plan)
{
	uint32		space = Max(Min(filter->nlayers + nparts, BLOOMEXP_MAX_LAYERS), filter->nlayers);

	plan->filter = *filter;
	plan->filter.layers = palloc(space * sizeof(BloomLayer));
	memcpy(plan->filter.layers, filter->layers, filter->nlayers * sizeof(BloomLayer));
	plan->added = palloc0(space * sizeof(uint32));

	for (int i = 0; i < nparts; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (parts[i].n > 0)
			place_part(plan, &parts[i]);
	}
}
