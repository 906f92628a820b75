-- Dropped with the extension: INSERTs would fail.
ALTER FUNCTION {feed}.track() DEPENDS ON EXTENSION bloomexp;
