/*-------------------------------------------------------------------------
 *
 * rebuild_lock.c
 *	  The lock that keeps a second rebuild away from a table.
 *
 * bloom_rebuild() commits after each batch and sleeps between them, so its lock
 * belongs to the session.  If the call fails or is cancelled, the abort of its
 * transaction releases it; a session that ends releases it anyway.  So nothing is
 * left behind in a session that is pooled.
 *
 * It is an advisory lock, in a key space of its own, where no pg_advisory_lock()
 * comes: those set the fourth field of the tag to 1 or 2.  The key is the database
 * and the table; the third field is free for a part of the table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"

#include "value/compat.h"

/* The fourth field of the tag: what the lock is for. */
#define REBUILD_LOCK 0x626C

PG_FUNCTION_INFO_V1(bloomexp_rebuild_lock);
PG_FUNCTION_INFO_V1(bloomexp_rebuild_unlock);

/* The lock that this session holds. */
static bool is_held = false;
static LOCKTAG held;

static void
release(void)
{
	if (!is_held)
		return;
	is_held = false;
	/* pg_advisory_unlock_all() and DISCARD ALL release it, too */
	if (BLOOMEXP_LOCK_IS_HELD(&held, ExclusiveLock))
		LockRelease(&held, ExclusiveLock, true);
}

/* At the end of every transaction of the session. */
static void
release_at_abort(XactEvent event, void *argument)
{
	if (event == XACT_EVENT_ABORT)
		release();
}

/* Nobody may keep a rebuild away who could not change the filters himself. */
static void
check_may_update(Oid table)
{
	AclResult	result = pg_class_aclcheck(table, GetUserId(), ACL_UPDATE);

	if (result != ACLCHECK_OK)
		result = pg_attribute_aclcheck_all(table, GetUserId(), ACL_UPDATE, ACLMASK_ANY);
	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_TABLE, get_rel_name(table));
}

/* bloom_rebuild_lock(target regclass): whether the session has the lock now */
Datum
bloomexp_rebuild_lock(PG_FUNCTION_ARGS)
{
	static bool is_registered = false;
	Oid			table = PG_GETARG_OID(0);

	check_may_update(table);
	if (!is_registered)
		RegisterXactCallback(release_at_abort, NULL);
	is_registered = true;

	/* A session rebuilds one table at a time. */
	release();
	SET_LOCKTAG_ADVISORY(held, MyDatabaseId, table, 0, REBUILD_LOCK);
	is_held = LockAcquire(&held, ExclusiveLock, true, true) != LOCKACQUIRE_NOT_AVAIL;
	PG_RETURN_BOOL(is_held);
}

/* bloom_rebuild_unlock() */
Datum
bloomexp_rebuild_unlock(PG_FUNCTION_ARGS)
{
	release();
	PG_RETURN_VOID();
}
