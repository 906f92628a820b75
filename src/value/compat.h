/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  PostgreSQL as all rooms see it: what differs between 13 and 18, in one
 *	  place, and when to look for a cancel.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_COMPAT_H
#define BLOOMEXP_COMPAT_H

#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/nodes.h"

/*
 * Soft errors: from PostgreSQL 16 on an input function can report bad input to
 * its caller (pg_input_is_valid, COPY ... ON_ERROR).  Before, every error is
 * hard, and the context is always NULL.
 */
#if PG_VERSION_NUM >= 160000
#include "nodes/miscnodes.h"
#include "varatt.h"
#else
#define ereturn(context, value, ...) \
	do { \
		(void) (context); \
		ereport(ERROR, __VA_ARGS__); \
		return (value);			/* not reached */ \
	} while (0)
#endif

/* Items or bytes that a loop may go through between two looks for a cancel. */
#define BLOOMEXP_INTERRUPT_EVERY 65536

#endif							/* BLOOMEXP_COMPAT_H */
