/*-------------------------------------------------------------------------
 *
 * murmur3.h
 *	  MurmurHash3 x64 128, Austin Appleby's public-domain hash.
 *
 * Written from the description of the algorithm.  Words are read as
 * little-endian whatever the machine, so that every CPU computes the same hash.
 * Everything is inline, so the compiler drops what a caller does not need: the
 * tail where the length is constant, or the second half of the hash.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_MURMUR3_H
#define BLOOMEXP_MURMUR3_H

#include <stddef.h>
#include <stdint.h>

#define MURMUR3_C1 UINT64_C(0x87c37b91114253d5)
#define MURMUR3_C2 UINT64_C(0x4cf5ad432745937f)
#define MURMUR3_AVALANCHE1 UINT64_C(0xff51afd7ed558ccd)
#define MURMUR3_AVALANCHE2 UINT64_C(0xc4ceb9fe1a85ec53)

/* Return eight bytes as a little-endian number.  Compilers make this one instruction. */
static inline uint64_t
murmur3_read_word(const void *bytes)
{
	const uint8_t *b = bytes;

	return (uint64_t) b[0] | (uint64_t) b[1] << 8 |
		(uint64_t) b[2] << 16 | (uint64_t) b[3] << 24 |
		(uint64_t) b[4] << 32 | (uint64_t) b[5] << 40 |
		(uint64_t) b[6] << 48 | (uint64_t) b[7] << 56;
}

/* Return four bytes as a little-endian number. */
static inline uint32_t
murmur3_read_half(const uint8_t *b)
{
	return (uint32_t) b[0] | (uint32_t) b[1] << 8 |
		(uint32_t) b[2] << 16 | (uint32_t) b[3] << 24;
}

/*
 * Return `count` bytes, fewer than 8, as a little-endian number.  Reads that overlap
 * put the same bits in the same place, so no loop is needed.
 */
static inline uint64_t
murmur3_read_short(const uint8_t *b, size_t count)
{
	if (count >= 4)
		return murmur3_read_half(b) |
			(uint64_t) murmur3_read_half(b + count - 4) << (8 * (count - 4));
	if (count == 0)
		return 0;
	return (uint64_t) b[0] | (uint64_t) b[count / 2] << (8 * (count / 2)) |
		(uint64_t) b[count - 1] << (8 * (count - 1));
}

/*
 * Return the last `count` bytes before `end`, 1 to 8, as a little-endian number.  The 8 bytes
 * before `end` must be readable.
 */
static inline uint64_t
murmur3_read_last(const uint8_t *end, size_t count)
{
	return murmur3_read_word(end - 8) >> (64 - 8 * count);
}

static inline uint64_t
murmur3_rotate(uint64_t word, int left)
{
	return (word << left) | (word >> (64 - left));
}

/* Mix eight bytes of input for the first lane. */
static inline uint64_t
murmur3_scramble1(uint64_t word)
{
	return murmur3_rotate(word * MURMUR3_C1, 31) * MURMUR3_C2;
}

/* Mix eight bytes of input for the second lane. */
static inline uint64_t
murmur3_scramble2(uint64_t word)
{
	return murmur3_rotate(word * MURMUR3_C2, 33) * MURMUR3_C1;
}

/* Finalize a lane: each of its bits affects every bit of the result. */
static inline uint64_t
murmur3_avalanche(uint64_t lane)
{
	lane = (lane ^ (lane >> 33)) * MURMUR3_AVALANCHE1;
	lane = (lane ^ (lane >> 33)) * MURMUR3_AVALANCHE2;
	return lane ^ (lane >> 33);
}

/*
 * Compute the 128-bit hash of `length` bytes with seed 0, as two 64-bit halves.  Reads no byte
 * outside of these.
 */
static inline void
bloomexp_murmur3(const void *bytes, size_t length, uint64_t hash[2])
{
	const uint8_t *end = (const uint8_t *) bytes + length;
	size_t		left = length;
	uint64_t	lane1 = 0;
	uint64_t	lane2 = 0;

	for (; left >= 16; left -= 16)
	{
		lane1 ^= murmur3_scramble1(murmur3_read_word(end - left));
		lane1 = (murmur3_rotate(lane1, 27) + lane2) * 5 + 0x52dce729;
		lane2 ^= murmur3_scramble2(murmur3_read_word(end - left + 8));
		lane2 = (murmur3_rotate(lane2, 31) + lane1) * 5 + 0x38495ab5;
	}

	/* the tail: a word of 0 would not change its lane, so missing words are left out */
	if (length < 8)
		lane1 ^= murmur3_scramble1(murmur3_read_short(bytes, length));
	else if (left > 0)
	{
		size_t		first = left < 8 ? left : 8;

		lane1 ^= murmur3_scramble1(murmur3_read_last(end - left + first, first));
		if (left > 8)
			lane2 ^= murmur3_scramble2(murmur3_read_last(end, left - 8));
	}

	lane1 ^= length;
	lane2 ^= length;
	lane1 += lane2;
	lane2 += lane1;
	lane1 = murmur3_avalanche(lane1);
	lane2 = murmur3_avalanche(lane2);
	hash[0] = lane1 + lane2;
	hash[1] = lane2 + hash[0];
}

/*
 * Return the first half of the hash of a number's 8 little-endian bytes, as
 * bloomexp_murmur3() computes it.  These bytes are a tail in the first lane, so
 * no loop is needed.
 */
static inline uint64_t
bloomexp_murmur3_int64(uint64_t number)
{
	uint64_t	lane2 = 8;
	uint64_t	lane1 = (lane2 ^ murmur3_scramble1(number)) + lane2;

	return murmur3_avalanche(lane1) + murmur3_avalanche(lane2 + lane1);
}

#endif							/* BLOOMEXP_MURMUR3_H */
