/*-------------------------------------------------------------------------
 *
 * probe.h
 *	  A layer in memory: to set, test and count the positions of items.
 *
 * Knows the shape of a layer and nothing of PostgreSQL.  An item is its 64-bit hash here.
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

extern bool bloomexp_probe_contains(const BloomBits *bits, uint64_t hash);
extern int	bloomexp_probe_hits(const BloomBits *bits, const uint64_t *hashes, int n,
								uint16_t *hits);
extern uint32_t bloomexp_probe_set(const BloomBits *bits, uint64_t hash);
extern uint32_t bloomexp_probe_count(const BloomBits *bits, uint64_t hash, int delta);
extern void bloomexp_probe_set_many(const BloomBits *bits, const uint64_t *hashes, uint64_t n);
extern void bloomexp_probe_merge(const BloomBits *bits, const BloomBits *other);
extern uint64_t bloomexp_probe_count_set(const BloomBits *bits);

#endif							/* BLOOMEXP_PROBE_H */
