/*-------------------------------------------------------------------------
 *
 * sizing.h
 *	  The size of a layer for n items at false positive rate p, and the number of
 *	  items and the rate that follow from the bits of a layer.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_SIZING_H
#define BLOOMEXP_SIZING_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The most 64-bit words and probes of a layer.  The stored layer header has 26 bits
 * for the words and 6 for the probes.
 */
#define BLOOMEXP_MAX_WORDS	((UINT32_C(1) << 26) - 1)
#define BLOOMEXP_MAX_HASHES 63

/*
 * A layer of more than BLOCKED_FROM words is divided into equal blocks of at most
 * BLOCK_WORDS words: 2,000 bytes, about one TOAST chunk.
 */
#define BLOOMEXP_BLOCKED_FROM 4096
#define BLOOMEXP_BLOCK_WORDS 250

/* The shape of a layer: `blocks` equal blocks of `block_bits` positions each. */
typedef struct BloomShape
{
	uint32_t	words;			/* all positions / 64 */
	uint32_t	blocks;			/* 1 is the classic Bloom filter */
	uint32_t	block_bits;		/* positions per block, a multiple of 64 */
	uint32_t	hashes;			/* probes per item: k */
} BloomShape;

/* Return the shape of a layer with these words and hashes.  See BLOOMEXP_BLOCKED_FROM. */
static inline BloomShape
bloomexp_sizing_shape(uint32_t words, uint32_t hashes)
{
	BloomShape	shape;

	shape.words = words;
	shape.hashes = hashes;
	shape.blocks = 1;
	if (words > BLOOMEXP_BLOCKED_FROM)
		shape.blocks = (words + BLOOMEXP_BLOCK_WORDS - 1) / BLOOMEXP_BLOCK_WORDS;
	shape.block_bits = words / shape.blocks * 64;
	return shape;
}

/* Return the number of positions of a layer: the m of the literature. */
static inline uint64_t
bloomexp_sizing_bits(const BloomShape *shape)
{
	return (uint64_t) shape->words * 64;
}

extern double bloomexp_sizing_textbook_items(const BloomShape *shape, double fpr);
extern double bloomexp_sizing_expected_fpr(const BloomShape *shape, double items);
extern double bloomexp_sizing_offered_items(const BloomShape *shape, double items);
extern double bloomexp_sizing_current_fpr(const BloomShape *shape, uint64_t bits_set);
extern double bloomexp_sizing_estimate_items(const BloomShape *shape, uint64_t bits_set);
extern double bloomexp_sizing_most_items(const BloomShape *shape, uint64_t bits_set);
extern bool bloomexp_sizing_fit(double items, double fpr, uint32_t max_words,
								BloomShape *shape);
extern uint64_t bloomexp_sizing_max_items(double fpr, uint32_t max_words);

#endif							/* BLOOMEXP_SIZING_H */
