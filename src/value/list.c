/*-------------------------------------------------------------------------
 *
 * list.c
 *	  A list that drops repetitions whenever it is full.
 *
 * An aggregate reads the rows of many groups in turn, so that nearly every row
 * finds its group's state out of the CPU's cache.  To append to a list touches
 * one place of it; a hash table would touch two or three.  The repetitions are
 * then found in one go, with one group's elements at hand.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "value/list.h"

/*
 * bloomexp_list_init
 *		Start an empty list with space for elements of `size` bytes in all, at least.
 */
void
bloomexp_list_init(BloomList *list, const BloomListType *type,
				   MemoryContext context, Size size)
{
	list->type = type;
	list->n = 0;
	list->space = Max(size / type->size, type->initial_space);
	list->elements = MemoryContextAllocHuge(context, list->space * type->size);
}

/*
 * bloomexp_list_compact
 *		Drop the repetitions of a list; raise an error if too many elements are left.
 */
void
bloomexp_list_compact(BloomList *list)
{
	list->n = list->type->compact(list->elements, list->n);
	if (list->n > list->type->max)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many distinct items in one group"),
				 errdetail("An aggregate takes at most %llu.",
						   (unsigned long long) list->type->max),
				 errhint("%s", list->type->hint)));
}

/*
 * bloomexp_list_make_space
 *		Make space for n more elements.
 *
 * A list that repetitions fill is compacted; one that is more than half full
 * without them grows.
 */
void
bloomexp_list_make_space(BloomList *list, uint64 n)
{
	uint64		space = list->space;

	if (n <= space - list->n)
		return;
	if (space >= list->type->first_compact)
		bloomexp_list_compact(list);
	while (space < list->n + n || space / 2 < list->n)
		space *= 2;
	if (space > list->space)
		list->elements = repalloc_huge(list->elements, space * list->type->size);
	list->space = space;
}

/*
 * bloomexp_list_append
 *		Add n elements.
 */
void
bloomexp_list_append(BloomList *list, const void *elements, uint64 n)
{
	Size		size = list->type->size;

	bloomexp_list_make_space(list, n);
	memcpy((char *) list->elements + list->n * size, elements, n * size);
	list->n += n;
}
