// TypeORM: what a user has not seen.  Tables: tables.sql; PGHOST and PGDATABASE say where.

import { DataSource, EntitySchema } from 'typeorm';

const Post = new EntitySchema({
    name: 'posts',
    columns: { id: { type: 'bigint', primary: true }, published: { type: 'timestamptz' } },
});

const { PGHOST: host, PGPORT: port, PGUSER: username, PGDATABASE: database } = process.env;
// synchronize would drop columns and indexes that entities lack
const db = await new DataSource({ type: 'postgres', host, port: Number(port), username, database,
    entities: [Post], synchronize: false }).initialize();

/** A condition for where(): the user has not seen the post. */
const unseen = 'NOT (SELECT shown.current(:user)) @> p.id';

const newest = async (user) => (await db.getRepository(Post).createQueryBuilder('p')
    .where(unseen, { user }).orderBy('p.published', 'DESC').limit(3).getMany())
    .map(({ id }) => id);

const ids = async (sql, ...parameters) => (await db.query(sql, parameters)).map(({ id }) => id);

const remaining = (user, candidates) => ids(
    'SELECT unnest(shown.unseen($1, $2)) AS id', user, candidates);

/** The next page, recorded as exposures.  (WITH, because query() returns rows only of a SELECT.) */
const page = (user, candidates, wanted) => ids(`WITH page AS (
    INSERT INTO exposures (user_id, item_id)
    SELECT $1, unnest(shown.take($1, $2, $3)) RETURNING item_id)
    SELECT item_id AS id FROM page`, user, candidates, wanted);

console.log(await remaining(42, [42299, 42301, 42999]));           // [ '42301', '42999' ]
console.log(await newest(42));                                     // [ '42310', '42309', '42308' ]
console.log(await page(42, [42300, 42309, 42310, 42308], 2));      // [ '42309', '42310' ]
console.log(await newest(42));                                     // [ '42308', '42307', '42306' ]
// once a day; not in db.transaction()
await db.query('CALL shown.rebuild()');
console.log(await newest(42));                                     // [ '42308', '42307', '42306' ]
await db.destroy();
