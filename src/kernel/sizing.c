/*-------------------------------------------------------------------------
 *
 * sizing.c
 *	  The false positive rate of a layer, exactly where it matters, and the
 *	  smallest layer that keeps a given one.
 *
 * The textbook rate (1 - exp(-kn/m))^k is only the limit for large m: with
 * ten items it is too low by a tenth to a third.  See Bose, Guo, Kranakis et al.,
 * "On the false-positive rate of Bloom filters", Inf. Process. Lett. 108, 2008,
 * and Christensen, Roginsky, Jimeno, "A new analysis of the false positive
 * rate of a Bloom filter", Inf. Process. Lett. 110, 2010.  Both rates below
 * are expectations over independent, uniform probes.
 *
 * The operations are plain IEEE double arithmetic and libm's exp, log and
 * their kin; results are rounded up to whole words of 64 bits, so that the
 * last bits of a libm do not change a layer's size.
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
 * Up to EXACT_ITEMS items for each probe of an item, the rate is computed exactly;
 * beyond, the expansion is within 0.03% of it.
 */
#define EXACT_ITEMS 4

/* Chances below this are 0. */
#define NEGLIGIBLE 1e-290

/*
 * How far the sum over the items in a block goes beyond the mean, in standard
 * deviations, and how many terms it has for each of these.  The terms follow a
 * bell curve, so that every n-th of them gives their sum to ten digits.
 */
#define POISSON_RANGE 7.0
#define POISSON_TERMS 1.5

/*
 * Exact rate of a classic filter of m bits after `throws` probes, k of them
 * an item: the chance that k more probes find their bits set.
 *
 * Throw the k probes of the question first: chance[j] is the probability that
 * they name j distinct bits.  Then let the items' probes rain on those bits:
 * each hits one of the r bits still unset with probability r/m.  What ends at
 * r = 0 is a false positive.  Only sums of positive terms, so nothing cancels,
 * as it would in the closed form with Stirling numbers.
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

	/* once: divisions would take most of the time */
	for (int r = 0; r <= k; r++)
	{
		misses[r] = 1.0 - r / m;
		hits[r] = (r + 1) / m;
	}
	for (int i = 0; i < throws; i++)
	{
		for (int r = 0; r <= k; r++)
			chance[r] = chance[r] * misses[r] + chance[r + 1] * hits[r];
		/* CPUs are slow with numbers so small, and nothing depends on them */
		while (k > 0 && chance[k] < NEGLIGIBLE)
			chance[k--] = 0.0;
	}

	return chance[0];
}

/*
 * Rate of a classic filter of m bits after `throws` probes: occupancy of m boxes by
 * so many balls.
 *
 * It is E[F^k], F being the share of bits set, as if F were log-normal with its mean
 * and variance.  That agrees with the Taylor series about the mean to the second
 * order, and errs to the safe side where k is large: the series alone is too low by
 * 8% for blocks at 1e-9.
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
 * A layer of many blocks of m bits, with `items` items a block on average: their
 * number varies from block to block like a Poisson variable, which is the cost of
 * blocks.  See Putze, Sanders, Singler, "Cache-, hash- and space-efficient Bloom
 * filters", J. Exp. Algorithmics 14, 2009, section 3.
 *
 * The rate grows with the k-th power of the fill, so what counts are blocks with
 * up to k items more than the mean.
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

/* The textbook rate, (1 - exp(-kn/m))^k. */
static double
textbook_fpr(const BloomShape *shape, double items)
{
	double		k = shape->hashes;

	return pow(-expm1(-k * items / (double) bloomexp_sizing_bits(shape)), k);
}

/* The probes a position, kn/m, at which the textbook rate is `fpr`. */
static double
textbook_load(double fpr, uint32_t k)
{
	return -log1p(-pow(fpr, 1.0 / k));
}

/*
 * Return the items at which the textbook rate, which is below the expected one, reaches
 * `fpr`.
 */
double
bloomexp_sizing_textbook_items(const BloomShape *shape, double fpr)
{
	return textbook_load(fpr, shape->hashes) * (double) bloomexp_sizing_bits(shape) / shape->hashes;
}

/* Return the rate to expect of a layer of this shape that holds `items` distinct items. */
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

/* Expected number of `offered` distinct items that were false positives when added. */
static double
absorbed_items(const BloomShape *shape, double offered)
{
	const int	steps = 8;		/* of Simpson's rule */
	double		sum = 0.0;

	for (int i = 0; i <= steps; i++)
	{
		double		weight = i == 0 || i == steps ? 1.0 : i % 2 == 1 ? 4.0 : 2.0;

		sum += weight * textbook_fpr(shape, offered * i / steps);
	}
	return sum * offered / steps / 3.0;
}

/*
 * Estimate how many distinct items were offered to a layer, one by one, until `items` of
 * them changed a bit.  The others were false positives, at the rate that the layer had by
 * then.
 *
 * By Newton's method from below.  A layer that is nearly always a false positive
 * takes no end of items: there it stops.
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
 * Estimate how many distinct items leave `bits_set` of a layer's bits set: the inverse of
 * the expected number.  See Swamidass, Baldi, "Mathematical correction for fingerprint
 * similarity measures", J. Chem. Inf. Model. 47, 2007, equation 1, with ln(1 - 1/m) for its
 * -1/m.
 *
 * A layer with every bit set holds any number of items; it is read as if half
 * a bit were left.
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
 * Return a number of distinct items; more cannot have left only `bits_set` bits set.
 *
 * N items leave u or more of m positions unset with a probability of at most
 * (e l / u)^u, l = m exp(-kN/m) being the expected number (Chernoff's bound).  The
 * result is the N at which that is e^-44, one in 10^19.  No unset position counts
 * as half a one.
 */
double
bloomexp_sizing_most_items(const BloomShape *shape, uint64_t bits_set)
{
	double		m = (double) bloomexp_sizing_bits(shape);
	double		unset = fmax(m - (double) bits_set, 0.5);

	return m / shape->hashes * (log(m / unset) + 1.0 + 44.0 / unset);
}

/*
 * Return the rate of a layer as it stands.  In one block it is known exactly: the share of
 * bits set, to the power of k.
 */
double
bloomexp_sizing_current_fpr(const BloomShape *shape, uint64_t bits_set)
{
	if (shape->blocks > 1)
		return bloomexp_sizing_expected_fpr(shape, bloomexp_sizing_estimate_items(shape, bits_set));
	return pow((double) bits_set / (double) bloomexp_sizing_bits(shape), shape->hashes);
}

/* The smallest shape of at least `words` words that can be cut into equal blocks. */
static BloomShape
round_to_blocks(uint32_t words, uint32_t hashes)
{
	BloomShape	shape = bloomexp_sizing_shape(words, hashes);
	uint32_t	block_words = (words + shape.blocks - 1) / shape.blocks;

	return bloomexp_sizing_shape(block_words * shape.blocks, hashes);
}

/*
 * Tell whether a layer of at least `words` words keeps `fpr` for `items` items, with `first` to
 * `last` probes; if so, *shape is set, with as few of these as possible.
 */
static bool
keeps(double words, double items, double fpr, uint32_t first, uint32_t last, BloomShape *shape)
{
	for (uint32_t k = first; k <= last; k++)
	{
		BloomShape	candidate = round_to_blocks((uint32_t) words, k);

		/* the textbook's rate is below the expected one, and found faster */
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
 * Find the smallest shape that keeps `fpr` for `items` items, by bisection; false if no
 * layer has so many words.
 *
 * More words err less, unless one of them is the first that makes blocks, or makes one more
 * block, so that all blocks get smaller.
 */
static bool
find_size(double items, double fpr, BloomShape *shape)
{
	/* the best number of probes by the textbook, and those around it */
	double		best = -log2(fpr);
	uint32_t	first = (uint32_t) fmax(1.0, fmin(BLOOMEXP_MAX_HASHES, floor(best) - 1.0));
	uint32_t	last = (uint32_t) fmin(BLOOMEXP_MAX_HASHES, ceil(best) + 1.0);
	bool		one_block = keeps(BLOOMEXP_BLOCKED_FROM, items, fpr, first, last, shape);
	double		limit = one_block ? BLOOMEXP_BLOCKED_FROM :
		BLOOMEXP_MAX_WORDS - BLOOMEXP_BLOCK_WORDS;
	double		textbook = limit + 1.0;
	double		too_few;
	double		enough;
	bool		found = false;

	/* the true number is not below the textbook's, nor far from it */
	for (uint32_t k = first; k <= last; k++)
		textbook = fmin(textbook, ceil(k * items / textbook_load(fpr, k) / 64.0));
	too_few = fmax(one_block ? 0.0 : BLOOMEXP_BLOCKED_FROM, textbook - 1.0);
	enough = too_few;
	for (double step = ceil(textbook / 256.0); !found; step *= 2.0)
	{
		if (too_few >= limit)
			return false;
		enough = fmin(too_few + step, limit);
		found = keeps(enough, items, fpr, first, last, shape);
		if (!found)
			too_few = enough;
	}
	while (enough - too_few > 1.0)
	{
		double		middle = floor((too_few + enough) / 2.0);

		if (keeps(middle, items, fpr, first, last, shape))
			enough = middle;
		else
			too_few = middle;
	}
	enough = (shape->blocks - 1.0) * BLOOMEXP_BLOCK_WORDS;
	if (enough > BLOOMEXP_BLOCKED_FROM)
		keeps(enough, items, fpr, first, last, shape);

	/* in the few words of a tiny layer, fewer probes may do as well */
	do
		first = last = shape->hashes - 1;
	while (last > 0 && keeps(shape->words, items, fpr, first, last, shape));
	return true;
}

/*
 * Find the smallest layer whose expected rate is at most `fpr` when it holds `items`
 * distinct items; of equal layers, the one with the fewest probes.
 *
 * Returns false if there is none of max_words words or less.
 *
 * The rates take some time, and an aggregate over a million small groups needs
 * the same few sizes again and again; so the answers are cached.
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

/*
 * Find the most items that a layer of max_words words holds at `fpr`.
 */
uint64_t
bloomexp_sizing_max_items(double fpr, uint32_t max_words)
{
	uint64_t	fits = 0;
	uint64_t	too_many = UINT64_C(1) << 32;	/* what a header can count, and 1 */
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
