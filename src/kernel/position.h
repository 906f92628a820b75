/*-------------------------------------------------------------------------
 *
 * position.h
 *	  From the hash of an item to its positions in a layer.
 *
 * The contract is doc/internals/format.md, "From an item to its positions".  All positions of
 * an item are in one block.  The hash gives the first state.  Each state gives a position, and,
 * multiplied by BLOOMEXP_POSITION_STEP, the next state.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_POSITION_H
#define BLOOMEXP_POSITION_H

#include "kernel/sizing.h"

/*
 * 2^64 / golden ratio, odd.  It is added to each hash, because a hash of 0, that of the empty
 * text, would stay 0 in all states.  It also scales the first multiplier of a layer, so that
 * layers of different sizes err independently.
 */
#define BLOOMEXP_POSITION_START UINT64_C(0x9E3779B97F4A7C15)

/*
 * Multiplier of the linear congruential step from one probe to the next.  See Steele,
 * Vigna, "Computationally easy, spectrally good multipliers for congruential
 * pseudorandom number generators", Softw. Pract. Exper. 52, 2022.
 */
#define BLOOMEXP_POSITION_STEP UINT64_C(0xD1342543DE82EF95)

/* Return the number of the block in which all positions of an item are. */
static inline uint32_t
bloomexp_position_block_of(const BloomShape *shape, uint64_t hash)
{
	/* the high word of the 128-bit product hash * blocks, by 32-bit halves */
	uint64_t	low = (hash & UINT32_MAX) * shape->blocks;

	return (uint32_t) (((hash >> 32) * shape->blocks + (low >> 32)) >> 32);
}

/*
 * Return the multiplier that makes the first state of an item in a layer, from its hash plus
 * BLOOMEXP_POSITION_START.
 */
static inline uint64_t
bloomexp_position_first_step(const BloomShape *shape)
{
	return BLOOMEXP_POSITION_START * (2 * (uint64_t) shape->words + 1);
}

/* Return the position, less than `positions`, that a state gives by its high half. */
static inline uint32_t
bloomexp_position_of(uint64_t state, uint32_t positions)
{
	return (uint32_t) (((state >> 32) * positions) >> 32);
}

#endif							/* BLOOMEXP_POSITION_H */
