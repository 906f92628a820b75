WITH RECURSIVE tree(oid, level) AS (	-- the table and its partitions or children
			SELECT {exposures_literal}::regclass::oid, 0
			UNION SELECT i.inhrelid, t.level + 1 FROM pg_inherits AS i JOIN tree AS t ON i.inhparent = t.oid)
