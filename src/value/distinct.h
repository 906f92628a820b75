/*-------------------------------------------------------------------------
 *
 * distinct.h
 *	  Dropping repetitions among 64-bit hashes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_DISTINCT_H
#define BLOOMEXP_DISTINCT_H

extern uint64 bloomexp_distinct_keep(void *hashes, uint64 n);

#endif							/* BLOOMEXP_DISTINCT_H */
