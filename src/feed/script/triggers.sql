-- The triggers on the exposures.  An UPDATE that shows an item again adds it again.  Updates of
-- other columns cost the same, because a trigger that sees all rows of a statement cannot name
-- columns.  A table that has its triggers is not locked.
DO {$}
BEGIN
	IF bloomexp.lacks_trigger({feed_literal}, {exposures_literal}, 'INSERT') THEN
		CREATE OR REPLACE TRIGGER {insert_trigger} AFTER INSERT ON {exposures}
			REFERENCING NEW TABLE AS new_rows
			FOR EACH STATEMENT EXECUTE FUNCTION {feed}.track();
	END IF;
	IF bloomexp.lacks_trigger({feed_literal}, {exposures_literal}, 'UPDATE') THEN
		CREATE OR REPLACE TRIGGER {update_trigger} AFTER UPDATE ON {exposures}
			REFERENCING NEW TABLE AS new_rows
			FOR EACH STATEMENT EXECUTE FUNCTION {feed}.track();
	END IF;
END
{$};
