/*-------------------------------------------------------------------------
 *
 * tap.h
 *	  Helpers of unit tests: TAP on standard output, random numbers that are the same
 *	  in every run, and memory with guard pages.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_TAP_H
#define BLOOMEXP_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static int	tap_tests = 0;
static int	tap_failures = 0;

/* Report a test. */
__attribute__((format(printf, 2, 3)))
static inline void
ok(bool passed, const char *what, ...)
{
	va_list		args;

	tap_failures += !passed;
	printf("%sok %d - ", passed ? "" : "not ", ++tap_tests);
	va_start(args, what);
	vprintf(what, args);
	va_end(args);
	putchar('\n');
}

/* Print a remark, such as what a failing test saw. */
__attribute__((format(printf, 1, 2)))
static inline void
note(const char *what, ...)
{
	va_list		args;

	printf("# ");
	va_start(args, what);
	vprintf(what, args);
	va_end(args);
	putchar('\n');
}

/* Print the plan.  Returns the exit status of the program. */
static inline int
done_testing(void)
{
	printf("1..%d\n", tap_tests);
	return tap_failures > 0;
}

/*
 * Return the next random number.  See Steele, Lea, Flood, "Fast splittable pseudorandom number
 * generators", OOPSLA 2014.
 */
static inline uint64_t
random64(void)
{
	static uint64_t state = 0;
	uint64_t	z = state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Return a random number less than `limit`. */
static inline uint32_t
random_below(uint32_t limit)
{
	return (uint32_t) (random64() % limit);
}

/*
 * Return a page of memory between two pages that cannot be read or written, and set *size to its
 * size.  Access outside of it ends the program.  Returns NULL, and reports a failed test, if there
 * is no memory.
 */
static inline uint8_t *
guarded_page(size_t *size)
{
	uint8_t    *pages;

	*size = (size_t) sysconf(_SC_PAGESIZE);
	pages = mmap(NULL, 3 * *size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED || mprotect(pages + *size, *size, PROT_READ | PROT_WRITE) != 0)
	{
		ok(false, "memory with guard pages");
		return NULL;
	}
	return pages + *size;
}

static inline void
free_guarded_page(uint8_t *page, size_t size)
{
	munmap(page - size, 3 * size);
}

#endif							/* BLOOMEXP_TAP_H */
