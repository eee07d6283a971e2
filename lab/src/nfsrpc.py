"""What the lab's own NFS clients share: options, XDR, RPC, and the list of operations to do, from a seed."""

import random
import struct
import sys
import time
from collections import deque

# Options of each client, key=value: so many operations of `bs` bytes within so many seconds, at offsets of their own in the
# file; `rate` arrivals a second (Poisson), or, without, `jobs` threads that each wait for their operation; at most `cap` outstanding.
OPTIONS = {"host": "10.0.0.2", "export": "/export", "file": "data.bin", "bs": "8192", "ops": "1000", "secs": "5", "cap": "64", "jobs": "8",
           "rate": "0", "readpct": "70", "filemb": "64", "seed": "1", "out": "ops.csv", "part": "0/1"}
# How long after the last arrival answers are waited for.
PATIENCE_NS = 12 * 10**9


def parsed(**more):
    options = {**OPTIONS, **more}
    options.update(argument.split("=", 1) for argument in sys.argv[1:])
    return options


def u32(*values):
    return struct.pack(f">{len(values)}I", *(v & 0xFFFFFFFF for v in values))


def u64(value):
    return struct.pack(">Q", value)


def opaque(data):
    data = data.encode() if isinstance(data, str) else data
    return u32(len(data)) + data + b"\0" * (-len(data) % 4)


class Reader:
    """Reads XDR."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def u32(self):
        self.at += 4
        return struct.unpack_from(">I", self.data, self.at - 4)[0]

    def u64(self):
        self.at += 8
        return struct.unpack_from(">Q", self.data, self.at - 8)[0]

    def fixed(self, length):
        begin, self.at = self.at, self.at + length + -length % 4
        return self.data[begin : begin + length]

    def opaque(self):
        return self.fixed(self.u32())


class Caller:
    """Numbers calls, from a seed, and writes their headers."""

    CREDENTIALS = u32(1) + opaque(u32(0) + opaque("labclient") + u32(0, 0, 0))

    def __init__(self, seed):
        self.xid = random.Random(seed).getrandbits(31)

    def call(self, program, version, procedure, arguments):
        """(XID, message)."""
        self.xid = self.xid + 1 & 0xFFFFFFFF
        return self.xid, u32(self.xid, 0, 2, program, version, procedure) + self.CREDENTIALS + u32(0, 0) + arguments


def answered(message):
    """(XID, status of the procedure, reader of what comes after it)."""
    reader = Reader(message)
    xid, kind, denied = reader.u32(), reader.u32(), reader.u32()
    reader.u32()
    reader.opaque()
    if kind != 1 or denied or reader.u32():
        raise SystemExit(f"call refused: {message[:40].hex()}")
    return xid, reader.u32(), reader


class Load:
    """The operations: asked for by an application's clock, taken by the client as it may, done when answered."""

    def __init__(self, options):
        self.block, self.most, self.rate = int(options["bs"]), int(options["ops"]), float(options["rate"])
        self.read_percent, self.out = float(options["readpct"]), options["out"]
        self.dice = random.Random(int(options["seed"]))
        part, parts = map(int, options["part"].split("/"))
        self.offsets = self.dice.sample(range(part, int(options["filemb"]) * 2**20 // self.block, parts), self.most)
        self.operations, self.waiting, self.finished = [], deque(), 0
        self.begun = self.next_arrival = time.time_ns()
        self.end = self.begun + int(float(options["secs"]) * 1e9)
        if not self.rate:
            for _ in range(int(options["jobs"])):
                self._ask(self.begun)

    def _ask(self, now):
        if self.more(now):
            op = "READ" if self.dice.random() * 100 < self.read_percent else "WRITE"
            number = len(self.operations)
            operation = {"id": number, "op": op, "offset": self.offsets[number] * self.block, "len": self.block, "t_enq_ns": now,
                         "t_issue_ns": 0, "t_done_ns": 0, "status": -9999, "xid": "", "slot": -1, "sent": 0}
            self.operations.append(operation)
            self.waiting.append(operation)

    def more(self, now):
        return len(self.operations) < self.most and now < self.end

    def arrivals(self, now):
        """Asks for what the application wants by now."""
        while self.rate and self.next_arrival <= now and self.more(self.next_arrival):
            self._ask(self.next_arrival)
            self.next_arrival += int(self.dice.expovariate(self.rate) * 1e9)

    def issued(self, operation, xid):
        operation["t_issue_ns"], operation["xid"] = time.time_ns(), f"0x{xid:08x}"
        operation["sent"] += 1

    def done(self, operation, status):
        operation["t_done_ns"], operation["status"] = time.time_ns(), -status if status else self.block
        self.finished += 1
        if not self.rate:
            self._ask(operation["t_done_ns"])

    def over(self, now):
        return self.finished == len(self.operations) and not self.more(now) or now > self.end + PATIENCE_NS

    def pause_s(self, now, *others):
        """Until the next arrival, or one of these other times."""
        due = [*others, *([self.next_arrival] if self.rate and self.more(now) else [])]
        return min(0.1, max(0, min(due, default=now + 10**8) - time.time_ns()) / 1e9)

    def write(self):
        with open(self.out, "w") as out:
            out.write(",".join(self.operations[0]) + "\n")
            out.writelines(",".join(map(str, o.values())) + "\n" for o in self.operations)
        sent = sum(o["sent"] for o in self.operations)
        print(f"ops={len(self.operations)} done={self.finished} sent={sent} in {(time.time_ns() - self.begun) / 1e9:.3f} s", file=sys.stderr)
