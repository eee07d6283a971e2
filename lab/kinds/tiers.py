"""A host that works for its clients with calls of its own: captured next to it, both are to be told apart."""

import contextlib
import os
import re
import signal
import subprocess
import sys

from kit import expect, truth
from kit.apps import mariadb, pgbouncer, postgresql
from kit.apps.ganesha import Ganesha
from kit.apps.pgbouncer import PgBouncer
from kit.apps.postgresql import PostgreSQL
from kit.bench import sh
from kit.build import SOURCES
from kit.kinds import kind

from kinds.pgsql import BUSY, judged

# The router's address at the server's side, where a name server is.
RESOLVER = "10.0.9.254"


@kind("tier-pooler", "a pooler on a host of its own, and what lies beneath it: the way to the database, or its statements",
      mild=dict(query_ms=8, far_ms=0.2), harsh=dict(query_ms=2, far_ms=20, sessions=3), healthy=dict(query_ms=0, far_ms=0.1),
      draw=lambda d: dict(query_ms=d.choice([0, d.log_uniform(4, 60)]), far_ms=d.log_uniform(0.1, 20), sessions=d.randint(1, 5)))
def pooler(case, query_ms, far_ms, near_ms=0.2, sessions=1):
    turn = [f"select pg_sleep({query_ms / 1e3}), {{i}}" if query_ms else "select {i}, 'known'", "think 15"]
    with case.bench(noise_limits=BUSY, routed=True) as b:
        database = PostgreSQL(b)
        between = PgBouncer(b, size=10, between=True)
        b.wire(f"both delay_us={near_ms * 1000:.0f}", at=0)
        b.wire(f"both delay_us={far_ms * 1000:.0f}", at=-1)
        work = [dict(work="script", steps=turn, secs=4, n=150)] * sessions
        # The pooler has a card on each side.
        with b.capture(middle=True, device="any"):
            rows = postgresql.load(b, work, port=pgbouncer.PORT, address=between.address)
        served = database.log()
    # To the application its server is the pooler; what lies beneath is captured at the database.
    for name, place in (("below", "server"), ("server", "middle")):
        os.rename(f"{case.folder}/{place}.pcap", f"{case.folder}/{name}.pcap")
    asked = [r for r in rows if r["op"] != "connect"]
    beneath_ns = sum(r[2] for r in served if r[3]) * 1e6 + 2e6 * far_ms * len(asked)
    expectation = judged(rows, served, 2 * near_ms, rest="server", turns=False)
    if beneath_ns / len(asked) >= 2e6:
        tier = {"tiers[0].below": {"in": [f"{b.server.address}:5432"]},
                "tiers[0].most_ns": {"between": [0.85 * beneath_ns, 1.2 * beneath_ns + 1e6 * len(asked)]}}
        if sessions == 1:
            tier["tiers[0].least_ns"] = tier["tiers[0].most_ns"]
        # The way to the database and its statements are told apart as far as one end can.
        far = "network" if 2 * far_ms > 3 * query_ms else "server" if query_ms > 6 * far_ms else None
        if far:
            # How many statements there are is not the pooler's choice: it is not chatty.
            tier["tiers[0].diagnosis.verdict.side"] = {"in": [far, "undetermined", "mixed"]}
        said = dict(side=["server"], find=["downstream-wait"], first=[r"downstream-wait"] if sessions == 1 else [], json=tier)
        expectation.runs = [expect.run("at the pooler", "diagnose", ["server.pcap"], **said),
                            expect.run("with its client", "diagnose", ["--client", "client.pcap", "--server", "server.pcap"], **said)]
    return expectation


# A statement that reads of a file over NFS, one block after the other, as a database does whose files lie there: libnfs in the
# session's own process. It notes when each read began and ended.
READ_FROM_STORAGE = """create extension plpython3u;
create function blocks(reads int, at int) returns int language plpython3u as $body$
import ctypes, os, time
if "fh" not in GD:
    lib = GD["lib"] = ctypes.CDLL("libnfs.so.13")
    lib.nfs_init_context.restype = ctypes.c_void_p
    nfs, file = ctypes.c_void_p(lib.nfs_init_context()), ctypes.c_void_p()
    lib.nfs_parse_url_dir(nfs, b"nfs://STORAGE/export?version=3&nfsport=2049&mountport=20048")
    if lib.nfs_mount(nfs, b"STORAGE", b"/export") or lib.nfs_open(nfs, b"/data.bin", os.O_RDONLY, ctypes.byref(file)):
        plpy.error("no storage")
    GD["nfs"], GD["fh"], GD["noted"] = nfs, file, open("NOTED", "a")
block = ctypes.create_string_buffer(8192)
for i in range(reads):
    began = time.time_ns()
    lib = GD["lib"]
    if lib.nfs_pread(GD["nfs"], GD["fh"], ctypes.c_uint64(8192 * ((97 * at + i) % 8000)), ctypes.c_uint64(8192), block) != 8192:
        plpy.error("not read")
    GD["noted"].write(f"{os.getpid()},{began},{time.time_ns()}\\n")
GD["noted"].flush()
return reads
$body$;
"""


@kind("tier-nfs", "a database whose statements read from storage over NFS: the storage is slow, or the way to it, or the database", field_case="K66",
      mild=dict(reads=5, storage_ms=8), harsh=dict(reads=20, far_ms=2, sessions=3), healthy=dict(reads=2, storage_ms=0),
      draw=lambda d: dict(reads=d.randint(1, 20), storage_ms=d.choice([0, d.log_uniform(1, 20)]), far_ms=d.log_uniform(0.05, 3),
                          work_ms=d.choice([0, 0, d.log_uniform(5, 60)]), sessions=d.choice([1, 1, 2, 4])))
def storage(case, reads, storage_ms=0, far_ms=0.1, work_ms=0, near_ms=0.2, sessions=1):
    turn = [f"select blocks({reads}, {{i}}){f', pg_sleep({work_ms / 1e3})' if work_ms else ''}", "think 15"]
    with case.bench(noise_limits=BUSY, routed=True) as b:
        below = Ganesha(b, read_us=1000 * storage_ms)
        noted = f"{b.scratch}/reads.csv"
        database = PostgreSQL(b, between=True, setup=READ_FROM_STORAGE.replace("STORAGE", b.server.address).replace("NOTED", noted))
        b.wire(f"both delay_us={near_ms * 1000:.0f}", at=0)
        b.wire(f"both delay_us={far_ms * 1000:.0f}", at=-1)
        work = [dict(work="script", steps=turn, secs=4, n=100)] * sessions
        with b.capture(middle=True, device="any"):
            rows = postgresql.load(b, work, address=database.address)
        served, taken = database.log(), [(end - began) / 1e6 for op, _, _, began, end, *_ in below.log() if op == "READ"]
        with open(noted) as file:
            read = [tuple(map(int, line.split(","))) for line in file]
        truth.write(f"{case.folder}/reads.csv.gz", ["process", "t_start_ns", "t_end_ns"], read)
    # To the application its server is the database; what lies beneath is captured at the storage.
    for name, place in (("below", "server"), ("server", "middle")):
        os.rename(f"{case.folder}/{place}.pcap", f"{case.folder}/{name}.pcap")
    beneath_ns = sum(end - began for _, began, end in read)
    b.truth["reads"] = {"n": len(read), "ms": truth.summary([(end - began) / 1e6 for _, began, end in read])}
    expectation = judged(rows, served, 2 * near_ms, rest="server", turns=False)
    asked = [r for r in rows if r["op"] != "connect"]
    if "server" in expectation.side and beneath_ns > 0.6 * sum(r[2] for r in served) * 1e6:
        tier = {"tiers[0].below": {"in": [f"{b.server.address}:2049"]},
                "tiers[0].most_ns": {"between": [0.85 * beneath_ns, 1.1 * beneath_ns + 1e6 * len(asked)]}}
        if sessions == 1:
            tier["tiers[0].least_ns"] = tier["tiers[0].most_ns"]
            # Exact where one statement is worked on: what it costs is what the reads took.
            tier["findings[0].code"], tier["findings[0].cost_ns"] = {"in": ["downstream-wait"]}, tier["tiers[0].most_ns"]
        far = "network" if 2 * far_ms > 3 * storage_ms else "server" if storage_ms > 6 * far_ms else None
        if far:
            tier["tiers[0].diagnosis.verdict.side"] = {"in": [far, "undetermined", "mixed", *(["client"] if far == "network" else [])]}
        said = dict(side=["server"], find=["downstream-wait"], first=[r"downstream-wait"], json=tier)
        # With the storage's own capture it is known how much of a read is its own.
        both = {**tier, "tiers[0].diagnosis.budget.server_ns": {"between": [0.9e6 * sum(taken) / len(taken), 1e6 * (beneath_ns / 1e6 / len(read) - 2 * far_ms) + 3e5]}}
        expectation.runs = [expect.run("at the database", "diagnose", ["server.pcap"], **said),
                            expect.run("with its client", "diagnose", ["--client", "client.pcap", "--server", "server.pcap"], **said),
                            expect.run("with its storage as well", "diagnose", ["client.pcap", "server.pcap", "below.pcap"], **{**said, "json": both})]
    return expectation


@kind("mysql-names", "a database that asks for the name of each client that connects, of a name server that takes long or never answers", field_case="K39",
      mild=dict(answers_ms=40), harsh=dict(answers_ms=-1), healthy=dict(answers_ms=0.2),
      draw=lambda d: dict(answers_ms=d.choice([-1, d.log_uniform(10, 400)]), sessions=d.randint(1, 4)))
def names(case, answers_ms, sessions=2, rtt_ms=0.4):
    with case.bench(routed=True) as b:
        log = f"{b.scratch}/names.csv"
        server = b.start(b.middle.command(sys.executable, f"{SOURCES}/names.py", RESOLVER, answers_ms, log), stdout=subprocess.PIPE)
        server.stdout.readline()
        with _resolves_by(b, RESOLVER):
            database = mariadb.MariaDB(b, settings=["--skip-name-resolve=0", "--host-cache-size=0"])
            b.wire(f"both delay_us={rtt_ms * 500:.0f}", at=0)
            work = [dict(connects="select 1", n=60, secs=9, think_ms=20)] * sessions
            with b.capture():
                rows = mariadb.load(b, work)
        asked = [int(r["took_ns"]) for r in truth.rows(log)]
        b.truth["names"] = {"asked": len(asked), "answered": sum(t >= 0 for t in asked), "took_ms": truth.summary([t / 1e6 for t in asked if t >= 0])}
    return looked_up(rows, asked, rtt_ms, at_once=sessions)


def looked_up(rows, asked, rtt_ms, at_once):
    """Expectation of connections that wait for the name of who connects: each is a connect, a logon and a statement."""
    took = [(r["t_done_ns"] - r["t_issue_ns"]) / 1e6 for r in rows]
    connects = [t for r, t in zip(rows, took) if r["op"] == "CONNECT"]
    calls = 3 * len(connects)
    network = rtt_ms * calls / 1e3
    seconds = {"client": 0.0, "network": network, "server": sum(took) / 1e3 - network}
    causes = {"server": ["server-slow", "server-stall", "slow-connect"], "network": ["network-delay", "slow-connect"]}
    expected = expect.of_calls(seconds, sum(took) / calls, truth.percentile(connects, 99), causes, forbid=["network-loss", "server-concurrency-cap"])
    # Each session waits for each answer: that never more than so many are outstanding is true, and no fault.
    expected.forbid = [c for c in expected.forbid if c != "client-concurrency-cap"]
    # Few connections prove little of what their lookups have to do with them.
    if expected.side == ["server"] and len(connects) >= 8 * at_once:
        silent = sum(t < 0 for t in asked)
        tier = {"tiers[0].below": {"in": [f"{RESOLVER}:53"]}, "tiers[0].own_calls": {"between": [0.7 * len(asked), len(asked)]},
                "tiers[0].names_unanswered": {"between": [0.7 * silent, silent]}}
        said = dict(side=["server"], find=["downstream-wait"], first=[rf"names at {re.escape(RESOLVER)}:53"], json=tier)
        expected.runs = [expect.run("at the server", "diagnose", ["server.pcap"], **said),
                         expect.run("at both ends", "diagnose", ["--client", "client.pcap", "--server", "server.pcap"], **said)]
    return expected


@kind("pgsql-sync-standby", "a database whose commits wait for a standby far away, or do not", field_case="K40",
      mild=dict(far_ms=5), harsh=dict(far_ms=40, sessions=4), healthy=dict(far_ms=40, waits=False),
      draw=lambda d: dict(far_ms=d.log_uniform(0.1, 60), sessions=d.randint(1, 6), waits=d.random() < 0.8, query_ms=d.choice([0, 0, 5])))
def sync_standby(case, far_ms, sessions=2, near_ms=0.2, waits=True, query_ms=0):
    turn = [*([f"select pg_sleep({query_ms / 1e3}), {{i}}"] if query_ms else []), "insert into events values ({i})", "think 15"]
    with case.bench(noise_limits=BUSY, clients=2) as b:
        database = PostgreSQL(b, setup="set synchronous_commit = local; create table events (n int)",
                              settings={"synchronous_standby_names": "pg_receivewal" if waits else ""})
        b.wire(f"both delay_us={near_ms * 1000:.0f}", at=0)
        b.wire(f"both delay_us={far_ms * 1000:.0f}", at=1)
        standby = b.clients[1]
        command = [f"{postgresql.BIN}/pg_receivewal", "-h", b.server.address, "-U", "postgres", "-D", b.scratch, "--no-loop", "--synchronous", "-s", "1"]
        with b.capture():
            stream = b.start(standby.command(*b.preload, *command), stderr=subprocess.DEVNULL)
            rows = postgresql.load(b, [dict(work="script", steps=turn, secs=4, n=150)] * sessions)
            stream.send_signal(signal.SIGINT)
        served = database.log()
    expectation = judged(rows, served, 2 * near_ms, rest="server", turns=False)
    # As long as the way there and back, of which the log's first part may have gone before.
    beneath_ns = 2e6 * far_ms * sum(r["op"] == "insert" for r in rows) if waits else 0
    of_service = sum(r[2] for r in served) * 1e6
    if beneath_ns > 0.6 * of_service and "server" in expectation.side:
        tier = {"tiers[0].asks_for": {"in": ["copies"]}, "tiers[0].least_ns": {"between": [0.6 * beneath_ns, of_service]}}
        said = dict(side=expectation.side, find=["downstream-wait"], first=[rf"standby {re.escape(standby.address)}"], json=tier)
        expectation.runs = [expect.run("at the server", "diagnose", ["server.pcap"], **said),
                            expect.run("at both ends", "diagnose", ["--client", "client.pcap", "--server", "server.pcap"], **said)]
    if not waits:
        expectation.forbid = [*expectation.forbid, "downstream-wait"]
        # The standby's own session begins with some eight calls, each of which crosses its way: to the server they are calls.
        if 8 * 2 * far_ms > 0.5 * len(rows):
            expectation.alone = [*expectation.alone, "network", "mixed"]
    return expectation


@contextlib.contextmanager
def _resolves_by(bench, address):
    """Whoever asks for a name in this lab asks there, once, and waits for a second at most."""
    told = f"{bench.scratch}/resolv.conf"
    with open(told, "w") as file:
        file.write(f"nameserver {address}\noptions timeout:1 attempts:1\n")
    sh(["mount", "--bind", told, "/etc/resolv.conf"])
    try:
        yield
    finally:
        sh(["umount", "/etc/resolv.conf"])
