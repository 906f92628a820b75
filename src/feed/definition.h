/*-------------------------------------------------------------------------
 *
 * definition.h
 *	  Which exposures go into which filters, and how these are made: what the
 *	  arguments of a trigger on bloom_track() say, or those of bloom_rebuild().
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOOMEXP_DEFINITION_H
#define BLOOMEXP_DEFINITION_H

#include "datatype/timestamp.h"
#include "fmgr.h"
#include "lib/stringinfo.h"

#include "feed/triggers.h"
#include "value/layout.h"

#define SETTING(number, member, type, ...) BLOOM_SETTING_##number,
typedef enum BloomSetting
{
#include "feed/settinglist.h"
	BLOOM_SETTINGS
} BloomSetting;
#undef SETTING

/* A set of settings is a mask. */
#define BLOOM_SETTING_BIT(setting) (UINT32_C(1) << (setting))

typedef struct BloomDefinition
{
	uint32		said;			/* the settings that were said, and are no defaults */
	/* each setting; what is not said and has no default is 0, NULL or InvalidOid */
#define SETTING(number, member, type, ...) type member;
#include "feed/settinglist.h"
#undef SETTING

	/* by bloomexp_definition_agree(): triggers as messages describe them, or NULL */
	char	   *trigger;		/* the first of those that define this */
	char	   *ignored;		/* one that does not count */
} BloomDefinition;

/*
 * Two filters share the target rate: an item that was not exposed is dropped if
 * either contains it.  The live filter is small, so a tenth is enough for it.
 */
#define BLOOM_LIVE_SHARE 0.1

/* The rate of a filter that is rebuilt: the only filter, or the main one of two. */
static inline double
bloomexp_definition_rebuilt_fpr(const BloomDefinition *definition)
{
	return definition->live_column != NULL ? definition->fpr * (1 - BLOOM_LIVE_SHARE) : definition->fpr;
}

/* Is a filter windowed to which exposures are added?  A live one is emptied before. */
static inline bool
bloomexp_definition_tracks_window(const BloomDefinition *definition)
{
	return definition->slices > 0 && definition->live_column == NULL;
}

extern void bloomexp_definition_start_filter(const BloomDefinition *definition, BloomFilter *filter, int64 n);
extern Oid bloomexp_definition_target(Oid namespace, const char *name, bool missing_ok);
extern void bloomexp_definition_of_trigger(int nargs, char **args, BloomDefinition *definition);
extern void bloomexp_definition_check(const BloomDefinition *definition);
extern void bloomexp_definition_of_call(FunctionCallInfo fcinfo, BloomDefinition *definition);
extern char *bloomexp_definition_write_argument(const BloomDefinition *definition, int argument);
extern List *bloomexp_definition_feeders(const BloomExtension *extension, Oid target,
										 const char *filter_column);
extern void bloomexp_definition_agree(const BloomExtension *extension, Oid target,
									  const char *filter_column, const BloomDefinition *given,
									  uint32 no_matter, BloomDefinition *definition);
extern char *bloomexp_definition_filter_column(const BloomExtension *extension, Oid target,
											   const char *filter_column);

#endif							/* BLOOMEXP_DEFINITION_H */
