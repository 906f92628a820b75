/*-------------------------------------------------------------------------
 *
 * bits.h
 *	  The positions of an item in a layer.
 *
 * Knows the shape of a layer and nothing of PostgreSQL.  An item is its 64-bit
 * hash here; doc/internals/format.md, "From an item to its positions", is the contract.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_BITS_H
#define BLOOMEXP_BITS_H

#include "kernel/simd.h"
#include "kernel/sizing.h"

/*
 * Items that are hashed and probed together.  Small enough for L1, large enough
 * that each step is its own loop without dependencies between items.
 */
#define BLOOMEXP_BATCH 512

/* Items or bytes that a loop may process between two checks for a cancel. */
#define BLOOMEXP_INTERRUPT_EVERY 65536

/*
 * 2^64 / golden ratio, odd.  Added to each hash, so that 0, the hash of the empty
 * text, does not stay 0; also scales the layer's first multiplier,
 * which makes layers of different sizes err independently.
 */
#define BLOOMEXP_START UINT64_C(0x9E3779B97F4A7C15)

/*
 * Multiplier of the congruential step from probe to probe: Steele and Vigna,
 * "Computationally easy, spectrally good multipliers for congruential
 * pseudorandom number generators", Softw. Pract. Exper. 52, 2022.
 */
#define BLOOMEXP_STEP UINT64_C(0xD1342543DE82EF95)

/* What the kernels need of a layer. */
typedef struct BloomBits
{
	BloomShape	shape;
	bool		counting;		/* 4-bit counters in place of bits */
	uint8_t    *bytes;
} BloomBits;

/* Bytes that the positions of a layer take. */
static inline uint64_t
bloomexp_probe_bytes(uint64_t words, bool counting)
{
	return words * (counting ? 32 : 8);
}

/* Number of the block into which all probes of an item fall. */
static inline uint32_t
bloomexp_probe_block_of(const BloomShape *shape, uint64_t hash)
{
	/* the high word of hash * blocks, as 32-bit halves: blocks is small */
	uint64_t	low = (hash & UINT32_MAX) * shape->blocks;

	return (uint32_t) (((hash >> 32) * shape->blocks + (low >> 32)) >> 32);
}

/* Bytes of one block. */
static inline uint64_t
bloomexp_probe_block_bytes(const BloomBits *bits)
{
	return bloomexp_probe_bytes(bits->shape.block_bits / 64, bits->counting);
}

/* The block that an item's probes fall into. */
static inline uint8_t *
bloomexp_probe_block(const BloomBits *bits, uint64_t hash)
{
	if (bits->shape.blocks == 1)
		return bits->bytes;
	return bits->bytes + bloomexp_probe_block_of(&bits->shape, hash) * bloomexp_probe_block_bytes(bits);
}

/* The multiplier that leads to a layer's first position. */
static inline uint64_t
bloomexp_probe_first_step(const BloomShape *shape)
{
	return BLOOMEXP_START * (2 * (uint64_t) shape->words + 1);
}

/* State of an item before its first probe of a layer. */
static inline uint64_t
bloomexp_probe_start(const BloomShape *shape, uint64_t hash)
{
	return (hash + BLOOMEXP_START) * bloomexp_probe_first_step(shape);
}

/* The next position of an item within its block. */
static inline uint32_t
bloomexp_probe_next(uint64_t *state, uint32_t block_bits)
{
	uint32_t	position = bloomexp_simd_position(*state, block_bits);

	*state *= BLOOMEXP_STEP;
	return position;
}

#endif							/* BLOOMEXP_BITS_H */
