		IF NOT FOUND THEN
			RAISE EXCEPTION 'could not write the filter of a user in %', {filters_literal}
				USING HINT = 'Look for triggers and rules on this table.';
		END IF;
