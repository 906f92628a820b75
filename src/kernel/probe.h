/*-------------------------------------------------------------------------
 *
 * probe.h
 *	  A layer in memory: to set, test and count the positions of items.
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
 * Items that are hashed and probed together.  Small enough for L1, large enough
 * that each step is its own loop without dependencies between items.
 */
#define BLOOMEXP_BATCH 512

/* Items or bytes that a loop may process between two checks for a cancel. */
#define BLOOMEXP_INTERRUPT_EVERY 65536

/* The positions of a layer. */
typedef struct BloomBits
{
	BloomShape	shape;
	bool		counting;		/* a position is a counter of 4 bits, not a bit */
	uint8_t    *bytes;
} BloomBits;

/* Bytes that the positions of a layer take. */
static inline uint64_t
bloomexp_probe_bytes(uint64_t words, bool counting)
{
	return words * (counting ? 32 : 8);
}

/* Bytes of one block. */
static inline uint64_t
bloomexp_probe_block_bytes(const BloomBits *bits)
{
	return bloomexp_probe_bytes(bits->shape.block_bits / 64, bits->counting);
}

/* Number of the block into which all probes of an item fall. */
static inline uint32_t
bloomexp_probe_block_of(const BloomShape *shape, uint64_t hash)
{
	/* the high word of hash * blocks, as 32-bit halves: blocks is small */
	uint64_t	low = (hash & UINT32_MAX) * shape->blocks;

	return (uint32_t) (((hash >> 32) * shape->blocks + (low >> 32)) >> 32);
}

extern bool bloomexp_probe_contains(const BloomBits *bits, uint64_t hash);
extern int	bloomexp_probe_hits(const BloomBits *bits, const uint64_t *hashes, int n, uint16_t *hits);
extern uint32_t bloomexp_probe_set(const BloomBits *bits, uint64_t hash);
extern uint32_t bloomexp_probe_count(const BloomBits *bits, uint64_t hash, int times);
extern void bloomexp_probe_set_many(const BloomBits *bits, const uint64_t *hashes, uint64_t n);
extern void bloomexp_probe_merge(const BloomBits *bits, const BloomBits *other);
extern uint64_t bloomexp_probe_count_set(const BloomBits *bits);

#endif							/* BLOOMEXP_PROBE_H */
