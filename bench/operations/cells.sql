--
-- Which filters the tables of doc/storage.md have: how many items, and how they are stored.  And what both
-- scripts need for their output.
--
\set QUIET
\pset format aligned
\pset footer off
SET client_min_messages = warning;

CREATE TABLE cells (items int, storage text, options text);
INSERT INTO cells VALUES
	(300, 'HOT, in its row', 'fillfactor = 50'),
	(600, 'HOT, in its row', 'fillfactor = 50'),
	(1000, 'HOT, in its row', 'fillfactor = 50'),
	(2500, 'HOT, in its row: toast_tuple_target', 'fillfactor = 50, toast_tuple_target = 8160'),
	(2500, 'out of line', 'fillfactor = 50'),
	(5000, 'in its row: toast_tuple_target', 'toast_tuple_target = 8160'),
	(5000, 'out of line', 'fillfactor = 50');
