--
-- Part "huge": one filter of very many items, the numbers from 1 on, added a
-- million at a time.  Variable: huge.
--
CREATE TABLE huge (items bloom);
CREATE TABLE huge_bytes (items bytea);
ALTER TABLE huge_bytes ALTER items SET STORAGE EXTERNAL;

CREATE FUNCTION bench_huge(n bigint) RETURNS bloom LANGUAGE plpgsql AS $$
DECLARE
	f bloom := bloom_new(n);
BEGIN
	FOR low IN 1 .. n BY 1000000 LOOP
		f := bloom_add(f, ARRAY(SELECT generate_series(low, least(n, low + 999999))));
	END LOOP;
	RETURN f;
END
$$;
INSERT INTO huge SELECT bench_huge(:huge);
INSERT INTO huge_bytes SELECT items::bytea FROM huge;
VACUUM ANALYZE huge, huge_bytes;
