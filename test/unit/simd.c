/*-------------------------------------------------------------------------
 *
 * simd.c
 *	  What is done for many items is what is done for one, with and without
 *	  vector instructions, for every length.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "kernel/batch.h"
#include "kernel/murmur3.h"
#include "kernel/simd.h"
#include "tap.h"

#define MAX_LENGTH 150

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

/* A page of random bytes, with no memory next to it; NULL if there is none to have. */
static uint8_t *
random_page(size_t *size)
{
	uint8_t    *page = guarded_page(size);

	for (size_t i = 0; page != NULL && i < *size; i++)
		page[i] = (uint8_t) random64();
	return page;
}

/*
 * Items of 0 to MAX_LENGTH bytes together, each where a page starts, but for the
 * bytes that can be read before its end; where the page ends; or anywhere in it.
 * No memory is next to the page.
 */
static void
test_bytes(void)
{
	size_t		size;
	uint8_t    *page = random_page(&size);
	int			wrong = 0;

	if (page == NULL)
		return;
	for (int n = 0; n < 100000; n++)
	{
		BloomBytes	items[BLOOMEXP_SIMD_ITEMS];
		uint64_t	hashes[BLOOMEXP_SIMD_ITEMS];

		for (int i = 0; i < BLOOMEXP_SIMD_ITEMS; i++)
		{
			/* short ones more often */
			uint32_t	length = random_below(random_below(MAX_LENGTH + 1) + 1);
			uint8_t    *starts[] = {
				page + (length < 16 ? 16 - length : 0),
				page + size - length,
				page + 16 + random_below(1000)
			};

			items[i].start = starts[random_below(3)];
			items[i].length = length;
		}
		bloomexp_simd_hash_bytes(items, hashes);
		for (int i = 0; i < BLOOMEXP_SIMD_ITEMS; i++)
		{
			uint64_t	hash[2];

			bloomexp_murmur3(items[i].start, items[i].length, hash);
			wrong += hashes[i] != hash[0];
		}
	}
	ok(wrong == 0, "hashes of %d items of 0 to %d bytes (%d wrong)",
	   BLOOMEXP_SIMD_ITEMS, MAX_LENGTH, wrong);
	free_guarded_page(page, size);
}

/*
 * Items of one length, at any distance from each other, in a page: the last one ends
 * where the page does, and the first one starts where it does, but for the bytes that
 * can be read before its end.
 */
static void
test_equal(void)
{
	size_t		size;
	uint8_t    *page = random_page(&size);
	int			wrong = 0;

	if (page == NULL)
		return;
	for (int i = 0; i < 20000; i++)
	{
		size_t		length = random_below(MAX_LENGTH + 1);
		size_t		stride = length + random_below(9);
		size_t		before = length < 16 ? 16 - length : 0;
		int			most = stride == 0 ? BLOOMEXP_BATCH : (int) ((size - before - length) / stride + 1);
		int			n = (int) random_below((most < BLOOMEXP_BATCH ? most : BLOOMEXP_BATCH) + 1);
		const uint8_t *first = i % 2 == 0 || n == 0 ? page + before : page + size - length - (n - 1) * stride;
		uint64_t	hashes[BLOOMEXP_BATCH + 1];

		hashes[n] = i;
		bloomexp_simd_hash_equal(first, stride, length, n, hashes);
		wrong += hashes[n] != (uint64_t) i;
		for (int j = 0; j < n; j++)
		{
			uint64_t	hash[2];

			bloomexp_murmur3(first + j * stride, length, hash);
			wrong += hashes[j] != hash[0];
		}
	}
	ok(wrong == 0, "hashes of 0 to %d items of one length (%d wrong)", BLOOMEXP_BATCH, wrong);
	free_guarded_page(page, size);
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
	test_bytes();
	test_equal();
	test_positions();
	return done_testing();
}
