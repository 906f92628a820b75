/*-------------------------------------------------------------------------
 *
 * hashset.c
 *	  A list of hashes that drops repetitions whenever it is full.
 *
 * An aggregate reads the rows of many groups in turn, so that nearly every row
 * finds its group's state out of the CPU's cache.  To append to a list touches
 * one place of it; a hash table would touch two or three.  The repetitions are
 * then found in one go, with one group's hashes at hand.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "value/distinct.h"

/* A list starts with room for so many ... */
#define MIN_SPACE 64

/* ... and grows without looking for repetitions up to so many. */
#define FIRST_LOOK 8192

/*
 * Up to so many hashes are compared in a table that fits in the CPU's cache; it
 * and what goes with it take 112 kB of stack.
 */
#define SMALL 4096

/* Hashes are split by so many bits at a time until they are few enough. */
#define SPLIT_BITS 8
#define SPLIT (1 << SPLIT_BITS)

/* Places for each hash, so that distinct hashes seldom share one. */
#define PLACES 16

/* The one of some places that a hash has by the bits after the first `used`. */
static inline uint64
place_of(uint64 hash, int used, uint64 nplaces)
{
	return (((hash << used) >> 32) * nplaces) >> 32;
}

/*
 * Drop the repetitions among a few hashes, which all begin with the same `used`
 * bits, by means of an open hash table.  Returns how many remain; they come in
 * the order of their slots, which is nearly their own.
 */
static uint64
compare_in_table(uint64 *hashes, uint64 n, int used)
{
	uint64		slots[SMALL * 2];	/* 0: free */
	uint64		nslots = n * 2;
	uint64		kept = 0;
	bool		zero = false;	/* the hash that no slot can hold */

	memset(slots, 0, nslots * sizeof(uint64));
	for (uint64 i = 0; i < n; i++)
	{
		uint64		hash = hashes[i];
		uint64		slot = place_of(hash, used, nslots);

		while (slots[slot] != 0 && slots[slot] != hash)
			slot = slot + 1 < nslots ? slot + 1 : 0;
		slots[slot] = hash;
		zero |= hash == 0;
	}

	if (zero)
		hashes[kept++] = 0;
	for (uint64 slot = 0; slot < nslots; slot++)
	{
		if (slots[slot] != 0)
			hashes[kept++] = slots[slot];
	}
	return kept;
}

/*
 * The same, faster where most hashes are distinct.  Two bits a place tell whether
 * it has one hash or more; only those that share a place need to be compared.
 * Neither step has a jump that the CPU can't predict.
 */
static uint64
keep_distinct_few(uint64 *hashes, uint64 n, int used)
{
	uint64		taken[SMALL * PLACES / 64 + 1];
	uint64		shared[SMALL * PLACES / 64 + 1];
	uint64		suspects[SMALL];
	uint64		nplaces = n * PLACES;
	uint64		kept = 0;
	uint64		nsuspects = 0;

	memset(taken, 0, (nplaces / 64 + 1) * sizeof(uint64));
	memset(shared, 0, (nplaces / 64 + 1) * sizeof(uint64));
	for (uint64 i = 0; i < n; i++)
	{
		uint64		place = place_of(hashes[i], used, nplaces);
		uint64		bit = UINT64CONST(1) << (place % 64);

		shared[place / 64] |= taken[place / 64] & bit;
		taken[place / 64] |= bit;
	}
	for (uint64 i = 0; i < n; i++)
	{
		uint64		hash = hashes[i];
		uint64		place = place_of(hash, used, nplaces);
		uint64		suspect = (shared[place / 64] >> (place % 64)) & 1;

		suspects[nsuspects] = hash;
		nsuspects += suspect;
		hashes[kept] = hash;
		kept += !suspect;
	}

	nsuspects = compare_in_table(suspects, nsuspects, used);
	memcpy(hashes + kept, suspects, nsuspects * sizeof(uint64));
	return kept + nsuspects;
}

/*
 * Sort hashes by their SPLIT_BITS bits after the first `used`, in place: each
 * one out of place is put into its part and displaces the next.  ends[] tells
 * where the parts end.
 */
static void
split(uint64 *hashes, uint64 n, int used, uint64 *ends)
{
	uint64		next[SPLIT] = {0};
	int			shift = 64 - used - SPLIT_BITS;
	uint64		end = 0;

	for (uint64 i = 0; i < n; i++)
	{
		if (i % BLOOMEXP_INTERRUPT_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		next[(hashes[i] >> shift) % SPLIT]++;
	}
	for (int part = 0; part < SPLIT; part++)
	{
		ends[part] = end + next[part];
		next[part] = end;
		end = ends[part];
	}

	for (int part = 0; part < SPLIT; part++)
	{
		CHECK_FOR_INTERRUPTS();
		while (next[part] < ends[part])
		{
			uint64		hash = hashes[next[part]];
			int			home = (hash >> shift) % SPLIT;

			hashes[next[part]] = hashes[next[home]];
			hashes[next[home]++] = hash;
		}
	}
}

/* bloomexp_distinct_keep for hashes that begin with the same `used` bits. */
static uint64
keep_distinct(uint64 *hashes, uint64 n, int used)
{
	uint64		ends[SPLIT];
	uint64		start = 0;
	uint64		kept = 0;

	if (used == 64)
		return Min(n, 1);
	if (n <= SMALL)
		return keep_distinct_few(hashes, n, used);

	split(hashes, n, used, ends);
	for (int part = 0; part < SPLIT; part++)
	{
		uint64		size = keep_distinct(hashes + start, ends[part] - start,
										 used + SPLIT_BITS);

		memmove(hashes + kept, hashes + start, size * sizeof(uint64));
		kept += size;
		start = ends[part];
	}
	return kept;
}

/*
 * bloomexp_distinct_keep
 *		Drop repetitions among n hashes.  Returns how many remain; of many
 *		hashes in nearly ascending order, which is the order of the blocks of a
 *		large filter.
 */
uint64
bloomexp_distinct_keep(uint64 *hashes, uint64 n)
{
	return keep_distinct(hashes, n, 0);
}

/*
 * bloomexp_distinct_list_init
 *		An empty set with room for `space` hashes at first.
 */
void
bloomexp_distinct_list_init(BloomHashSet *set, MemoryContext context, uint64 space)
{
	set->n = 0;
	set->space = Max(space, MIN_SPACE);
	set->hashes = MemoryContextAllocHuge(context, set->space * sizeof(uint64));
}

/*
 * bloomexp_distinct_list_compact
 *		Leave every hash in the list just once.
 */
void
bloomexp_distinct_list_compact(BloomHashSet *set)
{
	set->n = bloomexp_distinct_keep(set->hashes, set->n);
	if (set->n > BLOOMEXP_HASHSET_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many distinct items in one group"),
				 errdetail("An aggregate takes at most %d.", BLOOMEXP_HASHSET_MAX),
				 errhint("Make the filter with bloom_new(capacity) and add the items in parts.")));
}

/*
 * bloomexp_distinct_list_make_room
 *		Room for `n` more hashes in a list that lacks it.
 *
 * A list that repetitions fill is compacted; one that is more than half full
 * without them grows.
 */
void
bloomexp_distinct_list_make_room(BloomHashSet *set, uint64 n)
{
	uint64		space = set->space;

	if (space >= FIRST_LOOK)
		bloomexp_distinct_list_compact(set);
	while (space < set->n + n || space / 2 < set->n)
		space *= 2;
	if (space > set->space)
		set->hashes = repalloc_huge(set->hashes, space * sizeof(uint64));
	set->space = space;
}

/*
 * bloomexp_distinct_list_append
 *		Add n hashes.
 */
void
bloomexp_distinct_list_append(BloomHashSet *set, const uint64 *hashes, uint64 n)
{
	if (set->space - set->n < n)
		bloomexp_distinct_list_make_room(set, n);
	memcpy(set->hashes + set->n, hashes, n * sizeof(uint64));
	set->n += n;
}
