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

#include "fmgr.h"
#include "parser/parse_coerce.h"

PG_FUNCTION_INFO_V1(bloomexp_track_converts);

/* bloom_track_converts(source oid, target oid) */
Datum
bloomexp_track_converts(PG_FUNCTION_ARGS)
{
	Oid			source = PG_GETARG_OID(0);
	Oid			target = PG_GETARG_OID(1);

	PG_RETURN_BOOL(can_coerce_type(1, &source, &target, COERCION_EXPLICIT));
}
