/*-------------------------------------------------------------------------
 *
 * batch.h
 *	  How many items the loops over many of them take at a time.
 *
 * Few enough for their hashes to stay in the CPU's first cache, and enough for
 * a step to be a loop of its own, in which no item waits for the one before.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_BATCH_H
#define BLOOMEXP_BATCH_H

#define BLOOMEXP_BATCH 512

#endif							/* BLOOMEXP_BATCH_H */
