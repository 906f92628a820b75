/*-------------------------------------------------------------------------
 *
 * row.h
 *	  The row of a user in a feed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_ROW_H
#define BLOOMEXP_ROW_H

#include "fmgr.h"

#include "value/layout.h"

/*
 * Maximum number of hashes in `recent`; with the header of an array they take 2,000 bytes.  The
 * scripts of feeds have this number, too (take, track), so a change reaches a feed only when its
 * script is applied again.
 */
#define BLOOMEXP_ROW_MAX_RECENT 247

/* The SQL type bloomexp.row_settings: the settings that all rows of a feed share. */
typedef struct BloomRowSettings
{
	int64		width;			/* of the window, in microseconds; 0: the feed never forgets */
	int32		slices;			/* of the window; 1 without one */
	BloomKind	kind;			/* of the items */
	double		fpr;			/* target rate for items added to a filter */
	int64		capacity;		/* of the first layer of a filter without a window */
} BloomRowSettings;

extern BloomRowSettings bloomexp_row_get_settings(FunctionCallInfo fcinfo, int argno);
extern int64 bloomexp_row_slice_of(const BloomRowSettings *settings, int64 time);
extern Datum bloomexp_row_slice_start(const BloomRowSettings *settings, int64 slice,
									  bool *isnull);

#endif							/* BLOOMEXP_ROW_H */
