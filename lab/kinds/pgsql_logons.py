"""What a session waits for before the first of its statements, or within one: a server or a client that takes its time
before it says what the other has asked for."""

import sys
import threading
import time

from kinds.pgsql import BUSY, CAUSES
from kit import expect, truth
from kit.apps.postgresql import BIN, PostgreSQL
from kit.build import SOURCES
from kit.kinds import kind

BY_PASSWORD = "host all app 10.0.0.0/8 password\n"
NETWORK = ["network-delay", "network-loss", "network-bandwidth", "network-outage", "network-reordering"]


def recorded(case, *, sessions, times, wait_ms=0, delay_s=0, statements=20):
    """Returns what each operation took: (op, ms, ms that the client itself waited)."""
    with case.bench(noise_limits=BUSY) as b:
        settings = {"pre_auth_delay": delay_s} if delay_s else None
        database = PostgreSQL(b, setup="create role app login password 'secret'", settings=settings)
        with open(f"{database.data}/pg_hba.conf") as file:
            rules = file.read()
        with open(f"{database.data}/pg_hba.conf", "w") as file:
            file.write(BY_PASSWORD + rules)
        database.sql("select pg_reload_conf()")
        b.wire("both delay_us=200")
        out = f"{b.scratch}/client_ops.csv"
        with b.capture():
            b.run(b.client, sys.executable, f"{SOURCES}/logons.py", b.server.address, "app", sessions, times, wait_ms, statements, out)
        b.save("client_ops.csv.gz", out)
        rows = [(r["op"], (int(r["t_done_ns"]) - int(r["t_issue_ns"])) / 1e6, int(r["waited_ns"]) / 1e6) for r in truth.rows(out)]
        b.truth["client"] = {"software": "lab/src/logons.py"}
        b.truth["app"] = {op: truth.summary([ms for o, ms, _ in rows if o == op]) for op in ("logon", "query")}
        return rows


def mean_ms(rows):
    return sum(ms for _, ms, _ in rows) / len(rows)


@kind(
    "pgsql-logon-server",
    "a server that takes long before it asks who logs on for a password, as one that waits for a name",
    mild=dict(sessions=2),
    harsh=dict(sessions=8),
    healthy=dict(sessions=4, delay_s=0),
    draw=lambda d: dict(sessions=d.randint(1, 10), statements=d.randint(2, 40)),
)
def logon_server(case, sessions, delay_s=1, statements=20):
    rows = recorded(case, sessions=sessions, times=2, delay_s=delay_s, statements=statements)
    if mean_ms(rows) <= expect.FAST_ENOUGH_MS:
        return expect.healthy()
    return expect.Expectation(side=["server"], find=[[*CAUSES["server"], "server-stall"]], forbid=NETWORK, skip=["one_way"])


@kind(
    "pgsql-logon-client",
    "a client that takes long to answer what a server asks of it as it logs on",
    mild=dict(wait_ms=150),
    harsh=dict(wait_ms=800),
    healthy=dict(wait_ms=0),
    draw=lambda d: dict(wait_ms=d.log_uniform(100, 1500), statements=d.randint(2, 20)),
)
def logon_client(case, wait_ms, statements=20):
    rows = recorded(case, sessions=2, times=3, wait_ms=wait_ms, statements=statements)
    if mean_ms(rows) <= expect.FAST_ENOUGH_MS:
        return expect.healthy()
    cause = ["sender-application-limited"]
    return expect.Expectation(side=["client"], cause=cause, find=[cause], forbid=[*NETWORK, *CAUSES["server"]], skip=["one_way"])


@kind(
    "pgsql-copy-locked",
    "COPY into a table that another has locked: the server does not ask for the rows before it has it",
    mild=dict(held_ms=150),
    harsh=dict(held_ms=800),
    healthy=dict(held_ms=0),
    draw=lambda d: dict(held_ms=d.log_uniform(100, 1500)),
)
def copy_locked(case, held_ms, copies=6):
    with case.bench(noise_limits=BUSY) as b:
        database = PostgreSQL(b, setup="create table t (a int)")
        b.wire("both delay_us=200")
        address = f"host={b.server.address} user=postgres dbname=postgres sslmode=disable gssencmode=disable"
        copy = f"seq 1 200 | {BIN}/psql '{address}' -qc 'copy t from stdin'"
        over = threading.Event()

        def hold():
            while held_ms and not over.is_set():
                database.sql(f"begin; lock table t; select pg_sleep({held_ms / 1e3}); commit")
                time.sleep(0.02)

        holder = threading.Thread(target=hold)
        with b.capture():
            holder.start()
            time.sleep(0.2)
            b.run(b.client, "sh", "-c", "; ".join([copy] * copies))
            over.set()
            holder.join()
        b.truth["app"] = {}
    if not held_ms:
        return expect.Expectation(side=["none", "server", "client", "mixed", "undetermined"], forbid=NETWORK, skip=["one_way"])
    return expect.Expectation(side=["server"], find=[[*CAUSES["server"], "server-stall"]], forbid=NETWORK, skip=["one_way"])
