/*-------------------------------------------------------------------------
 *
 * bloomexp.c
 *	  The module, as PostgreSQL loads it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "compat.h"

BLOOMEXP_MODULE_MAGIC;
