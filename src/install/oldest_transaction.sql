-- Called by rebuilds of feeds without triggers.

CREATE FUNCTION bloom_oldest_transaction() RETURNS timestamp with time zone
AS 'MODULE_PATHNAME', 'bloomexp_oldest_transaction'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION bloom_oldest_transaction() IS
'lower bound on the start of all open transactions of other sessions in this database, at least a '
'second ago; -infinity if a start is unknown, because track_activities is off in a session, or was '
'when its transaction began';
