#!/usr/bin/env python3
"""pgload.py '<json>': sessions of a PostgreSQL client, each a process of its own, into a log of every operation.

The JSON: {"dsn", "out" (CSV to write), "seed", "sessions": [...]}. A session: "name", "work" (a function below) and its
options; "after_s": when it starts; "dsn": further connection options; "end": how its connection ends: "clean",
"killed" (the process dies, the kernel closes), "reset" (RST), "reset in request" (RST while a request is under way).
The log: `sessions.py`.
"""

import contextlib
import os
import random
import select
import socket
import struct
import threading
import time

import psycopg2

import sessions


class Session(sessions.Session):
    own = (*sessions.Session.own, "dsn", "end")

    def __init__(self, told, all_told):
        super().__init__(told)
        self.dsn = f"{all_told['dsn']} {told.get('dsn', '')}"
        self.dice = random.Random(f"{all_told['seed']} {told['name']}")

    def begin(self):
        self.connect()

    def connect(self):
        def go():
            self.connection = psycopg2.connect(self.dsn)
            self.connection.autocommit = True
            self.cursor = self.connection.cursor()
            with socket.socket(fileno=os.dup(self.connection.fileno())) as s:
                self.port = s.getsockname()[1]

        self.timed("connect", go)

    def execute(self, op, sql):
        def go():
            self.cursor.execute(sql)
            return len(self.cursor.fetchall()) if self.cursor.description else max(self.cursor.rowcount, 0)

        self.timed(op, go)

    def refused(self, sql):
        """What ends with an error; that a transaction was broken off is for the next step to say."""

        def go():
            with contextlib.suppress(psycopg2.Error):
                self.cursor.execute(sql)

        self.timed(f"fails {sql.split()[0].lower()}", go)

    def script(self, steps, n=10**9, secs=10**9):
        """SQL, each statement a round trip ({i} is the number of the turn, {r} random); "think MS" sleeps, "burn MS" computes,
        "pace RATE" sleeps so long that turns come with that rate, in a Poisson process; "fails SQL" is refused,
        "connect" begins a new session."""
        due = begun = time.monotonic()
        for i in range(n):
            if time.monotonic() - begun > secs:
                return
            for step in steps:
                word, _, number = step.partition(" ")
                if word == "think":
                    time.sleep(float(number) / 1e3)
                elif word == "burn":
                    burn(float(number) / 1e3)
                elif word == "pace":
                    due += self.dice.expovariate(float(number))
                    time.sleep(max(0, due - time.monotonic()))
                elif word == "connect":
                    self.connect()
                elif word == "fails":
                    self.refused(number)
                else:
                    self.execute(word.lower(), step.format(i=i, r=self.dice.randrange(1, 10**5)))

    def pipelines(self, steps, depth, n=10**9, secs=10**9, think_ms=0):
        """So many statements at a time, which do not wait for one another (libpq's pipeline mode); each turn is an operation."""
        import psycopg

        connection = psycopg.connect(self.dsn, autocommit=True)
        with socket.socket(fileno=os.dup(connection.fileno())) as s:
            self.port = s.getsockname()[1]

        def turn():
            with connection.pipeline():
                for k in range(depth):
                    connection.execute(steps[k % len(steps)].format(r=self.dice.randrange(1, 10**5)))

        begun = time.monotonic()
        for _ in range(n):
            if time.monotonic() - begun > secs:
                break
            self.timed("pipeline", turn)
            time.sleep(think_ms / 1e3)
        connection.close()

    def fetches(self, sql, fetch, think_row_us=0, burn_row_us=0, think_square_ns=0):
        """A cursor, read so many rows at a time; each row is then thought about, and the square of them too."""
        self.execute("begin", "begin")
        self.execute("declare", f"declare c no scroll cursor for {sql}")
        while True:
            self.execute("fetch", f"fetch forward {fetch} from c")
            got = self.rows[-1][-1]
            if burn_row_us and got:
                burn(got * burn_row_us / 1e6)
            elif got and (think_row_us or think_square_ns):
                time.sleep(got * think_row_us / 1e6 + got * got * think_square_ns / 1e9)
            if got < fetch:
                break
        self.execute("close", "close c")
        self.execute("commit", "commit")

    def connects(self, sql, n, queries=1, think_ms=0):
        """A connection for each query, or for a few."""
        for i in range(n):
            if i:
                self.connect()
            for _ in range(queries):
                self.execute("query", sql)
            self.connection.close()
            time.sleep(think_ms / 1e3)

    def copies_in(self, table, size, piece, pause_ms=0, n=1):
        """COPY into a table; the feeder pauses after each piece."""
        for _ in range(n):
            self.timed("copy in", lambda: self.cursor.copy_expert(f"copy {table} from stdin", Feeder(size, piece, pause_ms)) or size)

    def copies_out(self, sql, pause_ms=0, every=65536, n=1):
        """COPY of a query; the reader pauses after every so many bytes."""
        for _ in range(n):
            reader = Reader(every, pause_ms)
            self.timed("copy out", lambda: self.cursor.copy_expert(f"copy ({sql}) to stdout", reader) or reader.got)

    def listens(self, channel, secs):
        """Waits for notices; logs each by the moment at which it came."""
        self.execute("listen", f"listen {channel}")
        end = time.monotonic() + secs
        while (left := end - time.monotonic()) > 0:
            if select.select([self.connection], [], [], left)[0]:
                self.connection.poll()
                while self.connection.notifies:
                    self.connection.notifies.pop(0)
                    self.timed("notice", lambda: 1)

    def finish(self):
        end = self.told.get("end", "clean")
        if end == "clean":
            self.connection.close()
        elif end != "killed":
            if end == "reset in request":
                request(self.connection, "select pg_sleep(2)")
            # Closing then resets. The library holds the same socket, which dies with the process.
            with socket.socket(fileno=os.dup(self.connection.fileno())) as s:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def request(connection, sql):
    """Sends a query and does not wait for what comes."""
    threading.Thread(target=lambda: connection.cursor().execute(sql), daemon=True).start()
    time.sleep(0.3)


def burn(seconds):
    """Computes, but lets the server and the wire go first: both hosts are on one machine."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    os.setpriority(os.PRIO_PROCESS, 0, 19)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
    os.setpriority(os.PRIO_PROCESS, 0, before)


class Feeder:
    """A file of rows of 100 bytes."""

    def __init__(self, size, piece, pause_ms):
        self.left, self.piece, self.pause, self.fed = size, piece, pause_ms / 1e3, 0

    def read(self, most):
        if self.fed >= self.piece:
            time.sleep(self.pause)
            self.fed = 0
        n = min(most, self.left, self.piece - self.fed) // 100 * 100
        self.left -= n
        self.fed += n
        return (b"x" * 99 + b"\n") * (n // 100)


class Reader:
    def __init__(self, every, pause_ms):
        self.every, self.pause, self.got, self.since = every, pause_ms / 1e3, 0, 0

    def write(self, data):
        self.got += len(data)
        self.since += len(data)
        if self.since >= self.every:
            self.since -= self.every
            time.sleep(self.pause)


sessions.main(Session)
