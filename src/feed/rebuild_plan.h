/*-------------------------------------------------------------------------
 *
 * rebuild_plan.h
 *	  What a rebuild is to do: its arguments and its statements.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_REBUILD_PLAN_H
#define BLOOMEXP_REBUILD_PLAN_H

#include "datatype/timestamp.h"
#include "executor/spi.h"
#include "fmgr.h"

#include "feed/columns.h"
#include "feed/definition.h"
#include "feed/exposures.h"

/* The statements, and their arguments. */
typedef enum BloomRebuildStatement
{
	BLOOM_REBUILD_FIRST_USERS,	/* limit, start of the window */
	BLOOM_REBUILD_NEXT_USERS,	/* limit, start of the window, last user */
	BLOOM_REBUILD_PRESENT,	/* users */
	BLOOM_REBUILD_LOCK_FREE,	/* users */
	BLOOM_REBUILD_LOCK_ALL,	/* users */
	BLOOM_REBUILD_EXPOSURES,	/* start of the window, users */
	BLOOM_REBUILD_WRITE,	/* users, filters */
	BLOOM_REBUILD_WRITE_NEW,	/* users, filters */
	BLOOM_REBUILD_REMOVE		/* users */
} BloomRebuildStatement;

#define BLOOM_REBUILD_STATEMENTS (BLOOM_REBUILD_REMOVE + 1)

/* Some users, in their order. */
typedef struct BloomUsers
{
	Datum	   *values;
	int			n;
} BloomUsers;

/* A call. */
typedef struct BloomRebuild
{
	MemoryContext context;		/* of the call */
	MemoryContext batch;		/* of a batch */
	Oid			target;
	char	   *filter_column;
	char	   *rebuilt_at_column;
	BloomDefinition definition;
	BloomKey	key;
	BloomColumns columns;
	BloomExposures order;		/* that of the users */
	char	   *source_name;
	char	   *source_sql;
	char	   *target_name;
	bool		keeps_rows;		/* of users without exposures, for their other columns */
	bool		walks;			/* from user to user along an index */
	char	   *sql[BLOOM_REBUILD_STATEMENTS];
	bool		distributed;	/* is the table of filters: its shards are rebuilt */
	SPIPlanPtr	plans[BLOOM_REBUILD_STATEMENTS];

	/* arguments */
	int32		batch_size;
	double		pause;			/* in seconds */
	bool		dry_run;
	bool		has_at;
	TimestampTz at;
	bool		given;			/* are users given? */
	BloomUsers	users;
	int32		part;
	int32		parts;
	FmgrInfo   *hash;			/* by which users are split into parts */
	char	   *which;			/* of the parts, for messages */

	/* progress */
	bool		started_after;		/* a user that was given */
	bool		has_last;
	Datum		last;			/* the last user done */
	TimestampTz started_at;
	TimestampTz told_at;
	uint64		done;
	uint64		built;
	uint64		removed;
	uint64		exposures;		/* of a dry run: how many, ... */
	uint64		bytes;			/* ... of the filters that they would make */
	uint64		others;			/* ... rows of users without exposures, */
	double		seconds;		/* ... and how long the rebuild will take */
	uint64		batches;
	int			shards;			/* of a distributed table: how many are done */
} BloomRebuild;

extern void bloomexp_rebuild_plan_set_locally(const char *name, const char *value);
extern void bloomexp_rebuild_plan_prepare(FunctionCallInfo fcinfo, BloomRebuild *rebuild);
extern void bloomexp_rebuild_plan_next_transaction(void);
extern void bloomexp_rebuild_plan_begin(BloomRebuild *rebuild);
extern TimestampTz bloomexp_rebuild_plan_at(const BloomRebuild *rebuild);
extern Datum bloomexp_rebuild_plan_start(const BloomRebuild *rebuild);
extern char *bloomexp_rebuild_plan_write_call(FunctionCallInfo fcinfo, const BloomRebuild *rebuild, Oid function,
											  const char *target, const char *source);
extern void bloomexp_rebuild_plan_free(BloomRebuild *rebuild);
extern uint32 bloomexp_rebuild_plan_common_hash(const BloomRebuild *rebuild);
extern int	bloomexp_rebuild_plan_compare(const void *a, const void *b, void *rebuild);

#endif							/* BLOOMEXP_REBUILD_PLAN_H */
