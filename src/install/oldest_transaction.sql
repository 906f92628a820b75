-- Feeds call the same C function as bloomexp.oldest_transaction(), because the extension can be in
-- any schema.

CREATE FUNCTION bloom_oldest_transaction() RETURNS timestamp with time zone
AS 'MODULE_PATHNAME', 'bloomexp_oldest_transaction'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION bloom_oldest_transaction() IS
'a time, at least a second ago, before which no open transaction of another session in this '
'database began; -infinity if that is not known, because a session has track_activities off, or '
'had it off when its transaction began';
