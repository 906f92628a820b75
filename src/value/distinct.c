/*-------------------------------------------------------------------------
 *
 * distinct.c
 *	  Dropping repetitions among 64-bit hashes.
 *
 * By qsort() and qunique() a bloom_agg() of five million distinct items takes three times
 * as long; one of small groups, the same.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "kernel/batch.h"
#include "value/distinct.h"

/* The most hashes that are compared in one table, which fits into the CPU's cache. */
#define SMALL 4096

/* Bits by which more hashes are split at a time. */
#define SPLIT_BITS 8
#define SPLIT (1 << SPLIT_BITS)

/* Slots a hash, so that distinct hashes seldom share one. */
#define SLOTS_A_HASH 16

/* Memory for the comparison of up to SMALL hashes. */
typedef struct Scratch
{
	uint64	   *slots;			/* two for a hash; 0: free */
	uint64	   *suspects;
	uint64	   *taken;			/* bits, SLOTS_A_HASH for a hash */
	uint64	   *shared;
} Scratch;

/* Slot of a hash, from the bits after the first `used`. */
static inline uint64
slot_of(uint64 hash, int used, uint64 nslots)
{
	return (((hash << used) >> 32) * nslots) >> 32;
}

/*
 * Drop the repetitions among at most SMALL hashes, which share their first `used`
 * bits, with an open hash table.  Returns how many remain, in the order of their
 * slots, which is nearly ascending.
 */
static uint64
compare_in_table(uint64 *hashes, uint64 n, int used, uint64 *slots)
{
	uint64		nslots = n * 2;
	uint64		kept = 0;
	bool		zero = false;	/* the hash that no slot can hold */

	memset(slots, 0, nslots * sizeof(uint64));
	for (uint64 i = 0; i < n; i++)
	{
		uint64		hash = hashes[i];
		uint64		slot = slot_of(hash, used, nslots);

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
 * Drop the repetitions among at most SMALL hashes, most of them distinct.  Two bits per
 * slot say whether one hash or more fall into it; only hashes that share a slot are
 * compared.  Neither loop has a branch that the CPU cannot predict.
 */
static uint64
keep_distinct_few(uint64 *hashes, uint64 n, int used, const Scratch *scratch)
{
	uint64	   *taken = scratch->taken;
	uint64	   *shared = scratch->shared;
	uint64	   *suspects = scratch->suspects;
	uint64		nslots = n * SLOTS_A_HASH;
	uint64		kept = 0;
	uint64		nsuspects = 0;

	memset(taken, 0, (nslots / 64 + 1) * sizeof(uint64));
	memset(shared, 0, (nslots / 64 + 1) * sizeof(uint64));
	for (uint64 i = 0; i < n; i++)
	{
		uint64		slot = slot_of(hashes[i], used, nslots);
		uint64		bit = UINT64CONST(1) << (slot % 64);

		shared[slot / 64] |= taken[slot / 64] & bit;
		taken[slot / 64] |= bit;
	}
	for (uint64 i = 0; i < n; i++)
	{
		uint64		hash = hashes[i];
		uint64		slot = slot_of(hash, used, nslots);
		uint64		suspect = (shared[slot / 64] >> (slot % 64)) & 1;

		suspects[nsuspects] = hash;
		nsuspects += suspect;
		hashes[kept] = hash;
		kept += !suspect;
	}

	nsuspects = compare_in_table(suspects, nsuspects, used, scratch->slots);
	memcpy(hashes + kept, suspects, nsuspects * sizeof(uint64));
	return kept + nsuspects;
}

/*
 * Sort hashes by the SPLIT_BITS bits after the first `used`, in place: a hash
 * that is not in its part is moved there and displaces the next one.  ends[]
 * receives the end of each part.
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

/* Drop the repetitions among any number of hashes that share their first `used` bits. */
static uint64
keep_distinct(uint64 *hashes, uint64 n, int used, const Scratch *scratch)
{
	uint64		ends[SPLIT];
	uint64		start = 0;
	uint64		kept = 0;

	if (used == 64)
		return Min(n, 1);
	if (n <= SMALL)
		return keep_distinct_few(hashes, n, used, scratch);

	split(hashes, n, used, ends);
	for (int part = 0; part < SPLIT; part++)
	{
		uint64		size = keep_distinct(hashes + start, ends[part] - start,
										 used + SPLIT_BITS, scratch);

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
bloomexp_distinct_keep(void *hashes, uint64 n)
{
	uint64		few = Min(n, SMALL);
	uint64		words = few * SLOTS_A_HASH / 64 + 1;
	Scratch		scratch;
	uint64		kept;

	if (n <= 1)
		return n;
	scratch.slots = palloc((few * 3 + words * 2) * sizeof(uint64));
	scratch.suspects = scratch.slots + few * 2;
	scratch.taken = scratch.suspects + few;
	scratch.shared = scratch.taken + words;
	kept = keep_distinct(hashes, n, 0, &scratch);
	pfree(scratch.slots);
	return kept;
}
