import asyncio

import asyncpg

PAGE = """INSERT INTO exposures (user_id, item_id, shown_at)
    SELECT $1::bigint, item_id, now() FROM unnest(bloom_take('seen', $1::bigint, $2::bigint[], 2)) AS item_id
    RETURNING item_id"""


async def main():
    connection = await asyncpg.connect()
    rows = await connection.fetch(PAGE, 47, [47001, 703, 704, 705])
    print([row["item_id"] for row in rows])
    await connection.close()


asyncio.run(main())
