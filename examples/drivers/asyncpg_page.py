import asyncio

import asyncpg

PAGE = """INSERT INTO exposures (user_id, item_id)
    SELECT $1, unnest(shown.take($1, $2, 2)) RETURNING item_id"""


async def main():
    connection = await asyncpg.connect()
    rows = await connection.fetch(PAGE, 47, [47001, 703, 704, 705])
    print([row["item_id"] for row in rows])  # [703, 704]
    await connection.close()


asyncio.run(main())
