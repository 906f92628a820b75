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
#include "nodes/primnodes.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "sql/arguments.h"
#include "value/compat.h"

/*
 * bloomexp_arguments_require
 *		Refuse NULL for any of the `n` arguments from `first` on; `names` are
 *		their names.
 */
void
bloomexp_arguments_require(FunctionCallInfo fcinfo, int first, const char *const *names,
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
 * bloomexp_arguments_array
 *		An array in its flat form.  A PL/pgSQL variable keeps that in addition to its
 *		expanded form, unless it was changed in place.
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
 * bloomexp_arguments_check_candidates
 *		Refuse candidates that cannot go out as an array of their type.
 */
void
bloomexp_arguments_check_candidates(FunctionCallInfo fcinfo, int argno)
{
	/* an array type of its own, whose subscripts start at 0 */
	if (get_fn_expr_argtype(fcinfo->flinfo, argno) == INT2VECTOROID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("candidates of type int2vector are not supported"),
				 errhint("Cast the candidates to smallint[].")));
}

/* As array_in() and array_out() know blanks. */
static inline bool
is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Whether a text is "{...}", blanks around it allowed. */
static bool
looks_like_array(const text *item)
{
	const char *start = VARDATA_ANY(item);
	const char *end = start + VARSIZE_ANY_EXHDR(item);

	while (start < end && is_blank(*start))
		start++;
	while (start < end && is_blank(end[-1]))
		end--;
	return end - start >= 2 && *start == '{' && end[-1] == '}';
}

/*
 * Whether an argument is a constant or a parameter of the statement.
 *
 * Without an expression it is the planner that calls, for a value of its statistics.
 * With @> ANY it is an element of an array.
 */
static bool
is_constant_or_parameter(const FmgrInfo *flinfo, int argno)
{
	Node	   *call = flinfo->fn_expr;
	Node	   *argument;

	if (call != NULL && IsA(call, FuncExpr))
		argument = list_nth(((FuncExpr *) call)->args, argno);
	else if (call != NULL && IsA(call, OpExpr))
		argument = list_nth(((OpExpr *) call)->args, argno);
	else
		return false;
	while (IsA(argument, RelabelType))
		argument = (Node *) ((RelabelType *) argument)->arg;
	return IsA(argument, Const) ||
		(IsA(argument, Param) && ((Param *) argument)->paramkind == PARAM_EXTERN);
}

/*
 * bloomexp_arguments_require_scalar
 *		Refuse one text item, not NULL, that looks like an array literal, if it is a
 *		constant or a parameter.
 *
 * Many drivers send parameters without a type, which PostgreSQL takes for text where
 * it can, or strings as varchar.  An array that is sent that way would be one item,
 * and its elements would be lost in silence.  What is in a column is no such array.
 */
void
bloomexp_arguments_require_scalar(FunctionCallInfo fcinfo, int argno, BloomKind kind)
{
	text	   *item;

	if (kind != BLOOM_KIND_TEXT || !is_constant_or_parameter(fcinfo->flinfo, argno))
		return;
	item = PG_GETARG_TEXT_PP(argno);
	if (looks_like_array(item))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("text item looks like an array literal"),
				 errdetail("If it is meant as an array, all of it would be one item."),
				 errhint("Cast an array of items, for example $1::text[] or $1::bigint[]. If it is one text, put it into an array: ARRAY[$1::text].")));
	PG_FREE_IF_COPY(item, argno);
}

/*
 * bloomexp_arguments_item_type
 *		The type of the items that an argument of any type passes.  It is looked
 *		up once for each call site, which must keep nothing else in fn_extra.
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
 * bloomexp_arguments_check_time
 *		A time in microseconds since 2000-01-01 00:00 UTC; NULL and the infinite
 *		ones are errors.
 */
int64
bloomexp_arguments_check_time(Datum time, bool isnull, const char *name)
{
	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", name)));
	if (TIMESTAMP_NOT_FINITE(DatumGetTimestampTz(time)))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("%s must be finite", name)));
	return DatumGetTimestampTz(time);
}

/*
 * bloomexp_arguments_time
 *		The same for an argument.
 */
int64
bloomexp_arguments_time(FunctionCallInfo fcinfo, int argno, const char *name)
{
	return bloomexp_arguments_check_time(PG_GETARG_DATUM(argno), PG_ARGISNULL(argno), name);
}

/*
 * bloomexp_arguments_width
 *		An interval in microseconds.
 */
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
				 errdetail("They have no fixed length."),
				 errhint("Write it in days, hours or minutes, such as '30 days'.")));
	if (pg_mul_s64_overflow(interval->day, USECS_PER_DAY, &days) ||
		pg_add_s64_overflow(days, interval->time, &width))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("interval out of range")));
	return width;
}

/*
 * bloomexp_arguments_require_privilege
 *		Refuse who has not a privilege on a table, or on one of its columns.
 */
void
bloomexp_arguments_require_privilege(Oid table, AclMode privilege)
{
	AclResult	result = pg_class_aclcheck(table, GetUserId(), privilege);

	if (result != ACLCHECK_OK)
		result = pg_attribute_aclcheck_all(table, GetUserId(), privilege, ACLMASK_ANY);
	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_TABLE, get_rel_name(table));
}
