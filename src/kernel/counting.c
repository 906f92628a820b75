/*-------------------------------------------------------------------------
 *
 * counting.c
 *	  Layers of counters of 4 bits.
 *
 * A counter that reaches COUNTER_MAX may stand for more items, so it stays there.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/counting.h"

#define COUNTER_MAX 15

/* The counter of a position. */
static inline uint32_t
get_counter(const uint8_t *block, uint32_t position)
{
	return (block[position / 2] >> (position % 2 * 4)) & COUNTER_MAX;
}

/*
 * bloomexp_counting_contains
 *		Test whether a layer contains an item.
 */
bool
bloomexp_counting_contains(const BloomBits *bits, uint64_t hash)
{
	const uint8_t *block = bloomexp_probe_block(bits, hash);
	uint64_t	state = bloomexp_probe_start(&bits->shape, hash);

	for (uint32_t i = 0; i < bits->shape.hashes; i++)
	{
		if (get_counter(block, bloomexp_probe_next(&state, bits->shape.block_bits)) == 0)
			return false;
	}
	return true;
}

/*
 * bloomexp_counting_add
 *		Add an item, or take it, which must be contained, out again if `times` is -1;
 *		returns how many positions it newly set or unset.
 *
 * A counter counts every probe, also two of one item in one place.
 */
uint32_t
bloomexp_counting_add(const BloomBits *bits, uint64_t hash, int times)
{
	uint8_t    *block = bloomexp_probe_block(bits, hash);
	uint64_t	state = bloomexp_probe_start(&bits->shape, hash);
	uint32_t	changed = 0;

	for (uint32_t i = 0; i < bits->shape.hashes; i++)
	{
		uint32_t	position = bloomexp_probe_next(&state, bits->shape.block_bits);
		uint32_t	counter = get_counter(block, position);

		if (counter == COUNTER_MAX || (counter == 0 && times < 0))
			continue;
		block[position / 2] += (uint8_t) ((uint32_t) times << (position % 2 * 4));
		changed += counter == (times > 0 ? 0 : 1);
	}
	return changed;
}

/* Add two bytes of two counters each. */
static inline uint8_t
add_counters(uint8_t a, uint8_t b)
{
	uint32_t	low = (a & 15) + (b & 15);
	uint32_t	high = (a >> 4) + (b >> 4);

	low = low < COUNTER_MAX ? low : COUNTER_MAX;
	high = high < COUNTER_MAX ? high : COUNTER_MAX;
	return (uint8_t) (high << 4 | low);
}

/*
 * bloomexp_counting_merge
 *		Add the counters of another layer of the same shape.
 */
void
bloomexp_counting_merge(const BloomBits *bits, const BloomBits *other)
{
	uint64_t	size = bloomexp_probe_bytes(bits->shape.words, true);

	for (uint64_t i = 0; i < size; i++)
		bits->bytes[i] = add_counters(bits->bytes[i], other->bytes[i]);
}
