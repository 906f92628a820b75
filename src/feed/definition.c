/*-------------------------------------------------------------------------
 *
 * definition.c
 *	  Which exposures go into which filters, and how these are made.
 *
 * The trigger is the definition: its arguments are dumped, cloned to partitions and
 * dropped with it.  They are texts; a call of bloom_rebuild() has values.  What settings
 * there are stands in settinglist.h, and everything here goes by it.
 *
 * Nothing here evaluates anything that others wrote.  What the columns are, and
 * whether they fit, is the job of columns.c; conditions are that of condition.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/varlena.h"

#include "feed/definition.h"
#include "feed/shards.h"
#include "sql/aggregate.h"
#include "sql/arguments.h"
#include "value/filter.h"
#include "value/growth.h"
#include "value/layout.h"
#include "value/window.h"

/* What a filter starts with room for.  Each add writes all of a live filter. */
#define TRACKED_CAPACITY 100
#define LIVE_CAPACITY 40		/* what most users see in a day */

/* The arguments of a trigger that have no name: target, filter column, user, item. */
#define POSITIONAL 4

/* How a setting is written and stored. */
typedef enum SettingType
{
	SETTING_TABLE,				/* Oid */
	SETTING_NAME,				/* char *, an identifier */
	SETTING_TEXT,				/* char * */
	SETTING_INTERVAL,			/* Interval * */
	SETTING_INTEGER,			/* int32 */
	SETTING_NUMBER				/* double */
} SettingType;

typedef struct Setting
{
	const char *name;			/* of a trigger's argument; NULL: it has none */
	const char *label;			/* in messages */
	SettingType type;
	Size		offset;			/* in BloomDefinition */
	const char *initial;		/* default */
	const char *hint;			/* how to write it */
	int			argument;		/* of bloom_rebuild(); 0: it has none */
} Setting;

#define SETTING(number, member, type, stored, name, label, initial, hint, argument) \
	{name, label, stored, offsetof(BloomDefinition, member), initial, hint, argument},
static const Setting settings[] = {
#include "feed/settinglist.h"
};
#undef SETTING

/* The value of a setting in a definition. */
#define VALUE(definition, setting, type) (*(type *) ((char *) (definition) + (setting)->offset))

/* Set a setting to a value of its SQL type. */
static void
set_value(BloomDefinition *definition, BloomSetting number, Datum value)
{
	const Setting *setting = &settings[number];

	switch (setting->type)
	{
		case SETTING_TABLE:
			VALUE(definition, setting, Oid) = DatumGetObjectId(value);
			break;
		case SETTING_NAME:
			VALUE(definition, setting, char *) = pstrdup(NameStr(*DatumGetName(value)));
			break;
		case SETTING_TEXT:
			VALUE(definition, setting, char *) = TextDatumGetCString(value);
			break;
		case SETTING_INTERVAL:
			VALUE(definition, setting, Interval *) = DatumGetIntervalP(value);
			break;
		case SETTING_INTEGER:
			VALUE(definition, setting, int32) = DatumGetInt32(value);
			break;
		case SETTING_NUMBER:
			VALUE(definition, setting, double) = DatumGetFloat8(value);
			break;
	}
	definition->said |= BLOOM_SETTING_BIT(number);
}

/* Read a text as a value of a setting's SQL type. */
static Datum
read_value(const Setting *setting, const char *text)
{
	switch (setting->type)
	{
		case SETTING_NAME:
			return DirectFunctionCall1(namein, CStringGetDatum(text));
		case SETTING_INTERVAL:
			return DirectFunctionCall3(interval_in, CStringGetDatum(text),
									   ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
		case SETTING_INTEGER:
			return DirectFunctionCall1(int4in, CStringGetDatum(text));
		case SETTING_NUMBER:
			return DirectFunctionCall1(float8in, CStringGetDatum(text));
		default:
			return CStringGetTextDatum(text);
	}
}

/* Whether two definitions have the same value of a setting. */
static bool
is_same(const BloomDefinition *a, const BloomDefinition *b, const Setting *setting)
{
	const char *x;
	const char *y;

	switch (setting->type)
	{
		case SETTING_TABLE:
			return VALUE(a, setting, Oid) == VALUE(b, setting, Oid);
		case SETTING_INTEGER:
			return VALUE(a, setting, int32) == VALUE(b, setting, int32);
		case SETTING_NUMBER:
			return VALUE(a, setting, double) == VALUE(b, setting, double);
		case SETTING_INTERVAL:
			/* (a month is not 30 days here) */
			return memcmp(VALUE(a, setting, Interval *), VALUE(b, setting, Interval *),
						  sizeof(Interval)) == 0;
		default:
			x = VALUE(a, setting, char *);
			y = VALUE(b, setting, char *);
			return x == NULL || y == NULL ? x == y : strcmp(x, y) == 0;
	}
}

/* Let a definition have the value of another one. */
static void
copy_value(BloomDefinition *definition, const BloomDefinition *other, const Setting *setting)
{
	static const Size sizes[] = {
		[SETTING_TABLE] = sizeof(Oid),
		[SETTING_NAME] = sizeof(char *),
		[SETTING_TEXT] = sizeof(char *),
		[SETTING_INTERVAL] = sizeof(Interval *),
		[SETTING_INTEGER] = sizeof(int32),
		[SETTING_NUMBER] = sizeof(double)
	};

	memcpy((char *) definition + setting->offset, (const char *) other + setting->offset,
		   sizes[setting->type]);
}

/* Give the settings that were not said their defaults. */
static void
set_defaults(BloomDefinition *definition)
{
	uint32		said = definition->said;

	for (int i = 0; i < BLOOM_SETTINGS; i++)
	{
		if (settings[i].initial != NULL && !(said & BLOOM_SETTING_BIT(i)))
			set_value(definition, i, read_value(&settings[i], settings[i].initial));
	}
	definition->said = said;
}

/* A copy of a text without the blanks around it. */
static char *
trim(const char *start, Size length)
{
	while (length > 0 && *start == ' ')
		start++, length--;
	while (length > 0 && start[length - 1] == ' ')
		length--;
	return pnstrdup(start, length);
}

/* The names of a trigger's arguments, as a sentence lists them. */
static char *
list_names(void)
{
	StringInfoData names;
	const char *last = NULL;

	initStringInfo(&names);
	for (int i = 0; i < BLOOM_SETTINGS; i++)
	{
		if (settings[i].name == NULL)
			continue;
		if (last != NULL)
			appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "", last);
		last = settings[i].name;
	}
	appendStringInfo(&names, " and %s", last);
	return names.data;
}

/* The setting that an argument of a trigger names. */
static BloomSetting
find_setting(const char *name, const char *argument)
{
	for (int i = 0; i < BLOOM_SETTINGS; i++)
	{
		if (settings[i].name != NULL && strcmp(settings[i].name, name) == 0)
			return i;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized argument of bloom_track(): \"%s\"", argument),
			 errhint("The names are %s.", list_names())));
	return 0;					/* keep compiler quiet */
}

static void
refuse_value(const Setting *setting, const char *argument)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid argument of bloom_track(): \"%s\"", argument),
			 setting->hint ? errhint("%s", setting->hint) : 0));
}

/*
 * Read the value of a trigger's argument.
 *
 * An input function's error becomes one that names the argument.  It is an error all
 * the same, so nothing needs a subtransaction.
 */
static Datum
read_argument(const Setting *setting, const char *text, const char *argument)
{
	MemoryContext caller = CurrentMemoryContext;
	volatile Datum value = (Datum) 0;

	/* (a number alone would be seconds) */
	if (setting->type == SETTING_INTERVAL && text[0] != '\0' && strspn(text, "0123456789.") == strlen(text))
		refuse_value(setting, argument);
	PG_TRY();
	{
		value = read_value(setting, text);
	}
	PG_CATCH();
	{
		int			category = ERRCODE_TO_CATEGORY(geterrcode());

		if (category != ERRCODE_DATA_EXCEPTION)
			PG_RE_THROW();
		MemoryContextSwitchTo(caller);
		FlushErrorState();
		refuse_value(setting, argument);
	}
	PG_END_TRY();
	return value;
}

/* Set what argument `i` of a trigger says. */
static void
set_argument(BloomDefinition *definition, int i, const char *argument)
{
	const char *equals = strchr(argument, '=');
	char	   *name = trim(argument, equals ? (Size) (equals - argument) : strlen(argument));
	BloomSetting setting;
	char	   *text;

	if (equals == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument %d of bloom_track() is not of the form name=value: \"%s\"", i + 1, name),
				 errhint("A column of times is written time=column. With slices=number the filters are sliding windows.")));
	setting = find_setting(name, argument);
	if (definition->said & BLOOM_SETTING_BIT(setting))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" of bloom_track() is given twice", name)));
	text = trim(equals + 1, strlen(equals + 1));
	set_value(definition, setting, read_argument(&settings[setting], text, argument));
}

/*
 * bloomexp_definition_start_filter
 *		Start the filter to which the exposures of a user are added, the first n of them
 *		at once.
 */
void
bloomexp_definition_start_filter(const BloomDefinition *definition, BloomFilter *filter, int64 n)
{
	bool		live = definition->live_column != NULL;

	if (bloomexp_definition_tracks_window(definition))
		bloomexp_window_init(filter, bloomexp_arguments_width(definition->width),
							 definition->slices, definition->fpr, 0);
	else
		bloomexp_filter_init(filter, Max(live ? LIVE_CAPACITY : TRACKED_CAPACITY, n),
							 live ? definition->fpr * BLOOM_LIVE_SHARE : definition->fpr, 0, false);
}

/*
 * bloomexp_definition_check
 *		Refuse values that no filter can have.
 */
void
bloomexp_definition_check(const BloomDefinition *definition)
{
	static const Interval zero = {0};
	BloomFilter filter;

	if (DatumGetInt32(DirectFunctionCall2(interval_cmp, IntervalPGetDatum(definition->width),
										  IntervalPGetDatum(&zero))) <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("width of the window must be positive")));
	if (definition->said & BLOOM_SETTING_BIT(BLOOM_SETTING_SLICES))
		bloomexp_window_init(&filter, bloomexp_arguments_width(definition->width),
							 definition->slices, definition->fpr, 0);
	else
	{
		bloomexp_growth_check_fpr(definition->fpr);
		bloomexp_aggregate_check_headroom(definition->headroom);
	}
	if (definition->live_column != NULL)
		bloomexp_definition_start_filter(definition, &filter, 0);
}

/*
 * bloomexp_definition_of_trigger
 *		What the arguments of a trigger say, but for its target, filter column and
 *		table.  An error names what is wrong.
 */
void
bloomexp_definition_of_trigger(int nargs, char **args, BloomDefinition *definition)
{
	memset(definition, 0, sizeof(*definition));
	if (nargs < POSITIONAL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bloom_track() needs at least %d arguments, not %d", POSITIONAL, nargs),
				 errhint("They are the table of the filters, its filter column, the user column and the item column.")));
	set_value(definition, BLOOM_SETTING_USER_COLUMN, DirectFunctionCall1(namein, CStringGetDatum(args[2])));
	set_value(definition, BLOOM_SETTING_ITEM_COLUMN, DirectFunctionCall1(namein, CStringGetDatum(args[3])));
	for (int i = POSITIONAL; i < nargs; i++)
		set_argument(definition, i, args[i]);

	if (definition->said & BLOOM_SETTING_BIT(BLOOM_SETTING_SLICES))
	{
		if (definition->time_column == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("bloom_track() needs time=... if it is given slices=..."),
					 errhint("Name the column that has the times of the exposures.")));
		if (definition->said & BLOOM_SETTING_BIT(BLOOM_SETTING_HEADROOM))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("bloom_track() does not take both slices=... and headroom=..."),
					 errdetail("Sliding windows have no headroom.")));
	}
	set_defaults(definition);
	if (definition->target_user_column == NULL)
		definition->target_user_column = definition->user_column;
	bloomexp_definition_check(definition);
}

/*
 * bloomexp_definition_of_call
 *		What the arguments of a call of bloom_rebuild() say; NULL says nothing.
 */
void
bloomexp_definition_of_call(FunctionCallInfo fcinfo, BloomDefinition *definition)
{
	memset(definition, 0, sizeof(*definition));
	for (int i = 0; i < BLOOM_SETTINGS; i++)
	{
		if (settings[i].argument > 0 && !PG_ARGISNULL(settings[i].argument))
			set_value(definition, i, PG_GETARG_DATUM(settings[i].argument));
	}
}

/*
 * bloomexp_definition_write_argument
 *		What a definition says for an argument of bloom_rebuild(), as a text, or NULL.
 */
char *
bloomexp_definition_write_argument(const BloomDefinition *definition, int argument)
{
	for (int i = 0; i < BLOOM_SETTINGS; i++)
	{
		const Setting *setting = &settings[i];

		if (setting->argument != argument || !(definition->said & BLOOM_SETTING_BIT(i)))
			continue;
		switch (setting->type)
		{
			case SETTING_TABLE:
				return NULL;
			case SETTING_NAME:
			case SETTING_TEXT:
				return VALUE(definition, setting, char *);
			case SETTING_INTERVAL:
				return DatumGetCString(DirectFunctionCall1(interval_out, IntervalPGetDatum(VALUE(definition, setting, Interval *))));
			case SETTING_INTEGER:
				return psprintf("%d", VALUE(definition, setting, int32));
			case SETTING_NUMBER:
				return DatumGetCString(DirectFunctionCall1(float8out, Float8GetDatum(VALUE(definition, setting, double))));
		}
	}
	return NULL;
}

/*
 * bloomexp_definition_target
 *		The table of the filters that a trigger names.
 *
 * Without a schema it is in that of the exposures, whatever search_path says.
 */
Oid
bloomexp_definition_target(Oid namespace, const char *name, bool missing_ok)
{
	List	   *names;
	char	   *copy = pstrdup(name);
	char	   *schema;
	char	   *table;
	Oid			target = InvalidOid;

	if (!SplitIdentifierString(copy, '.', &names) || list_length(names) < 1 || list_length(names) > 2)
	{
		if (missing_ok)
			return InvalidOid;
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("string is not a valid identifier: \"%s\"", name)));
	}
	schema = list_length(names) == 2 ? linitial(names) : get_namespace_name(namespace);
	table = llast(names);
	if (schema == NULL)
	{
		if (!missing_ok)
			ereport(ERROR, (errcode(ERRCODE_UNDEFINED_SCHEMA), errmsg("schema with OID %u does not exist", namespace)));
	}
	else if (missing_ok)
	{
		Oid			found = get_namespace_oid(schema, true);

		if (OidIsValid(found))
			target = get_relname_relid(table, found);
	}
	else
		target = RangeVarGetRelid(makeRangeVar(schema, table, -1), NoLock, false);
	return target;
}

/* Is a trigger one more with the same arguments, on a partition of the same table? */
static bool
is_repeated(List *triggers, const BloomTrigger *trigger)
{
	ListCell   *cell;

	foreach (cell, triggers)
	{
		const BloomTrigger *other = lfirst(cell);

		if (other->parent == trigger->parent && other->namespace == trigger->namespace &&
			other->owner == trigger->owner && bloomexp_triggers_same_arguments(other, trigger))
			return true;
	}
	return false;
}

/*
 * bloomexp_definition_feeders
 *		The triggers that add to a column of a table of filters, or to any of its
 *		columns for NULL; of partitions with the same trigger just one.
 *
 * A trigger says what a rebuild reads and evaluates, with the rights of who calls it.
 * So it counts only if the owner of its table has the privileges of the owner of the
 * filters: strangers have no say in it.
 */
List *
bloomexp_definition_feeders(const BloomExtension *extension, Oid target, const char *filter_column)
{
	Oid			owner = bloomexp_triggers_table_owner(target);
	List	   *feeders = NIL;
	ListCell   *cell;
	BloomFed	fed;

	if (!OidIsValid(owner))
		return NIL;
	bloomexp_shards_begin_fed(target, &fed);
	foreach (cell, bloomexp_triggers_list(extension, owner))
	{
		BloomTrigger *trigger = lfirst(cell);

		/* (strangers' triggers are reported for the whole table; for a shard they would only cost time) */
		if (!trigger->works || trigger->column == NULL || (!trigger->counts && OidIsValid(fed.whole)) ||
			(filter_column != NULL && strcmp(trigger->column, filter_column) != 0) ||
			(trigger->counts && is_repeated(feeders, trigger)) ||
			!bloomexp_shards_is_fed(&fed, trigger->relation,
									bloomexp_definition_target(trigger->namespace,
															   trigger->args[BLOOMEXP_TRIGGER_TARGET], true)))
			continue;
		feeders = lappend(feeders, trigger);
	}
	return feeders;
}

/* What a trigger that counts says, with what is given in its place. */
static void
read_feeder(const BloomTrigger *trigger, const BloomDefinition *given, BloomDefinition *definition)
{
	MemoryContext caller = CurrentMemoryContext;

	PG_TRY();
	{
		bloomexp_definition_of_trigger(trigger->nargs, trigger->args, definition);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(caller);
		error = CopyErrorData();
		FlushErrorState();
		error->message = psprintf("trigger %s cannot be used: %s", bloomexp_triggers_describe(trigger), error->message);
		if (error->hint == NULL)
			error->hint = pstrdup("Correct its arguments, or drop it.");
		ReThrowError(error);
	}
	PG_END_TRY();

	definition->source = bloomexp_triggers_table_root(trigger->relation);
	for (int i = 0; i < BLOOM_SETTINGS; i++)
	{
		if (given->said & BLOOM_SETTING_BIT(i))
			copy_value(definition, given, &settings[i]);
	}
	definition->said |= given->said;
}

static int
compare_labels(const ListCell *a, const ListCell *b)
{
	return strcmp(lfirst(a), lfirst(b));
}

/* In which settings two definitions differ, or NULL. */
static char *
get_differences(const BloomDefinition *a, const BloomDefinition *b, uint32 no_matter)
{
	List	   *labels = NIL;
	StringInfoData differences;
	ListCell   *cell;

	for (int i = 0; i < BLOOM_SETTINGS; i++)
	{
		if (!(no_matter & BLOOM_SETTING_BIT(i)) && !is_same(a, b, &settings[i]))
			labels = lappend(labels, unconstify(char *, settings[i].label));
	}
	if (labels == NIL)
		return NULL;
	list_sort(labels, compare_labels);
	initStringInfo(&differences);
	foreach (cell, labels)
		appendStringInfo(&differences, "%s%s", differences.len > 0 ? ", " : "", (char *) lfirst(cell));
	return differences.data;
}

/*
 * bloomexp_definition_agree
 *		What all triggers that feed a column of filters say, after what is given; an
 *		error if two of them differ, but for what is no matter.
 */
void
bloomexp_definition_agree(const BloomExtension *extension, Oid target, const char *filter_column,
						  const BloomDefinition *given, uint32 no_matter, BloomDefinition *definition)
{
	List	   *feeders = bloomexp_definition_feeders(extension, target, filter_column);
	char	   *ignored = NULL;
	ListCell   *cell;

	*definition = *given;
	definition->trigger = NULL;
	foreach (cell, feeders)
	{
		const BloomTrigger *trigger = lfirst(cell);
		BloomDefinition other;
		char	   *differences;

		if (!trigger->counts)
		{
			ignored = bloomexp_triggers_describe(trigger);
			continue;
		}
		read_feeder(trigger, given, &other);
		if (definition->trigger == NULL)
		{
			*definition = other;
			definition->trigger = bloomexp_triggers_describe(trigger);
			continue;
		}
		differences = get_differences(definition, &other, no_matter);
		if (differences != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("triggers %s and %s define the filters differently", definition->trigger,
							bloomexp_triggers_describe(trigger)),
					 errdetail("They differ in %s.", differences),
					 errhint("Give both the same arguments, drop one of them, or give bloom_rebuild() what they differ in.")));
	}
	if (definition->trigger == NULL)
		set_defaults(definition);
	definition->ignored = ignored;
}

/* The columns of type bloom of a table. */
static List *
get_filter_columns(const BloomExtension *extension, Oid target)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(target));
	List	   *columns = NIL;

	if (!HeapTupleIsValid(tuple))
		return NIL;
	for (AttrNumber i = 1; i <= ((Form_pg_class) GETSTRUCT(tuple))->relnatts; i++)
	{
		/* (a dropped column has no type) */
		if (get_atttype(target, i) == extension->filter_type)
			columns = lappend(columns, get_attname(target, i, false));
	}
	ReleaseSysCache(tuple);
	return columns;
}

/* The only column that triggers which count add to, or NULL. */
static char *
get_fed_column(const BloomExtension *extension, Oid target)
{
	char	   *column = NULL;
	ListCell   *cell;

	foreach (cell, bloomexp_definition_feeders(extension, target, NULL))
	{
		const BloomTrigger *trigger = lfirst(cell);

		if (!trigger->counts)
			continue;
		if (column != NULL && strcmp(column, trigger->column) != 0)
			return NULL;
		column = trigger->column;
	}
	return column;
}

/* Columns as a sentence lists them. */
static char *
list_columns(List *columns)
{
	StringInfoData list;
	ListCell   *cell;

	initStringInfo(&list);
	foreach (cell, columns)
		appendStringInfo(&list, "%s\"%s\"", list.len > 0 ? ", " : "", (char *) lfirst(cell));
	return list.data;
}

/*
 * bloomexp_definition_filter_column
 *		The column of the filters: the one that is named, the only one of type bloom,
 *		or the only one that triggers feed.
 */
char *
bloomexp_definition_filter_column(const BloomExtension *extension, Oid target, const char *filter_column)
{
	char	   *table = get_rel_name(target);
	List	   *columns;
	char	   *fed;

	if (table == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", target)));
	if (filter_column != NULL)
	{
		AttrNumber	column = get_attnum(target, filter_column);

		if (column <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("column \"%s\" of relation \"%s\" does not exist", filter_column, table)));
		if (get_atttype(target, column) != extension->filter_type)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("column \"%s\" of relation \"%s\" is not of type bloom", filter_column, table)));
		return pstrdup(filter_column);
	}

	columns = get_filter_columns(extension, target);
	if (columns == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("relation \"%s\" has no column of type bloom", table)));
	if (list_length(columns) == 1)
		return linitial(columns);
	fed = get_fed_column(extension, target);
	if (fed == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_AMBIGUOUS_COLUMN),
				 errmsg("relation \"%s\" has more than one column of type bloom", table),
				 errdetail("They are %s.", list_columns(columns)),
				 errhint("Name one of them as filter_column.")));
	return fed;
}
