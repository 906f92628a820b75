/*-------------------------------------------------------------------------
 *
 * murmur3.h
 *	  MurmurHash3 x64 128, Austin Appleby's public-domain hash.
 *
 * Pure C: this room knows nothing else of the extension, nor PostgreSQL.
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

/* Eight bytes as a little-endian number; compilers make it one instruction. */
static inline uint64_t
murmur3_read_word(const void *bytes)
{
	const uint8_t *b = bytes;

	return (uint64_t) b[0] | (uint64_t) b[1] << 8 |
		(uint64_t) b[2] << 16 | (uint64_t) b[3] << 24 |
		(uint64_t) b[4] << 32 | (uint64_t) b[5] << 40 |
		(uint64_t) b[6] << 48 | (uint64_t) b[7] << 56;
}

static inline uint64_t
murmur3_rotate(uint64_t word, int left)
{
	return (word << left) | (word >> (64 - left));
}

/* The first lane's treatment of eight bytes of input. */
static inline uint64_t
murmur3_scramble1(uint64_t word)
{
	return murmur3_rotate(word * MURMUR3_C1, 31) * MURMUR3_C2;
}

/* The second lane's. */
static inline uint64_t
murmur3_scramble2(uint64_t word)
{
	return murmur3_rotate(word * MURMUR3_C2, 33) * MURMUR3_C1;
}

/* Finalizer: every bit of the lane moves every bit of the result. */
static inline uint64_t
murmur3_avalanche(uint64_t lane)
{
	lane = (lane ^ (lane >> 33)) * MURMUR3_AVALANCHE1;
	lane = (lane ^ (lane >> 33)) * MURMUR3_AVALANCHE2;
	return lane ^ (lane >> 33);
}

/*
 * bloomexp_murmur3_int64
 *		First 64 bits of the hash of a number's 8 little-endian bytes.
 *
 * The same as bloomexp_murmur3 for those bytes, without its loops: eight bytes
 * are a tail of the first lane alone.
 */
static inline uint64_t
bloomexp_murmur3_int64(uint64_t number, uint32_t seed)
{
	uint64_t	lane2 = seed ^ UINT64_C(8);
	uint64_t	lane1 = (lane2 ^ murmur3_scramble1(number)) + lane2;

	return murmur3_avalanche(lane1) + murmur3_avalanche(lane2 + lane1);
}

extern void bloomexp_murmur3(const void *bytes, size_t length, uint32_t seed,
							 uint64_t hash[2]);

#endif							/* BLOOMEXP_MURMUR3_H */
