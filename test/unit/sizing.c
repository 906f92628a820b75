/*-------------------------------------------------------------------------
 *
 * sizing.c
 *	  The expected rates are right, and the layers are the smallest that keep
 *	  a given one.
 *
 * The judge of a rate is the closed form by inclusion and exclusion.  Its terms
 * cancel by many orders of magnitude, so it needs numbers of 113 bits.
 *
 *-------------------------------------------------------------------------
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "kernel/sizing.h"
#include "tap.h"

#if LDBL_MANT_DIG >= 113
typedef long double Quad;
#define HAVE_QUAD
#elif defined(__SIZEOF_FLOAT128__)
__extension__ typedef __float128 Quad;
#define HAVE_QUAD
#endif

/* Words of a filter of 500 MiB, more or less. */
#define MAX_WORDS 65535996

/* Up to so many items for each probe of an item the rate is the exact one. */
#define EXACT_ITEMS 4

static const double rates[] = {
	0.5, 0.3, 0.1, 0.05, 0.031, 0.01, 0.005, 0.003, 0.001, 3e-4, 1e-4, 1e-5, 1e-6, 1e-7, 1e-9
};

#define NRATES (sizeof(rates) / sizeof(rates[0]))

/* The smallest shape for `items` at `fpr`, which must exist. */
static BloomShape
shape_for(double items, double fpr)
{
	BloomShape	shape;

	if (!bloomexp_sizing_fit(items, fpr, MAX_WORDS, &shape))
	{
		printf("Bail out! no layer for %g items at %g\n", items, fpr);
		exit(2);
	}
	return shape;
}

static bool
same_shape(BloomShape a, BloomShape b)
{
	return a.words == b.words && a.hashes == b.hashes &&
		a.blocks == b.blocks && a.block_bits == b.block_bits;
}

#ifdef HAVE_QUAD

static Quad
power(Quad base, unsigned exponent)
{
	Quad		result = 1;

	for (; exponent > 0; exponent /= 2, base *= base)
	{
		if (exponent % 2 == 1)
			result *= base;
	}
	return result;
}

/*
 * The rate of one block of m bits after so many probes, k of them an item:
 *
 *	 sum over j of P(k probes name exactly j bits) P(j given bits are all set)
 *
 * The first is S(k, j) m (m - 1) ... (m - j + 1) / m^k with Stirling's numbers
 * of the second kind S, the second is the sum over i of (-1)^i C(j, i) P(i given
 * bits are all unset).
 */
static Quad
true_rate(unsigned m, unsigned k, unsigned throws)
{
	Quad		stirling[BLOOMEXP_MAX_HASHES + 1] = {1};
	Quad		unset[BLOOMEXP_MAX_HASHES + 1];
	Quad		falling = 1;
	Quad		rate = 0;

	for (unsigned row = 1; row <= k; row++)
	{
		for (unsigned j = row; j > 0; j--)
			stirling[j] = j * stirling[j] + stirling[j - 1];
		stirling[0] = 0;
	}
	for (unsigned i = 0; i <= k; i++)
		unset[i] = power(1 - (Quad) i / m, throws);
	for (unsigned j = 1; j <= k && j <= m; j++)
	{
		Quad		binomial = 1;
		Quad		all_set = 0;

		falling *= m - j + 1;
		for (unsigned i = 0; i <= j; i++)
		{
			all_set += i % 2 == 0 ? binomial * unset[i] : -binomial * unset[i];
			binomial = binomial * (j - i) / (i + 1);
		}
		rate += stirling[j] * falling / power(m, k) * all_set;
	}
	return rate;
}

/* The same where the number of items in the block is a Poisson variable. */
static double
poisson_rate(unsigned m, unsigned k, double mean)
{
	unsigned	first = (unsigned) fmax(0.0, mean - 9.0 * sqrt(mean));
	unsigned	last = (unsigned) (mean + 9.0 * sqrt(mean)) + 40;
	double		rate = 0.0;

	for (unsigned items = first; items <= last; items++)
		rate += exp(items * log(mean) - mean - lgamma(items + 1.0)) *
			(double) true_rate(m, k, items * k);
	return rate;
}

/* How far a rate is from the truth, as a part of it. */
static double
error_of(BloomShape shape, unsigned items)
{
	double		truth = (double) true_rate(shape.block_bits, shape.hashes, items * shape.hashes);

	return bloomexp_sizing_expected_fpr(&shape, items) / truth - 1.0;
}

static void
test_exact(void)
{
	double		worst = 0.0;
	int			tried = 0;

	/* shapes as they are made, then shapes that nobody would make */
	for (size_t i = 0; i < NRATES; i++)
	{
		for (unsigned n = 1; n < 1000; n += 1 + n / 20)
		{
			BloomShape	shape = shape_for(n, rates[i]);

			if (n > EXACT_ITEMS * shape.hashes)
				break;
			worst = fmax(worst, fabs(error_of(shape, n)));
			tried++;
		}
	}
	for (unsigned k = 1; k <= 20; k++)
	{
		for (unsigned n = 1; n <= EXACT_ITEMS * k; n += 3)
		{
			worst = fmax(worst, fabs(error_of(bloomexp_sizing_shape(1 + n % 5, k), n)));
			tried++;
		}
	}
	ok(worst < 1e-10, "small layers: the exact rate (%d shapes, worst error %.1g)",
	   tried, worst);
}

/* From the switch to the second-order series on, up to the largest block. */
static void
test_second_order(void)
{
	double		at_switch = 0.0;
	double		beyond = 0.0;
	int			tried = 0;

	for (size_t i = 0; i < NRATES; i++)
	{
		int			nth = 0;

		for (unsigned n = 1;; n += 1 + (nth > 0 ? n / 2 : 0))
		{
			BloomShape	shape = shape_for(n, rates[i]);
			double		error;

			if (shape.blocks > 1)
				break;
			if (n <= EXACT_ITEMS * shape.hashes)
				continue;
			error = fabs(error_of(shape, n));
			if (nth++ == 0)
				at_switch = fmax(at_switch, error);
			beyond = fmax(beyond, error);
			tried++;
		}
	}
	ok(at_switch < 0.001, "no step where the exact rate ends (%.3f%%)", 100.0 * at_switch);
	ok(beyond < 0.001, "larger layers: the rate within 0.1%% (%d shapes, worst %.3f%%)",
	   tried, 100.0 * beyond);
}

/* The more probes, the more a variable number of items matters. */
static void
test_blocked(void)
{
	for (int decade = 1; decade <= 9; decade++)
	{
		double		items = decade % 2 == 0 ? 2e6 : 7e4;
		BloomShape	shape = shape_for(items, pow(0.1, decade));
		double		truth = poisson_rate(shape.block_bits, shape.hashes, items / shape.blocks);
		double		error = bloomexp_sizing_expected_fpr(&shape, items) / truth - 1.0;

		ok(fabs(error) < 0.001,
		   "blocked layer at 1e-%d: the sum over a Poisson variable (%+.3f%%)",
		   decade, 100.0 * error);
	}
}

#endif							/* HAVE_QUAD */

/* Whether any layer of so many words keeps the rate, with at most so many probes. */
static bool
keeps(uint32_t words, uint32_t max_hashes, double items, double fpr)
{
	for (uint32_t k = 1; k <= max_hashes; k++)
	{
		BloomShape	shape = bloomexp_sizing_shape(words, k);

		if (bloomexp_sizing_expected_fpr(&shape, items) <= fpr)
			return true;
	}
	return false;
}

static void
test_smallest(void)
{
	int			too_high = 0;
	int			too_long = 0;
	int			too_many = 0;
	int			tried = 0;

	for (size_t i = 0; i < NRATES; i++)
	{
		for (double items = 1; items < 3e8; items = floor(items * 1.7 + 1.0))
		{
			BloomShape	shape;
			uint32_t	less;

			if (!bloomexp_sizing_fit(items, rates[i], MAX_WORDS, &shape))
				break;
			tried++;
			too_high += bloomexp_sizing_expected_fpr(&shape, items) > rates[i];
			if (keeps(shape.words, shape.hashes - 1, items, rates[i]))
			{
				too_many++;
				note("%.0f items at %g: %u words with fewer than %u probes will do",
					 items, rates[i], shape.words, shape.hashes);
			}

			/* the next smaller layer that can be cut into equal blocks */
			for (less = shape.words - 1; less > 0; less--)
			{
				if (less % bloomexp_sizing_shape(less, 1).blocks == 0)
					break;
			}
			if (less > 0 && keeps(less, BLOOMEXP_MAX_HASHES, items, rates[i]))
			{
				too_long++;
				note("%.0f items at %g: %u words will do, not %u", items, rates[i], less, shape.words);
			}
		}
	}
	ok(too_high == 0, "the expected rate is at most the promised one (%d sizes)", tried);
	ok(too_long == 0, "no smaller layer keeps it");
	ok(too_many == 0, "nor fewer probes");
}

/*
 * The limit of bytes: 1.03 times the optimum of the textbook, without the headers; at usual
 * rates, and 4 bytes more at others.  Below 2e-9 blocks cost more.
 */
static void
test_bytes(void)
{
	static const double fprs[] = {0.1, 0.01, 0.005, 0.003, 1e-3, 3e-4, 1e-4, 1e-6, 1e-8, 5e-9, 2e-9, 1e-9};
	double		worst = 0.0;
	double		at_least_rate = 0.0;

	for (size_t i = 0; i < sizeof(fprs) / sizeof(fprs[0]); i++)
	{
		for (double items = 300; items < 3e8; items = floor(items * 1.013 + 1.0))
		{
			double		optimum = -items * log(fprs[i]) / (log(2.0) * log(2.0)) / 8.0;
			BloomShape	shape;
			double		factor;

			if (!bloomexp_sizing_fit(items, fprs[i] * 127.0 / 128.0, MAX_WORDS, &shape))
				break;
			factor = (shape.words * 8.0 - (fprs[i] > 0.01 || fprs[i] < 1e-4 ? 4.0 : 0.0)) / optimum;
			if (fprs[i] < 2e-9)
				at_least_rate = fmax(at_least_rate, factor);
			else
				worst = fmax(worst, factor);
		}
	}
	ok(worst <= 1.03, "from 300 items on, at most 1.03 times the optimum (%.4f)", worst);
	ok(at_least_rate <= 1.032, "at 1e-9 at most 1.032 times (%.4f)", at_least_rate);
}

static void
test_monotonic(void)
{
	int			shrinks = 0;
	uint32_t	before;

	for (size_t i = 0; i < NRATES; i++)
	{
		before = 0;
		for (double items = 1; items < 3e8; items = floor(items * (items < 600 ? 1.0 : 1.01) + 1.0))
		{
			BloomShape	shape;

			if (!bloomexp_sizing_fit(items, rates[i], MAX_WORDS, &shape))
				break;
			if (shape.words < before)
			{
				shrinks++;
				note("%.0f items at %g: %u words, fewer items %u", items, rates[i], shape.words, before);
			}
			before = shape.words;
		}
	}
	ok(shrinks == 0, "more items never take fewer words");

	shrinks = 0;
	for (double items = 1; items < 1e7; items = floor(items * 3.0 + 1.0))
	{
		before = 0;
		for (double fpr = 0.999; fpr > 1e-9; fpr *= 0.9)
		{
			BloomShape	shape = shape_for(items, fpr);

			if (shape.words < before)
			{
				shrinks++;
				note("%.0f items at %g: %u words, greater rate %u", items, fpr, shape.words, before);
			}
			before = shape.words;
		}
	}
	ok(shrinks == 0, "nor does a lower rate");
}

/*
 * The sizes are the same on every machine: stored values of one release are
 * united with those of another.
 */
static void
test_golden(void)
{
	static const struct
	{
		double		items;
		double		fpr;
		uint32_t	words;
		uint32_t	hashes;
	}			golden[] = {
		{1, 0.01, 1, 2}, {2, 0.01, 1, 2}, {5, 0.01, 1, 3}, {10, 0.01, 2, 3}, {20, 0.01, 4, 3}, {50, 0.01, 8, 5},
		{100, 0.01, 16, 5}, {150, 0.01, 23, 6}, {300, 0.01, 45, 7}, {1000, 0.01, 150, 7}, {3650, 0.01, 548, 7},
		{10000, 0.01, 1499, 7}, {30000, 0.01, 4503, 7}, {100000, 0.01, 15067, 6}, {1000000, 0.01, 150250, 7},
		{10000000, 0.01, 1500750, 7}, {100000000, 0.01, 15005750, 7}, {1, 0.001, 1, 2}, {2, 0.001, 1, 3},
		{5, 0.001, 2, 4}, {10, 0.001, 3, 5}, {20, 0.001, 5, 6}, {50, 0.001, 12, 7}, {100, 0.001, 23, 8},
		{150, 0.001, 34, 9}, {300, 0.001, 68, 9}, {1000, 0.001, 225, 10}, {3650, 0.001, 821, 10},
		{10000, 0.001, 2247, 10}, {30000, 0.001, 6776, 10}, {100000, 0.001, 22568, 10}, {1000000, 0.001, 225250, 10},
		{10000000, 0.001, 2252500, 10}, {100000000, 0.001, 22524500, 10}, {1, 0.0001, 1, 3}, {2, 0.0001, 1, 5},
		{5, 0.0001, 2, 6}, {10, 0.0001, 4, 6}, {20, 0.0001, 7, 8}, {50, 0.0001, 16, 9}, {100, 0.0001, 31, 10},
		{150, 0.0001, 45, 13}, {300, 0.0001, 90, 13}, {1000, 0.0001, 300, 13}, {3650, 0.0001, 1094, 13},
		{10000, 0.0001, 2996, 13}, {30000, 0.0001, 9065, 12}, {100000, 0.0001, 30129, 13},
		{1000000, 0.0001, 301250, 13}, {10000000, 0.0001, 3010250, 13}, {100000000, 0.0001, 30102250, 13},
		{1, 0.5, 1, 1}, {10, 0.5, 1, 1}, {100, 0.5, 3, 1}, {5000, 0.5, 113, 1}, {1000000, 0.5, 22568, 1},
		{1, 0.005, 1, 2}, {10, 0.005, 2, 5}, {100, 0.005, 18, 6}, {5000, 0.005, 863, 8}, {1000000, 0.005, 172750, 8},
		{1, 0.0096875, 1, 2}, {10, 0.0096875, 2, 3}, {100, 0.0096875, 16, 5}, {5000, 0.0096875, 755, 7},
		{1000000, 0.0096875, 151250, 7}, {1, 1e-09, 1, 12}, {10, 1e-09, 7, 23}, {100, 1e-09, 68, 26},
		{5000, 1e-09, 3370, 30}, {1000000, 1e-09, 691750, 29}
	};
	const int	ngolden = sizeof(golden) / sizeof(golden[0]);
	int			wrong = 0;

	for (int i = 0; i < ngolden; i++)
	{
		BloomShape	shape = shape_for(golden[i].items, golden[i].fpr);

		if (shape.words == golden[i].words && shape.hashes == golden[i].hashes)
			continue;
		wrong++;
		note("{%.0f, %g, %u, %u}", golden[i].items, golden[i].fpr, shape.words, shape.hashes);
	}
	ok(wrong == 0, "golden table (%d of %d differ)", wrong, ngolden);
}

/* An answer from memory is the answer worked out again. */
static void
test_memory(void)
{
	int			wrong = 0;

	for (int i = 0; i < 1000; i++)
	{
		double		items = 1 + random_below(i % 2 == 0 ? 300 : 1000000);
		double		fpr = rates[random_below(NRATES)];
		BloomShape	first = shape_for(items, fpr);
		BloomShape	again = shape_for(items, fpr);
		BloomShape	shape;
		BloomShape	anew;

		/* the same item count at another rate, then another in its place */
		shape = shape_for(items, fpr / 2);
		wrong += bloomexp_sizing_expected_fpr(&shape, items) > fpr / 2;
		shape = shape_for(items + 256, fpr);
		wrong += bloomexp_sizing_expected_fpr(&shape, items + 256) > fpr;
		anew = shape_for(items, fpr);
		wrong += !same_shape(first, again) || !same_shape(first, anew);

		/* a limit is heeded, and spoils nothing */
		wrong += bloomexp_sizing_fit(items, fpr, first.words - 1, &shape);
		wrong += !bloomexp_sizing_fit(items, fpr, first.words, &shape) || !same_shape(shape, first);
	}
	ok(wrong == 0, "sizes from memory are those worked out anew");
}

static void
test_max_items(void)
{
	static const uint32_t limits[] = {1, 2, 10, 100, 4096, 4097, 100000, MAX_WORDS};
	int			wrong = 0;

	for (size_t i = 0; i < NRATES; i++)
	{
		for (size_t j = 0; j < sizeof(limits) / sizeof(limits[0]); j++)
		{
			uint64_t	items = bloomexp_sizing_max_items(rates[i], limits[j]);
			BloomShape	shape;
			bool		fits = items == 0 ||
				bloomexp_sizing_fit((double) items, rates[i], limits[j], &shape);

			if (fits && !bloomexp_sizing_fit((double) items + 1.0, rates[i], limits[j], &shape))
				continue;
			wrong++;
			note("%llu items at %g in %u words", (unsigned long long) items, rates[i], limits[j]);
		}
	}
	ok(wrong == 0, "the most items of a layer fit, and one more does not");
	ok(bloomexp_sizing_max_items(0.01, MAX_WORDS) > 425000000, "425 million items at 1%% fit into 500 MiB");
}

/*
 * Items are offered to a layer one by one, and each changes it with the
 * probability that it is not a false positive.
 */
static void
test_offered(void)
{
	double		worst = 0.0;
	int			tried = 0;

	for (size_t i = 0; i < NRATES && rates[i] >= 0.001; i++)
	{
		for (double items = 200; items < 60000; items *= 6.0)
		{
			BloomShape	shape = shape_for(items, rates[i]);
			double		changed = 0.0;
			double		offered = 0.0;

			while (changed < items)
				changed += 1.0 - bloomexp_sizing_expected_fpr(&shape, offered++);
			worst = fmax(worst, (fabs(bloomexp_sizing_offered_items(&shape, items) - offered) - 1.0) / items);
			tried++;
		}
	}
	ok(worst < 0.002, "items offered until a layer is full (%d sizes, worst error %.2f%%)",
	   tried, 100.0 * worst);
}

/* The estimate from the bits inverts their expected number. */
static void
test_estimate(void)
{
	double		worst = 0.0;
	int			wrong = 0;

	for (double items = 1; items < 3e7; items = floor(items * 2.0 + 1.0))
	{
		BloomShape	shape = shape_for(items, 0.001);
		double		m = (double) bloomexp_sizing_bits(&shape);
		double		before = -1.0;

		for (double n = floor(items / 3.0); n <= 2.0 * items; n += fmax(1.0, floor(items / 10.0)))
		{
			/* every probe is one of block_bits in one of the blocks */
			double		unset = exp(n / shape.blocks * expm1(shape.hashes * log1p(-1.0 / shape.block_bits)));

			if (shape.blocks == 1)
				unset = pow(1.0 - 1.0 / m, n * shape.hashes);
			if (n >= 100)
				worst = fmax(worst, fabs(bloomexp_sizing_estimate_items(&shape, (uint64_t) (m * (1.0 - unset))) / n - 1.0));
		}
		for (int i = 0; i <= 64; i++)
		{
			double		estimate = bloomexp_sizing_estimate_items(&shape, (uint64_t) (m / 64.0 * i));
			double		fpr = bloomexp_sizing_current_fpr(&shape, (uint64_t) (m / 64.0 * i));

			wrong += !isfinite(estimate) || estimate <= before;
			wrong += !(fpr >= 0.0 && fpr <= 1.0) || (i == 0 && (fpr != 0.0 || estimate != 0.0));
			before = estimate;
		}
	}
	ok(worst < 0.005, "estimate of the items from the bits (worst error %.2g)", worst);
	ok(wrong == 0, "estimates from empty to full are finite and rise");
}

/* Odd rates: nothing overflows, and an answer keeps its rate. */
static void
test_odd_rates(void)
{
	int			wrong = 0;

	for (int i = 0; i < 5000; i++)
	{
		double		fpr = i % 2 == 0 ? exp(-20.7 * (double) random_below(1000000) / 1e6 - 1e-9) :
			1.0 - exp(-36.0 * (double) random_below(1000000) / 1e6);
		double		items = floor(exp((i % 8 == 0 ? 22.1 : 8.0) * (double) random_below(1000000) / 1e6));
		BloomShape	shape;

		if (fpr < 1e-9 || fpr >= 1.0)
			continue;
		if (!bloomexp_sizing_fit(items, fpr, BLOOMEXP_MAX_WORDS, &shape))
			wrong += items < 6e7;
		else
			wrong += shape.words < 1 || shape.words > BLOOMEXP_MAX_WORDS ||
				shape.hashes < 1 || shape.hashes > BLOOMEXP_MAX_HASHES ||
				shape.words % shape.blocks != 0 ||
				bloomexp_sizing_expected_fpr(&shape, items) > fpr;
	}
	ok(wrong == 0, "rates from 1e-9 to nearly 1 (%d wrong)", wrong);
}

int
main(void)
{
	test_golden();
#ifdef HAVE_QUAD
	test_exact();
	test_second_order();
	test_blocked();
#else
	ok(true, "rates against the closed form # SKIP no 113-bit numbers");
#endif
	test_smallest();
	test_bytes();
	test_monotonic();
	test_memory();
	test_max_items();
	test_offered();
	test_estimate();
	test_odd_rates();
	return done_testing();
}
