"""Judges recall.py: it must let no exposed item through later than it says.

    judge.py /run/recall.sock 'host=db dbname=feed' changes sessions users seconds

Sessions write exposures, one per commit, while two clients ask for those just written, and
at the end for all.  An answer states its age, and must know everything that was committed
at least that long before the question.  The last line has the totals, in JSON; delays are
the milliseconds from a commit to the first answer that knows it.
"""

import json
import random
import socket
import statistics
import sys
import threading
import time

import psycopg

STALE = 1.0
ROUNDING = 0.001  # of the age
PATIENCE = 180.0  # seconds for an answer at last


class Judge:
    def __init__(self, path, conninfo, changes, sessions, users, seconds):
        self.path, self.conninfo = path, conninfo
        self.changes, self.sessions, self.users = int(changes), int(sessions), int(users)
        self.pause = float(seconds) * self.sessions / self.changes
        self.lock = threading.Lock()
        self.committed = []  # [user, item, when, known when]
        self.next = 0
        self.done = False
        self.sum = dict.fromkeys(("asked", "refused", "errors", "late", "older"), 0)
        self.oldest = 0.0  # of what was let through

    def write(self):
        connection = None
        while True:
            with self.lock:
                self.next += 1
                number = self.next
            if number > self.changes:
                return
            user, item = random.randint(1, self.users), 1_000_000_000 + number
            while connection is None:  # a failed connection has not changed anything
                try:
                    connection = psycopg.connect(self.conninfo, autocommit=True)
                except psycopg.Error:
                    time.sleep(0.1)
            try:
                connection.execute(
                    "INSERT INTO exposures (user_id, item_id, shown_at) VALUES (%s, %s, now())",
                    [user, item])
                with self.lock:
                    self.committed.append([user, item, time.monotonic(), None])
            except psycopg.Error:  # nobody knows whether it was committed
                with self.lock:
                    self.sum["errors"] += 1
                connection = None
            time.sleep(self.pause)

    def ask(self, stream, user, exposures):
        """Ask for exposures of a user and judge the answer; return whether there was one."""
        candidates = [item for _, item, _, _ in exposures]
        began = time.monotonic()
        stream.write(json.dumps({"user": user, "candidates": candidates}).encode() + b"\n")
        stream.flush()
        answer = json.loads(stream.readline())
        ended = time.monotonic()
        with self.lock:
            self.sum["asked"] += 1
            if "fresh" not in answer:
                self.sum["refused"] += 1
                return False
            fresh = set(answer["fresh"])
            for exposure in exposures:
                _, item, when, known = exposure
                if item not in fresh:
                    exposure[3] = known or ended
                    continue
                self.oldest = max(self.oldest, began - when)
                self.sum["late"] += began - when > STALE
                self.sum["older"] += began - when > answer["age"] + ROUNDING
            return True

    def connect(self):
        while True:
            try:
                client = socket.socket(socket.AF_UNIX)
                client.settimeout(PATIENCE)
                client.connect(self.path)
                return client.makefile("rwb")
            except OSError:
                time.sleep(0.02)

    def ask_always(self):
        stream = self.connect()
        while not self.done:
            with self.lock:
                newest = self.committed[-200:]
            user = random.choice([e[0] for e in newest if e[3] is None] or range(1, self.users + 1))
            try:
                if not self.ask(stream, user, [e for e in newest if e[0] == user]):
                    time.sleep(0.1)  # as a client would, while the server is away
            except (OSError, ValueError):  # it was killed
                stream = self.connect()
            time.sleep(0.001)

    def ask_all(self):
        stream = self.connect()
        for user in range(1, self.users + 1):
            exposures = [e for e in self.committed if e[0] == user]
            deadline = time.monotonic() + PATIENCE
            while not self.ask(stream, user, exposures) and time.monotonic() < deadline:
                time.sleep(0.1)

    def run(self):
        writers = [threading.Thread(target=self.write) for _ in range(self.sessions)]
        askers = [threading.Thread(target=self.ask_always, daemon=True) for _ in range(2)]
        for thread in writers + askers:
            thread.start()
        for thread in writers:
            thread.join()
        time.sleep(STALE + 0.1)
        self.done = True
        for thread in askers:
            thread.join()
        self.ask_all()

        delays = sorted(1000 * (known - when) for _, _, when, known in self.committed if known)
        self.sum.update(changes=len(self.committed), known=len(delays),
                        oldest=round(self.oldest, 3))
        if len(delays) > 1:
            self.sum.update(median=round(statistics.median(delays), 1),
                            p99=round(statistics.quantiles(delays, n=100)[98], 1),
                            slowest=round(delays[-1], 1))
        print(json.dumps(self.sum))
        return self.sum["late"] + self.sum["older"] + len(self.committed) - len(delays)


if __name__ == "__main__":
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    sys.exit(Judge(*sys.argv[1:]).run() > 0)
