--
-- The trigger for tables whose filters others could overwrite.
--

CREATE FUNCTION bloom_guard() RETURNS trigger
AS 'MODULE_PATHNAME', 'bloomexp_guard'
LANGUAGE C;

COMMENT ON FUNCTION bloom_guard() IS
'trigger function, BEFORE UPDATE FOR EACH ROW: refuses a filter that lacks what the stored one has, as an application writes back that read the row earlier; with the argument keep it keeps the stored one instead';
