/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  What differs between the versions of PostgreSQL, 15 to 19: no other C file
 *	  depends on a version.
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
 * Soft errors: from PostgreSQL 16 on an input function can report bad input to
 * its caller (pg_input_is_valid, COPY ... ON_ERROR).  Before, every error is
 * hard, and the context is always NULL.
 */
#if PG_VERSION_NUM < 160000
#define ereturn(context, value, ...) \
	do { \
		(void) (context); \
		ereport(ERROR, __VA_ARGS__); \
		return (value);			/* not reached */ \
	} while (0)
#endif

/* Intervals can be infinite from PostgreSQL 17 on. */
#if PG_VERSION_NUM < 170000
#define INTERVAL_NOT_FINITE(interval) ((void) (interval), false)
#endif

/* PostgreSQL 17 estimates an array's length with the planner's state at hand. */
#if PG_VERSION_NUM >= 170000
#define BLOOMEXP_ARRAY_LENGTH(root, expr) estimate_array_length(root, expr)
#else
#define BLOOMEXP_ARRAY_LENGTH(root, expr) ((double) estimate_array_length(expr))
#endif

/* PostgreSQL 16 renamed the function that returns what a backend reports of itself. */
#if PG_VERSION_NUM >= 160000
#define BLOOMEXP_BACKEND_STATUS(index) pgstat_get_local_beentry_by_index(index)
#else
#define BLOOMEXP_BACKEND_STATUS(index) pgstat_fetch_stat_local_beentry(index)
#endif

/* PostgreSQL 17 moved a session's number of its transaction. */
#if PG_VERSION_NUM >= 170000
#define BLOOMEXP_TRANSACTION(proc) ((proc)->vxid.lxid)
#else
#define BLOOMEXP_TRANSACTION(proc) ((proc)->lxid)
#endif

/*
 * PostgreSQL 18 can report the name and version of a module that is loaded; the version
 * comes from the Makefile.
 */
#if PG_VERSION_NUM >= 180000
#define BLOOMEXP_MODULE_MAGIC PG_MODULE_MAGIC_EXT(.name = "bloomexp", .version = BLOOMEXP_VERSION)
#else
#define BLOOMEXP_MODULE_MAGIC PG_MODULE_MAGIC
#endif

#endif							/* BLOOMEXP_COMPAT_H */
