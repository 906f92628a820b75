-- What the rebuild of a feed needs of other sessions.

CREATE FUNCTION bloom_oldest_transaction() RETURNS timestamp with time zone
AS 'MODULE_PATHNAME', 'bloomexp_oldest_transaction'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION bloom_oldest_transaction() IS
'a time, more than a second ago, before which no transaction of another session that is open in '
'this database began; -infinity if that is not known, because a session has track_activities '
'switched off, or had when its transaction began';
