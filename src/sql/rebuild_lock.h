/*-------------------------------------------------------------------------
 *
 * rebuild_lock.h
 *	  The locks that keep other rebuilds away from a table, or from a part of it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_REBUILD_LOCK_H
#define BLOOMEXP_REBUILD_LOCK_H

extern bool bloomexp_rebuild_lock_is_writing(Oid table);

#endif							/* BLOOMEXP_REBUILD_LOCK_H */
