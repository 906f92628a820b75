import postgres from 'postgres';

const sql = postgres({ host: process.env.PGHOST || '/var/run/postgresql' });

// An array of numbers or strings.  One of BigInt needs sql.array(candidates).
const page = (user, candidates) => sql`
    INSERT INTO exposures (user_id, item_id)
    SELECT ${user}, unnest(shown.take(${user}, ${candidates}, 2)) RETURNING item_id`;

try {
    const rows = await page(46, [46001, 703, 704, 705]);
    console.log(rows.map((row) => row.item_id)); // [ '703', '704' ]
} finally {
    await sql.end();
}
