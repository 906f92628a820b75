import pg from 'pg';

const PAGE = `INSERT INTO exposures (user_id, item_id, shown_at)
    SELECT $1::bigint, item_id, now() FROM unnest(bloom_take('seen', $1::bigint, $2::bigint[], 2)) AS item_id
    RETURNING item_id`;

const client = new pg.Client({ host: process.env.PGHOST || '/var/run/postgresql' });
await client.connect();
try {
    const { rows } = await client.query(PAGE, [43, [43001, 703, 704, 705]]);
    console.log(rows.map(row => row.item_id));
} finally {
    await client.end();
}
