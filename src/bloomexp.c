/*-------------------------------------------------------------------------
 *
 * bloomexp.c
 *	  The exposure filter for feeds: makes the rooms below this folder one module.
 *
 * kernel is arithmetic in plain C, value works on filters in memory, sql is what SQL
 * calls on values, feed reads and writes tables; each floor knows only those before
 * it.  src/README.md has the list of rooms.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "value/compat.h"

BLOOMEXP_MODULE_MAGIC;
