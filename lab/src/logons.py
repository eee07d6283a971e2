#!/usr/bin/env python3
"""logons.py HOST USER SESSIONS TIMES WAIT_MS STATEMENTS OUT: sessions that log on to PostgreSQL again and again, by a password.

Each waits WAIT_MS before it answers what the server asks of it, runs so many statements, and leaves. Writes what each
took, by its own clock, as CSV: session, op, t_issue_ns, t_done_ns, and how long of it the client itself waited.
"""

import csv
import socket
import struct
import sys
import threading
import time

PASSWORD = b"secret\0"
PROTOCOL = 3 << 16


def message(kind, body=b""):
    return kind + struct.pack(">I", len(body) + 4) + body


def receive(file):
    kind, length = struct.unpack(">cI", file.read(5))
    file.read(length - 4)
    return kind


def until_ready(file):
    while receive(file) != b"Z":
        pass


class Session(threading.Thread):
    def __init__(self, name, host, user, times, wait_s, statements):
        super().__init__()
        self.told = name, host, user, times, wait_s, statements
        self.rows = []

    def run(self):
        name, host, user, times, wait_s, statements = self.told
        for _ in range(times):
            with socket.create_connection((host, 5432)) as s, s.makefile("rb") as file:
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                begun = time.time_ns()
                names = f"user\0{user}\0database\0postgres\0\0".encode()
                s.sendall(message(b"", struct.pack(">I", PROTOCOL) + names))
                assert receive(file) == b"R"
                asked = time.time_ns()
                time.sleep(wait_s)
                waited = time.time_ns() - asked
                s.sendall(message(b"p", PASSWORD))
                until_ready(file)
                self.rows.append((name, "logon", begun, time.time_ns(), waited))
                for _ in range(statements):
                    begun = time.time_ns()
                    s.sendall(message(b"Q", b"select 1\0"))
                    until_ready(file)
                    self.rows.append((name, "query", begun, time.time_ns(), 0))
                    time.sleep(0.005)
                s.sendall(message(b"X"))


if __name__ == "__main__":
    host, user, sessions, times, wait_ms, statements, out = sys.argv[1:]
    running = [Session(f"session{i}", host, user, int(times), float(wait_ms) / 1e3, int(statements)) for i in range(int(sessions))]
    for session in running:
        session.start()
    with open(out, "w", newline="") as file:
        write = csv.writer(file)
        write.writerow(["session", "op", "t_issue_ns", "t_done_ns", "waited_ns"])
        for session in running:
            session.join()
            write.writerows(session.rows)
