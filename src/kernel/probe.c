/*-------------------------------------------------------------------------
 *
 * probe.c
 *	  Setting, testing and counting the positions of items in one layer.
 *
 * A mispredicted branch costs more than a few needless probes.  So for a batch of
 * items, the first probes of all items are made without branches.  Only items whose
 * first positions are all set are probed further.
 *
 * If two probes of an item have the same position, its counter counts both.  A counter
 * at COUNTER_MAX may stand for more probes than that, so it never changes again.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "kernel/position.h"
#include "kernel/probe.h"
#include "kernel/simd.h"

#define COUNTER_MAX 15

/* The number of probes that every item of a batch gets. */
#define FIRST_PROBES 2

/* The number of probes at a time for items whose positions were all set so far. */
#define MORE_PROBES 3

#if FIRST_PROBES > MORE_PROBES
#error "keep_hits() has no room for the first probes"
#endif

/* Return the block in which the positions of an item are. */
static inline uint8_t *
find_block(const BloomBits *bits, uint64_t hash)
{
	if (bits->shape.blocks == 1)
		return bits->bytes;
	return bits->bytes +
		bloomexp_position_block_of(&bits->shape, hash) * bloomexp_probe_block_bytes(bits);
}

/* Return the first state of an item in a layer. */
static inline uint64_t
first_state(const BloomShape *shape, uint64_t hash)
{
	return (hash + BLOOMEXP_POSITION_START) * bloomexp_position_first_step(shape);
}

/* Return the position in a block that a state gives, and advance the state. */
static inline uint32_t
next_position(uint64_t *state, uint32_t block_bits)
{
	uint32_t	position = bloomexp_position_of(*state, block_bits);

	*state *= BLOOMEXP_POSITION_STEP;
	return position;
}

/* Return the bit or the counter at a position. */
static inline uint32_t
get(const uint8_t *block, bool counting, uint32_t position)
{
	if (counting)
		return (block[position / 2] >> (position % 2 * 4)) & COUNTER_MAX;
	return (block[position / 8] >> (position % 8)) & 1;
}

/* bloomexp_probe_contains(), compiled for a constant `counting` */
static BLOOMEXP_INLINE bool
all_set(const BloomBits *bits, bool counting, uint64_t hash)
{
	const uint8_t *block = find_block(bits, hash);
	uint64_t	state = first_state(&bits->shape, hash);

	for (uint32_t i = 0; i < bits->shape.hashes; i++)
	{
		if (get(block, counting, next_position(&state, bits->shape.block_bits)) == 0)
			return false;
	}
	return true;
}

/* Return whether a layer contains an item. */
bool
bloomexp_probe_contains(const BloomBits *bits, uint64_t hash)
{
	return bits->counting ? all_set(bits, true, hash) : all_set(bits, false, hash);
}

/*
 * Compute the multipliers that make each state of an item, from its hash plus
 * BLOOMEXP_POSITION_START.  They are the same for all items of a layer.  With them no probe waits
 * for the one before.
 */
static inline void
make_steps(const BloomShape *shape, uint64_t *steps)
{
	steps[0] = bloomexp_position_first_step(shape);
	for (uint32_t j = 1; j < shape->hashes; j++)
		steps[j] = steps[j - 1] * BLOOMEXP_POSITION_STEP;
}

/*
 * Probe n items at `probes` positions each, at most MORE_PROBES.  The items are
 * hashes[places[i]], or hashes[i] if `places_unset`.  Leaves in `places` the indexes of the items
 * whose positions are all set, and returns their number.
 */
static BLOOMEXP_INLINE int
keep_hits(const BloomBits *bits, bool counting, bool blocked, bool places_unset,
		  const uint64_t *steps, int probes, const uint64_t *hashes, uint16_t *places, int n)
{
	uint64_t	chosen[BLOOMEXP_BATCH];
	uint32_t	positions[MORE_PROBES][BLOOMEXP_BATCH];
	int			left = 0;

	if (!places_unset)
	{
		for (int i = 0; i < n; i++)
			chosen[i] = hashes[places[i]];
		hashes = chosen;
	}

	for (int j = 0; j < probes; j++)
		bloomexp_simd_find_positions(hashes, n, steps[j], steps[j] * BLOOMEXP_POSITION_START,
									 bits->shape.block_bits, positions[j]);

	for (int i = 0; i < n; i++)
	{
		const uint8_t *block = blocked ? find_block(bits, hashes[i]) : bits->bytes;
		bool		all = true;

		for (int j = 0; j < probes; j++)
			all &= get(block, counting, positions[j][i]) != 0;
		places[left] = places_unset ? i : places[i];
		left += all;
	}
	return left;
}

/* bloomexp_probe_hits(), compiled for constants `counting` and `blocked` */
static BLOOMEXP_INLINE int
probe_hits(const BloomBits *bits, bool counting, bool blocked,
		   const uint64_t *hashes, int n, uint16_t *hits)
{
	uint64_t	steps[BLOOMEXP_MAX_HASHES + MORE_PROBES];

	make_steps(&bits->shape, steps);
	/* the last group of probes can exceed k: let it repeat the first probe */
	for (int j = 0; j < MORE_PROBES; j++)
		steps[bits->shape.hashes + j] = steps[0];

	n = keep_hits(bits, counting, blocked, true, steps, FIRST_PROBES, hashes, hits, n);
	for (uint32_t j = FIRST_PROBES; j < bits->shape.hashes; j += MORE_PROBES)
		n = keep_hits(bits, counting, blocked, false, steps + j, MORE_PROBES, hashes, hits, n);
	return n;
}

/*
 * Find which of n items, at most BLOOMEXP_BATCH, a layer contains.  Stores their indexes in
 * `hits`, ascending, and returns their number.  `hits` must have room for n.
 */
int
bloomexp_probe_hits(const BloomBits *bits, const uint64_t *hashes, int n, uint16_t *hits)
{
	if (bits->counting)
		return probe_hits(bits, true, true, hashes, n, hits);
	if (bits->shape.blocks > 1)
		return probe_hits(bits, false, true, hashes, n, hits);
	return probe_hits(bits, false, false, hashes, n, hits);
}

/* Add an item to a layer of bits.  Returns the number of bits that were not set before. */
uint32_t
bloomexp_probe_set(const BloomBits *bits, uint64_t hash)
{
	uint8_t    *block = find_block(bits, hash);
	uint64_t	state = first_state(&bits->shape, hash);
	uint32_t	newly_set = 0;

	for (uint32_t i = 0; i < bits->shape.hashes; i++)
	{
		uint32_t	position = next_position(&state, bits->shape.block_bits);

		newly_set += !get(block, false, position);
		block[position / 8] |= (uint8_t) (1 << (position % 8));
	}
	return newly_set;
}

/*
 * Add `delta`, 1 or -1, to the counters of an item.  Returns how many counters were 0 before, if
 * `delta` is 1, or are 0 now, if it is -1.
 */
uint32_t
bloomexp_probe_count(const BloomBits *bits, uint64_t hash, int delta)
{
	uint8_t    *block = find_block(bits, hash);
	uint64_t	state = first_state(&bits->shape, hash);
	uint32_t	changed = 0;

	for (uint32_t i = 0; i < bits->shape.hashes; i++)
	{
		uint32_t	position = next_position(&state, bits->shape.block_bits);
		uint32_t	counter = get(block, true, position);

		if (counter == COUNTER_MAX || (counter == 0 && delta < 0))
			continue;
		block[position / 2] += (uint8_t) ((uint32_t) delta << (position % 2 * 4));
		changed += counter == (delta > 0 ? 0 : 1);
	}
	return changed;
}

/*
 * Add n items to a layer of bits.  Use bloomexp_probe_count_set() to learn how many bits are
 * set afterwards.
 */
void
bloomexp_probe_set_many(const BloomBits *bits, const uint64_t *hashes, uint64_t n)
{
	uint32_t	block_bits = bits->shape.block_bits;
	uint32_t	k = bits->shape.hashes;
	uint64_t	steps[BLOOMEXP_MAX_HASHES];

	make_steps(&bits->shape, steps);
	for (uint64_t i = 0; i < n; i++)
	{
		uint64_t	state = hashes[i] + BLOOMEXP_POSITION_START;
		uint8_t    *block = find_block(bits, hashes[i]);

		for (uint32_t j = 0; j < k; j++)
		{
			uint32_t	position = bloomexp_position_of(state * steps[j], block_bits);

			block[position / 8] |= (uint8_t) (1 << (position % 8));
		}
	}
}

/* Return the sum of two counters, at most COUNTER_MAX. */
static inline uint32_t
add_counters(uint32_t a, uint32_t b)
{
	return a + b < COUNTER_MAX ? a + b : COUNTER_MAX;
}

/* Merge a layer into `bits`, which has the same shape: set its bits, or add its counters. */
void
bloomexp_probe_merge(const BloomBits *bits, const BloomBits *other)
{
	uint64_t	size = bloomexp_probe_bytes(bits->shape.words, bits->counting);

	for (uint64_t i = 0; i < size; i++)
	{
		uint8_t		a = bits->bytes[i];
		uint8_t		b = other->bytes[i];

		if (bits->counting)
			bits->bytes[i] = (uint8_t) (add_counters(a >> 4, b >> 4) << 4 |
										add_counters(a & 15, b & 15));
		else
			bits->bytes[i] = a | b;
	}
}

/* Return the number of positions of a layer that are set. */
uint64_t
bloomexp_probe_count_set(const BloomBits *bits)
{
	uint64_t	size = bloomexp_probe_bytes(bits->shape.words, bits->counting);
	uint64_t	set = 0;

	for (uint64_t i = 0; i < size; i += sizeof(uint64_t))
	{
		uint64_t	word;

		memcpy(&word, bits->bytes + i, sizeof(word));
		if (bits->counting)
		{
			/* set the lowest bit of each counter that is not 0, and clear the others */
			word |= word >> 2;
			word |= word >> 1;
			word &= UINT64_C(0x1111111111111111);
		}
		/* add up the bits by 2, by 4, by 8, and then all in the top byte */
		word -= (word >> 1) & UINT64_C(0x5555555555555555);
		word = (word & UINT64_C(0x3333333333333333)) +
			((word >> 2) & UINT64_C(0x3333333333333333));
		word = (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
		set += (word * UINT64_C(0x0101010101010101)) >> 56;
	}
	return set;
}
