/*-------------------------------------------------------------------------
 *
 * bloomexp.c
 *	  The exposure filter for feeds: makes the modules below this folder one library.
 *
 * kernel is arithmetic in plain C, value works on filters in memory, sql is what SQL
 * calls on values; each layer includes only those before it.  src/README.md has the list of modules.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "value/compat.h"

BLOOMEXP_MODULE_MAGIC;
