"""How sessions with databases end before their clients are done: by an idle limit, by a kill, by a firewall that forgets them."""

import threading
import time

from kinds import mysql, pgsql
from kit import expect
from kit.apps import mariadb, postgresql
from kit.kinds import kind

# What the middle of a capture, or what is left without it, may hold nothing of.
ELSEWHERE = ("window", "cut out", "no beginning")


def ended(side, code, first, elsewhere=()):
    return expect.Expectation(
        side=[side],
        cause=[code],
        find=[code],
        forbid=["network-loss", "network-outage", "silent-peer", "capture-incomplete"],
        without={k: ["none", side, "undetermined", *elsewhere] for k in ELSEWHERE},
        runs=expect.from_each_end(side=[side], cause=[code], first=[first]),
    )


@kind(
    "pgsql-idle-limit",
    "a pool keeps connections for longer than the server does (idle_session_timeout), and asks on those that it has ended",
    field_case="K43",
    mild=dict(pooled=1),
    harsh=dict(pooled=4),
    healthy=dict(pooled=3, limit_s=20),
    draw=lambda d: dict(pooled=d.randint(1, 6), idle_s=d.uniform(2.3, 4), rtt_ms=d.log_uniform(0.1, 10)),
)
def idle_limit(case, pooled, limit_s=2, idle_s=3.2, rtt_ms=0.6):
    pool = dict(work="script", steps=["select {r}", f"think {idle_s * 1000:.0f}", "fails select 1"], n=1)
    busy = dict(work="script", steps=["select {r}", "think 20"], secs=idle_s + 1)
    server = dict(settings={"idle_session_timeout": f"{limit_s}s"})
    pgsql.recorded(case, [busy] + [pool] * pooled, wire=mysql.delays(rtt_ms), server=server)
    if limit_s > idle_s:
        return expect.healthy()
    # What else there is waits for the path alone.
    elsewhere = ["network", "mixed"] if rtt_ms > 0.8 * expect.FAST_ENOUGH_MS else []
    return ended("client", "stale-connection", r"(?i)clients send requests on connections that the server had ended", elsewhere)


@kind(
    "mysql-killed",
    "the server ends sessions in the middle of their statements, as an operator or a watchdog kills them",
    field_case="K44",
    mild=dict(after_s=2.5),
    harsh=dict(after_s=1),
    healthy=dict(after_s=0),
    draw=lambda d: dict(after_s=d.uniform(0.8, 3), sessions=d.randint(2, 6), rtt_ms=d.log_uniform(0.1, 10)),
)
def killed(case, after_s, sessions=3, rtt_ms=0.6):
    def kill(server):
        time.sleep(after_s)
        them = server.sql("select id from information_schema.processlist where user = 'app'").split()
        server.sql("".join(f"kill {n};" for n in them))

    session = dict(steps=["select v, sleep(0.4) from t where id = {r}", "think 5"], n=10, secs=5)
    with case.bench() as b:
        server = mariadb.MariaDB(b, setup=mysql.TABLE)
        for line in mysql.delays(rtt_ms):
            b.wire(line)
        with b.capture():
            if after_s:
                threading.Thread(target=kill, args=(server,), daemon=True).start()
            rows = mariadb.load(b, [session] * sessions)
        server.log()
    if not after_s:
        # Each statement sleeps for 0.4 s: that is the server's time.
        return expect.Expectation(side=["server"], cause=["server-slow", "server-stall"], forbid=["connection-closed", "stale-connection"])
    if not any(r["error"] for r in rows):
        raise RuntimeError("the kill came too late")
    return ended("server", "connection-closed", r"(?i)ends connections before it answers")


@kind(
    "pgsql-forgotten",
    "a firewall forgets connections that are quiet for longer than it allows, and drops what comes on them without a word",
    field_case="K53",
    mild=dict(pooled=1),
    harsh=dict(pooled=4),
    healthy=dict(pooled=3, limit_s=20),
    draw=lambda d: dict(pooled=d.randint(1, 6), idle_s=d.uniform(2.8, 3.6), rtt_ms=d.log_uniform(0.1, 10)),
)
def forgotten(case, pooled, limit_s=2, idle_s=3.2, rtt_ms=0.6):
    # Who pools gives up after 3 s and connects again, as drivers with a limit do.
    pool = dict(work="script", steps=["select {r}", f"think {idle_s * 1000:.0f}", "fails select 1", "connect", "select {r}"], n=1)
    busy = dict(work="script", steps=["select {r}", "think 20"], secs=idle_s + 4.5)
    with case.bench(routed=True) as b:
        database = postgresql.PostgreSQL(b)
        b.wire(f"both delay_us={rtt_ms * 500:.0f}")
        b.forget(limit_s)
        with b.capture():
            rows = postgresql.load(b, [busy] + [pool] * pooled, options="sslmode=disable tcp_user_timeout=3000")
        database.log()
    if limit_s > idle_s:
        return expect.healthy()
    connects = [r["t_issue_ns"] for r in rows if r["op"] == "connect"]
    if max(connects) - min(connects) < (idle_s + 2) * 1e9:
        raise RuntimeError("nothing was forgotten")
    one = dict(cause=["silent-peer"], first=[r"(?i)nothing comes back .* on connections that were quiet for \d"])
    either = ["network", "undetermined"]
    return expect.Expectation(
        side=["network"],
        cause=["silent-peer"],
        find=["silent-peer"],
        forbid=["network-loss", "network-outage", "stale-connection", "capture-incomplete"],
        alone=either,
        without={k: ["none", *either] for k in ELSEWHERE},
        runs=[
            expect.run("at both ends", "diagnose", ["--client", "client.pcap", "--server", "server.pcap"], side=["network"], **one),
            expect.run("at the client", "diagnose", ["--client", "client.pcap"], side=either, **one),
            expect.run("at the server", "diagnose", ["--server", "server.pcap"], side=["none"]),
        ],
    )
