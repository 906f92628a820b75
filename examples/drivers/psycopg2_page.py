import psycopg2

PAGE = """INSERT INTO exposures (user_id, item_id)
    SELECT %(user)s, unnest(shown.take(%(user)s, %(candidates)s, 2)) RETURNING item_id"""

# where the PG* variables lead
with psycopg2.connect("") as connection, connection.cursor() as cursor:
    cursor.execute(PAGE, {"user": 52, "candidates": [52001, 703, 704, 705]})
    print([item for (item,) in cursor])  # [703, 704]
