/*-------------------------------------------------------------------------
 *
 * interrupt.h
 *	  How often a long loop checks whether its query was cancelled.
 *
 * A check is cheap, but not in a loop of a few instructions.  The kernel knows nothing of
 * PostgreSQL, so its callers check between calls or pass a function that checks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_INTERRUPT_H
#define BLOOMEXP_INTERRUPT_H

/* The most items or bytes that a loop processes between two checks. */
#define BLOOMEXP_INTERRUPT_EVERY 65536

/* A function that checks.  If the query was cancelled, it does not return, but calls longjmp(). */
typedef void (*BloomInterruptCheck)(void);

#endif							/* BLOOMEXP_INTERRUPT_H */
