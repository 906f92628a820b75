import pg from 'pg';

const PAGE = `INSERT INTO exposures (user_id, item_id)
    SELECT $1, unnest(shown.take($1, $2, 2)) RETURNING item_id`;

const client = new pg.Client({ host: process.env.PGHOST || '/var/run/postgresql' });
await client.connect();
try {
    const { rows } = await client.query(PAGE, [43, [43001, 703, 704, 705]]);
    console.log(rows.map(row => row.item_id)); // [ '703', '704' ]
} finally {
    await client.end();
}
