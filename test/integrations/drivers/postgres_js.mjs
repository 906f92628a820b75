// Runs the statements of drivers.pl by postgres.js; psycopg3.py describes input
// and output.

import postgres from 'postgres';
import { createInterface } from 'node:readline';

function integer(text) {
    return Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text);
}

function itemsOf(how, list) {
    const items = list === '' ? [] : list.split(',');
    switch (how) {
        case 'integer': return integer(list);
        case 'integers': return items.map(integer);
        case 'literal': return `{${items}}`;
        case 'strings': case 'uuids': return items;
        default: return list;
    }
}

const sql = postgres({ host: process.env.PGHOST, max: 1, onnotice: () => {} });
for await (const line of createInterface({ input: process.stdin })) {
    const [text, how, user, list] = line.split('\t');
    // as a template: what stands between the parameters, then the parameters
    const parts = text.split(/\$[12]/);
    parts.raw = parts;
    const values = [...text.matchAll(/\$([12])/g)].map(([, number]) => number === '1' ? integer(user) : itemsOf(how, list));
    try {
        const rows = await sql(parts, ...values).values();
        console.log(`ok\t${rows.length ? rows[0][0] : ''}`);
    } catch (error) {
        console.log(`error\t${error.code}\t${error.message.split('\n')[0]}`);
    }
}
await sql.end();
