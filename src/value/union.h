/*-------------------------------------------------------------------------
 *
 * union.h
 *	  Two filters made one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_UNION_H
#define BLOOMEXP_UNION_H

#include "value/layout.h"

extern struct varlena *bloomexp_union_make(BloomFilter *a, BloomFilter *b);

#endif							/* BLOOMEXP_UNION_H */
