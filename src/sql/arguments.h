/*-------------------------------------------------------------------------
 *
 * arguments.h
 *	  Arguments and results of SQL functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_ARGUMENTS_H
#define BLOOMEXP_ARGUMENTS_H

#include "datatype/timestamp.h"
#include "fmgr.h"
#include "utils/array.h"

#include "sql/item.h"

#define PG_GETARG_BLOOM_PP(n) ((struct varlena *) PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(n)))

extern void bloomexp_arguments_require(FunctionCallInfo fcinfo, int argno, const char *name);
extern const BloomItemType *bloomexp_arguments_item_type(FunctionCallInfo fcinfo, int argno);
extern ArrayType *bloomexp_arguments_array(FunctionCallInfo fcinfo, int argno);
extern const uint64 *bloomexp_arguments_hashes(FunctionCallInfo fcinfo, int argno, int *n);
extern BloomKind bloomexp_arguments_kind(Datum name);
extern BloomFilter *bloomexp_arguments_filter(FunctionCallInfo fcinfo, BloomFilter *space);
extern void bloomexp_arguments_require_windowed(const BloomFilter *filter,
												const char *function);
extern void bloomexp_arguments_open_windowed(FunctionCallInfo fcinfo, BloomFilter *filter,
											 const char *function);
extern int64 bloomexp_arguments_time(NullableDatum time, const char *name);
extern int64 bloomexp_arguments_width(const Interval *interval);

/*
 * Return argument 0 unchanged, not detoasted, so that an UPDATE keeps its TOAST pointer and writes
 * no copy.
 */
static inline Datum
bloomexp_arguments_return_untouched(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}

/* Return a changed value of argument 0, or argument 0 unchanged if `value` is NULL. */
static inline Datum
bloomexp_arguments_return_changed(FunctionCallInfo fcinfo, struct varlena *value)
{
	if (value == NULL)
		return bloomexp_arguments_return_untouched(fcinfo);
	PG_RETURN_POINTER(value);
}

#endif							/* BLOOMEXP_ARGUMENTS_H */
