/*-------------------------------------------------------------------------
 *
 * hashes.h
 *	  Arrays of hashes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_HASHES_H
#define BLOOMEXP_HASHES_H

#include "utils/array.h"

extern ArrayType *bloomexp_hashes_to_array(const uint64 *hashes, int n);

#endif							/* BLOOMEXP_HASHES_H */
