	-- The owner of a table decides what its types, constraints and casts do when it is read.
	DECLARE
		untrusted pg_catalog.regclass;
	BEGIN
		SELECT c.oid INTO untrusted FROM pg_class AS c
		WHERE NOT pg_has_role(c.relowner, current_user, 'USAGE') AND c.oid IN ({tables}) LIMIT 1;
		IF FOUND THEN
			RAISE EXCEPTION 'table % belongs to a role without the rights of the owner of feed %', untrusted, {feed_literal}
				USING ERRCODE = 'insufficient_privilege', HINT = 'Make the feed again as the owner of the table.';
		END IF;
	END;
