// The statements of the feed.  Both servers of this example use them.

import pg from 'pg';

// bigint as a number: here are only counts and times
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

/** The database of the PG* variables. */
export const pool = new pg.Pool({ host: process.env.PGHOST || '/var/run/postgresql', max: 10 });
// An error of a connection that nobody uses: the next request makes another one.
pool.on('error', (error) => console.error(error.message));

/** The query of the next $2 posts that the filter of user $1 in a feed does not contain. */
const unseenPosts = (feed, columns) => `SELECT ${columns} FROM posts
    WHERE NOT (SELECT ${feed}.current($1)) @> uri
    ORDER BY published DESC, uri DESC LIMIT $2`;

const UNSEEN = unseenPosts('shown', 'uri');

// Lock the user first, in a statement before: so this one sees what other requests of the
// user have taken, and finds a full page as long as there is one.
const LOCK = 'SELECT shown.lock($1)';
const PAGE = `WITH page AS (
        INSERT INTO exposures (user_id, item_id) ${unseenPosts('shown', '$1, uri')}
        RETURNING item_id)
    SELECT uri, title FROM page JOIN posts ON uri = item_id ORDER BY published DESC, uri DESC`;

// For Bluesky.  A place in the feed is a time in microseconds and a uri, and stays if its post is
// deleted.
const UNREPORTED = unseenPosts('reported',
    'uri, (extract(epoch FROM published) * 1000000)::bigint AS time');
const UNREPORTED_FROM = UNREPORTED.replace('ORDER BY',
    `AND (published, uri) < ('epoch'::timestamptz + $3 * interval '1 microsecond', $4)
    ORDER BY`);

// nullif keeps PostgreSQL 19 from a much slower plan.
const NOT_IN = `SELECT uri FROM posts
    WHERE uri NOT IN (SELECT nullif(item_id, NULL) FROM exposures WHERE user_id = $1)
    ORDER BY published DESC, uri DESC LIMIT $2`;

const NOT_EXISTS = `SELECT uri FROM posts AS p
    WHERE NOT EXISTS (SELECT FROM exposures WHERE user_id = $1 AND item_id = p.uri)
    ORDER BY published DESC, uri DESC LIMIT $2`;

const NEWEST = 'SELECT uri FROM posts ORDER BY published DESC, uri DESC LIMIT $1';

const REPEATS = `SELECT count(*) AS repeats FROM (${NEWEST}) AS p
    WHERE EXISTS (SELECT FROM exposures WHERE user_id = $2 AND item_id = p.uri)`;

async function rows(sql, parameters) {
    return (await pool.query(sql, parameters)).rows;
}

/** The next posts of a user, recorded as exposures. */
export async function takePage(user, wanted) {
    const client = await pool.connect();
    try {
        await client.query('BEGIN');
        await client.query(LOCK, [user]);
        const page = await client.query(PAGE, [user, wanted]);
        await client.query('COMMIT');
        client.release();
        return page.rows;
    } catch (error) {
        client.release(error); // closes the connection, which rolls back
        throw error;
    }
}

/** The next posts that a reader has not reported as seen, those behind a place if one is given. */
export const unreported = (reader, wanted, place) => place === undefined ?
    rows(UNREPORTED, [reader, wanted]) :
    rows(UNREPORTED_FROM, [reader, wanted, ...place]);

/** Remember what a reader has reported as seen. */
export const report = (reader, uris) => rows('SELECT reported.add($1, $2)', [reader, uris]);

/**
 * How many milliseconds it takes to find a page in each way, the best of three runs, and what it
 * would repeat without a filter.
 */
export async function compare(user, wanted) {
    const ways = {
        bloomexp: [UNSEEN, [user, wanted]],
        'NOT IN': [NOT_IN, [user, wanted]],
        'NOT EXISTS': [NOT_EXISTS, [user, wanted]],
        'no filter': [NEWEST, [wanted]],
    };
    const times = {};

    for (const [way, [sql, parameters]] of Object.entries(ways)) {
        times[way] = Infinity;
        for (let i = 0; i < 3; i++) {
            const start = performance.now();
            await rows(sql, parameters);
            times[way] = Math.min(times[way], performance.now() - start);
        }
    }
    return { times, repeats: (await rows(REPEATS, [wanted, user]))[0].repeats };
}

/** Forget that a user was shown a post: the user's filter is built again without it. */
export async function markUnread(user, uri) {
    await rows('DELETE FROM exposures WHERE user_id = $1 AND item_id = $2', [user, uri]);
    await rows('CALL shown.rebuild(ARRAY[$1])', [user]);
}

/**
 * What the scheduled job does: build all filters again, from the exposures of the last 30 days.
 * Returns how many milliseconds it takes.
 */
export async function night() {
    const start = performance.now();

    await rows('CALL shown.rebuild()');
    return performance.now() - start;
}

/**
 * The filter of a user, as hexadecimal digits and in figures; and how many posts the user has not
 * seen, as exact SQL finds them, and how many of these it excludes by mistake.
 */
export const filterOf = async (user) => (await rows(
    `SELECT filter::text AS value, i.items, i.layers, i.bytes, p.*
    FROM shown.current($1) AS filter, bloom_info(filter) AS i, LATERAL (
        SELECT count(*) AS unseen, count(*) FILTER (WHERE filter @> uri) AS dropped
        FROM posts
        WHERE NOT EXISTS (SELECT FROM exposures WHERE user_id = $1 AND item_id = uri)) AS p
    WHERE filter IS NOT NULL`, [user]))[0];
