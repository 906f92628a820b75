/*-------------------------------------------------------------------------
 *
 * simd.c
 *	  Hashes and positions of many items at once.
 *
 * How it works:
 *
 * A loop over items of one size is written once, over plain numbers, and compiled for
 * each target: the compiler makes vectors of it, as of the loop in PostgreSQL's
 * checksum.c.  Positions are written for AVX2, which gains up to an eighth of an exclude.
 *
 * Limits:
 *
 * - Without -ftree-vectorize, which the Makefile gives, the targets gain nothing.
 * - Texts are hashed, and bits are probed, one by one: vectors gain less than a tenth of a
 *	 statement there.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/murmur3.h"
#include "kernel/simd.h"

/* A loop that is compiled into each of its callers, for their targets. */
#ifdef __GNUC__
#define LOOP static inline __attribute__((always_inline)) void
#else
#define LOOP static inline void
#endif

LOOP
hash_int64s(uint64_t *numbers, int n)
{
	for (int i = 0; i < n; i++)
		numbers[i] = bloomexp_murmur3_int64(numbers[i]);
}

LOOP
hash_uuids(const uint8_t *restrict uuids, int n, uint64_t *restrict hashes)
{
	for (int i = 0; i < n; i++)
	{
		uint64_t	hash[2];

		bloomexp_murmur3(uuids + 16 * (size_t) i, 16, hash);
		hashes[i] = hash[0];
	}
}

LOOP
find_positions(const uint64_t *restrict hashes, int n, uint64_t factor, uint64_t offset,
			   uint32_t positions, uint32_t *restrict found)
{
	for (int i = 0; i < n; i++)
		found[i] = bloomexp_simd_position(hashes[i] * factor + offset, positions);
}

/* Functions for a target, which only call the loops. */
#define COMPILE_HASHES_FOR(target, options) \
	static options void \
	hash_int64s_##target(uint64_t *numbers, int n) \
	{ \
		hash_int64s(numbers, n); \
	} \
	static options void \
	hash_uuids_##target(const uint8_t *uuids, int n, uint64_t *hashes) \
	{ \
		hash_uuids(uuids, n, hashes); \
	}

#define COMPILE_POSITIONS_FOR(target, options) \
	static options void \
	find_positions_##target(const uint64_t *hashes, int n, uint64_t factor, uint64_t offset, \
							uint32_t positions, uint32_t *found) \
	{ \
		find_positions(hashes, n, factor, offset, positions, found); \
	}

COMPILE_HASHES_FOR(any, )
COMPILE_POSITIONS_FOR(any, )

#if defined(__x86_64__) && defined(__GNUC__) && !defined(BLOOMEXP_PORTABLE)
#include <immintrin.h>

#ifdef __clang__
#define AVX512 __attribute__((target("avx512f,avx512dq"), min_vector_width(512)))
#else
#define AVX512 __attribute__((target("avx512f,avx512dq,prefer-vector-width=512")))
#endif
#ifdef BLOOMEXP_NO_AVX512
#define HAS_AVX512 0
#else
#define HAS_AVX512 (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
#endif
COMPILE_HASHES_FOR(avx512, AVX512)
COMPILE_POSITIONS_FOR(avx512, AVX512)

#define AVX2 __attribute__((target("avx2")))
#define HAS_AVX2 __builtin_cpu_supports("avx2")
COMPILE_HASHES_FOR(avx2, AVX2)

/* Compilers multiply 64 bits by 64 where these products need fewer. */
static AVX2 void
find_positions_avx2(const uint64_t *hashes, int n, uint64_t factor, uint64_t offset,
					uint32_t positions, uint32_t *found)
{
	__m256i		low = _mm256_set1_epi64x((int64_t) factor);
	__m256i		high = _mm256_srli_epi64(low, 32);
	__m256i		offsets = _mm256_set1_epi64x((int64_t) offset);
	__m256i		limits = _mm256_set1_epi64x(positions);
	__m256i		high_halves = _mm256_setr_epi32(1, 3, 5, 7, 0, 0, 0, 0);
	int			done = 0;

	for (; done + 4 <= n; done += 4)
	{
		__m256i		hash = _mm256_loadu_si256((const __m256i *) (hashes + done));
		__m256i		cross = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(hash, 32), low),
											 _mm256_mul_epu32(hash, high));
		__m256i		state = _mm256_add_epi64(_mm256_mul_epu32(hash, low), _mm256_slli_epi64(cross, 32));

		state = _mm256_add_epi64(state, offsets);
		state = _mm256_mul_epu32(_mm256_srli_epi64(state, 32), limits);
		state = _mm256_permutevar8x32_epi32(state, high_halves);
		_mm_storeu_si128((__m128i *) (found + done), _mm256_castsi256_si128(state));
	}
	find_positions(hashes + done, n - done, factor, offset, positions, found + done);
}

/* Call a function for the best target that the CPU has. */
#define CALL(function, ...) \
	(HAS_AVX512 ? function##_avx512(__VA_ARGS__) : \
	 HAS_AVX2 ? function##_avx2(__VA_ARGS__) : function##_any(__VA_ARGS__))
#else
#define CALL(function, ...) function##_any(__VA_ARGS__)
#endif

/*
 * bloomexp_simd_hash_int64s
 *		Put bloomexp_murmur3_int64() of each number in its place.
 */
void
bloomexp_simd_hash_int64s(uint64_t *numbers, int n)
{
	CALL(hash_int64s, numbers, n);
}

/*
 * bloomexp_simd_hash_uuids
 *		Compute the first halves of bloomexp_murmur3() of n items of 16 bytes, one after
 *		another.
 */
void
bloomexp_simd_hash_uuids(const uint8_t *uuids, int n, uint64_t *hashes)
{
	CALL(hash_uuids, uuids, n, hashes);
}

/*
 * bloomexp_simd_find_positions
 *		Map hash * factor + offset to a position, for each hash.
 */
void
bloomexp_simd_find_positions(const uint64_t *hashes, int n, uint64_t factor, uint64_t offset,
							 uint32_t positions, uint32_t *found)
{
	CALL(find_positions, hashes, n, factor, offset, positions, found);
}
