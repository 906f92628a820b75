/*-------------------------------------------------------------------------
 *
 * sort.h
 *	  Sorts of hashes and of exposures, in place.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_SORT_H
#define BLOOMEXP_SORT_H

#include <stdint.h>

#include "kernel/interrupt.h"

/* An item, by its hash, and the time slice in which it was shown. */
typedef struct BloomExposure
{
	uint64_t	hash;
	int64_t		slice;
} BloomExposure;

extern void bloomexp_sort_hashes(uint64_t *hashes, uint64_t n, BloomInterruptCheck check);
extern void bloomexp_sort_by_hash(BloomExposure *exposures, uint64_t n,
								  BloomInterruptCheck check);
extern void bloomexp_sort_by_slice(BloomExposure *exposures, uint64_t n,
								   BloomInterruptCheck check);

#endif							/* BLOOMEXP_SORT_H */
