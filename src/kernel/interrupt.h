/*-------------------------------------------------------------------------
 *
 * interrupt.h
 *	  How often a long loop checks whether its query was cancelled.
 *
 * A check costs next to nothing, but not within a loop of a few instructions.  The kernel
 * knows nothing of PostgreSQL, so its callers check between calls, or pass it the check.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_INTERRUPT_H
#define BLOOMEXP_INTERRUPT_H

/* Items or bytes that a loop processes at most between two checks. */
#define BLOOMEXP_INTERRUPT_EVERY 65536

/* A check.  It may not return: an error leaves the kernel by longjmp(). */
typedef void (*BloomInterruptCheck) (void);

#endif							/* BLOOMEXP_INTERRUPT_H */
