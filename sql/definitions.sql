--
-- Who looks at a definition does not run what the owner of the table has put there, nor does a condition use casts that the
-- owner of a type can make.
--
CREATE ROLE regress_bloomexp_owner;
CREATE SCHEMA owned AUTHORIZATION regress_bloomexp_owner;
SET ROLE regress_bloomexp_owner;
CREATE FUNCTION owned.as_whom(i int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE NOTICE 'called as %', current_user; RETURN true; END $$;
CREATE DOMAIN owned.checked AS int CHECK (owned.as_whom(VALUE));
CREATE TYPE owned.state AS ENUM ('ok', 'bad');
CREATE TABLE owned.seen (user_id bigint PRIMARY KEY, items public.bloom);
CREATE TABLE owned.exposures (user_id bigint, item_id bigint, shown_at timestamptz DEFAULT now(), state owned.state);
CREATE TRIGGER track AFTER INSERT ON owned.exposures REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION
	public.bloom_track('seen', 'items', 'user_id', 'item_id', 'time=shown_at', 'condition=''{1}''::owned.checked[] IS NOT NULL');
RESET ROLE;
SELECT relation, trigger_name, problem FROM public.bloom_untracked('owned.exposures');
SET ROLE regress_bloomexp_owner;
DROP TRIGGER track ON owned.exposures;
CREATE TRIGGER track AFTER INSERT ON owned.exposures REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION
	public.bloom_track('seen', 'items', 'user_id', 'item_id', 'time=shown_at', 'condition=state = ''ok''');
CREATE FUNCTION owned.to_text(owned.state) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE 'a planted cast was called'; END $$;
CREATE CAST (owned.state AS text) WITH FUNCTION owned.to_text(owned.state) AS IMPLICIT;
RESET ROLE;
\set SHOW_CONTEXT never
INSERT INTO owned.exposures VALUES (1, 1, now(), 'ok');
\set SHOW_CONTEXT errors
SELECT problem FROM public.bloom_untracked('owned.exposures');

-- Values of generated columns may not be there when the trigger is called.
CREATE TABLE owned.parted (user_id bigint, kind text, is_read boolean GENERATED ALWAYS AS (kind = 'read') STORED,
	item_id bigint, double_id bigint GENERATED ALWAYS AS (item_id * 2) STORED, shown_at timestamptz) PARTITION BY LIST (user_id);
CREATE TABLE owned.part PARTITION OF owned.parted DEFAULT;
CREATE TRIGGER track AFTER INSERT ON owned.parted REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION
	public.bloom_track('seen', 'items', 'user_id', 'item_id', 'time=shown_at', 'condition=is_read');
\set SHOW_CONTEXT never
INSERT INTO owned.parted (user_id, kind, item_id, shown_at) VALUES (1, 'read', 1, now());
DROP TRIGGER track ON owned.parted;
CREATE TRIGGER track AFTER INSERT ON owned.parted REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION
	public.bloom_track('seen', 'items', 'user_id', 'double_id', 'time=shown_at');
INSERT INTO owned.parted (user_id, kind, item_id, shown_at) VALUES (1, 'read', 1, now());
DROP TRIGGER track ON owned.parted;
-- (stored in the table itself they are)
CREATE TRIGGER track AFTER INSERT ON owned.part REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION
	public.bloom_track('seen', 'items', 'user_id', 'double_id', 'time=shown_at', 'condition=is_read');
INSERT INTO owned.part (user_id, kind, item_id, shown_at) VALUES (1, 'read', 1, now()), (1, 'skip', 2, now());
\set SHOW_CONTEXT errors
SELECT public.bloom_contains_each(items, '{2,4}'::bigint[]) FROM owned.seen;
DROP SCHEMA owned CASCADE;
DROP ROLE regress_bloomexp_owner;
