/*-------------------------------------------------------------------------
 *
 * probe.c
 *	  The kernels do what doc/internals/format.md says, to the bit.
 *
 * A second implementation, written from that document alone and with no thought
 * of speed, is the judge.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "kernel/batch.h"
#include "kernel/probe.h"
#include "tap.h"

#define MAX_K 20

/* Shapes by their words: tiny, odd, the last of one block, blocked. */
static const uint32_t sizes[] = {1, 2, 3, 7, 64, 545, 4096, 4097, 4114, 6250, 100000};

#define NSIZES (sizeof(sizes) / sizeof(sizes[0]))

/* Floor of a * b / 2^64, by long multiplication. */
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

/* The positions of an item with hash x in a layer of so many words. */
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

/* The counter at a position, or its bit as 0 or 1. */
static uint32_t
naive_get(const uint8_t *bytes, bool counting, uint64_t position)
{
	if (counting)
		return position % 2 == 0 ? bytes[position / 2] & 15 : bytes[position / 2] >> 4;
	return bytes[position / 8] >> (position % 8) & 1;
}

/* Add an item; returns how many positions were newly set. */
static uint32_t
naive_set(uint8_t *bytes, bool counting, uint32_t words, uint32_t hashes, uint64_t x)
{
	uint64_t	positions[BLOOMEXP_MAX_HASHES];
	uint32_t	newly_set = 0;

	naive_positions(words, hashes, x, positions);
	for (uint32_t i = 0; i < hashes; i++)
	{
		uint64_t	position = positions[i];
		uint32_t	old = naive_get(bytes, counting, position);

		newly_set += old == 0;
		if (!counting && old == 0)
			bytes[position / 8] += 1 << position % 8;
		else if (counting && old < 15)
			bytes[position / 2] += position % 2 == 0 ? 1 : 16;
	}
	return newly_set;
}

/* Take an item away; counters of 15 stay.  Returns how many positions are newly unset. */
static uint32_t
naive_unset(uint8_t *bytes, uint32_t words, uint32_t hashes, uint64_t x)
{
	uint64_t	positions[BLOOMEXP_MAX_HASHES];
	uint32_t	newly_unset = 0;

	naive_positions(words, hashes, x, positions);
	for (uint32_t i = 0; i < hashes; i++)
	{
		uint32_t	old = naive_get(bytes, true, positions[i]);

		if (old > 0 && old < 15)
			bytes[positions[i] / 2] -= positions[i] % 2 == 0 ? 1 : 16;
		newly_unset += old == 1;
	}
	return newly_unset;
}

static bool
naive_probe(const uint8_t *bytes, bool counting, uint32_t words, uint32_t hashes, uint64_t x)
{
	uint64_t	positions[BLOOMEXP_MAX_HASHES];

	naive_positions(words, hashes, x, positions);
	for (uint32_t i = 0; i < hashes; i++)
	{
		if (naive_get(bytes, counting, positions[i]) == 0)
			return false;
	}
	return true;
}

static uint64_t
naive_count(const uint8_t *bytes, bool counting, uint32_t words)
{
	uint64_t	count = 0;

	for (uint64_t i = 0; i < 64 * (uint64_t) words; i++)
		count += naive_get(bytes, counting, i) != 0;
	return count;
}

/*
 * A layer without items.  Its memory ends where the layer ends, so that a
 * sanitizer sees a step too far.
 */
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

/* Items that leave about half of the positions set, but no more than 5,000. */
static int
half_full(uint32_t words, uint32_t hashes)
{
	uint64_t	items = 44 * (uint64_t) words / hashes + 1;

	return items < 5000 ? (int) items : 5000;
}

/* Hashes at the ends of the range, where a product might overflow. */
static uint64_t
edge_hash(int i)
{
	const uint64_t edges[] = {0, 1, UINT64_MAX, UINT64_C(1) << 63, UINT32_MAX, UINT64_C(1) << 32};

	return i < (int) (sizeof(edges) / sizeof(edges[0])) ? edges[i] : random64();
}

/* Copy one block of a layer to another of its shape. */
static void
copy_block(const BloomBits *to, const BloomBits *from, uint32_t block)
{
	uint64_t	size = bloomexp_probe_block_bytes(from);

	memcpy(to->bytes + block * size, from->bytes + block * size, size);
}

/* Set and probe against the naive implementation; every k, in one shape. */
static void
test_set(uint32_t words, bool counting)
{
	int			wrong_news = 0;
	int			wrong_bytes = 0;
	int			wrong_probes = 0;
	int			wrong_counts = 0;
	int			lost = 0;

	for (uint32_t k = 1; k <= MAX_K; k++)
	{
		BloomBits	bits = new_bits(words, k, counting);
		BloomBits	naive = new_bits(words, k, counting);
		BloomBits	sparse = new_bits(words, k, counting);
		uint64_t	size = bloomexp_probe_bytes(words, counting);
		int			items = half_full(words, k);
		uint64_t	set = 0;
		uint64_t   *hashes = malloc((size_t) items * sizeof(uint64_t));

		for (int i = 0; i < items; i++)
		{
			uint32_t	newly_set;

			hashes[i] = edge_hash(i);
			newly_set = bloomexp_probe_set(&bits, hashes[i]);
			set += newly_set;
			wrong_news += newly_set != naive_set(naive.bytes, counting, words, k, hashes[i]);
		}
		wrong_bytes += memcmp(bits.bytes, naive.bytes, size) != 0;
		wrong_counts += bloomexp_probe_count_set(&bits) != set;
		wrong_counts += naive_count(bits.bytes, counting, words) != set;

		for (int i = 0; i < items; i++)
		{
			uint64_t	other = random64();
			bool		contained = naive_probe(bits.bytes, counting, words, k, other);

			lost += !bloomexp_probe_contains(&bits, hashes[i]);
			wrong_probes += bloomexp_probe_contains(&bits, other) != contained;

			/* only the item's block matters */
			if (i >= 20)
				continue;
			memset(sparse.bytes, i % 2 ? 0xff : 0, size);
			copy_block(&sparse, &bits, bloomexp_probe_block_of(&bits.shape, other));
			wrong_probes += bloomexp_probe_contains(&sparse, other) != contained;
		}
		free(hashes);
		free(bits.bytes);
		free(naive.bytes);
		free(sparse.bytes);
	}
	ok(wrong_news + wrong_bytes + wrong_probes + wrong_counts + lost == 0,
	   "set and probe, %u words%s", words, counting ? ", counting" : "");
	if (wrong_news + wrong_bytes + wrong_probes + wrong_counts + lost > 0)
		note("wrong: newly set %d, bytes %d, probes %d, counts %d; lost items %d",
			 wrong_news, wrong_bytes, wrong_probes, wrong_counts, lost);
}

/* The batch kernel against the naive implementation, on picks of all kinds. */
static void
test_hits(uint32_t words, bool counting)
{
	static const int lengths[] = {0, 1, 2, 3, 17, 511, BLOOMEXP_BATCH};
	int			wrong = 0;

	for (uint32_t k = 1; k <= MAX_K; k++)
	{
		BloomBits	bits = new_bits(words, k, counting);
		int			items = half_full(words, k);
		uint64_t	hashes[BLOOMEXP_BATCH];

		/* every second candidate is contained, as long as there are items */
		for (int i = 0; i < BLOOMEXP_BATCH; i++)
			hashes[i] = edge_hash(i);
		for (int i = 0; i < items; i++)
			bloomexp_probe_set(&bits, 2 * i < BLOOMEXP_BATCH ? hashes[2 * i] : random64());

		for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		{
			uint64_t	asked[BLOOMEXP_BATCH];
			uint16_t	hits[BLOOMEXP_BATCH];
			int			nasked = 0;
			int			nhits;
			int			seen = 0;

			/* the first of all, or any of them */
			for (int j = 0; nasked < lengths[i]; j++)
			{
				if (k % 2 == 0 ||
					random_below(BLOOMEXP_BATCH - j) < (uint64_t) (lengths[i] - nasked))
					asked[nasked++] = hashes[j];
			}
			nhits = bloomexp_probe_hits(&bits, asked, nasked, hits);
			for (int j = 0; j < nasked; j++)
			{
				bool		hit = seen < nhits && hits[seen] == j;

				wrong += hit != naive_probe(bits.bytes, counting, words, k, asked[j]);
				seen += hit;
			}
			wrong += seen != nhits;
		}
		free(bits.bytes);
	}
	ok(wrong == 0, "batches, %u words%s (%d wrong)", words, counting ? ", counting" : "", wrong);
}

/* A counter stays at 15, and leaves its neighbour alone. */
static void
test_saturation(void)
{
	BloomBits	bits = new_bits(1, 1, true);
	uint64_t	position;
	uint64_t	neighbour;
	int			wrong = 0;

	naive_positions(1, 1, 42, &position);
	neighbour = position ^ 1;
	for (uint32_t i = 1; i <= 40; i++)
	{
		wrong += bloomexp_probe_set(&bits, 42) != (i == 1);
		wrong += naive_get(bits.bytes, true, position) != (i < 15 ? i : 15);
		wrong += naive_get(bits.bytes, true, neighbour) != 0;
	}
	wrong += bloomexp_probe_count_set(&bits) != 1;
	ok(wrong == 0, "a counter counts to 15 and stays there");
	free(bits.bytes);

	/* 20 probes of one item into 64 positions: some fall into one place */
	bits = new_bits(1, MAX_K, true);
	wrong = 0;
	for (int i = 0; i < 1000; i++)
	{
		uint32_t	sum = 0;

		memset(bits.bytes, 0, 32);
		bloomexp_probe_set(&bits, random64());
		for (uint64_t j = 0; j < 64; j++)
			sum += naive_get(bits.bytes, true, j);
		wrong += sum != MAX_K;
	}
	ok(wrong == 0, "every probe of an item is counted");
	free(bits.bytes);
}

/* Items leave a counting layer as they came, all but the saturated counters. */
static void
test_unset(uint32_t words)
{
	int			wrong = 0;

	for (uint32_t k = 1; k <= MAX_K; k++)
	{
		BloomBits	bits = new_bits(words, k, true);
		BloomBits	naive = new_bits(words, k, true);
		int			items = half_full(words, k) * (k % 2 == 0 ? 1 : 12);
		uint64_t	size = bloomexp_probe_bytes(words, true);
		uint64_t   *hashes = malloc((size_t) items * sizeof(uint64_t));
		uint64_t	left;

		for (int i = 0; i < items; i++)
		{
			hashes[i] = edge_hash(i);
			bloomexp_probe_set(&bits, hashes[i]);
		}
		memcpy(naive.bytes, bits.bytes, size);
		left = bloomexp_probe_count_set(&bits);
		for (int i = 0; i < items; i++)
		{
			uint32_t	newly_unset = bloomexp_probe_unset(&bits, hashes[i]);

			left -= newly_unset;
			wrong += newly_unset != naive_unset(naive.bytes, words, k, hashes[i]);
		}
		wrong += memcmp(bits.bytes, naive.bytes, size) != 0;
		wrong += bloomexp_probe_count_set(&bits) != left;
		for (uint64_t i = 0; i < 64 * (uint64_t) words; i++)
		{
			uint32_t	counter = naive_get(bits.bytes, true, i);

			wrong += counter != 0 && counter != BLOOMEXP_COUNTER_MAX;
		}
		free(hashes);
		free(bits.bytes);
		free(naive.bytes);
	}
	ok(wrong == 0, "removal, %u words (%d wrong)", words, wrong);
}

/*
 * A merged layer holds what either held: the sums of counters, as far as 15.  How
 * many positions are set then is known before.
 */
static void
test_merge(bool counting)
{
	int			wrong = 0;

	for (int i = 0; i < 100; i++)
	{
		uint32_t	words = 1 + random_below(40);
		BloomBits	a = new_bits(words, 1, counting);
		BloomBits	b = new_bits(words, 1, counting);
		BloomBits	before = new_bits(words, 1, counting);
		uint64_t	size = bloomexp_probe_bytes(words, counting);
		uint64_t	merged;

		for (uint64_t j = 0; j < size; j++)
		{
			a.bytes[j] = before.bytes[j] = (uint8_t) (random64() & random64());
			b.bytes[j] = (uint8_t) (random64() & random64());
		}
		merged = bloomexp_probe_count_merged(&a, &b);
		bloomexp_probe_merge(&a, &b);
		wrong += merged != naive_count(a.bytes, counting, words);
		for (uint64_t j = 0; j < 64 * (uint64_t) words; j++)
		{
			uint32_t	sum = naive_get(before.bytes, counting, j) + naive_get(b.bytes, counting, j);
			uint32_t	most = counting ? 15 : 1;

			wrong += naive_get(a.bytes, counting, j) != (sum < most ? sum : most);
		}
		free(a.bytes);
		free(b.bytes);
		free(before.bytes);
	}
	ok(wrong == 0, "merging%s (%d wrong)", counting ? ", counting" : "", wrong);
}

static void
test_count_set(void)
{
	int			wrong = 0;

	for (int i = 0; i < 2000; i++)
	{
		bool		counting = i % 2 == 1;
		BloomBits	bits = new_bits(1 + random_below(40), 1, counting);
		uint64_t	size = bloomexp_probe_bytes(bits.shape.words, counting);
		int			density = i / 2 % 4;

		/* random bytes, sparse ones, full ones, each with runs of nothing */
		for (uint64_t j = 0; j < size; j++)
			bits.bytes[j] = (uint8_t) (density == 0 ? random64() :
									   density == 1 ? random64() & random64() & random64() :
									   density == 2 ? 0xff :
									   random64() % 2 ? 0xff : 0);
		wrong += bloomexp_probe_count_set(&bits) != naive_count(bits.bytes, counting, bits.shape.words);
		free(bits.bytes);
	}
	ok(wrong == 0, "count of set positions (%d of 2000 wrong)", wrong);
}

/* The shapes are those of doc/internals/format.md, "Blocks". */
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
			uint64_t	x = edge_hash(i);

			wrong += bloomexp_probe_block_of(&shape, x) != (blocks == 1 ? 0 : high_product(x, blocks));
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
		test_set(sizes[i], false);
		test_set(sizes[i], true);
		test_hits(sizes[i], false);
		test_hits(sizes[i], true);
		test_unset(sizes[i]);
	}
	test_saturation();
	test_merge(false);
	test_merge(true);
	test_count_set();
	return done_testing();
}
