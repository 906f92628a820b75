/*-------------------------------------------------------------------------
 *
 * arguments.c
 *	  Arguments and results of SQL functions.
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

static void
raise_null(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("%s must not be null", name)));
}

/* Raise an error, which names the argument `name`, if it is NULL. */
void
bloomexp_arguments_require(FunctionCallInfo fcinfo, int argno, const char *name)
{
	if (PG_ARGISNULL(argno))
		raise_null(name);
}

/*
 * Return an array argument in its flat form.
 *
 * An expanded array of PL/pgSQL keeps its flat form until it is modified in place.  If it is
 * still there, no copy is made.
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
 * Return the item type of a polymorphic argument.  It is kept in fn_extra of the call site, so the
 * calling function must keep nothing else there.
 */
const BloomItemType *
bloomexp_arguments_item_type(FunctionCallInfo fcinfo, int argno)
{
	const BloomItemType *type = fcinfo->flinfo->fn_extra;

	if (type == NULL)
	{
		Oid			argument_type = get_fn_expr_argtype(fcinfo->flinfo, argno);

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
 * Return the hashes in an argument of type bigint[], and set *n to their number.  For a NULL
 * argument, return NULL and set *n to 0.  The result points into the argument, so the caller must
 * not change it.  Raises an error if the array has several dimensions or nulls.
 */
const uint64 *
bloomexp_arguments_hashes(FunctionCallInfo fcinfo, int argno, int *n)
{
	ArrayType  *array;

	*n = 0;
	if (PG_ARGISNULL(argno))
		return NULL;
	array = bloomexp_arguments_array(fcinfo, argno);
	bloomexp_item_check_dimensions(array, "hashes");
	if (array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("hashes must not contain nulls")));
	*n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	return (const uint64 *) ARR_DATA_PTR(array);
}

/* Return the kind of items that a text names, or raise an error. */
BloomKind
bloomexp_arguments_kind(Datum name)
{
	char	   *word = TextDatumGetCString(name);

	for (BloomKind kind = BLOOM_KIND_NONE + 1; kind <= BLOOM_KIND_LAST; kind++)
	{
		if (strcmp(word, bloomexp_kind_name(kind)) == 0)
			return kind;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized kind of items: \"%s\"", word),
			 errhint("The kinds are integer, text, uuid and bytea.")));
}

/* Open the filter of argument 0 in *space, and return `space`, or NULL for a NULL argument. */
BloomFilter *
bloomexp_arguments_filter(FunctionCallInfo fcinfo, BloomFilter *space)
{
	if (PG_ARGISNULL(0))
		return NULL;
	bloomexp_layout_open(space, PG_GETARG_BLOOM_PP(0));
	return space;
}

/* Raise an error, which names `function`, unless a filter has a window. */
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

/* Open the filter of argument 0.  Raises an error if it is NULL or has no window. */
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
 * Return a timestamptz as microseconds since 2000-01-01 00:00 UTC.  Raises an error, which names
 * the argument `name`, if it is NULL or infinite.
 */
int64
bloomexp_arguments_time(NullableDatum time, const char *name)
{
	if (time.isnull)
		raise_null(name);
	if (TIMESTAMP_NOT_FINITE(DatumGetTimestampTz(time.value)))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("%s must be finite", name)));
	return DatumGetTimestampTz(time.value);
}

/* Return the width of a window in microseconds, or raise an error if it has no fixed length. */
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
