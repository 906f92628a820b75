/*-------------------------------------------------------------------------
 *
 * simd.c
 *	  What is done for many items is what is done for one, with and without
 *	  vector instructions, for every length.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "kernel/bits.h"
#include "kernel/murmur3.h"
#include "kernel/simd.h"
#include "tap.h"

static const uint64_t edges[] = {
	0, 1, UINT32_MAX, UINT64_C(1) << 32, UINT64_C(1) << 63, UINT64_MAX, UINT64_MAX - UINT32_MAX
};
static const int nedges = sizeof(edges) / sizeof(edges[0]);

/* Numbers of all sizes, edges among them. */
static void
fill(uint64_t *numbers)
{
	for (int i = 0; i < BLOOMEXP_BATCH; i++)
		numbers[i] = random_below(4) == 0 ? edges[random_below(nedges)] :
			random64() >> random_below(64);
}

static void
test_hashes(void)
{
	int			wrong = 0;

	for (int n = 0; n <= BLOOMEXP_BATCH; n++)
	{
		uint64_t	numbers[BLOOMEXP_BATCH];
		uint64_t	hashes[BLOOMEXP_BATCH];

		fill(numbers);
		memcpy(hashes, numbers, sizeof(hashes));
		bloomexp_simd_hash_int64s(hashes, n);
		for (int i = 0; i < BLOOMEXP_BATCH; i++)
			wrong += hashes[i] != (i < n ? bloomexp_murmur3_int64(numbers[i]) : numbers[i]);
	}
	ok(wrong == 0, "hashes of 0 to %d numbers (%d wrong)", BLOOMEXP_BATCH, wrong);
}

static void
test_uuids(void)
{
	int			wrong = 0;

	for (int n = 0; n <= BLOOMEXP_BATCH; n++)
	{
		uint64_t	uuids[2 * BLOOMEXP_BATCH];
		uint64_t	hashes[BLOOMEXP_BATCH];

		fill(uuids);
		fill(uuids + BLOOMEXP_BATCH);
		memset(hashes, 0xa5, sizeof(hashes));
		/* at any address: arrays of uuid are not aligned */
		memmove((uint8_t *) uuids + n % 8, uuids, sizeof(uuids) - 8);
		bloomexp_simd_hash_uuids((uint8_t *) uuids + n % 8, n < BLOOMEXP_BATCH ? n : n - 1, hashes);
		for (int i = 0; i < BLOOMEXP_BATCH; i++)
		{
			uint64_t	hash[2] = {UINT64_C(0xa5a5a5a5a5a5a5a5)};

			if (i < n && i < BLOOMEXP_BATCH - 1)
				bloomexp_murmur3((uint8_t *) uuids + n % 8 + 16 * i, 16, hash);
			wrong += hashes[i] != hash[0];
		}
	}
	ok(wrong == 0, "hashes of 0 to %d uuids (%d wrong)", BLOOMEXP_BATCH, wrong);
}

static void
test_positions(void)
{
	int			wrong = 0;

	for (int n = 0; n <= BLOOMEXP_BATCH; n++)
	{
		uint64_t	factor = n < nedges ? edges[n] : random64();
		uint64_t	offset = n % 5 == 0 ? edges[n % nedges] : random64();
		uint32_t	positions = n % 7 == 0 ? UINT32_MAX : 1 + (uint32_t) random_below(1 << 18);
		uint64_t	hashes[BLOOMEXP_BATCH];
		uint32_t	found[BLOOMEXP_BATCH];

		fill(hashes);
		memset(found, 0xa5, sizeof(found));
		bloomexp_simd_find_positions(hashes, n, factor, offset, positions, found);
		for (int i = 0; i < BLOOMEXP_BATCH; i++)
		{
			/* the definition: the upper half of the state, scaled */
			uint64_t	high = (hashes[i] * factor + offset) >> 32;

			wrong += found[i] != (i < n ? (uint32_t) (high * positions >> 32) : 0xa5a5a5a5);
		}
	}
	ok(wrong == 0, "positions of 0 to %d hashes (%d wrong)", BLOOMEXP_BATCH, wrong);
}

int
main(void)
{
	test_hashes();
	test_uuids();
	test_positions();
	return done_testing();
}
