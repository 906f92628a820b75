-- bloomexp {version}: {command}
--
{#alone}
-- A feed without a table of exposures.  {feed}.filters has one row per user, and it is the only
-- record of what the user was shown: back it up.
{/alone}
{#table}
-- A feed over the table {exposures}.
-- {feed}.filters has one row per user, with what the user was shown in the window, {window_width}.
{/table}
--
-- This script belongs to you.  Read it, change it, and apply it again whenever you like: filters
-- and grants stay.  Run it in one transaction, so that a problem leaves nothing half made:
-- PGOPTIONS='-c lock_timeout=2s' psql -X -1 -v ON_ERROR_STOP=1 -f script.sql
-- DROP SCHEMA {feed} CASCADE removes the feed{#tracked}, its triggers included{/tracked}.
--
-- Rights.  The functions run with the rights of the owner of the feed and with a fixed search_path.
-- Roles that use the feed need USAGE on the schema and EXECUTE on the functions that they call, and
-- no right on the table of filters.  Nobody but the extension's owner can change the schema
-- bloomexp.
{#table}
-- Of the exposures the functions read only the columns that are named here.  The owner of the
-- exposures, or of a partition, decides what code runs when they are read, so this script and the
-- functions below refuse a table whose owner lacks the rights of the owner of the feed.
{/table}
--
{#alone}
-- Nothing is lost or taken twice, because each call that adds locks the user's row before it looks
-- at the row, and holds the lock until its transaction ends.  Only forget(){#window}, merge() and
-- expire(){/window}{#forever} and merge()
--{/forever} delete rows.
{/alone}
{#tracked}
-- No exposure is lost.  The trigger locks the user's row in the transaction that inserts, even if
-- it brings nothing new.  A rebuild locks the row, reads the exposures in its next statement, and
-- then replaces the row.  It knows only exposures: insert what take() returns in the same
-- statement or transaction.
--
-- Locks.  CREATE TRIGGER waits for open transactions that have written to the exposures, and
-- blocks writers until COMMIT: set lock_timeout.  From then on each INSERT or UPDATE of exposures
-- locks the rows of its users until its transaction ends, and so do take() and each batch of a
-- rebuild.  Keep such transactions short.  current(), unseen() and contains() never wait.  A
-- statement locks its users in their order, so two plain inserts do not deadlock.  Upserts and
-- transactions of several statements can deadlock, as on any table: retry them.
{/tracked}
{#untracked}
-- No exposure is lost.  A filter has all exposures from before its filled_until, and later ones
-- are read from the table.  A rebuild sets filled_until to the start of the oldest transaction
-- that was open before it read the exposures, less "overlap".  An exposure that is committed with
-- a time further back is overlooked until the next rebuild, so "overlap" must be longer than any
-- transaction before its PREPARE, and longer than the delay of rows that a subscription, a
-- foreign table, a materialized view or an application brings in later.
{/untracked}
--
-- "How it works" in the documentation has the proof.
