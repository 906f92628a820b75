/*-------------------------------------------------------------------------
 *
 * server.h
 *	  What the modules of src/ need of PostgreSQL, without a server: memory, of
 *	  which each chunk has a block of its own, and errors, which end a call.
 *
 * To be included by the one file that tries the modules.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_FUZZ_SERVER_H
#define BLOOMEXP_FUZZ_SERVER_H

#include "postgres.h"

#include <setjmp.h>
#include <sys/queue.h>

#include "access/detoast.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/memutils.h"

volatile sig_atomic_t InterruptPending = false;
MemoryContext CurrentMemoryContext = NULL;

/*
 * Memory: all of it is freed after an input.
 */

typedef struct Chunk
{
	LIST_ENTRY(Chunk) link;
	max_align_t bytes[];
} Chunk;

static LIST_HEAD(, Chunk) chunks = LIST_HEAD_INITIALIZER(chunks);

static Chunk *
chunk_of(void *bytes)
{
	return (Chunk *) ((char *) bytes - offsetof(Chunk, bytes));
}

static void *
adopt(Chunk *chunk)
{
	if (chunk == NULL)
		abort();
	LIST_INSERT_HEAD(&chunks, chunk, link);
	return chunk->bytes;
}

void *
palloc(Size size)
{
	return adopt(malloc(offsetof(Chunk, bytes) + size));
}

void *
palloc0(Size size)
{
	return memset(palloc(size), 0, size);
}

void *
palloc_extended(Size size, int flags)
{
	return flags & MCXT_ALLOC_ZERO ? palloc0(size) : palloc(size);
}

void *
MemoryContextAlloc(MemoryContext context, Size size)
{
	return palloc(size);
}

void *
MemoryContextAllocExtended(MemoryContext context, Size size, int flags)
{
	return palloc_extended(size, flags);
}

void *
repalloc(void *bytes, Size size)
{
	LIST_REMOVE(chunk_of(bytes), link);
	return adopt(realloc(chunk_of(bytes), offsetof(Chunk, bytes) + size));
}

void
pfree(void *bytes)
{
	LIST_REMOVE(chunk_of(bytes), link);
	free(chunk_of(bytes));
}

static void
free_all(void)
{
	while (!LIST_EMPTY(&chunks))
		pfree(LIST_FIRST(&chunks)->bytes);
}

/* Nothing is stored out of line here. */
struct varlena *
pg_detoast_datum_packed(struct varlena *datum)
{
	return datum;
}

/*
 * Errors: try() returns whether a call ended without one.
 */

static jmp_buf on_error;
static int	error_code;

#define try(...) (setjmp(on_error) == 0 ? (__VA_ARGS__, true) : false)

bool
errstart(int elevel, const char *domain)
{
	error_code = ERRCODE_INTERNAL_ERROR;
	return true;
}

bool
errstart_cold(int elevel, const char *domain)
{
	return errstart(elevel, domain);
}

int
errcode(int sqlerrcode)
{
	return error_code = sqlerrcode;
}

/* Messages are formatted, so that wrong arguments are seen, and thrown away. */
#define MESSAGE(name) \
	int \
	name(const char *format, ...) \
	{ \
		char		text[1024]; \
		va_list		arguments; \
\
		va_start(arguments, format); \
		vsnprintf(text, sizeof(text), format, arguments); \
		va_end(arguments); \
		return 0; \
	}

MESSAGE(errmsg)
MESSAGE(errmsg_internal)
MESSAGE(errdetail)
MESSAGE(errdetail_internal)
MESSAGE(errhint)

void
errfinish(const char *file, int line, const char *function)
{
	longjmp(on_error, 1);
}

#if PG_VERSION_NUM >= 160000
bool
errsave_start(struct Node *context, const char *domain)
{
	return errstart(ERROR, domain);
}

void
errsave_finish(struct Node *context, const char *file, int line, const char *function)
{
	errfinish(file, line, function);
}
#endif

#endif							/* BLOOMEXP_FUZZ_SERVER_H */
