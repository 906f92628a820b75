/*-------------------------------------------------------------------------
 *
 * sizing.c
 *	  The false positive rate of a layer, and the smallest layer that keeps a
 *	  given rate.
 *
 * The textbook rate (1 - exp(-kn/m))^k is the limit for large m.  For ten items
 * it is too low by a tenth to a third.  See Bose, Guo, Kranakis et al., "On the
 * false-positive rate of Bloom filters", Inf. Process. Lett. 108, 2008, and
 * Christensen, Roginsky, Jimeno, "A new analysis of the false positive rate of a
 * Bloom filter", Inf. Process. Lett. 110, 2010.  All rates below are expectations
 * over independent, uniform probes.
 *
 * Sizes must be the same on every machine.  All arithmetic is in IEEE doubles with
 * functions of libm such as exp and log, and sizes are rounded up to whole words.  So a
 * difference in the last bits between implementations of libm changes a size only if the
 * rate of a candidate equals the target to those bits.
 *
 *-------------------------------------------------------------------------
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernel/sizing.h"

#if FLT_EVAL_METHOD == 2 || FLT_EVAL_METHOD < 0
#error "double arithmetic must not be wider than double: on 32-bit x86 -msse2 -mfpmath=sse"
#endif

/*
 * Up to EXACT_ITEMS * k items, the rate of a layer with one block is computed exactly.  For
 * more items, the approximation is within 0.03% of it.
 */
#define EXACT_ITEMS 4

/* Probabilities below this count as 0. */
#define NEGLIGIBLE 1e-290

/*
 * The sum over the number of items in a block extends POISSON_RANGE standard deviations to
 * both sides, with POISSON_TERMS terms per standard deviation.  The terms follow a bell
 * curve, so every n-th of them gives the sum to ten digits.
 */
#define POISSON_RANGE 7.0
#define POISSON_TERMS 1.5

/*
 * Return the exact rate of a classic filter of m bits after `throws` probes, k per item:
 * the probability that k more probes find their bits set.
 *
 * The order of the probes does not matter, so the k probes of the lookup come first.
 * They hit j distinct bits with probability chance[j].  Then each probe of an item hits
 * one of the r bits that are still unset with probability r/m.  The result is the
 * probability that none is left, r = 0.  All terms are positive, so nothing cancels, as
 * it would in the closed form with Stirling numbers.
 */
static double
exact_fpr(double m, int k, int throws)
{
	double		chance[BLOOMEXP_MAX_HASHES + 2] = {1.0};
	double		misses[BLOOMEXP_MAX_HASHES + 1];
	double		hits[BLOOMEXP_MAX_HASHES + 1];

	for (int probe = 0; probe < k; probe++)
	{
		for (int j = probe + 1; j > 0; j--)
			chance[j] = chance[j] * (j / m) + chance[j - 1] * ((m - j + 1) / m);
		chance[0] = 0.0;
	}

	/* outside of the loop, because divisions would take most of the time */
	for (int r = 0; r <= k; r++)
	{
		misses[r] = 1.0 - r / m;
		hits[r] = (r + 1) / m;
	}
	for (int i = 0; i < throws; i++)
	{
		for (int r = 0; r <= k; r++)
			chance[r] = chance[r] * misses[r] + chance[r + 1] * hits[r];
		/* denormal numbers are slow, and nothing depends on them */
		while (k > 0 && chance[k] < NEGLIGIBLE)
			chance[k--] = 0.0;
	}

	return chance[0];
}

/*
 * Return the approximate rate of a classic filter of m bits after `throws` probes.
 *
 * The rate is E[F^k], where F is the share of bits set.  Its mean and variance are those
 * of the classical occupancy problem, `throws` balls in m boxes, and F is taken as
 * log-normal.  This agrees with the Taylor series about the mean to the second order,
 * and errs on the safe side for large k, where the series is too low: by 8% for blocks
 * at 1e-9.
 */
static double
classic_fpr(double m, double k, double throws)
{
	double		empty = exp(throws * log1p(-1.0 / m));	/* P(a bit is unset) */
	/* P(two bits are unset) - P(a bit is unset)^2, without cancellation */
	double		covariance = empty * empty *
		expm1(throws * log1p(-1.0 / ((m - 1.0) * (m - 1.0))));
	double		mean = 1.0 - empty;
	double		variance = covariance * (1.0 - 1.0 / m) + empty * (1.0 - empty) / m;

	if (mean <= 0.0)
		return 0.0;
	return fmin(1.0, pow(mean, k) * exp(k * (k - 1.0) / 2.0 * variance / (mean * mean)));
}

/*
 * Return the rate of a layer of many blocks of m bits, with `items` items per block on
 * average.
 *
 * The number of items in a block is a Poisson variable, so the rate is a Poisson mean of
 * classic rates.  See Putze, Sanders, Singler, "Cache-, hash- and space-efficient Bloom
 * filters", J. Exp. Algorithmics 14, 2009, section 3.  The rate of a block grows with the
 * k-th power of its fill, so blocks with up to k items more than the mean dominate.
 */
static double
blocked_fpr(double m, double k, double items)
{
	double		step = fmax(1.0, floor(sqrt(items) / POISSON_TERMS));
	double		first = fmax(0.0, floor(items - POISSON_RANGE * sqrt(items)));
	double		last = ceil(items + k + POISSON_RANGE * sqrt(items + k));
	double		sum = 0.0;

	if (items <= 0.0)
		return 0.0;
	for (double n = first; n <= last; n += step)
		sum += exp(n * log(items) - items - lgamma(n + 1.0)) * classic_fpr(m, k, n * k);
	return fmin(1.0, sum * step);
}

/* Return the textbook rate, (1 - exp(-kn/m))^k. */
static double
textbook_fpr(const BloomShape *shape, double items)
{
	double		k = shape->hashes;

	return pow(-expm1(-k * items / (double) bloomexp_sizing_bits(shape)), k);
}

/* Return the probes per position, kn/m, at which the textbook rate is `fpr`. */
static double
textbook_load(double fpr, uint32_t k)
{
	return -log1p(-pow(fpr, 1.0 / k));
}

/*
 * Return the number of items at which the textbook rate is `fpr`.  The expected rate is higher,
 * so fewer items reach it.
 */
double
bloomexp_sizing_textbook_items(const BloomShape *shape, double fpr)
{
	return textbook_load(fpr, shape->hashes) * (double) bloomexp_sizing_bits(shape) / shape->hashes;
}

/* Return the expected rate of a layer with `items` distinct items. */
double
bloomexp_sizing_expected_fpr(const BloomShape *shape, double items)
{
	double		throws = items * shape->hashes;

	if (shape->blocks > 1)
		return blocked_fpr(shape->block_bits, shape->hashes, items / shape->blocks);
	if (items <= EXACT_ITEMS * (double) shape->hashes)
		return exact_fpr(shape->block_bits, shape->hashes, (int) throws);
	return classic_fpr(shape->block_bits, shape->hashes, throws);
}

/* Return how many of `offered` distinct items are expected to be false positives when added. */
static double
absorbed_items(const BloomShape *shape, double offered)
{
	const int	steps = 8;		/* of Simpson's rule */
	double		sum = 0.0;

	for (int i = 0; i <= steps; i++)
	{
		double		weight = i == 0 || i == steps ? 1.0 : (i % 2 == 1 ? 4.0 : 2.0);

		sum += weight * textbook_fpr(shape, offered * i / steps);
	}
	return sum * offered / steps / 3.0;
}

/*
 * Return an estimate of how many distinct items were offered to a layer, one by one, until
 * `items` of them had changed a bit.  The others were false positives, at the rate that the
 * layer had when they came.
 *
 * Newton's method approaches the result from below.  It stops where nearly every item is a
 * false positive, because then any number of items can have been offered.
 */
double
bloomexp_sizing_offered_items(const BloomShape *shape, double items)
{
	double		offered = items;

	for (int round = 0; round < 100; round++)
	{
		double		missing = items + absorbed_items(shape, offered) - offered;
		double		misses = 1.0 - textbook_fpr(shape, offered);

		if (missing < 1e-12 * items || misses < 1e-9)
			break;
		offered += missing / misses;
	}
	return offered;
}

/*
 * Return an estimate of the distinct items in a layer with `bits_set` bits set: the number of
 * items that are expected to set as many bits.  See Swamidass, Baldi, "Mathematical correction
 * for fingerprint similarity measures", J. Chem. Inf. Model. 47, 2007, equation 1, here with
 * ln(1 - 1/m) in place of -1/m.
 *
 * A layer whose bits are all set can have any number of items.  Then half a bit counts as unset.
 */
double
bloomexp_sizing_estimate_items(const BloomShape *shape, uint64_t bits_set)
{
	double		m = (double) bloomexp_sizing_bits(shape);
	double		unset = fmax(m - (double) bits_set, 0.5) / m;
	double		b = shape->block_bits;

	if (shape->blocks > 1)
		return shape->blocks * log(unset) / expm1(shape->hashes * log1p(-1.0 / b));
	return log(unset) / (shape->hashes * log1p(-1.0 / b));
}

/*
 * Return an upper bound on the distinct items in a layer with `bits_set` bits set.  It is wrong
 * with probability 1e-19.
 *
 * By Chernoff's bound, N items leave u or more of m positions unset with probability
 * (e l / u)^u at most, where l = m exp(-kN/m) is the expected number.  The result is the N for
 * which this is e^-44.  If no position is unset, half a position counts as unset.
 */
double
bloomexp_sizing_most_items(const BloomShape *shape, uint64_t bits_set)
{
	double		m = (double) bloomexp_sizing_bits(shape);
	double		unset = fmax(m - (double) bits_set, 0.5);

	return m / shape->hashes * (log(m / unset) + 1.0 + 44.0 / unset);
}

/*
 * Return the rate of a layer with `bits_set` bits set.  For one block this is exact: the share
 * of bits set to the power of k.  For more blocks it follows from the estimate of the items.
 */
double
bloomexp_sizing_current_fpr(const BloomShape *shape, uint64_t bits_set)
{
	if (shape->blocks > 1)
		return bloomexp_sizing_expected_fpr(shape, bloomexp_sizing_estimate_items(shape, bits_set));
	return pow((double) bits_set / (double) bloomexp_sizing_bits(shape), shape->hashes);
}

/* Return the smallest shape of at least `words` words that divides into equal blocks. */
static BloomShape
round_to_blocks(uint32_t words, uint32_t hashes)
{
	BloomShape	shape = bloomexp_sizing_shape(words, hashes);
	uint32_t	block_words = (words + shape.blocks - 1) / shape.blocks;

	return bloomexp_sizing_shape(block_words * shape.blocks, hashes);
}

/*
 * Find the fewest probes, from `first` to `last`, with which a layer of at least `words` words
 * keeps `fpr` for `items` items.  Sets *shape, or returns false if there are none.
 */
static bool
find_probes(double words, double items, double fpr, uint32_t first, uint32_t last,
			BloomShape *shape)
{
	for (uint32_t k = first; k <= last; k++)
	{
		BloomShape	candidate = round_to_blocks((uint32_t) words, k);

		/* the textbook rate is lower, and faster to compute, so it is tested first */
		if (textbook_fpr(&candidate, items) <= fpr &&
			bloomexp_sizing_expected_fpr(&candidate, items) <= fpr)
		{
			*shape = candidate;
			return true;
		}
	}
	return false;
}

/*
 * Find the smallest shape that keeps `fpr` for `items` items.  Returns false if it would have
 * too many words.
 *
 * A layer with more words has a lower rate, so bisection finds the smallest.  There are two
 * exceptions.  The smallest layers with blocks have a higher rate than the largest layer without,
 * so that one is tried first.  And where a layer gets one more block, all its blocks become
 * smaller, so the largest layer with one block fewer is tried at the end.
 */
static bool
find_size(double items, double fpr, BloomShape *shape)
{
	/* the textbook's optimum for the number of probes, and its neighbours */
	double		best = -log2(fpr);
	uint32_t	first = (uint32_t) fmax(1.0, fmin(BLOOMEXP_MAX_HASHES, floor(best) - 1.0));
	uint32_t	last = (uint32_t) fmin(BLOOMEXP_MAX_HASHES, ceil(best) + 1.0);
	bool		one_block = find_probes(BLOOMEXP_BLOCKED_FROM, items, fpr, first, last, shape);
	double		limit = BLOOMEXP_BLOCKED_FROM;
	double		textbook;
	double		too_few;
	double		enough;
	bool		found = false;

	if (!one_block)
		limit = BLOOMEXP_MAX_WORDS - BLOOMEXP_BLOCK_WORDS;

	/* the textbook's number of words is a lower bound, and close */
	textbook = limit + 1.0;
	for (uint32_t k = first; k <= last; k++)
		textbook = fmin(textbook, ceil(k * items / textbook_load(fpr, k) / 64.0));
	too_few = fmax(one_block ? 0.0 : BLOOMEXP_BLOCKED_FROM, textbook - 1.0);
	enough = too_few;
	for (double step = ceil(textbook / 256.0); !found; step *= 2.0)
	{
		if (too_few >= limit)
			return false;
		enough = fmin(too_few + step, limit);
		found = find_probes(enough, items, fpr, first, last, shape);
		if (!found)
			too_few = enough;
	}
	while (enough - too_few > 1.0)
	{
		double		middle = floor((too_few + enough) / 2.0);

		if (find_probes(middle, items, fpr, first, last, shape))
			enough = middle;
		else
			too_few = middle;
	}
	enough = (shape->blocks - 1.0) * BLOOMEXP_BLOCK_WORDS;
	if (enough > BLOOMEXP_BLOCKED_FROM)
		find_probes(enough, items, fpr, first, last, shape);

	/* a tiny layer may keep the rate even with fewer probes */
	do
		first = last = shape->hashes - 1;
	while (last > 0 && find_probes(shape->words, items, fpr, first, last, shape));
	return true;
}

/*
 * Find the smallest layer whose expected rate with `items` distinct items is at most `fpr`,
 * and of equally small layers the one with the fewest probes.  Returns false if it would have
 * more than max_words words.
 *
 * Results are cached, because an aggregate over a million small groups needs the same few
 * sizes again and again.
 */
bool
bloomexp_sizing_fit(double items, double fpr, uint32_t max_words, BloomShape *shape)
{
	static struct
	{
		double		items;
		double		fpr;
		BloomShape	shape;
	}			cache[1024];
	uint64_t	mixed = (uint64_t) items;
	uint64_t	image;
	uint32_t	slot;

	memcpy(&image, &fpr, sizeof(image));
	mixed = (mixed ^ image) * UINT64_C(0x9E3779B97F4A7C15);
	slot = (uint32_t) (mixed >> 54);

	if (cache[slot].items != items || cache[slot].fpr != fpr)
	{
		BloomShape	found;

		if (!find_size(items, fpr, &found))
			return false;
		cache[slot].items = items;
		cache[slot].fpr = fpr;
		cache[slot].shape = found;
	}
	*shape = cache[slot].shape;
	return shape->words <= max_words;
}

/* Return the largest number of items that a layer of max_words words can hold at `fpr`. */
uint64_t
bloomexp_sizing_max_items(double fpr, uint32_t max_words)
{
	uint64_t	fits = 0;
	uint64_t	too_many = UINT64_C(1) << 32;	/* a header counts up to 2^32 - 1 */
	BloomShape	shape;

	while (too_many - fits > 1)
	{
		uint64_t	middle = fits + (too_many - fits) / 2;

		if (bloomexp_sizing_fit((double) middle, fpr, max_words, &shape))
			fits = middle;
		else
			too_many = middle;
	}
	return fits;
}
