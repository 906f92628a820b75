/*-------------------------------------------------------------------------
 *
 * track.h
 *	  What a trigger on bloom_track() does.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_TRACK_H
#define BLOOMEXP_TRACK_H

#include "feed/columns.h"
#include "feed/rows.h"
#include "feed/triggers.h"

typedef struct BloomTracker
{
	BloomRows	rows;
	BloomColumns columns;
	Node	   *condition;		/* or NULL */
	bool		windowed;		/* are the filters that it changes? */
} BloomTracker;

extern void bloomexp_track_read(const BloomExtension *extension, Oid source, int nargs, char **args,
								BloomTracker *tracker);

#endif							/* BLOOMEXP_TRACK_H */
