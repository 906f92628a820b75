/*-------------------------------------------------------------------------
 *
 * simd.h
 *	  Hashes and positions of many items.
 *
 * On x86-64 vector instructions of the CPU are used.  The results are the same bits
 * everywhere.  For tests, BLOOMEXP_NO_AVX512 leaves the widest vectors out, and
 * BLOOMEXP_PORTABLE all.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_SIMD_H
#define BLOOMEXP_SIMD_H

#include <stddef.h>
#include <stdint.h>

/*
 * For functions that are compiled into each caller, for its target, or for what is constant
 * there.  Left to itself gcc may make such parameters variables again: that cost a batch a
 * third more time.
 */
#ifdef __GNUC__
#define BLOOMEXP_INLINE inline __attribute__((always_inline))
#else
#define BLOOMEXP_INLINE inline
#endif

extern void bloomexp_simd_hash_int64s(uint64_t *numbers, int n);
extern void bloomexp_simd_hash_uuids(const uint8_t *uuids, int n, uint64_t *hashes);
extern void bloomexp_simd_find_positions(const uint64_t *hashes, int n, uint64_t factor,
										 uint64_t offset, uint32_t positions, uint32_t *found);

#endif							/* BLOOMEXP_SIMD_H */
