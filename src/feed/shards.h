/*-------------------------------------------------------------------------
 *
 * shards.h
 *	  Tables that Citus has distributed over nodes, and their shards.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_SHARDS_H
#define BLOOMEXP_SHARDS_H

#include "nodes/pg_list.h"
#include "utils/array.h"

/* A shard of a table of filters, its partner of the exposures, and their node. */
typedef struct BloomShard
{
	int64		id;
	char	   *node;
	int32		port;
	char	   *target;			/* names with their schemas, for statements */
	char	   *source;
} BloomShard;

/* A statement for a node, and what came of it. */
typedef struct BloomNodeCommand
{
	const char *node;
	int32		port;
	char	   *command;
	bool		success;
	char	   *result;			/* the first column of the only row, or the message of an error */
} BloomNodeCommand;

extern List *bloomexp_shards_list(Oid target, Oid source, ArrayType *users);
extern void bloomexp_shards_run(List *commands);
extern char *bloomexp_shards_version(void);
extern bool bloomexp_shards_is_whole(Oid table);
extern Oid	bloomexp_shards_find_whole(Oid table);
extern Oid	bloomexp_shards_partner(Oid source, Oid target);
extern bool bloomexp_shards_is_fed(Oid target, Oid whole, bool distributed, Oid source, Oid named);
extern void bloomexp_shards_check_user(Oid source, const char *column);

#endif							/* BLOOMEXP_SHARDS_H */
