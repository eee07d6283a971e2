"""PostgreSQL with a log of its own of every statement, and its clients: sessions of the lab's own and pgbench."""

import glob
import os
import re
import shutil
import signal
import subprocess

from kit import truth
from kit.apps import database
from kit.apps.database import ms
from kit.bench import MIDDLE, sh

BIN = "/usr/lib/postgresql/15/bin"
_TRUSTED = """local all all trust
host all all 10.0.0.0/8 trust
host all all 127.0.0.1/32 trust
host replication all 10.0.0.0/8 trust
"""
_LOGGED = re.compile(r"^(\d+\.\d+) (\d+) LOG:  duration: ([\d.]+) ms(?:  (?:statement|execute [^:]*|parse [^:]*|bind [^:]*): (.*))?", re.M)


class PostgreSQL:
    """The server on its host, port 5432. `settings` go into its configuration; `setup` is SQL that is run before anything is
    captured; `tls` gives it a self-signed certificate; `tables` makes those of pgbench; `local` lets it listen on loopback only,
    `between` runs it on the middle host."""

    def __init__(self, bench, *, settings=None, setup="", tls=False, tables=False, local=False, between=False):
        self.bench, self.host = bench, bench.middle if between else bench.server
        self.address = "127.0.0.1" if local else MIDDLE if between else bench.server.address
        self.data, self._log = database.fresh_data(bench, "postgres", _install), f"{bench.scratch}/postgresql.log"
        with open(f"{self.data}/pg_hba.conf", "w") as file:
            file.write(_TRUSTED)
        open(self._log, "w").close()
        os.chmod(self._log, 0o666)
        values = {"listen_addresses": self.address, "unix_socket_directories": bench.scratch, "fsync": "off", "shared_buffers": "64MB",
                  "max_connections": 60, "log_min_duration_statement": 0, "log_line_prefix": "%n %p ", "log_statement": "none",
                  "jit": "off", "autovacuum": "off", "max_wal_senders": 4, "checkpoint_timeout": "1h", "wal_level": "replica"}
        if tls:
            values.update(ssl="on", ssl_cert_file=_certificate(self.data)[0], ssl_key_file=_certificate(self.data)[1])
        values.update(settings or {})
        options = [word for k, v in values.items() for word in ("-c", f"{k}={v}")]
        command = self.host.command(*bench.preload, *database.as_user("postgres"), f"{BIN}/postgres", "-D", self.data, *options)
        self.process = bench.start(command, stdout=subprocess.DEVNULL, stderr=open(self._log, "a"))
        ask = self.host.command(f"{BIN}/pg_isready", "-q", "-h", self.address)
        bench.until(lambda: not subprocess.run(ask).returncode, self.process, "PostgreSQL")
        if tables:
            sh(self.host.command(f"{BIN}/pgbench", "-h", bench.scratch, "-U", "postgres", "-i", "-s", "1", "-q", "postgres"))
        if setup:
            self.sql(setup)
        os.truncate(self._log, 0)
        bench.truth["server"] = {"software": "PostgreSQL 15", "settings": {k: v for k, v in values.items() if k != "unix_socket_directories"}}

    def sql(self, text):
        """Runs SQL on the server's own host, over a socket that no capture sees."""
        command = self.host.command(f"{BIN}/psql", "-h", self.bench.scratch, "-U", "postgres", "-v", "ON_ERROR_STOP=1", "-qAt", "postgres")
        return subprocess.run(command, input=text, text=True, check=True, capture_output=True).stdout

    def log(self):
        """Its statements into `server_ops.csv.gz` and the truth; returns them as (end in s, process, ms, statement)."""
        text = open(self._log, errors="replace").read()
        rows = [(float(end), int(pid), float(took), said or "") for end, pid, took, said in _LOGGED.findall(text)]
        database.keep_log(self.bench, "log_min_duration_statement=0: ms of each statement", ["t_end_s", "process", "duration_ms", "statement"],
                          rows, statement_ms=[r[2] for r in rows])
        self.process.send_signal(signal.SIGINT)
        return rows


def _install(data):
    return [f"{BIN}/initdb", "-D", data, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--wal-segsize=1"]


def _certificate(folder):
    certificate, key = f"{folder}/lab.crt", f"{folder}/lab.key"
    if not os.path.exists(key):
        sh(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
            "-subj", "/CN=lab", "-keyout", key, "-out", certificate])
        for path in (certificate, key):
            shutil.chown(path, "postgres", "postgres")
            os.chmod(path, 0o600)
    return certificate, key


def load(bench, sessions, *, port=5432, address=None, options="sslmode=disable", **more):
    """Runs sessions (`src/pgload.py`) to their end and returns their operations (`database.sessions`), with the local `port`."""
    dsn = f"host={address or bench.server.address} port={port} user=postgres dbname=postgres connect_timeout=10 gssencmode=disable {options}"
    return database.sessions(bench, "pgload.py", sessions, dsn=dsn, **more)


def pgbench(bench, *, clients=4, transactions=100, mode="simple", script=None, options=(), timeout=45):
    """Runs pgbench on the client to its end; returns the transactions' times in ms."""
    command = [f"{BIN}/pgbench", "-h", bench.server.address, "-U", "postgres", "-n", "-c", clients, "-j", 1, "-t", transactions,
               "-M", mode, "-l", f"--log-prefix={bench.scratch}/pgbench", *options]
    if script:
        with open(f"{bench.scratch}/pgbench.sql", "w") as file:
            file.write(script)
        command += ["-f", f"{bench.scratch}/pgbench.sql"]
    run = bench.run(bench.client, "env", f"--chdir={bench.scratch}", *command, "postgres", timeout=timeout)
    lines = [line.split() for log in glob.glob(f"{bench.scratch}/pgbench.*") if not log.endswith(".sql") for line in open(log)]
    columns = ["client", "transaction", "latency_us", "script", "t_end_s", "t_end_us"]
    truth.write(f"{bench.folder}/transactions.csv.gz", columns, (line[:6] for line in lines))
    took = [int(line[2]) / 1e3 for line in lines]
    bench.truth["client"] = {"software": "pgbench 15", "command": [str(c) for c in command[1:]]}
    bench.truth["app"] = {"transaction_ms": truth.summary(took), "said": run.stdout.strip().splitlines()[-6:]}
    return took


def calls(rows):
    """The operations that are one round trip of a session."""
    return [r for r in rows if r["op"] not in ("connect", "notice")]


def response_ms(rows):
    """(mean, 99th percentile) of calls."""
    times = [ms(r) for r in calls(rows)]
    return sum(times) / len(times), truth.percentile(times, 99)


def shares(rows, served, path_ms):
    """Seconds by side of all calls: the server's by its own log (`PostgreSQL.log`), the path's as the wire did it to
    each, and what is left of the client's time."""
    whole = sum(ms(r) for r in calls(rows)) / 1e3
    server = min(sum(r[2] for r in served) / 1e3, whole)
    network = min(path_ms * len(calls(rows)) / 1e3, whole - server)
    return {"client": 0.0, "network": network, "server": server, "rest": whole - server - network}
