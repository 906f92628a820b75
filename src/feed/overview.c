/*-------------------------------------------------------------------------
 *
 * overview.c
 *	  The state of a table of filters.
 *
 * One statement reads it: pg_column_size() needs nothing but the pointer of a filter out
 * of line, and bloom_info() its headers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "feed/columns.h"
#include "feed/definition.h"
#include "feed/plans.h"
#include "feed/triggers.h"

PG_FUNCTION_INFO_V1(bloomexp_overview);

/* The columns of the result. */
#define COLUMNS 12

/* The statement. */
static char *
write_statement(const BloomExtension *extension, Oid target, const char *filter_column,
				double sample_percent, const char *rebuilt_at_column)
{
	char	   *info = bloomexp_triggers_object(extension, "bloom_info");
	char	   *layers = bloomexp_triggers_object(extension, "bloom_layers");
	const char *filter = quote_identifier(filter_column);
	char	   *sample = sample_percent < 100 ?
		psprintf(" TABLESAMPLE pg_catalog.system (%.9g)", sample_percent) : "";
	char	   *rebuilt_at = rebuilt_at_column ?
		psprintf("f.%s::pg_catalog.timestamptz", quote_identifier(rebuilt_at_column)) : "NULL::pg_catalog.timestamptz";

	/*
	 * A window has a layer for each slice by design; a counting filter never has another
	 * one, but refuses items when it is full.
	 */
	return psprintf("SELECT (pg_catalog.count(*) OPERATOR(pg_catalog.*) $1)::pg_catalog.int8, "
					"(COALESCE(pg_catalog.sum(s.items), 0) OPERATOR(pg_catalog.*) $1)::pg_catalog.int8, "
					"(COALESCE(pg_catalog.sum(s.bytes), 0) OPERATOR(pg_catalog.*) $1)::pg_catalog.int8, "
					"(pg_catalog.percentile_disc(0.5) WITHIN GROUP (ORDER BY s.bytes))::pg_catalog.int8, "
					"(pg_catalog.percentile_disc(0.99) WITHIN GROUP (ORDER BY s.bytes))::pg_catalog.int8, "
					"pg_catalog.avg(s.over_capacity::pg_catalog.int4)::pg_catalog.float8, pg_catalog.max(s.layers), pg_catalog.max(s.fpr), "
					"pg_catalog.percentile_disc(0.5) WITHIN GROUP (ORDER BY s.fpr_now), "
					"pg_catalog.percentile_disc(0.99) WITHIN GROUP (ORDER BY s.fpr_now), pg_catalog.max(s.fpr_now), "
					"pg_catalog.min(s.rebuilt_at) "
					"FROM (SELECT pg_catalog.pg_column_size(f.%s) AS bytes, i.items, i.layers, i.fpr, i.fpr_now, %s AS rebuilt_at, "
					"CASE WHEN i.slices IS NOT NULL THEN i.layers OPERATOR(pg_catalog.>) "
					"(SELECT pg_catalog.count(DISTINCT l.slice) FROM %s(f.%s) AS l) "
					"WHEN i.counting THEN i.items OPERATOR(pg_catalog.>=) i.capacity "
					"ELSE i.layers OPERATOR(pg_catalog.>) 1 END AS over_capacity "
					"FROM %s AS f%s, %s(f.%s) AS i WHERE f.%s IS NOT NULL) AS s",
					filter, rebuilt_at, layers, filter, bloomexp_columns_table_sql(target), sample,
					info, filter, filter);
}

/* bloom_overview(target, filter_column, sample_percent, rebuilt_at_column) */
Datum
bloomexp_overview(PG_FUNCTION_ARGS)
{
	Oid			target;
	double		sample_percent;
	char	   *filter_column = PG_ARGISNULL(1) ? NULL : NameStr(*PG_GETARG_NAME(1));
	char	   *rebuilt_at_column = PG_ARGISNULL(3) ? NULL : NameStr(*PG_GETARG_NAME(3));
	Oid			types[] = {NUMERICOID};
	Datum		arguments[1];
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS];
	BloomExtension extension;
	TupleDesc	shape;
	Datum		result;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(2))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("target and sample_percent must not be null")));
	target = PG_GETARG_OID(0);
	sample_percent = PG_GETARG_FLOAT8(2);
	if (!(sample_percent > 0 && sample_percent <= 100))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sample_percent must be greater than 0 and at most 100")));
	if (get_call_result_type(fcinfo, NULL, &shape) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	shape = BlessTupleDesc(shape);

	bloomexp_triggers_find_extension(fcinfo->flinfo->fn_oid, &extension);
	filter_column = bloomexp_definition_filter_column(&extension, target, filter_column);
	if (rebuilt_at_column != NULL)
		bloomexp_columns_check_time(target, rebuilt_at_column);
	/* what was sampled is scaled up */
	arguments[0] = DirectFunctionCall1(float8_numeric, Float8GetDatum(100 / sample_percent));

	bloomexp_plans_expect(SPI_connect(), SPI_OK_CONNECT, "SPI_connect");
	bloomexp_plans_expect(SPI_execute_with_args(write_statement(&extension, target, filter_column,
																sample_percent, rebuilt_at_column),
												1, types, arguments, NULL, true, 0),
						  SPI_OK_SELECT, "SPI_execute_with_args");
	for (int i = 0; i < COLUMNS; i++)
		values[i] = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, i + 1, &nulls[i]);
	result = PointerGetDatum(SPI_returntuple(heap_form_tuple(shape, values, nulls), shape));
	bloomexp_plans_expect(SPI_finish(), SPI_OK_FINISH, "SPI_finish");
	return result;
}
