/*-------------------------------------------------------------------------
 *
 * rebuild.h
 *	  What is being rebuilt.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_REBUILD_H
#define BLOOMEXP_REBUILD_H

extern Oid	bloomexp_rebuild_target(void);

#endif							/* BLOOMEXP_REBUILD_H */
