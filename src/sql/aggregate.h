/*-------------------------------------------------------------------------
 *
 * aggregate.h
 *	  What the aggregates have in common.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_AGGREGATE_H
#define BLOOMEXP_AGGREGATE_H

#include "fmgr.h"
#include "lib/stringinfo.h"

extern MemoryContext bloomexp_aggregate_context(FunctionCallInfo fcinfo);
extern void bloomexp_aggregate_check_headroom(double headroom);
extern void bloomexp_aggregate_require_same(double mine, double other, const char *name);
extern void bloomexp_aggregate_read_message(StringInfo message, bytea *bytes);

#endif							/* BLOOMEXP_AGGREGATE_H */
