/*-------------------------------------------------------------------------
 *
 * probe.h
 *	  The kernels that set and test the positions of items over raw memory.
 *
 * Of counters, too, by counting.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_PROBE_H
#define BLOOMEXP_PROBE_H

#include "kernel/bits.h"

extern bool bloomexp_probe_contains(const BloomBits *bits, uint64_t hash);
extern int	bloomexp_probe_hits(const BloomBits *bits, const uint64_t *hashes, int n, uint16_t *hits);
extern uint32_t bloomexp_probe_set(const BloomBits *bits, uint64_t hash);
extern void bloomexp_probe_set_many(const BloomBits *bits, const uint64_t *hashes, uint64_t n);
extern void bloomexp_probe_merge(const BloomBits *bits, const BloomBits *other);
extern uint64_t bloomexp_probe_count_set(const BloomBits *bits);

#endif							/* BLOOMEXP_PROBE_H */
