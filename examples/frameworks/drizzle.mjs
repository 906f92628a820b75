// Drizzle: what a user has not seen.  Tables: tables.sql; PGHOST and PGDATABASE say where.

import { desc, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { bigint, pgTable, timestamp } from 'drizzle-orm/pg-core';
import pg from 'pg';

const posts = pgTable('posts', {
    id: bigint('id', { mode: 'number' }).primaryKey(),
    published: timestamp('published', { withTimezone: true }),
});
const pool = new pg.Pool({ host: process.env.PGHOST });
const db = drizzle(pool);

/** A condition for where(): the user has not seen what is in a column. */
const unseen = (user, column) => sql`NOT (SELECT shown.current(${user})) @> ${column}`;

const newest = async (user) => (await db.select({ id: posts.id }).from(posts)
    .where(unseen(user, posts.id)).orderBy(desc(posts.published)).limit(3)).map(({ id }) => id);

const ids = async (query) => (await db.execute(query)).rows.map(({ id }) => Number(id));

// sql.param, because an array alone would become a list of parameters
const remaining = (user, candidates) => ids(
    sql`SELECT unnest(shown.unseen(${user}, ${sql.param(candidates)})) AS id`);

/** The next page, recorded as exposures. */
const page = (user, candidates, wanted) => ids(sql`INSERT INTO exposures (user_id, item_id)
    SELECT ${user}, unnest(shown.take(${user}, ${sql.param(candidates)}, ${wanted}))
    RETURNING item_id AS id`);

console.log(await remaining(42, [42299, 42301, 42999]));           // [ 42301, 42999 ]
console.log(await newest(42));                                     // [ 42310, 42309, 42308 ]
console.log(await page(42, [42300, 42309, 42310, 42308], 2));      // [ 42309, 42310 ]
console.log(await newest(42));                                     // [ 42308, 42307, 42306 ]
// once a day; not in db.transaction()
await db.execute(sql`CALL shown.rebuild()`);
console.log(await newest(42));                                     // [ 42308, 42307, 42306 ]
await pool.end();
