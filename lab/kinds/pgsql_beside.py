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
    with case.bench(noise_limits=BUSY) as b:
        PostgreSQL(b)
        serve = [sys.executable, f"{SOURCES}/pages.py", "serve", b.server.address, WEB, 1000]
        web = b.start(b.server.command(*b.preload, *serve), stderr=subprocess.DEVNULL)
        b.until(lambda: b.server.listens(WEB), web, "the web server")
        b.wire("both delay_us=150")
        told = []
        with b.capture():
            together(
                lambda: told.extend(postgresql.load(b, statements(query_ms, 1))),
                lambda: b.run(b.client, sys.executable, f"{SOURCES}/pages.py", "read", b.server.address, WEB, readers, 4, 4),
            )
    return judged(told)


@kind(
    "pgsql-beside-nfs",
    "statements that take long beside files of an NFS server that is fast",
    mild=dict(query_ms=15),
    harsh=dict(query_ms=80),
    healthy=dict(query_ms=0),
    draw=lambda d: dict(query_ms=d.log_uniform(10, 150), rate=d.randint(20, 100)),
)
def beside_nfs(case, query_ms, rate=60):
    with case.bench(noise_limits=BUSY) as b:
        PostgreSQL(b)
        Ganesha(b)
        b.wire("both delay_us=150")
        told = []
        with b.capture():
            together(
                lambda: told.extend(postgresql.load(b, statements(query_ms, 3, 5))),
                lambda: nfsload.load(b, rate=rate, secs=4, ops=300, jobs=4, name="files"),
            )
    where = [expect.on(SLOW, share=[0.85, 1.01], server=":5432$")] if query_ms else []
    return judged(told, where=where)


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
