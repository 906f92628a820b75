// Drizzle: what a user has not seen.  Tables: tables.sql; PGHOST and PGDATABASE say where.

import { desc, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { bigint, pgTable, timestamp } from 'drizzle-orm/pg-core';
import pg from 'pg';

// seen is no pgTable; drizzle.config has tablesFilter: ['*', '!seen'], or push would drop it
const posts = pgTable('posts', { id: bigint('id', { mode: 'number' }).primaryKey(), published: timestamp('published') });
const pool = new pg.Pool({ host: process.env.PGHOST });
const db = drizzle(pool);

/** The filter of a user, and a condition for where(): the user has not seen what is in a column. */
const itemsOf = (user) => sql`(SELECT items FROM seen WHERE user_id = ${user}::bigint)`;
const unseen = (user, column) => sql`NOT ${itemsOf(user)} @> ${column}`;

const newest = async (user) => (await db.select({ id: posts.id }).from(posts).where(unseen(user, posts.id))
    .orderBy(desc(posts.published)).limit(3)).map(({ id }) => id);

const ids = async (query) => (await db.execute(query)).rows.map(({ id }) => Number(id));

// sql.param, because an array alone would become a list of parameters
const remaining = (user, candidates) => ids(sql`SELECT unnest(${sql.param(candidates)}::bigint[] - ${itemsOf(user)}) AS id`);

/** The next page, recorded as exposures. */
const page = (user, candidates, wanted) => ids(sql`INSERT INTO exposures (user_id, item_id)
    SELECT ${user}::bigint, item_id
    FROM unnest(bloom_take('seen', ${user}::bigint, ${sql.param(candidates)}::bigint[], ${wanted}::integer)) AS item_id
    RETURNING item_id AS id`);

console.log(await remaining(42, [42299, 42301, 42999]));           // [ 42301, 42999 ]
console.log(await newest(42));                                     // [ 42310, 42309, 42308 ]
console.log(await page(42, [42300, 42309, 42310, 42308], 2));      // [ 42309, 42310 ]
console.log(await newest(42));                                     // [ 42308, 42307, 42306 ]
// once per day; not in db.transaction()
await db.execute(sql`CALL bloom_rebuild('seen', rebuilt_at_column => 'rebuilt_at')`);
console.log(await newest(42));                                     // [ 42308, 42307, 42306 ]
await pool.end();
