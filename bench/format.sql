--
-- A figure as it is shown: three digits that count, or whole numbers with commas.
--
CREATE FUNCTION bench_format(value float8) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN value = 0 THEN '0'
		WHEN abs(value) >= 1000 THEN trim(to_char(value, '999,999,999,990'))
		ELSE trim_scale(round(value::numeric, greatest(0, 2 - floor(log(abs(value)))::integer)))::text END
$$;
