"""NFS-Ganesha over files in memory (`Storage`)."""

import os
import subprocess

from kit.apps.storage import Storage


class Ganesha:
    """`threads` is RPC_Ioq_ThrdMax (Ganesha 4.3 gives some four fewer, never less than three or four workers). With
    `grace_s` it lets clients claim for so long, after a restart, what they had before. What else is told is of `Storage`."""

    def __init__(self, bench, *, threads=None, transports="TCP", grace_s=0, **storage):
        self.bench = bench
        below = Storage(bench, **storage)
        self.waits, self.log = below.waits, below.log
        export, recovery = below.folder, f"{bench.scratch}/recovery"
        os.makedirs(recovery, exist_ok=True)
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
            "sh", "-c", f"rpcbind -w; {below.environment} exec ganesha.nfsd -F -f {config} -L {log} "
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

    def signal(self, number):
        self.process.send_signal(number)
        self.bench.event(f"ganesha signal {int(number)}")
