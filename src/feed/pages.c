/*-------------------------------------------------------------------------
 *
 * pages.c
 *	  Groups a batch of events into pages: the items that one user was shown in one slice.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/sortsupport.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"

#include "feed/row.h"
#include "sql/arguments.h"
#include "sql/hash_set.h"
#include "sql/hashes.h"

/*
 * Events `first` to `end` - 1 of a batch, all of one user and one slice.  In a stream of pages the
 * items of a page are next to each other, so there are far fewer runs to sort than events.
 */
typedef struct BloomRun
{
	Datum		user;
	int64		slice;
	int			first;
	int			end;
} BloomRun;

/* The elements of an array argument; none if it is NULL. */
typedef struct BloomElements
{
	Datum	   *values;
	bool	   *nulls;
	int			n;
} BloomElements;

static BloomElements
get_elements(FunctionCallInfo fcinfo, int argno)
{
	BloomElements elements = {0};
	ArrayType  *array;
	int16		length;
	bool		by_value;
	char		alignment;

	if (PG_ARGISNULL(argno))
		return elements;
	array = bloomexp_arguments_array(fcinfo, argno);
	get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &alignment);
	deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, alignment, &elements.values,
					  &elements.nulls, &elements.n);
	return elements;
}

static int
compare_users(Datum a, Datum b, SortSupport sort)
{
	return ApplySortComparator(a, false, b, false, sort);
}

/* Compare runs by user, and those of one user by their place in the batch. */
static int
compare_runs(const void *a, const void *b, void *sort)
{
	const BloomRun *x = a;
	const BloomRun *y = b;
	int			result = compare_users(x->user, y->user, sort);

	CHECK_FOR_INTERRUPTS();
	if (result != 0)
		return result;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* Prepare to sort values of a type, by the collation, as ORDER BY does. */
static void
prepare_sort(SortSupport sort, Oid type, Oid collation)
{
	TypeCacheEntry *cache = lookup_type_cache(type, TYPECACHE_LT_OPR);

	if (!OidIsValid(cache->lt_opr))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("could not identify an ordering operator for type %s",
						format_type_be(type))));
	memset(sort, 0, sizeof(*sort));
	sort->ssup_cxt = CurrentMemoryContext;
	sort->ssup_collation = collation;
	PrepareSortSupportFromOrderingOp(cache->lt_opr, sort);
}

/*
 * bloomexp.pages(user_ids, hashes, shown_at, present, settings)
 *
 * Returns a row for each user, in the order of users.  A user whose events are not one page,
 * because they have several slices or too many items, comes without hashes.
 */
PG_FUNCTION_INFO_V1(bloomexp_pages);
Datum
bloomexp_pages(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	BloomRowSettings settings;
	BloomElements users = get_elements(fcinfo, 0);
	BloomElements hashes = get_elements(fcinfo, 1);
	BloomElements times = get_elements(fcinfo, 2);
	SortSupportData sort;
	BloomRun   *runs;
	int64		present;
	int64		oldest;			/* start of the window that ends at `present` */
	int			nruns = 0;

	if (hashes.n != users.n || times.n != users.n)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("arrays of users, items and times must have the same length"),
				 errdetail("The lengths are %d, %d and %d.", users.n, hashes.n, times.n)));
	present = bloomexp_arguments_time(fcinfo->args[3], "present");
	settings = bloomexp_row_get_settings(fcinfo, 4);
	if (settings.width == 0 || pg_sub_s64_overflow(present, settings.width, &oldest))
		oldest = PG_INT64_MIN;
	InitMaterializedSRF(fcinfo, 0);
	if (users.n == 0)
		return (Datum) 0;

	prepare_sort(&sort, get_element_type(get_fn_expr_argtype(fcinfo->flinfo, 0)),
				 PG_GET_COLLATION());
	runs = palloc_extended(users.n * sizeof(BloomRun), MCXT_ALLOC_HUGE);
	for (int i = 0; i < users.n; i++)
	{
		BloomRun   *last = nruns > 0 ? &runs[nruns - 1] : NULL;
		TimestampTz shown_at;
		int64		slice;

		CHECK_FOR_INTERRUPTS();
		if (users.nulls[i] || hashes.nulls[i] || times.nulls[i])
			continue;
		shown_at = DatumGetTimestampTz(times.values[i]);
		if (shown_at < oldest || (settings.width > 0 && TIMESTAMP_IS_NOBEGIN(shown_at)))
			continue;
		/* a time in the future counts as now */
		slice = bloomexp_row_slice_of(&settings, Min(shown_at, present));
		if (last != NULL && last->end == i && last->slice == slice &&
			compare_users(last->user, users.values[i], &sort) == 0)
			last->end = i + 1;
		else
			runs[nruns++] = (BloomRun) {users.values[i], slice, i, i + 1};
	}
	qsort_arg(runs, nruns, sizeof(BloomRun), compare_runs, &sort);

	for (int first = 0, end; first < nruns; first = end)
	{
		uint64	   *page;
		uint64	   *distinct;
		int			n = 0;
		int			ndistinct;
		bool		one_slice = true;
		Datum		values[3];
		bool		nulls[3] = {false};

		end = first;
		do
		{
			CHECK_FOR_INTERRUPTS();
			one_slice &= runs[end].slice == runs[first].slice;
			n += runs[end].end - runs[end].first;
			end++;
		} while (end < nruns && compare_users(runs[end].user, runs[first].user, &sort) == 0);
		/* one allocation, whose second half is for the distinct hashes */
		page = palloc_extended(2 * sizeof(uint64) * n, MCXT_ALLOC_HUGE);
		distinct = page + n;
		n = 0;
		for (int run = first; run < end; run++)
		{
			CHECK_FOR_INTERRUPTS();
			for (int i = runs[run].first; i < runs[run].end; i++)
				page[n++] = (uint64) DatumGetInt64(hashes.values[i]);
		}
		ndistinct = one_slice ? bloomexp_hash_set_find_new(page, n, NULL, 0, distinct) : 0;
		if (ndistinct > BLOOMEXP_ROW_MAX_RECENT)
			ndistinct = 0;

		values[0] = runs[first].user;
		if (ndistinct > 0)
			values[1] = bloomexp_row_slice_start(&settings, runs[first].slice, &nulls[1]);
		else
			nulls[1] = true;
		values[2] = PointerGetDatum(bloomexp_hashes_to_array(distinct, ndistinct));
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
		pfree(DatumGetPointer(values[2]));
		pfree(page);
	}
	return (Datum) 0;
}
