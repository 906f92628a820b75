"""Beside a server: "live" compares survivors with the server's, for each filter of the table
"seen"; "speed" measures what a feed does, for user 42 of bench/outside."""

import statistics
import struct
import sys
import time

import bloomexp
import psycopg

CANDIDATE = {"integer": "i", "text": "i::text", "uuid": "md5(i::text)::uuid",
             "bytea": "int8send(i)"}
FETCH = "SELECT items::bytea FROM seen WHERE user_id = %s"
SEND = "SELECT bloom_exclude_packed(%s, (SELECT items FROM seen WHERE user_id = %s))"


def live(connection):
    passed = failed = 0
    filters = connection.execute(
        "SELECT user_id, note, (bloom_info(items)).kind, items, items::bytea FROM seen"
        " WHERE items IS NOT NULL").fetchall()
    for user, note, kind, text, data in filters:
        candidates, survivors = connection.execute(
            f"SELECT candidates, candidates - items FROM seen, "
            f"(SELECT array_agg({CANDIDATE[kind or 'integer']})"
            f" FROM generate_series(1::bigint, 2000) i) c (candidates) WHERE user_id = %s",
            [user]).fetchone()
        if all(bloomexp.parse(value).exclude(candidates) == survivors for value in (text, data)):
            passed += 1
        else:
            failed += 1
            print(f"other survivors than the server's: {note}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0 or passed == 0)


def median(what, function, calls=1000):
    """Print the median of many calls' microseconds."""

    def once():
        start = time.perf_counter()
        function()
        return time.perf_counter() - start

    print(f"{what}\t{1e6 * statistics.median(once() for _ in range(calls)):.1f}")


def speed(connection):
    def fetch():
        return connection.execute(FETCH, [42], binary=True, prepare=True).fetchone()[0]

    def exclude_packed():
        packed = struct.pack(f"<{len(candidates)}q", *candidates)
        (answer,) = connection.execute(SEND, [packed, 42], binary=True, prepare=True).fetchone()
        return list(struct.unpack(f"<{len(answer) // 8}q", answer))

    def exclude_packed_array():
        (answer,) = connection.execute(SEND, [array.tobytes(), 42], binary=True,
            prepare=True).fetchone()
        return numpy.frombuffer(answer, "<i8")

    value = fetch()
    (candidates,) = connection.execute("SELECT candidates FROM seen WHERE user_id = 42").fetchone()
    seen = bloomexp.parse(value)
    assert seen.exclude(candidates) == exclude_packed(), "other survivors than the server's"
    median("parse", lambda: bloomexp.parse(value))
    median("fetch and parse", lambda: bloomexp.parse(fetch()))
    if bloomexp.numpy:
        numpy = bloomexp.numpy
        array = numpy.array(candidates)
        median("exclude, an array of numpy", lambda: seen.exclude(array))
        median("packed, an array of numpy", exclude_packed_array)
        median("exclude, a list by numpy", lambda: seen.exclude(candidates))
    bloomexp.numpy = None
    median("exclude, a list", lambda: seen.exclude(candidates), 100)
    median("packed, a list", exclude_packed)


with psycopg.connect(autocommit=True) as server:
    {"live": live, "speed": speed}[sys.argv[1]](server)
