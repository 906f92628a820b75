/*
 * What the clients of the benchmark share: a clock, and what they print.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MAX_CALLS 20000000		/* that are timed */

static void
die(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	exit(1);
}

/* In microseconds. */
static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static int
compare(const void *a, const void *b)
{
	float		x = *(const float *) a,
				y = *(const float *) b;

	return (x > y) - (x < y);
}

/*
 * Transactions a second, their mean, median, 99% and 99.9% in microseconds, and
 * how many candidates remain, after so many calls by so many clients at a time.
 */
static void
print_times(float *times, int n, int clients, long survivors)
{
	double		sum = 0;

	if (n == 0)
		die("client", "no time left to measure: more seconds, please");
	for (int i = 0; i < n; i++)
		sum += times[i];
	qsort(times, n, sizeof(float), compare);
	printf("%.1f %.2f %.2f %.2f %.2f %ld\n", n * clients / sum * 1e6, sum / n,
		   times[n / 2], times[(int) (n * 0.99)], times[(int) (n * 0.999)], survivors);
}
