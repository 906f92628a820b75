/*-------------------------------------------------------------------------
 *
 * hash_set.c
 *	  A set of hashes, in memory and exact.
 *
 * The hash of an item is no secret, so whoever chooses ids could choose such that have one
 * slot in a table by the hash alone.  So the slot is chosen by the high bits of the hash times
 * an odd number that is secret: any two hashes then meet in one of m slots with a chance of
 * 2/m at most, whatever they are (Dietzfelbinger, Hagerup, Katajainen, Penttonen, "A reliable
 * randomized algorithm for the closest-pair problem", J. Algorithms 25, 1997).  The hashes of
 * a slot are chained, so that no slot fills those beside it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "kernel/probe.h"
#include "sql/hash_set.h"

/*
 * Bytes for each hash of what tells by low bits which hashes can be in a set: one in sixteen
 * others seems to be.
 */
#define MAYBE_BYTES 16

/*
 * To compare each with each is faster than a set, if they are few: those of a page, and those
 * that a row of a feed has.
 */
#define FEW_HASHES 16
#define MANY_KNOWN 256

/* Odd; 0 before it is chosen. */
static uint64 secret = 0;

/* Choose the secret, once for each session. */
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

/* Make a slot for each entry that there is space for, and put the entries into them. */
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

/* Make an empty set with space for some hashes, in the current memory context. */
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

/* Put a hash into a set; false if it is there already. */
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

/* Tell whether a hash is among n others. */
static bool
is_among(uint64 hash, const uint64 *others, int n)
{
	bool		found = false;

	for (int i = 0; i < n; i++)
		found |= others[i] == hash; /* without a branch, several at a time */
	return found;
}

/*
 * Copy those of n hashes that are not among the known ones, in their order and without
 * repetitions; returns how many they are.
 */
int
bloomexp_hash_set_find_new(const uint64 *hashes, int n, const uint64 *known, int nknown,
						   uint64 *found)
{
	BloomHashSet set;
	int			nfound = 0;

	if (n <= FEW_HASHES && nknown <= MANY_KNOWN)
	{
		for (int i = 0; i < n; i++)
		{
			if (!is_among(hashes[i], known, nknown) && !is_among(hashes[i], found, nfound))
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
	return nfound;
}

/* Make a set of n hashes, at least one, in which to look many others up. */
void
bloomexp_hash_set_fill(BloomHashSet *set, const uint64 *hashes, uint32 n)
{
	uint64		size = MAYBE_BYTES;

	while (size < (uint64) n * MAYBE_BYTES)
		size *= 2;
	set->maybe = palloc_extended(size, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	set->maybe_mask = size - 1;
	bloomexp_hash_set_init(set, n);
	for (uint32 i = 0; i < n; i++)
	{
		if (i % BLOOMEXP_INTERRUPT_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		bloomexp_hash_set_insert(set, hashes[i]);
		set->maybe[hashes[i] & set->maybe_mask] = 1;
	}
}

/*
 * Mark those of n hashes, at most BLOOMEXP_BATCH, that a filled set contains.
 *
 * The low bits decide for most of them, without a branch to mispredict, and in a third of the
 * time that a look at their slot takes.
 */
void
bloomexp_hash_set_mark(const BloomHashSet *set, const uint64 *hashes, int n, bool *contained)
{
	uint16		pending[BLOOMEXP_BATCH];
	int			npending = 0;

	for (int i = 0; i < n; i++)
	{
		pending[npending] = i;
		npending += set->maybe[hashes[i] & set->maybe_mask];
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
