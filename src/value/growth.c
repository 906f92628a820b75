/*-------------------------------------------------------------------------
 *
 * growth.c
 *	  Where new items find room: in a layer that is there, or in a new one, and
 *	  then how large and how strict that is.
 *
 * The promise: at every moment the chance that a filter contains an item that
 * was never added is at most its fpr.  (Of a windowed filter: any slices + 1
 * slices in a row of it.)  Layers err independently, so it is kept
 * by giving each layer a share of fpr for the day when it is full; the shares
 * of all layers that can ever be made add up to fpr at most.
 *
 * Plans only: no bit is set here, and no value made.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "value/growth.h"

/*
 * A filter for no more items than the default is taken for a beginning: its
 * first layer gets only half of fpr, so that the layers to come need not be so
 * strict.  It costs such a layer a sixth more bits at 1%, which are few, and a
 * filter grown from 100 to 10,000 items a sixth fewer.
 */
#define BEGINNING BLOOMEXP_DEFAULT_CAPACITY
#define BEGINNING_SHARE 0.5

/* A filter sized for what it holds spares no more than this for growth. */
#define SIZED_SHARE (127.0 / 128.0)

/*
 * At the latest a filter's only layer is full when it errs at this share of
 * fpr, and one of several when it errs so much more than sized for.
 */
#define FULL_SHARE (511.0 / 512.0)
#define FULL_EXCESS (129.0 / 128.0)

/*
 * Up to this fpr, a layer sized by SIZED_SHARE stays below FULL_SHARE although
 * some items are not counted because they were taken for contained.
 */
#define COUNTING_FPR 0.01

/* A new layer gets this share of what the layers before it left of fpr. */
#define GROWTH_SHARE 0.25

/* A new layer has room for this part of all items so far, and for so many. */
#define GROWTH_FACTOR 0.5
#define GROWTH_MIN 50

/*
 * A new slice of a window has room for so many times what the newest ones before
 * it hold on average, and for so many items at least; if that was not enough, at
 * first for a little more.
 */
#define RHYTHM_SLICES 2
#define RHYTHM_SPARE (17.0 / 16.0)
#define RHYTHM_OVERFLOW 0.125
#define RHYTHM_MIN 16

/*
 * bloomexp_growth_check_fpr
 *		Complain about a false positive rate that can't be promised.
 */
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
				 errdetail("Items are told apart by a hash of 64 bits, which can't promise less.")));
}

/*
 * The layers that keep one promise together: all of a plain filter's, or those
 * of one slice of a windowed one.
 */
typedef struct Span
{
	uint32		first;
	uint32		end;			/* behind the last */
	double		fpr;			/* of all of them */
} Span;

/*
 * The layers for items of a slice; where there are none yet, their place.  A
 * window that is not at a slice's border sees one slice more than it has.
 */
static Span
span_of(const BloomFilter *filter, int64 slice)
{
	Span		span = {0, filter->nlayers, filter->fpr};

	if (!filter->windowed)
		return span;
	while (span.first < span.end && filter->layers[span.first].slice < slice)
		span.first++;
	for (span.end = span.first; span.end < filter->nlayers; span.end++)
	{
		if (filter->layers[span.end].slice != slice)
			break;
	}
	span.fpr /= filter->slices + 1;
	return span;
}

/* Words of the largest single layer. */
static uint32
max_words(bool counting)
{
	BloomFilter one = {.nlayers = 1};

	return (BLOOMEXP_MAX_SIZE - VARHDRSZ - bloomexp_layout_headers_size(&one)) /
		bloomexp_probe_bytes(1, counting);
}

/*
 * Shape of a layer for `capacity` items at rate `share`.  An error names what
 * would fit; `fpr` is the rate that the user knows of.
 */
static BloomShape
layer_shape(int64 capacity, double share, double fpr, bool counting)
{
	BloomShape	shape;

	if (capacity > PG_UINT32_MAX ||
		!bloomexp_sizing_fit((double) capacity, share, max_words(counting), &shape))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("capacity of " INT64_FORMAT " items is too large", capacity),
				 errdetail("At a false positive rate of %g a filter of 500 MiB, the limit, has room for %llu.",
						   fpr,
						   (unsigned long long) bloomexp_sizing_max_items(share, max_words(counting))),
				 errhint("Accept a greater false positive rate, or keep several filters.")));
	return shape;
}

/* An empty layer. */
static BloomLayer
new_layer(BloomShape shape, int64 capacity, bool counting)
{
	BloomLayer	layer = {
		.bits = {.shape = shape, .counting = counting},
		.capacity = (uint32) capacity
	};

	return layer;
}

/*
 * bloomexp_growth_first_layer
 *		An empty first layer of a filter for `capacity` items at `fpr`.
 */
BloomLayer
bloomexp_growth_first_layer(int64 capacity, double fpr, bool counting)
{
	double		share = capacity <= BEGINNING ? BEGINNING_SHARE : SIZED_SHARE;

	if (capacity < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("capacity must be at least 1")));
	bloomexp_growth_check_fpr(fpr);
	return new_layer(layer_shape(capacity, fpr * share, fpr, counting), capacity, counting);
}

/* The rate to expect of a layer after `items` items, added one by one, changed it. */
static double
grown_fpr(const BloomLayer *layer, double items)
{
	return bloomexp_sizing_expected_fpr(&layer->bits.shape,
								 bloomexp_sizing_offered_items(&layer->bits.shape, items));
}

/*
 * How many more items may change a layer, as far as `wanted` needs to know: up
 * to its capacity.  A layer at a high rate is full before, because the items
 * that it takes for contained, and so doesn't count, are no longer few.
 */
static int64
room_in(const BloomLayer *layer, const Span *span, int64 wanted)
{
	int64		fits = layer->items;
	int64		too_many = (int64) layer->capacity + 1;
	double		limit = span->fpr * FULL_SHARE;

	if (span->fpr <= COUNTING_FPR || layer->items == layer->capacity ||
		(span->fpr <= 0.5 && fits + wanted <= layer->capacity / 2))
		return layer->capacity - layer->items;
	if (span->end - span->first > 1)
		limit = bloomexp_sizing_expected_fpr(&layer->bits.shape, layer->capacity) * FULL_EXCESS;
	if (grown_fpr(layer, Min(fits + wanted, layer->capacity)) <= limit)
		return layer->capacity - layer->items;

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
 * Index of the newest layer that has room, and how much; the end of the span
 * and 0 if there is none.
 */
static uint32
open_layer(const BloomFilter *filter, const Span *span, int64 wanted, int64 *room)
{
	for (uint32 i = span->end; i-- > span->first;)
	{
		*room = room_in(&filter->layers[i], span, wanted);
		if (*room > 0)
			return i;
	}
	*room = 0;
	return span->end;
}

/*
 * Items that a new slice is going to hold, from what the newest ones before it
 * did: their mean.  0 if there are none.
 */
static double
rhythm(const BloomFilter *filter, const Span *span)
{
	double		items = 0.0;
	int			slices = 0;

	for (uint32 i = span->first; i-- > 0;)
	{
		if (i + 1 == span->first || filter->layers[i].slice != filter->layers[i + 1].slice)
		{
			if (slices == RHYTHM_SLICES)
				break;
			slices++;
		}
		items += filter->layers[i].items;
	}
	return slices > 0 ? items / slices : 0.0;
}

/*
 * Capacity and share of fpr for one more layer of a span, which must have room
 * for `pending` items at least.
 */
static void
plan_layer(const BloomFilter *filter, const Span *span, int64 pending,
		   int64 *capacity, double *share)
{
	double		left = span->fpr;
	double		usual = rhythm(filter, span) * RHYTHM_SPARE;
	int64		present = 0;

	for (uint32 i = span->first; i < span->end; i++)
	{
		const BloomLayer *layer = &filter->layers[i];

		CHECK_FOR_INTERRUPTS();
		left -= Min(grown_fpr(layer, layer->capacity), span->fpr * FULL_SHARE);
		present += layer->capacity;
	}

	if (present == 0 && usual > 0)
	{
		/* a new slice of a filter that has a rhythm */
		*capacity = Max((int64) ceil(usual), RHYTHM_MIN);
		*share = span->fpr * SIZED_SHARE;
	}
	else
	{
		*capacity = Max((int64) (present * GROWTH_FACTOR), GROWTH_MIN);
		if (usual > 0 && span->end - span->first == 1)
			*capacity = Max((int64) (present * RHYTHM_OVERFLOW), RHYTHM_MIN);
		*capacity = Max(*capacity, (int64) ceil(usual) - present);
		/* a union at a high rate can have spent all of it, or more */
		*share = present == 0 ? span->fpr * BEGINNING_SHARE :
			Max(left * GROWTH_SHARE, span->fpr * 1e-6);
	}
	*capacity = Max(*capacity, pending);
}

/* Give a span one more layer, as its last; the filter has space for it. */
static void
grow(BloomFilter *filter, Span *span, int64 slice, int64 capacity, double share)
{
	BloomLayer *place = filter->layers + span->end;

	bloomexp_layout_check_layers(filter->nlayers + 1);
	memmove(place + 1, place, (filter->nlayers - span->end) * sizeof(BloomLayer));
	*place = new_layer(layer_shape(capacity, share, filter->fpr, false), capacity, false);
	place->slice = slice;
	filter->nlayers++;
	span->end++;
}

/* Give a filter space for so many layers more. */
static void
make_space(BloomFilter *filter, int nlayers)
{
	uint32		space = Min(filter->nlayers + nlayers, BLOOMEXP_MAX_LAYERS);
	BloomLayer *layers = palloc(Max(space, filter->nlayers) * sizeof(BloomLayer));

	memcpy(layers, filter->layers, filter->nlayers * sizeof(BloomLayer));
	filter->layers = layers;
}

/*
 * bloomexp_growth_counting_limit
 *		How many items a counting filter can hold, as far as `n` more of them need
 *		to know.
 */
uint32
bloomexp_growth_counting_limit(const BloomFilter *filter, int n)
{
	Span		span = span_of(filter, 0);

	return filter->layers[0].items + room_in(&filter->layers[0], &span, n);
}

/*
 * bloomexp_growth_slice_start
 *		The first layer for items of a slice; those before it are of older ones.
 */
uint32
bloomexp_growth_slice_start(const BloomFilter *filter, int64 slice)
{
	return span_of(filter, slice).first;
}

/*
 * Find room for the items of a part, in a layer that is there or a new one, and
 * count them there, so that the parts after it see what this one brings.
 */
static void
place_part(BloomFilter *filter, BloomPart *part)
{
	Span		span = span_of(filter, part->slice);
	int64		capacity = part->n;
	double		share = span.fpr * SIZED_SHARE;

	part->open = open_layer(filter, &span, part->n, &part->room);
	part->room = Min(part->room, part->n);
	if (part->room > 0)
		filter->layers[part->open].items += part->room;
	if (part->room < part->n)
	{
		if (!part->final)
			plan_layer(filter, &span, part->n - part->room, &capacity, &share);
		grow(filter, &span, part->slice, capacity, share);
		filter->layers[span.end - 1].items = part->n - part->room;
	}
	part->grown = span.end - 1;
}

/*
 * bloomexp_growth_place_parts
 *		Find room for all parts; their `open`, `room` and `grown` tell where.
 */
void
bloomexp_growth_place_parts(BloomFilter *filter, BloomPart *parts, int nparts)
{
	/* a new layer moves only those of later parts */
	make_space(filter, nparts);
	for (int i = 0; i < nparts; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (parts[i].n > 0)
			place_part(filter, &parts[i]);
	}
}
