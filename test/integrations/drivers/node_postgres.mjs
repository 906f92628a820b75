// Runs the statements of drivers.pl by node-postgres; psycopg3.py describes
// input and output.

import pg from 'pg';
import { createInterface } from 'node:readline';

function integer(text) {
    return Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text);
}

function parameters(how, user, list) {
    if (how === 'integer') {
        return [integer(user), integer(list)];
    }
    if (how === 'uuid' || how === 'string' || how === 'joined') {
        return [user, list];
    }
    const items = list === '' ? [] : list.split(',');
    if (how === 'integers') {
        return [integer(user), items.map(integer)];
    }
    return [user, how === 'literal' ? `{${items}}` : items];
}

const client = new pg.Client();
await client.connect();
for await (const line of createInterface({ input: process.stdin })) {
    const [text, how, ...rest] = line.split('\t');
    const values = parameters(how, ...rest).slice(0, text.includes('$2') ? 2 : 1);
    try {
        const { rows } = await client.query({ text, values, rowMode: 'array' });
        console.log(`ok\t${rows.length ? rows[0][0] : ''}`);
    } catch (error) {
        console.log(`error\t${error.code}\t${error.message}`);
    }
}
await client.end();
