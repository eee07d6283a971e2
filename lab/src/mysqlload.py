#!/usr/bin/env python3
"""mysqlload.py '<json>': sessions of a MariaDB client (libmariadb by ctypes), each a thread, into a log of every operation.

The JSON: {"host", "port", "out" (CSV to write), "seed", "sessions": [...]}. A session: "name", "after_s" (when it starts), and
  "steps"   list, repeated "n" times: SQL (a round trip; {i} is the number of the turn, {r} a number from 0 to 9999, {e} draws
            from an exponential distribution with mean 1), "think MS", "pace RATE" (sleeps so that turns come at that rate)
  "connects" SQL that is asked on a connection of its own, "n" times, "think_ms" between
  "loads"   a table: LOAD DATA LOCAL of "pieces" of so many bytes ("piece"), "pause_ms" between, "n" times
  "streams" SQL whose rows are read one by one (mysql_use_result), "pause_ms" after "every" so many, "n" times
  "cursor"  SQL that is read through a server's cursor, "prefetch" rows at a time, "n" times; "row_us": the client's work on a row
  "secs"    ends it before n
The log: session, operation, start and end by this process's clock, rows, error number.
"""

import ctypes
import json
import os
import random
import sys
import tempfile
import threading
import time

PR_SET_TIMERSLACK = 29
# Of mysql.h: attributes of a statement.
CURSOR_TYPE, PREFETCH_ROWS, READ_ONLY = 1, 2, 1
# Of a connection.
LOCAL_INFILE = 8
ROW = b"x" * 88
NO_DATA = 100

ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
client = ctypes.CDLL("libmariadb.so.3")
for name in ("mysql_init", "mysql_real_connect", "mysql_store_result", "mysql_stmt_init", "mysql_use_result", "mysql_fetch_row"):
    getattr(client, name).restype = ctypes.c_void_p
client.mysql_num_rows.restype = ctypes.c_ulonglong
client.mysql_error.restype = client.mysql_stmt_error.restype = client.mysql_get_client_info.restype = ctypes.c_char_p


class Session(threading.Thread):
    def __init__(self, told, whole):
        super().__init__(daemon=True)
        self.told, self.whole, self.rows, self.failed = told, whole, [], None
        self.dice = random.Random(f"{whole['seed']} {told['name']}")

    def timed(self, op, what):
        start = time.time_ns()
        rows, error = what()
        self.rows.append((self.told["name"], op, start, time.time_ns(), rows, error))

    def run(self):
        try:
            time.sleep(self.told.get("after_s", 0))
            client.mysql_thread_init()
            self.end = time.monotonic() + self.told.get("secs", 40)
            if "connects" in self.told:
                return self.connects()
            self.timed("CONNECT", self.connect)
            works = {"loads": self.loads, "streams": self.streams, "cursor": self.cursors}
            next((work for name, work in works.items() if name in self.told), self.turns)()
            client.mysql_close(self.connection)
        except Exception as reason:
            self.failed = reason

    def connect(self):
        self.connection = ctypes.c_void_p(client.mysql_init(None))
        client.mysql_options(self.connection, LOCAL_INFILE, ctypes.byref(ctypes.c_uint(1)))
        if not client.mysql_real_connect(
            self.connection, self.whole["host"].encode(), b"app", b"secret", b"lab", self.whole["port"], None, ctypes.c_ulong(0)
        ):
            raise RuntimeError(client.mysql_error(self.connection).decode())
        return 0, 0

    def connects(self):
        for _ in range(self.told["n"]):
            if time.monotonic() > self.end:
                return
            self.timed("CONNECT", self.connect)
            self.timed(self.told["connects"].split()[0].upper(), lambda: self.query(self.told["connects"].encode()))
            client.mysql_close(self.connection)
            time.sleep(self.told.get("think_ms", 0) / 1e3)

    def turns(self):
        due = time.monotonic()
        for i in range(self.told["n"]):
            if time.monotonic() > self.end:
                return
            for step in self.told["steps"]:
                word, _, value = step.partition(" ")
                if word == "think":
                    time.sleep(float(value) / 1e3)
                elif word == "pace":
                    due = max(due + self.dice.expovariate(float(value)), time.monotonic() - 0.2)
                    time.sleep(max(0, due - time.monotonic()))
                else:
                    text = step.format(i=i, r=self.dice.randrange(10000), e=self.dice.expovariate(1)).encode()
                    self.timed(word.upper(), lambda: self.query(text))

    def query(self, text):
        if error := client.mysql_real_query(self.connection, text, ctypes.c_ulong(len(text))):
            return 0, client.mysql_errno(self.connection) or error
        result = ctypes.c_void_p(client.mysql_store_result(self.connection))
        if not result:
            return 0, client.mysql_errno(self.connection)
        rows = client.mysql_num_rows(result)
        client.mysql_free_result(result)
        return rows, 0

    def loads(self):
        """The file is a pipe that is filled slowly."""
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/rows"
            os.mkfifo(path)
            for _ in range(self.told["n"]):
                feeder = threading.Thread(target=self.feed, args=(path,), daemon=True)
                feeder.start()
                text = f"load data local infile '{path}' into table {self.told['loads']}".encode()
                self.timed("LOAD", lambda: self.query(text))
                feeder.join()

    def feed(self, path):
        with open(path, "wb", buffering=0) as file:
            for i in range(self.told["pieces"]):
                if i:
                    time.sleep(self.told["pause_ms"] / 1e3)
                file.write((ROW + b"\n") * (self.told["piece"] // (len(ROW) + 1)))

    def streams(self):
        text = self.told["streams"].encode()
        for _ in range(self.told["n"]):
            self.timed("SELECT", lambda: self.read_slowly(text))

    def read_slowly(self, text):
        if error := client.mysql_real_query(self.connection, text, ctypes.c_ulong(len(text))):
            return 0, client.mysql_errno(self.connection) or error
        result, rows = ctypes.c_void_p(client.mysql_use_result(self.connection)), 0
        while client.mysql_fetch_row(result):
            rows += 1
            if rows % self.told["every"] == 0:
                time.sleep(self.told["pause_ms"] / 1e3)
        client.mysql_free_result(result)
        return rows, 0

    def cursors(self):
        text, ahead = self.told["cursor"].encode(), self.told["prefetch"]
        for _ in range(self.told["n"]):
            if time.monotonic() > self.end:
                return
            statement = ctypes.c_void_p(client.mysql_stmt_init(self.connection))
            for attribute, value in ((CURSOR_TYPE, READ_ONLY), (PREFETCH_ROWS, ahead)):
                client.mysql_stmt_attr_set(statement, attribute, ctypes.byref(ctypes.c_ulong(value)))
            self.timed("PREPARE", lambda: (0, client.mysql_stmt_prepare(statement, text, ctypes.c_ulong(len(text)))))
            self.timed("EXECUTE", lambda: (0, client.mysql_stmt_execute(statement)))
            self.fetch(statement, ahead)
            client.mysql_stmt_close(statement)

    def fetch(self, statement, ahead):
        """The first row of a batch asks for it; what was asked for ahead costs nothing but the client's work."""
        rows = 0
        while True:
            start = time.time_ns()
            said = client.mysql_stmt_fetch(statement)
            if rows % ahead == 0 or said == NO_DATA:
                # 101 says that a value did not fit where it was to go: nothing is bound here.
                self.rows.append((self.told["name"], "FETCH", start, time.time_ns(), ahead, 0 if said in (0, 101, NO_DATA) else said))
            if said not in (0, 101):
                return
            rows += 1
            if self.told.get("row_us"):
                time.sleep(self.told["row_us"] / 1e6)


def main():
    told = json.loads(sys.argv[1])
    sessions = [Session(s, told) for s in told["sessions"]]
    client.mysql_server_init(0, None, None)
    for session in sessions:
        session.start()
    for session in sessions:
        session.join()
    with open(told["out"], "w") as file:
        file.write("session,op,t_issue_ns,t_done_ns,rows,error\n")
        for session in sessions:
            file.writelines(",".join(map(str, r)) + "\n" for r in session.rows)
    failed = [s.failed for s in sessions if s.failed]
    print("libmariadb", client.mysql_get_client_info().decode(), *failed, file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
