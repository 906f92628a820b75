/*-------------------------------------------------------------------------
 *
 * simd.c
 *	  The two purely arithmetic loops over a batch, portable and for AVX2.
 *
 * Probing memory is not vectorised: gathering bits by vector instructions gains
 * nothing, and is slow where microcode guards it.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/murmur3.h"
#include "kernel/simd.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(BLOOMEXP_PORTABLE)
#include <immintrin.h>
#define AVX2 __attribute__((target("avx2")))
#define HAS_AVX2 __builtin_cpu_supports("avx2")
#define AT_A_TIME 4

/* The low halves of the products of 64-bit lanes; AVX2 has only 32 by 32 bits. */
static inline AVX2 __m256i
multiply(__m256i a, __m256i b)
{
	__m256i		cross = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(a, 32), b),
										 _mm256_mul_epu32(a, _mm256_srli_epi64(b, 32)));

	return _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64(cross, 32));
}

static inline AVX2 __m256i
rotate(__m256i a, int left)
{
	return _mm256_or_si256(_mm256_slli_epi64(a, left), _mm256_srli_epi64(a, 64 - left));
}

static inline AVX2 __m256i
avalanche(__m256i lane)
{
	lane = _mm256_xor_si256(lane, _mm256_srli_epi64(lane, 33));
	lane = multiply(lane, _mm256_set1_epi64x((int64_t) MURMUR3_AVALANCHE1));
	lane = _mm256_xor_si256(lane, _mm256_srli_epi64(lane, 33));
	lane = multiply(lane, _mm256_set1_epi64x((int64_t) MURMUR3_AVALANCHE2));
	return _mm256_xor_si256(lane, _mm256_srli_epi64(lane, 33));
}

/* Hash the numbers that fill whole vectors; returns how many. */
static AVX2 int
hash_vectors(uint64_t *numbers, int n, uint32_t seed)
{
	__m256i		seeds = _mm256_set1_epi64x(seed ^ 8);
	int			i = 0;

	for (; i + AT_A_TIME <= n; i += AT_A_TIME)
	{
		__m256i	   *place = (__m256i *) (numbers + i);
		__m256i		lane1 = _mm256_loadu_si256(place);
		__m256i		lane2 = seeds;

		/* as bloomexp_murmur3_int64() */
		lane1 = multiply(lane1, _mm256_set1_epi64x((int64_t) MURMUR3_C1));
		lane1 = multiply(rotate(lane1, 31), _mm256_set1_epi64x((int64_t) MURMUR3_C2));
		lane1 = _mm256_add_epi64(_mm256_xor_si256(lane1, seeds), lane2);
		lane2 = _mm256_add_epi64(lane2, lane1);
		_mm256_storeu_si256(place, _mm256_add_epi64(avalanche(lane1), avalanche(lane2)));
	}
	return i;
}

/* Positions of the hashes that fill whole vectors; returns how many. */
static AVX2 int
find_vectors(const uint64_t *hashes, int n, uint64_t factor, uint64_t offset,
			 uint32_t positions, uint32_t *found)
{
	__m256i		factors = _mm256_set1_epi64x((int64_t) factor);
	__m256i		offsets = _mm256_set1_epi64x((int64_t) offset);
	__m256i		limits = _mm256_set1_epi64x(positions);
	__m256i		high_halves = _mm256_setr_epi32(1, 3, 5, 7, 0, 0, 0, 0);
	int			i = 0;

	for (; i + AT_A_TIME <= n; i += AT_A_TIME)
	{
		__m256i		state = _mm256_loadu_si256((const __m256i *) (hashes + i));

		/* as bloomexp_simd_position() */
		state = _mm256_add_epi64(multiply(state, factors), offsets);
		state = _mm256_mul_epu32(_mm256_srli_epi64(state, 32), limits);
		state = _mm256_permutevar8x32_epi32(state, high_halves);
		_mm_storeu_si128((__m128i *) (found + i), _mm256_castsi256_si128(state));
	}
	return i;
}

#else
#define HAS_AVX2 0
#define hash_vectors(numbers, n, seed) 0
#define find_vectors(hashes, n, factor, offset, positions, found) 0
#endif

/*
 * bloomexp_simd_hash_int64s
 *		Put bloomexp_murmur3_int64() of each number in its place.
 */
void
bloomexp_simd_hash_int64s(uint64_t *numbers, int n, uint32_t seed)
{
	for (int i = HAS_AVX2 ? hash_vectors(numbers, n, seed) : 0; i < n; i++)
		numbers[i] = bloomexp_murmur3_int64(numbers[i], seed);
}

/*
 * bloomexp_simd_find_positions
 *		Maps hash * factor + offset to a position, for each hash.
 */
void
bloomexp_simd_find_positions(const uint64_t *hashes, int n, uint64_t factor, uint64_t offset,
							 uint32_t positions, uint32_t *found)
{
	for (int i = HAS_AVX2 ? find_vectors(hashes, n, factor, offset, positions, found) : 0; i < n; i++)
		found[i] = bloomexp_simd_position(hashes[i] * factor + offset, positions);
}
