/*-------------------------------------------------------------------------
 *
 * rebuild_lock.c
 *	  The locks that keep other rebuilds away from a table, or from a part of it.
 *
 * bloom_rebuild() commits after each batch and sleeps between them, so its locks
 * belong to the session.  It releases them when it ends, and when it fails.
 *
 * They are advisory locks, in a key space of their own, where no pg_advisory_lock()
 * comes: those set the fourth field of the tag to 1 or 2.  The key is the database
 * and the table; the third field says what of it is locked:
 *
 *		third field			lock
 *
 *		0					the table: exclusive for a whole rebuild, shared for a part
 *		1 to 1000			the part: exclusive
 *		COMMON, COMMON + 1,	a bit of what all parts have in common, each in one of two
 *		...					modes that conflict with each other, but not with themselves:
 *							so only parts of the same rebuild can be there together.
 *							Otherwise users could be in no part.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/lsyscache.h"

#include "feed/rebuild_lock.h"
#include "value/compat.h"

/* The fourth field of the tag: what the lock is for. */
#define REBUILD_LOCK 0x626C

/* Of the third field. */
#define WHOLE_TABLE 0
#define COMMON (UINT32_C(1) << 31)

#define COMMON_BITS 32

/* The locks that this session holds. */
static struct
{
	LOCKTAG		tag;
	LOCKMODE	mode;
}			held[COMMON_BITS + 2];
static int	n_held = 0;

/*
 * bloomexp_rebuild_lock_release
 *		Release what bloomexp_rebuild_lock_acquire() took.
 */
void
bloomexp_rebuild_lock_release(void)
{
	while (n_held > 0)
	{
		int			i = --n_held;

		/* pg_advisory_unlock_all() releases them, too */
		if (BLOOMEXP_LOCK_IS_HELD(&held[i].tag, held[i].mode))
			LockRelease(&held[i].tag, held[i].mode, true);
	}
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

/* Are there no other parts but those with which a hash is in common? */
static bool
acquire_common(Oid table, uint32 hash)
{
	for (int i = 0; i < COMMON_BITS; i++)
	{
		if (!acquire(table, COMMON + i, hash & (UINT32_C(1) << i) ? RowExclusiveLock : ShareLock))
			return false;
	}
	return true;
}

/*
 * bloomexp_rebuild_lock_acquire
 *		Lock a table for a rebuild, or for one of its parts, which have a hash in
 *		common; an error if another session is in the way.  It may take some locks
 *		even then.
 */
void
bloomexp_rebuild_lock_acquire(Oid table, int32 part, int32 parts, uint32 hash)
{
	bool		is_whole = parts == 1;

	if (!acquire(table, WHOLE_TABLE, is_whole ? ExclusiveLock : ShareLock))
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("table \"%s\" is being rebuilt by another session", get_rel_name(table))));
	if (is_whole)
		return;
	if (!acquire_common(table, hash))
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("table \"%s\" is being rebuilt by another session with other parameters",
						get_rel_name(table)),
				 errdetail("All parts of a rebuild have the same number of parts and the same parameters.")));
	if (!acquire(table, (uint32) part, ExclusiveLock))
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("part %d of table \"%s\" is being rebuilt by another session",
						part, get_rel_name(table))));
}
