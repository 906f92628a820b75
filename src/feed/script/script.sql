--- script
{head}
{start}
{filters}
{lock}
{remember}
{track}
{rebuild_batch}
{rebuild}
{read}
{distribute_filters}
{add}
{expire}
{health}
{rights}

--- head
-- bloomexp {version}: {call}
--
{head_what}
-- This script belongs to you: read it, change it, apply it again.  It can be applied any number
-- of times; filters and grants stay.  DROP SCHEMA {feed} CASCADE removes the feed, filters included.
--
-- Run it in one transaction, because it stops where something is wrong:
-- PGOPTIONS='-c lock_timeout=2s' psql -X -1 -v ON_ERROR_STOP=1 -f script.sql
--
-- Rights.  The functions run as the owner of the feed, with a fixed search_path, and evaluate
-- no columns but those named here.  Roles that use the feed need USAGE on the schema and EXECUTE
-- on the functions that they call, and nothing on the table of filters.
{head_owners}
--
{head_why}

--- head_what table
-- A feed: what {exposures} records as shown is kept in one Bloom filter per user, in
-- {feed}.filters.
--- head_what alone
-- A feed without a table of exposures: one Bloom filter per user, in {feed}.filters, is all that
-- is known of what the user was shown.  This table is the only copy: back it up.

--- head_owners table
-- The owner of the exposures, and of each partition, can have their code run with the rights of
-- the owner of the feed: this script and each rebuild refuse owners without these rights.

--- head_why trigger
-- Why no exposure is lost.  A transaction W inserts exposures of a user; a rebuild R replaces
-- the filter of the user.  The trigger of W updates the user's row in the transaction of W, even
-- if the filter stays as it is, so the exposure and the filter are committed together.  R, in one
-- transaction, locks the row, takes a new snapshot after that, reads the exposures and writes it.
--   W committed before R locks the row: the snapshot of R is newer and has the exposures of W.
--   W has changed the row and is open: R skips the row, and comes back later, for minutes.
--   W comes to the row while R holds it: W waits, and adds to the filter that R has written.
--   W makes the first row of a user: R then either finds no row that it could lock, and comes
--   back, or makes the row itself, and W waits for it and adds to it.
--   R deletes the row of a user without exposures: W waits, and makes a new row.
-- The rebuild runs in READ COMMITTED, because only there does a statement take a new snapshot.
-- A W of a higher level that meets a newer row gets a serialization failure, and is repeated.
-- A row of filters that somebody else deletes takes with it what no rebuild has read again.
-- A trigger sees no row that MERGE moves to another partition, unless the MERGE can also
-- insert: add WHEN NOT MATCHED AND false THEN INSERT DEFAULT VALUES.  An UPDATE may move rows.
-- Locks.  CREATE TRIGGER waits for open transactions that wrote to the exposures, and keeps
-- writers waiting until COMMIT: set lock_timeout.  Afterwards each INSERT or UPDATE of exposures,
-- of whatever column, locks the filters of its users until its transaction ends, and so do take()
-- and each batch of a rebuild; others who insert or take for these users wait.  Keep such
-- transactions short, and give no two users one id.  current() and unseen() wait for nobody.
-- A statement changes rows in user order, so two plain inserts of several users do not
-- deadlock.  Upserts and transactions of several statements can, as on any table: retry them.

--- head_why log
-- Why no exposure is lost.  A row of filters has all exposures that are older than its
-- filled_until; exposures since then are read from the exposures themselves.  A rebuild takes as
-- filled_until the start of the oldest transaction that is open before its snapshot, less
-- "overlap" for clocks that differ.  An exposure is therefore
--   committed before the snapshot: it is in the filter;
--   or of a transaction that was open or began later: its time is not before filled_until, if
--   it is the time of the transaction, so it is read with the rest.
-- Without a row, a filter or filled_until the whole width is read: slower, and never wrong.
-- An exposure whose time lies further in the past when it is committed is not seen before the
-- next rebuild.  "overlap" must be longer than
--   a transaction until its PREPARE: of a prepared one only that time is known;
--   a message with several statements that has transactions of its own: now() is when it came;
--   the delay of rows that arrive otherwise: by a subscription, a foreign table, a materialized
--   view, an application that sends them later.  If there is no bound, use mode 'trigger'.

--- head_why alone
-- Why nothing is lost.  A user has one row, and every call that adds to it locks the row first and
-- writes what was there and what is new, in the transaction of its caller.  So calls for one user
-- follow one another, and what has been committed is in the filter.  A call in REPEATABLE READ
-- that meets a newer row gets a serialization failure, and is repeated.  No call that adds drops
-- anything because of the server's clock: slices leave when newer ones show that they have left the
-- window, and reading leaves out what is older.  Only expire(), forget() and merge() delete rows.
--
-- Why nothing is taken twice.  take() locks the row before it reads it, keeps it until the
-- transaction ends, and adds what it returns.
--
-- Adding an item again changes nothing, so a stream may deliver twice.  add_batch() locks users
-- in their order, so two batches do not deadlock.  current(), unseen() and contains() wait for
-- nobody.
