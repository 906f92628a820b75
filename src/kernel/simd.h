/*-------------------------------------------------------------------------
 *
 * simd.h
 *	  The two purely arithmetic loops over a batch.
 *
 * Pure C, without PostgreSQL.  On x86-64 with AVX2 they take four items at a time;
 * the CPU is checked at run time.  Their results are the same bits everywhere.
 * BLOOMEXP_PORTABLE leaves the vector code out, for tests.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_SIMD_H
#define BLOOMEXP_SIMD_H

#include <stdint.h>

/* Maps a state's high half to [0, positions). */
static inline uint32_t
bloomexp_simd_position(uint64_t state, uint32_t positions)
{
	return (uint32_t) (((state >> 32) * positions) >> 32);
}

extern void bloomexp_simd_hash_int64s(uint64_t *numbers, int n, uint32_t seed);
extern void bloomexp_simd_find_positions(const uint64_t *hashes, int n, uint64_t factor,
										 uint64_t offset, uint32_t positions, uint32_t *found);

#endif							/* BLOOMEXP_SIMD_H */
