-- Plain PostgreSQL, without an extension.  What users were shown, if you have no such table yet:
CREATE TABLE IF NOT EXISTS exposures (user_id bigint NOT NULL, item_id bigint NOT NULL,
	shown_at timestamptz NOT NULL DEFAULT now());

-- A row for each user: the filter that nightly.py builds, and what was shown since.
-- Bits cannot be compressed.
CREATE TABLE seen (
	user_id bigint PRIMARY KEY,
	items bytea,
	today bigint[] NOT NULL DEFAULT '{}'
);
ALTER TABLE seen ALTER items SET STORAGE EXTERNAL;
