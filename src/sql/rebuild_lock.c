/*-------------------------------------------------------------------------
 *
 * rebuild_lock.c
 *	  The locks that keep other rebuilds away from a table, or from a part of it.
 *
 * bloom_rebuild() commits after each batch and sleeps between them, so its locks
 * belong to the session.  If the call fails or is cancelled, the abort of its
 * transaction releases them; a session that ends releases them anyway.  So nothing
 * is left behind in a session that is pooled.
 *
 * They are advisory locks, in a key space of their own, where no pg_advisory_lock()
 * comes: those set the fourth field of the tag to 1 or 2.  The key is the database
 * and the table; the third field says what of it is locked:
 *
 *		third field		lock
 *
 *		0				the table: exclusive for a whole rebuild, shared for a part
 *		1, 2, ...		the part: exclusive
 *		SHARING | hash	how the parts share the work: shared, for all parts of one
 *						rebuild have the same hash.  A session that sees another one
 *						leaves the table alone, for users could be in no part then.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "sql/arguments.h"
#include "sql/rebuild_lock.h"
#include "value/compat.h"

/* The fourth field of the tag: what the lock is for. */
#define REBUILD_LOCK 0x626C
#define WRITES_LOCK 0x6277		/* see set_writes_tag() */

/* Of the third field. */
#define WHOLE_TABLE 0
#define SHARING (UINT32_C(1) << 31)

PG_FUNCTION_INFO_V1(bloomexp_rebuild_lock);
PG_FUNCTION_INFO_V1(bloomexp_rebuild_unlock);
PG_FUNCTION_INFO_V1(bloomexp_rebuild_writes);

/* The locks that this session holds, at most one of each sort. */
static struct
{
	LOCKTAG		tag;
	LOCKMODE	mode;
}			held[3];
static int	n_held = 0;

static void
release(void)
{
	while (n_held > 0)
	{
		int			i = --n_held;

		/* pg_advisory_unlock_all() and DISCARD ALL release them, too */
		if (BLOOMEXP_LOCK_IS_HELD(&held[i].tag, held[i].mode))
			LockRelease(&held[i].tag, held[i].mode, true);
	}
}

/* At the end of every transaction of the session. */
static void
release_at_abort(XactEvent event, void *argument)
{
	if (event == XACT_EVENT_ABORT)
		release();
}

/* Whether the session has this lock now.  It does not wait. */
static bool
acquire(Oid table, uint32 what, LOCKMODE mode)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, table, what, REBUILD_LOCK);
	if (LockAcquire(&tag, mode, true, true) == LOCKACQUIRE_NOT_AVAIL)
		return false;
	held[n_held].tag = tag;
	held[n_held].mode = mode;
	n_held++;
	return true;
}

/* Whether another session shares a rebuild of the table in another way. */
static bool
is_shared_otherwise(Oid table, uint32 sharing)
{
	LockData   *locks = GetLockStatusData();

	for (int i = 0; i < locks->nelements; i++)
	{
		const LOCKTAG *tag = &locks->locks[i].locktag;

		if (tag->locktag_type == LOCKTAG_ADVISORY && tag->locktag_field4 == REBUILD_LOCK &&
			tag->locktag_field1 == MyDatabaseId && tag->locktag_field2 == table &&
			(tag->locktag_field3 & SHARING) != 0 && tag->locktag_field3 != sharing)
			return true;
	}
	return false;
}

static void
lock_table(Oid table, LOCKMODE mode)
{
	if (!acquire(table, WHOLE_TABLE, mode))
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("table \"%s\" is being rebuilt by another session", get_rel_name(table))));
}

static void
lock_part(Oid table, int32 part, int32 hash)
{
	uint32		sharing = (uint32) hash | SHARING;

	/* whoever comes second sees the first, as both take theirs before they look */
	if (!acquire(table, sharing, ShareLock) || is_shared_otherwise(table, sharing))
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("table \"%s\" is being rebuilt by another session with other parameters",
						get_rel_name(table)),
				 errdetail("All parts of a rebuild have the same number of parts and the same parameters.")));
	if (!acquire(table, (uint32) part & ~SHARING, ExclusiveLock))
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("part %d of table \"%s\" is being rebuilt by another session",
						part, get_rel_name(table))));
}

static int
count_columns(Oid table)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
	int			n = 0;

	if (HeapTupleIsValid(tuple))
	{
		n = ((Form_pg_class) GETSTRUCT(tuple))->relnatts;
		ReleaseSysCache(tuple);
	}
	return n;
}

/*
 * Nobody may keep a rebuild away who could not change filters.  UPDATE on other
 * columns is not enough.
 */
static void
require_update(Oid table, Oid filter_type)
{
	AclResult	result = pg_class_aclcheck(table, GetUserId(), ACL_UPDATE);

	for (int i = count_columns(table); i > 0 && result != ACLCHECK_OK; i--)
	{
		if (get_atttype(table, i) == filter_type)
			result = pg_attribute_aclcheck(table, i, GetUserId(), ACL_UPDATE);
	}
	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_TABLE, get_rel_name(table));
}

/*
 * bloom_rebuild_lock(target regclass, part integer, parts integer, hash integer)
 *
 * An error if another session is in the way.
 */
Datum
bloomexp_rebuild_lock(PG_FUNCTION_ARGS)
{
	static bool is_registered = false;
	Oid			table = PG_GETARG_OID(0);
	int32		part = PG_GETARG_INT32(1);
	bool		is_whole = PG_GETARG_INT32(2) == 1;
	int32		hash = PG_GETARG_INT32(3);

	require_update(table, GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum("bloom"),
										  ObjectIdGetDatum(get_func_namespace(fcinfo->flinfo->fn_oid))));
	if (!is_registered)
		RegisterXactCallback(release_at_abort, NULL);
	is_registered = true;

	/* A session rebuilds one table at a time. */
	release();
	PG_TRY();
	{
		lock_table(table, is_whole ? ExclusiveLock : ShareLock);
		if (!is_whole)
			lock_part(table, part, hash);
	}
	PG_CATCH();
	{
		/* also if somebody catches the error, so that no transaction aborts */
		release();
		PG_RE_THROW();
	}
	PG_END_TRY();
	PG_RETURN_VOID();
}

/* bloom_rebuild_unlock() */
Datum
bloomexp_rebuild_unlock(PG_FUNCTION_ARGS)
{
	release();
	PG_RETURN_VOID();
}

/*
 * The lock of a transaction that writes filters anew.
 *
 * It keeps nobody away.  But unlike a variable, it is gone when the transaction ends,
 * or the part of it that took it is rolled back, however that comes.
 */
static void
set_writes_tag(LOCKTAG *tag, Oid table)
{
	SET_LOCKTAG_ADVISORY(*tag, MyDatabaseId, table, 0, WRITES_LOCK);
}

/*
 * bloom_rebuild_writes(target regclass)
 *
 * Until the end of the transaction bloom_guard() lets pass what it writes.
 */
Datum
bloomexp_rebuild_writes(PG_FUNCTION_ARGS)
{
	Oid			table = PG_GETARG_OID(0);
	LOCKTAG		tag;

	bloomexp_arguments_require_update(table);
	set_writes_tag(&tag, table);
	LockAcquire(&tag, ShareLock, false, false);
	PG_RETURN_VOID();
}

/*
 * bloomexp_rebuild_lock_is_writing
 *		Whether this transaction rebuilds the filters of a table.
 */
bool
bloomexp_rebuild_lock_is_writing(Oid table)
{
	LOCKTAG		tag;

	set_writes_tag(&tag, table);
	return BLOOMEXP_LOCK_IS_HELD(&tag, ShareLock);
}
