
	-- The values of the arguments.
	problems := problems || ARRAY(
		SELECT v.problem FROM (VALUES
			(format('%L cannot be the name of a schema: it must have 1 to 63 bytes, not begin with pg_, '
				'and have no control characters.', argument.feed),
				argument.feed = '' OR octet_length(argument.feed) > 63 OR argument.feed LIKE 'pg\_%'
					OR argument.feed ~ '[\x01-\x1f\x7f]'),
			(format('mode must be ''trigger'' or ''log'', not %L.', argument.mode), argument.mode NOT IN ('trigger', 'log')),
			('width must be positive, as in ''30 days'', and at most 1000 years.',
				NOT (argument.width > interval '0' AND argument.width <= interval '1000 years')),
			('width of a feed without a table must have no months: write ''30 days''.', windowed
				AND argument.width > interval '0'
				AND extract(year FROM argument.width) * 12 + extract(month FROM argument.width) <> 0),
			('width must not be null if there is a table of exposures.', of_table AND argument.width IS NULL),
			('fpr must be at least 0.0000001 and less than 1; 0.01 is 1%.', NOT (argument.fpr >= 1e-7 AND argument.fpr < 1)),
			('headroom must be from 0 to 1000; 0.2 leaves room for 20% more items.',
				NOT (argument.headroom >= 0 AND argument.headroom <= 1000)),
			('slices must be from 1 to 1000.', NOT argument.slices BETWEEN 1 AND 1000),
			('slices need a width.', NOT of_table AND argument.width IS NULL AND argument.slices IS NOT NULL)
		) AS v(problem, wrong) WHERE v.wrong);
	argument.slices := coalesce(argument.slices, 6);
