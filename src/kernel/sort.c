/*-------------------------------------------------------------------------
 *
 * sort.c
 *	  Sorts of hashes and of exposures, in place.
 *
 * This is the American flag sort of McIlroy, Bostic, McIlroy, "Engineering radix sort",
 * Computing Systems 6, 1993: records are moved into 256 parts by the highest byte of their
 * keys, and each part is sorted by the next byte.  The sort is not stable.
 *
 * The time is linear in the number of records, whatever their keys and their order.  qsort()
 * takes quadratic time for some orders, and users choose the items.  Even on average a
 * bloom_agg() of five million items would take two to three times as long with qsort().
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/simd.h"
#include "kernel/sort.h"

/* Up to this many records, insertion is the fastest sort. */
#define INSERTION_SORT_MAX 64

/* The bit at which the highest byte of a key begins */
#define HIGHEST_BYTE 56

/* Word indexes of a BloomExposure.  A plain hash is a record with only the first word. */
enum
{
	HASH,
	SLICE
};

/* A function that sorts records by the bytes of their keys, from the one at bit `shift` down */
typedef void (*SortPart)(uint64_t *records, uint64_t n, int shift, BloomInterruptCheck check);

/* Return the key of a record as an unsigned number that sorts in the same order. */
static inline uint64_t
get_key(const uint64_t *record, int key)
{
	return key == SLICE ? record[SLICE] ^ (UINT64_C(1) << 63) : record[HASH];
}

static inline void
copy(uint64_t *to, const uint64_t *from, int words)
{
	for (int i = 0; i < words; i++)
		to[i] = from[i];
}

static BLOOMEXP_INLINE void
insertion_sort(uint64_t *records, uint64_t n, int words, int key)
{
	for (uint64_t i = 1; i < n; i++)
	{
		uint64_t	record[2];
		uint64_t   *place = records + i * words;

		copy(record, place, words);
		for (; place > records && get_key(place - words, key) > get_key(record, key);
			 place -= words)
			copy(place, place - words, words);
		copy(place, record, words);
	}
}

/*
 * Sort records whose keys agree in all bytes above the one at bit `shift`.  `words` is the size
 * of a record, and `key` the index of its key.
 */
static BLOOMEXP_INLINE void
sort(uint64_t *records, uint64_t n, int shift, BloomInterruptCheck check, int words, int key,
	 SortPart sort_part)
{
	if (n > INSERTION_SORT_MAX)
		sort_part(records, n, shift, check);
	else
		insertion_sort(records, n, words, key);
}

/*
 * Do the same for many records: move them into 256 parts, and sort each part with `sort_part`,
 * which is the calling function.  `words` and `key` are constants, too, so each caller gets code
 * compiled for them.
 */
static BLOOMEXP_INLINE void
sort_by_byte(uint64_t *records, uint64_t n, int shift, BloomInterruptCheck check,
			 int words, int key, SortPart sort_part)
{
	uint64_t	next[256] = {0};	/* where the next record of each part goes */
	uint64_t	ends[256];
	uint64_t	start = 0;
	uint64_t	moved = 0;

	for (uint64_t i = 0; i < n; i++)
		next[(get_key(records + i * words, key) >> shift) % 256]++;
	if (next[(get_key(records, key) >> shift) % 256] == n)	/* nothing to move */
	{
		if (n > BLOOMEXP_INTERRUPT_EVERY)
			check();
		if (shift > 0)
			sort_part(records, n, shift - 8, check);
		return;
	}
	for (int part = 0; part < 256; part++)
	{
		ends[part] = start + next[part];
		next[part] = start;
		start = ends[part];
	}

	for (int part = 0; part < 256; part++)
	{
		/* a record that is not in its part is moved there, and displaces another one */
		while (next[part] < ends[part])
		{
			uint64_t   *place = records + next[part] * words;
			int			home = (get_key(place, key) >> shift) % 256;
			uint64_t   *target = records + next[home]++ * words;
			uint64_t	record[2];

			copy(record, place, words);
			copy(place, target, words);
			copy(target, record, words);
			/* once per part would be too rare: filling the first part moves nearly all records */
			if (++moved % BLOOMEXP_INTERRUPT_EVERY == 0)
				check();
		}
	}

	start = 0;
	for (int part = 0; shift > 0 && part < 256; part++)
	{
		uint64_t	count = ends[part] - start;

		if (n > BLOOMEXP_INTERRUPT_EVERY)
			check();
		sort(records + start * words, count, shift - 8, check, words, key, sort_part);
		start = ends[part];
	}
}

static void
sort_hashes(uint64_t *records, uint64_t n, int shift, BloomInterruptCheck check)
{
	sort_by_byte(records, n, shift, check, 1, HASH, sort_hashes);
}

static void
sort_by_hash(uint64_t *records, uint64_t n, int shift, BloomInterruptCheck check)
{
	sort_by_byte(records, n, shift, check, 2, HASH, sort_by_hash);
}

static void
sort_by_slice(uint64_t *records, uint64_t n, int shift, BloomInterruptCheck check)
{
	sort_by_byte(records, n, shift, check, 2, SLICE, sort_by_slice);
}

/* Sort hashes in ascending order. */
void
bloomexp_sort_hashes(uint64_t *hashes, uint64_t n, BloomInterruptCheck check)
{
	sort(hashes, n, HIGHEST_BYTE, check, 1, HASH, sort_hashes);
}

/* Sort exposures by their hashes in ascending order. */
void
bloomexp_sort_by_hash(BloomExposure *exposures, uint64_t n, BloomInterruptCheck check)
{
	sort((uint64_t *) exposures, n, HIGHEST_BYTE, check, 2, HASH, sort_by_hash);
}

/*
 * Sort exposures by their slices, the oldest first.
 *
 * Slices, unlike hashes, agree in most of their bytes.  So the sort begins with the highest byte in
 * which they differ.
 */
void
bloomexp_sort_by_slice(BloomExposure *exposures, uint64_t n, BloomInterruptCheck check)
{
	uint64_t	differences = 0;
	int			shift = 0;

	for (uint64_t i = 1; i < n; i++)
		differences |= exposures[i].slice ^ exposures[0].slice;
	while (differences >> shift > 255)
		shift += 8;
	sort((uint64_t *) exposures, n, shift, check, 2, SLICE, sort_by_slice);
}
