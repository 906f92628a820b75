/*-------------------------------------------------------------------------
 *
 * analyze.c
 *	  What ANALYZE finds out about filters: how many are NULL, and their width.
 *
 * By default it would look for common values: nobody selects filters by these, and
 * to compare filters it reads them from TOAST.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/vacuum.h"
#include "fmgr.h"
#include "miscadmin.h"

#include "value/compat.h"

PG_FUNCTION_INFO_V1(bloomexp_typanalyze);

/* As of other types.  Fewer would do, but the other columns need as many anyway. */
#define ROWS_FOR_EACH_TARGET 300

/* Compute the statistics of a sample of rows; see compute_trivial_stats() of PostgreSQL. */
static void
compute_stats(VacAttrStats *stats, AnalyzeAttrFetchFunc fetch, int samplerows, double totalrows)
{
	int			filled = 0;
	double		width = 0.0;

	for (int i = 0; i < samplerows; i++)
	{
		bool		isnull;
		Datum		value = fetch(stats, i, &isnull);

		CHECK_FOR_INTERRUPTS();
		if (isnull)
			continue;
		filled++;
		/* in its row; of a value out of line that is a pointer */
		width += VARSIZE_ANY(DatumGetPointer(value));
	}
	stats->stats_valid = samplerows > 0;
	stats->stanullfrac = (double) (samplerows - filled) / Max(samplerows, 1);
	stats->stawidth = (int32) (width / Max(filled, 1));
	stats->stadistinct = 0.0;	/* unknown */
}

/* bloom_typanalyze(internal) */
Datum
bloomexp_typanalyze(PG_FUNCTION_ARGS)
{
	VacAttrStats *stats = (VacAttrStats *) PG_GETARG_POINTER(0);

	stats->compute_stats = compute_stats;
	stats->minrows = ROWS_FOR_EACH_TARGET * default_statistics_target;
	PG_RETURN_BOOL(true);
}
