-- The CPU time of this session's process in hundredths of a second, which other work on
-- the machine does not change.  Linux only; of a superuser.
CREATE FUNCTION cpu() RETURNS bigint LANGUAGE sql AS $$
	SELECT f[12]::bigint + f[13]::bigint
	FROM string_to_array(regexp_replace(pg_read_file('/proc/self/stat', 0, 1000), '.*\) ', ''), ' ') AS f $$;
