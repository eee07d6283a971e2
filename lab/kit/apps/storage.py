"""Files in memory for a server to serve, with waits below it and a log of its own of every read and write."""

import os
import struct
import time

from kit import truth
from kit.build import binary
from kit.sandbox import SCRATCH

FILES = ("data.bin", "data2.bin")
DISTRIBUTIONS = {"fixed": 0, "exponential": 1, "bimodal": 2}
FILE_BYTES = 64 << 20
_RECORDS = 100_000


class Storage:
    """Reads and writes take `read_us`, `write_us` more, by `distribution`; of "bimodal" a share `slow_p` takes `slow_us`.
    `only` names the file that is slow ("data.bin", "data2.bin"); without it both are."""

    def __init__(self, bench, only=None, **waits):
        self.bench, self.only, self.folder = bench, only, f"{SCRATCH}/export"
        os.makedirs(self.folder, exist_ok=True)
        for name in FILES:
            if not os.path.exists(data := f"{self.folder}/{name}"):
                with open(data, "wb") as file:
                    file.write(os.urandom(1 << 20) * (FILE_BYTES >> 20))
                os.chmod(data, 0o666)
        self.control = f"{bench.scratch}/slow.bin"
        with open(self.control, "wb") as file:
            file.truncate(4096 + 40 * _RECORDS)
        self.waits(**waits)
        # A server that runs with these is that slow.
        self.environment = f"SLOW_CTL={self.control} LAB_CC={bench.congestion} LD_PRELOAD={binary('slow.so')}:{binary('cc.so')}"

    def waits(self, read_us=0, write_us=0, distribution="fixed", slow_p=0, slow_us=0):
        """Changes the waits, also while it runs."""
        with open(self.control, "r+b") as file:
            file.write(struct.pack("<6d", read_us, write_us, 0, DISTRIBUTIONS[distribution], slow_p, slow_us))
            file.seek(56)
            file.write(struct.pack("<Qq", os.stat(f"{self.folder}/{self.only}").st_ino if self.only else 0, FILE_BYTES))
        self.bench.truth.setdefault("storage", []).append({
            "t_ns": time.time_ns(), "only": self.only,
            "read_us": read_us, "write_us": write_us, "distribution": distribution, "slow_p": slow_p, "slow_us": slow_us})

    def log(self):
        """Its reads and writes into `server_ops.csv.gz` and the truth; returns them as
        (op, offset, length, start ns, end ns, thread, result, 1 if of the file that alone is slow)."""
        with open(self.control, "rb") as file:
            data = file.read()
        count = min(struct.unpack_from("<Q", data, 48)[0], _RECORDS)
        rows = []
        for i in range(count):
            start, end, offset, length, thread, op, result = struct.unpack_from("<QQQIIIi", data, 4096 + 40 * i)
            rows.append((("READ", "WRITE", "FSYNC")[op & 255], offset, length, start, end, thread, result, op >> 8))
        truth.write(f"{self.bench.folder}/server_ops.csv.gz", ["op", "offset", "len", "t_start_ns", "t_end_ns", "tid", "rc", "marked"], rows)
        took = lambda op: [(r[4] - r[3]) / 1e6 for r in rows if r[0] == op]
        self.bench.truth["server_app"] = {
            "what": "time inside reads and writes of files, ms",
            **{op: truth.summary(took(op)) for op in ("READ", "WRITE", "FSYNC") if took(op)},
            **_concurrency(rows), "threads_seen": len({r[5] for r in rows})}
        return rows


def _concurrency(rows):
    rows = [r for r in rows if r[0] != "FSYNC"]  # its own, of recovery, when it starts
    steps = sorted([(r[3], 1) for r in rows] + [(r[4], -1) for r in rows])
    now = most = area = 0
    for i, (time_ns, step) in enumerate(steps):
        if i:
            area += now * (time_ns - steps[i - 1][0])
        now += step
        most = max(most, now)
    span = steps[-1][0] - steps[0][0] if steps else 1
    return {"max_concurrent_io": most, "mean_concurrent_io": round(area / max(1, span), 2)}
