--
-- Whether the application :app, whose file was read in this session, and its filter give the same
-- answer, a line for each reader: app|state|reader|what was read|exposed|missing as
-- promised|same|page|other ways, as judge() says. First some exposures were there before the
-- filters and the rest came live; then every reader reads one more page, and a line says how many
-- of its items came again; then the filters are rebuilt.
--
RESET search_path;
SELECT command FROM preparation WHERE app = :'app' \gexec

CREATE TEMPORARY VIEW verdict AS
SELECT me, format('%s %s', r.items, history), j.* FROM app AS a, reader AS r, judge(a, me) AS j
	WHERE a.app = :'app'
	AND me = ANY (a.readers);

SELECT :'app', 'live', v.* FROM verdict AS v ORDER BY me;
SELECT :'app', 'again', me, read_page(a, me) FROM app AS a, unnest(readers) AS me
	WHERE a.app = :'app' ORDER BY me;
SELECT :'app', 'next', v.* FROM verdict AS v ORDER BY me;
SELECT rebuild FROM app WHERE app = :'app' \gexec
SELECT :'app', 'rebuilt', v.* FROM verdict AS v ORDER BY me;
DROP VIEW verdict;
