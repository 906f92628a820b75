	-- If nobody has an exposure in the window, or many users have none left, a table, its
	-- retention or a clock may be wrong: change nothing.
	IF NOT dry_run AND NOT allow_removed AND (n_ended > n_before OR after IS NULL) THEN
		IF n_exposures = 0 AND NOT EXISTS (SELECT FROM {exposures} AS e{elements} WHERE {exposed}) THEN
			RAISE EXCEPTION 'no exposure since % in %', since, {exposures_literal}
				USING ERRCODE = 'no_data_found', DETAIL = 'No filter was removed.',
					HINT = 'If that is right, call the rebuild with allow_removed => true, which removes all filters.';
		END IF;
		IF n_ended > 100 AND n_ended > n_examined / 5 THEN
			RAISE EXCEPTION 'rebuild would remove % of % filters of %', n_ended, n_examined, {filters_literal}
				USING ERRCODE = 'object_not_in_prerequisite_state',
					DETAIL = format('Their users have no exposure since %s. Of these, %s are removed already; the batch after user %s changed nothing.', since, n_before, coalesce(batch_from::text, '(none)')),
					HINT = 'If that is right, call the rebuild with allow_removed => true.';
		END IF;
	END IF;
