/*-------------------------------------------------------------------------
 *
 * union.h
 *	  Unions of filters.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_UNION_H
#define BLOOMEXP_UNION_H

#include "value/layout.h"

extern struct varlena *bloomexp_union_form(const BloomFilter *a, const BloomFilter *b);

#endif							/* BLOOMEXP_UNION_H */
