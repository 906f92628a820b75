/*-------------------------------------------------------------------------
 *
 * probe.c
 *	  Kernels: one item, or a batch of them, against one layer.
 *
 * A branch that the CPU cannot predict costs more than a few needless probes.  So
 * the batch kernel makes the first probes of every item without branches, and the
 * rest only for the items that all of them found set.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "kernel/batch.h"
#include "kernel/probe.h"
#include "kernel/simd.h"

/* Probes made of every item. */
#define FIRST_PROBES 2

/* Probes made at a time of the items that are still in doubt. */
#define MORE_PROBES 3

#if FIRST_PROBES > MORE_PROBES
#error "narrow() has no space for the first probes"
#endif

/*
 * For functions with parameters that are constant where they are called.  Left to
 * itself gcc may make them variables again: that cost a batch a third more time.
 */
#ifdef __GNUC__
#define SPECIALIZED inline __attribute__((always_inline))
#else
#define SPECIALIZED inline
#endif

/* The multiplier that leads to a layer's first position. */
static inline uint64_t
first_step(const BloomShape *shape)
{
	return BLOOMEXP_START * (2 * (uint64_t) shape->words + 1);
}

/* State of an item before its first probe of a layer. */
static inline uint64_t
initial_state(const BloomShape *shape, uint64_t hash)
{
	return (hash + BLOOMEXP_START) * first_step(shape);
}

/* The next position of an item within its block. */
static inline uint32_t
next_position(uint64_t *state, uint32_t block_bits)
{
	uint32_t	position = bloomexp_simd_position(*state, block_bits);

	*state *= BLOOMEXP_STEP;
	return position;
}

/* The counter of a position. */
static inline uint32_t
get_counter(const uint8_t *block, uint32_t position)
{
	return (block[position / 2] >> (position % 2 * 4)) & BLOOMEXP_COUNTER_MAX;
}

/* 1 if the position is set, else 0. */
static inline uint32_t
is_set(const uint8_t *block, uint32_t position, bool counting)
{
	if (counting)
		return get_counter(block, position) != 0;
	return (block[position / 8] >> (position % 8)) & 1;
}

/* The block that an item's probes fall into. */
static inline uint8_t *
block_of(const BloomBits *bits, uint64_t hash)
{
	if (bits->shape.blocks == 1)
		return bits->bytes;
	return bits->bytes + bloomexp_probe_block_of(&bits->shape, hash) * bloomexp_probe_block_bytes(bits);
}

/*
 * bloomexp_probe_contains
 *		Test whether a layer contains an item.
 */
bool
bloomexp_probe_contains(const BloomBits *bits, uint64_t hash)
{
	const uint8_t *block = block_of(bits, hash);
	uint64_t	state = initial_state(&bits->shape, hash);

	for (uint32_t i = 0; i < bits->shape.hashes; i++)
	{
		if (!is_set(block, next_position(&state, bits->shape.block_bits), bits->counting))
			return false;
	}
	return true;
}

/*
 * Compute the multipliers that lead from an item to its positions.  They are the same for
 * all items, so they are computed once, and no probe waits for the one before.
 */
static inline void
make_steps(const BloomShape *shape, uint64_t *steps)
{
	steps[0] = first_step(shape);
	for (uint32_t j = 1; j < shape->hashes; j++)
		steps[j] = steps[j - 1] * BLOOMEXP_STEP;
}

/*
 * Make `probes` probes, at most MORE_PROBES, of the items hashes[places[i]], or of
 * the first n items if these probes are the `first`.  Leaves in places those with
 * all of them set, and returns their number.
 */
static SPECIALIZED int
narrow(const BloomBits *bits, bool counting, bool blocked, bool first, const uint64_t *steps,
	   int probes, const uint64_t *hashes, uint16_t *places, int n)
{
	uint64_t	chosen[BLOOMEXP_BATCH];
	uint32_t	positions[MORE_PROBES][BLOOMEXP_BATCH];
	int			left = 0;

	if (!first)
	{
		for (int i = 0; i < n; i++)
			chosen[i] = hashes[places[i]];
		hashes = chosen;
	}

	for (int j = 0; j < probes; j++)
		bloomexp_simd_find_positions(hashes, n, steps[j], steps[j] * BLOOMEXP_START,
									 bits->shape.block_bits, positions[j]);

	for (int i = 0; i < n; i++)
	{
		const uint8_t *block = blocked ? block_of(bits, hashes[i]) : bits->bytes;
		uint32_t	all = 1;

		for (int j = 0; j < probes; j++)
			all &= is_set(block, positions[j][i], counting);
		places[left] = first ? i : places[i];
		left += all;
	}
	return left;
}

/* Find the items that a layer contains, compiled for one pair of constants. */
static SPECIALIZED int
probe_hits(const BloomBits *bits, bool counting, bool blocked,
		   const uint64_t *hashes, int n, uint16_t *hits)
{
	uint64_t	steps[BLOOMEXP_MAX_HASHES + MORE_PROBES];

	make_steps(&bits->shape, steps);
	/* the last group of probes may be too long: it repeats the first one */
	for (int j = 0; j < MORE_PROBES; j++)
		steps[bits->shape.hashes + j] = steps[0];

	n = narrow(bits, counting, blocked, true, steps, FIRST_PROBES, hashes, hits, n);
	for (uint32_t j = FIRST_PROBES; j < bits->shape.hashes; j += MORE_PROBES)
		n = narrow(bits, counting, blocked, false, steps + j, MORE_PROBES, hashes, hits, n);
	return n;
}

/*
 * bloomexp_probe_hits
 *		Find which of n items, at most BLOOMEXP_BATCH, a layer contains: their indexes,
 *		ascending, for which `hits` must have space for all n; returns their number.
 */
int
bloomexp_probe_hits(const BloomBits *bits, const uint64_t *hashes, int n, uint16_t *hits)
{
	if (bits->counting)
		return probe_hits(bits, true, bits->shape.blocks > 1, hashes, n, hits);
	if (bits->shape.blocks > 1)
		return probe_hits(bits, false, true, hashes, n, hits);
	return probe_hits(bits, false, false, hashes, n, hits);
}

/*
 * bloomexp_probe_set
 *		Add an item to a layer; returns how many positions it newly set.
 *
 * A counter counts every probe, also two of one item in one place.
 */
uint32_t
bloomexp_probe_set(const BloomBits *bits, uint64_t hash)
{
	uint8_t    *block = block_of(bits, hash);
	uint64_t	state = initial_state(&bits->shape, hash);
	uint32_t	newly_set = 0;

	for (uint32_t i = 0; i < bits->shape.hashes; i++)
	{
		uint32_t	position = next_position(&state, bits->shape.block_bits);

		newly_set += !is_set(block, position, bits->counting);
		if (!bits->counting)
			block[position / 8] |= (uint8_t) (1 << (position % 8));
		else if (get_counter(block, position) < BLOOMEXP_COUNTER_MAX)
			block[position / 2] += (uint8_t) (1 << (position % 2 * 4));
	}
	return newly_set;
}

/*
 * bloomexp_probe_set_many
 *		Add many items to a layer that does not count; bloomexp_probe_count_set()
 *		then returns how many bits are set.
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
		uint64_t	state = hashes[i] + BLOOMEXP_START;
		uint8_t    *block = block_of(bits, hashes[i]);

		for (uint32_t j = 0; j < k; j++)
		{
			uint32_t	position = bloomexp_simd_position(state * steps[j], block_bits);

			block[position / 8] |= (uint8_t) (1 << (position % 8));
		}
	}
}

/*
 * bloomexp_probe_unset
 *		Remove an item, which must be contained, from a counting layer; returns
 *		how many positions it newly unset.
 *
 * A counter at its maximum may stand for more items, so it stays.
 */
uint32_t
bloomexp_probe_unset(const BloomBits *bits, uint64_t hash)
{
	uint8_t    *block = block_of(bits, hash);
	uint64_t	state = initial_state(&bits->shape, hash);
	uint32_t	newly_unset = 0;

	for (uint32_t i = 0; i < bits->shape.hashes; i++)
	{
		uint32_t	position = next_position(&state, bits->shape.block_bits);
		uint32_t	counter = get_counter(block, position);

		if (counter == 0 || counter == BLOOMEXP_COUNTER_MAX)
			continue;
		block[position / 2] -= (uint8_t) (1 << (position % 2 * 4));
		newly_unset += counter == 1;
	}
	return newly_unset;
}

/* Add two bytes of two counters each. */
static inline uint8_t
add_counters(uint8_t a, uint8_t b)
{
	uint32_t	low = (a & 15) + (b & 15);
	uint32_t	high = (a >> 4) + (b >> 4);

	low = low < BLOOMEXP_COUNTER_MAX ? low : BLOOMEXP_COUNTER_MAX;
	high = high < BLOOMEXP_COUNTER_MAX ? high : BLOOMEXP_COUNTER_MAX;
	return (uint8_t) (high << 4 | low);
}

/*
 * bloomexp_probe_merge
 *		Set in one layer what is set in another of the same shape.
 */
void
bloomexp_probe_merge(const BloomBits *bits, const BloomBits *other)
{
	uint64_t	size = bloomexp_probe_bytes(bits->shape.words, bits->counting);

	if (bits->counting)
	{
		for (uint64_t i = 0; i < size; i++)
			bits->bytes[i] = add_counters(bits->bytes[i], other->bytes[i]);
	}
	else
	{
		for (uint64_t i = 0; i < size; i++)
			bits->bytes[i] |= other->bytes[i];
	}
}

/* Count the set positions in 8 bytes of a layer. */
static inline uint64_t
count_in_word(uint64_t word, bool counting)
{
	if (counting)				/* fold each counter into its lowest bit */
	{
		word |= word >> 2;
		word |= word >> 1;
		word &= UINT64_C(0x1111111111111111);
	}
	/* sums of bits by 2, by 4, by 8, then all in the top byte */
	word -= (word >> 1) & UINT64_C(0x5555555555555555);
	word = (word & UINT64_C(0x3333333333333333)) +
		((word >> 2) & UINT64_C(0x3333333333333333));
	word = (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (word * UINT64_C(0x0101010101010101)) >> 56;
}

/*
 * bloomexp_probe_count_merged
 *		Count the positions that are set in either of two layers of the same shape.
 */
uint64_t
bloomexp_probe_count_merged(const BloomBits *bits, const BloomBits *other)
{
	uint64_t	size = bloomexp_probe_bytes(bits->shape.words, bits->counting);
	uint64_t	count = 0;

	for (uint64_t i = 0; i < size; i += sizeof(uint64_t))
	{
		uint64_t	word;
		uint64_t	other_word;

		memcpy(&word, bits->bytes + i, sizeof(word));
		memcpy(&other_word, other->bytes + i, sizeof(other_word));
		count += count_in_word(word | other_word, bits->counting);
	}
	return count;
}

/*
 * bloomexp_probe_count_set
 *		Count the positions of a layer that are set.
 */
uint64_t
bloomexp_probe_count_set(const BloomBits *bits)
{
	return bloomexp_probe_count_merged(bits, bits);
}
