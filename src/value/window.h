/*-------------------------------------------------------------------------
 *
 * window.h
 *	  Sliding windows: filters that forget.
 *
 * Times are microseconds since 2000-01-01 00:00 UTC, as in a timestamptz; time
 * zones play no part.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_WINDOW_H
#define BLOOMEXP_WINDOW_H

#include "value/layout.h"

/* Length of a slice in microseconds. */
static inline int64
bloomexp_window_slice_length(int64 width, int32 slices)
{
	return width / slices + (width % slices > 0);
}

/* Number of the slice, `length` microseconds long, in which a time lies. */
static inline int64
bloomexp_window_slice_of(int64 time, int64 length)
{
	return time / length - (time % length < 0); /* rounded down */
}

/* Number of the slice of a filter in which a time lies. */
static inline int64
bloomexp_window_slice_at(const BloomFilter *filter, int64 time)
{
	return bloomexp_window_slice_of(time,
									bloomexp_window_slice_length(filter->width, filter->slices));
}

/* An item and the slice of time in which it was shown. */
typedef struct BloomExposure
{
	uint64		hash;
	int64		slice;
} BloomExposure;

extern void bloomexp_window_check(int64 width, int32 slices, double fpr);
extern void bloomexp_window_init(BloomFilter *filter, int64 width, int32 slices,
								 double fpr);
extern uint64 bloomexp_window_keep_newest(BloomExposure *exposures, uint64 n);
extern struct varlena *bloomexp_window_add(BloomFilter *filter, BloomKind kind,
										   BloomExposure *exposures, uint64 n,
										   bool final, bool drop_old);
extern struct varlena *bloomexp_window_add_hashes(BloomFilter *filter, BloomKind kind,
												  const uint64 *hashes, int n,
												  int64 shown_at, bool final);
extern uint32 bloomexp_window_expired_layers(const BloomFilter *filter, int64 start);
extern struct varlena *bloomexp_window_expire(BloomFilter *filter, int64 at);
extern struct varlena *bloomexp_window_cut(BloomFilter *filter, uint32 first, uint32 end);

#endif							/* BLOOMEXP_WINDOW_H */
