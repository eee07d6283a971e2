#!/usr/bin/env python3
"""Random NFSv3 READs and WRITEs over UDP, raw XDR: key=value arguments into a CSV of operations (with the RPC XID of each).

host file bs ops secs cap jobs rate readpct filemb seed out     as of nfsload
timeout_ms        after which an unanswered call is sent again, with the same XID; doubles each time (Linux: 1100)

An answer to the first sending is an answer also after the second, as in a kernel's client.
"""

import random
import select
import socket
import struct
import sys
import time

MOUNT, NFS = (100005, 3), (100003, 3)
MNT, LOOKUP, READ, WRITE = 1, 3, 6, 7
DATA_SYNC = 1
MOUNT_PORT, NFS_PORT = 20048, 2049

options = {"host": "10.0.0.2", "export": "/export", "file": "data.bin", "bs": "8192", "ops": "1000", "secs": "5", "cap": "64", "jobs": "8",
           "rate": "0", "readpct": "70", "filemb": "64", "seed": "1", "out": "ops.csv", "timeout_ms": "1100"}
options.update(argument.split("=", 1) for argument in sys.argv[1:])
number = lambda key: int(float(options[key]))


def u32(*values):
    return struct.pack(f">{len(values)}I", *values)


def opaque(data):
    return u32(len(data)) + data + b"\0" * (-len(data) % 4)


dice = random.Random(number("seed"))
xid = dice.getrandbits(31)
socket_ = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
socket_.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
credentials = u32(1) + opaque(u32(0) + opaque(b"labclient") + u32(0, 0, 0))


def message(program, procedure, arguments):
    """(XID, bytes) of a call."""
    global xid
    xid = xid + 1 & 0xFFFFFFFF
    return xid, u32(xid, 0, 2, *program, procedure) + credentials + u32(0, 0) + arguments


def status_of(answer):
    """(XID, status, bytes after it) of an accepted answer."""
    of, kind, denied, _, verifier = struct.unpack_from(">5I", answer)
    at = 20 + verifier + (-verifier % 4)
    accepted, status = struct.unpack_from(">2I", answer, at)
    if kind != 1 or denied or accepted:
        raise SystemExit(f"call refused: {answer[:40].hex()}")
    return of, status, answer[at + 8 :]


def ask(port, program, procedure, arguments):
    """One call and the rest of its answer, sent again each second."""
    of, data = message(program, procedure, arguments)
    for _ in range(8):
        socket_.sendto(data, (options["host"], port))
        socket_.settimeout(1)
        try:
            while True:
                answered, status, rest = status_of(socket_.recv(65536))
                if answered == of:
                    break
        except TimeoutError:
            continue
        if status:
            raise SystemExit(f"procedure {procedure}: status {status}")
        return rest
    raise SystemExit(f"procedure {procedure}: no answer")


def handle_in(rest):
    length = struct.unpack_from(">I", rest)[0]
    return rest[4 : 4 + length]


root = handle_in(ask(MOUNT_PORT, MOUNT, MNT, opaque(options["export"].encode())))
file = handle_in(ask(NFS_PORT, NFS, LOOKUP, opaque(root) + opaque(options["file"].encode())))

block, most = number("bs"), number("ops")
cap, rate, timeout_ns = number("cap"), float(options["rate"]), number("timeout_ms") * 10**6
offsets = dice.sample(range(number("filemb") * 2**20 // block), most)
payload = b"\x5a" * block
operations, waiting, outstanding = [], [], {}
finished, begun = 0, time.time_ns()
end = begun + int(float(options["secs"]) * 1e9)
next_arrival = begun


def enqueue(now):
    if len(operations) < most and now < end:
        op = "READ" if dice.random() * 100 < float(options["readpct"]) else "WRITE"
        operation = {"id": len(operations), "op": op, "offset": offsets[len(operations)] * block, "len": block, "t_enq_ns": now,
                     "t_issue_ns": 0, "t_done_ns": 0, "status": -9999, "xid": "", "sent": 0}
        operations.append(operation)
        waiting.append(operation)


def issue(operation):
    arguments = opaque(file) + struct.pack(">QI", operation["offset"], block)
    if operation["op"] == "WRITE":
        arguments += u32(DATA_SYNC) + opaque(payload)
    of, data = message(NFS, READ if operation["op"] == "READ" else WRITE, arguments)
    operation["t_issue_ns"], operation["xid"] = time.time_ns(), f"0x{of:08x}"
    outstanding[of] = [operation, data, operation["t_issue_ns"] + timeout_ns]
    send(of)


def send(of):
    operation, data, _ = outstanding[of]
    operation["sent"] += 1
    socket_.sendto(data, (options["host"], NFS_PORT))


def receive():
    global finished
    while True:
        try:
            of, status, _ = status_of(socket_.recv(65536))
        except BlockingIOError:
            return
        if of in outstanding:
            operation = outstanding.pop(of)[0]
            operation["t_done_ns"], operation["status"] = time.time_ns(), -status if status else block
            finished += 1
            if rate <= 0:
                enqueue(operation["t_done_ns"])


socket_.setblocking(False)
if rate <= 0:
    for _ in range(number("jobs")):
        enqueue(begun)
while True:
    now = time.time_ns()
    while rate > 0 and next_arrival <= now and next_arrival < end and len(operations) < most:
        enqueue(next_arrival)
        next_arrival += int(dice.expovariate(rate) * 1e9)
    while waiting and len(outstanding) < cap:
        issue(waiting.pop(0))
    for of, (operation, _, due) in list(outstanding.items()):
        if due <= now:
            outstanding[of][2] = now + (timeout_ns << operation["sent"])
            send(of)
    more = len(operations) < most and now < end
    if finished == len(operations) and not more or now > end + 12 * 10**9:
        break
    due = min([next_arrival] * (rate > 0 and more) + [o[2] for o in outstanding.values()], default=now + 10**8)
    if select.select([socket_], [], [], min(0.1, max(0, due - time.time_ns()) / 1e9))[0]:
        receive()

with open(options["out"], "w") as out:
    out.write(",".join(operations[0]) + "\n")
    out.writelines(",".join(map(str, o.values())) + "\n" for o in operations)
print(f"ops={len(operations)} done={finished} sent={sum(o['sent'] for o in operations)}", file=sys.stderr)
