/*-------------------------------------------------------------------------
 *
 * row.c
 *	  SQL functions for the row of a user in a feed.
 *
 * A row holds the newest items exactly, as their hashes in `recent`, the newest first, and all
 * older items in the filter `items`.  All of `recent` belongs to one time slice, which began at
 * `since`.  The first `pending` hashes of `recent` are those that the last take returned, until
 * something confirms them.  A feed that never forgets has one slice without an end, and its
 * `since` is NULL; rows of a feed over a table of exposures are like that, because rebuilds forget
 * for them.
 *
 * An addition is some hashes, all shown at one time:
 *
 * - If their slice is newer than that of `recent`, the old slice ends: `recent` moves into `items`,
 *	 and only then are the new hashes compared, so that an item that is shown again is added again.
 *	 The old slice also ends if it lies in the future, because no slice begins ahead of the clock.
 * - If their slice is older than that of `recent`, they go into `items` at their own time.  Hashes
 *	 in `recent` are left out, because those items have been shown again since.
 * - More than BLOOMEXP_ROW_MAX_RECENT hashes go into `items`, and `recent` stays as it is.
 * - Otherwise the hashes that `recent` lacks are put in front of it.  If it would become too long,
 *	 its old content moves into `items` first.
 *
 * An UPDATE sets columns one by one, so each column has a function here, and each of these
 * functions works out the addition, as far as its column needs it.  They read no table and no
 * clock.  The caller has locked the row.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "common/int.h"
#include "miscadmin.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "feed/row.h"
#include "kernel/simd.h"
#include "sql/arguments.h"
#include "sql/hash_set.h"
#include "sql/hashes.h"
#include "value/filter.h"
#include "value/window.h"

/* The slice of a feed that never forgets. */
#define ONLY_SLICE 0

typedef struct BloomRow
{
	const BloomRowSettings *settings;
	struct varlena *items;		/* NULL: there is no filter */
	bool		want_items;		/* false: compute only the other columns */
	const uint64 *recent;
	int			nrecent;
	bool		has_slice;		/* in a feed that never forgets, always */
	int64		slice;			/* number of the slice of `recent` */
	int64		present_slice;	/* number of the slice of the present */
	bool		changed;		/* a column other than `items` has changed */
	bool		tries_items;	/* hashes of the addition go to `items`; whether that changes it is
								 * unknown until the filter is read */
} BloomRow;

/* Hashes to add.  An addition without hashes can still begin a slice. */
typedef struct BloomAddition
{
	const uint64 *hashes;
	int			n;
	bool		given;			/* false: nothing is added */
	int64		slice;
} BloomAddition;

/* Arguments that all functions of an addition have; their numbers, relative to that of `recent`. */
enum
{
	ARG_RECENT,
	ARG_HASHES,
	ARG_SETTINGS,
	ARG_SINCE,
	ARG_SHOWN_AT,
	ARG_PRESENT
};

/* The last settings of a call site, and the value from which they were read. */
typedef struct BloomSettingsCache
{
	BloomRowSettings settings;
	uint32		length;
	char		value[FLEXIBLE_ARRAY_MEMBER];
} BloomSettingsCache;

/*
 * Read a value of type bloomexp.row_settings; raise an error if it is not valid.
 *
 * New versions of the extension only add columns to the type, with NULL as default.  So the type
 * can have fewer columns than this library knows, or more: the extension may have been updated
 * after this session loaded the library.  Columns that the library does not know must be NULL.
 */
static void
read_settings(HeapTupleHeader header, BloomRowSettings *settings)
{
	enum
	{
		WIDTH,
		SLICES,
		KIND,
		FPR,
		CAPACITY,
		NFIELDS,
	};
	HeapTupleData tuple;
	TupleDesc	descriptor;
	Datum	   *values;
	bool	   *nulls;

	descriptor = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(header),
										HeapTupleHeaderGetTypMod(header));
	values = palloc0(Max(descriptor->natts, NFIELDS) * sizeof(Datum));
	nulls = palloc(Max(descriptor->natts, NFIELDS) * sizeof(bool));
	memset(nulls, true, Max(descriptor->natts, NFIELDS) * sizeof(bool));
	tuple.t_len = HeapTupleHeaderGetDatumLength(header);
	ItemPointerSetInvalid(&tuple.t_self);
	tuple.t_tableOid = InvalidOid;
	tuple.t_data = header;
	heap_deform_tuple(&tuple, descriptor, values, nulls);
	for (int i = NFIELDS; i < descriptor->natts; i++)
	{
		if (!nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("the bloomexp library of this session is too old for this feed"),
					 errhint("Connect again, or restart the server if it preloads the library.")));
	}
	ReleaseTupleDesc(descriptor);

	if (nulls[KIND] || nulls[FPR] || nulls[WIDTH] != nulls[SLICES] ||
		(nulls[WIDTH] && nulls[CAPACITY]))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("settings of a row must have kind and fpr, and either width and slices or "
						"capacity")));
	settings->kind = bloomexp_arguments_kind(values[KIND]);
	settings->fpr = DatumGetFloat8(values[FPR]);
	if (nulls[WIDTH])
	{
		settings->width = 0;
		settings->slices = 1;
		settings->capacity = DatumGetInt64(values[CAPACITY]);
	}
	else
	{
		settings->width = bloomexp_arguments_width(DatumGetIntervalP(values[WIDTH]));
		settings->slices = DatumGetInt32(values[SLICES]);
		settings->capacity = 0;
		bloomexp_window_check(settings->width, settings->slices, settings->fpr);
	}
}

/*
 * Return the settings in an argument.  They are cached in fn_extra of the call site, because a
 * statement passes the same settings for all its rows.
 */
BloomRowSettings
bloomexp_row_get_settings(FunctionCallInfo fcinfo, int argno)
{
	BloomSettingsCache *cache = fcinfo->flinfo->fn_extra;
	HeapTupleHeader header;
	uint32		length;

	bloomexp_arguments_require(fcinfo, argno, "settings");
	header = PG_GETARG_HEAPTUPLEHEADER(argno);
	length = HeapTupleHeaderGetDatumLength(header);
	if (cache == NULL || cache->length != length || memcmp(cache->value, header, length) != 0)
	{
		BloomRowSettings settings;

		read_settings(header, &settings);
		if (cache != NULL)
			pfree(cache);
		fcinfo->flinfo->fn_extra = NULL;
		cache = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt,
								   offsetof(BloomSettingsCache, value) + length);
		cache->settings = settings;
		cache->length = length;
		memcpy(cache->value, header, length);
		fcinfo->flinfo->fn_extra = cache;
	}
	return cache->settings;
}

static int64
slice_length(const BloomRowSettings *settings)
{
	return bloomexp_window_slice_length(settings->width, settings->slices);
}

/* Return the number of the slice in which a time lies. */
int64
bloomexp_row_slice_of(const BloomRowSettings *settings, int64 time)
{
	if (settings->width == 0)
		return ONLY_SLICE;
	return bloomexp_window_slice_of(time, slice_length(settings));
}

/* Return the start of a slice for the column `since`: NULL if the feed never forgets. */
Datum
bloomexp_row_slice_start(const BloomRowSettings *settings, int64 slice, bool *isnull)
{
	int64		start;

	*isnull = settings->width == 0;
	if (*isnull)
		return (Datum) 0;
	/* a slice can begin before the first timestamp there is */
	if (pg_mul_s64_overflow(slice, slice_length(settings), &start))
		start = MIN_TIMESTAMP;
	return TimestampTzGetDatum(Max(start, MIN_TIMESTAMP));
}

/*
 * Open the filter of a row for an addition, with the target rate of the settings, unless its layers
 * cannot have that rate.  A row without a filter gets an empty one.
 */
static void
open_items(const BloomRow *row, BloomFilter *filter)
{
	const BloomRowSettings *settings = row->settings;
	struct varlena *value;

	if (row->items != NULL)
	{
		bloomexp_layout_open(filter, row->items);
		value = bloomexp_filter_with_fpr(filter, settings->fpr);
		if (value != NULL)
			bloomexp_layout_open(filter, value);
	}
	else if (settings->width == 0)
		bloomexp_filter_init(filter, settings->capacity, settings->fpr, false);
	else
		bloomexp_window_init(filter, settings->width, settings->slices, settings->fpr);
}

/*
 * Put n hashes of a slice into the filter of a row, if `items` is wanted.  It stays the same value
 * if the filter has them already, or if the slice lies before its window.  If `final`, no more
 * hashes will come for the slice, so a new layer gets its exact size.
 *
 * Slices that have left the window are dropped, but not if the newest one lies in the future: the
 * clock was wrong then, and must not make the filter forget.
 */
static void
put_into_items(BloomRow *row, const uint64 *hashes, int n, int64 slice, bool final)
{
	const BloomRowSettings *settings = row->settings;
	BloomFilter filter;
	struct varlena *value;

	if (!row->want_items)
		return;
	open_items(row, &filter);
	if (settings->width == 0)
	{
		uint64	   *copies = palloc_extended(Max(n, 1) * sizeof(uint64), MCXT_ALLOC_HUGE);

		if (n > 0)
			memcpy(copies, hashes, n * sizeof(uint64));
		value = bloomexp_filter_add(&filter, settings->kind, copies, n);
	}
	else
	{
		int64		shown_at = slice * slice_length(settings);
		int64		newest = slice;
		int			flags = final ? BLOOMEXP_ADD_FINAL : 0;
		bool		future;

		bloomexp_arguments_require_windowed(&filter, "a feed with a window");

		/*
		 * The start of a slice that has expired in part lies before expired_before, so an addition
		 * at that time would be refused.
		 */
		if (bloomexp_window_slice_at(&filter, shown_at) ==
			bloomexp_window_slice_at(&filter, filter.expired_before))
			shown_at = Max(shown_at, filter.expired_before);
		if (filter.nlayers > 0)
			newest = Max(newest, filter.layers[filter.nlayers - 1].slice);
		future = newest > row->present_slice;
		if (!future)
			flags |= BLOOMEXP_ADD_DROP_OLD;
		value = bloomexp_window_add_hashes(&filter, settings->kind, hashes, n, shown_at, flags);
	}
	if (value != NULL)
		row->items = value;
}

/* Return whether `recent` has room for n more hashes. */
static bool
has_room(const BloomRow *row, int n)
{
	return row->nrecent + n <= BLOOMEXP_ROW_MAX_RECENT;
}

/*
 * Move the row to a slice: never back, unless from the future, and never past the present.  If the
 * slice changes, the hashes of `recent` move into the filter.
 */
static void
begin_slice(BloomRow *row, int64 slice)
{
	if (row->has_slice)
		slice = Max(slice, row->slice);
	slice = Min(slice, row->present_slice);
	if (row->has_slice && row->slice == slice)
		return;
	if (row->nrecent > 0)
		put_into_items(row, row->recent, row->nrecent, row->slice, true);
	row->nrecent = 0;
	row->has_slice = true;
	row->slice = slice;
	row->changed = true;
}

/* Put n distinct hashes in front of `recent`, whose content moves into the filter if it is full. */
static void
put_into_recent(BloomRow *row, const uint64 *hashes, int n)
{
	uint64	   *recent;

	if (!has_room(row, n))
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

/* Carry out an addition. */
static void
add_to_row(BloomRow *row, const BloomAddition *addition)
{
	uint64	   *found;
	int			n;

	if (!addition->given)
		return;
	begin_slice(row, addition->slice);
	if (addition->n == 0)
		return;
	found = palloc_extended(addition->n * sizeof(uint64), MCXT_ALLOC_HUGE);
	n = bloomexp_hash_set_find_new(addition->hashes, addition->n, row->recent, row->nrecent, found);
	if (n == 0)
		return;
	if (addition->slice < row->slice || addition->n > BLOOMEXP_ROW_MAX_RECENT)
	{
		put_into_items(row, found, n, addition->slice, false);
		row->tries_items = true;
	}
	else
		put_into_recent(row, found, n);
}

/* Return the column `recent` of a row in an argument, and the number of its hashes. */
static const uint64 *
get_recent(FunctionCallInfo fcinfo, int argno, int *n)
{
	const uint64 *recent = bloomexp_arguments_hashes(fcinfo, argno, n);

	if (*n > BLOOMEXP_ROW_MAX_RECENT)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("too many hashes in recent: %d", *n),
				 errdetail("The limit is %d.", BLOOMEXP_ROW_MAX_RECENT)));
	return recent;
}

/*
 * Read the arguments of an addition: the settings, the row without its filter, and what to add.
 * `first` is the number of the argument `recent`; the others follow it, as in the enum above.
 */
static void
get_addition(FunctionCallInfo fcinfo, int first, BloomRowSettings *settings, BloomRow *row,
			 BloomAddition *addition)
{
	TimestampTz shown_at;
	int64		present;

	*settings = bloomexp_row_get_settings(fcinfo, first + ARG_SETTINGS);
	memset(row, 0, sizeof(*row));
	memset(addition, 0, sizeof(*addition));
	row->settings = settings;
	row->recent = get_recent(fcinfo, first + ARG_RECENT, &row->nrecent);
	addition->hashes = bloomexp_arguments_hashes(fcinfo, first + ARG_HASHES, &addition->n);
	if (settings->width == 0)
	{
		row->has_slice = true;
		row->slice = row->present_slice = ONLY_SLICE;
		addition->given = true;
		addition->slice = ONLY_SLICE;
		return;
	}

	row->has_slice = row->nrecent > 0 || !PG_ARGISNULL(first + ARG_SINCE);
	if (row->has_slice)
		row->slice = bloomexp_row_slice_of(
			settings, bloomexp_arguments_time(fcinfo->args[first + ARG_SINCE], "since"));
	addition->given = addition->n > 0 || !PG_ARGISNULL(first + ARG_SHOWN_AT);
	if (!addition->given)
		return;
	present = bloomexp_arguments_time(fcinfo->args[first + ARG_PRESENT], "present");
	row->present_slice = bloomexp_row_slice_of(settings, present);
	bloomexp_arguments_require(fcinfo, first + ARG_SHOWN_AT, "shown_at");
	shown_at = PG_GETARG_TIMESTAMPTZ(first + ARG_SHOWN_AT);
	if (TIMESTAMP_IS_NOBEGIN(shown_at))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("shown_at must not be -infinity")));
	/* a time in the future counts as now */
	addition->slice = bloomexp_row_slice_of(settings, Min(shown_at, present));
}

/*
 * Carry out an addition on a row whose filter is argument 0.  Return the new filter, or NULL if the
 * filter does not change.
 */
static struct varlena *
change_items(FunctionCallInfo fcinfo, BloomRow *row, const BloomAddition *addition)
{
	struct varlena *items = PG_ARGISNULL(0) ? NULL : PG_GETARG_BLOOM_PP(0);

	row->items = items;
	row->want_items = true;
	add_to_row(row, addition);
	return row->items == items ? NULL : row->items;
}

/* bloomexp.items_after(items, recent, hashes, settings, since, shown_at, present) */
PG_FUNCTION_INFO_V1(bloomexp_row_items_after);
Datum
bloomexp_row_items_after(PG_FUNCTION_ARGS)
{
	BloomRowSettings settings;
	BloomRow	row;
	BloomAddition addition;
	bool		same_slice;

	get_addition(fcinfo, 1, &settings, &row, &addition);

	/*
	 * Nearly always the slice is the same and `recent` has room.  Then nothing goes into the
	 * filter, so do not read it.
	 */
	same_slice = !row.has_slice || !addition.given || row.slice == addition.slice;
	if (same_slice && has_room(&row, addition.n))
		return bloomexp_arguments_return_untouched(fcinfo);
	return bloomexp_arguments_return_changed(fcinfo, change_items(fcinfo, &row, &addition));
}

/* bloomexp.recent_after(recent, hashes, settings, since, shown_at, present) */
PG_FUNCTION_INFO_V1(bloomexp_row_recent_after);
Datum
bloomexp_row_recent_after(PG_FUNCTION_ARGS)
{
	BloomRowSettings settings;
	BloomRow	row;
	BloomAddition addition;

	get_addition(fcinfo, 0, &settings, &row, &addition);
	add_to_row(&row, &addition);
	PG_RETURN_ARRAYTYPE_P(bloomexp_hashes_to_array(row.recent, row.nrecent));
}

/* bloomexp.since_after(recent, hashes, settings, since, shown_at, present) */
PG_FUNCTION_INFO_V1(bloomexp_row_since_after);
Datum
bloomexp_row_since_after(PG_FUNCTION_ARGS)
{
	BloomRowSettings settings;
	BloomRow	row;
	BloomAddition addition;

	get_addition(fcinfo, 0, &settings, &row, &addition);
	if (addition.given)
		begin_slice(&row, addition.slice);
	if (!row.has_slice)
		PG_RETURN_NULL();
	return bloomexp_row_slice_start(&settings, row.slice, &fcinfo->isnull);
}

/* Return whether one of the hashes is pending, so that the addition confirms the last take. */
static bool
confirms(const BloomRow *row, const BloomAddition *addition, int pending)
{
	for (int i = 0; i < pending; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (bloomexp_simd_contains(addition->hashes, addition->n, row->recent[i]))
			return true;
	}
	return false;
}

/* bloomexp.row_changes(items, pending, recent, hashes, settings, since, shown_at, present) */
PG_FUNCTION_INFO_V1(bloomexp_row_changes);
Datum
bloomexp_row_changes(PG_FUNCTION_ARGS)
{
	BloomRowSettings settings;
	BloomRow	row;
	BloomAddition addition;
	BloomRow	whole;
	int32		pending;

	if (PG_ARGISNULL(1) || PG_ARGISNULL(2))
		PG_RETURN_NULL();		/* there is no row */
	get_addition(fcinfo, 2, &settings, &row, &addition);
	pending = PG_GETARG_INT32(1);
	if (pending < 0 || pending > row.nrecent)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for pending: %d", pending),
				 errdetail("It must be between 0 and the number of hashes in recent, %d.",
						   row.nrecent)));
	if (confirms(&row, &addition, pending))
		PG_RETURN_BOOL(true);
	whole = row;
	/* first without the filter, because reading it takes longest */
	add_to_row(&row, &addition);
	if (row.changed || !row.tries_items)
		PG_RETURN_BOOL(row.changed);
	PG_RETURN_BOOL(change_items(fcinfo, &whole, &addition) != NULL);
}

/*
 * Return a windowed filter without the slices that have left the window by the time `at`, or NULL
 * if it was expired up to that time already.
 */
static struct varlena *
expire_filter(struct varlena *items, int64 at)
{
	BloomFilter filter;

	bloomexp_layout_open(&filter, items);
	bloomexp_arguments_require_windowed(&filter, "a feed with a window");
	return bloomexp_window_expire(&filter, at);
}

/* bloomexp.fold(items, recent, settings, since, at) */
PG_FUNCTION_INFO_V1(bloomexp_row_fold);
Datum
bloomexp_row_fold(PG_FUNCTION_ARGS)
{
	BloomRowSettings settings;
	BloomRow	row = {.settings = &settings, .want_items = true};
	struct varlena *items;
	struct varlena *expired = NULL;
	bool		expires;
	int64		at = 0;

	settings = bloomexp_row_get_settings(fcinfo, 2);
	/* without triggers these are all exposures since the filter was filled: any number */
	row.recent = bloomexp_arguments_hashes(fcinfo, 1, &row.nrecent);
	expires = settings.width > 0 && !PG_ARGISNULL(4);
	if (row.nrecent == 0 && !expires)
		return bloomexp_arguments_return_untouched(fcinfo);
	row.slice = row.present_slice = ONLY_SLICE;
	if (settings.width > 0 && row.nrecent > 0)
		row.slice = row.present_slice = bloomexp_row_slice_of(
			&settings, bloomexp_arguments_time(fcinfo->args[3], "since"));
	if (expires)
	{
		at = bloomexp_arguments_time(fcinfo->args[4], "at");
		row.present_slice = bloomexp_row_slice_of(&settings, at);
	}
	items = PG_ARGISNULL(0) ? NULL : PG_GETARG_BLOOM_PP(0);
	row.items = items;
	settings.capacity = row.nrecent;	/* of a filter that nothing more is added to */
	if (row.nrecent > 0)
		put_into_items(&row, row.recent, row.nrecent, row.slice, true);
	if (expires && row.items != NULL)
		expired = expire_filter(row.items, at);
	if (expired != NULL)
		row.items = expired;
	return bloomexp_arguments_return_changed(fcinfo, row.items == items ? NULL : row.items);
}

/* bloomexp.items_at(items, at, settings) */
PG_FUNCTION_INFO_V1(bloomexp_row_items_at);
Datum
bloomexp_row_items_at(PG_FUNCTION_ARGS)
{
	BloomRowSettings settings;
	int64		at;

	settings = bloomexp_row_get_settings(fcinfo, 2);
	if (settings.width == 0 || PG_ARGISNULL(0))
		return bloomexp_arguments_return_untouched(fcinfo);
	at = bloomexp_arguments_time(fcinfo->args[1], "at");
	return bloomexp_arguments_return_changed(fcinfo, expire_filter(PG_GETARG_BLOOM_PP(0), at));
}

/* bloomexp.recent_at(recent, since, at, settings) */
PG_FUNCTION_INFO_V1(bloomexp_row_recent_at);
Datum
bloomexp_row_recent_at(PG_FUNCTION_ARGS)
{
	BloomRowSettings settings;
	int64		since;
	int64		at;
	int64		start;
	int			nrecent;

	settings = bloomexp_row_get_settings(fcinfo, 3);
	(void) get_recent(fcinfo, 0, &nrecent);
	if (settings.width == 0)
		return bloomexp_arguments_return_untouched(fcinfo);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	at = bloomexp_arguments_time(fcinfo->args[2], "at");
	since = bloomexp_arguments_time(fcinfo->args[1], "since");
	if (!pg_sub_s64_overflow(at, settings.width, &start) &&
		bloomexp_row_slice_of(&settings, since) < bloomexp_row_slice_of(&settings, start))
		PG_RETURN_NULL();
	return bloomexp_arguments_return_untouched(fcinfo);
}
