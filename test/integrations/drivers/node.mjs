// Runs the statements of drivers.pl by the module that is named, pg or postgres;
// python.py describes input and output.

import { createInterface } from 'node:readline';

const [name] = process.argv.slice(2);
const { default: driver } = await import(name);

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

// For each module: the rows, as arrays, of a statement with these parameters; and how to end.
async function pg() {
    const client = new driver.Client();
    await client.connect();
    return {
        query: async (text, how, user, items) =>
            (await client.query({ text, values: [how.startsWith('integer') ? integer(user) : user, items].slice(0, text.includes('$2') ? 2 : 1), rowMode: 'array' })).rows,
        end: () => client.end(),
    };
}

async function postgres() {
    const sql = driver({ host: process.env.PGHOST, max: 1, onnotice: () => {} });
    return {
        query: (text, how, user, items) => {
            // as a template: what stands between the parameters, then the parameters
            const parts = text.split(/\$[12]/);
            parts.raw = parts;
            return sql(parts, ...[...text.matchAll(/\$([12])/g)].map(([, number]) => (number === '1' ? integer(user) : items))).values();
        },
        end: () => sql.end(),
    };
}

const { query, end } = await { pg, postgres }[name]();
for await (const line of createInterface({ input: process.stdin })) {
    const [text, how, user, list] = line.split('\t');
    try {
        const rows = await query(text, how, user, itemsOf(how, list));
        console.log(`ok\t${rows.length ? rows[0][0] : ''}`);
    } catch (error) {
        console.log(`error\t${error.code}\t${error.message.split('\n')[0]}`);
    }
}
await end();
