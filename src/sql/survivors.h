/*-------------------------------------------------------------------------
 *
 * survivors.h
 *	  The candidates that no filter of a call contains.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_SURVIVORS_H
#define BLOOMEXP_SURVIVORS_H

#include "fmgr.h"
#include "utils/array.h"

#include "sql/item.h"
#include "sql/stored.h"
#include "value/kind.h"

/* The filters of a call, all asked in turn. */
typedef struct BloomFilters
{
	BloomStored *stored;
	int			n;
} BloomFilters;

extern void bloomexp_survivors_check_type(FunctionCallInfo fcinfo, int argno);
extern void bloomexp_survivors_require_kind(const BloomFilters *filters, BloomKind kind);
extern void bloomexp_survivors_mark(const BloomFilters *filters, BloomBatch *batch, bool *exposed);
extern ArrayType *bloomexp_survivors_open_array(MemoryContext context,
												const ArrayType *candidates);
extern ArrayType *bloomexp_survivors_close_array(ArrayType *array, char *end, int survivors,
												 Oid element_type);

#endif							/* BLOOMEXP_SURVIVORS_H */
