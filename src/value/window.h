/*-------------------------------------------------------------------------
 *
 * window.h
 *	  Sliding windows: filters that forget old items.
 *
 * A time is in microseconds since 2000-01-01 00:00 UTC, as in a timestamptz.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_WINDOW_H
#define BLOOMEXP_WINDOW_H

#include "kernel/sort.h"
#include "value/layout.h"

/* Return the length of a slice in microseconds. */
static inline int64
bloomexp_window_slice_length(int64 width, int32 slices)
{
	return width / slices + (width % slices > 0);
}

/* Return the number of the slice that contains a time.  Slices are `length` microseconds long. */
static inline int64
bloomexp_window_slice_of(int64 time, int64 length)
{
	return time / length - (time % length < 0); /* rounded down */
}

/* Return the number of the slice of a filter that contains a time. */
static inline int64
bloomexp_window_slice_at(const BloomFilter *filter, int64 time)
{
	return bloomexp_window_slice_of(time,
									bloomexp_window_slice_length(filter->width, filter->slices));
}

/* Flags of an add. */
#define BLOOMEXP_ADD_FINAL		0x01	/* last items of their slices: leave no room for more */
#define BLOOMEXP_ADD_DROP_OLD	0x02	/* drop the slices that leave the window */

extern void bloomexp_window_check(int64 width, int32 slices, double fpr);
extern void bloomexp_window_init(BloomFilter *filter, int64 width, int32 slices,
								 double fpr);
extern uint64 bloomexp_window_keep_newest(BloomExposure *exposures, uint64 n);
extern struct varlena *bloomexp_window_add(const BloomFilter *filter, BloomKind kind,
										   BloomExposure *exposures, uint64 n, int flags);
extern struct varlena *bloomexp_window_add_hashes(const BloomFilter *filter, BloomKind kind,
												  const uint64 *hashes, int n,
												  int64 shown_at, int flags);
extern uint32 bloomexp_window_expired_layers(const BloomFilter *filter, int64 start);
extern struct varlena *bloomexp_window_expire(BloomFilter *filter, int64 at);

#endif							/* BLOOMEXP_WINDOW_H */
