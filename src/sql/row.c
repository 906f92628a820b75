/*-------------------------------------------------------------------------
 *
 * row.c
 *	  SQL functions for the row of a user in a feed: what a call that adds makes of it.
 *
 * A row has the hashes of the newest items, `recent`, the newest first, and a filter of the others,
 * `items`.  If the feed has a window, all of `recent` lies in the slice that began at `since`.
 * Hashes are added with one time:
 *
 * - If they are of a newer slice than `recent`, that one ends first: `recent` goes into `items`.
 *	 So what is shown again is added again.  The same happens if `since` is ahead of the clock,
 *	 because no slice begins in the future.
 * - If they are of an older slice, they go into `items`, at their time; but not those that `recent`
 *	 has, because they were shown again since then.
 * - More than `recent` takes go into `items`, like late ones, and leave `recent` alone.
 * - Otherwise those that `recent` does not have come before the others there.  If that becomes too
 *	 long, the others go into `items`.
 *
 * Without a window there is one slice.  Each column has a function, because an UPDATE sets columns.
 * They read no table and no clock: the caller has locked the row.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "sql/arguments.h"
#include "sql/hash_set.h"
#include "sql/hashes.h"
#include "value/filter.h"
#include "value/layout.h"
#include "value/window.h"

/* With the header of an array these take 2,000 bytes. */
#define MAX_RECENT 247

/* How to make the filter of a row, and to add to it. */
typedef struct BloomRowSettings
{
	BloomKind	kind;
	double		fpr;
	int64		capacity;		/* of a first layer, if there is no window */
	int64		width;			/* 0 without a window */
	int32		slices;
} BloomRowSettings;

/*
 * A row, which changes as hashes are added.  Slices are their numbers; without a window there is
 * slice 0, 1 microsecond long.
 */
typedef struct BloomRow
{
	const uint64 *recent;
	int			nrecent;
	bool		has_slice;		/* false if nothing was added yet */
	int64		slice;			/* of `recent` */
	int64		newest;			/* slice of the present */
	int64		slice_length;
	const BloomRowSettings *settings;	/* NULL: `items` is left alone */
	struct varlena *items;		/* NULL: there is no filter */
	bool		changed;		/* a column other than `items` */
	bool		to_items;		/* hashes are for `items`, which may have them already */
} BloomRow;

/* Hashes to add to a row.  Without any, a time begins a slice all the same. */
typedef struct BloomAddition
{
	const uint64 *hashes;
	int			n;
	bool		has_slice;		/* false without hashes and without a time */
	int64		slice;
} BloomAddition;

/*
 * Return a filter with more hashes, each once, which were shown at a time; the same one if it has
 * them, or if that is before its window.  NULL is an empty one.
 *
 * If no more come for the slice of that time, it is `final`.  What is added has the target rate of
 * the settings, whatever the filter had before.
 */
static struct varlena *
add_to_filter(struct varlena *items, const BloomRowSettings *settings, const uint64 *hashes, int n,
			  int64 shown_at, bool final)
{
	BloomFilter filter;
	struct varlena *value;

	if (items)
	{
		bloomexp_layout_open(&filter, items);
		value = bloomexp_filter_with_fpr(&filter, settings->fpr);
		if (value)
			bloomexp_layout_open(&filter, value);
	}
	else if (settings->width == 0)
		bloomexp_filter_init(&filter, settings->capacity, settings->fpr, false);
	else
		bloomexp_window_init(&filter, settings->width, settings->slices, settings->fpr);

	if (settings->width == 0)
	{
		uint64	   *copies = palloc_extended(Max(n, 1) * sizeof(uint64), MCXT_ALLOC_HUGE);

		if (n > 0)
			memcpy(copies, hashes, n * sizeof(uint64));
		value = bloomexp_filter_add(&filter, settings->kind, copies, n);
	}
	else
	{
		bloomexp_arguments_require_windowed(&filter, "a feed with a window");
		/* the start of a slice stands for all of it, even if it has expired in part */
		if (bloomexp_window_slice_at(&filter, shown_at) ==
			bloomexp_window_slice_at(&filter, filter.expired_before))
			shown_at = Max(shown_at, filter.expired_before);
		value = bloomexp_window_add_hashes(&filter, settings->kind, hashes, n, shown_at, final);
	}
	return value ? value : items;
}

/* Put hashes of a slice into the filter of a row, unless that is left alone. */
static void
put_into_items(BloomRow *row, const uint64 *hashes, int n, int64 slice, bool final)
{
	if (row->settings)
		row->items = add_to_filter(row->items, row->settings, hashes, n,
								   slice * row->slice_length, final);
}

/* Let `recent` begin with a slice, or with an earlier one if that is ahead of the clock. */
static void
begin_slice(BloomRow *row, int64 slice)
{
	if (row->has_slice)
		slice = Max(slice, row->slice);
	slice = Min(slice, row->newest);
	if (row->has_slice && row->slice == slice)
		return;
	if (row->nrecent > 0)
		put_into_items(row, row->recent, row->nrecent, row->slice, true);
	row->nrecent = 0;
	row->has_slice = true;
	row->slice = slice;
	row->changed = true;
}

/* Put n hashes, each once, before those in `recent`, which go into the filter if it is full. */
static void
put_into_recent(BloomRow *row, const uint64 *hashes, int n)
{
	uint64	   *recent;

	if (row->nrecent + n > MAX_RECENT)
	{
		if (row->nrecent > 0)
			put_into_items(row, row->recent, row->nrecent, row->slice, false);
		row->nrecent = 0;
	}
	recent = palloc((n + row->nrecent) * sizeof(uint64));
	memcpy(recent, hashes, n * sizeof(uint64));
	if (row->nrecent > 0)
		memcpy(recent + n, row->recent, row->nrecent * sizeof(uint64));
	row->recent = recent;
	row->nrecent += n;
	row->changed = true;
}

/* Add hashes to a row, or only begin the slice of their time. */
static void
add_to_row(BloomRow *row, const BloomAddition *addition)
{
	uint64	   *found;
	int			n;

	if (!addition->has_slice)
		return;
	begin_slice(row, addition->slice);
	if (addition->n == 0)
		return;
	found = palloc_extended(addition->n * sizeof(uint64), MCXT_ALLOC_HUGE);
	n = bloomexp_hash_set_find_new(addition->hashes, addition->n, row->recent, row->nrecent, found);
	if (n == 0)
		return;
	if (addition->slice < row->slice || addition->n > MAX_RECENT)
	{
		put_into_items(row, found, n, addition->slice, false);
		row->to_items = true;
	}
	else
		put_into_recent(row, found, n);
}

/* Return the hashes of an argument, and their number in *n; none if it is NULL. */
static const uint64 *
get_hashes(FunctionCallInfo fcinfo, int argno, int *n)
{
	*n = 0;
	return PG_ARGISNULL(argno) ? NULL : bloomexp_arguments_hashes(fcinfo, argno, n);
}

/* Read recent and hashes, from argument `first` on. */
static void
get_row(FunctionCallInfo fcinfo, int first, BloomRow *row, BloomAddition *addition)
{
	memset(row, 0, sizeof(*row));
	memset(addition, 0, sizeof(*addition));
	row->recent = get_hashes(fcinfo, first, &row->nrecent);
	/* without a window all is of slice 0 */
	row->has_slice = true;
	row->slice_length = 1;
	addition->hashes = get_hashes(fcinfo, first + 1, &addition->n);
	addition->has_slice = true;
}

/* Read kind, fpr and capacity, from argument `first` on. */
static void
get_settings(FunctionCallInfo fcinfo, int first, BloomRowSettings *settings)
{
	static const char *const names[] = {"kind", "fpr", "capacity"};

	bloomexp_arguments_require_not_null(fcinfo, first, names, lengthof(names));
	memset(settings, 0, sizeof(*settings));
	settings->kind = bloomexp_arguments_kind(fcinfo, first);
	settings->fpr = PG_GETARG_FLOAT8(first + 1);
	settings->capacity = PG_GETARG_INT64(first + 2);
}

/* Read width, slices, kind and fpr, from argument `first` on. */
static void
get_windowed_settings(FunctionCallInfo fcinfo, int first, BloomRowSettings *settings)
{
	static const char *const names[] = {"width", "slices", "kind", "fpr"};

	bloomexp_arguments_require_not_null(fcinfo, first, names, lengthof(names));
	memset(settings, 0, sizeof(*settings));
	settings->width = bloomexp_arguments_width(PG_GETARG_INTERVAL_P(first));
	settings->slices = PG_GETARG_INT32(first + 1);
	settings->kind = bloomexp_arguments_kind(fcinfo, first + 2);
	settings->fpr = PG_GETARG_FLOAT8(first + 3);
	bloomexp_window_check(settings->width, settings->slices, settings->fpr);
}

/* Read recent, since, hashes, shown_at, present, width and slices, from argument `first` on. */
static void
get_windowed_row(FunctionCallInfo fcinfo, int first, BloomRow *row, BloomAddition *addition)
{
	static const char *const names[] = {"width", "slices"};
	static const char *const shown_at_name[] = {"shown_at"};
	int64		width;
	TimestampTz shown_at;
	int64		present = bloomexp_arguments_time(fcinfo->args[first + 4], "present");

	memset(row, 0, sizeof(*row));
	memset(addition, 0, sizeof(*addition));
	bloomexp_arguments_require_not_null(fcinfo, first + 5, names, lengthof(names));
	width = bloomexp_arguments_width(PG_GETARG_INTERVAL_P(first + 5));
	bloomexp_window_check(width, PG_GETARG_INT32(first + 6), BLOOMEXP_DEFAULT_FPR);
	row->slice_length = bloomexp_window_slice_length(width, PG_GETARG_INT32(first + 6));
	row->newest = bloomexp_window_slice_of(present, row->slice_length);

	row->recent = get_hashes(fcinfo, first, &row->nrecent);
	row->has_slice = row->nrecent > 0 || !PG_ARGISNULL(first + 1);
	if (row->has_slice)
		row->slice = bloomexp_window_slice_of(
			bloomexp_arguments_time(fcinfo->args[first + 1], "since"), row->slice_length);
	addition->hashes = get_hashes(fcinfo, first + 2, &addition->n);
	if (addition->n == 0 && PG_ARGISNULL(first + 3))
		return;
	bloomexp_arguments_require_not_null(fcinfo, first + 3, shown_at_name, 1);
	shown_at = PG_GETARG_TIMESTAMPTZ(first + 3);
	if (TIMESTAMP_IS_NOBEGIN(shown_at))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("shown_at must not be -infinity")));
	addition->has_slice = true;
	/* a time in the future counts as now */
	addition->slice = bloomexp_window_slice_of(Min(shown_at, present), row->slice_length);
}

/* Add all to a row, whose filter is argument 0, and return that; NULL if it stays as it is. */
static struct varlena *
change_items(FunctionCallInfo fcinfo, BloomRow *row, const BloomAddition *addition,
			 const BloomRowSettings *settings)
{
	struct varlena *items = PG_ARGISNULL(0) ? NULL : PG_GETARG_BLOOM_PP(0);

	row->settings = settings;
	row->items = items;
	add_to_row(row, addition);
	return row->items == items ? NULL : row->items;
}

/* Tell without a look at `items` that it stays as it is, as it nearly always does. */
static bool
keeps_items(const BloomRow *row, const BloomAddition *addition)
{
	if (row->nrecent + addition->n > MAX_RECENT)
		return false;
	return !row->has_slice || !addition->has_slice || row->slice == addition->slice;
}

/* bloomexp.items_after(items, recent, hashes, kind, fpr, capacity) */
PG_FUNCTION_INFO_V1(bloomexp_items_after);
Datum
bloomexp_items_after(PG_FUNCTION_ARGS)
{
	BloomRow	row;
	BloomAddition addition;
	BloomRowSettings settings;

	get_row(fcinfo, 1, &row, &addition);
	if (keeps_items(&row, &addition))
		return bloomexp_arguments_return_untouched(fcinfo);
	get_settings(fcinfo, 3, &settings);
	return bloomexp_arguments_return_changed(
		fcinfo, change_items(fcinfo, &row, &addition, &settings));
}

/*
 * bloomexp.items_after(items, recent, since, hashes, shown_at, present, width, slices, kind, fpr)
 */
PG_FUNCTION_INFO_V1(bloomexp_items_after_window);
Datum
bloomexp_items_after_window(PG_FUNCTION_ARGS)
{
	BloomRow	row;
	BloomAddition addition;
	BloomRowSettings settings;

	get_windowed_row(fcinfo, 1, &row, &addition);
	if (keeps_items(&row, &addition))
		return bloomexp_arguments_return_untouched(fcinfo);
	get_windowed_settings(fcinfo, 6, &settings);
	return bloomexp_arguments_return_changed(
		fcinfo, change_items(fcinfo, &row, &addition, &settings));
}

/* bloomexp.recent_after(recent, hashes) */
PG_FUNCTION_INFO_V1(bloomexp_recent_after);
Datum
bloomexp_recent_after(PG_FUNCTION_ARGS)
{
	BloomRow	row;
	BloomAddition addition;

	get_row(fcinfo, 0, &row, &addition);
	add_to_row(&row, &addition);
	PG_RETURN_ARRAYTYPE_P(bloomexp_hashes_to_array(row.recent, row.nrecent));
}

/* bloomexp.recent_after(recent, since, hashes, shown_at, present, width, slices) */
PG_FUNCTION_INFO_V1(bloomexp_recent_after_window);
Datum
bloomexp_recent_after_window(PG_FUNCTION_ARGS)
{
	BloomRow	row;
	BloomAddition addition;

	get_windowed_row(fcinfo, 0, &row, &addition);
	add_to_row(&row, &addition);
	PG_RETURN_ARRAYTYPE_P(bloomexp_hashes_to_array(row.recent, row.nrecent));
}

/* bloomexp.since_after(recent, since, hashes, shown_at, present, width, slices) */
PG_FUNCTION_INFO_V1(bloomexp_since_after);
Datum
bloomexp_since_after(PG_FUNCTION_ARGS)
{
	BloomRow	row;
	BloomAddition addition;

	get_windowed_row(fcinfo, 0, &row, &addition);
	if (addition.has_slice)
		begin_slice(&row, addition.slice);
	if (!row.has_slice)
		PG_RETURN_NULL();
	/* a slice can begin before all times that there are */
	PG_RETURN_TIMESTAMPTZ(Max(row.slice * row.slice_length, MIN_TIMESTAMP));
}

/* Tell whether hashes that are added confirm the last take: some of them are pending. */
static bool
confirms(const BloomRow *row, const BloomAddition *addition, int pending)
{
	for (int i = 0; i < Min(pending, row->nrecent); i++)
	{
		CHECK_FOR_INTERRUPTS();
		for (int j = 0; j < addition->n; j++)
		{
			if (row->recent[i] == addition->hashes[j])
				return true;
		}
	}
	return false;
}

/* bloomexp.row_changes(items, pending, recent, hashes, kind, fpr, capacity) */
PG_FUNCTION_INFO_V1(bloomexp_row_changes);
Datum
bloomexp_row_changes(PG_FUNCTION_ARGS)
{
	BloomRow	row;
	BloomAddition addition;
	BloomRowSettings settings;

	if (PG_ARGISNULL(1) || PG_ARGISNULL(2))
		PG_RETURN_NULL();		/* there is no row */
	get_row(fcinfo, 2, &row, &addition);
	if (confirms(&row, &addition, PG_GETARG_INT32(1)))
		PG_RETURN_BOOL(true);
	add_to_row(&row, &addition);
	if (row.changed || !row.to_items)
		PG_RETURN_BOOL(row.changed);
	get_settings(fcinfo, 4, &settings);
	PG_RETURN_BOOL(change_items(fcinfo, &row, &addition, &settings) != NULL);
}

/*
 * bloomexp.row_changes(items, pending, recent, since, hashes, shown_at, present, width, slices,
 * kind, fpr)
 */
PG_FUNCTION_INFO_V1(bloomexp_row_changes_window);
Datum
bloomexp_row_changes_window(PG_FUNCTION_ARGS)
{
	BloomRow	row;
	BloomAddition addition;
	BloomRowSettings settings;

	if (PG_ARGISNULL(1) || PG_ARGISNULL(2))
		PG_RETURN_NULL();		/* there is no row */
	get_windowed_row(fcinfo, 2, &row, &addition);
	if (confirms(&row, &addition, PG_GETARG_INT32(1)))
		PG_RETURN_BOOL(true);
	add_to_row(&row, &addition);
	if (row.changed || !row.to_items)
		PG_RETURN_BOOL(row.changed);
	get_windowed_settings(fcinfo, 7, &settings);
	PG_RETURN_BOOL(change_items(fcinfo, &row, &addition, &settings) != NULL);
}

/* Return the filter of argument 0 with n hashes of `recent`, which began at `since`. */
static Datum
return_folded(FunctionCallInfo fcinfo, const BloomRowSettings *settings, const uint64 *recent,
			  int n, int64 since)
{
	struct varlena *items = PG_ARGISNULL(0) ? NULL : PG_GETARG_BLOOM_PP(0);
	struct varlena *folded = add_to_filter(items, settings, recent, n, since, true);

	return bloomexp_arguments_return_changed(fcinfo, folded == items ? NULL : folded);
}

/* bloomexp.fold(items, recent, kind, fpr, capacity) */
PG_FUNCTION_INFO_V1(bloomexp_fold);
Datum
bloomexp_fold(PG_FUNCTION_ARGS)
{
	BloomRowSettings settings;
	const uint64 *recent;
	int			n;

	recent = get_hashes(fcinfo, 1, &n);
	if (n == 0)
		return bloomexp_arguments_return_untouched(fcinfo);
	get_settings(fcinfo, 2, &settings);
	return return_folded(fcinfo, &settings, recent, n, 0);
}

/* bloomexp.fold(items, recent, since, width, slices, kind, fpr) */
PG_FUNCTION_INFO_V1(bloomexp_fold_window);
Datum
bloomexp_fold_window(PG_FUNCTION_ARGS)
{
	BloomRowSettings settings;
	const uint64 *recent;
	int			n;

	recent = get_hashes(fcinfo, 1, &n);
	if (n == 0)
		return bloomexp_arguments_return_untouched(fcinfo);
	get_windowed_settings(fcinfo, 3, &settings);
	return return_folded(fcinfo, &settings, recent, n,
						 bloomexp_arguments_time(fcinfo->args[2], "since"));
}
