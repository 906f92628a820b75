/*-------------------------------------------------------------------------
 *
 * simd.h
 *	  Hashes and positions of many items, and comparisons of one hash with many.
 *
 * Uses vector instructions on x86-64.  The results are the same on every CPU.  Tests compile
 * with BLOOMEXP_NO_AVX512 to leave out the widest vectors, or BLOOMEXP_PORTABLE to leave
 * out all.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_SIMD_H
#define BLOOMEXP_SIMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Marks functions that must be inlined into each caller, for the caller's target or constant
 * arguments.  Left to itself, gcc may not inline them, and then a batch takes a third longer.
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
extern bool bloomexp_simd_contains(const uint64_t *hashes, int n, uint64_t hash);

#endif							/* BLOOMEXP_SIMD_H */
