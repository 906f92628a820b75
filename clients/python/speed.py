"""Measures what a feed does, for user 42 of bench/outside."""

import statistics
import struct
import time

import bloomexp
import psycopg

FETCH = "SELECT items::bytea FROM seen WHERE user_id = %s"
SEND = "SELECT bloom_exclude_packed(%s, (SELECT items FROM seen WHERE user_id = %s))"


def median(what, function, calls=1000):
    """Print the microseconds of one of many calls."""

    def once():
        start = time.perf_counter()
        function()
        return time.perf_counter() - start

    print(f"{what}\t{1e6 * statistics.median(once() for _ in range(calls)):.1f}")


def fetch():
    return connection.execute(FETCH, [42], binary=True, prepare=True).fetchone()[0]


def exclude_packed():
    packed = struct.pack(f"<{len(candidates)}q", *candidates)
    (answer,) = connection.execute(SEND, [packed, 42], binary=True, prepare=True).fetchone()
    return list(struct.unpack(f"<{len(answer) // 8}q", answer))


def exclude_packed_array():
    (answer,) = connection.execute(SEND, [array.tobytes(), 42], binary=True, prepare=True).fetchone()
    return numpy.frombuffer(answer, "<i8")


with psycopg.connect(autocommit=True) as connection:
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
