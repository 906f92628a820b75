"""Counts the exposures that neither a filter nor `today` contains: python3 missing.py [days]

The days are those of nightly.py: older exposures are in no filter.
"""

import sys

import bloomexp
import psycopg

# one statement, so one snapshot
EXPOSURES = """
    SELECT items, today, shown
    FROM (SELECT user_id, array_agg(item_id) AS shown FROM exposures
          WHERE shown_at >= now() - %s * interval '1 day'
          AND user_id IS NOT NULL AND item_id IS NOT NULL
          GROUP BY user_id) AS recent
    LEFT JOIN seen USING (user_id)"""


def main(days=90):
    missing = 0
    with psycopg.connect() as connection, connection.cursor("exposures", binary=True) as rows:
        for items, today, shown in rows.execute(EXPOSURES, [days]):
            missing += len(set(bloomexp.parse(items).exclude(shown)).difference(today or ()))
    print(f"{missing} missing")
    sys.exit(missing > 0)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
