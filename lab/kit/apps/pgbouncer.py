"""PgBouncer before PostgreSQL: on the server's host, where it talks to the database over loopback, or on the host between."""

import shutil
import subprocess

from kit.apps.database import as_user
from kit.bench import MIDDLE

PORT = 6432


class PgBouncer:
    """At most `size` connections to the database, which clients share by `mode` ("session", "transaction", "statement").
    What passes between it and the database over loopback is captured too, as `backend.pcap`."""

    def __init__(self, bench, *, size, mode="transaction", between=False):
        self.bench = bench
        host = bench.middle if between else bench.server
        self.address = MIDDLE if between else bench.server.address
        backend = bench.server.address if between else "127.0.0.1"
        config, users = f"{bench.scratch}/pgbouncer.ini", f"{bench.scratch}/pgbouncer.users"
        with open(users, "w") as file:
            file.write('"postgres" ""\n')
        with open(config, "w") as file:
            file.write(f"""[databases]
postgres = host={backend} port=5432 user=postgres dbname=postgres
[pgbouncer]
listen_addr = {self.address}
listen_port = {PORT}
unix_socket_dir =
auth_type = any
auth_file = {users}
pool_mode = {mode}
default_pool_size = {size}
max_client_conn = 200
logfile = {bench.scratch}/pgbouncer.log
ignore_startup_parameters = extra_float_digits
""")
        for path in (config, users):
            shutil.chown(path, "postgres", "postgres")
        pooler = bench.start(host.command(*bench.preload, *as_user("postgres"), "pgbouncer", "-q", config),
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        bench.until(lambda: host.listens(PORT), pooler, "PgBouncer")
        self._capture = None if between else bench.start(host.command(
            "tcpdump", "-i", "lo", "-n", "-Z", "root", "-s", bench.snap, "--time-stamp-precision=nano", "-w", f"{bench.folder}/backend.pcap",
            "tcp", "port", "5432"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        bench.truth["pooler"] = {"software": "PgBouncer", "default_pool_size": size, "pool_mode": mode}

    def end(self):
        """Ends the capture between pooler and database."""
        if self._capture:
            self._capture.terminate()
            self._capture.wait(5)
