--
-- bloom_guard(): a filter that was read earlier does not overwrite the one that is there.
--
CREATE TABLE exposures (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now());
CREATE INDEX ON exposures (user_id, shown_at, item_id);
-- (an application keeps names in the same table)
CREATE TABLE users (id bigint PRIMARY KEY, name text, items bloom);
CREATE TRIGGER guard BEFORE UPDATE ON users FOR EACH ROW EXECUTE FUNCTION bloom_guard();
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
	EXECUTE FUNCTION bloom_track('users', 'items', 'user_id', 'item_id', 'time=shown_at', 'target_user_column=id');
CREATE FUNCTION seen(VARIADIC candidates bigint[] DEFAULT '{1,2,3,4,5,6}') RETURNS text LANGUAGE sql AS
	$$ SELECT string_agg(concat(id, ' ', name, ' ', bloom_contains_each(items, candidates)), '; ' ORDER BY id) FROM users $$;

INSERT INTO exposures VALUES (1, 1), (2, 2);
UPDATE users SET name = 'Ann' WHERE id = 1;
SELECT items AS old FROM users WHERE id = 1 \gset

-- What an application writes back unchanged is no change ...
UPDATE users SET (id, name, items) = ROW(1, 'Anna', :'old') WHERE id = 1;
-- ... and after an exposure it is an old filter.  (The code says: repeat the transaction.)
INSERT INTO exposures VALUES (1, 3);
UPDATE users SET (id, name, items) = ROW(1, 'Annie', :'old') WHERE id = 1;
\echo :LAST_ERROR_SQLSTATE
-- It had none when it was read.
UPDATE users SET items = NULL WHERE id = 1;
-- A repeated read is right, and so is a change of other columns.
SELECT items AS fresh FROM users WHERE id = 1 \gset
UPDATE users SET (id, name, items) = ROW(1, 'Annie', :'fresh') WHERE id = 1;
UPDATE users SET name = upper(name) WHERE id = 1;
-- upserts
INSERT INTO users VALUES (1, 'Bob', :'old') ON CONFLICT (id) DO UPDATE SET name = excluded.name, items = excluded.items;
INSERT INTO users VALUES (1, 'Bob', NULL) ON CONFLICT (id) DO UPDATE SET name = excluded.name, items = excluded.items;
INSERT INTO users VALUES (1, 'Bob', :'fresh') ON CONFLICT (id) DO UPDATE SET name = excluded.name, items = excluded.items;
SELECT seen();
-- another user's, another kind, another seed, and one built from the same items and others
UPDATE users SET items = (SELECT items FROM users WHERE id = 2) WHERE id = 1;
UPDATE users SET items = bloom_add(NULL, '{1,3}'::text[]) WHERE id = 1;
UPDATE users SET items = bloom_add(bloom_new(seed => 1), '{1,3}'::bigint[]) WHERE id = 1;
UPDATE users SET items = (SELECT bloom_agg(n) FROM generate_series(1, 1000) AS n) WHERE id = 1;
-- the same bits, of bytes that are hashed as the integers are, and under another seed
SELECT bloom_add(NULL, '{1,3}'::bigint[]) AS integers, bloom_add(NULL, ARRAY['\x0100000000000000', '\x0300000000000000']::bytea[]) AS bytes \gset
SELECT overlay(:'integers'::bloom::bytea PLACING '\x02' FROM 5)::bloom AS seeded, :'bytes'::bloom <> :'integers'::bloom AND
	substr(:'bytes'::bloom::bytea, 17) = substr(:'integers'::bloom::bytea, 17) AS same_bits \gset
\echo :same_bits
INSERT INTO users VALUES (6, 'Fay', :'integers');
UPDATE users SET items = :'bytes' WHERE id = 6;
UPDATE users SET items = :'seeded' WHERE id = 6;
DELETE FROM users WHERE id = 6;
-- what adds: to the row's own value, and a value that was read just now
UPDATE users SET items = bloom_add(items, 4::bigint) WHERE id = 1;
UPDATE users SET items = bloom_add(items, '{4,5}'::bigint[]);
UPDATE users SET items = bloom_add(:'fresh'::bloom, '{4,5}'::bigint[]) WHERE id = 1;
UPDATE users SET items = items | (SELECT items FROM users WHERE id = 2) WHERE id = 1;
UPDATE users SET items = (SELECT bloom_agg(n) FROM generate_series(100, 2000) AS n) | items WHERE id = 1;
SELECT seen();
SELECT bloom_take('users', 1, '{5,6}'::bigint[]);
INSERT INTO users AS u VALUES (3, 'Cy', bloom_add(NULL, 6::bigint)), (1, 'Bob', bloom_add(NULL, 6::bigint))
ON CONFLICT (id) DO UPDATE SET name = excluded.name, items = u.items | excluded.items;
SELECT seen();
-- An empty filter holds nothing to be lost, nor does a row without one.
INSERT INTO users VALUES (4, 'Di', bloom_new(1000)), (5, 'Ed', NULL);
UPDATE users SET items = NULL WHERE id = 4;
UPDATE users SET items = bloom_new(1000, seed => 5) WHERE id IN (4, 5);
UPDATE users SET items = bloom_add(NULL, '{a}'::text[]) WHERE id IN (4, 5);

-- The rebuild makes filters anew, and takes them away: for all users, some, and in parts.
UPDATE exposures SET shown_at = '2000-01-01' WHERE item_id = 1;
CALL bloom_rebuild('users', users => '{1}');
CALL bloom_rebuild('users');
SELECT seen();
CALL bloom_rebuild('users', part => 1, parts => 2);
CALL bloom_rebuild('users', part => 2, parts => 2);
-- An old filter from before the rebuild holds more, and lacks what came afterwards.
INSERT INTO exposures VALUES (1, 6);
UPDATE users SET items = :'fresh' WHERE id = 1;
-- What a rebuild may do ends with it, if it fails, too.
\set SHOW_CONTEXT never
CALL bloom_rebuild('users', condition => '1 / (item_id - 6) > 0');
\set SHOW_CONTEXT errors
UPDATE users SET items = :'fresh' WHERE id = 1;
SELECT seen();

-- keep: the other columns change.
DROP TRIGGER guard ON users;
CREATE TRIGGER guard BEFORE UPDATE ON users FOR EACH ROW EXECUTE FUNCTION bloom_guard('keep');
UPDATE users SET (id, name, items) = ROW(1, 'Rob', :'old') WHERE id = 1 RETURNING name, items @> 6::bigint AS kept;
UPDATE users SET (id, name, items) = ROW(1, 'Ray', NULL) WHERE id = 1 RETURNING name, items @> 6::bigint AS kept;
INSERT INTO users VALUES (1, 'Joe', :'old') ON CONFLICT (id) DO UPDATE SET name = excluded.name, items = excluded.items;
UPDATE users SET name = 'Jo', items = bloom_add(items, 5::bigint) WHERE id = 1;
CALL bloom_rebuild('users');
INSERT INTO exposures VALUES (1, 1);
SELECT seen();

-- A filter out of line: what is not changed is not read, what is kept is not written.
ALTER TABLE users ALTER items SET STORAGE EXTERNAL;
INSERT INTO exposures SELECT 7, n FROM generate_series(1, 100000) AS n;
CREATE FUNCTION out_of_line() RETURNS bigint LANGUAGE sql AS
	$$ SELECT pg_relation_size(reltoastrelid) FROM pg_class WHERE oid = 'users'::regclass $$;
SELECT out_of_line() AS before, items AS large FROM users WHERE id = 7 \gset
UPDATE users SET name = 'Flo' WHERE id = 7;
UPDATE users SET name = 'Flo', items = bloom_add(NULL, 1::bigint) WHERE id = 7;
SELECT out_of_line() = :'before' AS not_written, bloom_contains_all(items, ARRAY(SELECT n::bigint FROM generate_series(1, 100000) AS n)) FROM users WHERE id = 7;
UPDATE users SET items = bloom_add(items, 0::bigint) WHERE id = 7;
UPDATE users SET items = :'large' WHERE id = 7;
SELECT items @> 0::bigint AS kept FROM users WHERE id = 7;
DROP TABLE users CASCADE;
DROP FUNCTION seen, out_of_line;

-- Windows: adds in any slice pass; what an older filter lacks, what expires, and another window do not.
CREATE TABLE windows (user_id bigint PRIMARY KEY, items bloom);
CREATE TRIGGER guard BEFORE UPDATE ON windows FOR EACH ROW EXECUTE FUNCTION bloom_guard();
DROP TRIGGER IF EXISTS track ON exposures;
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
	EXECUTE FUNCTION bloom_track('windows', 'items', 'user_id', 'item_id', 'time=shown_at', 'slices=6');
TRUNCATE exposures;
INSERT INTO exposures VALUES (1, 1, now() - interval '20 days'), (1, 2, now());
SELECT items AS old FROM windows \gset
INSERT INTO exposures VALUES (1, 3, now() - interval '10 days'), (1, 1, now()), (1, 4, now() - interval '60 days');
UPDATE windows SET items = bloom_add_at(items, 5::bigint, now() - interval '11 days');
UPDATE windows SET items = bloom_add_at(bloom_window('30 days', 6), 6::bigint, now()) | items;
UPDATE windows SET items = :'old';
UPDATE windows SET items = bloom_expire(items, now());
-- (that drops nothing yet, but what comes late would be ignored)
UPDATE windows SET items = bloom_expire(items, now() - interval '100 days');
UPDATE windows SET items = bloom_add_at(bloom_window('30 days', 7), 1::bigint, now());
UPDATE windows SET items = bloom_add_at(bloom_window('10 days', 6), 1::bigint, now());
SELECT bloom_take('windows', 1, '{1,7}'::bigint[]);
CALL bloom_rebuild('windows');
SELECT bloom_contains_each(items, '{1,2,3,4,5,6,7}'::bigint[]) FROM windows;
-- the same bits in a window of another width, or of other slices
INSERT INTO windows VALUES (3, bloom_add_at(bloom_window('30 days', 6), 1::bigint, '2026-01-01'));
UPDATE windows SET items = overlay(items::bytea PLACING '\x01' FROM 17)::bloom WHERE user_id = 3;
UPDATE windows SET items = overlay(items::bytea PLACING '\x07' FROM 33)::bloom WHERE user_id = 3;
-- the same bits in another slice
SELECT bloom_add_at(bloom_window('30 days', 6), 1::bigint, now() - interval '20 days') AS older,
	bloom_add_at(bloom_window('30 days', 6), 1::bigint, now()) AS newer \gset
INSERT INTO windows VALUES (2, :'newer');
UPDATE windows SET items = :'older' WHERE user_id = 2;

-- Counting: what counts as often and more often passes, also at the end of counting.
CREATE TABLE counted (user_id bigint PRIMARY KEY, items bloom);
CREATE TRIGGER guard BEFORE UPDATE ON counted FOR EACH ROW EXECUTE FUNCTION bloom_guard();
INSERT INTO counted VALUES (1, bloom_add(bloom_new(100, counting => true), '{1,1,2}'::bigint[]));
UPDATE counted SET items = bloom_add(items, '{1,3}'::bigint[]);
UPDATE counted SET items = bloom_remove(items, 1::bigint);
UPDATE counted SET items = bloom_add(bloom_new(100, counting => true), '{1,2,3}'::bigint[]);
UPDATE counted SET items = items | items;
UPDATE counted SET items = bloom_add(items, array_fill(1::bigint, '{20}'));
UPDATE counted SET items = bloom_add(items, 1::bigint);
UPDATE counted SET items = bloom_remove(items, 3::bigint);
UPDATE counted SET items = bloom_add(bloom_new(100), '{1,2,3}'::bigint[]);

-- A live column: each is guarded, and the rebuild empties the small one.
CREATE TABLE flat (user_id bigint PRIMARY KEY, items bloom, today bloom);
CREATE TRIGGER guard BEFORE UPDATE ON flat FOR EACH ROW EXECUTE FUNCTION bloom_guard();
DROP TRIGGER track ON exposures;
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
	EXECUTE FUNCTION bloom_track('flat', 'items', 'user_id', 'item_id', 'time=shown_at', 'live=today');
TRUNCATE exposures;
INSERT INTO exposures VALUES (1, 1);
CALL bloom_rebuild('flat');
SELECT items, today FROM flat \gset old_
INSERT INTO exposures VALUES (1, 2);
SELECT bloom_take('flat', 1, '{1,2,3}'::bigint[]);
UPDATE flat SET (items, today) = ROW(:'old_items', NULL);
UPDATE flat SET (items, today) = ROW(NULL, today);
CALL bloom_rebuild('flat');
SELECT '{1,2,3}'::bigint[] - items - today AS fresh FROM flat;
-- One column is kept, and the other one changes.
DROP TRIGGER guard ON flat;
CREATE TRIGGER guard BEFORE UPDATE ON flat FOR EACH ROW EXECUTE FUNCTION bloom_guard('keep');
UPDATE flat SET items = :'old_items', today = bloom_add(NULL, 4::bigint);
SELECT '{1,2,3,4}'::bigint[] - items - today AS fresh FROM flat;
-- or both
UPDATE flat SET items = NULL, today = NULL;
SELECT '{1,2,3,4}'::bigint[] - items - today AS fresh FROM flat;

-- A partitioned table: the trigger is called for a partition, which may lie in a partition, and have other columns.
CREATE TABLE parted (user_id bigint PRIMARY KEY, note text, items bloom) PARTITION BY RANGE (user_id);
CREATE TABLE low PARTITION OF parted FOR VALUES FROM (0) TO (10) PARTITION BY RANGE (user_id);
CREATE TABLE lowest (gone int, items bloom, note text, user_id bigint NOT NULL);
ALTER TABLE lowest DROP gone;
ALTER TABLE low ATTACH PARTITION lowest FOR VALUES FROM (0) TO (5);
CREATE TABLE high PARTITION OF parted FOR VALUES FROM (10) TO (20);
CREATE TRIGGER guard BEFORE UPDATE ON parted FOR EACH ROW EXECUTE FUNCTION bloom_guard();
DROP TRIGGER track ON exposures;
CREATE TRIGGER track AFTER INSERT ON exposures REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
	EXECUTE FUNCTION bloom_track('parted', 'items', 'user_id', 'item_id', 'time=shown_at');
TRUNCATE exposures;
INSERT INTO exposures VALUES (1, 1), (12, 1);
SELECT items AS old FROM parted WHERE user_id = 1 \gset
INSERT INTO exposures VALUES (1, 2), (12, 2);
SELECT bloom_take('parted', u, '{2,3}'::bigint[]) FROM unnest('{1,12}'::bigint[]) AS u;
UPDATE parted SET items = :'old' WHERE user_id = 1;
UPDATE parted SET items = :'old' WHERE user_id = 12;
-- also where the row goes into another partition
UPDATE parted SET user_id = 2, items = :'old' WHERE user_id = 12;
CALL bloom_rebuild('parted');
SELECT tableoid::regclass, user_id, bloom_contains_each(items, '{1,2,3}'::bigint[]) FROM parted ORDER BY 2;

-- A filter that PostgreSQL computes follows the others; a domain is a filter, too.
CREATE DOMAIN filter AS bloom;
CREATE TABLE twofold (user_id bigint PRIMARY KEY, items filter, today bloom, total bloom GENERATED ALWAYS AS (items | today) STORED);
-- (after a trigger in PL/pgSQL it is NULL in the new row)
CREATE FUNCTION as_it_is() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.items := NEW.items; RETURN NEW; END $$;
CREATE TRIGGER first BEFORE UPDATE ON twofold FOR EACH ROW EXECUTE FUNCTION as_it_is();
CREATE TRIGGER guard BEFORE UPDATE ON twofold FOR EACH ROW EXECUTE FUNCTION bloom_guard();
INSERT INTO twofold VALUES (1, bloom_add(NULL, 1::bigint), bloom_add(NULL, 2::bigint));
UPDATE twofold SET today = bloom_add(today, 3::bigint);
UPDATE twofold SET items = bloom_add(NULL, 4::bigint);
SELECT bloom_contains_each(total, '{1,2,3,4}'::bigint[]) FROM twofold;

-- The wrong kind of trigger, or argument.
\set SHOW_CONTEXT never
CREATE TRIGGER wrong BEFORE INSERT OR DELETE ON flat FOR EACH ROW EXECUTE FUNCTION bloom_guard();
INSERT INTO flat VALUES (9);
DELETE FROM flat;
DROP TRIGGER wrong ON flat;
CREATE TRIGGER wrong AFTER UPDATE ON flat FOR EACH ROW EXECUTE FUNCTION bloom_guard();
UPDATE flat SET user_id = 2;
DROP TRIGGER wrong ON flat;
CREATE TRIGGER wrong BEFORE UPDATE ON flat FOR EACH STATEMENT EXECUTE FUNCTION bloom_guard();
UPDATE flat SET user_id = 2;
DROP TRIGGER wrong ON flat;
CREATE TRIGGER wrong BEFORE TRUNCATE ON flat FOR EACH STATEMENT EXECUTE FUNCTION bloom_guard();
TRUNCATE flat;
DROP TRIGGER wrong ON flat;
DROP TRIGGER guard ON flat;
CREATE TRIGGER guard BEFORE UPDATE ON flat FOR EACH ROW EXECUTE FUNCTION bloom_guard('items');
UPDATE flat SET user_id = 2;
DROP TRIGGER guard ON flat;
CREATE TRIGGER guard BEFORE UPDATE ON flat FOR EACH ROW EXECUTE FUNCTION bloom_guard('keep', 'Keep');
UPDATE flat SET user_id = 2;
SELECT bloom_guard();
\set SHOW_CONTEXT errors
DROP TABLE exposures, windows, counted, flat, parted, twofold;

--
-- Filters at random.  What passes contains whatever the old one contained; what only adds always passes.
--
CREATE TABLE pair (items bloom);
CREATE TRIGGER guard BEFORE UPDATE ON pair FOR EACH ROW EXECUTE FUNCTION bloom_guard();
CREATE FUNCTION chosen(n int) RETURNS bigint[] LANGUAGE sql AS
	$$ SELECT COALESCE(array_agg((random() * 5000)::bigint), '{}') FROM generate_series(1, n) $$;
-- A filter of few shapes, with some layers.
CREATE FUNCTION made(items bigint[], parts int, windowed bool) RETURNS bloom LANGUAGE plpgsql AS $$
DECLARE
	f bloom := CASE WHEN windowed THEN bloom_window('6 days', 3, 0.1) ELSE bloom_new((10 ^ (1 + parts % 2))::int, 0.1) END;
	part bigint[];
BEGIN
	FOR i IN 1 .. parts LOOP
		part := ARRAY(SELECT x FROM unnest(items) AS x WHERE x % parts = i - 1);
		f := CASE WHEN windowed THEN bloom_add_at(f, part, array_fill('2026-01-01'::timestamptz + i % 4 * interval '2 days', ARRAY[cardinality(part)]))
			ELSE bloom_add(f, part) END;
	END LOOP;
	RETURN f;
END $$;
SET client_min_messages = warning;
DO $$
DECLARE
	mine bigint[];
	old bloom;
	new bloom;
	windowed bool;
	adds bool;
	passed int := 0;
	refused int := 0;
	wrong int := 0;
BEGIN
	PERFORM setseed(0.5);
	FOR i IN 1 .. 3000 LOOP
		windowed := i % 3 = 0;
		mine := chosen((5 * 3 ^ (random() * 4))::int);
		old := made(mine, 1 + i % 5, windowed);
		adds := false;
		CASE i % 7
			WHEN 0 THEN new := made(chosen(30) || mine, 1 + i % 5, windowed);
			WHEN 1 THEN new := made(mine[2:], 1 + i % 5, windowed);
			WHEN 2 THEN new := made(chosen(cardinality(mine)), 1 + i % 5, windowed);
			WHEN 3 THEN new := made(mine, 1 + i % 4, windowed);
			WHEN 4 THEN
				adds := true;
				new := old;
				FOR j IN 1 .. 4 LOOP
					new := CASE WHEN windowed THEN bloom_add_at(new, chosen(i % 60), array_fill('2025-12-29'::timestamptz + j * interval '3 days', ARRAY[i % 60]))
						ELSE bloom_add(new, chosen(i % 300)) END;
				END LOOP;
			WHEN 5 THEN
				adds := true;
				new := old | made(chosen(50), 1 + i % 4, windowed);
			ELSE
				adds := true;
				new := (made(chosen(50), 1 + i % 4, windowed) | old) | made(chosen(9), 1 + i % 5, windowed);
		END CASE;
		DELETE FROM pair;
		INSERT INTO pair VALUES (old);
		BEGIN
			UPDATE pair SET items = new;
			passed := passed + 1;
			-- (of all items, also those that the old one contains by chance)
			IF NOT bloom_contains_all(new, ARRAY(SELECT x::bigint FROM generate_series(0, 6000) AS x WHERE old @> x::bigint)) THEN
				wrong := wrong + 1;
			END IF;
		EXCEPTION WHEN serialization_failure THEN
			refused := refused + 1;
			wrong := wrong + adds::int;
		END;
	END LOOP;
	RAISE WARNING '% wrong; many passed: %, many were refused: %', wrong, passed > 1400, refused > 1000;
END
$$;
RESET client_min_messages;
DROP TABLE pair;
DROP FUNCTION chosen, made, as_it_is;
DROP DOMAIN filter;
