/*-------------------------------------------------------------------------
 *
 * triggers.h
 *	  The triggers on bloom_track(), as the catalogs have them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_TRIGGERS_H
#define BLOOMEXP_TRIGGERS_H

#include "commands/trigger.h"
#include "fmgr.h"
#include "nodes/pg_list.h"

/* The objects of the extension that other code must find. */
typedef struct BloomExtension
{
	Oid			schema;
	char	   *schema_name;	/* quoted where SQL needs it */
	Oid			filter_type;	/* bloom */
	Oid			filter_array_type;	/* bloom[] */
	Oid			track;			/* bloom_track() */
} BloomExtension;

/* A trigger that calls bloom_track(). */
typedef struct BloomTrigger
{
	Oid			oid;
	Oid			relation;		/* its table */
	Oid			parent;			/* that of which its table is a partition, or its table */
	Oid			namespace;		/* of its table */
	Oid			owner;			/* of its table */
	char	   *name;
	char	   *relation_name;
	char	   *namespace_name;
	int16		type;			/* as pg_trigger.tgtype */
	char		enabled;		/* as pg_trigger.tgenabled */
	bool		works;			/* adds rows: after INSERT or UPDATE, for each
								 * statement, with a transition table */
	bool		plain;			/* works after one event, for any column */
	bool		has_when;
	bool		counts;			/* has its owner the privileges of the given owner? */
	char	   *column;			/* args[1], as the name of a column; NULL without */
	int			nargs;			/* that are in args: of one that does not count, the
								 * first two at most */
	char	  **args;
} BloomTrigger;

#define BLOOMEXP_TRIGGER_TARGET 0	/* the argument that is the table of the filters */
#define BLOOMEXP_TRIGGER_COLUMN 1	/* ... the one that is their column, */
#define BLOOMEXP_TRIGGER_ITEM 3		/* ... and that of the items */

extern TriggerData *bloomexp_triggers_require_call(FunctionCallInfo fcinfo);
extern void bloomexp_triggers_find_extension(Oid function, BloomExtension *extension);
extern char *bloomexp_triggers_object(const BloomExtension *extension, const char *name);
extern Oid	bloomexp_triggers_table_owner(Oid table);
extern Oid	bloomexp_triggers_table_root(Oid table);
extern List *bloomexp_triggers_list(const BloomExtension *extension, Oid owner);
extern void bloomexp_triggers_read_arguments(BloomTrigger *trigger);
extern bool bloomexp_triggers_same_arguments(const BloomTrigger *a, const BloomTrigger *b);
extern char *bloomexp_triggers_describe(const BloomTrigger *trigger);
extern uint64 bloomexp_triggers_fingerprint(Oid track, Oid owner);

#endif							/* BLOOMEXP_TRIGGERS_H */
