/*-------------------------------------------------------------------------
 *
 * rebuild.c
 *	  Whether bloom_rebuild() can commit where it is called.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "fmgr.h"
#include "nodes/parsenodes.h"

PG_FUNCTION_INFO_V1(bloomexp_rebuild_start);

/*
 * A CALL is atomic in a transaction block, which a string of several statements
 * is, too, and in whatever SQL calls.  A block with an EXCEPTION clause is a
 * subtransaction, which cannot commit, either.
 */
static bool
can_commit(FunctionCallInfo fcinfo)
{
	return fcinfo->context != NULL && IsA(fcinfo->context, CallContext) &&
		!castNode(CallContext, fcinfo->context)->atomic && !IsSubTransaction();
}

/* bloom_rebuild_start() */
Datum
bloomexp_rebuild_start(PG_FUNCTION_ARGS)
{
	if (!can_commit(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_TERMINATION),
				 errmsg("bloom_rebuild() cannot be called inside a transaction"),
				 errdetail("It commits after each batch of users."),
				 errhint("Call it in autocommit mode, alone, as a statement of its own.")));
	PG_RETURN_VOID();
}
