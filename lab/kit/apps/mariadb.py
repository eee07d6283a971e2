"""MariaDB with a log of its own of every statement, and sessions of a client of the lab's own (`src/mysqlload.py`, libmariadb)."""

import csv
import gzip
import json
import os
import re
import shutil
import subprocess
import time

from kit import truth
from kit.bench import sh
from kit.build import SOURCES
from kit.sandbox import SCRATCH

AS_MYSQL = ["setpriv", "--reuid=mysql", "--regid=mysql", "--init-groups"]
PORT = 3306
_LOGGED = re.compile(
    r"^# Thread_id: (\d+).*?^# Query_time: ([\d.]+)  Lock_time: ([\d.]+)  Rows_sent: (\d+).*?^SET timestamp=(\d+);\n(.*?)(?=^# |\Z)", re.M | re.S
)


class MariaDB:
    """The server on its host, port 3306, user "app" with password "secret", database "lab". `setup` is SQL that is run before
    anything is captured; `settings` are options of mariadbd. The slow query log, with long_query_time=0, is its own clock."""

    def __init__(self, bench, *, setup="", settings=()):
        self.bench, self.socket = bench, f"{bench.scratch}/mariadb.sock"
        data, log = f"{bench.scratch}/mariadb", f"{bench.scratch}/mariadb.log"
        shutil.rmtree(data, ignore_errors=True)
        sh(["cp", "-a", _template(), data])
        self._slow = f"{data}/slow"
        options = [
            "--no-defaults",
            f"--datadir={data}",
            f"--socket={self.socket}",
            f"--bind-address={bench.server.address}",
            f"--port={PORT}",
            "--skip-name-resolve",
            f"--pid-file={data}/pid",
            "--innodb-buffer-pool-size=64M",
            "--innodb-log-file-size=8M",
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-flush-method=nosync",
            "--slow-query-log=ON",
            f"--slow-query-log-file={self._slow}",
            "--long-query-time=0",
            "--max-allowed-packet=64M",
            *settings,
        ]
        self.process = bench.start(
            bench.server.command(*bench.preload, *AS_MYSQL, "mariadbd", *options), stdout=subprocess.DEVNULL, stderr=open(log, "a")
        )
        for _ in range(150):
            if not subprocess.run(["mariadb-admin", "--no-defaults", "-S", self.socket, "-u", "root", "ping"], capture_output=True).returncode:
                break
            if self.process.poll() is not None:
                raise RuntimeError("MariaDB exited")
            time.sleep(0.1)
        else:
            raise RuntimeError("MariaDB does not answer")
        self.sql("create database lab; create user app@'%' identified by 'secret'; grant all on *.* to app@'%'; use lab;" + setup)
        os.truncate(self._slow, 0)
        bench.truth["server"] = {"software": "MariaDB 10.11", "options": [o for o in options if bench.scratch not in o]}

    def sql(self, text):
        """Runs SQL on the server's own host, over a socket that no capture sees."""
        return subprocess.run(
            ["mariadb", "--no-defaults", "-S", self.socket, "-u", "root", "-N"], input=text, text=True, check=True, capture_output=True
        ).stdout

    def log(self):
        """Its statements into `server_ops.csv.gz` and the truth; returns them as (thread, ms, ms waited for locks, rows, statement)."""
        text = open(self._slow, errors="replace").read()
        rows = [
            (int(thread), float(took) * 1e3, float(locked) * 1e3, int(sent), said.strip())
            for thread, took, locked, sent, _, said in _LOGGED.findall(text)
        ]
        with gzip.open(f"{self.bench.folder}/server_ops.csv.gz", "wt") as file:
            out = csv.writer(file)
            out.writerow(["thread", "duration_ms", "lock_ms", "rows", "statement"])
            out.writerows((*r[:4], r[4][:60]) for r in rows)
        self.bench.truth["server_app"] = {
            "what": "slow query log with long_query_time=0: ms of each statement",
            "statement_ms": truth.summary([r[1] for r in rows]),
            "lock_ms": truth.summary([r[2] for r in rows]),
        }
        return rows


def _template():
    """A data directory to copy, made once in a sandbox."""
    data = f"{SCRATCH}/mariadb-template"
    if not os.path.exists(f"{data}/mysql"):
        os.makedirs(data)
        shutil.chown(data, "mysql", "mysql")
        sh(
            [
                *AS_MYSQL,
                "mariadb-install-db",
                "--no-defaults",
                f"--datadir={data}",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                "--skip-name-resolve",
                "--innodb-log-file-size=8M",
            ]
        )
    return data


def load(bench, sessions, *, name="client", timeout=45):
    """Runs sessions to their end and returns their operations: dicts of session, op, t_issue_ns, t_done_ns, rows, error."""
    out = f"{bench.scratch}/{name}-ops.csv"
    sessions = [{"name": f"s{i}", **s} for i, s in enumerate(sessions)]
    told = {"host": bench.server.address, "port": PORT, "out": out, "seed": bench.case.seed, "sessions": sessions}
    run = bench.run(bench.client, "/usr/bin/python3", f"{SOURCES}/mysqlload.py", json.dumps(told), timeout=timeout)
    bench.save(f"{name}_ops.csv.gz", out)
    rows = [{k: v if k in ("session", "op") else int(v) for k, v in r.items()} for r in truth.rows(out)]
    bench.truth[name] = {"software": run.stderr.strip() + " (src/mysqlload.py)", "sessions": sessions}
    bench.truth["app"] = {
        op: truth.summary([(r["t_done_ns"] - r["t_issue_ns"]) / 1e6 for r in rows if r["op"] == op]) for op in sorted({r["op"] for r in rows})
    }
    bench.truth["app"]["errors"] = sum(r["error"] > 0 for r in rows)
    return rows
