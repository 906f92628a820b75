/*-------------------------------------------------------------------------
 *
 * row.c
 *	  SQL functions for the row of a user in a feed: what a call that adds makes of it.
 *
 * A row has the hashes of the newest items, `recent`, the newest first, and a filter of what is
 * older, `items`.  If the feed has a window, all of `recent` lies in the slice that began at
 * `since`.  A call adds hashes of one slice:
 *
 * - If this is a newer slice, the old one ends first: `recent` goes into `items`.  So what is
 *	 shown again is added again.  The same happens if `since` is ahead of the clock, because no
 *	 slice begins in the future.
 * - If it is an older slice, the hashes go into `items`, at their time; but not those that `recent`
 *	 has, because they were shown again since then.
 * - Otherwise those that `recent` does not have come before the others there.  If that becomes too
 *	 long, the others go into `items`; so do the new ones, if they are too long alone.
 *
 * Without a window only the last one applies.  There is a function for each column, because an
 * UPDATE sets columns.  They read no table and no clock: the caller has locked the row.
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

/* A row without its filter, and the hashes that a call adds to it. */
typedef struct BloomRow
{
	const uint64 *recent;
	const uint64 *hashes;
	int			nrecent;
	int			nhashes;
	/* times are 0 without a window */
	int64		since;			/* of `recent` */
	int64		slice;			/* of the hashes */
	int64		since_after;	/* of `recent`, after the hashes are added */
	bool		moves;			/* `since` does, or is set for the first time */
	bool		ends;			/* a slice with something in `recent` does */
	bool		late;			/* the hashes are of an older slice than `recent` will be */
} BloomRow;

/* How to make the filter of a row, and to add to it. */
typedef struct BloomRowSettings
{
	BloomKind	kind;
	double		fpr;
	int64		capacity;		/* of a first layer, if there is no window */
	int64		width;			/* 0 without a window */
	int32		slices;
} BloomRowSettings;

/* Return the hashes of an argument, and their number in *n; none if it is NULL. */
static const uint64 *
get_hashes(FunctionCallInfo fcinfo, int argno, int *n)
{
	*n = 0;
	return PG_ARGISNULL(argno) ? NULL : bloomexp_arguments_hashes(fcinfo, argno, n);
}

/* Read the arguments recent and hashes, from `first` on. */
static void
get_row(FunctionCallInfo fcinfo, int first, BloomRow *row)
{
	memset(row, 0, sizeof(*row));
	row->recent = get_hashes(fcinfo, first, &row->nrecent);
	row->hashes = get_hashes(fcinfo, first + 1, &row->nhashes);
}

/*
 * Read the arguments recent, since, hashes, slice and newest, from `first` on.  The last is the
 * slice of the present.
 */
static void
get_windowed_row(FunctionCallInfo fcinfo, int first, BloomRow *row)
{
	const NullableDatum *since = &fcinfo->args[first + 1];
	const NullableDatum *slice = &fcinfo->args[first + 3];
	int64		newest = bloomexp_arguments_time(fcinfo->args[first + 4], "newest");

	memset(row, 0, sizeof(*row));
	row->recent = get_hashes(fcinfo, first, &row->nrecent);
	row->hashes = get_hashes(fcinfo, first + 2, &row->nhashes);

	/* as an UPDATE does it: LEAST(GREATEST(since, slice), newest) */
	row->since = row->slice = row->since_after = PG_INT64_MIN;
	if (!since->isnull || row->nrecent > 0)
		row->since = bloomexp_arguments_time(*since, "since");
	if (!slice->isnull || row->nhashes > 0)
		row->slice = bloomexp_arguments_time(*slice, "slice");
	row->since_after = Min(Max(row->since, row->slice), newest);

	row->moves = since->isnull || row->since != row->since_after;
	row->ends = row->moves && row->nrecent > 0;
	row->late = row->nhashes > 0 && row->slice < row->since_after;
}

/* Return how many hashes of `recent` are there still when others are added. */
static int
n_kept(const BloomRow *row)
{
	return row->ends ? 0 : row->nrecent;
}

/* Return the hashes to add that are not in `recent`, each once, and their number in *n. */
static uint64 *
find_new(const BloomRow *row, int *n)
{
	uint64	   *found = palloc_extended(Max(row->nhashes, 1) * sizeof(uint64), MCXT_ALLOC_HUGE);

	*n = bloomexp_hash_set_find_new(row->hashes, row->nhashes, row->recent, n_kept(row), found);
	return found;
}

/* Read the arguments kind, fpr and capacity, from `first` on. */
static BloomRowSettings
get_settings(FunctionCallInfo fcinfo, int first)
{
	static const char *const names[] = {"kind", "fpr", "capacity"};

	bloomexp_arguments_require_not_null(fcinfo, first, names, lengthof(names));
	return (BloomRowSettings) {
		.kind = bloomexp_arguments_kind(fcinfo, first),
		.fpr = PG_GETARG_FLOAT8(first + 1),
		.capacity = PG_GETARG_INT64(first + 2)
	};
}

/* Read the arguments kind, width, slices and fpr, from `first` on. */
static BloomRowSettings
get_windowed_settings(FunctionCallInfo fcinfo, int first)
{
	static const char *const names[] = {"kind", "width", "slices", "fpr"};
	BloomRowSettings settings;

	bloomexp_arguments_require_not_null(fcinfo, first, names, lengthof(names));
	settings = (BloomRowSettings) {
		.kind = bloomexp_arguments_kind(fcinfo, first),
		.width = bloomexp_arguments_width(PG_GETARG_INTERVAL_P(first + 1)),
		.slices = PG_GETARG_INT32(first + 2),
		.fpr = PG_GETARG_FLOAT8(first + 3)
	};
	bloomexp_window_check(settings.width, settings.slices, settings.fpr);
	return settings;
}

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
		value = bloomexp_window_add_hashes(&filter, settings->kind, hashes, n, shown_at, final);
	}
	return value ? value : items;
}

/* Tell whether `items` stays as it is, as nearly always. */
static bool
keeps_items(const BloomRow *row)
{
	return !row->ends && !row->late && row->nrecent + row->nhashes <= MAX_RECENT;
}

/* Return `items` after the hashes are added to a row; the same value if it stays as it is. */
static struct varlena *
change_items(struct varlena *items, const BloomRow *row, const BloomRowSettings *settings)
{
	uint64	   *found;
	int			n;

	if (row->ends)
		items = add_to_filter(items, settings, row->recent, row->nrecent, row->since, true);
	found = find_new(row, &n);
	if (row->late)
		return add_to_filter(items, settings, found, n, row->slice, false);

	if (n_kept(row) > 0 && n_kept(row) + n > MAX_RECENT)
		items = add_to_filter(items, settings, row->recent, row->nrecent, row->since, false);
	if (n > MAX_RECENT)
		items = add_to_filter(items, settings, found, n, row->since_after, false);
	return items;
}

/* Return `recent` after the hashes are added to a row. */
static ArrayType *
change_recent(const BloomRow *row)
{
	uint64	   *recent;
	int			n = 0;

	if (row->late)
		return bloomexp_hashes_to_array(row->recent, n_kept(row));
	recent = find_new(row, &n);
	if (n > MAX_RECENT)
		n = 0;
	else if (n_kept(row) > 0 && n + n_kept(row) <= MAX_RECENT)
	{
		recent = repalloc_huge(recent, (n + n_kept(row)) * sizeof(uint64));
		memcpy(recent + n, row->recent, n_kept(row) * sizeof(uint64));
		n += n_kept(row);
	}
	return bloomexp_hashes_to_array(recent, n);
}

/* Tell whether some of the hashes to add are among the first ones of `recent`. */
static bool
repeats_pending(const BloomRow *row, int pending)
{
	for (int i = 0; i < Min(pending, n_kept(row)); i++)
	{
		CHECK_FOR_INTERRUPTS();
		for (int j = 0; j < row->nhashes; j++)
		{
			if (row->recent[i] == row->hashes[j])
				return true;
		}
	}
	return false;
}

/* Return `items`, argument 0, after the hashes are added to a row. */
static Datum
return_items(FunctionCallInfo fcinfo, const BloomRow *row, const BloomRowSettings *settings)
{
	struct varlena *items = PG_ARGISNULL(0) ? NULL : PG_GETARG_BLOOM_PP(0);
	struct varlena *changed = change_items(items, row, settings);

	return bloomexp_arguments_return_changed(fcinfo, changed == items ? NULL : changed);
}

/* bloomexp.items_after(items, recent, hashes, kind, fpr, capacity) */
PG_FUNCTION_INFO_V1(bloomexp_items_after);
Datum
bloomexp_items_after(PG_FUNCTION_ARGS)
{
	BloomRow	row;
	BloomRowSettings settings;

	get_row(fcinfo, 1, &row);
	if (keeps_items(&row))
		return bloomexp_arguments_return_untouched(fcinfo);
	settings = get_settings(fcinfo, 3);
	return return_items(fcinfo, &row, &settings);
}

/*
 * bloomexp.items_after(items, recent, since, hashes, slice, newest, kind, width, slices, fpr)
 */
PG_FUNCTION_INFO_V1(bloomexp_items_after_window);
Datum
bloomexp_items_after_window(PG_FUNCTION_ARGS)
{
	BloomRow	row;
	BloomRowSettings settings;

	get_windowed_row(fcinfo, 1, &row);
	if (keeps_items(&row))
		return bloomexp_arguments_return_untouched(fcinfo);
	settings = get_windowed_settings(fcinfo, 6);
	return return_items(fcinfo, &row, &settings);
}

/* bloomexp.recent_after(recent, hashes) */
PG_FUNCTION_INFO_V1(bloomexp_recent_after);
Datum
bloomexp_recent_after(PG_FUNCTION_ARGS)
{
	BloomRow	row;

	get_row(fcinfo, 0, &row);
	PG_RETURN_ARRAYTYPE_P(change_recent(&row));
}

/* bloomexp.recent_after(recent, since, hashes, slice, newest) */
PG_FUNCTION_INFO_V1(bloomexp_recent_after_window);
Datum
bloomexp_recent_after_window(PG_FUNCTION_ARGS)
{
	BloomRow	row;

	get_windowed_row(fcinfo, 0, &row);
	PG_RETURN_ARRAYTYPE_P(change_recent(&row));
}

/* bloomexp.row_changes(pending, recent, hashes) */
PG_FUNCTION_INFO_V1(bloomexp_row_changes);
Datum
bloomexp_row_changes(PG_FUNCTION_ARGS)
{
	BloomRow	row;
	int			n;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();		/* there is no row */
	get_row(fcinfo, 1, &row);
	if (repeats_pending(&row, PG_GETARG_INT32(0)))
		PG_RETURN_BOOL(true);
	find_new(&row, &n);
	PG_RETURN_BOOL(n > 0);
}

/*
 * bloomexp.row_changes(items, pending, recent, since, hashes, slice, newest, kind, width, slices,
 * fpr)
 */
PG_FUNCTION_INFO_V1(bloomexp_row_changes_window);
Datum
bloomexp_row_changes_window(PG_FUNCTION_ARGS)
{
	BloomRow	row;
	BloomRowSettings settings;
	struct varlena *items;
	uint64	   *found;
	int			n;

	if (PG_ARGISNULL(1) || PG_ARGISNULL(2))
		PG_RETURN_NULL();		/* there is no row */
	get_windowed_row(fcinfo, 2, &row);
	if (row.moves || repeats_pending(&row, PG_GETARG_INT32(1)))
		PG_RETURN_BOOL(true);
	found = find_new(&row, &n);
	if (n == 0 || !row.late)
		PG_RETURN_BOOL(n > 0);

	/* what is late can be in the filter already: a batch can come again */
	settings = get_windowed_settings(fcinfo, 7);
	items = PG_ARGISNULL(0) ? NULL : PG_GETARG_BLOOM_PP(0);
	PG_RETURN_BOOL(add_to_filter(items, &settings, found, n, row.slice, false) != items);
}

/* bloomexp.fold(items, recent, kind, fpr, capacity) */
PG_FUNCTION_INFO_V1(bloomexp_fold);
Datum
bloomexp_fold(PG_FUNCTION_ARGS)
{
	BloomRow	row = {0};
	BloomRowSettings settings;

	row.recent = get_hashes(fcinfo, 1, &row.nrecent);
	if (row.nrecent == 0)
		return bloomexp_arguments_return_untouched(fcinfo);
	row.ends = true;
	settings = get_settings(fcinfo, 2);
	return return_items(fcinfo, &row, &settings);
}

/* bloomexp.fold(items, recent, since, kind, width, slices, fpr) */
PG_FUNCTION_INFO_V1(bloomexp_fold_window);
Datum
bloomexp_fold_window(PG_FUNCTION_ARGS)
{
	BloomRow	row = {0};
	BloomRowSettings settings;

	row.recent = get_hashes(fcinfo, 1, &row.nrecent);
	if (row.nrecent == 0)
		return bloomexp_arguments_return_untouched(fcinfo);
	row.since = bloomexp_arguments_time(fcinfo->args[2], "since");
	row.ends = true;
	settings = get_windowed_settings(fcinfo, 3);
	return return_items(fcinfo, &row, &settings);
}
