/*-------------------------------------------------------------------------
 *
 * list.h
 *	  A list that drops repetitions whenever it is full: the state of an
 *	  aggregate while its group is read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_LIST_H
#define BLOOMEXP_LIST_H

#include "utils/palloc.h"

/* What the lists of one aggregate have in common. */
typedef struct BloomListType
{
	Size		size;			/* of an element, in bytes */
	uint64		initial_space;	/* elements */
	uint64		first_compact;	/* elements up to which a list just grows */
	uint64		max;			/* distinct elements; a serialized list fits in 1 GB */
	uint64		(*compact) (void *elements, uint64 n);	/* drops repetitions; returns
														 * how many remain */
	const char *hint;			/* what to do instead of more than max */
} BloomListType;

typedef struct BloomList
{
	const BloomListType *type;
	void	   *elements;		/* repetitions among them */
	uint64		n;
	uint64		space;
} BloomList;

extern void bloomexp_list_init(BloomList *list, const BloomListType *type,
							   MemoryContext context, Size size);
extern void bloomexp_list_make_space(BloomList *list, uint64 n);
extern void bloomexp_list_append(BloomList *list, const void *elements, uint64 n);
extern void bloomexp_list_compact(BloomList *list);

/* Add an element; `size` is that of the type, as a constant. */
static inline void
bloomexp_list_add(BloomList *list, const void *element, Size size)
{
	if (list->n == list->space)
		bloomexp_list_make_space(list, 1);
	memcpy((char *) list->elements + list->n * size, element, size);
	list->n++;
}

#endif							/* BLOOMEXP_LIST_H */
