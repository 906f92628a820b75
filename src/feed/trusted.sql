	-- The owner of a table decides what its types, constraints and casts do when it is read.
	DECLARE
		untrusted pg_catalog.regclass;
	BEGIN
		WITH RECURSIVE tree(oid) AS (
			SELECT {exposures_literal}::regclass::oid UNION SELECT i.inhrelid FROM pg_inherits AS i JOIN tree AS t ON i.inhparent = t.oid)
		SELECT c.oid INTO untrusted FROM tree AS t JOIN pg_class AS c ON c.oid = t.oid
		WHERE NOT pg_has_role(c.relowner, current_user, 'USAGE') LIMIT 1;
		IF FOUND THEN
			RAISE EXCEPTION 'table % belongs to a role without the rights of the owner of feed %', untrusted, {feed_literal}
				USING ERRCODE = 'insufficient_privilege', HINT = 'Make the feed again as the owner of the table.';
		END IF;
	END;
