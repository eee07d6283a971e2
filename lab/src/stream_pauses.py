#!/usr/bin/env python3
"""Requests and responses over TCP with pauses where none should be: inside them.

  stream_pauses.py server|client '<json>'      into server.csv | client.csv and ….json in `dir`

Each of `calls` calls carries `bursts` bursts of `burst` bytes one way and a few bytes the other. Between two bursts one
side pauses for `pause_s`, `who` tells which and of what:
 server-writes  the response: the server writes a burst, waits until TCP has acknowledged all of it, and pauses
 client-writes  the request: likewise the client
 client-reads   the response is written at once; the client reads a burst and pauses, so that its window closes
 server-reads   the request is written at once; likewise the server
`think_s` passes between calls. `tns`: responses are rows of an Oracle session (`stream_tns.py`).
"""

import json
import socket
import sys
import time

import stream_tns as tns
from stream_common import acknowledged, listening, now, received, save, slept, tcp_info, tuned

SHORT = 200


class Pauses:
    """Writes or reads in bursts, and pauses between them if this side is who does so."""

    def __init__(self, c, me):
        self.c, self.me, self.rows = c, me, []

    def _pause(self):
        begun = now()
        slept(self.c["pause_s"])
        self.rows.append((begun, now()))

    def write(self, s, data):
        if self.c["who"] != f"{self.me}-writes" or len(data) <= 2 * SHORT:
            return s.sendall(data)
        burst = self.c["burst"]
        for at in range(0, len(data), burst):
            s.sendall(data[at:at + burst])
            if at + burst < len(data):
                acknowledged(s)
                self._pause()

    def read(self, s, size):
        if self.c["who"] != f"{self.me}-reads" or size <= 2 * SHORT:
            return received(s, size)
        while size:
            part = min(size, self.c["burst"])
            received(s, part)
            size -= part
            if size:
                self._pause()


def messages(c):
    """(request, response) of each call."""
    long = b"b" * (c["bursts"] * c["burst"])
    upward = c["who"] in ("client-writes", "server-reads")
    if not c.get("tns"):
        return [(long if upward else b"q" * SHORT, b"k" * SHORT if upward else long)] * c["calls"]
    # A little less than the bursts, for the headers.
    count, pairs = (c["bursts"] * c["burst"] - 1000) // tns.ROW, [(tns.connect(), tns.accept()), (tns.execute(1), tns.rows(1, 1, 1))]
    for i in range(c["calls"]):
        pairs.append((tns.fetch(2 + i, count), tns.rows(2 + i, count, 1 + (i + 1) * count)))
    return pairs


def server(c):
    with listening(c, "server") as listener:
        s, _ = listener.accept()
    tuned(s, c, "server")
    pauses, rows = Pauses(c, "server"), []
    for i, (request, response) in enumerate(messages(c)):
        pauses.read(s, len(request))
        got = now()
        pauses.write(s, response)
        rows.append((i, len(request), len(response), got, now()))
    s.settimeout(40)
    s.recv(1)
    save(c, "server", "call,request_bytes,response_bytes,t_got_ns,t_written_ns", rows, {"pauses": pauses.rows, "tcp_info": tcp_info(s)})


def client(c):
    s = socket.socket()
    tuned(s, c, "client")
    s.settimeout(40)
    s.connect((c["server"], c["port"]))
    pauses, rows = Pauses(c, "client"), []
    for i, (request, response) in enumerate(messages(c)):
        begun = now()
        pauses.write(s, request)
        written = now()
        pauses.read(s, len(response))
        rows.append((i, len(request), len(response), begun, written, now()))
        time.sleep(c.get("think_s", 0))
    save(c, "client", "call,request_bytes,response_bytes,t_start_ns,t_written_ns,t_done_ns", rows,
         {"pauses": pauses.rows, "tcp_info": tcp_info(s)})
    s.close()


{"server": server, "client": client}[sys.argv[1]](json.loads(sys.argv[2]))
