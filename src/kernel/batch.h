/*-------------------------------------------------------------------------
 *
 * batch.h
 *	  How many items loops take at a time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_BATCH_H
#define BLOOMEXP_BATCH_H

/*
 * Items that are hashed and probed together.  Small enough for L1, large enough
 * that each step is its own loop without dependencies between items.
 */
#define BLOOMEXP_BATCH 512

/* Items or bytes that a loop may process between two checks for a cancel. */
#define BLOOMEXP_INTERRUPT_EVERY 65536

#endif							/* BLOOMEXP_BATCH_H */
