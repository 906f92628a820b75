-- bloomexp {version}: {command}
--
{#alone}
-- A feed without a table of exposures.  The table {feed}.filters has one row per user.  It is the
-- only record of what users were shown: back it up.
{/alone}
{#table}
-- A feed over the table {exposures}.
-- The table {feed}.filters has one row per user, with a filter of the items that the user was
-- shown in the last {window_width}.  Items that are older, or whose exposures were deleted, stay in
-- the filter until the next rebuild(): call it every night.
{#untracked}
-- Calls read the exposures since the last rebuild from the table.  If users see many items a day,
-- call rebuild() every hour.
{/untracked}
{/table}
--
-- This script belongs to you.  Read it, change it, and apply it again whenever you like: existing
-- filters and grants stay, except that PUBLIC loses EXECUTE on the functions.  A function whose
-- argument types have changed is created anew, without grants.  Run the script in one transaction,
-- so that an error leaves nothing half made:
-- PGOPTIONS='-c lock_timeout=2s' psql -X -1 -v ON_ERROR_STOP=1 -f script.sql
-- DROP SCHEMA {feed} CASCADE removes the feed{#tracked} and its triggers.  Before it, lock the
-- exposures in the same transaction, as inserts do: otherwise it can deadlock with them{/tracked}.
--
-- Rights.  The functions run with the rights of the owner of the feed and with a fixed search_path.
-- Roles that use the feed need USAGE on its schema and EXECUTE on the functions that they call.
-- They need no privileges on the table of filters.  The functions call functions of the schema
-- bloomexp, in which only superusers can create objects.
{#table}
-- The functions read only those columns of the exposures that this script names.  The owner of the
-- exposures, or of a partition, decides what code runs when they are read.  Therefore this script
-- and the functions below refuse a table whose owner lacks the rights of the feed's owner.
{/table}
--
{#alone}
-- No item is lost or taken twice: each call that adds items locks the user's row before it reads
-- the row, and holds the lock until its transaction ends.
{#window}
-- Only forget(), merge() and expire() delete rows.
{/window}
{#forever}
-- Only forget() and merge() delete rows.
{/forever}
{/alone}
{#tracked}
-- No exposure is lost.  The trigger locks the user's row in the transaction that inserts the
-- exposures, even if none of them is new.  A rebuild locks the row, reads the exposures in its next
-- statement, and then replaces the row.  A rebuild knows only exposures.  So insert what take()
-- returns as exposures, in the same statement or transaction.
--
-- Locks.  CREATE TRIGGER waits for open transactions that have written to the exposures, and
-- blocks writers until COMMIT: set lock_timeout.  From then on each INSERT or UPDATE of exposures
-- locks the rows of its users in {feed}.filters until its transaction ends, and so do take() and
-- each batch of a rebuild.  Keep such transactions short.  current(), unseen() and contains() never
-- wait.  A statement locks users in the order of their ids, so two plain inserts do not deadlock.
-- Upserts and transactions of several statements can deadlock, as on any table: retry them.
{/tracked}
{#untracked}
-- No exposure is lost.  A filter has all exposures from before its filled_until, and the functions
-- read later ones from the table.  Before a rebuild reads the exposures, it finds the oldest open
-- transaction, and it sets filled_until to the start of that transaction, less "overlap".  An
-- exposure from before this time that is committed later is overlooked until the next rebuild.  So
-- "overlap" must be longer than each of these: the time from the start of a transaction to its
-- PREPARE, the run time of a string of several statements that a client sends at once, the delay
-- with which an application, a subscription, a foreign table or a materialized view delivers rows,
-- and the difference between the clocks that set the times of exposures and that of the server.
{/untracked}
--
-- For the proof, see doc/how-it-works.md in the source of bloomexp.
