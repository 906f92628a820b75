"""Builds the filters of all users, once a day: python3 nightly.py [days]

Connects where the PG* variables lead, past poolers.  One snapshot gives the exposures and
how many of them are in `today`.  Those leave `today` when the filter comes; what is shown
while this runs stays there.  A user whose filter cannot be built or written keeps the old one;
such users are listed at the end, and the exit status is 1.  Fails if another run is under way.
"""

import itertools
import sys

import bloomexp
import psycopg

FPR = 0.01
PART = 1000  # users per transaction, whose pages wait for it

ONE_AT_A_TIME = "SELECT pg_try_advisory_lock(hashtext('nightly.py'))"
EXPOSURES = """
    SELECT user_id, cardinality(today), array_agg(item_id)
    FROM (SELECT user_id, item_id FROM exposures
          WHERE shown_at >= now() - %s * interval '1 day'
          AND user_id IS NOT NULL AND item_id IS NOT NULL) AS recent
    FULL JOIN seen USING (user_id)
    GROUP BY user_id, today ORDER BY user_id"""
BUILT = """
    CREATE TEMP TABLE built (part integer, user_id bigint, kept integer, items bytea,
        PRIMARY KEY (part, user_id))"""
COPY = "COPY built FROM STDIN (FORMAT binary)"
SWAP = """
    UPDATE seen SET items = built.items, today = seen.today[built.kept + 1:]
    FROM built WHERE seen.user_id = built.user_id AND part = %(part)s AND kept IS NOT NULL
    AND (%(user)s::bigint IS NULL OR built.user_id = %(user)s)"""
NEW = """
    INSERT INTO seen (user_id, items) SELECT user_id, items FROM built
    WHERE part = %(part)s AND kept IS NULL
    AND (%(user)s::bigint IS NULL OR user_id = %(user)s)
    ON CONFLICT (user_id) DO UPDATE SET items = excluded.items"""
USERS = "SELECT user_id FROM built WHERE part = %s"


def build(read, write, days, failed):
    """Write the filters of one snapshot to `built`; returns the number of all users."""
    write.execute(BUILT)
    read.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    users = 0
    with read.transaction(), write.cursor() as writer, \
            read.cursor("exposures", binary=True) as rows:
        rows.execute(EXPOSURES, [days])
        with writer.copy(COPY) as copy:
            copy.set_types(["int4", "int8", "int4", "bytea"])
            for user, kept, items in rows:
                users += 1
                try:
                    value = bloomexp.build(items, FPR)
                except (ValueError, MemoryError) as error:
                    failed[user] = error
                    continue
                copy.write_row([users // PART, user, kept, value])
    write.execute("ANALYZE built")  # or each part might read all of "seen"
    return users


def swap(write, failed, part, user=None):
    """Write the filters of a part to `seen`, or that of one user; if a part fails, user by user."""
    try:
        with write.transaction():
            for statement in SWAP, NEW:
                write.execute(statement, {"part": part, "user": user})
    except psycopg.Error as error:
        # an error that all users would have
        if write.broken or isinstance(error, psycopg.ProgrammingError):
            raise
        if user is not None:
            failed[user] = error
            return
        for (one,) in write.execute(USERS, [part]).fetchall():
            swap(write, failed, part, one)


def main(days=90):
    failed = {}
    with psycopg.connect() as read, psycopg.connect(autocommit=True) as write:
        if not write.execute(ONE_AT_A_TIME).fetchone()[0]:
            sys.exit("another night is under way")
        users = build(read, write, days, failed)
        for part in range(users // PART + 1):
            swap(write, failed, part)
    print(f"{users - len(failed)} filters built")
    if failed:
        some = [f"{user}: {error}".partition("\n")[0]
                for user, error in itertools.islice(failed.items(), 20)]
        sys.exit("\n".join([f"{len(failed)} users failed, such as:", *some]))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
