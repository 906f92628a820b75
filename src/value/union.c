/*-------------------------------------------------------------------------
 *
 * union.c
 *	  Unions of filters.
 *
 * Layers of equal shape are merged bit by bit if the merged layer, which holds the
 * items of both, keeps the sum of their rates.  Other layers stand side by side.
 * Either way nothing is lost.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "miscadmin.h"

#include "kernel/murmur3.h"
#include "kernel/probe.h"
#include "kernel/sizing.h"
#include "value/compat.h"
#include "value/filter.h"
#include "value/kind.h"
#include "value/layout.h"
#include "value/union.h"

#define NO_LAYER PG_UINT32_MAX

/* Fits the unions that most queries make: two filters of a layer or two. */
#define INITIAL_SPACE 4

/*
 * A layer is offered to the last MAX_OFFERS layers of its shape.  To offer it to all, of
 * which thousands can be full, would take a time that is quadratic in their number.  A
 * layer that equals an earlier one is dropped, so a union with itself adds nothing.
 */
#define MAX_OFFERS 64

/*
 * What the rates may cost that are computed for one filter; see bloomexp_sizing_work().
 * Layers that come after that are not merged.
 */
#define MAX_WORK (1 << 21)

/* Layers that could be merged are in one bucket. */
static uint32 *
bucket_of(const BloomUnion *united, const BloomLayer *layer)
{
	const BloomShape *shape = &layer->bits.shape;
	uint64		key = layer->slice * BLOOMEXP_STEP + ((uint64) shape->words << 6) + shape->hashes;

	return &united->buckets[(key * BLOOMEXP_START) >> 32 & (united->space - 1)];
}

/* Make space for `nlayers` more layers; if there are more buckets then, fill them again. */
static void
make_space(BloomUnion *united, uint32 nlayers)
{
	uint32		space = Max(united->space, INITIAL_SPACE);

	nlayers += united->head.nlayers;
	if (nlayers <= united->space)
		return;
	while (space < nlayers)
		space *= 2;
	if (united->layers == NULL)
	{
		united->layers = MemoryContextAlloc(united->context, space * sizeof(BloomUnionLayer));
		united->buckets = MemoryContextAlloc(united->context, space * sizeof(uint32));
	}
	else
	{
		united->layers = repalloc(united->layers, space * sizeof(BloomUnionLayer));
		united->buckets = repalloc(united->buckets, space * sizeof(uint32));
	}
	united->space = space;
	for (uint32 i = 0; i < space; i++)
		united->buckets[i] = NO_LAYER;
	/* each layer is put before the earlier ones */
	for (uint32 i = 0; i < united->head.nlayers; i++)
	{
		uint32	   *bucket = bucket_of(united, &united->layers[i].layer);

		united->layers[i].next = *bucket;
		*bucket = i;
	}
}

/* Charge the cost of a rate of a layer; false if that exceeds the work left. */
static bool
can_afford(BloomUnion *united, const BloomLayer *layer)
{
	united->work -= bloomexp_sizing_work(&layer->bits.shape);
	return united->work >= 0;
}

/*
 * Find the rate to expect of a layer at its capacity, which `other`, of equal shape, may
 * have as well; false if computing it costs too much.
 */
static bool
find_full_fpr(BloomUnion *united, BloomUnionLayer *mine, const BloomUnionLayer *other)
{
	const BloomLayer *layer = &mine->layer;

	if (mine->full_fpr < 0 && layer->capacity == other->layer.capacity)
		mine->full_fpr = other->full_fpr;
	if (mine->full_fpr < 0 && can_afford(united, layer))
		mine->full_fpr = bloomexp_sizing_expected_fpr(&layer->bits.shape, layer->capacity);
	return mine->full_fpr >= 0;
}

/* Give the union bits of its own for a layer. */
static void
own_bits(BloomUnion *united, BloomUnionLayer *mine)
{
	BloomBits  *bits = &mine->layer.bits;
	Size		size = bloomexp_layout_layer_size(&mine->layer);
	uint8	   *copy;

	if (mine->owned)
		return;
	copy = MemoryContextAllocExtended(united->context, size, MCXT_ALLOC_HUGE);
	memcpy(copy, bits->bytes, size);
	bits->bytes = copy;
	mine->owned = true;
}

/*
 * Merge `other` into `mine`, of equal shape, if the rate of the merged layer stays
 * within the sum of what the two may reach by themselves.
 */
static bool
merge_into(BloomUnion *united, BloomUnionLayer *mine, BloomUnionLayer *other)
{
	const BloomLayer *a = &mine->layer;
	const BloomLayer *b = &other->layer;
	BloomUnionLayer merger = {.layer = *a, .full_fpr = -1.0};
	BloomLayer *merged = &merger.layer;
	const BloomShape *shape = &merged->bits.shape;
	double		both;

	CHECK_FOR_INTERRUPTS();		/* half a gigabyte takes a while */
	if (!find_full_fpr(united, mine, other) || !find_full_fpr(united, other, mine))
		return false;
	both = mine->full_fpr + other->full_fpr;

	merged->bits_set = bloomexp_probe_count_merged(&a->bits, &b->bits);
	/* where one adds nothing to the other, its count is the better one */
	if (merged->bits_set == b->bits_set)
		merged->items = b->items;
	else if (merged->bits_set > a->bits_set)
	{
		double		items = ceil(bloomexp_sizing_estimate_items(shape, merged->bits_set));

		items = Min(items, (double) a->items + b->items);
		items = Max(items, Max(a->items, b->items));
		merged->items = (uint32) Min(items, (double) PG_UINT32_MAX);
	}
	merged->capacity = Max(Max(a->capacity, b->capacity), merged->items);

	/* the rate at present of a layer of one block costs nothing */
	if ((shape->blocks > 1 && !can_afford(united, a)) ||
		bloomexp_sizing_current_fpr(shape, merged->bits_set) > both ||
		!find_full_fpr(united, &merger, merged->capacity == a->capacity ? mine : other) ||
		merger.full_fpr > both)
		return false;

	own_bits(united, mine);
	CHECK_FOR_INTERRUPTS();
	bloomexp_probe_merge(&a->bits, &b->bits);
	mine->layer.bits_set = merged->bits_set;
	mine->layer.items = merged->items;
	mine->layer.capacity = merged->capacity;
	mine->full_fpr = merger.full_fpr;
	mine->digest = 0;
	return true;
}

/* Whether two layers have one shape and are of one slice. */
static bool
same_shape(const BloomLayer *a, const BloomLayer *b)
{
	return a->bits.shape.words == b->bits.shape.words &&
		a->bits.shape.hashes == b->bits.shape.hashes &&
		a->slice == b->slice;
}

/* Return a hash of a layer's bits, so that few layers are compared bit by bit. */
static uint64
digest(BloomUnionLayer *mine)
{
	uint64_t	hash[2] = {mine->digest};

	if (hash[0] == 0)
		bloomexp_murmur3(mine->layer.bits.bytes, bloomexp_layout_layer_size(&mine->layer), 0, hash);
	return mine->digest = hash[0];
}

/* Whether two layers of one shape are the same. */
static bool
are_equal(BloomUnionLayer *mine, BloomUnionLayer *other)
{
	const BloomLayer *a = &mine->layer;
	const BloomLayer *b = &other->layer;

	return a->capacity == b->capacity && a->items == b->items && a->bits_set == b->bits_set &&
		digest(mine) == digest(other) &&
		memcmp(a->bits.bytes, b->bits.bytes, bloomexp_layout_layer_size(a)) == 0;
}

/*
 * Merge a layer into one of the union's first `nmine`, the earliest that can take it, or
 * append it.  There is space for it.
 */
static void
add_layer(BloomUnion *united, const BloomLayer *layer, uint32 nmine)
{
	uint32	   *bucket = bucket_of(united, layer);
	BloomUnionLayer added = {.layer = *layer, .full_fpr = -1.0, .next = *bucket};
	uint32		offers[MAX_OFFERS];
	int			noffers = 0;

	for (uint32 i = *bucket; i != NO_LAYER; i = united->layers[i].next)
	{
		BloomUnionLayer *mine = &united->layers[i];

		CHECK_FOR_INTERRUPTS();
		if (i >= nmine || !same_shape(&mine->layer, layer))
			continue;
		if (noffers < MAX_OFFERS)
			offers[noffers++] = i;
		else if (are_equal(mine, &added))
			return;
	}
	while (noffers > 0)
	{
		BloomUnionLayer *mine = &united->layers[offers[--noffers]];

		if (merge_into(united, mine, &added) || (united->work < 0 && are_equal(mine, &added)))
			return;
	}
	if (united->keeps_bits)
		own_bits(united, &added);
	*bucket = united->head.nlayers;
	united->layers[united->head.nlayers++] = added;
	united->bits_size += bloomexp_layout_layer_size(layer);
}

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
	if (a->seed != b->seed)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("filters with different seeds cannot be united"),
				 errdetail("One has seed %d, the other %d.", (int32) a->seed, (int32) b->seed)));
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
 * bloomexp_union_start
 *		Start a union with one filter, whose memory comes from `context`.
 *
 * If it `keeps_bits`, the filters that go into it may go away; otherwise they stay
 * as long as the union, which then copies no bits that it does not change.
 */
void
bloomexp_union_start(BloomUnion *united, const BloomFilter *first, MemoryContext context,
					 bool keeps_bits)
{
	memset(united, 0, sizeof(*united));
	united->head = *first;
	united->head.layers = NULL;
	united->head.nlayers = 0;
	united->context = context;
	united->keeps_bits = keeps_bits;
	make_space(united, first->nlayers + 1);
	for (uint32 i = 0; i < first->nlayers; i++)
		add_layer(united, &first->layers[i], 0);
}

/*
 * Tell whether all slices of a window, which ascend, lie before all of a union so far, or
 * behind: then they are parts of one window, in which each slice keeps its own rate.
 */
static bool
follows(const BloomUnion *united, uint32 nmine, const BloomFilter *filter)
{
	bool		before = true;
	bool		behind = true;

	if (!filter->windowed)
		return false;
	for (uint32 i = 0; i < nmine && filter->nlayers > 0; i++)
	{
		int64		slice = united->layers[i].layer.slice;

		before = before && filter->layers[filter->nlayers - 1].slice < slice;
		behind = behind && slice < filter->layers[0].slice;
	}
	return before || behind;
}

/*
 * bloomexp_union_add
 *		Add what a filter contains.
 *
 * Its layers are merged with their equals in the union where the target rate allows
 * it, and stand behind them otherwise.  The target rate is the sum, or the larger one if
 * the filters are parts of one window.  Of two windows the one expired up to the earlier time counts, so that nothing is ignored
 * that one of them would take.
 */
void
bloomexp_union_add(BloomUnion *united, const BloomFilter *filter)
{
	BloomFilter *a = &united->head;
	uint32		nmine = a->nlayers;
	bool		parts = follows(united, nmine, filter);

	require_compatible(a, filter);
	make_space(united, filter->nlayers);
	united->work = MAX_WORK;
	for (uint32 i = 0; i < filter->nlayers; i++)
		add_layer(united, &filter->layers[i], nmine);

	if (a->windowed)
		a->expired_before = Min(a->expired_before, filter->expired_before);
	if (a->kind == BLOOM_KIND_NONE)
		a->kind = filter->kind;
	/* never less than either: its own number of items must stay credible */
	a->fpr = Max(Max(a->fpr, filter->fpr), parts ? 0.0 : Min(a->fpr + filter->fpr, 1.0 - DBL_EPSILON));

	if (a->counting && a->nlayers > 1)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("union of the counting filters does not fit in one"),
				 errdetail("They differ in capacity or false positive rate, or hold too many items together."),
				 errhint("Make both with the same bloom_new(capacity, fpr, counting => true), with room for the items of both.")));
	bloomexp_layout_check_size(bloomexp_union_size(united));
	bloomexp_layout_check_layers(a->nlayers);
}

/*
 * bloomexp_union_size
 *		Return the bytes of a union as a value, length word included.
 */
uint64
bloomexp_union_size(const BloomUnion *united)
{
	return VARHDRSZ + bloomexp_layout_headers_size(&united->head) + united->bits_size;
}

/* Order by slice; in each slice as they came. */
static int
compare_slices(const void *a, const void *b)
{
	const BloomUnionLayer *x = *(BloomUnionLayer *const *) a;
	const BloomUnionLayer *y = *(BloomUnionLayer *const *) b;

	if (x->layer.slice != y->layer.slice)
		return x->layer.slice < y->layer.slice ? -1 : 1;
	return x < y ? -1 : x > y;
}

/*
 * bloomexp_union_get_filter
 *		Get the union as a filter, to be laid out.  Its layers have the union's bits.
 */
void
bloomexp_union_get_filter(const BloomUnion *united, BloomFilter *filter)
{
	uint32		nlayers = united->head.nlayers;
	BloomUnionLayer **order = palloc(nlayers * sizeof(BloomUnionLayer *));

	*filter = united->head;
	filter->layers = palloc(nlayers * sizeof(BloomLayer));
	for (uint32 i = 0; i < nlayers; i++)
		order[i] = &united->layers[i];
	if (filter->windowed)
		qsort(order, nlayers, sizeof(BloomUnionLayer *), compare_slices);
	for (uint32 i = 0; i < nlayers; i++)
		filter->layers[i] = order[i]->layer;
	pfree(order);
}
