// Beside a server: "live" compares survivors with the server's, for each filter of the table
// "seen"; "speed" measures what a feed does, for user 42 of bench/outside.

import { createRequire } from 'node:module';
import { isDeepStrictEqual } from 'node:util';
import { parse } from './bloomexp.js';

const { Client } = createRequire(import.meta.url)('pg');
const client = new Client();
const candidate = { integer: 'i', text: 'i::text', uuid: 'md5(i::text)::uuid',
    bytea: 'int8send(i)' };
const FETCH = { name: 'fetch', text: 'SELECT items::bytea AS items FROM seen WHERE user_id = $1' };
const SEND = {
    name: 'send',
    text: 'SELECT bloom_exclude_packed($1, (SELECT items FROM seen WHERE user_id = $2)) AS fresh',
};

async function live() {
    const { rows: filters } = await client.query(
        `SELECT user_id, note, (bloom_info(items)).kind, items, items::bytea AS bytes FROM seen
        WHERE items IS NOT NULL`);
    let passed = 0;
    for (const { user_id: user, note, kind, items, bytes } of filters) {
        const { rows } = await client.query(
            `SELECT candidates, candidates - items AS survivors FROM seen,
            (SELECT array_agg(${candidate[kind ?? 'integer']})
                FROM generate_series(1::bigint, 2000) i) c (candidates)
            WHERE user_id = $1`, [user]);
        // the driver gives integers as strings
        const [candidates, survivors] = [rows[0].candidates, rows[0].survivors].map(
            (list) => ((kind ?? 'integer') === 'integer' ? list.map(BigInt) : list));
        if ([items, bytes].every(
            (value) => isDeepStrictEqual(parse(value).exclude(candidates), survivors))) {
            passed++;
        } else {
            console.log(`other survivors than the server's: ${note}`);
        }
    }
    console.log(`${passed} passed, ${filters.length - passed} failed`);
    process.exitCode = passed === 0 || passed < filters.length ? 1 : 0;
}

// The median of many calls' microseconds.
async function median(what, call) {
    const times = [];
    for (let i = 0; i < 3000; i++) {
        const start = performance.now();
        const answer = call();
        if (answer instanceof Promise) {
            await answer;
        }
        times.push(1000 * (performance.now() - start));
    }
    console.log(`${what}\t${times.sort((a, b) => a - b)[1500].toFixed(1)}`);
}

async function fetch() {
    const { rows } = await client.query({ ...FETCH, values: [42] });
    return rows[0].items;
}

// The driver's Buffer is of the server's hexadecimal text; its bytes may not be aligned.
async function excludePacked(array) {
    const packed = Buffer.from(array.buffer, array.byteOffset, array.byteLength);
    const { rows } = await client.query({ ...SEND, values: [packed, 42] });
    return new BigInt64Array(Uint8Array.from(rows[0].fresh).buffer);
}

async function speed() {
    const { rows } = await client.query('SELECT candidates FROM seen WHERE user_id = 42');
    const bigints = rows[0].candidates.map(BigInt);
    const array = BigInt64Array.from(bigints);
    const bytes = await fetch();
    const seen = parse(bytes);
    if (!isDeepStrictEqual(seen.exclude(array), await excludePacked(array))) {
        throw new Error("other survivors than the server's");
    }
    await median('parse', () => parse(bytes));
    await median('exclude', () => seen.exclude(array));
    await median('exclude, an array of BigInt', () => seen.exclude(bigints));
    await median('fetch and parse', async () => parse(await fetch()));
    await median('packed', () => excludePacked(array));
}

await client.connect();
await { live, speed }[process.argv[2]]();
await client.end();
