/*-------------------------------------------------------------------------
 *
 * simd.h
 *	  The two loops over a batch that are nothing but arithmetic.
 *
 * Pure C, knows no PostgreSQL.  On x86-64 with AVX2 they take four items at a
 * time; which CPU it is they ask when they run.  Their results are the same bits
 * everywhere.  With BLOOMEXP_PORTABLE defined they ask nothing, for the tests
 * and for whoever mistrusts a compiler.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_SIMD_H
#define BLOOMEXP_SIMD_H

#include <stdint.h>

/* The position below `positions`, which are fewer than 2^32, that a state means. */
static inline uint32_t
bloomexp_simd_position(uint64_t state, uint32_t positions)
{
	return (uint32_t) (((state >> 32) * positions) >> 32);
}

extern void bloomexp_simd_hash_int64s(uint64_t *numbers, int n, uint32_t seed);
extern void bloomexp_simd_find_positions(const uint64_t *hashes, int n, uint64_t factor,
									uint64_t offset, uint32_t positions, uint32_t *found);

#endif							/* BLOOMEXP_SIMD_H */
