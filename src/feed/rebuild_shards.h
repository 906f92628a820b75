/*-------------------------------------------------------------------------
 *
 * rebuild_shards.h
 *	  A rebuild of a table that Citus has distributed over nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_REBUILD_SHARDS_H
#define BLOOMEXP_REBUILD_SHARDS_H

#include "feed/rebuild_plan.h"

extern void bloomexp_rebuild_shards_do(FunctionCallInfo fcinfo, BloomRebuild *rebuild, Oid function);

#endif							/* BLOOMEXP_REBUILD_SHARDS_H */
