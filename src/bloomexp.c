/*-------------------------------------------------------------------------
 *
 * bloomexp.c
 *	  The exposure filter for feeds: what makes the rooms of this folder one
 *	  module.
 *
 * Each room knows only those before it:
 *
 *	compat		PostgreSQL as all rooms see it, whatever its release
 *	murmur3		a hash
 *	item		SQL values that can be items, and their hashes
 *	sizing		items and false positive rate to bits and probes, and back
 *	probe		kernels over the bits of one layer
 *	layout		the bytes of a value: doc/format.md
 *	hashset		hashes without repetitions
 *	filter		contain, add, grow, remove
 *	union		two filters made one
 *	window		filters that forget
 *	datum		arguments of SQL functions
 *	io, functions, timed, exclude, aggregate, window_aggregate, info
 *				the SQL functions, as bloomexp--1.0.sql declares them
 *	track		the trigger; bloomexp--1.0.sql writes its statements
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

PG_MODULE_MAGIC;
