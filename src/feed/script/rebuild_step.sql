-- One step of a rebuild: a batch, or at the end one of the users whose rows others had locked.
-- "progress" has what the steps before have done, "wait" how long to wait for the next one, NULL
-- after the last.
CREATE OR REPLACE FUNCTION {feed}.rebuild_step(
	users {user_type}[], INOUT after {user_type}, upto {user_type},
	overlap interval, dry_run boolean, allow_removed boolean,
	INOUT busy {user_type}[], INOUT progress pg_catalog.jsonb, OUT wait interval)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {$}
#variable_conflict use_variable
DECLARE
	p record;	-- the progress
	wanted {user_type}[];
	batch record;
BEGIN
	IF users IS NOT NULL AND (after IS NOT NULL OR upto IS NOT NULL) THEN
		RAISE EXCEPTION 'a rebuild takes either users or a range of them'
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF (overlap >= interval '0' AND dry_run IS NOT NULL AND allow_removed IS NOT NULL)
		IS NOT TRUE THEN
		RAISE EXCEPTION 'invalid argument of a rebuild' USING ERRCODE = 'invalid_parameter_value',
			DETAIL = 'overlap must not be negative, and nothing NULL but users, after and upto.';
	END IF;
	SELECT * INTO p
	FROM jsonb_to_record(coalesce(progress, jsonb_build_object(
		'exposures', 0, 'filters', 0, 'bytes', 0, 'removed', 0, 'examined', 0,
		'halved', 0,
		'users_done', 0, 'all_looked_at', false,
		'report', clock_timestamp() + interval '1 second'))) AS r(
		exposures bigint, filters bigint, bytes bigint, removed bigint, examined bigint,
		halved bigint,	-- filters that lose more than half too early
		users_done integer,	-- of "users"
		all_looked_at boolean,	-- what is left are the busy ones
		report timestamp with time zone,	-- when to report again
		give_up timestamp with time zone);	-- when no lock is to be had until then
	busy := coalesce(busy, ARRAY[]::{user_type}[]);
	wait := interval '0';

	IF p.all_looked_at THEN
		wanted := busy[1:1];
		busy := busy[2:];
	ELSIF users IS NOT NULL THEN
		wanted := ARRAY(SELECT u.u FROM unnest(users) WITH ORDINALITY AS u(u, n)
			WHERE u.n BETWEEN p.users_done + 1 AND p.users_done + 1000);
	END IF;
	SELECT * INTO batch FROM {feed}.rebuild_batch(wanted,
		CASE WHEN NOT p.all_looked_at THEN after END,
		CASE WHEN NOT p.all_looked_at THEN upto END,
		overlap, dry_run, allow_removed, p.examined, p.removed, p.halved);

	IF batch.again OR p.all_looked_at AND cardinality(batch.busy) > 0 THEN
		IF p.all_looked_at THEN
			busy := busy || wanted;
		END IF;
		p.give_up := coalesce(p.give_up, clock_timestamp() + interval '5 minutes');
		IF clock_timestamp() <= p.give_up THEN
			-- PostgreSQL reports a cancel that arrives with a lock timeout as the lock timeout,
			-- which is caught: so it sleeps.
			wait := make_interval(secs => 0.5 / (1 + cardinality(busy)));
		ELSIF p.all_looked_at THEN
			RAISE WARNING USING MESSAGE = concat('filters of ', cardinality(busy),
				' users were not rebuilt in ', {filters_literal},
				', because others kept their rows locked');
			wait := NULL;
		ELSE
			RAISE EXCEPTION USING ERRCODE = 'lock_not_available',
				MESSAGE = concat('rebuild of ', {filters_literal},
					': rows or tables stayed locked by others'),
				HINT = 'Batches before this one are done. Look into pg_locks, and call it again.';
		END IF;
	ELSE
		p.exposures := p.exposures + CASE WHEN p.all_looked_at THEN 0 ELSE batch.n_exposures END;
		p.filters := p.filters + CASE WHEN p.all_looked_at THEN 0 ELSE batch.n_filters END;
		p.bytes := p.bytes + CASE WHEN p.all_looked_at THEN 0 ELSE batch.n_bytes END;
		p.examined := batch.n_examined;
		p.removed := batch.n_removed;
		p.halved := batch.n_halved;
		p.give_up := NULL;
		IF NOT p.all_looked_at THEN
			busy := busy || batch.busy;
			p.users_done := p.users_done + 1000;
			after := batch.after;
			p.all_looked_at := CASE WHEN users IS NULL THEN after IS NULL
				ELSE p.users_done >= cardinality(users) END;
		END IF;
		IF after IS NOT NULL AND clock_timestamp() > p.report THEN
			RAISE NOTICE USING MESSAGE = concat('rebuild of ', {filters_literal},
				': done up to user ', after,
				', but for ', cardinality(busy), ' whose rows were locked');
			p.report := clock_timestamp() + interval '10 seconds';
		END IF;
		IF p.all_looked_at AND (dry_run OR cardinality(busy) = 0) THEN
			wait := NULL;
		END IF;
	END IF;
	progress := to_jsonb(p);
END
{$};
