"""Statements beside what else a host says and asks: pages and their pictures, another server, windows that a line fills."""

import subprocess
import sys
import threading

from kinds.pgsql import BUSY, CAUSES
from kit import expect
from kit.apps import nfsload, postgresql
from kit.apps.ganesha import Ganesha
from kit.apps.postgresql import PostgreSQL
from kit.build import SOURCES
from kit.kinds import kind

SLOW = [*CAUSES["server"], "server-stall"]
NETWORK = ["network-delay", "network-loss", "network-bandwidth", "network-outage", "network-reordering"]
WEB = 9000


def statements(query_ms, sessions, think_ms=20):
    query = f"select pg_sleep({query_ms / 1e3}), {{i}}" if query_ms else "select {i}, 'known'"
    return [dict(work="script", steps=[query, f"think {think_ms}"], n=400, secs=4)] * sessions


def together(*jobs):
    """Runs them at a time; the first that fails is told."""
    failed = []

    def run(job):
        try:
            job()
        except Exception as e:  # noqa: BLE001
            failed.append(e)

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def beside(case, sessions, other):
    """Statements' operations; `other` gets what runs beside them ready, and gives what to run."""
    with case.bench(noise_limits=BUSY) as b:
        PostgreSQL(b)
        run = other(b)
        b.wire("both delay_us=150")
        told = []
        with b.capture():
            together(lambda: told.extend(postgresql.load(b, sessions)), run)
        return told


def web(readers):
    def ready(b):
        pages = [sys.executable, f"{SOURCES}/pages.py"]
        server = b.start(b.server.command(*b.preload, *pages, "serve", b.server.address, WEB, 1000), stderr=subprocess.DEVNULL)
        b.until(lambda: b.server.listens(WEB), server, "the web server")
        return lambda: b.run(b.client, *pages, "read", b.server.address, WEB, readers, 4, 4)

    return ready


def files(rate):
    def ready(b):
        Ganesha(b)
        return lambda: nfsload.load(b, rate=rate, secs=4, ops=300, jobs=4, name="files")

    return ready


def judged(rows, **more):
    took_ms = [(r["t_done_ns"] - r["t_issue_ns"]) / 1e6 for r in rows if r["op"] == "select"]
    if sum(took_ms) / len(took_ms) <= expect.FAST_ENOUGH_MS:
        return expect.healthy()
    return expect.Expectation(side=["server"], find=[SLOW], first=["per call it holds"], forbid=NETWORK, skip=["one_way"], **more)


@kind(
    "pgsql-beside-web",
    "statements that take long on a host that serves thousands of pages meanwhile",
    mild=dict(query_ms=30),
    harsh=dict(query_ms=200),
    healthy=dict(query_ms=0),
    draw=lambda d: dict(query_ms=d.log_uniform(15, 300), readers=d.randint(2, 8)),
)
def beside_web(case, query_ms, readers=6):
    return judged(beside(case, statements(query_ms, 1), web(readers)))


@kind(
    "pgsql-beside-nfs",
    "statements that take long beside files of an NFS server that is fast",
    mild=dict(query_ms=15),
    harsh=dict(query_ms=80),
    healthy=dict(query_ms=0),
    draw=lambda d: dict(query_ms=d.log_uniform(10, 150), rate=d.randint(20, 100)),
)
def beside_nfs(case, query_ms, rate=60):
    where = [expect.on(SLOW, share=[0.85, 1.01], server=":5432$")] if query_ms else []
    return judged(beside(case, statements(query_ms, 3, 5), files(rate)), where=where)


@kind(
    "pgsql-window-before-line",
    "large answers over a line that is full, to clients whose receive buffers are small: not their window, the line",
    mild=dict(mbit=60),
    harsh=dict(mbit=10),
    healthy=dict(mbit=0),
    draw=lambda d: dict(mbit=d.log_uniform(8, 80), buffer_kb=d.choice([24, 40, 64])),
)
def window_before_line(case, mbit, buffer_kb=40):
    rows = 6000 if mbit else 200
    turn = [f"select repeat('a', 100) from generate_series(1, {rows})", "think 30"]
    buffers = f"net.ipv4.tcp_rmem='4096 {buffer_kb * 1024} {buffer_kb * 1024}'"
    with case.bench(noise_limits=BUSY, sysctl={"client": [buffers]}) as b:
        PostgreSQL(b)
        b.wire("both delay_us=200")
        if mbit:
            b.wire(f"both rate_mbit={mbit:.0f} queue_kb=400")
        with b.capture():
            postgresql.load(b, [dict(work="script", steps=turn, n=100, secs=4)])
    if not mbit:
        return expect.healthy()
    windows = ["small-window", "window-scaling-off", "receive-window-limited"]
    return expect.Expectation(side=["network"], find=[["network-bandwidth", "network-delay"]], forbid=[*CAUSES["server"], *windows], skip=["one_way"])
