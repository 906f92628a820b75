// Sequelize: what a user has not seen.  Tables: tables.sql; PGHOST and PGDATABASE say where.

import { DataTypes, Sequelize } from 'sequelize';

const db = new Sequelize(process.env.PGDATABASE, process.env.PGUSER, undefined,
    { dialect: 'postgres', host: process.env.PGHOST, port: process.env.PGPORT, logging: false });
const Post = db.define('Post',
    { id: { type: DataTypes.BIGINT, primaryKey: true }, published: DataTypes.DATE },
    { tableName: 'posts', timestamps: false });

/** A condition for where: the user has not seen the post. */
const unseen = (user) => db.literal(
    `NOT (SELECT shown.current(${db.escape(user)})) @> "Post"."id"`);

const newest = async (user) => (await Post.findAll(
    { where: unseen(user), order: [['published', 'DESC']], limit: 3 })).map(({ id }) => id);

// bind, not replacements: these would write an array as a list
const ids = async (sql, ...bind) => (await db.query(sql, { bind }))[0].map(({ id }) => id);

const remaining = (user, candidates) => ids(
    'SELECT unnest(shown.unseen($1, $2)) AS id', user, candidates);

/** The next page, recorded as exposures. */
const page = (user, candidates, wanted) => ids(`INSERT INTO exposures (user_id, item_id)
    SELECT $1, unnest(shown.take($1, $2, $3)) RETURNING item_id AS id`, user, candidates, wanted);

console.log(await remaining(42, [42299, 42301, 42999]));           // [ '42301', '42999' ]
console.log(await newest(42));                                     // [ '42310', '42309', '42308' ]
console.log(await page(42, [42300, 42309, 42310, 42308], 2));      // [ '42309', '42310' ]
console.log(await newest(42));                                     // [ '42308', '42307', '42306' ]
// once a day; not in db.transaction()
await db.query('CALL shown.rebuild()');
console.log(await newest(42));                                     // [ '42308', '42307', '42306' ]
await db.close();
