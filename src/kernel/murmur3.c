/*-------------------------------------------------------------------------
 *
 * murmur3.c
 *	  MurmurHash3 x64 128 over bytes in memory.
 *
 * Written from the description of the algorithm.  Words are read as
 * little-endian whatever the machine, so that every CPU computes one hash.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "kernel/murmur3.h"

/* `count` bytes, fewer than 8, as a little-endian number. */
static inline uint64_t
read_part(const uint8_t *bytes, size_t count)
{
	uint64_t	word = 0;

	for (size_t i = 0; i < count; i++)
		word |= (uint64_t) bytes[i] << (8 * i);
	return word;
}

/*
 * bloomexp_murmur3
 *		The 128-bit hash of `length` bytes, as two 64-bit halves.
 */
void
bloomexp_murmur3(const void *bytes, size_t length, uint32_t seed, uint64_t hash[2])
{
	const uint8_t *next = bytes;
	size_t		left = length;
	uint64_t	lane1 = seed;
	uint64_t	lane2 = seed;

	for (; left >= 16; left -= 16, next += 16)
	{
		lane1 ^= murmur3_scramble1(murmur3_read_word(next));
		lane1 = (murmur3_rotate(lane1, 27) + lane2) * 5 + 0x52dce729;
		lane2 ^= murmur3_scramble2(murmur3_read_word(next + 8));
		lane2 = (murmur3_rotate(lane2, 31) + lane1) * 5 + 0x38495ab5;
	}

	/* what is left of the last block; a missing word is 0 and changes nothing */
	if (left > 8)
		lane2 ^= murmur3_scramble2(read_part(next + 8, left - 8));
	lane1 ^= murmur3_scramble1(left < 8 ? read_part(next, left) : murmur3_read_word(next));

	lane1 ^= length;
	lane2 ^= length;
	lane1 += lane2;
	lane2 += lane1;
	lane1 = murmur3_avalanche(lane1);
	lane2 = murmur3_avalanche(lane2);
	hash[0] = lane1 + lane2;
	hash[1] = lane2 + hash[0];
}
