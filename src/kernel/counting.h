/*-------------------------------------------------------------------------
 *
 * counting.h
 *	  Layers of counters, from which items can be removed: what probe.h does with
 *	  bits.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_COUNTING_H
#define BLOOMEXP_COUNTING_H

#include "kernel/bits.h"

/* Fold each counter of 8 bytes into its lowest bit. */
static inline uint64_t
bloomexp_counting_set_in(uint64_t word)
{
	word |= word >> 2;
	word |= word >> 1;
	return word & UINT64_C(0x1111111111111111);
}

extern bool bloomexp_counting_contains(const BloomBits *bits, uint64_t hash);
extern uint32_t bloomexp_counting_add(const BloomBits *bits, uint64_t hash, int times);
extern void bloomexp_counting_merge(const BloomBits *bits, const BloomBits *other);

#endif							/* BLOOMEXP_COUNTING_H */
