import psycopg

PAGE = """INSERT INTO exposures (user_id, item_id)
    SELECT %(user)s, unnest(shown.take(%(user)s, %(candidates)s, 2)) RETURNING item_id"""

with psycopg.connect() as connection:  # where the PG* variables lead
    rows = connection.execute(PAGE, {"user": 42, "candidates": [42001, 703, 704, 705]})
    print([item for (item,) in rows])  # [703, 704]
