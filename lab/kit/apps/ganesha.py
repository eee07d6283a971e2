"""NFS-Ganesha over a file in memory, with waits below it and a log of its own of every read and write."""

import os
import struct
import subprocess
import time

from kit import truth
from kit.build import binary
from kit.sandbox import SCRATCH

FILES = ("data.bin", "data2.bin")
DISTRIBUTIONS = {"fixed": 0, "exponential": 1, "bimodal": 2}
_RECORDS = 100_000


class Ganesha:
    """`threads` is RPC_Ioq_ThrdMax (Ganesha 4.3 gives some four fewer, never less than three or four workers);
    reads and writes take `read_us`, `write_us` more, by `distribution`; of "bimodal" a share `slow_p` takes `slow_us`.
    `only` names the file that is slow ("data.bin", "data2.bin"); without it both are. With `grace_s` it lets clients claim
    for so long, after a restart, what they had before."""

    def __init__(self, bench, *, threads=None, read_us=0, write_us=0, distribution="fixed", slow_p=0, slow_us=0, only=None,
                 transports="TCP", grace_s=0):
        self.bench = bench
        export, recovery = f"{SCRATCH}/export", f"{bench.scratch}/recovery"
        os.makedirs(export, exist_ok=True)
        os.makedirs(recovery, exist_ok=True)
        for name in FILES:
            if not os.path.exists(data := f"{export}/{name}"):
                with open(data, "wb") as file:
                    file.write(os.urandom(1 << 20) * 64)
                os.chmod(data, 0o666)
        self.export, self.only = export, only
        self.control = f"{bench.scratch}/slow.bin"
        with open(self.control, "wb") as file:
            file.truncate(4096 + 40 * _RECORDS)
        self.waits(read_us, write_us, distribution, slow_p, slow_us)
        log, config = f"{bench.scratch}/ganesha.log", f"{bench.scratch}/ganesha.conf"
        with open(config, "w") as file:
            file.write(f"""NFS_CORE_PARAM {{ Bind_addr={bench.server.address}; NFS_Port=2049; MNT_Port=20048; Protocols=3,4; mount_path_pseudo=true;
  Enable_NLM=false; Enable_RQUOTA=false; {f"RPC_Ioq_ThrdMax={threads};" if threads else ""} }}
NFSV4 {{ {f"Graceless=false; Grace_Period={grace_s}; Lease_Lifetime=60;" if grace_s else "Graceless=true;"} RecoveryRoot="{recovery}"; Minor_Versions=0,1,2; }}
EXPORT {{ Export_Id=1; Path={export}; Pseudo=/export; Protocols=3,4; Transports={transports}; Access_Type=RW; Squash=No_Root_Squash;
  SecType=sys; FSAL {{ Name=VFS; }} }}
LOG {{ Default_Log_Level=EVENT; }}
""")
        self.command = bench.server.command(
            "sh", "-c", f"rpcbind -w; SLOW_CTL={self.control} LAB_CC={bench.congestion} "
            f"LD_PRELOAD={binary('slow.so')}:{binary('cc.so')} exec ganesha.nfsd -F -f {config} -L {log} "
            f"-p {bench.scratch}/ganesha.pid -N NIV_EVENT")
        self._start()
        bench.truth["server"] = {"software": "nfs-ganesha, FSAL_VFS", "RPC_Ioq_ThrdMax": threads or "default (200)"}

    def _start(self):
        self.process = self.bench.start(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.bench.until(lambda: self.bench.server.listens(2049), self.process, "Ganesha")

    def restart(self):
        """As after a crash."""
        self.process.kill()
        self.process.wait()
        self._start()
        self.bench.event("ganesha started again")

    def waits(self, read_us=0, write_us=0, distribution="fixed", slow_p=0, slow_us=0):
        """Changes the waits, also while it runs."""
        with open(self.control, "r+b") as file:
            file.write(struct.pack("<6d", read_us, write_us, 0, DISTRIBUTIONS[distribution], slow_p, slow_us))
            file.seek(56)
            file.write(struct.pack("<Q", os.stat(f"{self.export}/{self.only}").st_ino if self.only else 0))
        self.bench.truth.setdefault("storage", []).append({
            "t_ns": time.time_ns(), "only": self.only,
            "read_us": read_us, "write_us": write_us, "distribution": distribution, "slow_p": slow_p, "slow_us": slow_us})

    def signal(self, number):
        self.process.send_signal(number)
        self.bench.event(f"ganesha signal {int(number)}")

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
            "what": "time inside preadv/pwritev below FSAL_VFS, ms",
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
