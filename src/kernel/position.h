/*-------------------------------------------------------------------------
 *
 * position.h
 *	  From the hash of an item to its positions in a layer;
 *	  doc/internals/format.md, "From an item to its positions", is the contract.
 *
 * All positions of an item fall into one block.  A state, which is made of the hash, leads to
 * the first of them, and each step of the state to one more.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_POSITION_H
#define BLOOMEXP_POSITION_H

#include "kernel/sizing.h"

/*
 * 2^64 / golden ratio, odd.  Added to each hash, so that 0, the hash of the empty
 * text, does not stay 0; also scales the layer's first multiplier,
 * which makes layers of different sizes err independently.
 */
#define BLOOMEXP_POSITION_START UINT64_C(0x9E3779B97F4A7C15)

/*
 * Multiplier of the congruential step from probe to probe: Steele and Vigna,
 * "Computationally easy, spectrally good multipliers for congruential
 * pseudorandom number generators", Softw. Pract. Exper. 52, 2022.
 */
#define BLOOMEXP_POSITION_STEP UINT64_C(0xD1342543DE82EF95)

/* Number of the block into which all positions of an item fall. */
static inline uint32_t
bloomexp_position_block_of(const BloomShape *shape, uint64_t hash)
{
	/* the high word of hash * blocks, as 32-bit halves: blocks is small */
	uint64_t	low = (hash & UINT32_MAX) * shape->blocks;

	return (uint32_t) (((hash >> 32) * shape->blocks + (low >> 32)) >> 32);
}

/* The multiplier that leads to the first position in a layer. */
static inline uint64_t
bloomexp_position_first_step(const BloomShape *shape)
{
	return BLOOMEXP_POSITION_START * (2 * (uint64_t) shape->words + 1);
}

/* The position, below `positions`, to which a state leads: by its high half. */
static inline uint32_t
bloomexp_position_of(uint64_t state, uint32_t positions)
{
	return (uint32_t) (((state >> 32) * positions) >> 32);
}

#endif							/* BLOOMEXP_POSITION_H */
