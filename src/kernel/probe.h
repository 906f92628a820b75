/*-------------------------------------------------------------------------
 *
 * probe.h
 *	  The positions of an item in a layer, and the kernels that set and test
 *	  them over raw memory.
 *
 * Knows the shape of a layer and nothing of PostgreSQL.  An item is its 64-bit
 * hash here; doc/internals/format.md, "From an item to its positions", is the contract.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_PROBE_H
#define BLOOMEXP_PROBE_H

#include "kernel/sizing.h"

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

/* A 4-bit counter that reaches this stays there. */
#define BLOOMEXP_COUNTER_MAX 15

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

extern bool bloomexp_probe_contains(const BloomBits *bits, uint64_t hash);
extern int	bloomexp_probe_hits(const BloomBits *bits, const uint64_t *hashes, int n, uint16_t *hits);
extern uint32_t bloomexp_probe_set(const BloomBits *bits, uint64_t hash);
extern void bloomexp_probe_set_many(const BloomBits *bits, const uint64_t *hashes, uint64_t n);
extern uint32_t bloomexp_probe_unset(const BloomBits *bits, uint64_t hash);
extern void bloomexp_probe_merge(const BloomBits *bits, const BloomBits *other);
extern uint64_t bloomexp_probe_count_set(const BloomBits *bits);
extern uint64_t bloomexp_probe_count_merged(const BloomBits *bits, const BloomBits *other);

#endif							/* BLOOMEXP_PROBE_H */
