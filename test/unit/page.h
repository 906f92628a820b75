/*-------------------------------------------------------------------------
 *
 * page.h
 *	  A page of memory with none next to it: who reads or writes a byte too many,
 *	  at its start or at its end, ends the program.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_PAGE_H
#define BLOOMEXP_PAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tap.h"

/* The page, and its bytes in *size; NULL, and a failed test, if there is none. */
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

#endif							/* BLOOMEXP_PAGE_H */
