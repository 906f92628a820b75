/*-------------------------------------------------------------------------
 *
 * murmur3.c
 *	  Tests that the hash is MurmurHash3 x64 128 for all lengths and alignments, with and
 *	  without vector instructions.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "kernel/murmur3.h"
#include "kernel/simd.h"
#include "tap.h"

#define MAX_LENGTH 300

/* Write a hash as its 16 bytes, in the order of the reference implementation. */
static void
to_bytes(const uint64_t hash[2], uint8_t bytes[16])
{
	for (int i = 0; i < 16; i++)
		bytes[i] = (uint8_t) (hash[i / 8] >> (i % 8 * 8));
}

/*
 * Compute the hash as the algorithm is described, byte by byte.  The last block is filled with
 * zeros, and its lanes are not mixed.
 */
static void
hash_plainly(const uint8_t *bytes, size_t length, uint32_t seed, uint64_t hash[2])
{
	uint64_t	lanes[2] = {seed, seed};

	for (size_t start = 0; start < length; start += 16)
	{
		uint64_t	words[2] = {0, 0};

		for (size_t i = start; i < length && i < start + 16; i++)
			words[(i - start) / 8] |= (uint64_t) bytes[i] << (i % 8 * 8);
		lanes[0] ^= murmur3_scramble1(words[0]);
		if (start + 16 <= length)
			lanes[0] = (murmur3_rotate(lanes[0], 27) + lanes[1]) * 5 + 0x52dce729;
		lanes[1] ^= murmur3_scramble2(words[1]);
		if (start + 16 <= length)
			lanes[1] = (murmur3_rotate(lanes[1], 31) + lanes[0]) * 5 + 0x38495ab5;
	}
	lanes[1] ^= length;
	lanes[0] = (lanes[0] ^ length) + lanes[1];
	lanes[1] = murmur3_avalanche(lanes[1] + lanes[0]);
	hash[0] = murmur3_avalanche(lanes[0]) + lanes[1];
	hash[1] = lanes[1] + hash[0];
}

/*
 * Verify the plain implementation above as SMHasher, the test suite of the hash, does: hash
 * the keys {}, {0}, {0, 1}, ... with the seeds 256, 255, ..., and then hash all these hashes.
 */
static void
test_verification_value(void)
{
	uint8_t		key[256];
	uint8_t		hashes[256][16];
	uint64_t	hash[2];

	for (int i = 0; i < 256; i++)
	{
		key[i] = (uint8_t) i;
		hash_plainly(key, (size_t) i, (uint32_t) (256 - i), hash);
		to_bytes(hash, hashes[i]);
	}
	hash_plainly((const uint8_t *) hashes, sizeof(hashes), 0, hash);
	ok((uint32_t) hash[0] == 0x6384BA69, "verification value 0x6384BA69");
}

static void
test_int64(void)
{
	static const uint64_t edges[] = {
		0, 1, 255, 256, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX
	};
	const int	nedges = sizeof(edges) / sizeof(edges[0]);
	int			differ = 0;

	for (int i = 0; i < 100000; i++)
	{
		uint64_t	number = i < nedges ? edges[i] : random64() >> random_below(64);
		uint64_t	hash[2];
		uint8_t		bytes[8];

		for (int j = 0; j < 8; j++)
			bytes[j] = (uint8_t) (number >> (8 * j));
		bloomexp_murmur3(bytes, 8, hash);
		differ += bloomexp_murmur3_int64(number) != hash[0];
	}
	ok(differ == 0, "the hash of a number is that of its 8 bytes (%d of 100000 differ)", differ);
}

/* Return 1 if the hash of some bytes differs from the plain one, otherwise 0. */
static int
is_wrong(const uint8_t *bytes, size_t length)
{
	uint64_t	hash[2];
	uint64_t	expected[2];

	bloomexp_murmur3(bytes, length, hash);
	hash_plainly(bytes, length, 0, expected);
	return memcmp(hash, expected, sizeof(hash)) != 0;
}

static void
fill(uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		bytes[i] = (uint8_t) random64();
}

/*
 * Hash bytes at both ends of a guarded page, at each alignment.  Reading one byte too many ends
 * the program.
 */
static void
test_memory(void)
{
	size_t		size;
	uint8_t    *page = guarded_page(&size);
	int			wrong = 0;

	if (page == NULL)
		return;
	for (size_t length = 0; length <= MAX_LENGTH; length++)
	{
		fill(page, size);
		for (size_t shift = 0; shift < 16; shift++)
		{
			wrong += is_wrong(page + shift, length);
			wrong += is_wrong(page + size - shift - length, length);
		}
	}
	ok(wrong == 0, "hashes of 0 to %d bytes at both ends of a page (%d wrong)", MAX_LENGTH, wrong);
	free_guarded_page(page, size);
}

/* Test the vector loops with every number of items, so with every remainder. */
static void
test_loops(void)
{
	enum { MOST = 80 };
	int			wrong = 0;

	for (int n = 0; n < MOST; n++)
	{
		uint64_t	numbers[MOST];
		uint64_t	hashed[MOST];
		uint64_t	hashes[MOST];
		uint8_t		uuids[16 * MOST + 16];
		const uint8_t *first = uuids + n % 16;	/* arrays of uuid are not aligned */

		fill((uint8_t *) numbers, sizeof(numbers));
		fill(uuids, sizeof(uuids));
		memcpy(hashed, numbers, sizeof(numbers));
		memcpy(hashes, numbers, sizeof(numbers));
		bloomexp_simd_hash_int64s(hashed, n);
		bloomexp_simd_hash_uuids(first, n, hashes);
		for (int i = 0; i < MOST; i++)
		{
			uint64_t	hash[2] = {numbers[i]};

			wrong += hashed[i] != (i < n ? bloomexp_murmur3_int64(numbers[i]) : numbers[i]);
			if (i < n)
				bloomexp_murmur3(first + 16 * i, 16, hash);
			wrong += hashes[i] != hash[0];
		}
	}
	ok(wrong == 0, "hashes of 0 to %d numbers and uuids (%d wrong)", MOST - 1, wrong);
}

/* Look for each of some hashes, of one bit each, among the first n of them. */
static void
test_contains(void)
{
	enum { MOST = 64 };
	uint64_t	hashes[MOST];
	int			wrong = 0;

	for (int i = 0; i < MOST; i++)
		hashes[i] = UINT64_C(1) << i;
	for (int n = 0; n <= MOST; n++)
	{
		for (int i = 0; i < MOST; i++)
			wrong += bloomexp_simd_contains(hashes, n, hashes[i]) != (i < n);
		wrong += bloomexp_simd_contains(hashes, n, 0);
	}
	ok(wrong == 0, "a hash among 0 to %d others (%d wrong)", MOST, wrong);
}

int
main(void)
{
	test_verification_value();
	test_int64();
	test_memory();
	test_loops();
	test_contains();
	return done_testing();
}
