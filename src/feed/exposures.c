/*-------------------------------------------------------------------------
 *
 * exposures.c
 *	  Exposures, gathered and grouped by their users.
 *
 * An exposure is a hash here, and a time if the filters are windows.  It often has the user
 * of the one before: a page of a feed is one user's, and an index gives them in order.
 * If all exposures of each user come in a row, they stay where they are.  Other users are
 * found by a hash table, if their type has a hash function; without one,
 * a user is there once per run of his exposures, until all are sorted.
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
#include "utils/typcache.h"
#include "utils/uuid.h"

#include "feed/exposures.h"
#include "kernel/batch.h"
#include "kernel/murmur3.h"
#include "sql/item.h"
#include "value/kind.h"

#define INITIAL_SPACE 64

/* The place of a user. */
typedef struct Found
{
	Datum		user;
	uint32		index;
	uint32		hash;
	char		status;
} Found;

static inline uint32
hash_user(BloomExposures *exposures, Datum user)
{
	return DatumGetUInt32(FunctionCall1Coll(exposures->hash, exposures->order.ssup_collation, user));
}

#define SH_PREFIX found
#define SH_ELEMENT_TYPE Found
#define SH_KEY_TYPE Datum
#define SH_KEY user
#define SH_HASH_KEY(table, key) hash_user((table)->private_data, key)
#define SH_EQUAL(table, a, b) (bloomexp_exposures_compare((table)->private_data, a, b) == 0)
#define SH_STORE_HASH
#define SH_GET_HASH(table, element) ((element)->hash)
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/*
 * bloomexp_exposures_begin
 *		No exposures, in the current memory context; items of a kind are hashed by `seed`.
 */
void
bloomexp_exposures_begin(BloomExposures *exposures, const BloomKey *key, BloomKind kind,
						 uint32 seed, bool timed)
{
	TypeCacheEntry *type = lookup_type_cache(key->compared_type, TYPECACHE_HASH_PROC_FINFO);

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
	if (OidIsValid(type->hash_proc))
	{
		exposures->hash = &type->hash_proc_finfo;
		exposures->found = found_create(CurrentMemoryContext, INITIAL_SPACE, exposures);
	}

	exposures->space = exposures->users_space = INITIAL_SPACE;
	exposures->hashes = palloc(INITIAL_SPACE * sizeof(uint64));
	exposures->items = NULL;
	exposures->times = timed ? palloc(INITIAL_SPACE * sizeof(int64)) : NULL;
	exposures->owners = palloc(INITIAL_SPACE * sizeof(uint32));
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

/* Add a user, of whom the caller's memory may go; returns the copy. */
static Datum
add_user(BloomExposures *exposures, Datum user)
{
	MemoryContext caller;

	if (exposures->nusers == exposures->users_space)
	{
		if (exposures->users_space > PG_INT32_MAX)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("too many users in one statement")));
		exposures->users_space *= 2;
		exposures->users = repalloc_huge(exposures->users, exposures->users_space * sizeof(BloomShown));
	}
	caller = MemoryContextSwitchTo(exposures->context);
	user = datumCopy(user, exposures->by_value, exposures->length);
	MemoryContextSwitchTo(caller);
	exposures->users[exposures->nusers] = (BloomShown) {.user = user, .first = exposures->n, .index = exposures->nusers};
	exposures->nusers++;
	return user;
}

/* Find a user, who may be new; returns his index. */
static uint32
find_user(BloomExposures *exposures, Datum user)
{
	Found	   *found;
	bool		is_there;

	if (exposures->found == NULL)
	{
		(void) add_user(exposures, user);
		return exposures->nusers - 1;
	}
	found = found_insert(exposures->found, user, &is_there);
	if (!is_there)
	{
		found->user = add_user(exposures, user);
		found->index = exposures->nusers - 1;
	}
	return found->index;
}

/* Hash an item. */
static inline uint64
hash_item(BloomKind kind, Datum item, uint32 seed)
{
	return kind == BLOOM_KIND_INTEGER ? bloomexp_murmur3_int64((uint64) DatumGetInt64(item), seed) :
		bloomexp_item_hash(kind, false, item, seed);
}

/* Keep an item, of which the caller's memory may go. */
static void
keep_item(BloomExposures *exposures, uint64 n, Datum item)
{
	MemoryContext caller = MemoryContextSwitchTo(exposures->context);
	bool		by_value = exposures->kind == BLOOM_KIND_INTEGER && FLOAT8PASSBYVAL;
	int			length = exposures->kind == BLOOM_KIND_INTEGER ? (int) sizeof(int64) :
		exposures->kind == BLOOM_KIND_UUID ? UUID_LEN : -1;

	if (exposures->items == NULL)
		exposures->items = palloc_extended(exposures->space * sizeof(Datum), MCXT_ALLOC_HUGE);
	exposures->items[n] = datumCopy(item, by_value, length);
	MemoryContextSwitchTo(caller);
}

/*
 * bloomexp_exposures_add
 *		Add an exposure; neither user nor item is NULL.
 */
void
bloomexp_exposures_add(BloomExposures *exposures, Datum user, Datum item, int64 time)
{
	uint64		n = exposures->n;
	uint32		owner = n > 0 ? exposures->owners[n - 1] : 0;

	if (n == 0 || bloomexp_exposures_compare(exposures, exposures->users[owner].user, user) != 0)
	{
		owner = find_user(exposures, user);
		exposures->runs++;
	}
	if (n == exposures->space)
	{
		exposures->space *= 2;
		exposures->hashes = repalloc_huge(exposures->hashes, exposures->space * sizeof(uint64));
		exposures->owners = repalloc_huge(exposures->owners, exposures->space * sizeof(uint32));
		if (exposures->timed)
			exposures->times = repalloc_huge(exposures->times, exposures->space * sizeof(int64));
		if (exposures->items)
			exposures->items = repalloc_huge(exposures->items, exposures->space * sizeof(Datum));
	}
	if (exposures->keeps_items)
		keep_item(exposures, n, item);
	exposures->hashes[n] = hash_item(exposures->kind, item, exposures->seed);
	if (exposures->timed)
		exposures->times[n] = time;
	exposures->owners[n] = owner;
	exposures->n++;
	exposures->users[owner].n++;
}

/* Order users, and those who are the same as they came. */
static int
compare_users(const void *a, const void *b, void *exposures)
{
	const BloomShown *x = a;
	const BloomShown *y = b;
	int			order = bloomexp_exposures_compare(exposures, x->user, y->user);

	if (order != 0)
		return order;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* Sort the users and join those who are the same; places[] gets where each is now. */
static void
sort_users(BloomExposures *exposures, uint32 *places)
{
	uint32		nusers = 0;

	qsort_arg(exposures->users, exposures->nusers, sizeof(BloomShown), compare_users, exposures);
	for (uint32 i = 0; i < exposures->nusers; i++)
	{
		BloomShown	shown = exposures->users[i];

		if (nusers > 0 &&
			bloomexp_exposures_compare(exposures, exposures->users[nusers - 1].user, shown.user) == 0)
			exposures->users[nusers - 1].n += shown.n;
		else
			exposures->users[nusers++] = shown;
		places[shown.index] = nusers - 1;
	}
	exposures->nusers = nusers;
}

/* Put the exposures of each user in a row; places[] has where the users are now. */
static void
move_together(BloomExposures *exposures, const uint32 *places)
{
	uint64		space = Max(exposures->n, 1);
	uint64	   *hashes = palloc_extended(space * sizeof(uint64), MCXT_ALLOC_HUGE);
	int64	   *times = exposures->timed ? palloc_extended(space * sizeof(int64), MCXT_ALLOC_HUGE) : NULL;
	Datum	   *items = exposures->items ? palloc_extended(space * sizeof(Datum), MCXT_ALLOC_HUGE) : NULL;
	uint64	   *ends = palloc_extended(Max(exposures->nusers, 1) * sizeof(uint64), MCXT_ALLOC_HUGE);
	uint64		end = 0;

	for (uint32 i = 0; i < exposures->nusers; i++)
	{
		exposures->users[i].first = ends[i] = end;
		end += exposures->users[i].n;
	}
	for (uint64 i = 0; i < exposures->n; i++)
	{
		uint64		place = ends[places[exposures->owners[i]]]++;

		if (i % BLOOMEXP_INTERRUPT_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		hashes[place] = exposures->hashes[i];
		if (times)
			times[place] = exposures->times[i];
		if (items)
			items[place] = exposures->items[i];
	}

	pfree(ends);
	pfree(exposures->hashes);
	if (times)
		pfree(exposures->times);
	if (items)
		pfree(exposures->items);
	exposures->items = items;
	exposures->hashes = hashes;
	exposures->times = times;
}

/*
 * bloomexp_exposures_group
 *		Order the users, of whom each is there once then, and put the exposures of each in
 *		a row.
 */
void
bloomexp_exposures_group(BloomExposures *exposures)
{
	MemoryContext caller = MemoryContextSwitchTo(exposures->context);
	uint32	   *places = palloc_extended(Max(exposures->nusers, 1) * sizeof(uint32), MCXT_ALLOC_HUGE);

	sort_users(exposures, places);
	/* with a run for each user they came in a row */
	if (exposures->runs != exposures->nusers)
		move_together(exposures, places);
	pfree(places);
	pfree(exposures->owners);
	exposures->owners = NULL;
	MemoryContextSwitchTo(caller);
}

/*
 * bloomexp_exposures_hash
 *		The hashes of what a user was shown, by a seed; by another one than that of the
 *		exposures only if the items are kept.
 */
void
bloomexp_exposures_hash(const BloomExposures *exposures, const BloomShown *shown, uint32 seed, uint64 *hashes)
{
	if (seed == exposures->seed)
	{
		memcpy(hashes, exposures->hashes + shown->first, shown->n * sizeof(uint64));
		return;
	}
	for (uint64 i = 0; i < shown->n; i++)
		hashes[i] = hash_item(exposures->kind, exposures->items[shown->first + i], seed);
}
