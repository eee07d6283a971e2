#!/usr/bin/env python3
"""A log-in that waits for one thing after another: login.py '<json of steps>' OUT

Steps are [name, what, …]; the seconds of each, by this program's own clock, are written to OUT (JSON by name).
  dns        name server addresses, name, patience in s     asks each in turn, as resolvers do
  broadcast  port, data (hex), times, patience in s         asks everybody on the link
  connect    address, port, times, pause in s               tries to connect, with pauses between
  run        program, arguments …                           its failure is part of the story
  logon      address                                        PostgreSQL, up to ReadyForQuery
  queries    address, count                                 PostgreSQL: so many short statements, one after another
"""

import json
import socket
import struct
import subprocess
import sys
import time


def dns(servers, name, patience_s):
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    question = struct.pack(">6H", 0x4711, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">2H", 1, 1)
    for server in servers:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(patience_s)
            s.connect((server, 53))
            s.send(question)
            try:
                s.recv(512)
                return
            except OSError:
                pass


def broadcast(port, data, times, patience_s):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        s.settimeout(patience_s)
        for _ in range(times):
            s.sendto(bytes.fromhex(data), ("10.0.0.255", port))
            try:
                s.recv(512)
                return
            except OSError:
                pass


def connect(address, port, times, pause_s):
    for attempt in range(times):
        time.sleep(pause_s if attempt else 0)
        try:
            socket.create_connection((address, port), timeout=3).close()
            return
        except OSError:
            pass


def run(*command):
    subprocess.run(command, capture_output=True, timeout=30)


def session(address):
    s = socket.create_connection((address, 5432))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    body = struct.pack(">I", 196608) + b"user\0postgres\0database\0postgres\0\0"
    s.sendall(struct.pack(">I", len(body) + 4) + body)
    ready(s)
    return s


def ready(s):
    """Reads until the server is ready for a query."""
    answer = b""
    while b"Z\0\0\0\x05" not in answer[-6:]:
        answer += s.recv(4096)


def logon(address):
    queries(address, 0)


def queries(address, count):
    with session(address) as s:
        for n in range(count):
            # Nothing that a busy server would take long for: it is the path that is asked about.
            text = f"select 'role{n}'".encode() + b"\0"
            s.sendall(b"Q" + struct.pack(">I", len(text) + 4) + text)
            ready(s)
        s.sendall(b"X\0\0\0\x04")


STEPS = {f.__name__: f for f in (dns, broadcast, connect, run, logon, queries)}
took = {}
for name, what, *arguments in json.loads(sys.argv[1]):
    begun = time.monotonic()
    STEPS[what](*arguments)
    took[name] = took.get(name, 0.0) + time.monotonic() - begun
with open(sys.argv[2], "w") as out:
    json.dump(took, out)
