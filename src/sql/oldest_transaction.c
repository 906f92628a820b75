/*-------------------------------------------------------------------------
 *
 * oldest_transaction.c
 *	  The start of the oldest open transaction, for the watermark of a rebuild.
 *
 * pg_stat_activity shows xact_start of other roles' sessions only to members of
 * pg_read_all_stats.  A rebuild needs no more than the least of these times.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/timestamp.h"

#include "value/compat.h"

/*
 * A transaction has its time before it reports it: some microseconds, longer on
 * a busy machine.  One that has not reported yet began at most so long ago.
 */
#define UNREPORTED	(1 * USECS_PER_SEC)

PG_FUNCTION_INFO_V1(bloomexp_oldest_transaction);

/*
 * Return a time, more than a second ago, before which no open transaction of
 * another session in this database began.  Return -infinity if one of them has
 * track_activities switched off, or had when its transaction began, because that
 * time is not known.
 */
Datum
bloomexp_oldest_transaction(PG_FUNCTION_ARGS)
{
	TimestampTz oldest = GetCurrentTimestamp() - UNREPORTED;
	int			count;

	/* Not what an earlier look within this transaction has kept. */
	pgstat_clear_snapshot();
	count = pgstat_fetch_stat_numbackends();
	for (int i = 1; i <= count; i++)
	{
		LocalPgBackendStatus *local = BLOOMEXP_BACKEND_STATUS(i);
		PgBackendStatus *backend;

		if (local == NULL)
			continue;
		backend = &local->backendStatus;
		if (backend->st_databaseid != MyDatabaseId || backend->st_procpid == MyProcPid)
			continue;
		if (backend->st_xact_start_timestamp != 0)
			oldest = Min(oldest, backend->st_xact_start_timestamp);
		else if (backend->st_state == STATE_DISABLED ||
				 backend->st_state == STATE_IDLEINTRANSACTION ||
				 backend->st_state == STATE_IDLEINTRANSACTION_ABORTED)
			PG_RETURN_TIMESTAMPTZ(DT_NOBEGIN);
	}
	PG_RETURN_TIMESTAMPTZ(oldest);
}
