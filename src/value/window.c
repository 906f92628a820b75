/*-------------------------------------------------------------------------
 *
 * window.c
 *	  Sliding windows.
 *
 * Time is cut into slices, a fixed number in one width of the window, and each
 * item goes into a layer of the slice in which it was shown.  To forget is to drop
 * the layers of a slice that lies wholly before the window.  The slices of a
 * window share its false positive rate; see find_slice() in growth.c.
 *
 * Only bloomexp_window_expire() knows the time, and raises the time before which items are
 * ignored.  But a filter that nobody expires must not grow without end: an add goes by the
 * slices that it finds; see find_present().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"
#include "miscadmin.h"

#include "value/filter.h"
#include "value/growth.h"
#include "value/layout.h"
#include "value/window.h"

/* Raise an error unless there can be a window of this width, slices and rate. */
void
bloomexp_window_check(int64 width, int32 slices, double fpr)
{
	if (width <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("width of the window must be positive")));
	if (slices < 1 || slices > BLOOMEXP_MAX_SLICES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("slices must be between 1 and %d", BLOOMEXP_MAX_SLICES)));
	bloomexp_growth_check_fpr(fpr);
}

/* Make a windowed filter without any layer. */
void
bloomexp_window_init(BloomFilter *filter, int64 width, int32 slices, double fpr)
{
	bloomexp_window_check(width, slices, fpr);
	memset(filter, 0, sizeof(*filter));
	filter->windowed = true;
	filter->width = width;
	filter->expired_before = BLOOMEXP_NEVER_EXPIRED;
	filter->slices = slices;
	filter->fpr = fpr;
	filter->layers = filter->inline_layers;
}

/* Up to so many exposures are sorted by insertion. */
#define INSERTION_SORT_MAX 48

/* What exposures are sorted by. */
typedef enum SortKey
{
	BY_ITEM,
	BY_SLICE
} SortKey;

/* What stands for an exposure in a sort, so that unsigned numbers order them. */
static inline uint64
sort_key(const BloomExposure *exposure, SortKey key)
{
	if (key == BY_ITEM)
		return exposure->hash;
	return (uint64) exposure->slice ^ (UINT64_C(1) << 63);	/* negative ones first */
}

/*
 * Sort exposures by a key; those of the same key stay in their order.
 *
 * qsort() takes a time that is quadratic for some orders, and whoever chooses items can find
 * one.  This takes as long for each: it puts them in order by one byte of the key after
 * another, the lowest first.  A byte that is the same in all keys costs one look.
 */
static void
sort_exposures(BloomExposure *exposures, uint64 n, SortKey key)
{
	BloomExposure *from = exposures;
	BloomExposure *to;
	BloomExposure *other;

	if (n <= INSERTION_SORT_MAX)
	{
		for (uint64 i = 1; i < n; i++)
		{
			BloomExposure exposure = exposures[i];
			uint64		place = i;

			for (; place > 0 &&
				 sort_key(&exposures[place - 1], key) > sort_key(&exposure, key); place--)
				exposures[place] = exposures[place - 1];
			exposures[place] = exposure;
		}
		return;
	}

	other = to = palloc_extended(n * sizeof(BloomExposure), MCXT_ALLOC_HUGE);
	for (int shift = 0; shift < 64; shift += 8)
	{
		uint64		next[256] = {0};	/* where the next one with each byte goes */
		uint64		place = 0;
		BloomExposure *swap = from;

		CHECK_FOR_INTERRUPTS();
		for (uint64 i = 0; i < n; i++)
			next[(sort_key(&from[i], key) >> shift) % 256]++;
		if (next[(sort_key(&from[0], key) >> shift) % 256] == n)
			continue;
		for (int byte = 0; byte < 256; byte++)
		{
			uint64		count = next[byte];

			next[byte] = place;
			place += count;
		}
		for (uint64 i = 0; i < n; i++)
			to[next[(sort_key(&from[i], key) >> shift) % 256]++] = from[i];
		from = to;
		to = swap;
	}
	if (from != exposures)
		memcpy(exposures, from, n * sizeof(BloomExposure));
	pfree(other);
}

/* Keep the newest exposure of each item; returns how many remain. */
uint64
bloomexp_window_keep_newest(BloomExposure *exposures, uint64 n)
{
	uint64		kept = 0;

	sort_exposures(exposures, n, BY_ITEM);
	for (uint64 i = 0; i < n; i++)
	{
		if (kept == 0 || exposures[kept - 1].hash != exposures[i].hash)
			exposures[kept++] = exposures[i];
		else
			exposures[kept - 1].slice = Max(exposures[kept - 1].slice, exposures[i].slice);
	}
	return kept;
}

/* Return the first slice of the window that ends where a slice begins. */
static int64
window_start(const BloomFilter *filter, int64 slice)
{
	int64		length = bloomexp_window_slice_length(filter->width, filter->slices);
	int64		time;

	if (pg_mul_s64_overflow(slice, length, &time) ||
		pg_sub_s64_overflow(time, filter->width, &time))
		return PG_INT64_MIN;
	return bloomexp_window_slice_of(time, length);
}

/* The newest slice before one, of a filter and what is added; PG_INT64_MIN if there is none. */
static int64
newest_before(const BloomFilter *filter, const BloomSliceItems *parts, int nparts, int64 slice)
{
	uint32		nlayers = bloomexp_growth_slice_start(filter, slice);
	int64		newest = nlayers > 0 ? filter->layers[nlayers - 1].slice : PG_INT64_MIN;

	for (int i = 0; i < nparts && parts[i].slice < slice; i++)
	{
		if (parts[i].n > 0)
			newest = Max(newest, parts[i].slice);
	}
	return newest;
}

/*
 * Return the slice that a filter and what is added take for the present; PG_INT64_MIN if
 * there is none.
 *
 * That is the newest one.  But if the second newest lies before the whole window of the
 * newest, that may come from a wrong time in the future: then the second newest is taken,
 * until another slice confirms the newest.
 */
static int64
find_present(const BloomFilter *filter, const BloomSliceItems *parts, int nparts)
{
	int64		newest = newest_before(filter, parts, nparts, PG_INT64_MAX);
	int64		second = newest_before(filter, parts, nparts, newest);

	return second > PG_INT64_MIN && second < window_start(filter, newest) ? second : newest;
}

/*
 * Drop the slices that leave the window if what is added moves the present on: those of the
 * filter, and those of what is added.
 *
 * Late items move nothing, so whatever time the filter takes for the present, they are
 * added.
 */
static void
drop_old_slices(BloomFilter *filter, BloomSliceItems *parts, int nparts)
{
	int64		present = find_present(filter, parts, nparts);
	int64		start;
	uint32		dropped;

	if (present <= find_present(filter, NULL, 0))
		return;
	start = window_start(filter, present);
	dropped = bloomexp_growth_slice_start(filter, start);
	filter->layers += dropped;
	filter->nlayers -= dropped;
	for (int i = 0; i < nparts && parts[i].slice < start; i++)
		parts[i].n = 0;
}

/*
 * Make a new value: the filter with more items, each in its slice, or NULL if the same or
 * later slices contain them all.  Reorders the exposures.  Each item comes once, and the
 * caller has dropped those that are too old.
 *
 * If they are the last ones of their slices, `final`, these get no space for more.  Slices
 * that leave the window are dropped, if `drop_old`.
 */
struct varlena *
bloomexp_window_add(BloomFilter *filter, BloomKind kind, BloomExposure *exposures,
					uint64 n, bool final, bool drop_old)
{
	uint64	   *hashes = palloc_extended(Max(n, 1) * sizeof(uint64), MCXT_ALLOC_HUGE);
	BloomSliceItems *parts;
	uint64		nslices = 1;
	int			nparts = 0;

	bloomexp_filter_require_kind(filter, kind);
	sort_exposures(exposures, n, BY_SLICE);
	for (uint64 i = 1; i < n; i++)
		nslices += exposures[i - 1].slice != exposures[i].slice;

	parts = palloc_extended(nslices * sizeof(BloomSliceItems), MCXT_ALLOC_HUGE);
	for (uint64 i = 0; i < n; i++)
	{
		hashes[i] = exposures[i].hash;
		if (i == 0 || exposures[i - 1].slice != exposures[i].slice)
			parts[nparts++] = (BloomSliceItems) {
				.slice = exposures[i].slice, .hashes = hashes + i, .final = final
			};
		parts[nparts - 1].n++;
	}
	if (bloomexp_filter_keep_new(filter, parts, nparts) == 0)
		return NULL;
	if (drop_old)
		drop_old_slices(filter, parts, nparts);
	return bloomexp_filter_add_parts(filter, kind, parts, nparts);
}

/*
 * Make a new value: the filter with hashes that were shown at one time, each once, or NULL if it
 * has them already, or if that was before its window.  They are the last ones of their slice, if
 * `final`.
 */
struct varlena *
bloomexp_window_add_hashes(BloomFilter *filter, BloomKind kind, const uint64 *hashes, int n,
						   int64 shown_at, bool final)
{
	BloomExposure *exposures;
	int64		slice;

	bloomexp_filter_require_kind(filter, kind);
	if (shown_at < filter->expired_before)
		return NULL;
	slice = bloomexp_window_slice_at(filter, shown_at);
	exposures = palloc_extended(Max(n, 1) * sizeof(BloomExposure), MCXT_ALLOC_HUGE);
	for (int i = 0; i < n; i++)
	{
		if (i % BLOOMEXP_INTERRUPT_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		exposures[i].hash = hashes[i];
		exposures[i].slice = slice;
	}
	return bloomexp_window_add(filter, kind, exposures, n, final, true);
}

/* Return the number of layers whose slices lie wholly before a window that begins at `start`. */
uint32
bloomexp_window_expired_layers(const BloomFilter *filter, int64 start)
{
	return bloomexp_growth_slice_start(filter, bloomexp_window_slice_at(filter, start));
}

/*
 * Make a new value: the filter without the slices that lie wholly before the window that
 * ends at `at`, or NULL if that begins no later than the last one.
 */
struct varlena *
bloomexp_window_expire(BloomFilter *filter, int64 at)
{
	int64		start;

	if (pg_sub_s64_overflow(at, filter->width, &start) || start <= filter->expired_before)
		return NULL;
	filter->expired_before = start;
	return bloomexp_window_cut(filter, bloomexp_window_expired_layers(filter, start),
							   filter->nlayers);
}

/* Make a new value: the filter with its layers from `first` on, up to `end`. */
struct varlena *
bloomexp_window_cut(BloomFilter *filter, uint32 first, uint32 end)
{
	filter->layers += first;
	filter->nlayers = end - first;
	return bloomexp_layout_form(filter);
}
