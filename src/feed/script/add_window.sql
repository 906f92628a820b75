-- Items were shown to a user, now or at another time; a time in the future counts as now.
CREATE OR REPLACE FUNCTION {feed}.add(user_id {user_type}, items {item_type}[],
	shown_at timestamp with time zone DEFAULT pg_catalog.clock_timestamp()) RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_column
DECLARE
	present timestamp with time zone := clock_timestamp();
	hashes bigint[] :=
		bloomexp.new_hashes(bloomexp.hashes(items{item_collate}), ARRAY[]::bigint[]);
	written boolean;
BEGIN
	IF cardinality(hashes) > 0 AND add.user_id IS NOT NULL
		AND shown_at >= present - interval {hours} THEN
		-- Nearly always the items are of the slice of "recent", which has room.  With an older
		-- snapshot remember() says if others have removed the row since then.
		IF cardinality(hashes) <= {max_recent}
			AND current_setting('transaction_isolation') = 'read committed' THEN
			-- A row that exists is locked before it is looked at.
			INSERT INTO {feed}.filters AS f (user_id, since, recent)
			VALUES (add.user_id{collate},
				bloomexp.slice_start(LEAST(shown_at, present), {width}, {slices}), hashes)
			ON CONFLICT (user_id) DO UPDATE SET
				pending = 0,
				recent = bloomexp.new_hashes(excluded.recent, f.recent) || f.recent
				WHERE f.since = excluded.since AND NOT excluded.recent <@ f.recent
					AND cardinality(f.recent) + cardinality(excluded.recent) <= {max_recent}
			RETURNING true INTO written;	-- on Citus, FOUND can be true without a row
		END IF;
		IF written IS NULL THEN
			PERFORM {feed}.remember(add.user_id,
				bloomexp.exclude_first(add.items{item_collate}, NULL, NULL, NULL),	-- no NULLs
				array_fill(shown_at, ARRAY[cardinality(hashes)]), false);
		END IF;
	END IF;
END
{$};
