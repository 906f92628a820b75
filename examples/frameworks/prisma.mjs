// Prisma: what a user has not seen.  Tables: tables.sql; PGHOST and PGDATABASE say where.  Before:
// npm install prisma@7 @prisma/client@7 @prisma/adapter-pg@7
// npx prisma generate --schema schema.prisma

import { PrismaPg } from '@prisma/adapter-pg';
import { Prisma, PrismaClient } from './prisma-client/index.js';

const db = new PrismaClient({ adapter: new PrismaPg({ host: process.env.PGHOST }) });

/**
 * A condition: the user has not seen the post.  findMany() takes no SQL, so the feed is a raw
 * query, too.
 */
const unseen = (user) => Prisma.sql`NOT (SELECT shown.current(${user})) @> posts.id`;

const ids = async (query) => (await db.$queryRaw(query)).map(({ id }) => Number(id));

const newest = (user) => ids(
    Prisma.sql`SELECT id FROM posts WHERE ${unseen(user)} ORDER BY published DESC LIMIT 3`);

const remaining = (user, candidates) => ids(
    Prisma.sql`SELECT unnest(shown.unseen(${user}, ${candidates})) AS id`);

/** The next page, recorded as exposures. */
const page = (user, candidates, wanted) => ids(Prisma.sql`INSERT INTO exposures (user_id, item_id)
    SELECT ${user}, unnest(shown.take(${user}, ${candidates}, ${wanted})) RETURNING item_id AS id`);

console.log(await remaining(42, [42299, 42301, 42999]));           // [ 42301, 42999 ]
console.log(await newest(42));                                     // [ 42310, 42309, 42308 ]
console.log(await page(42, [42300, 42309, 42310, 42308], 2));      // [ 42309, 42310 ]
console.log(await newest(42));                                     // [ 42308, 42307, 42306 ]
// once a day; not in db.$transaction()
await db.$executeRaw`CALL shown.rebuild()`;
console.log(await newest(42));                                     // [ 42308, 42307, 42306 ]
await db.$disconnect();
