-- What compose.yml makes when its volume is new: the feed "seen", and the role of an application.

CREATE EXTENSION bloomexp;

SELECT bloomexp.create_feed('seen', width => '30 days', fpr => 0.01);

-- Give it a password of your own.
CREATE ROLE app LOGIN PASSWORD 'secret';
GRANT USAGE ON SCHEMA seen TO app;
GRANT EXECUTE ON FUNCTION seen.take, seen.take_back, seen.lock, seen.unseen, seen.contains,
	seen.current, seen.add TO app;
