/*-------------------------------------------------------------------------
 *
 * arguments.h
 *	  Arguments and results of SQL functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_ARGUMENTS_H
#define BLOOMEXP_ARGUMENTS_H

#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "fmgr.h"
#include "utils/array.h"

#include "kernel/murmur3.h"
#include "sql/item.h"
#include "value/kind.h"

#define PG_GETARG_BLOOM_PP(n) ((struct varlena *) PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(n)))

/*
 * Define an SQL-callable function for each kind of items: it calls
 * body(fcinfo, kind).
 */
#define BLOOMEXP_FUNCTION(body, suffix, kind) \
	PG_FUNCTION_INFO_V1(bloomexp_##body##_##suffix); \
	Datum \
	bloomexp_##body##_##suffix(PG_FUNCTION_ARGS) \
	{ \
		return body(fcinfo, kind); \
	} \
	extern Datum bloomexp_##body##_##suffix(PG_FUNCTION_ARGS)

#define BLOOMEXP_FUNCTION_PER_KIND(body) \
	BLOOMEXP_FUNCTION(body, int8, BLOOM_KIND_INTEGER); \
	BLOOMEXP_FUNCTION(body, text, BLOOM_KIND_TEXT); \
	BLOOMEXP_FUNCTION(body, uuid, BLOOM_KIND_UUID); \
	BLOOMEXP_FUNCTION(body, bytea, BLOOM_KIND_BYTEA)

extern void bloomexp_arguments_require_not_null(FunctionCallInfo fcinfo, int first,
												const char *const *names, int n);
extern const BloomItemType *bloomexp_arguments_item_type(FunctionCallInfo fcinfo);
extern ArrayType *bloomexp_arguments_array(FunctionCallInfo fcinfo, int argno);
extern int64 bloomexp_arguments_check_time(Datum time, bool isnull, const char *name);
extern int64 bloomexp_arguments_time(FunctionCallInfo fcinfo, int argno, const char *name);
extern int64 bloomexp_arguments_width(const Interval *interval);

/* Return argument 0 as it came, with its TOAST pointer, so that an UPDATE is free. */
static inline Datum
bloomexp_arguments_return_untouched(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}

/* Return the result of a change to argument 0: the new value, or the old one if that is NULL. */
static inline Datum
bloomexp_arguments_return_changed(FunctionCallInfo fcinfo, struct varlena *value)
{
	if (value == NULL)
		return bloomexp_arguments_return_untouched(fcinfo);
	PG_RETURN_POINTER(value);
}

/* Return the hash of argument 1, an item of a type, not NULL. */
static inline uint64
bloomexp_arguments_hash(FunctionCallInfo fcinfo, const BloomItemType *type)
{
	switch (type->oid)
	{
		case INT8OID:
			return bloomexp_murmur3_int64((uint64) PG_GETARG_INT64(1));
		case INT4OID:
			return bloomexp_murmur3_int64((uint64) (int64) PG_GETARG_INT32(1));
		case INT2OID:
			return bloomexp_murmur3_int64((uint64) (int64) PG_GETARG_INT16(1));
		default:
			return bloomexp_item_hash(type->kind, type->oid == BPCHAROID, PG_GETARG_DATUM(1));
	}
}

#endif							/* BLOOMEXP_ARGUMENTS_H */
