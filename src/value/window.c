/*-------------------------------------------------------------------------
 *
 * window.c
 *	  Sliding windows: filters that forget old items.
 *
 * Time is divided into slices, a fixed number of them in the width of the window, and each item
 * goes into a layer of the slice in which it was shown.  Forgetting drops the layers of slices
 * that lie wholly before the window.  The slices of a window share its false positive rate: see
 * find_group() in growth.c.
 *
 * Only bloomexp_window_expire() is told the time.  A filter that nobody expires must not grow
 * without end, so adds infer the present from the slices: see find_present().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"
#include "miscadmin.h"

#include "kernel/interrupt.h"
#include "kernel/sort.h"
#include "value/filter.h"
#include "value/growth.h"
#include "value/layout.h"
#include "value/window.h"

/* Raise an error unless a window can have this width, number of slices and target rate. */
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

/* Make an empty windowed filter, which has no layer. */
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

/* Keep the newest exposure of each item.  Returns how many exposures remain. */
uint64
bloomexp_window_keep_newest(BloomExposure *exposures, uint64 n)
{
	uint64		kept = 0;

	bloomexp_sort_by_hash(exposures, n, bloomexp_filter_check_for_interrupts);
	for (uint64 i = 0; i < n; i++)
	{
		if (kept == 0 || exposures[kept - 1].hash != exposures[i].hash)
			exposures[kept++] = exposures[i];
		else
			exposures[kept - 1].slice = Max(exposures[kept - 1].slice, exposures[i].slice);
	}
	return kept;
}

/* Return the oldest slice of a window that ends where `slice` begins. */
static int64
oldest_slice_before(const BloomFilter *filter, int64 slice)
{
	int64		length = bloomexp_window_slice_length(filter->width, filter->slices);
	int64		time;

	if (pg_mul_s64_overflow(slice, length, &time) ||
		pg_sub_s64_overflow(time, filter->width, &time))
		return PG_INT64_MIN;
	return bloomexp_window_slice_of(time, length);
}

/*
 * Return the newest slice before `slice`, in a filter and in the items being added, or PG_INT64_MIN
 * if there is none.
 */
static int64
newest_before(const BloomFilter *filter, const BloomSliceItems *parts, int nparts, int64 slice)
{
	uint32		nlayers = bloomexp_growth_first_of_slice(filter, slice);
	int64		newest = nlayers > 0 ? filter->layers[nlayers - 1].slice : PG_INT64_MIN;

	for (int i = 0; i < nparts && parts[i].slice < slice; i++)
	{
		if (parts[i].n > 0)
			newest = Max(newest, parts[i].slice);
	}
	return newest;
}

/*
 * Return the slice to treat as now, given a filter and the items being added, or PG_INT64_MIN if
 * there is none.
 *
 * Normally that is the newest slice.  But if the second newest lies before the whole window of the
 * newest, the newest may come from a wrong time in the future.  Then the second newest is taken,
 * until another slice confirms the newest.
 */
static int64
find_present(const BloomFilter *filter, const BloomSliceItems *parts, int nparts)
{
	int64		newest = newest_before(filter, parts, nparts, PG_INT64_MAX);
	int64		second = newest_before(filter, parts, nparts, newest);

	return second > PG_INT64_MIN && second < oldest_slice_before(filter, newest) ? second : newest;
}

/*
 * If the new items advance the present, drop the slices that have left the window, both from
 * the filter and from the items being added.
 *
 * Late items do not advance the present, so they are always added.
 */
static void
drop_old_slices(BloomFilter *filter, BloomSliceItems *parts, int nparts)
{
	int64		present = find_present(filter, parts, nparts);
	int64		start;
	uint32		dropped;

	if (present <= find_present(filter, NULL, 0))
		return;
	start = oldest_slice_before(filter, present);
	dropped = bloomexp_growth_first_of_slice(filter, start);
	filter->layers += dropped;
	filter->nlayers -= dropped;
	for (int i = 0; i < nparts && parts[i].slice < start; i++)
		parts[i].n = 0;
}

/*
 * Return a new value with exposures added to a windowed filter, or NULL if it contains all of
 * the items in the same or newer slices.  Reorders the exposures.  For `flags`, see window.h.
 *
 * Each item must come once, and no exposure may be older than the window.
 */
struct varlena *
bloomexp_window_add(const BloomFilter *filter, BloomKind kind, BloomExposure *exposures,
					uint64 n, int flags)
{
	BloomFilter kept = *filter;
	uint64	   *hashes = palloc_extended(Max(n, 1) * sizeof(uint64), MCXT_ALLOC_HUGE);
	BloomSliceItems *parts;
	uint64		nslices = 1;
	int			nparts = 0;

	bloomexp_filter_require_kind(filter, kind);
	bloomexp_sort_by_slice(exposures, n, bloomexp_filter_check_for_interrupts);
	for (uint64 i = 1; i < n; i++)
		nslices += exposures[i - 1].slice != exposures[i].slice;

	parts = palloc_extended(nslices * sizeof(BloomSliceItems), MCXT_ALLOC_HUGE);
	for (uint64 i = 0; i < n; i++)
	{
		hashes[i] = exposures[i].hash;
		if (i == 0 || exposures[i - 1].slice != exposures[i].slice)
			parts[nparts++] = (BloomSliceItems) {
				.slice = exposures[i].slice,
				.hashes = hashes + i,
				.final = (flags & BLOOMEXP_ADD_FINAL) != 0,
			};
		parts[nparts - 1].n++;
	}
	if (bloomexp_filter_keep_new(filter, parts, nparts) == 0)
		return NULL;
	if (flags & BLOOMEXP_ADD_DROP_OLD)
		drop_old_slices(&kept, parts, nparts);
	return bloomexp_filter_add_parts(&kept, kind, parts, nparts);
}

/*
 * Return a new value with n items added to a windowed filter, all shown at one time.  Returns
 * NULL if the filter contains all of them in the same or newer slices, or if the time is before its
 * window.  For `flags`, see window.h.
 */
struct varlena *
bloomexp_window_add_hashes(const BloomFilter *filter, BloomKind kind, const uint64 *hashes, int n,
						   int64 shown_at, int flags)
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
	return bloomexp_window_add(filter, kind, exposures, n, flags);
}

/* Return how many of the oldest layers lie wholly before a window that begins at `start`. */
uint32
bloomexp_window_expired_layers(const BloomFilter *filter, int64 start)
{
	return bloomexp_growth_first_of_slice(filter, bloomexp_window_slice_at(filter, start));
}

/*
 * Return a new value without the slices that lie wholly before the window that ends at `at`.
 * Returns NULL if the filter has been expired up to that time or later.  Changes `filter`.
 */
struct varlena *
bloomexp_window_expire(BloomFilter *filter, int64 at)
{
	int64		start;
	uint32		expired;

	if (pg_sub_s64_overflow(at, filter->width, &start) || start <= filter->expired_before)
		return NULL;
	filter->expired_before = start;
	expired = bloomexp_window_expired_layers(filter, start);
	filter->layers += expired;
	filter->nlayers -= expired;
	return bloomexp_layout_form(filter);
}
