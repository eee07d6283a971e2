#!/usr/bin/env python3
"""A database that ships its redo to a standby over TCP: nearly one way, in writes of one session data unit.

  stream_redo.py standby|primary '<json>'      into standby.csv | primary.csv and ….json in `dir`

The model. Redo comes into being at `rate_mb` MB a second. The primary ships it in writes of `unit` bytes (8156 is what an
Oracle session data unit of 8192 leaves for data, 65488 what the largest one does), each as soon as it has that much redo, and
 slots > 0   has at most so many writes under way that the standby's application has not confirmed (36 bytes for each
             `confirm_every` writes, `remote_us` after it read them): a fixed number of buffers, so what is on the path at
             a time shrinks with the unit, as in the field (0.2 MB instead of 2 to 3 MB);
 slots = 0   is never answered at all, and takes `step_us` for each write, whatever its size.
A unit that carries less thus costs what more writes cost. Beside it, the same for every unit: after each `lull_mb` a record
of 120 bytes leaves and redo pauses for `lull_ms` (a log switch), which nobody confirms, so that TCP's acknowledgement of it
is delayed and delays nobody; after each `flush_mb` the standby does not read for `flush_ms`.
"""

import json
import select
import socket
import sys
import time

from stream_common import listening, now, received, save, slept, tcp_info, tuned

RECORD, CONFIRMATION = 120, 36
# A record that leaves later than this behind a write arrives as a segment of its own.
ALONE_S = 0.005


def plan(c):
    """Sizes of all writes, in order."""
    total, lull = int(c["mb"] * 1e6), int(c.get("lull_mb", 0) * 1e6)
    sizes, sent, next_lull = [], 0, lull
    while sent < total:
        sizes.append(min(c["unit"], total - sent))
        sent += sizes[-1]
        if lull and sent >= next_lull and sent < total:
            sizes.append(RECORD)
            next_lull += lull
    return sizes


def standby(c):
    with listening(c, "standby") as listener:
        s, _ = listener.accept()
    tuned(s, c, "standby")
    rows, got, units, next_flush = [], 0, 0, c.get("flush_mb", 0) * 1e6
    sizes = plan(c)
    left = sum(size != RECORD for size in sizes)
    for size in sizes:
        received(s, size)
        got += size
        if next_flush and got >= next_flush:
            slept(c["flush_ms"] / 1e3)
            next_flush += c["flush_mb"] * 1e6
        if size == RECORD:
            continue
        units, left = units + 1, left - 1
        if c["slots"] and (units == c["confirm_every"] or not left):
            read = now()
            slept(c["remote_us"] / 1e6)
            s.sendall(b"k" * CONFIRMATION)
            rows.append((got, units, read, now()))
            units = 0
    s.shutdown(socket.SHUT_WR)
    s.recv(1)
    save(c, "standby", "bytes,units,t_read_ns,t_confirmed_ns", rows, {})


def primary(c):
    s = socket.socket()
    tuned(s, c, "primary")
    s.settimeout(30)
    s.connect((c["server"], c["port"]))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    rows, made, outstanding, waited = [], 0, 0, 0.0
    rate, begun = c["rate_mb"] * 1e6, time.monotonic()
    data = b"R" * c["unit"]
    units = 0
    for size in plan(c):
        made += size
        # Nothing to ship before it came into being.
        slept(begun + made / rate - time.monotonic())
        if size == RECORD:
            slept(ALONE_S)
            s.sendall(data[:RECORD])
            slept(c["lull_ms"] / 1e3)
            begun += ALONE_S + c["lull_ms"] / 1e3
            continue
        asked = now()
        while c["slots"] and (outstanding >= c["slots"] or select.select([s], [], [], 0)[0]):
            received(s, CONFIRMATION)
            outstanding -= c["confirm_every"]
        if c.get("step_us"):
            slept(c["step_us"] / 1e6)
        started = now()
        s.sendall(data[:size])
        rows.append((units, size, asked, started, now()))
        units, outstanding, waited = units + 1, outstanding + 1, waited + (started - asked) / 1e9
    while c["slots"] and outstanding > 0:
        received(s, CONFIRMATION)
        outstanding -= c["confirm_every"]
    s.shutdown(socket.SHUT_WR)
    s.recv(1)
    elapsed = (now() - rows[0][2]) / 1e9
    save(c, "primary", "write,bytes,t_asked_ns,t_started_ns,t_sent_ns", rows,
         {"writes": len(rows), "bytes": made, "elapsed_s": elapsed, "waited_s": waited, "tcp_info": tcp_info(s)})


{"standby": standby, "primary": primary}[sys.argv[1]](json.loads(sys.argv[2]))
