/*-------------------------------------------------------------------------
 *
 * definition.c
 *	  What definition.sql asks the server for.
 *
 * It looks at tables, types and triggers of others, and must not run what these
 * have put there.  So it asks the catalogs, and tries nothing out.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "parser/parse_coerce.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "value/compat.h"

PG_FUNCTION_INFO_V1(bloomexp_track_converts);
PG_FUNCTION_INFO_V1(bloomexp_track_arguments);

/* bloom_track_converts(source oid, target oid) */
Datum
bloomexp_track_converts(PG_FUNCTION_ARGS)
{
	Oid			source = PG_GETARG_OID(0);
	Oid			target = PG_GETARG_OID(1);

	PG_RETURN_BOOL(can_coerce_type(1, &source, &target, COERCION_EXPLICIT));
}

/* bloom_track_arguments(bytes bytea): each ends with a zero; what does not was cut off. */
Datum
bloomexp_track_arguments(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);
	const char *argument = VARDATA_ANY(bytes);
	const char *end = argument + VARSIZE_ANY_EXHDR(bytes);
	const char *zero;
	ArrayBuildState *arguments = initArrayResult(TEXTOID, CurrentMemoryContext, false);

	while ((zero = memchr(argument, '\0', end - argument)) != NULL)
	{
		int			length = zero - argument;

		pg_verifymbstr(argument, length, false);
		arguments = accumArrayResult(arguments, PointerGetDatum(cstring_to_text_with_len(argument, length)),
									 false, TEXTOID, CurrentMemoryContext);
		argument = zero + 1;
	}
	PG_RETURN_DATUM(makeArrayResult(arguments, CurrentMemoryContext));
}
