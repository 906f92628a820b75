/*-------------------------------------------------------------------------
 *
 * hashset.c
 *	  Open addressing with linear probing, 8 bytes a slot.
 *
 * The hashes are good ones already, so a hash's place is its size: slot
 * floor(hash * nslots / 2^64).  A walk over the slots then meets the hashes
 * almost sorted, and that is the order of the blocks of a large filter: it is
 * filled from front to back.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "hashset.h"

#define MIN_SLOTS 16

/* At most this share of the slots is taken. */
#define MAX_LOAD 0.8

/* Sets double up to this size, then grow by half: memory before speed. */
#define DOUBLE_UP_TO 1048576

void
bloomexp_hashset_init(BloomHashSet *set, MemoryContext context)
{
	set->context = context;
	set->count = 0;
	set->nslots = MIN_SLOTS;
	set->slots = MemoryContextAllocZero(context, MIN_SLOTS * sizeof(uint64));
	set->has_zero = false;
}

/* Whether a hash that is not 0 is new to the slots; it is in them then. */
static inline bool
add_to_slots(uint64 *slots, uint64 nslots, uint64 hash)
{
	uint64		slot = ((hash >> 32) * nslots) >> 32;

	while (slots[slot] != 0)
	{
		if (slots[slot] == hash)
			return false;
		if (++slot == nslots)
			slot = 0;
	}
	slots[slot] = hash;
	return true;
}

static void
resize(BloomHashSet *set, uint64 nslots)
{
	uint64	   *slots = MemoryContextAllocExtended(set->context, nslots * sizeof(uint64),
												   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	for (uint64 i = 0; i < set->nslots; i++)
	{
		if (set->slots[i] != 0)
			add_to_slots(slots, nslots, set->slots[i]);
	}
	pfree(set->slots);
	set->slots = slots;
	set->nslots = nslots;
}

/*
 * bloomexp_hashset_reserve
 *		Make room for `count` hashes in all.
 *
 * To be called before another set's hashes are added: they come almost sorted,
 * and would pile up in the front of a set that has still to grow.
 */
void
bloomexp_hashset_reserve(BloomHashSet *set, uint64 count)
{
	uint64		nslots = (uint64) (Min(count, BLOOMEXP_HASHSET_MAX) / MAX_LOAD) + 1;

	if (nslots > set->nslots)
		resize(set, nslots);
}

/*
 * bloomexp_hashset_add
 *		Add a hash, if it is not there already.
 */
void
bloomexp_hashset_add(BloomHashSet *set, uint64 hash)
{
	if (hash == 0)
	{
		set->count += !set->has_zero;
		set->has_zero = true;
		return;
	}

	if (!add_to_slots(set->slots, set->nslots, hash))
		return;
	set->count++;
	if (set->count <= set->nslots * MAX_LOAD)
		return;

	if (set->count > BLOOMEXP_HASHSET_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many distinct items in one group"),
				 errdetail("An aggregate takes at most %d.", BLOOMEXP_HASHSET_MAX),
				 errhint("Make the filter with bloom_new(capacity) and add the items in parts.")));
	CHECK_FOR_INTERRUPTS();
	resize(set, set->nslots < DOUBLE_UP_TO ? set->nslots * 2 :
		   Min(set->nslots + set->nslots / 2,
			   (uint64) (BLOOMEXP_HASHSET_MAX / MAX_LOAD) + 1));
}

/*
 * bloomexp_hashset_read
 *		The next hashes of a set, `max` at most; returns their number, 0 at the
 *		end.  *position starts as 0.
 */
int
bloomexp_hashset_read(const BloomHashSet *set, uint64 *position,
					  uint64 *hashes, int max)
{
	int			n = 0;

	while (n < max && *position < set->nslots)
	{
		uint64		hash = set->slots[(*position)++];

		if (hash != 0)
			hashes[n++] = hash;
	}
	if (n < max && *position == set->nslots)
	{
		(*position)++;
		if (set->has_zero)
			hashes[n++] = 0;
	}
	return n;
}
