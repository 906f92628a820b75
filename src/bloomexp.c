/*-------------------------------------------------------------------------
 *
 * bloomexp.c
 *	  The magic block of the loadable module.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "compat.h"

BLOOMEXP_MODULE_MAGIC;
