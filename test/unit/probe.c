/*-------------------------------------------------------------------------
 *
 * probe.c
 *	  Tests that the kernels do what doc/internals/format.md says, to the bit.
 *
 * They are compared with a naive implementation that is written from this document alone.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "kernel/position.h"
#include "kernel/probe.h"
#include "tap.h"

#define MAX_K 20

/* Sizes of layers in words: tiny, odd, the largest of one block, blocked */
static const uint32_t sizes[] = {1, 2, 3, 7, 64, 545, 4096, 4097, 4114, 6250, 100000};

#define NSIZES (sizeof(sizes) / sizeof(sizes[0]))

/* Return floor(a * b / 2^64), by long multiplication. */
static uint64_t
high_product(uint64_t a, uint64_t b)
{
	uint64_t	a1 = a >> 32;
	uint64_t	a0 = a & UINT32_MAX;
	uint64_t	b1 = b >> 32;
	uint64_t	b0 = b & UINT32_MAX;
	uint64_t	middle = a1 * b0 + (a0 * b0 >> 32);

	return a1 * b1 + (middle >> 32) + ((a0 * b1 + (middle & UINT32_MAX)) >> 32);
}

/* Compute the positions of an item with hash x in a layer of `words` words. */
static void
naive_positions(uint32_t words, uint32_t hashes, uint64_t x, uint64_t *positions)
{
	uint64_t	m = 64 * (uint64_t) words;
	uint64_t	blocks = words <= 4096 ? 1 : (words + 249) / 250;
	uint64_t	block_bits = m / blocks;
	uint64_t	block = blocks == 1 ? 0 : high_product(x, blocks);
	uint64_t	c = UINT64_C(0x9E3779B97F4A7C15);
	uint64_t	g = (x + c) * c * (2 * (uint64_t) words + 1);

	for (uint32_t i = 0; i < hashes; i++)
	{
		positions[i] = block * block_bits + (((g >> 32) * block_bits) >> 32);
		g = g * UINT64_C(0xD1342543DE82EF95);
	}
}

/* Return the counter at a position of a layer, or its bit as 0 or 1. */
static uint32_t
get(const BloomBits *bits, uint64_t position)
{
	if (bits->counting)
		return bits->bytes[position / 2] >> (position % 2 * 4) & 15;
	return bits->bytes[position / 8] >> (position % 8) & 1;
}

/* The naive layer: a counter for each position, which stays at `most` once it is there. */
typedef struct Naive
{
	uint32_t	words;
	uint32_t	hashes;
	uint8_t		most;			/* 15, or 1 for bits */
	uint8_t    *counters;
} Naive;

/* Add an item.  Returns the number of positions that were not set before. */
static uint32_t
naive_set(const Naive *naive, uint64_t x)
{
	uint64_t	positions[BLOOMEXP_MAX_HASHES];
	uint32_t	newly_set = 0;

	naive_positions(naive->words, naive->hashes, x, positions);
	for (uint32_t i = 0; i < naive->hashes; i++)
	{
		uint8_t    *counter = &naive->counters[positions[i]];

		newly_set += *counter == 0;
		*counter += *counter < naive->most;
	}
	return newly_set;
}

/* Remove an item.  Returns the number of positions that became 0. */
static uint32_t
naive_unset(const Naive *naive, uint64_t x)
{
	uint64_t	positions[BLOOMEXP_MAX_HASHES];
	uint32_t	newly_unset = 0;

	naive_positions(naive->words, naive->hashes, x, positions);
	for (uint32_t i = 0; i < naive->hashes; i++)
	{
		uint8_t    *counter = &naive->counters[positions[i]];

		newly_unset += *counter == 1;
		*counter -= *counter > 0 && *counter < naive->most;
	}
	return newly_unset;
}

static bool
naive_contains(const Naive *naive, uint64_t x)
{
	uint64_t	positions[BLOOMEXP_MAX_HASHES];

	naive_positions(naive->words, naive->hashes, x, positions);
	for (uint32_t i = 0; i < naive->hashes; i++)
	{
		if (naive->counters[positions[i]] == 0)
			return false;
	}
	return true;
}

/* Return the number of positions that differ from the naive layer, plus 1 if the count does. */
static int
differences(const BloomBits *bits, const Naive *naive)
{
	int			differ = 0;
	uint64_t	count = 0;

	for (uint64_t i = 0; i < 64 * (uint64_t) naive->words; i++)
	{
		differ += get(bits, i) != naive->counters[i];
		count += naive->counters[i] != 0;
	}
	return differ + (bloomexp_probe_count_set(bits) != count);
}

/* Make an empty layer.  Its memory ends with it, so that a sanitizer sees a byte too many. */
static BloomBits
new_bits(uint32_t words, uint32_t hashes, bool counting)
{
	BloomBits	bits = {
		.shape = bloomexp_sizing_shape(words, hashes),
		.counting = counting,
		.bytes = calloc(words, counting ? 32 : 8)
	};

	if (bits.bytes == NULL)
		exit(2);
	return bits;
}

/* Return the number of items that leave half of the positions set, but at most 5,000. */
static int
half_full(uint32_t words, uint32_t hashes)
{
	uint64_t	items = 44 * (uint64_t) words / hashes + 1;

	return items < 5000 ? (int) items : 5000;
}

/* Return the i-th hash of a test: the first ones are those where a product could overflow. */
static uint64_t
edge_hash(int i)
{
	const uint64_t edges[] = {0, 1, UINT64_MAX, UINT64_C(1) << 63, UINT32_MAX, UINT64_C(1) << 32};

	return i < (int) (sizeof(edges) / sizeof(edges[0])) ? edges[i] : random64();
}

/* Test that a lookup reads no other block: all positions of these are set, or none is. */
static int
test_block(const BloomBits *bits, const Naive *naive, uint64_t x)
{
	BloomBits	sparse = new_bits(naive->words, naive->hashes, bits->counting);
	uint64_t	size = bloomexp_probe_block_bytes(bits);
	uint64_t	start = bloomexp_position_block_of(&bits->shape, x) * size;
	int			wrong;

	memset(sparse.bytes, x % 2 ? 0xff : 0, bloomexp_probe_bytes(naive->words, bits->counting));
	memcpy(sparse.bytes + start, bits->bytes + start, size);
	wrong = bloomexp_probe_contains(&sparse, x) != naive_contains(naive, x);
	free(sparse.bytes);
	return wrong;
}

/* Test a batch of n hashes, about half of them items.  Returns the number of wrong answers. */
static int
test_hits(const BloomBits *bits, const Naive *naive, const uint64_t *items, int nitems, int n)
{
	uint64_t	hashes[BLOOMEXP_BATCH] = {0};
	uint16_t	hits[BLOOMEXP_BATCH];
	int			nhits;
	int			seen = 0;
	int			wrong = 0;

	for (int i = 0; i < n; i++)
		hashes[i] = random64() % 2 ? items[random_below((uint32_t) nitems)] : random64();
	nhits = bloomexp_probe_hits(bits, hashes, n, hits);
	for (int i = 0; i < n; i++)
	{
		bool		hit = seen < nhits && hits[seen] == i;

		wrong += hit != naive_contains(naive, hashes[i]);
		seen += hit;
	}
	return wrong + (seen != nhits);
}

/*
 * Add items to a layer, some of them twice, look them and others up, and remove them if the layer
 * counts.  Returns the number of wrong results.
 */
static int
test_layer(uint32_t words, uint32_t k, bool counting)
{
	BloomBits	bits = new_bits(words, k, counting);
	BloomBits	many = new_bits(words, k, counting);
	Naive		naive = {words, k, counting ? 15 : 1, calloc(words, 64)};
	int			n = half_full(words, k) * (counting && k % 2 == 1 ? 12 : 1);
	uint64_t   *items = malloc((size_t) n * sizeof(uint64_t));
	int			wrong = 0;

	for (int i = 0; i < n; i++)
	{
		uint32_t	newly_set;

		items[i] = i % 5 == 4 ? items[random_below((uint32_t) i)] : edge_hash(i);
		newly_set = counting ? bloomexp_probe_count(&bits, items[i], 1) :
			bloomexp_probe_set(&bits, items[i]);
		wrong += newly_set != naive_set(&naive, items[i]);
	}
	wrong += differences(&bits, &naive);
	if (!counting)
	{
		bloomexp_probe_set_many(&many, items, (uint64_t) n);
		wrong += memcmp(many.bytes, bits.bytes, bloomexp_probe_bytes(words, false)) != 0;
	}

	for (int i = 0; i < n; i++)
	{
		uint64_t	other = random64();

		wrong += !bloomexp_probe_contains(&bits, items[i]);
		wrong += bloomexp_probe_contains(&bits, other) != naive_contains(&naive, other);
		wrong += i < 20 && test_block(&bits, &naive, other);
	}
	for (int length = 0; length <= 15; length++)
		wrong += test_hits(&bits, &naive, items, n, length);
	wrong += test_hits(&bits, &naive, items, n, (int) random_below(BLOOMEXP_BATCH));
	wrong += test_hits(&bits, &naive, items, n, BLOOMEXP_BATCH);

	if (counting)
	{
		for (int i = 0; i < n; i++)
			wrong += bloomexp_probe_count(&bits, items[i], -1) != naive_unset(&naive, items[i]);
		wrong += differences(&bits, &naive);
	}
	free(items);
	free(naive.counters);
	free(many.bytes);
	free(bits.bytes);
	return wrong;
}

/* Test that a merged layer has the bits of both layers, or the sums of their counters up to 15. */
static void
test_merge(bool counting)
{
	int			wrong = 0;

	for (int i = 0; i < 400; i++)
	{
		uint32_t	words = 1 + random_below(40);
		BloomBits	a = new_bits(words, 1, counting);
		BloomBits	b = new_bits(words, 1, counting);
		Naive		sum = {words, 1, counting ? 15 : 1, calloc(words, 64)};
		uint64_t	size = bloomexp_probe_bytes(words, counting);

		/* random, sparse and full bytes, in all combinations */
		for (uint64_t j = 0; j < size; j++)
		{
			a.bytes[j] = (uint8_t) (i % 3 == 0 ? random64() : random64() % 2 ? 0xff : 0);
			b.bytes[j] = (uint8_t) (i % 2 == 0 ? random64() & random64() & random64() : 0xff);
		}
		for (uint64_t j = 0; j < 64 * (uint64_t) words; j++)
		{
			uint32_t	both = get(&a, j) + get(&b, j);

			sum.counters[j] = (uint8_t) (both < sum.most ? both : sum.most);
		}
		bloomexp_probe_merge(&a, &b);
		wrong += differences(&a, &sum);
		free(sum.counters);
		free(b.bytes);
		free(a.bytes);
	}
	ok(wrong == 0, "merging and counting%s (%d wrong)", counting ? ", counters" : "", wrong);
}

/* Test that shapes are those of doc/internals/format.md, "Blocks". */
static void
test_blocks(void)
{
	int			wrong = 0;

	for (uint32_t words = 1; words <= BLOOMEXP_MAX_WORDS; words += 1 + words / 100)
	{
		BloomShape	shape = bloomexp_sizing_shape(words, 7);
		uint32_t	blocks = words <= 4096 ? 1 : (words + 249) / 250;

		wrong += shape.words != words || shape.hashes != 7 || shape.blocks != blocks;
		if (words % blocks == 0)
			wrong += shape.block_bits != words * 64 / blocks;
		for (int i = 0; i < 10; i++)
		{
			/* the last hash of the first block, the first hash of the second, and any others */
			uint64_t	x = i < 2 ? UINT64_MAX / blocks + (uint64_t) i : edge_hash(i);

			wrong += bloomexp_position_block_of(&shape, x) !=
				(blocks == 1 ? 0 : high_product(x, blocks));
		}
	}
	ok(wrong == 0, "blocks of a layer and of an item");
}

int
main(void)
{
	test_blocks();
	for (size_t i = 0; i < NSIZES; i++)
	{
		for (int counting = 0; counting <= 1; counting++)
		{
			int			wrong = 0;

			for (uint32_t k = 1; k <= MAX_K; k += sizes[i] < 6250 ? 1 : 6)
				wrong += test_layer(sizes[i], k, counting);
			ok(wrong == 0, "%u words%s (%d wrong)", sizes[i], counting ? ", counting" : "", wrong);
		}
	}
	test_merge(false);
	test_merge(true);
	return done_testing();
}
