/*-------------------------------------------------------------------------
 *
 * simd.c
 *	  Hashes and positions of many items at once.
 *
 * How it works:
 *
 * A loop over items of one size is written once, over plain numbers, and compiled for
 * each target: the compiler makes vectors of it, as of the loop in PostgreSQL's
 * checksum.c.  Two paths are written for AVX2: positions, where that gains a tenth of an
 * exclude, and hashes of items of different lengths, whose words the compiler would have
 * to read each from another place.
 *
 * Limits:
 *
 * - Without -ftree-vectorize, which the Makefile gives, the targets gain nothing.
 * - Probing memory is not vectorised: gathering bits by vector instructions gains
 *	 nothing, and is slow where microcode guards it.
 *
 *-------------------------------------------------------------------------
 */
#include <stdbool.h>
#include <string.h>

#include "kernel/murmur3.h"
#include "kernel/simd.h"

/* Items of equal length whose lanes are kept side by side. */
#define TOGETHER 64

/* The longest item that is hashed with others of different lengths. */
#define MAX_LENGTH 128

/* A loop that is compiled into each of its callers, for their targets. */
#ifdef __GNUC__
#define LOOP static inline __attribute__((always_inline)) void
#else
#define LOOP static inline void
#endif

/* Put bloomexp_murmur3_int64() of each number in its place. */
LOOP
hash_numbers(uint64_t *numbers, int n)
{
	for (int i = 0; i < n; i++)
		numbers[i] = bloomexp_murmur3_int64(numbers[i]);
}

/* Map hash * factor + offset to a position, for each hash. */
LOOP
find_positions(const uint64_t *restrict hashes, int n, uint64_t factor, uint64_t offset,
			   uint32_t positions, uint32_t *restrict found)
{
	for (int i = 0; i < n; i++)
		found[i] = bloomexp_simd_position(hashes[i] * factor + offset, positions);
}

/* Mix a block of 16 bytes of each item into its lanes. */
LOOP
mix_blocks(uint64_t *restrict lanes1, uint64_t *restrict lanes2, const uint8_t *restrict block,
		   size_t stride, int n)
{
	for (int i = 0; i < n; i++, block += stride)
	{
		uint64_t	lane1 = lanes1[i] ^ murmur3_scramble1(murmur3_read_word(block));
		uint64_t	lane2 = lanes2[i] ^ murmur3_scramble2(murmur3_read_word(block + 8));

		lanes1[i] = (murmur3_rotate(lane1, 27) + lanes2[i]) * 5 + 0x52dce729;
		lanes2[i] = (murmur3_rotate(lane2, 31) + lanes1[i]) * 5 + 0x38495ab5;
	}
}

/* Mix in what is left of each item, 1 to 15 bytes, which are the last of 16. */
LOOP
mix_tails(uint64_t *restrict lanes1, uint64_t *restrict lanes2, const uint8_t *restrict last,
		  size_t stride, size_t left, int n)
{
	int			drop = (int) (16 - left) % 8 * 8;

	for (int i = 0; left <= 8 && i < n; i++, last += stride)
		lanes1[i] ^= murmur3_scramble1(murmur3_read_word(last + 8) >> drop);
	for (int i = 0; left > 8 && i < n; i++, last += stride)
	{
		uint64_t	high = murmur3_read_word(last + 8);

		lanes1[i] ^= murmur3_scramble1(murmur3_read_word(last) >> drop | high << (64 - drop));
		lanes2[i] ^= murmur3_scramble2(high >> drop);
	}
}

/* Make hashes of the lanes of items of one length. */
LOOP
finish(const uint64_t *restrict lanes1, const uint64_t *restrict lanes2, size_t length, int n,
	   uint64_t *restrict hashes)
{
	for (int i = 0; i < n; i++)
	{
		uint64_t	lane2 = lanes2[i] ^ length;
		uint64_t	lane1 = (lanes1[i] ^ length) + lane2;

		hashes[i] = murmur3_avalanche(lane1) + murmur3_avalanche(lane2 + lane1);
	}
}

/* The first halves of bloomexp_murmur3() of items of one length. */
LOOP
hash_equal(const uint8_t *first, size_t stride, size_t length, int n, uint64_t *hashes)
{
	for (int start = 0; start < n; start += TOGETHER)
	{
		int			together = n - start < TOGETHER ? n - start : TOGETHER;
		const uint8_t *next = first + start * stride;
		uint64_t	lanes1[TOGETHER];
		uint64_t	lanes2[TOGETHER];
		size_t		left = length;

		for (int i = 0; i < together; i++)
			lanes1[i] = lanes2[i] = 0;
		for (; left >= 16; left -= 16, next += 16)
			mix_blocks(lanes1, lanes2, next, stride, together);
		if (left > 0)
			mix_tails(lanes1, lanes2, next + left - 16, stride, left, together);
		finish(lanes1, lanes2, length, together, hashes + start);
	}
}

/* Functions for a target, which only call the loops. */
#define COMPILE_POSITIONS_FOR(target, options) \
	static options void \
	find_positions_##target(const uint64_t *hashes, int n, uint64_t factor, uint64_t offset, \
							uint32_t positions, uint32_t *found) \
	{ \
		find_positions(hashes, n, factor, offset, positions, found); \
	}

#define COMPILE_HASHES_FOR(target, options) \
	static options void \
	hash_numbers_##target(uint64_t *numbers, int n) \
	{ \
		hash_numbers(numbers, n); \
	} \
	static options void \
	hash_equal_##target(const uint8_t *first, size_t stride, size_t length, int n, \
						uint64_t *hashes) \
	{ \
		hash_equal(first, stride, length, n, hashes); \
	}

COMPILE_POSITIONS_FOR(any, )
COMPILE_HASHES_FOR(any, )

#if defined(__x86_64__) && defined(__GNUC__) && !defined(BLOOMEXP_PORTABLE)
#include <immintrin.h>
#define AVX2 __attribute__((target("avx2")))
#define HAS_AVX2 __builtin_cpu_supports("avx2")

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

/* Scramble words as murmur3_scramble1() and murmur3_scramble2() do. */
static inline AVX2 __m256i
scramble1(__m256i words)
{
	words = multiply(words, _mm256_set1_epi64x((int64_t) MURMUR3_C1));
	return multiply(rotate(words, 31), _mm256_set1_epi64x((int64_t) MURMUR3_C2));
}

static inline AVX2 __m256i
scramble2(__m256i words)
{
	words = multiply(words, _mm256_set1_epi64x((int64_t) MURMUR3_C2));
	return multiply(rotate(words, 33), _mm256_set1_epi64x((int64_t) MURMUR3_C1));
}

/* lanes * 5 + addend */
static inline AVX2 __m256i
times_five(__m256i lanes, uint32_t addend)
{
	return _mm256_add_epi64(_mm256_add_epi64(lanes, _mm256_slli_epi64(lanes, 2)),
							_mm256_set1_epi64x(addend));
}

/* The block of an item after `done` bytes; if less is left, its last 16 bytes. */
static inline const uint8_t *
block_after(const BloomBytes *item, size_t done)
{
	size_t		back = item->length < done + 16 ? 16 : item->length - done;

	return item->start + item->length - back;
}

/*
 * Read the two words of block_after() of each of four items.
 *
 * The items were just stored, word by word.  A loop over them would become loads of
 * two words at a time, which wait until both are in the cache.
 */
static inline AVX2 void
read_blocks(const BloomBytes *items, size_t done, __m256i *first, __m256i *second)
{
	__m128i		a = _mm_loadu_si128((const __m128i *) block_after(&items[0], done));
	__m128i		b = _mm_loadu_si128((const __m128i *) block_after(&items[1], done));
	__m128i		c = _mm_loadu_si128((const __m128i *) block_after(&items[2], done));
	__m128i		d = _mm_loadu_si128((const __m128i *) block_after(&items[3], done));
	__m256i		even = _mm256_inserti128_si256(_mm256_castsi128_si256(a), c, 1);
	__m256i		odd = _mm256_inserti128_si256(_mm256_castsi128_si256(b), d, 1);

	*first = _mm256_unpacklo_epi64(even, odd);
	*second = _mm256_unpackhi_epi64(even, odd);
}

/* Read the two words of what each of four items has left after its blocks, filled with 0. */
static inline AVX2 void
read_tails(const BloomBytes *items, size_t longest, __m256i lengths, __m256i *first, __m256i *second)
{
	__m256i		left = _mm256_and_si256(lengths, _mm256_set1_epi64x(15));
	__m256i		drop = _mm256_slli_epi64(_mm256_sub_epi64(_mm256_set1_epi64x(16), left), 3);
	__m256i		word = _mm256_set1_epi64x(64);
	__m256i		low;
	__m256i		high;

	read_blocks(items, longest, &low, &high);

	/* shift 128 bits right by `drop`; a shift by 64 or more, or less than 0, gives 0 */
	low = _mm256_or_si256(_mm256_srlv_epi64(low, drop),
						  _mm256_sllv_epi64(high, _mm256_sub_epi64(word, drop)));
	*first = _mm256_or_si256(low, _mm256_srlv_epi64(high, _mm256_sub_epi64(drop, word)));
	*second = _mm256_srlv_epi64(high, drop);
}

/* The first halves of bloomexp_murmur3() of four items, the longest of `longest` bytes. */
static AVX2 void
hash_items(const BloomBytes *items, size_t longest, uint64_t *hashes)
{
	__m256i		lengths = _mm256_setr_epi64x((int64_t) items[0].length, (int64_t) items[1].length,
											 (int64_t) items[2].length, (int64_t) items[3].length);
	__m256i		lane1 = _mm256_setzero_si256();
	__m256i		lane2 = lane1;
	__m256i		word1;
	__m256i		word2;

	for (size_t done = 0; done + 16 <= longest; done += 16)
	{
		__m256i		has_block = _mm256_cmpgt_epi64(lengths, _mm256_set1_epi64x((int64_t) done + 15));
		__m256i		next1;
		__m256i		next2;

		read_blocks(items, done, &word1, &word2);
		next1 = rotate(_mm256_xor_si256(lane1, scramble1(word1)), 27);
		next1 = times_five(_mm256_add_epi64(next1, lane2), 0x52dce729);
		next2 = rotate(_mm256_xor_si256(lane2, scramble2(word2)), 31);
		next2 = times_five(_mm256_add_epi64(next2, next1), 0x38495ab5);

		/* an item without a block here keeps its lanes */
		lane1 = _mm256_blendv_epi8(lane1, next1, has_block);
		lane2 = _mm256_blendv_epi8(lane2, next2, has_block);
	}

	read_tails(items, longest, lengths, &word1, &word2);
	lane1 = _mm256_xor_si256(_mm256_xor_si256(lane1, scramble1(word1)), lengths);
	lane2 = _mm256_xor_si256(_mm256_xor_si256(lane2, scramble2(word2)), lengths);
	lane1 = _mm256_add_epi64(lane1, lane2);
	lane2 = _mm256_add_epi64(lane2, lane1);
	_mm256_storeu_si256((__m256i *) hashes, _mm256_add_epi64(avalanche(lane1), avalanche(lane2)));
}

/* Map hashes to positions; compilers multiply 64 bits by 64 where these products need fewer. */
static AVX2 void
find_positions_avx2(const uint64_t *hashes, int n, uint64_t factor, uint64_t offset,
					uint32_t positions, uint32_t *found)
{
	__m256i		factors = _mm256_set1_epi64x((int64_t) factor);
	__m256i		offsets = _mm256_set1_epi64x((int64_t) offset);
	__m256i		limits = _mm256_set1_epi64x(positions);
	__m256i		high_halves = _mm256_setr_epi32(1, 3, 5, 7, 0, 0, 0, 0);
	int			done = 0;

	for (; done + 4 <= n; done += 4)
	{
		__m256i		state = _mm256_loadu_si256((const __m256i *) (hashes + done));

		state = _mm256_add_epi64(multiply(state, factors), offsets);
		state = _mm256_mul_epu32(_mm256_srli_epi64(state, 32), limits);
		state = _mm256_permutevar8x32_epi32(state, high_halves);
		_mm_storeu_si128((__m128i *) (found + done), _mm256_castsi256_si128(state));
	}
	find_positions(hashes + done, n - done, factor, offset, positions, found + done);
}

COMPILE_HASHES_FOR(avx2, AVX2)
#else
#define HAS_AVX2 false
#define hash_items(items, longest, hashes)
#define hash_numbers_avx2 hash_numbers_any
#define find_positions_avx2 find_positions_any
#define hash_equal_avx2 hash_equal_any
#endif

#if defined(__x86_64__) && !defined(BLOOMEXP_PORTABLE) && !defined(BLOOMEXP_NO_AVX512) && \
	(defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 9))
#ifdef __clang__
#define AVX512 __attribute__((target("avx512f,avx512dq"), min_vector_width(512)))
#else
#define AVX512 __attribute__((target("avx512f,avx512dq,prefer-vector-width=512")))
#endif
#define HAS_AVX512 (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
COMPILE_POSITIONS_FOR(avx512, AVX512)
COMPILE_HASHES_FOR(avx512, AVX512)
#else
#define HAS_AVX512 false
#define hash_numbers_avx512 hash_numbers_any
#define find_positions_avx512 find_positions_any
#define hash_equal_avx512 hash_equal_any
#endif

/* Call a function for the best target that the CPU has. */
#define CALL(function, ...) \
	(HAS_AVX512 ? function##_avx512(__VA_ARGS__) : \
	 HAS_AVX2 ? function##_avx2(__VA_ARGS__) : function##_any(__VA_ARGS__))

/*
 * bloomexp_simd_hash_equal
 *		Compute the first halves of bloomexp_murmur3() of n items, each `stride`
 *		bytes after the one before, and all of one length.  The 16 bytes before the end
 *		of each can be read, even if it is shorter.
 */
void
bloomexp_simd_hash_equal(const uint8_t *first, size_t stride, size_t length, int n,
						 uint64_t *hashes)
{
	CALL(hash_equal, first, stride, length, n, hashes);
}

/*
 * bloomexp_simd_hash_bytes
 *		Compute the first halves of bloomexp_murmur3() of BLOOMEXP_SIMD_ITEMS items; the 16
 *		bytes before the end of each can be read, even if it is shorter.
 *
 * This is for items of different lengths, whose branches the CPU does not foresee.  A
 * long item would keep the others waiting.
 */
void
bloomexp_simd_hash_bytes(const BloomBytes *items, uint64_t *hashes)
{
	size_t		longest = 0;

	for (int i = 0; i < BLOOMEXP_SIMD_ITEMS; i++)
		longest = items[i].length > longest ? items[i].length : longest;
	if (HAS_AVX2 && longest <= MAX_LENGTH)
	{
		hash_items(items, longest, hashes);
		return;
	}
	for (int i = 0; i < BLOOMEXP_SIMD_ITEMS; i++)
	{
		uint64_t	hash[2];

		bloomexp_murmur3(items[i].start, items[i].length, hash);
		hashes[i] = hash[0];
	}
}

/*
 * bloomexp_simd_hash_int64s
 *		Put bloomexp_murmur3_int64() of each number in its place.
 */
void
bloomexp_simd_hash_int64s(uint64_t *numbers, int n)
{
	CALL(hash_numbers, numbers, n);
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
