/*-------------------------------------------------------------------------
 *
 * settinglist.h
 *	  The settings of a definition, in the order in which messages name those of a trigger.
 *
 * Whoever includes this says what SETTING() is, so that a new setting is a line here:
 * its number, its member of BloomDefinition and its type there; how it is written and
 * stored; its name in an argument of a trigger, or NULL; its label in messages, which is
 * the parameter of bloom_rebuild(), too, with blanks as underscores; its default; how to
 * write it; and the number of the parameter, or 0.
 *
 *-------------------------------------------------------------------------
 */

/* no include guard: this is included more than once */

/* table of the exposures, the root of partitions */
SETTING(SOURCE, source, Oid, SETTING_TABLE, NULL, "source", NULL, NULL, 2)
SETTING(USER_COLUMN, user_column, char *, SETTING_NAME, NULL, "user column", NULL, NULL, 3)
SETTING(ITEM_COLUMN, item_column, char *, SETTING_NAME, NULL, "item column", NULL, NULL, 4)
SETTING(TIME_COLUMN, time_column, char *, SETTING_NAME, "time", "time column", NULL, NULL, 5)
/* of the window */
SETTING(WIDTH, width, Interval *, SETTING_INTERVAL, "width", "width", "30 days", "Write the width with its unit: width=30 days.", 6)
/* of a filter with a sliding window; 0 without one */
SETTING(SLICES, slices, int32, SETTING_INTEGER, "slices", "slices", NULL, "Write a whole number.", 9)
/* target rate of false positives */
SETTING(FPR, fpr, double, SETTING_NUMBER, "fpr", "fpr", "0.01", "Write 0.01 for 1%.", 7)
/* room that a rebuild leaves, as a part of the items */
SETTING(HEADROOM, headroom, double, SETTING_NUMBER, "headroom", "headroom", "0.2", "Write 0.2 for room for 20% more items.", 8)
/* SQL expression that makes a row an exposure */
SETTING(CONDITION, condition, char *, SETTING_TEXT, "condition", "condition", NULL, NULL, 17)
/* column of the live filters to which exposures are added */
SETTING(LIVE_COLUMN, live_column, char *, SETTING_NAME, "live", "live column", NULL, NULL, 18)
SETTING(TARGET_USER_COLUMN, target_user_column, char *, SETTING_NAME, "target_user_column", "target user column", NULL, NULL, 15)
