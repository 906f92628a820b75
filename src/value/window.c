/*-------------------------------------------------------------------------
 *
 * window.c
 *	  Sliding windows.
 *
 * Time is cut into slices, a fixed number in one width of the window, and each
 * item goes into a layer of the slice in which it was shown.  To forget is to drop
 * the layers of a slice that lies wholly before the window.  The slices of a
 * window share its false positive rate; see span_of() in growth.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"
#include "miscadmin.h"

#include "value/compat.h"
#include "value/filter.h"
#include "value/growth.h"
#include "value/layout.h"
#include "value/window.h"

/*
 * bloomexp_window_init
 *		A windowed filter without any layer.
 */
void
bloomexp_window_init(BloomFilter *filter, int64 width, int32 slices, double fpr,
					 uint32 seed)
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
	memset(filter, 0, sizeof(*filter));
	filter->windowed = true;
	filter->width = width;
	filter->floor = BLOOMEXP_NO_FLOOR;
	filter->slices = slices;
	filter->seed = seed;
	filter->fpr = fpr;
	filter->layers = filter->few;
}

/*
 * bloomexp_window_require
 *		Refuse a filter without a window; `function` needs one.
 */
void
bloomexp_window_require(const BloomFilter *filter, const char *function)
{
	if (!filter->windowed)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s needs a windowed filter", function),
				 errdetail("The items of this filter have no times."),
				 errhint("Make the filter with bloom_window() or bloom_window_agg().")));
}

/* Order by item, newest exposure first. */
static int
compare_items(const void *a, const void *b)
{
	const BloomExposure *x = a;
	const BloomExposure *y = b;

	CHECK_FOR_INTERRUPTS();		/* qsort() itself does not */
	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if (x->slice != y->slice)
		return x->slice > y->slice ? -1 : 1;
	return 0;
}

/* Order by slice, oldest first, and by item within a slice. */
static int
compare_slices(const void *a, const void *b)
{
	const BloomExposure *x = a;
	const BloomExposure *y = b;

	CHECK_FOR_INTERRUPTS();
	if (x->slice != y->slice)
		return x->slice < y->slice ? -1 : 1;
	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return 0;
}

/*
 * bloomexp_window_keep_newest
 *		Keep the newest exposure of each item; returns how many remain.  `elements`
 *		are of type BloomExposure.
 */
uint64
bloomexp_window_keep_newest(void *elements, uint64 n)
{
	BloomExposure *exposures = elements;
	uint64		kept = 0;

	qsort(exposures, n, sizeof(BloomExposure), compare_items);
	for (uint64 i = 0; i < n; i++)
	{
		if (kept == 0 || exposures[kept - 1].hash != exposures[i].hash)
			exposures[kept++] = exposures[i];
	}
	return kept;
}

/*
 * bloomexp_window_add
 *		A new value: the filter with more items, each in its slice, or NULL if the
 *		same or later slices contain them all.  Reorders the exposures.  Each
 *		item comes once, and the caller has dropped those that are too old.
 *
 * If they are `final`, no room is left for more in their slices.
 */
struct varlena *
bloomexp_window_add(BloomFilter *filter, BloomKind kind, BloomExposure *exposures,
					uint64 n, bool final)
{
	uint64	   *hashes = palloc_extended(Max(n, 1) * sizeof(uint64), MCXT_ALLOC_HUGE);
	BloomPart  *parts;
	uint64		nslices = 1;
	int			nparts = 0;

	bloomexp_filter_require_kind(filter, kind);
	qsort(exposures, n, sizeof(BloomExposure), compare_slices);
	for (uint64 i = 1; i < n; i++)
		nslices += exposures[i - 1].slice != exposures[i].slice;

	parts = palloc_extended(nslices * sizeof(BloomPart), MCXT_ALLOC_HUGE);
	for (uint64 i = 0; i < n; i++)
	{
		hashes[i] = exposures[i].hash;
		if (i == 0 || exposures[i - 1].slice != exposures[i].slice)
			parts[nparts++] = (BloomPart) {
				.slice = exposures[i].slice, .hashes = hashes + i, .final = final
			};
		parts[nparts - 1].n++;
	}
	return bloomexp_filter_add_parts(filter, kind, parts, nparts);
}

/*
 * bloomexp_window_expire
 *		A new value: the filter without the slices that lie wholly before the
 *		window that ends at `at`, or NULL if the floor would not rise.
 */
struct varlena *
bloomexp_window_expire(BloomFilter *filter, int64 at)
{
	int64		length = bloomexp_window_slice_length(filter->width, filter->slices);
	int64		floor;
	uint32		expired = 0;

	if (pg_sub_s64_overflow(at, filter->width, &floor) || floor <= filter->floor)
		return NULL;
	filter->floor = floor;
	while (expired < filter->nlayers &&
		   filter->layers[expired].slice < bloomexp_window_slice_of(floor, length))
		expired++;
	filter->layers += expired;
	filter->nlayers -= expired;
	return bloomexp_layout_form(filter);
}
