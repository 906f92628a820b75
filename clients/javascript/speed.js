// Measures what a feed does, for user 42 of bench/outside.

import { createRequire } from 'node:module';
import { isDeepStrictEqual } from 'node:util';
import { parse } from './bloomexp.js';

const { Client } = createRequire(import.meta.url)('pg');

const FETCH = { name: 'fetch', text: 'SELECT items::bytea AS items FROM seen WHERE user_id = $1' };
const SEND = {
    name: 'send',
    text: 'SELECT bloom_exclude_packed($1, (SELECT items FROM seen WHERE user_id = $2)) AS fresh',
};

// Microseconds of one of many calls.
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
async function excludePacked() {
    const packed = Buffer.from(array.buffer, array.byteOffset, array.byteLength);
    const { rows } = await client.query({ ...SEND, values: [packed, 42] });
    return new BigInt64Array(Uint8Array.from(rows[0].fresh).buffer);
}

const client = new Client();
await client.connect();
const { rows } = await client.query('SELECT candidates FROM seen WHERE user_id = 42');
const bigints = rows[0].candidates.map(BigInt);
const array = BigInt64Array.from(bigints);
const bytes = await fetch();
const seen = parse(bytes);
if (!isDeepStrictEqual(seen.exclude(array), await excludePacked())) {
    throw new Error("other survivors than the server's");
}
await median('parse', () => parse(bytes));
await median('exclude', () => seen.exclude(array));
await median('exclude, an array of BigInt', () => seen.exclude(bigints));
await median('fetch and parse', async () => parse(await fetch()));
await median('packed', excludePacked);
await client.end();
