/*-------------------------------------------------------------------------
 *
 * guard.c
 *	  What test/watched links into the module: memory with exact ends, and
 *	  planted faults.
 *
 * PostgreSQL cuts many chunks out of one malloc() block, so a sanitizer or
 * valgrind sees neither an overrun of a chunk nor a read of a freed one.  With
 * the linker's --wrap, each chunk that the module allocates, and each value that
 * it detoasts, gets a block of its own, and the bytes after it are out of bounds.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "fmgr.h"
#include "utils/memutils.h"

#include "compat.h"


#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define FORBID(bytes, size) ASAN_POISON_MEMORY_REGION(bytes, size)
#define ALLOW(bytes, size) ASAN_UNPOISON_MEMORY_REGION(bytes, size)
#else
#include <valgrind/memcheck.h>
#define FORBID(bytes, size) VALGRIND_MAKE_MEM_NOACCESS(bytes, size)
#define ALLOW(bytes, size) VALGRIND_MAKE_MEM_DEFINED(bytes, size)
#endif

/* The smallest request for which a memory context allocates a block of its own. */
#define OWN_BLOCK ((Size) 8193)

/* Bytes of a chunk in addition to those that were requested. */
static Size overhead;

static Size
rounded(Size size)
{
	return MAXALIGN(Max(size, OWN_BLOCK));
}

extern void *__real_MemoryContextAllocExtended(MemoryContext context, Size size, int flags);

/* A chunk that is a block by itself, out of bounds beyond `size`. */
static void *
allocate(MemoryContext context, Size size, int flags)
{
	char	   *chunk = __real_MemoryContextAllocExtended(context, rounded(size), flags);

	if (chunk == NULL)
		return NULL;
	overhead = GetMemoryChunkSpace(chunk) - rounded(size);
	FORBID(chunk + size, rounded(size) - size);
	return chunk;
}

/* Calls of the module go to __wrap_name, and __real_name is what they meant. */
#define WRAP(type, name, arguments) \
	extern type __real_##name arguments; \
	extern __attribute__((visibility("hidden"))) type __wrap_##name arguments; \
	type __wrap_##name arguments

WRAP(void *, palloc, (Size size))
{
	return allocate(CurrentMemoryContext, size, 0);
}

WRAP(void *, palloc0, (Size size))
{
	return allocate(CurrentMemoryContext, size, MCXT_ALLOC_ZERO);
}

WRAP(void *, palloc_extended, (Size size, int flags))
{
	return allocate(CurrentMemoryContext, size, flags);
}

WRAP(void *, MemoryContextAlloc, (MemoryContext context, Size size))
{
	return allocate(context, size, 0);
}

WRAP(void *, MemoryContextAllocZero, (MemoryContext context, Size size))
{
	return allocate(context, size, MCXT_ALLOC_ZERO);
}

WRAP(void *, MemoryContextAllocHuge, (MemoryContext context, Size size))
{
	return allocate(context, size, MCXT_ALLOC_HUGE);
}

WRAP(void *, MemoryContextAllocExtended, (MemoryContext context, Size size, int flags))
{
	return allocate(context, size, flags);
}

/* Marks all of the old chunk as written, so reads of bytes that never were written go unnoticed. */
WRAP(void *, repalloc_huge, (void *chunk, Size size))
{
	ALLOW(chunk, GetMemoryChunkSpace(chunk) - overhead);
	chunk = __real_repalloc_huge(chunk, rounded(size));
	FORBID((char *) chunk + size, rounded(size) - size);
	return chunk;
}

WRAP(void *, repalloc, (void *chunk, Size size))
{
	return __wrap_repalloc_huge(chunk, size);
}

/* A detoasted value, which was `source`, in a chunk of its own. */
static struct varlena *
own_copy(struct varlena *value, struct varlena *source)
{
	struct varlena *copy = allocate(CurrentMemoryContext, VARSIZE_ANY(value), MCXT_ALLOC_HUGE);

	memcpy(copy, value, VARSIZE_ANY(value));
	if (value != source)
		pfree(value);
	return copy;
}

WRAP(struct varlena *, pg_detoast_datum, (struct varlena *source))
{
	return own_copy(__real_pg_detoast_datum(source), source);
}

WRAP(struct varlena *, pg_detoast_datum_packed, (struct varlena *source))
{
	return own_copy(__real_pg_detoast_datum_packed(source), source);
}

WRAP(struct varlena *, detoast_attr_slice, (struct varlena *source, int32 offset, int32 length))
{
	return own_copy(__real_detoast_attr_slice(source, offset, length), source);
}

/*
 * The planted faults: a read beyond the end of a chunk, a read of a freed chunk,
 * an integer overflow, and a branch on uninitialized memory.
 */
PG_FUNCTION_INFO_V1(bloomexp_guard_plant);

Datum
bloomexp_guard_plant(PG_FUNCTION_ARGS)
{
	int32		fault = PG_GETARG_INT32(0);
	volatile char *chunk = __wrap_palloc(100);
	volatile int32 number = PG_INT32_MAX;

	switch (fault)
	{
		case 1:
			PG_RETURN_INT32(chunk[100]);
		case 2:
			pfree((void *) chunk);
			PG_RETURN_INT32(chunk[0]);
		case 3:
			number += fault;
			break;
		case 4:
			if (chunk[99] > 0)
				number = 0;
			break;
	}
	PG_RETURN_INT32(number);
}
