/*-------------------------------------------------------------------------
 *
 * aggregate.h
 *	  What a parameter of the aggregates may be.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_AGGREGATE_H
#define BLOOMEXP_AGGREGATE_H

extern void bloomexp_aggregate_check_headroom(double headroom);

#endif							/* BLOOMEXP_AGGREGATE_H */
