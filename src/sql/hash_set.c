/*-------------------------------------------------------------------------
 *
 * hash_set.c
 *	  An exact set of hashes in memory.
 *
 * The hash function is public, so users could choose items whose hashes share a slot.  So the
 * slot of a hash is the high bits of its product with a secret odd number.  Then any two hashes
 * share one of m slots with probability 2/m at most (Dietzfelbinger, Hagerup, Katajainen,
 * Penttonen, "A reliable randomized algorithm for the closest-pair problem", J. Algorithms 25,
 * 1997).  The hashes of a slot are chained, so a full slot does not spill into others.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "kernel/interrupt.h"
#include "kernel/probe.h"
#include "kernel/simd.h"
#include "sql/hash_set.h"

/*
 * Size of the pre-filter, in bytes per hash.  Of random hashes that are not in the set, one in
 * sixteen passes it.
 */
#define PREFILTER_BYTES 16

/*
 * Up to this many new and known hashes (about those of a page, and of the row of a user), comparing
 * all pairs is faster than building a set.
 */
#define MAX_NEW_TO_COMPARE 16
#define MAX_KNOWN_TO_COMPARE 256

/* The secret odd number of this session, or 0 until it is chosen. */
static uint64 secret = 0;

/* Choose the secret number. */
static void
init_secret(void)
{
	if (!pg_strong_random(&secret, sizeof(secret)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate random values")));
	secret |= 1;
}

static inline uint32
slot_of(const BloomHashSet *set, uint64 hash)
{
	return (uint32) (hash * secret >> set->shift);
}

/* Make the slots, at least two for each hash that fits in the set, and chain the entries. */
static void
make_slots(BloomHashSet *set)
{
	uint64		nslots = 2;

	set->shift = 63;
	while (nslots < (uint64) set->space * 2)
	{
		nslots *= 2;
		set->shift--;
	}
	set->slots = palloc_extended(nslots * sizeof(uint32), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (uint32 i = 1; i <= set->n; i++)
	{
		uint32	   *slot = &set->slots[slot_of(set, set->entries[i].hash)];

		if (i % BLOOMEXP_INTERRUPT_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		set->entries[i].next = *slot;
		*slot = i;
	}
}

/* Make an empty set with space for `space` hashes, in the current memory context. */
void
bloomexp_hash_set_init(BloomHashSet *set, uint32 space)
{
	if (secret == 0)
		init_secret();
	set->n = 0;
	set->space = Max(space, 1);
	set->entries = palloc_extended(((Size) set->space + 1) * sizeof(BloomHashEntry),
								   MCXT_ALLOC_HUGE);
	make_slots(set);
}

/* Double the space of a set. */
static void
grow(BloomHashSet *set)
{
	set->space *= 2;
	set->entries = repalloc_huge(set->entries,
								 ((Size) set->space + 1) * sizeof(BloomHashEntry));
	pfree(set->slots);
	make_slots(set);
}

/* Insert a hash into a set.  Returns false if the set has it already. */
bool
bloomexp_hash_set_insert(BloomHashSet *set, uint64 hash)
{
	uint32		slot = slot_of(set, hash);

	for (uint32 i = set->slots[slot]; i != 0; i = set->entries[i].next)
	{
		if (set->entries[i].hash == hash)
			return false;
	}
	if (set->n == set->space)
	{
		grow(set);
		slot = slot_of(set, hash);
	}
	set->n++;
	set->entries[set->n].hash = hash;
	set->entries[set->n].next = set->slots[slot];
	set->slots[slot] = set->n;
	return true;
}

/*
 * Copy to `found` the hashes that are not known, in their order and without duplicates.  Returns
 * how many were copied.
 */
int
bloomexp_hash_set_find_new(const uint64 *hashes, int n, const uint64 *known, int nknown,
						   uint64 *found)
{
	BloomHashSet set;
	int			nfound = 0;

	if (n <= MAX_NEW_TO_COMPARE && nknown <= MAX_KNOWN_TO_COMPARE)
	{
		for (int i = 0; i < n; i++)
		{
			if (!bloomexp_simd_contains(known, nknown, hashes[i]) &&
				!bloomexp_simd_contains(found, nfound, hashes[i]))
				found[nfound++] = hashes[i];
		}
		return nfound;
	}

	bloomexp_hash_set_init(&set, (uint32) nknown + (uint32) n);
	for (int i = 0; i < nknown; i++)
	{
		if (i % BLOOMEXP_INTERRUPT_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		bloomexp_hash_set_insert(&set, known[i]);
	}
	for (int i = 0; i < n; i++)
	{
		if (i % BLOOMEXP_INTERRUPT_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		if (bloomexp_hash_set_insert(&set, hashes[i]))
			found[nfound++] = hashes[i];
	}
	pfree(set.entries);
	pfree(set.slots);
	return nfound;
}

/* Make a set of n hashes, at least one, for bloomexp_hash_set_mark(). */
void
bloomexp_hash_set_fill(BloomHashSet *set, const uint64 *hashes, uint32 n)
{
	uint64		size = PREFILTER_BYTES;

	while (size < (uint64) n * PREFILTER_BYTES)
		size *= 2;
	set->prefilter = palloc_extended(size, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	set->prefilter_mask = size - 1;
	bloomexp_hash_set_init(set, n);
	for (uint32 i = 0; i < n; i++)
	{
		if (i % BLOOMEXP_INTERRUPT_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		bloomexp_hash_set_insert(set, hashes[i]);
		set->prefilter[hashes[i] & set->prefilter_mask] = 1;
	}
}

/*
 * Set contained[i] for each of n hashes, at most BLOOMEXP_BATCH, that a set contains.  The set must
 * come from bloomexp_hash_set_fill().
 *
 * The pre-filter decides for most hashes, without branches, in a third of the time of a lookup.
 */
void
bloomexp_hash_set_mark(const BloomHashSet *set, const uint64 *hashes, int n, bool *contained)
{
	uint16		pending[BLOOMEXP_BATCH];
	int			npending = 0;

	for (int i = 0; i < n; i++)
	{
		pending[npending] = i;
		npending += set->prefilter[hashes[i] & set->prefilter_mask];
	}
	for (int i = 0; i < npending; i++)
	{
		uint64		hash = hashes[pending[i]];
		uint32		entry = set->slots[slot_of(set, hash)];

		while (entry != 0 && set->entries[entry].hash != hash)
			entry = set->entries[entry].next;
		contained[pending[i]] |= entry != 0;
	}
}
