/*-------------------------------------------------------------------------
 *
 * sort.c
 *	  Tests that sorts put all kinds of input in order and lose nothing, and that long
 *	  sorts check for interrupts.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "kernel/sort.h"
#include "tap.h"

#define MOST 200000

/* Sizes around those at which the sort changes its method, and a large one */
static const uint64_t sizes[] = {0, 1, 2, 3, 32, 63, 64, 65, 255, 256, 257, 1000, 65537, MOST};

#define NSIZES ((int) (sizeof(sizes) / sizeof(sizes[0])))

static BloomExposure exposures[MOST];
static BloomExposure sorted[MOST];
static uint64_t hashes[MOST];
static int	checks;

static void
check(void)
{
	checks++;
}

/* The hashes at the last check, and the most that have changed from one check to the next */
static uint64_t at_check[MOST];
static uint64_t most_changed;

static void
count_changed(void)
{
	uint64_t	changed = 0;

	for (int i = 0; i < MOST; i++)
		changed += hashes[i] != at_check[i];
	if (changed > most_changed)
		most_changed = changed;
	memcpy(at_check, hashes, sizeof(hashes));
}

/* Return the i-th of n keys of a pattern.  Many patterns are the worst case of some sort. */
static uint64_t
make_key(int pattern, uint64_t i, uint64_t n)
{
	switch (pattern)
	{
		case 0:
			return random64();
		case 1:
			return 7;
		case 2:
			return i;
		case 3:
			return n - i;
		case 4:
			return random_below(3);
		case 5:					/* the bytes in the middle differ */
			return UINT64_C(0xabcdef0000000012) | random64() % 65536 << 24;
		case 6:					/* small parts at every byte */
			return i % 8 == 0 ? random64() : UINT64_MAX << (i % 8 * 8);
		case 7:					/* slices before and after the year 2000 */
			return (uint64_t) ((int64_t) random_below(2000) - 1000);
		default:				/* around the largest and the smallest slice */
			return (UINT64_C(1) << 63) - 2 + random_below(5);
	}
}

#define PATTERNS 9

static int
compare_by_hash(const void *a, const void *b)
{
	const BloomExposure *x = a;
	const BloomExposure *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->slice < y->slice ? -1 : x->slice > y->slice;
}

static int
compare_by_slice(const void *a, const void *b)
{
	const BloomExposure *x = a;
	const BloomExposure *y = b;

	if (x->slice != y->slice)
		return x->slice < y->slice ? -1 : 1;
	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

/* Sort exposures in an order without ties: by one number, and then by the other. */
static void
sort_all(BloomExposure *records, uint64_t n, bool by_slice)
{
	qsort(records, n, sizeof(BloomExposure), by_slice ? compare_by_slice : compare_by_hash);
}

/* Return 1 if the n exposures do not come out in order, or are not the same, otherwise 0. */
static int
test_exposures(uint64_t n, bool by_slice)
{
	memcpy(sorted, exposures, n * sizeof(BloomExposure));
	if (by_slice)
		bloomexp_sort_by_slice(sorted, n, check);
	else
		bloomexp_sort_by_hash(sorted, n, check);
	for (uint64_t i = 1; i < n; i++)
	{
		if (by_slice ? sorted[i - 1].slice > sorted[i].slice : sorted[i - 1].hash > sorted[i].hash)
			return 1;
	}
	sort_all(sorted, n, by_slice);
	sort_all(exposures, n, by_slice);
	return n > 0 && memcmp(sorted, exposures, n * sizeof(BloomExposure)) != 0;
}

/* Return 1 if the hashes of the n exposures do not come out in order, otherwise 0. */
static int
test_hashes(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		hashes[i] = exposures[i].hash;
	bloomexp_sort_hashes(hashes, n, check);
	sort_all(exposures, n, false);
	for (uint64_t i = 0; i < n; i++)
	{
		if (hashes[i] != exposures[i].hash)
			return 1;
	}
	return 0;
}

static void
test_pattern(int pattern)
{
	int			wrong = 0;

	for (int i = 0; i < NSIZES; i++)
	{
		for (int by_slice = 0; by_slice <= 1; by_slice++)
		{
			for (uint64_t j = 0; j < sizes[i]; j++)
			{
				uint64_t	key = make_key(pattern, j, sizes[i]);
				uint64_t	other = random_below(4);

				exposures[j].hash = by_slice ? other : key;
				exposures[j].slice = (int64_t) (by_slice ? key : other);
			}
			if (!by_slice)
				wrong += test_hashes(sizes[i]);
			wrong += test_exposures(sizes[i], by_slice);
		}
	}
	ok(wrong == 0, "pattern %d: hashes and exposures in order (%d wrong)", pattern, wrong);
}

/* A sort also checks during its first pass, where filling one part can move nearly all records. */
static void
test_checks(void)
{
	for (int i = 0; i < MOST; i++)
		hashes[i] = random64();
	memcpy(at_check, hashes, sizeof(hashes));
	bloomexp_sort_hashes(hashes, MOST, count_changed);
	count_changed();
	ok(most_changed <= 2 * BLOOMEXP_INTERRUPT_EVERY,
	   "at most %d hashes change between two checks (%d)", 2 * BLOOMEXP_INTERRUPT_EVERY,
	   (int) most_changed);

	/* equal hashes are not moved at all */
	memset(hashes, 0, sizeof(hashes));
	checks = 0;
	bloomexp_sort_hashes(hashes, MOST, check);
	ok(checks > 0, "a sort of equal hashes checks for interrupts");
}

int
main(void)
{
	for (int pattern = 0; pattern < PATTERNS; pattern++)
		test_pattern(pattern);
	ok(checks > 0, "long sorts check for interrupts");
	test_checks();
	return done_testing();
}
