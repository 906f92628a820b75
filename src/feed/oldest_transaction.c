/*-------------------------------------------------------------------------
 *
 * oldest_transaction.c
 *	  The start of the oldest open transaction, for rebuilds of feeds without triggers.
 *
 * pg_stat_activity shows the xact_start of other roles' sessions only to members of
 * pg_read_all_stats.  A rebuild needs only the earliest of these times, which reveals nothing
 * about any one session.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/backend_status.h"
#include "utils/timestamp.h"

#include "compat.h"

/*
 * A backend takes the time of its transaction some microseconds before it reports it, longer on a
 * busy machine.  A transaction that has not been reported yet began at most this long ago.
 */
#define UNREPORTED	(1 * USECS_PER_SEC)

/* Microseconds within which a backend nearly always reports a new transaction. */
#define NEXT_LOOK	1000

/* Return a number that identifies the current transaction of a session, 0 if it has none. */
static uint64
transaction_of(int pid)
{
	PGPROC	   *proc = BackendPidGetProc(pid);
	LocalTransactionId number = proc ? BLOOMEXP_TRANSACTION(proc) : InvalidLocalTransactionId;

	return number == InvalidLocalTransactionId ? 0 : (uint64) pid << 32 | number;
}

/*
 * Return a time, at least a second ago, before which no open transaction of another session in
 * this database began.  Return -infinity if that is not known, because a session has
 * track_activities switched off, or had it when its transaction began.
 *
 * A simple-query message can hold several transactions.  All of them get the start time of the
 * message, and in between the session reports none.  Autovacuum workers insert no exposures, so
 * they are left out.
 *
 * A transaction without a time is either in its first microseconds or will never report one.  Look
 * again until no such transaction is left, or one of them is found for the second time, which will
 * never report its time.
 */
PG_FUNCTION_INFO_V1(bloomexp_oldest_transaction);
Datum
bloomexp_oldest_transaction(PG_FUNCTION_ARGS)
{
	TimestampTz oldest = GetCurrentTimestamp() - UNREPORTED;
	uint64	   *before = NULL;
	int			nbefore = 0;

	for (;;)
	{
		uint64	   *found;
		int			nfound = 0;
		int			count;

		/* do not reuse the snapshot of an earlier look in this transaction */
		pgstat_clear_snapshot();
		count = pgstat_fetch_stat_numbackends();
		found = palloc((count + 1) * sizeof(uint64));
		for (int i = 1; i <= count; i++)
		{
			LocalPgBackendStatus *local = BLOOMEXP_BACKEND_STATUS(i);
			PgBackendStatus *backend = local ? &local->backendStatus : NULL;

			if (backend == NULL || backend->st_databaseid != MyDatabaseId ||
				backend->st_procpid == MyProcPid || backend->st_backendType == B_AUTOVAC_WORKER ||
				backend->st_state == STATE_IDLE)
				continue;
			if (backend->st_state == STATE_DISABLED)
				PG_RETURN_TIMESTAMPTZ(DT_NOBEGIN);
			if (backend->st_xact_start_timestamp != 0)
			{
				oldest = Min(oldest, backend->st_xact_start_timestamp);
				continue;
			}
			if (backend->st_backendType == B_BACKEND && backend->st_activity_start_timestamp != 0)
				oldest = Min(oldest, backend->st_activity_start_timestamp);
			found[nfound] = transaction_of(backend->st_procpid);
			for (int j = 0; j < nbefore; j++)
			{
				if (before[j] == found[nfound])
					PG_RETURN_TIMESTAMPTZ(DT_NOBEGIN);
			}
			nfound += found[nfound] != 0;
		}
		if (nfound == 0)
			PG_RETURN_TIMESTAMPTZ(oldest);
		before = found;
		nbefore = nfound;
		CHECK_FOR_INTERRUPTS();
		pg_usleep(NEXT_LOOK);
	}
}
