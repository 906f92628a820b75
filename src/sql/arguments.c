/*-------------------------------------------------------------------------
 *
 * arguments.c
 *	  Arguments of SQL functions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "sql/arguments.h"

/*
 * Raise an error if any of the n arguments from `first` on, which have these `names`, is
 * NULL.
 */
void
bloomexp_arguments_require_not_null(FunctionCallInfo fcinfo, int first, const char *const *names,
									int n)
{
	for (int i = 0; i < n; i++)
	{
		if (PG_ARGISNULL(first + i))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("%s must not be null", names[i])));
	}
}

/*
 * Return an array argument in its flat form.  A PL/pgSQL variable keeps that in addition to
 * its expanded form, unless it was changed in place.
 */
ArrayType *
bloomexp_arguments_array(FunctionCallInfo fcinfo, int argno)
{
	Datum		datum = PG_GETARG_DATUM(argno);

	if (VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(datum)))
	{
		ExpandedArrayHeader *expanded = (ExpandedArrayHeader *) DatumGetEOHP(datum);

		Assert(expanded->ea_magic == EA_MAGIC);
		if (expanded->fvalue)
			return expanded->fvalue;
	}
	return DatumGetArrayTypeP(datum);
}

/*
 * Return the type of the items that argument 1, of any type, passes.  It is looked up once
 * for each call site, which must keep nothing else in fn_extra.
 */
const BloomItemType *
bloomexp_arguments_item_type(FunctionCallInfo fcinfo)
{
	const BloomItemType *type = fcinfo->flinfo->fn_extra;

	if (type == NULL)
	{
		Oid			argument_type = get_fn_expr_argtype(fcinfo->flinfo, 1);

		if (!OidIsValid(argument_type))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("could not determine the data type of the item")));
		type = bloomexp_item_type(argument_type, PG_GET_COLLATION());
		fcinfo->flinfo->fn_extra = unconstify(BloomItemType *, type);
	}
	return type;
}

/*
 * Return the hashes of an array argument, as bloom_hashes() makes it, and their number in *n.
 * They are those of the array, so do not change them.
 */
const uint64 *
bloomexp_arguments_hashes(FunctionCallInfo fcinfo, int argno, int *n)
{
	static const char *const name = "hashes";
	ArrayType  *array;

	bloomexp_arguments_require_not_null(fcinfo, argno, &name, 1);
	array = bloomexp_arguments_array(fcinfo, argno);
	bloomexp_item_check_dimensions(array, name);
	if (array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("hashes must not contain nulls")));
	*n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	return (const uint64 *) ARR_DATA_PTR(array);
}

/* Return the kind of items that an argument names. */
BloomKind
bloomexp_arguments_kind(FunctionCallInfo fcinfo, int argno)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(argno));

	for (BloomKind kind = BLOOM_KIND_NONE + 1; kind <= BLOOM_KIND_LAST; kind++)
	{
		if (strcmp(name, bloomexp_kind_name(kind)) == 0)
			return kind;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized kind of items: \"%s\"", name),
			 errhint("The kinds are integer, text, uuid and bytea.")));
}

/* Open the filter of argument 0 in *space; NULL if there is none. */
BloomFilter *
bloomexp_arguments_filter(FunctionCallInfo fcinfo, BloomFilter *space)
{
	if (PG_ARGISNULL(0))
		return NULL;
	bloomexp_layout_open(space, PG_GETARG_BLOOM_PP(0));
	return space;
}

/* Raise an error unless the filter of a `function` has a window. */
void
bloomexp_arguments_require_windowed(const BloomFilter *filter, const char *function)
{
	if (!filter->windowed)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s needs a windowed filter", function),
				 errdetail("The items of this filter have no times."),
				 errhint("Make the filter with bloom_window() or bloom_window_agg().")));
}

/* Open the windowed filter of argument 0 of `function`, or raise an error. */
void
bloomexp_arguments_open_windowed(FunctionCallInfo fcinfo, BloomFilter *filter,
								 const char *function)
{
	if (bloomexp_arguments_filter(fcinfo, filter) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("filter must not be null"),
				 errdetail("The window width is taken from the existing filter."),
				 errhint("Make the filter with bloom_window().")));
	bloomexp_arguments_require_windowed(filter, function);
}

/*
 * Return a time in microseconds since 2000-01-01 00:00 UTC; raise an error if it is NULL or
 * infinite, with its `name`.
 */
int64
bloomexp_arguments_time(NullableDatum time, const char *name)
{
	if (time.isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", name)));
	if (TIMESTAMP_NOT_FINITE(DatumGetTimestampTz(time.value)))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("%s must be finite", name)));
	return DatumGetTimestampTz(time.value);
}

/* Return an interval, the width of a window, in microseconds. */
int64
bloomexp_arguments_width(const Interval *interval)
{
	int64		days;
	int64		width;

	if (INTERVAL_NOT_FINITE(interval))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("width of the window must be finite")));
	if (interval->month != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("width of the window must not have months or years"),
				 errdetail("Months and years have no fixed length."),
				 errhint("Write the width in days, hours or minutes, such as '30 days'.")));
	if (pg_mul_s64_overflow(interval->day, USECS_PER_DAY, &days) ||
		pg_add_s64_overflow(days, interval->time, &width))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("interval out of range")));
	return width;
}
