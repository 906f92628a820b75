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

/* A node that has shards. */
typedef struct BloomNode
{
	char	   *name;
	int32		port;
	char	   *problem;		/* why nothing can be called there, or NULL */
	char	   *version;		/* of the extension there, or NULL */
	double		seconds;		/* that its shards will take */
} BloomNode;

/* A table of filters, and what adds to it. */
typedef struct BloomFed
{
	Oid			target;
	Oid			whole;			/* of which it is a shard, or InvalidOid */
	bool		distributed;
	List	   *partners;		/* of a shard */
} BloomFed;

extern List *bloomexp_shards_list(Oid target, Oid source, ArrayType *users);
extern void bloomexp_shards_run(List *commands);
extern char *bloomexp_shards_version(void);
extern void bloomexp_shards_check_nodes(List **nodes, List *shards, Oid function);
extern BloomNode *bloomexp_shards_find_node(List *nodes, const BloomShard *shard);
extern bool bloomexp_shards_is_whole(Oid table);
extern Oid	bloomexp_shards_find_whole(Oid table);
extern Oid	bloomexp_shards_partner(Oid source, Oid target);
extern void bloomexp_shards_begin_fed(Oid target, BloomFed *fed);
extern bool bloomexp_shards_is_fed(const BloomFed *fed, Oid source, Oid named);
extern void bloomexp_shards_check_user(Oid source, const char *column);

#endif							/* BLOOMEXP_SHARDS_H */
