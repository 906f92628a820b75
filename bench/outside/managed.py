"""Pages by three ways, for users of different sizes; see run."""

import os
import random
import socket
import statistics
import threading
import time

import bloomexp
import feed
import nightly
import psycopg

SIZES = (300, 3000, 10000)
USERS = 40  # of each size
CANDIDATES, WANTED = 500, 10
ROUNDS = 5

TABLES = """
    CREATE TABLE managed_times (items int, filter_bytes int, way text, ms float8, bytes float8);
    CREATE SCHEMA managed;
    CREATE TABLE managed.exposures (user_id bigint NOT NULL, item_id bigint NOT NULL,
        shown_at timestamptz NOT NULL DEFAULT now());
    CREATE TABLE managed.seen (user_id bigint PRIMARY KEY, items bytea,
        today bigint[] NOT NULL DEFAULT '{{}}');
    ALTER TABLE managed.seen ALTER items SET STORAGE EXTERNAL;
    CREATE SCHEMA extension;
    CREATE TABLE extension.exposures (LIKE managed.exposures INCLUDING DEFAULTS);
    CREATE SCHEMA not_exists;
    CREATE TABLE not_exists.exposures (LIKE managed.exposures INCLUDING DEFAULTS);
    SELECT setseed(0.5);
    INSERT INTO managed.exposures
    SELECT user_id, 1000000 * user_id + item
    FROM generate_series(1, {users}) AS user_id,
        generate_series(1, ({sizes})[1 + user_id % 3]) AS item
    ORDER BY random();
    INSERT INTO extension.exposures TABLE managed.exposures;
    INSERT INTO not_exists.exposures TABLE managed.exposures;
    ALTER TABLE not_exists.exposures ADD PRIMARY KEY (user_id, item_id);
    CREATE INDEX ON extension.exposures (user_id, shown_at, item_id);
    SELECT bloomexp.create_feed('feed', 'extension.exposures')"""
TAKE = """
    INSERT INTO exposures (user_id, item_id) SELECT %s, unnest(feed.take(%s, %s, %s))
    RETURNING item_id"""
NOT_EXISTS = """
    INSERT INTO exposures (user_id, item_id) SELECT %s, item_id
    FROM unnest(%s::bigint[]) WITH ORDINALITY AS c (item_id, place)
    WHERE NOT EXISTS (SELECT FROM exposures AS e WHERE e.user_id = %s AND e.item_id = c.item_id)
    ORDER BY place LIMIT %s ON CONFLICT DO NOTHING RETURNING item_id"""


def array(items):
    """An array as text, which psycopg sends several times as fast as a list."""
    return "{" + ",".join(map(str, items)) + "}"


def by_extension(connection, user, candidates, wanted):
    rows = connection.execute(TAKE, [user, user, array(candidates), wanted],
        binary=True, prepare=True)
    return [item for (item,) in rows]


def by_not_exists(connection, user, candidates, wanted):
    rows = connection.execute(NOT_EXISTS, [user, array(candidates), user, wanted],
        binary=True, prepare=True)
    return [item for (item,) in rows]


WAYS = {"managed": feed.page, "extension": by_extension, "not_exists": by_not_exists}
sent = [0, 0]  # bytes to the server, and from it


def forward(source, target, direction):
    while data := source.recv(65536):
        sent[direction] += len(data)
        target.sendall(data)


def counting_proxy():
    """A socket before the server's that counts; returns its folder."""
    folder = os.environ["PGHOST"] + "/proxy"
    os.mkdir(folder)
    name = f".s.PGSQL.{os.environ.get('PGPORT', 5432)}"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{folder}/{name}")
    listener.listen()

    def accept():
        while True:
            client, _ = listener.accept()
            server = socket.socket(socket.AF_UNIX)
            server.connect(f"{os.environ['PGHOST']}/{name}")
            for ends in ((client, server, 0), (server, client, 1)):
                threading.Thread(target=forward, args=ends, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return folder


def connect(way, **where):
    connection = psycopg.connect(autocommit=True, prepare_threshold=0, **where)
    connection.execute(f"SET search_path = {way}, public")
    return connection


def candidates_of(user, size):
    """Items of which three of ten were shown; in each round others."""
    known = random.sample(range(1, size + 1), min(size, CANDIDATES * 3 // 10))
    new = random.sample(range(20000, 900000), CANDIDATES - len(known))
    items = [1000000 * user + item for item in known + new]
    random.shuffle(items)
    return items


def main():
    random.seed(1)
    with psycopg.connect(autocommit=True) as setup:
        setup.execute(TABLES.format(users=3 * USERS, sizes="ARRAY" + str(list(SIZES))))
        with connect("managed") as read, connect("managed") as write:
            read.autocommit = False
            start = time.perf_counter()
            users = nightly.build(read, write, 90, {})
            night = time.perf_counter() - start
            write.execute("INSERT INTO seen (user_id, items) SELECT user_id, items FROM built")
        setup.execute("CALL feed.rebuild()")
        setup.execute("VACUUM ANALYZE")
        rows, index = setup.execute(
            "SELECT count(*), pg_relation_size('not_exists.exposures_pkey')"
            " FROM managed.exposures").fetchone()
        print(f"a night of {users} users and {rows} exposures: {night:.1f} s")
        print(f"index per exposure: {index / rows:.1f} bytes")

    proxy = counting_proxy()
    times, bytes_of, chosen = {}, {}, {}
    for way, page in WAYS.items():
        with connect(way) as direct, connect(way, host=proxy) as counted:
            for connection in direct, counted:  # prepares the statements
                for user in range(1, 10):
                    page(connection, user, [1000000 * user + 1], WANTED)
            for number in range(ROUNDS):
                for user in range(1, 3 * USERS + 1):
                    size = SIZES[user % 3]
                    random.seed(1000 * user + number)
                    candidates = candidates_of(user, size)
                    before = sum(sent)
                    start = time.perf_counter()
                    items = page(counted if number == 0 else direct, user, candidates, WANTED)
                    spent = time.perf_counter() - start
                    chosen[way, user, number] = items
                    if number == 0:
                        time.sleep(0.001)
                        bytes_of.setdefault((way, size), []).append(sum(sent) - before)
                    else:
                        times.setdefault((way, size), []).append(1000 * spent)

    for (way, user, number), items in chosen.items():
        exact = chosen["not_exists", user, number]
        # A false positive lets the next one in.
        assert len(items) == WANTED and len(set(items) & set(exact)) >= WANTED - 3, (
            way, user, number, items, exact)
    with psycopg.connect(autocommit=True) as results:
        for size in SIZES:
            for way in WAYS:
                results.execute("INSERT INTO managed_times VALUES (%s, %s, %s, %s, %s)", [
                    size, len(bloomexp.build(range(size))), way,
                    statistics.median(times[way, size]), statistics.median(bytes_of[way, size])])


main()
