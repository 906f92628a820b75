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
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/backend_status.h"
#include "utils/timestamp.h"

#include "compat.h"

/*
 * A transaction has its time before it reports it: some microseconds, longer on
 * a busy machine.  One that has not reported yet began at most so long ago.
 */
#define UNREPORTED	(1 * USECS_PER_SEC)

/* Microseconds after which one that reports its time at all has nearly always done so. */
#define NEXT_LOOK	1000

/* Name the transaction in which a session is; 0 if it is in none. */
static uint64
transaction_of(int pid)
{
	PGPROC	   *proc = BackendPidGetProc(pid);
	LocalTransactionId number = proc ? BLOOMEXP_TRANSACTION(proc) : InvalidLocalTransactionId;

	return number == InvalidLocalTransactionId ? 0 : (uint64) pid << 32 | number;
}

/*
 * Return a time, more than a second ago, before which no open transaction of
 * another session in this database began.  Return -infinity if that is not known: a
 * session has track_activities switched off, or had when its transaction began.
 *
 * A session that runs a message has no time between the transactions of that message, and
 * each of them has the time of the message.  Workers of autovacuum expose nothing.
 *
 * A transaction without a time is in its first microseconds, or it keeps none.  So they
 * are looked at again, until none of them is left, or one that was there before.
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

		/* Not what an earlier look within this transaction has kept. */
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
