"""A recall server that keeps users' filters in its memory, and knows how old they are.

    recall.py /run/recall.sock 'host=db dbname=feed user=recall'

The connection must lead to the primary, past poolers.  It listens on a Unix socket.
A line is a request in JSON, and its answer a line:

    {"user": 42, "candidates": [1, 2, 3]}   {"fresh": [1, 3], "age": 0.1}
    {"forget": 42}                          {}
    {}                                      {"cached": 1, "asked": 1, "fetched": 1}

What was committed more than STALE seconds before an answer is in the answer, or the
answer is an error.  README.md says why.
"""

import asyncio
import json
import struct
import sys
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

import bloomexp
import psycopg

STALE = 1.0  # seconds
TICK = 0.2  # seconds between two queries for the end of the server's log
CAPACITY = 100_000  # users in memory; those asked longest ago make room
BATCH = 200  # users fetched at once when their filters have changed
LINE = 1 << 18  # bytes of a request
SMALL = 10_000  # candidates times layers, or bytes of filters, for which others may wait
NEVER = float("-inf")
EMPTY = [bloomexp.parse(None)]  # a user who has no filter

# Adapt these: the table, its publication, and how to read a user from text, as the stream has it.
PUBLICATION = "recall"
QUERY = """
SELECT (pg_current_wal_flush_lsn() - '0/0')::bigint, pg_current_snapshot()::text,
    wanted, shown.current(wanted)::bytea
FROM (SELECT) AS once LEFT JOIN unnest(%s::bigint[]) AS wanted ON true
"""


def to_user(text):
    """Return a user that fits the table's column; any other would be an error of PostgreSQL."""
    user = int(text)
    if not -(2**63) <= user < 2**63:
        raise ValueError("bigint out of range")
    return user


class Refused(Exception):
    """The server did not tell in time."""


def clock():
    """Seconds that go on while the machine sleeps, where there is such a clock."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Snapshot:
    """What a statement sees, from the text of pg_current_snapshot()."""

    def __init__(self, text):
        _, end, running = text.split(":")
        self.end = int(end)
        self.running = {int(xid) & 0xFFFFFFFF for xid in running.split(",") if xid}

    def sees(self, xid):
        """Return whether it sees a committed transaction, given the lower 32 bits of its xid."""
        return xid not in self.running and (xid - self.end) & 0x80000000 != 0


class Entry:
    def __init__(self, filters, fetched, followed):
        self.filters = filters
        self.fetched = fetched  # the time at which the filters were right
        self.followed = followed  # whether the stream has all later changes; see _known()
        self.asked = False


class Cache:
    def __init__(self, conninfo):
        self.conninfo = conninfo
        self.entries = OrderedDict()  # by user, the one asked longest ago first
        self.asked = self.fetched = 0
        self.sql = None  # a connection
        self.turn = asyncio.Lock()  # for it
        self.aside = ThreadPoolExecutor(1)  # for what takes long, one after another
        self._begin(None)

    def _begin(self, stream, unseen=()):
        """Begin anew with a new stream, or with none: forget all that came from the old one."""
        self.stream = stream
        self.heard = NEVER  # all that was committed before this time has come
        self.position = 0  # in the server's log
        self.xid = None  # the transaction that is coming
        self.entries.clear()
        self.changed = set()  # users who were dropped, to be fetched again
        # The stream may bring a transaction before other sessions see it.  Until a
        # snapshot does, what is fetched of its users may lack what it has changed.
        self.recent = {}  # user: transaction
        self.unseen = set(unseen)  # the same for transactions that may be of any user

    #
    # Asking
    #

    async def exclude(self, user, candidates):
        """The candidates that the user has not seen, and the age of what says so."""
        self.asked += 1
        entry = self._entry(user)
        if entry is None:
            entry = await self.fetch(user)
        entry.asked = True
        known = self._known(user, entry)  # now, because it can change while the filters are asked
        if sum(len(part.layers) for part in entry.filters) * len(candidates) <= SMALL:
            candidates = survivors(entry.filters, candidates)
        else:
            candidates = await asyncio.get_running_loop().run_in_executor(
                self.aside, survivors_until, clock() + STALE, entry.filters, candidates)
        age = clock() - known  # now, because asking can have taken long
        if age > STALE:
            raise Refused("it took too long")
        return candidates, age

    def _known(self, user, entry):
        """Return up to when an entry is right: as far as the stream was heard, if followed."""
        followed = entry.followed and self.entries.get(user) is entry
        return max(entry.fetched, self.heard if followed else NEVER)

    def _entry(self, user):
        entry = self.entries.get(user)
        if entry is None or clock() - self._known(user, entry) > STALE:
            return None
        self.entries.move_to_end(user)
        return entry

    async def forget(self, user):
        """Drop a user after a commit of one's own, so that the next question sees it."""
        async with self.turn:  # not during a fetch that has not seen the commit
            self.entries.pop(user, None)

    #
    # Fetching
    #

    async def fetch(self, user):
        try:
            return await asyncio.wait_for(self._fetch_once(user), STALE)
        except asyncio.TimeoutError:
            raise Refused("the server does not answer") from None

    async def _fetch_once(self, user):
        async with self.turn:
            entry = self._entry(user)  # others may have waited for the same user
            return entry or (await self._fetch([user]))[0][user]

    async def _query(self, users):
        try:
            if self.sql is None:
                self.sql = await psycopg.AsyncConnection.connect(
                    self.conninfo, autocommit=True, options=f"-c statement_timeout={STALE}s")
            cursor = await self.sql.cursor(binary=True).execute(QUERY, [users])
            return await cursor.fetchall()
        except BaseException:  # a timeout, too: its answer would be taken for the next one's
            idle = psycopg.pq.TransactionStatus.IDLE
            if self.sql is not None and self.sql.pgconn.transaction_status != idle:
                self.sql.pgconn.finish()
                self.sql = None
            raise

    async def _fetch(self, users):
        """Fetch users; return their entries, the time before that, and the end of the log then.

        The caller has the turn.
        """
        began, stream = clock(), self.stream
        rows = await self._query(users)
        flushed, snapshot = rows[0][0], Snapshot(rows[0][1])
        if sum(len(value) for row in rows for value in row[3:] if value is not None) <= SMALL:
            found = parse(rows)
        else:
            found = await asyncio.get_running_loop().run_in_executor(self.aside, parse, rows)
        # From here on nothing waits: what the stream brings comes before or after it.
        self.recent = {user: xid for user, xid in self.recent.items() if not snapshot.sees(xid)}
        self.unseen = {xid for xid in self.unseen if not snapshot.sees(xid)}
        followed = stream is not None and stream is self.stream and not self.unseen

        entries = {user: Entry(filters, began, followed and user not in self.recent)
            for user, filters in found}
        self.fetched += len(entries)
        for user, entry in entries.items():
            self.entries[user] = entry
            self.entries.move_to_end(user)
        while len(self.entries) > CAPACITY:
            self.entries.popitem(last=False)
        return entries, began, flushed

    #
    # Following
    #

    async def follow_always(self):
        while True:
            try:
                await self.follow()
            except (psycopg.Error, OSError, asyncio.TimeoutError, bloomexp.Error) as error:
                print(f"following begins anew: {str(error) or type(error).__name__}",
                    file=sys.stderr)
            self._begin(None)
            await asyncio.sleep(TICK)

    async def follow(self):
        """Drop users whose filters change, as long as a connection and its slot live."""
        connection = await psycopg.AsyncConnection.connect(
            self.conninfo, replication="database", autocommit=True, prepare_threshold=None)
        try:
            await self._start(connection)
            while True:
                _, began, flushed = await self._fetch_changed()
                self._ping(connection.pgconn)
                until = clock() + TICK
                while clock() < until:
                    caught_up = self._receive(connection.pgconn)
                    if self.position >= flushed:
                        self.heard = began
                    await (readable(connection.pgconn, until - clock()) if caught_up
                        else asyncio.sleep(0))
        finally:
            await connection.close()

    async def _start(self, connection):
        """Start to stream from a temporary slot, so that nothing holds back WAL after a failure."""
        slot = f"recall_{time.time_ns():x}"
        await connection.execute(
            f"CREATE_REPLICATION_SLOT {slot} TEMPORARY LOGICAL pgoutput NOEXPORT_SNAPSHOT")
        # Some transactions that the slot leaves out may not be visible yet.  Their xids are
        # lower than a new one, so the snapshot lists them as running.
        await connection.execute("SELECT pg_current_xact_id()")
        snapshot = await (await connection.execute("SELECT pg_current_snapshot()::text")).fetchone()
        start = (f"START_REPLICATION SLOT {slot} LOGICAL 0/0"
                 f" (proto_version '1', publication_names '{PUBLICATION}')")
        result = connection.pgconn.exec_(start.encode())
        if result.status != psycopg.pq.ExecStatus.COPY_BOTH:
            raise psycopg.OperationalError(result.error_message.decode())
        self._begin(connection, Snapshot(snapshot[0]).running)

    async def _fetch_changed(self):
        """Ask for the end of the log, and with it fetch some dropped users before anybody asks."""
        users = [self.changed.pop() for _ in range(min(BATCH, len(self.changed)))]
        self.changed.clear()  # the rest waits until asked

        async def fetch():
            async with self.turn:
                return await self._fetch(users)

        return await asyncio.wait_for(fetch(), STALE)

    def _ping(self, pgconn):
        """Report our position in the log, and ask for the server's."""
        pgconn.put_copy_data(
            struct.pack(">cqqqqb", b"r", self.position, self.position, self.position, 0, 1))
        pgconn.flush()

    def _receive(self, pgconn):
        """Receive some of the messages that have come, and return whether these were all."""
        pgconn.consume_input()
        for _ in range(1000):
            size, data = pgconn.get_copy_data(1)
            if size == 0:
                return True
            if size < 0:
                raise OSError("the server has ended the stream")
            if data[:1] == b"w":
                self._apply(bytes(data[25:]))
            elif data[:1] == b"k":
                self.position = max(self.position, *struct.unpack_from(">q", data, 1))
        return False

    def _apply(self, message):
        """A message of pgoutput: what it changes is dropped."""
        tag = message[:1]
        if tag == b"B":  # begin: position, time, transaction
            (self.xid,) = struct.unpack_from(">I", message, 17)
        elif tag == b"C":  # commit: flags, its position, the position after it
            self.position = max(self.position, *struct.unpack_from(">q", message, 10))
        elif tag in (b"I", b"D"):  # insert, delete: table, kind of row, row
            self._drop(first_column(message, 6)[0])
        elif tag == b"U":  # update: perhaps the old row or key, then the new row
            user, end = first_column(message, 6)
            self._drop(user)
            if message[5:6] != b"N":
                self._drop(first_column(message, end + 1)[0])
        elif tag == b"T":  # truncate
            self._drop(None)

    def _drop(self, user):
        if user is None:  # it may be any
            self.unseen.add(self.xid)
            self.entries.clear()
            return
        user = to_user(user)
        self.recent[user] = self.xid
        entry = self.entries.pop(user, None)
        if entry is not None and entry.asked:
            self.changed.add(user)


def parse(rows):
    """Users and their filters."""
    return [(user, [bloomexp.parse(value) for value in values if value is not None] or EMPTY)
            for _, _, user, *values in rows if user is not None]


def survivors(filters, candidates):
    for part in filters:
        candidates = part.exclude(candidates)
    return candidates


def survivors_until(deadline, filters, candidates):
    """The same in pieces, which stop at the deadline, when nobody waits for the answer any more."""
    size = max(1, SMALL // sum(len(part.layers) for part in filters))
    result = []
    for start in range(0, len(candidates), size):
        if clock() > deadline:
            raise Refused("it took too long")
        result += survivors(filters, candidates[start : start + size])
    return result


def first_column(message, at):
    """The text of a row's first column, and where the row ends."""
    (columns,) = struct.unpack_from(">H", message, at)
    at += 2
    first = None
    for number in range(columns):
        size = 0
        if message[at : at + 1] == b"t":
            (size,) = struct.unpack_from(">I", message, at + 1)
            if number == 0:
                first = message[at + 5 : at + 5 + size].decode()
            at += 4
        at += 1 + size
    return first, at


async def readable(pgconn, seconds):
    """Wait until something has come, but no longer than the timeout."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(pgconn.socket, ready.set)
    try:
        await asyncio.wait_for(ready.wait(), max(seconds, 0))
    except asyncio.TimeoutError:
        pass
    finally:
        loop.remove_reader(pgconn.socket)


async def answer(cache, line):
    try:
        request = json.loads(line)
        if not request:
            return {"cached": len(cache.entries), "asked": cache.asked, "fetched": cache.fetched}
        if "forget" in request:
            await cache.forget(to_user(str(request["forget"])))
            return {}
        fresh, age = await cache.exclude(to_user(str(request["user"])), request["candidates"])
        return {"fresh": fresh, "age": round(age, 3)}
    except KeyError as error:
        return {"error": f"the request lacks {error}"}
    except (psycopg.Error, OSError, Refused, ValueError, TypeError, RecursionError) as error:
        return {"error": str(error)}


async def main(path, conninfo):
    cache = Cache(conninfo)

    async def serve(reader, writer):
        try:
            async for line in reader:
                writer.write(json.dumps(await answer(cache, line)).encode() + b"\n")
                await writer.drain()
        except ValueError:
            writer.write(json.dumps({"error": f"the request is longer than {LINE} bytes"}).encode()
                + b"\n")
        except ConnectionError:  # the other end is gone
            pass
        finally:
            writer.close()

    await asyncio.start_unix_server(serve, path, limit=LINE)
    await cache.follow_always()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        asyncio.run(main(*sys.argv[1:]))
    except KeyboardInterrupt:
        pass
