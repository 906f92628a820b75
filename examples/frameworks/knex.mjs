// Knex: what a user has not seen.  Tables: tables.sql; PGHOST and PGDATABASE say where.

import knex from 'knex';

const { PGHOST: host, PGUSER: user, PGDATABASE: database } = process.env;
const db = knex({ client: 'pg', connection: { host, user, database } });

/** A condition for where(): the user has not seen the post. */
const unseen = (user) => db.raw('NOT (SELECT shown.current(?)) @> posts.id', [user]);

const newest = (user) => db('posts')
    .where(unseen(user)).orderBy('published', 'desc').limit(3).pluck('id');

const ids = async (sql, bindings) => (await db.raw(sql, bindings)).rows.map(({ id }) => id);

const remaining = (user, candidates) => ids(
    'SELECT unnest(shown.unseen(?, ?)) AS id', [user, candidates]);

/** The next page, recorded as exposures. */
const page = (user, candidates, wanted) => ids(`INSERT INTO exposures (user_id, item_id)
    SELECT ?, unnest(shown.take(?, ?, ?)) RETURNING item_id AS id`,
    [user, user, candidates, wanted]);

console.log(await remaining(42, [42299, 42301, 42999]));           // [ '42301', '42999' ]
console.log(await newest(42));                                     // [ '42310', '42309', '42308' ]
console.log(await page(42, [42300, 42309, 42310, 42308], 2));      // [ '42309', '42310' ]
console.log(await newest(42));                                     // [ '42308', '42307', '42306' ]
// once a day; not in db.transaction()
await db.raw('CALL shown.rebuild()');
console.log(await newest(42));                                     // [ '42308', '42307', '42306' ]
await db.destroy();
