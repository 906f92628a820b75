/*-------------------------------------------------------------------------
 *
 * trusted.c
 *	  Checks the owner of a table, in each call of a function that reads it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

/* Return whether the current user can read a relation, or at least one of its columns. */
static bool
can_read(Oid relation)
{
	bool		missing = false;

	if (pg_class_aclcheck_ext(relation, GetUserId(), ACL_SELECT, &missing) == ACLCHECK_OK)
		return true;
	return !missing &&
		pg_attribute_aclcheck_all(relation, GetUserId(), ACL_SELECT, ACLMASK_ANY) == ACLCHECK_OK;
}

/*
 * bloomexp.require_trusted(relation, missing_ok)
 *
 * Raise an error unless the owner of the relation has the rights of the current user, as
 * bloomexp.trusted() would say.  If the current user can read the relation, it stays locked until
 * the transaction ends, so that its name cannot become that of another one before it is read.
 *
 * Anybody can call this, so it does not lock relations that the current user cannot read.  No call
 * of a feed needs that: a read would fail, and the statement of a trigger has locked its table.
 *
 * With missing_ok the relation is not locked, and can have been dropped since the caller listed it:
 * nothing of a dropped relation can run.
 *
 * This is C because the trigger of a feed calls it at each INSERT: in SQL it took a sixth of the
 * trigger's time.
 */
PG_FUNCTION_INFO_V1(bloomexp_require_trusted);
Datum
bloomexp_require_trusted(PG_FUNCTION_ARGS)
{
	Oid			relation = PG_ARGISNULL(0) ? InvalidOid : PG_GETARG_OID(0);
	bool		missing_ok = !PG_ARGISNULL(1) && PG_GETARG_BOOL(1);
	bool		trusted = missing_ok && OidIsValid(relation);
	HeapTuple	tuple;

	if (!missing_ok && OidIsValid(relation) && can_read(relation))
		LockRelationOid(relation, AccessShareLock);
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	if (!HeapTupleIsValid(tuple) && !trusted)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relation)));
	if (HeapTupleIsValid(tuple))
	{
		trusted = has_privs_of_role(((Form_pg_class) GETSTRUCT(tuple))->relowner, GetUserId());
		ReleaseSysCache(tuple);
	}
	if (trusted)
		PG_RETURN_VOID();

	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("table %s belongs to a role without the rights of the owner of the feed, %s",
					DatumGetCString(DirectFunctionCall1(regclassout, ObjectIdGetDatum(relation))),
					GetUserNameFromId(GetUserId(), false)),
			 errhint("Make the feed again as the owner of the table.")));
}
