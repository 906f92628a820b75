"""Builds the filters of all users, once per night: python3 nightly.py [days]

Connects where the PG* variables lead, past poolers.  One snapshot gives the exposures and
how many of them are in `today`.  Those leave `today` when the filter comes; what is shown
while this runs stays there.  Fails if another run is under way.
"""

import sys

import bloomexp
import psycopg

FPR = 0.01
PART = 1000  # users per transaction, whose pages wait for it

ONE_AT_A_TIME = "SELECT pg_try_advisory_lock(hashtext('nightly.py'))"
EXPOSURES = """
    SELECT user_id, cardinality(today), array_agg(item_id)
    FROM (SELECT user_id, item_id FROM exposures WHERE shown_at >= now() - %s * interval '1 day') AS recent
    FULL JOIN seen USING (user_id)
    GROUP BY user_id, today ORDER BY user_id"""
BUILT = "CREATE TEMP TABLE built (part integer, user_id bigint, kept integer, items bytea, PRIMARY KEY (part, user_id))"
COPY = "COPY built FROM STDIN (FORMAT binary)"
SWAP = """
    UPDATE seen SET items = built.items, today = seen.today[built.kept + 1:]
    FROM built WHERE seen.user_id = built.user_id AND part = %s AND kept IS NOT NULL"""
NEW = """
    INSERT INTO seen (user_id, items) SELECT user_id, items FROM built WHERE part = %s AND kept IS NULL
    ON CONFLICT (user_id) DO UPDATE SET items = excluded.items"""


def build(read, write, days):
    """Write the filters of one snapshot to `built`; returns the number of users."""
    write.execute(BUILT)
    read.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    users = 0
    with read.transaction(), write.cursor() as writer, read.cursor("exposures", binary=True) as rows:
        rows.execute(EXPOSURES, [days])
        with writer.copy(COPY) as copy:
            copy.set_types(["int4", "int8", "int4", "bytea"])
            for user, kept, items in rows:
                copy.write_row([users // PART, user, kept, bloomexp.build(items, FPR)])
                users += 1
    write.execute("ANALYZE built")  # or each part might read all of "seen"
    return users


def main(days=90):
    with psycopg.connect() as read, psycopg.connect(autocommit=True) as write:
        if not write.execute(ONE_AT_A_TIME).fetchone()[0]:
            sys.exit("another night is under way")
        users = build(read, write, days)
        for part in range(-(-users // PART)):
            with write.transaction():
                write.execute(SWAP, [part])
                write.execute(NEW, [part])
    print(f"{users} filters built")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
