/*-------------------------------------------------------------------------
 *
 * exposures.c
 *	  Exposures, gathered and grouped by their users.
 *
 * Exposures often come many in a row for one user: a page of a feed is one user's, and an
 * index gives them in order.  So what is kept of users are runs, and what is sorted are
 * runs; an exposure is a hash, and a time if somebody asks for it.
 *
 * Users are in the order of the index by which their rows are found, which is the order
 * in which everybody locks these rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "feed/exposures.h"
#include "kernel/batch.h"
#include "kernel/murmur3.h"
#include "sql/item.h"
#include "value/kind.h"

#define INITIAL_SPACE 64

/*
 * bloomexp_exposures_begin
 *		No exposures, in the current memory context; items of a kind are hashed by `seed`.
 */
void
bloomexp_exposures_begin(BloomExposures *exposures, const BloomKey *key, BloomKind kind,
						 uint32 seed, bool timed)
{
	memset(exposures, 0, sizeof(*exposures));
	exposures->context = CurrentMemoryContext;
	exposures->kind = kind;
	exposures->seed = seed;
	exposures->timed = timed;
	exposures->length = key->length;
	exposures->by_value = key->by_value;
	exposures->order.ssup_cxt = CurrentMemoryContext;
	exposures->order.ssup_collation = key->collation;
	PrepareSortSupportFromOrderingOp(key->less, &exposures->order);

	exposures->space = exposures->users_space = INITIAL_SPACE;
	exposures->hashes = palloc(INITIAL_SPACE * sizeof(uint64));
	exposures->times = timed ? palloc(INITIAL_SPACE * sizeof(int64)) : NULL;
	exposures->users = palloc(INITIAL_SPACE * sizeof(BloomShown));
}

/*
 * bloomexp_exposures_compare
 *		Compare two users.
 */
int
bloomexp_exposures_compare(BloomExposures *exposures, Datum a, Datum b)
{
	return ApplySortComparator(a, false, b, false, &exposures->order);
}

/* Begin a run of a user, of whom the caller's memory may go. */
static void
begin_run(BloomExposures *exposures, Datum user)
{
	MemoryContext caller;

	if (exposures->nusers == exposures->users_space)
	{
		exposures->users_space *= 2;
		exposures->users = repalloc_huge(exposures->users, exposures->users_space * sizeof(BloomShown));
	}
	caller = MemoryContextSwitchTo(exposures->context);
	exposures->users[exposures->nusers++] = (BloomShown) {
		.user = datumCopy(user, exposures->by_value, exposures->length),
		.first = exposures->n
	};
	MemoryContextSwitchTo(caller);
}

/*
 * bloomexp_exposures_add
 *		Add an exposure; neither user nor item is NULL.
 */
void
bloomexp_exposures_add(BloomExposures *exposures, Datum user, Datum item, int64 time)
{
	if (exposures->nusers == 0 ||
		bloomexp_exposures_compare(exposures, exposures->users[exposures->nusers - 1].user, user) != 0)
		begin_run(exposures, user);
	if (exposures->n == exposures->space)
	{
		exposures->space *= 2;
		exposures->hashes = repalloc_huge(exposures->hashes, exposures->space * sizeof(uint64));
		if (exposures->timed)
			exposures->times = repalloc_huge(exposures->times, exposures->space * sizeof(int64));
	}
	exposures->hashes[exposures->n] = exposures->kind == BLOOM_KIND_INTEGER ?
		bloomexp_murmur3_int64((uint64) DatumGetInt64(item), exposures->seed) :
		bloomexp_item_hash(exposures->kind, false, item, exposures->seed);
	if (exposures->timed)
		exposures->times[exposures->n] = time;
	exposures->n++;
	exposures->users[exposures->nusers - 1].n++;
}

/* Order runs by user, and by place for those of one user. */
static int
compare_runs(const void *a, const void *b, void *argument)
{
	const BloomShown *x = a;
	const BloomShown *y = b;
	int			order = bloomexp_exposures_compare(argument, x->user, y->user);

	if (order != 0)
		return order;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* Are there runs to sort or to join? */
static bool
is_grouped(BloomExposures *exposures)
{
	for (uint64 i = 1; i < exposures->nusers; i++)
	{
		if (bloomexp_exposures_compare(exposures, exposures->users[i - 1].user,
									   exposures->users[i].user) >= 0)
			return false;
	}
	return true;
}

/*
 * bloomexp_exposures_group
 *		Order the exposures by their users, of whom each is there once then.
 */
void
bloomexp_exposures_group(BloomExposures *exposures)
{
	MemoryContext caller;
	uint64	   *hashes;
	int64	   *times = NULL;
	uint64		nusers = 0;
	uint64		n = 0;

	if (is_grouped(exposures))
		return;
	CHECK_FOR_INTERRUPTS();
	qsort_arg(exposures->users, exposures->nusers, sizeof(BloomShown), compare_runs, exposures);

	caller = MemoryContextSwitchTo(exposures->context);
	hashes = palloc_extended(exposures->space * sizeof(uint64), MCXT_ALLOC_HUGE);
	if (exposures->timed)
		times = palloc_extended(exposures->space * sizeof(int64), MCXT_ALLOC_HUGE);
	for (uint64 i = 0; i < exposures->nusers; i++)
	{
		BloomShown	run = exposures->users[i];

		if (i % BLOOMEXP_INTERRUPT_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		memcpy(hashes + n, exposures->hashes + run.first, run.n * sizeof(uint64));
		if (times)
			memcpy(times + n, exposures->times + run.first, run.n * sizeof(int64));
		if (nusers > 0 && bloomexp_exposures_compare(exposures, exposures->users[nusers - 1].user,
													 run.user) == 0)
			exposures->users[nusers - 1].n += run.n;
		else
			exposures->users[nusers++] = (BloomShown) {.user = run.user, .first = n, .n = run.n};
		n += run.n;
	}
	pfree(exposures->hashes);
	if (times)
		pfree(exposures->times);
	exposures->hashes = hashes;
	exposures->times = times;
	exposures->nusers = nusers;
	MemoryContextSwitchTo(caller);
}
