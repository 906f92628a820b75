/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  Differences between the versions of PostgreSQL, 15 to 19.
 *
 * No other C file depends on the version.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_COMPAT_H
#define BLOOMEXP_COMPAT_H

#if PG_VERSION_NUM < 150000
#error "bloomexp needs PostgreSQL 15 or later"
#endif

#if PG_VERSION_NUM >= 160000
#include "nodes/miscnodes.h"
#include "varatt.h"
#endif

/*
 * Since PostgreSQL 16 an input function can report bad input as a soft error, for
 * pg_input_is_valid() and COPY ... ON_ERROR.  Earlier versions have only hard errors, and always
 * pass NULL as the context.
 */
#if PG_VERSION_NUM < 160000
#define ereturn(context, value, ...) \
	do \
	{ \
		(void) (context); \
		ereport(ERROR, __VA_ARGS__); \
		return (value);			/* not reached */ \
	} while (0)
#endif

/* Since PostgreSQL 17 intervals can be infinite. */
#if PG_VERSION_NUM < 170000
#define INTERVAL_NOT_FINITE(interval) ((void) (interval), false)
#endif

/* Since PostgreSQL 17 the estimate of the length of an array needs the planner's state. */
#if PG_VERSION_NUM >= 170000
#define BLOOMEXP_ARRAY_LENGTH(root, expr) estimate_array_length(root, expr)
#else
#define BLOOMEXP_ARRAY_LENGTH(root, expr) ((double) estimate_array_length(expr))
#endif

/* PostgreSQL 16 renamed the function that returns the status entry of a backend. */
#if PG_VERSION_NUM >= 160000
#define BLOOMEXP_BACKEND_STATUS(index) pgstat_get_local_beentry_by_index(index)
#else
#define BLOOMEXP_BACKEND_STATUS(index) pgstat_fetch_stat_local_beentry(index)
#endif

/* PostgreSQL 17 moved the local transaction ID of a process. */
#if PG_VERSION_NUM >= 170000
#define BLOOMEXP_TRANSACTION(proc) ((proc)->vxid.lxid)
#else
#define BLOOMEXP_TRANSACTION(proc) ((proc)->lxid)
#endif

/*
 * Since PostgreSQL 18 a module can have a name and a version, which pg_get_loaded_modules()
 * returns.  The Makefile defines the version.
 */
#if PG_VERSION_NUM >= 180000
#define BLOOMEXP_MODULE_MAGIC PG_MODULE_MAGIC_EXT(.name = "bloomexp", .version = BLOOMEXP_VERSION)
#else
#define BLOOMEXP_MODULE_MAGIC PG_MODULE_MAGIC
#endif

#endif							/* BLOOMEXP_COMPAT_H */
