"""MariaDB with a log of its own of every statement, and sessions of a client of the lab's own (`src/mysqlload.py`, libmariadb)."""

import os
import re
import subprocess

from kit.apps import database

PORT = 3306
_LOGGED = re.compile(
    r"^# Thread_id: (\d+).*?^# Query_time: ([\d.]+)  Lock_time: ([\d.]+)  Rows_sent: (\d+).*?^SET timestamp=(\d+);\n(.*?)(?=^# |\Z)", re.M | re.S
)


class MariaDB:
    """The server on its host, port 3306, user "app" with password "secret", database "lab". `setup` is SQL that is run before
    anything is captured; `settings` are options of mariadbd. The slow query log, with long_query_time=0, is its own clock."""

    def __init__(self, bench, *, setup="", settings=()):
        self.bench, self.socket = bench, f"{bench.scratch}/mariadb.sock"
        data = database.fresh_data(bench, "mysql", _install)
        self._slow = f"{data}/slow"
        options = [
            "--no-defaults", f"--datadir={data}", f"--socket={self.socket}", f"--bind-address={bench.server.address}", f"--port={PORT}",
            "--skip-name-resolve", f"--pid-file={data}/pid", "--innodb-buffer-pool-size=64M", "--innodb-log-file-size=8M",
            "--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync", "--slow-query-log=ON", f"--slow-query-log-file={self._slow}",
            "--long-query-time=0", "--max-allowed-packet=64M", *settings]  # fmt: skip
        command = bench.server.command(*bench.preload, *database.as_user("mysql"), "mariadbd", *options)
        self.process = bench.start(command, stdout=subprocess.DEVNULL, stderr=open(f"{bench.scratch}/mariadb.log", "a"))
        ping = ["mariadb-admin", "--no-defaults", "-S", self.socket, "-u", "root", "ping"]
        bench.until(lambda: not subprocess.run(ping, capture_output=True).returncode, self.process, "MariaDB")
        self.sql("create database lab; create user app@'%' identified by 'secret'; grant all on *.* to app@'%'; use lab;" + setup)
        os.truncate(self._slow, 0)
        bench.truth["server"] = {"software": "MariaDB 10.11", "options": [o for o in options if bench.scratch not in o]}

    def sql(self, text):
        """Runs SQL on the server's own host, over a socket that no capture sees."""
        command = ["mariadb", "--no-defaults", "-S", self.socket, "-u", "root", "-N"]
        return subprocess.run(command, input=text, text=True, check=True, capture_output=True).stdout

    def log(self):
        """Its statements into `server_ops.csv.gz` and the truth; returns them as (thread, ms, ms waited for locks, rows, statement)."""
        text = open(self._slow, errors="replace").read()
        logged = _LOGGED.findall(text)
        rows = [(int(thread), float(took) * 1e3, float(locked) * 1e3, int(sent), said.strip()) for thread, took, locked, sent, _, said in logged]
        database.keep_log(
            self.bench, "slow query log with long_query_time=0: ms of each statement", ["thread", "duration_ms", "lock_ms", "rows", "statement"],
            rows, statement_ms=[r[1] for r in rows], lock_ms=[r[2] for r in rows])  # fmt: skip
        return rows


class Replica:
    """A server on another host that copies the first one's binary log, and confirms what it has where both are told to
    (semi-synchronous). Its own clients and options are none of the case's. The server needs `--log-bin`."""

    def __init__(self, server, host, *, confirms=False):
        bench, self.server = server.bench, server
        self.socket, data = f"{bench.scratch}/replica.sock", f"{bench.scratch}/replica"
        database.copy_of("mysql", data)
        options = [
            "--no-defaults", f"--datadir={data}", f"--socket={self.socket}", "--skip-networking", "--server-id=2", f"--pid-file={data}/pid",
            "--innodb-buffer-pool-size=64M", "--innodb-log-file-size=8M", "--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync",
            "--max-allowed-packet=64M", f"--rpl-semi-sync-slave-enabled={'ON' if confirms else 'OFF'}"]  # fmt: skip
        command = host.command(*bench.preload, *database.as_user("mysql"), "mariadbd", *options)
        self.process = bench.start(command, stdout=subprocess.DEVNULL, stderr=open(f"{bench.scratch}/replica.log", "a"))
        ping = ["mariadb-admin", "--no-defaults", "-S", self.socket, "-u", "root", "ping"]
        bench.until(lambda: not subprocess.run(ping, capture_output=True).returncode, self.process, "the replica")
        server.sql("create user replica@'%' identified by 'secret'; grant replication slave on *.* to replica@'%'")

    def begin(self):
        """Asks for the log from where it began."""
        to = f"master_host='{self.server.bench.server.address}', master_port={PORT}, master_user='replica', master_password='secret'"
        text = f"change master to {to}, master_use_gtid=slave_pos; start slave"
        subprocess.run(["mariadb", "--no-defaults", "-S", self.socket, "-u", "root"], input=text, text=True, check=True, capture_output=True)


def _install(data):
    return ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal", "--skip-test-db",
            "--skip-name-resolve", "--innodb-log-file-size=8M"]  # fmt: skip


def load(bench, sessions, **options):
    """Runs sessions (`src/mysqlload.py`) to their end and returns their operations (`database.sessions`), with `error`."""
    return database.sessions(bench, "mysqlload.py", sessions, host=bench.server.address, port=PORT, **options)
