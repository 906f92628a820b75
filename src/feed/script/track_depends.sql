ALTER FUNCTION {feed}.track() DEPENDS ON EXTENSION bloomexp;	-- dropped with it: INSERTs would fail
