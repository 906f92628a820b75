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

#include "kernel/bits.h"
#include "kernel/counting.h"
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

/* 1 if the position is set, else 0. */
static inline uint32_t
is_set(const uint8_t *block, uint32_t position)
{
	return (block[position / 8] >> (position % 8)) & 1;
}

/*
 * bloomexp_probe_contains
 *		Test whether a layer contains an item.
 */
bool
bloomexp_probe_contains(const BloomBits *bits, uint64_t hash)
{
	const uint8_t *block = bloomexp_probe_block(bits, hash);
	uint64_t	state = bloomexp_probe_start(&bits->shape, hash);

	if (bits->counting)
		return bloomexp_counting_contains(bits, hash);
	for (uint32_t i = 0; i < bits->shape.hashes; i++)
	{
		if (!is_set(block, bloomexp_probe_next(&state, bits->shape.block_bits)))
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
	steps[0] = bloomexp_probe_first_step(shape);
	for (uint32_t j = 1; j < shape->hashes; j++)
		steps[j] = steps[j - 1] * BLOOMEXP_STEP;
}

/*
 * Make `probes` probes, at most MORE_PROBES, of the items hashes[places[i]], or of
 * the first n items if these probes are the `first`.  Leaves in places those with
 * all of them set, and returns their number.
 */
static SPECIALIZED int
narrow(const BloomBits *bits, bool blocked, bool first, const uint64_t *steps,
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
		const uint8_t *block = blocked ? bloomexp_probe_block(bits, hashes[i]) : bits->bytes;
		uint32_t	all = 1;

		for (int j = 0; j < probes; j++)
			all &= is_set(block, positions[j][i]);
		places[left] = first ? i : places[i];
		left += all;
	}
	return left;
}

/* Find the items that a layer contains, compiled for one constant. */
static SPECIALIZED int
probe_hits(const BloomBits *bits, bool blocked, const uint64_t *hashes, int n, uint16_t *hits)
{
	uint64_t	steps[BLOOMEXP_MAX_HASHES + MORE_PROBES];

	make_steps(&bits->shape, steps);
	/* the last group of probes may be too long: it repeats the first one */
	for (int j = 0; j < MORE_PROBES; j++)
		steps[bits->shape.hashes + j] = steps[0];

	n = narrow(bits, blocked, true, steps, FIRST_PROBES, hashes, hits, n);
	for (uint32_t j = FIRST_PROBES; j < bits->shape.hashes; j += MORE_PROBES)
		n = narrow(bits, blocked, false, steps + j, MORE_PROBES, hashes, hits, n);
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
	int			nhits = 0;

	if (bits->shape.blocks > 1 && !bits->counting)
		return probe_hits(bits, true, hashes, n, hits);
	if (!bits->counting)
		return probe_hits(bits, false, hashes, n, hits);
	for (int i = 0; i < n; i++)
	{
		hits[nhits] = i;
		nhits += bloomexp_counting_contains(bits, hashes[i]);
	}
	return nhits;
}

/*
 * bloomexp_probe_set
 *		Add an item to a layer; returns how many positions it newly set.
 */
uint32_t
bloomexp_probe_set(const BloomBits *bits, uint64_t hash)
{
	uint8_t    *block = bloomexp_probe_block(bits, hash);
	uint64_t	state = bloomexp_probe_start(&bits->shape, hash);
	uint32_t	newly_set = 0;

	if (bits->counting)
		return bloomexp_counting_add(bits, hash, 1);
	for (uint32_t i = 0; i < bits->shape.hashes; i++)
	{
		uint32_t	position = bloomexp_probe_next(&state, bits->shape.block_bits);

		newly_set += !is_set(block, position);
		block[position / 8] |= (uint8_t) (1 << (position % 8));
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
		uint8_t    *block = bloomexp_probe_block(bits, hashes[i]);

		for (uint32_t j = 0; j < k; j++)
		{
			uint32_t	position = bloomexp_simd_position(state * steps[j], block_bits);

			block[position / 8] |= (uint8_t) (1 << (position % 8));
		}
	}
}

/*
 * bloomexp_probe_merge
 *		Set in one layer what is set in another of the same shape.
 */
void
bloomexp_probe_merge(const BloomBits *bits, const BloomBits *other)
{
	uint64_t	size = bloomexp_probe_bytes(bits->shape.words, false);

	if (bits->counting)
		bloomexp_counting_merge(bits, other);
	else
	{
		for (uint64_t i = 0; i < size; i++)
			bits->bytes[i] |= other->bytes[i];
	}
}

/* Count the bits of a word: by 2, by 4, by 8, then all in the top byte. */
static inline uint64_t
count_in_word(uint64_t word)
{
	word -= (word >> 1) & UINT64_C(0x5555555555555555);
	word = (word & UINT64_C(0x3333333333333333)) +
		((word >> 2) & UINT64_C(0x3333333333333333));
	word = (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (word * UINT64_C(0x0101010101010101)) >> 56;
}

/*
 * bloomexp_probe_count_set
 *		Count the positions of a layer that are set.
 */
uint64_t
bloomexp_probe_count_set(const BloomBits *bits)
{
	uint64_t	size = bloomexp_probe_bytes(bits->shape.words, bits->counting);
	uint64_t	count = 0;

	for (uint64_t i = 0; i < size; i += sizeof(uint64_t))
	{
		uint64_t	word;

		memcpy(&word, bits->bytes + i, sizeof(word));
		count += count_in_word(bits->counting ? bloomexp_counting_set_in(word) : word);
	}
	return count;
}
