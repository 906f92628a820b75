/*-------------------------------------------------------------------------
 *
 * rebuild_lock.h
 *	  The locks that keep other rebuilds away from a table, or from a part of it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_REBUILD_LOCK_H
#define BLOOMEXP_REBUILD_LOCK_H

extern void bloomexp_rebuild_lock_acquire(Oid table, int32 part, int32 parts, uint32 hash);
extern void bloomexp_rebuild_lock_release(void);

#endif							/* BLOOMEXP_REBUILD_LOCK_H */
