--
-- The live path: a trigger, what is wrong with it, and the job that builds from scratch.
--

CREATE FUNCTION bloom_track() RETURNS trigger
AS 'MODULE_PATHNAME', 'bloomexp_track'
LANGUAGE C;

COMMENT ON FUNCTION bloom_track() IS
'trigger function: adds the rows of an INSERT or UPDATE to the filters of their users; arguments: filter table, filter column, user column, item column, then time=, width=, slices=, fpr=, headroom=, condition=, live=, target_user_column= as wanted';

CREATE FUNCTION bloom_untracked(
	source regclass,
	OUT relation regclass,
	OUT trigger_name name,
	OUT command text,
	OUT problem text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'bloomexp_untracked'
LANGUAGE C STABLE STRICT;

COMMENT ON FUNCTION bloom_untracked(regclass) IS
'what is wrong with the triggers on bloom_track() of a table and its partitions: those that lack a trigger which another of them has, or have it disabled, with the command that repairs it; and triggers with mistakes. If no INSERT has such a trigger, all of them, without a command';
