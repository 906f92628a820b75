/*-------------------------------------------------------------------------
 *
 * transaction_block.c
 *	  For procedures that commit: an error that names them inside a transaction block.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "fmgr.h"
#include "utils/builtins.h"

/*
 * bloomexp.require_autocommit(routine)
 *
 * A COMMIT there would fail, too, but its message does not name the cause.
 */
PG_FUNCTION_INFO_V1(bloomexp_require_autocommit);
Datum
bloomexp_require_autocommit(PG_FUNCTION_ARGS)
{
	PreventInTransactionBlock(true, text_to_cstring(PG_GETARG_TEXT_PP(0)));
	PG_RETURN_VOID();
}
