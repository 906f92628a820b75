-- Create the two triggers of the exposures.  The second is for an UPDATE that shows an item again.
-- Updates of other columns fire it, too, because a trigger with a transition table cannot have a
-- list of columns.  If the table has its triggers already, it is not locked.
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
