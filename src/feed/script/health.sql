-- A row for monitoring.
-- users                number of users
-- bytes                bytes of their filters and recent hashes
-- fpr_target_max       highest target rate of a filter
-- fpr_max              highest current rate of a filter
-- above_fpr            number of filters whose current rate is above {alarming_fpr}
{#window}
-- expired              number of users whom expire() would remove
{/window}
{#table}
-- oldest_filled_until  oldest filled_until of a filter
{#tracked}
-- untracked            number of tables of exposures that lack an enabled trigger, are filled by a
--                      subscription, or are missing
{/tracked}
{#untracked}
-- untracked            always 0: no table needs a trigger
{/untracked}
-- never_filled         number of users whose row no rebuild has filled yet
-- filled_ahead         number of filters whose filled_until is ahead of the clock: rebuild them
{/table}
CREATE OR REPLACE VIEW {feed}.health AS
SELECT pg_catalog.count(*) AS users,
	pg_catalog.sum(coalesce(pg_catalog.pg_column_size(f.items), 0)
		OPERATOR(pg_catalog.+) pg_catalog.pg_column_size(f.recent)) AS bytes,
	pg_catalog.max(i.fpr) AS fpr_target_max,
	pg_catalog.max(i.fpr_now) AS fpr_max,
	pg_catalog.count(*) FILTER (WHERE i.fpr_now OPERATOR(pg_catalog.>) {alarming_fpr})
		AS above_fpr{#window},
	pg_catalog.count(*) FILTER (WHERE coalesce(i.items, 0) OPERATOR(pg_catalog.=) 0
		AND coalesce(f.since OPERATOR(pg_catalog.<)
			bloomexp.oldest_slice(current_timestamp, {width}, {slices}), f.items IS NULL))
		AS expired{/window}{#table},
	pg_catalog.min(f.filled_until) AS oldest_filled_until,
{#tracked}
	(SELECT pg_catalog.count(DISTINCT coalesce(u.relation, 0::pg_catalog.oid))
		FROM bloomexp.untracked({feed_literal}, {exposures_literal}) AS u) AS untracked,
{/tracked}
{#untracked}
	0::bigint AS untracked,
{/untracked}
	pg_catalog.count(*) FILTER (WHERE f.filled_until IS NULL) AS never_filled,
	pg_catalog.count(*) FILTER (WHERE f.filled_until OPERATOR(pg_catalog.>) current_timestamp)
		AS filled_ahead{/table}
FROM {feed}.filters AS f
{#window}
LEFT JOIN LATERAL bloomexp.info(bloomexp.expire(f.items, current_timestamp)) AS i ON true;
{/window}
{#no_window}
LEFT JOIN LATERAL bloomexp.info(f.items) AS i ON true;
{/no_window}
