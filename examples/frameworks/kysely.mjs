// Kysely: what a user has not seen.  Tables: tables.sql; PGHOST and PGDATABASE say where.

import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';

const pool = new pg.Pool({ host: process.env.PGHOST });
const db = new Kysely({ dialect: new PostgresDialect({ pool }) });

/** A condition for where(): the user has not seen what is in a column. */
const unseen = (user, column) => sql`NOT (SELECT shown.current(${user})) @> ${sql.ref(column)}`;

const newest = async (user) => (await db.selectFrom('posts').select('id')
    .where(unseen(user, 'posts.id')).orderBy('published', 'desc').limit(3).execute())
    .map(({ id }) => id);

const ids = async (query) => (await query.execute(db)).rows.map(({ id }) => id);

const remaining = (user, candidates) => ids(
    sql`SELECT unnest(shown.unseen(${user}, ${candidates})) AS id`);

/** The next page, recorded as exposures. */
const page = (user, candidates, wanted) => ids(sql`INSERT INTO exposures (user_id, item_id)
    SELECT ${user}, unnest(shown.take(${user}, ${candidates}, ${wanted})) RETURNING item_id AS id`);

console.log(await remaining(42, [42299, 42301, 42999]));           // [ '42301', '42999' ]
console.log(await newest(42));                                     // [ '42310', '42309', '42308' ]
console.log(await page(42, [42300, 42309, 42310, 42308], 2));      // [ '42309', '42310' ]
console.log(await newest(42));                                     // [ '42308', '42307', '42306' ]
// once a day; not in db.transaction()
await sql`CALL shown.rebuild()`.execute(db);
console.log(await newest(42));                                     // [ '42308', '42307', '42306' ]
await db.destroy();
