/*-------------------------------------------------------------------------
 *
 * transaction_block.c
 *	  Raises an error if a procedure that commits is called in a transaction block.
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
 * Raise an error that names the routine if the current transaction is a block.  COMMIT would fail
 * there, too, but its message does not name the cause.
 */
PG_FUNCTION_INFO_V1(bloomexp_require_autocommit);
Datum
bloomexp_require_autocommit(PG_FUNCTION_ARGS)
{
	PreventInTransactionBlock(true, text_to_cstring(PG_GETARG_TEXT_PP(0)));
	PG_RETURN_VOID();
}
