/*-------------------------------------------------------------------------
 *
 * probe.h
 *	  A layer in memory: setting, testing and counting the positions of items.
 *
 * An item is its 64-bit hash here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_PROBE_H
#define BLOOMEXP_PROBE_H

#include "kernel/sizing.h"

/*
 * The most items that are hashed and probed together.  They fit in the L1 cache, and are enough
 * to make each step a loop of its own, in which no item depends on another.
 */
#define BLOOMEXP_BATCH 512

/* The positions of a layer, or of one block of it. */
typedef struct BloomBits
{
	BloomShape	shape;
	bool		counting;		/* each position is a counter of 4 bits, not a bit */
	uint8_t    *bytes;
} BloomBits;

/* Return the size of the positions of a layer, in bytes. */
static inline uint64_t
bloomexp_probe_bytes(uint64_t words, bool counting)
{
	return words * (counting ? 32 : 8);
}

/* Return the size of one block, in bytes. */
static inline uint64_t
bloomexp_probe_block_bytes(const BloomBits *bits)
{
	return bloomexp_probe_bytes(bits->shape.block_bits / 64, bits->counting);
}

extern bool bloomexp_probe_contains(const BloomBits *bits, uint64_t hash);
extern int bloomexp_probe_hits(const BloomBits *bits, const uint64_t *hashes, int n,
							   uint16_t *hits);
extern uint32_t bloomexp_probe_set(const BloomBits *bits, uint64_t hash);
extern uint32_t bloomexp_probe_count(const BloomBits *bits, uint64_t hash, int delta);
extern void bloomexp_probe_set_many(const BloomBits *bits, const uint64_t *hashes, uint64_t n);
extern void bloomexp_probe_merge(const BloomBits *bits, const BloomBits *other);
extern uint64_t bloomexp_probe_count_set(const BloomBits *bits);

#endif							/* BLOOMEXP_PROBE_H */
