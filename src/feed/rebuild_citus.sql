-- A batch of a rebuild on Citus.  The exposures and the filter of a user are on one node, and Citus
-- sends whole statements to the nodes, so one INSERT builds all filters of the batch there.  Only
-- filters that were written are counted.  A dry run counts all.

CREATE FUNCTION bloomexp.rebuild_batch_citus(
	filters regclass, exposures regclass,
	user_column name,	-- of the exposures
	exposed_query text,	-- query that returns the users and items of all exposures since $1
	width interval, fpr double precision,
	wanted anyarray, INOUT after anyelement, upto anyelement, size integer,
	dry_run boolean, allow_removed boolean, INOUT counts bloomexp.rebuild_counts,
	has_triggers boolean,	-- always false
	overlap interval,
	OUT busy anyarray)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET row_security = off	-- an error if row security would hide rows
SET timezone = 'UTC'	-- right even if the time column changes its type
SET jit = off	-- compiling its statements takes longer than a batch does
AS $$
DECLARE
	window_start constant timestamp with time zone := now() - width;
	batch_from after%TYPE := after;
	batch_to after%TYPE;
	before constant bloomexp.rebuild_counts := counts;
	op record;	-- how users are compared
	of_exposures text;	-- condition for exposures of the batch, with $2 to $4
	of_filters text;	-- the same for filters
	n_exposures bigint;
	n_filters bigint;
	n_bytes bigint;
	filled timestamp with time zone;	-- new filters have all exposures from before this time
	prepared boolean;	-- a node has a prepared transaction
	complete boolean;	-- all nodes have answered
BEGIN
	PERFORM bloomexp.require_batch(wanted, size, dry_run, allow_removed, counts, has_triggers,
		overlap);
	-- From now on the filters are locked, so the extension cannot be dropped.
	PERFORM bloomexp.require_trusted(filters), bloomexp.require_trusted(exposures);
	PERFORM bloomexp.require_trusted(t, missing_ok => true) FROM bloomexp.tables_of(exposures) AS t;
	SELECT * INTO op FROM bloomexp.user_sql(filters);
	busy := '{}';

	-- A batch ends with the next user whose hash is divisible by 64 * size.  Counting users instead
	-- would bring all of their ids from the nodes to here.
	IF wanted IS NULL THEN
		EXECUTE format('SELECT f.user_id FROM %s AS f '
			'WHERE ($1 IS NULL OR f.user_id %s $1) AND ($2 IS NULL OR f.user_id %s $2) '
				'AND mod(hashtext(concat(f.user_id)), $3) = 0 '
			'ORDER BY f.user_id LIMIT 1', filters, op.greater, op.not_greater)
			INTO batch_to USING batch_from, upto, 64 * size;
		after := batch_to;
		batch_to := coalesce(batch_to, upto);
	END IF;
	of_exposures := bloomexp.in_batch('e.id', op.equal, op.greater, op.not_greater,
		wanted, batch_from, batch_to);
	of_filters := bloomexp.in_batch('f.user_id', op.equal, op.greater, op.not_greater,
		wanted, batch_from, batch_to);

	-- Count what the batch will do.
	EXECUTE format('SELECT count(*) FROM (%s) AS e(id, item) WHERE %s', exposed_query,
		of_exposures)
		INTO n_exposures USING window_start, wanted, batch_from, batch_to;
	EXECUTE format('SELECT count(f.items) FILTER (WHERE b.id IS NULL), count(f.items), '
		'count(f.items) FILTER (WHERE b.id IS NULL), '
		'count(*) FILTER (WHERE '
			'bloomexp.items_to_keep(f.items, f.filled_until, $5) > 2 * coalesce(b.n, 0)) '
		'FROM %1$s AS f LEFT JOIN ('
			'SELECT e.id, count(DISTINCT e.item) AS n FROM (%2$s) AS e(id, item) '
			'WHERE %3$s GROUP BY e.id) AS b ON b.id %5$s f.user_id '
		'WHERE %4$s',
		filters, exposed_query, of_exposures, of_filters, op.equal)
		INTO counts.removed, counts.examined, counts.lost, counts.halved
		USING window_start, wanted, batch_from, batch_to, width;
	counts.exposures := before.exposures + n_exposures;
	counts.bytes := NULL;	-- they are not known here
	counts.removed := before.removed + counts.removed;
	counts.examined := before.examined + counts.examined;
	counts.lost := before.lost + counts.lost;
	counts.halved := before.halved + counts.halved;
	IF dry_run THEN
		EXECUTE format('SELECT count(*), coalesce(sum(octet_length(b.items::bytea) + 4), 0) '
			'FROM (SELECT e.id, bloomexp.agg(e.item, $5) AS items FROM (%s) AS e(id, item) '
			'WHERE %s GROUP BY e.id) AS b', exposed_query, of_exposures)
			INTO n_filters, n_bytes USING window_start, wanted, batch_from, batch_to, fpr;
		counts.filters := before.filters + n_filters;
		counts.bytes := before.bytes + n_bytes;
		RETURN;
	ELSIF NOT allow_removed THEN
		PERFORM bloomexp.require_few_losses(filters, exposures, exposed_query, width,
			batch_from::text, after IS NULL, n_exposures, before, counts);
	END IF;

	-- The statement after this one will see all exposures from before the time "filled".  Nobody
	-- knows when a prepared transaction began: while there is one, filled_until stays.
	SELECT LEAST(now(), to_timestamp(min(
			CASE WHEN n.success THEN split_part(n.result, ' ', 1)::double precision END))),
		bool_or(n.success AND split_part(n.result, ' ', 2) = 'prepared'), bool_and(n.success)
	INTO STRICT filled, prepared, complete
	-- in this order, because then one of the two finds a transaction that is prepared in between
	FROM run_command_on_all_nodes('SELECT pg_catalog.concat_ws('' '', '
		'EXTRACT(EPOCH FROM bloomexp.oldest_transaction()), '
		'(SELECT ''prepared'' FROM pg_catalog.pg_prepared_xacts AS p '
		'WHERE p.database OPERATOR(pg_catalog.=) pg_catalog.current_database() LIMIT 1))') AS n;
	IF complete IS NOT TRUE THEN
		RAISE EXCEPTION 'could not read the oldest transaction of each node'
			USING ERRCODE = 'connection_failure',
			HINT = 'Batches before this one are done. '
				'Call the rebuild again when all nodes can be reached.';
	END IF;
	-- an overlap that equals '0' can still move a time forward: '-12 months 360 days'
	filled := LEAST(filled, filled - overlap);

	-- A filter that is unchanged is rewritten only if its filled_until is wrong, because the clock
	-- was ahead or "overlap" was shorter, or more than a day old, which keeps it exact to a day.
	EXECUTE format('INSERT INTO %1$s AS f (user_id, items, filled_until) '
		'SELECT e.id, bloomexp.agg(e.item, $5), CASE WHEN NOT $6 THEN $7 END '
		'FROM (%2$s) AS e(id, item) WHERE %3$s AND %4$s GROUP BY e.id '
		'ON CONFLICT ON CONSTRAINT filters_pkey DO UPDATE SET items = excluded.items, '
			'filled_until = CASE WHEN NOT $6 THEN excluded.filled_until '
				'WHEN f.filled_until <= $9 THEN f.filled_until END, '
			'pending = 0, recent = ARRAY[]::bigint[] '
		'WHERE bloomexp.eq(f.items, excluded.items) IS NOT TRUE '
			'OR f.filled_until > $9 OR NOT $6 AND (f.filled_until > $8) IS NOT TRUE',
		filters, exposed_query, of_exposures,
		coalesce(format(op.short_id, 'e.id'), 'true'))	-- longer ids do not fit into a row
		USING window_start, wanted, batch_from, batch_to, fpr, prepared, filled,
			filled - interval '1 day', LEAST(now(), now() - overlap);
	GET DIAGNOSTICS n_filters = ROW_COUNT;
	counts.filters := before.filters + n_filters;
	IF counts.removed > before.removed THEN
		EXECUTE format('DELETE FROM %1$s AS f WHERE %3$s AND NOT EXISTS ('
			'SELECT FROM (%2$s) AS e(id, item) WHERE e.id %4$s f.user_id)',
			filters, exposed_query, of_filters, op.equal)
			USING window_start, wanted, batch_from, batch_to;
	END IF;
END
$$;

COMMENT ON FUNCTION bloomexp.rebuild_batch_citus IS
'does what bloomexp.rebuild_batch() does, for tables that Citus distributes by user. No user is '
'ever busy, and only a dry run counts bytes';
