/*-------------------------------------------------------------------------
 *
 * bloomexp.c
 *	  The exposure filter for feeds: one library of the modules below this folder.
 *
 * kernel is arithmetic in plain C, value works on filters in memory, sql is what SQL
 * calls on values; each layer knows only those before it.  src/README.md lists the
 * modules.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "value/compat.h"

BLOOMEXP_MODULE_MAGIC;
