
	-- The values of the arguments.
	IF argument.feed = '' OR octet_length(argument.feed) > 63 OR argument.feed LIKE 'pg\_%' OR argument.feed ~ '[[:cntrl:]]' THEN
		problems := problems || format('%L cannot be the name of a schema: it must have 1 to 63 bytes, not begin with pg_, '
			'and have no control characters.', argument.feed);
	END IF;
	IF argument.mode NOT IN ('trigger', 'log') THEN
		problems := problems || format('mode must be ''trigger'' or ''log'', not %L.', argument.mode);
	END IF;
	IF NOT (argument.width > interval '0' AND argument.width <= interval '1000 years') THEN
		problems := problems || 'width must be positive, as in ''30 days'', and at most 1000 years.'::text;
	ELSIF windowed AND extract(year FROM argument.width) * 12 + extract(month FROM argument.width) <> 0 THEN
		problems := problems || 'width of a feed without a table must have no months: write ''30 days''.'::text;
	END IF;
	IF NOT (argument.fpr >= 1e-7 AND argument.fpr < 1) THEN
		problems := problems || 'fpr must be at least 0.0000001 and less than 1; 0.01 is 1%.'::text;
	END IF;
	IF NOT (argument.headroom >= 0 AND argument.headroom <= 1000) THEN
		problems := problems || 'headroom must be from 0 to 1000; 0.2 leaves room for 20% more items.'::text;
	END IF;
	IF NOT argument.slices BETWEEN 1 AND 1000 THEN
		problems := problems || 'slices must be from 1 to 1000.'::text;
	END IF;
	IF of_table AND argument.width IS NULL THEN
		problems := problems || 'width must not be null if there is a table of exposures.'::text;
	ELSIF NOT of_table AND argument.width IS NULL AND argument.slices IS NOT NULL THEN
		problems := problems || 'slices need a width.'::text;
	END IF;
