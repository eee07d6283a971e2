#!/usr/bin/env python3
"""Random NFSv3 READs and WRITEs over UDP, raw XDR: options as of nfsrpc.py into a CSV of operations (with the RPC XID of each).

timeout_ms    after which an unanswered call is sent again, with the same XID; doubles each time (Linux: 1100)

An answer to the first sending is an answer also after the second, as in a kernel's client.
"""

import select
import socket
import time

from nfsrpc import Caller, Load, answered, opaque, parsed, u32, u64

MOUNT, NFS = (100005, 3), (100003, 3)
MNT, LOOKUP, READ, WRITE = 1, 3, 6, 7
DATA_SYNC = 1
MOUNT_PORT, NFS_PORT = 20048, 2049

options = parsed(timeout_ms="1100")
caller = Caller(int(options["seed"]))
socket_ = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
socket_.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)


def ask(port, program, procedure, arguments):
    """One call; the reader of its answer. Sent again each second."""
    xid, message = caller.call(*program, procedure, arguments)
    socket_.settimeout(1)
    for _ in range(8):
        socket_.sendto(message, (options["host"], port))
        try:
            while True:
                of, status, reader = answered(socket_.recv(65536))
                if of == xid:
                    break
        except TimeoutError:
            continue
        if status:
            raise SystemExit(f"procedure {procedure}: status {status}")
        return reader
    raise SystemExit(f"procedure {procedure}: no answer")


root = ask(MOUNT_PORT, MOUNT, MNT, opaque(options["export"])).opaque()
file = ask(NFS_PORT, NFS, LOOKUP, opaque(root) + opaque(options["file"])).opaque()

cap, timeout_ns = int(options["cap"]), int(float(options["timeout_ms"]) * 1e6)
load, outstanding = Load(options), {}
payload = b"\x5a" * load.block


def issue(operation):
    arguments = opaque(file) + u64(operation["offset"]) + u32(load.block)
    if operation["op"] == "WRITE":
        arguments += u32(DATA_SYNC) + opaque(payload)
    xid, message = caller.call(*NFS, READ if operation["op"] == "READ" else WRITE, arguments)
    load.issued(operation, xid)
    outstanding[xid] = [operation, message, operation["t_issue_ns"] + timeout_ns]
    socket_.sendto(message, (options["host"], NFS_PORT))


def send_again(now):
    for entry in outstanding.values():
        operation, message, due = entry
        if due <= now:
            entry[2] = now + (timeout_ns << operation["sent"])
            operation["sent"] += 1
            socket_.sendto(message, (options["host"], NFS_PORT))


def receive():
    while True:
        try:
            xid, status, _ = answered(socket_.recv(65536))
        except BlockingIOError:
            return
        if xid in outstanding:
            load.done(outstanding.pop(xid)[0], status)


socket_.setblocking(False)
while not load.over(now := time.time_ns()):
    load.arrivals(now)
    while load.waiting and len(outstanding) < cap:
        issue(load.waiting.popleft())
    send_again(now)
    if select.select([socket_], [], [], load.pause_s(now, *(due for _, _, due in outstanding.values())))[0]:
        receive()
load.write()
