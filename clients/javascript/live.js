// Compares survivors with the server's, for each filter of the table "seen".

import { createRequire } from 'node:module';
import { isDeepStrictEqual } from 'node:util';
import { parse } from './bloomexp.js';

const { Client } = createRequire(import.meta.url)('pg');
const candidate = { integer: 'i', text: 'i::text', uuid: 'md5(i::text)::uuid', bytea: 'int8send(i)' };

const client = new Client();
await client.connect();
const { rows: filters } = await client.query(
    'SELECT user_id, note, (bloom_info(items)).kind, items, items::bytea AS bytes FROM seen WHERE items IS NOT NULL');
let passed = 0;
for (const { user_id: user, note, kind, items, bytes } of filters) {
    const { rows } = await client.query(
        `SELECT candidates, candidates - items AS survivors FROM seen,
        (SELECT array_agg(${candidate[kind ?? 'integer']}) FROM generate_series(1::bigint, 2000) i) c (candidates)
        WHERE user_id = $1`, [user]);
    // the driver gives integers as strings
    const [candidates, survivors] = [rows[0].candidates, rows[0].survivors].map(
        (list) => ((kind ?? 'integer') === 'integer' ? list.map(BigInt) : list));
    if ([items, bytes].every((value) => isDeepStrictEqual(parse(value).exclude(candidates), survivors))) {
        passed++;
    } else {
        console.log(`other survivors than the server's: ${note}`);
    }
}
await client.end();
console.log(`${passed} passed, ${filters.length - passed} failed`);
process.exitCode = passed === 0 || passed < filters.length ? 1 : 0;
