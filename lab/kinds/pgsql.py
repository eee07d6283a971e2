"""PostgreSQL over one wire: paths, slow statements, pools, connections, TLS, waits for events, and healthy traffic."""

import signal
import subprocess

from kit import expect, noise, truth
from kit.apps import pgbouncer, postgresql
from kit.apps.pgbouncer import PgBouncer
from kit.apps.postgresql import BIN, PostgreSQL
from kit.kinds import kind

# Turns across a path are the path's, or its who takes so many: both may be named.
CAUSES = {
    "network": ["network-delay", "chatty", "small-fetch"],
    "server": ["server-slow", "server-concurrency-cap"],
    "client": ["chatty", "small-fetch"],
}
# A process for each session keeps the processors busy, and the effects are of milliseconds.
BUSY = noise.Limits(p99_ms=3.0)
NEVER = ["network-loss", "network-bandwidth", "capture-incomplete", "duplicate-packets", "connection-reset"]


def recorded(case, sessions, *, wire=(), server=None, bench=None, options="sslmode=disable"):
    """Sessions over one wire; returns (their operations, the server's own log of statements)."""
    with case.bench(**{"noise_limits": BUSY, **(bench or {})}) as b:
        database = PostgreSQL(b, **(server or {}))
        for line in wire:
            b.wire(line)
        with b.capture():
            rows = postgresql.load(b, sessions, options=options)
        return rows, database.log()


def judged(rows, served, path_ms, *, rest, turns=True, **more):
    """Expectation of calls whose remainder (neither path nor statements) is `rest`'s. `turns`: who takes them one after
    another, each of little, may be named for the path that they cross."""
    seconds = postgresql.shares(rows, served, path_ms)
    seconds[rest] += seconds.pop("rest")
    expectation = turned(seconds, *postgresql.response_ms(rows), turns, **more)
    took_ms = [(r["t_done_ns"] - r["t_issue_ns"]) / 1e6 for r in rows]
    if expectation.side == ["none"] and sum(ms > expect.TAIL_MS for ms in took_ms) > 0.004 * len(rows):
        # Of a part of the time one call in a hundred may be beyond the tail.
        expectation.side, expectation.cause = ["none", rest, "mixed"], None
        expectation.forbid = [code for code in expectation.forbid if code not in CAUSES[rest]]
    return expectation


def of_calls(seconds, mean_ms, p99_ms, causes, **more):
    """As `expect.of_calls`; but near what is fast enough the clocks of applications and those of packets may differ in
    whether it is: then nobody need be accused."""
    near = 0.7 * expect.FAST_ENOUGH_MS <= mean_ms < 1.5 * expect.FAST_ENOUGH_MS and p99_ms < expect.TAIL_MS
    expectation = expect.of_calls(seconds, max(mean_ms, expect.FAST_ENOUGH_MS) if near else mean_ms, p99_ms, causes, **more)
    if near:
        expectation.side, expectation.cause = [*expectation.side, "none"], [*(expectation.cause or []), None]
    return expectation


def turned(seconds, mean_ms, p99_ms, turns=True, **more):
    expectation = of_calls(seconds, mean_ms, p99_ms, CAUSES, forbid=NEVER, **more)
    if turns and "network" in expectation.side:
        expectation.side += [s for s in ("client", "mixed") if s not in expectation.side]
        further = sorted({c for s in ("network", "client", *expectation.side) for c in CAUSES.get(s, [])})
        expectation.cause = [*further, *(c for c in expectation.cause or [] if c not in further)]
    return expectation


def benched(case, delay_ms, *, statements, tables=True, **options):
    """pgbench over a path; returns (seconds by side, mean and 99th percentile of a statement in ms)."""
    with case.bench(noise_limits=BUSY) as b:
        database = PostgreSQL(b, tables=tables)
        b.wire(f"both delay_us={delay_ms * 1000:.0f}")
        with b.capture():
            took = postgresql.pgbench(b, **options)
        served = database.log()
    whole = sum(took) / 1e3
    server = min(whole, sum(r[2] for r in served) / 1e3)
    mean = sum(took) / len(took) / statements
    return {"network": whole - server, "server": server}, mean, 2 * delay_ms + truth.percentile([r[2] for r in served], 99)


@kind("pgsql-delay", "transactions of five statements, each of which crosses a path that takes long",
      mild=dict(delay_ms=1.5), harsh=dict(delay_ms=25), healthy=dict(delay_ms=0.1, rate=120),
      draw=lambda d: dict(delay_ms=d.log_uniform(1.3, 40), clients=d.randint(1, 8), mode=d.choice(["simple", "extended", "prepared"])))
def delay(case, delay_ms, clients=4, mode="simple", rate=None):
    n = 120 if rate else max(4, round(min(4 / (10.5 * delay_ms / 1e3), 400 / clients)))
    seconds, *response = benched(case, delay_ms, statements=5, clients=clients, transactions=n, mode=mode,
                                 options=["-N", *(["-R", str(rate)] if rate else [])])
    return turned(seconds, *response)


@kind(
    "pgsql-path-stutters",
    "a path that keeps everything for moments, again and again, and loses nothing",
    field_case="K49",
    mild=dict(kept_ms=80),
    harsh=dict(kept_ms=120),
    healthy=dict(kept_ms=0),
    draw=lambda d: dict(
        kept_ms=d.log_uniform(25, 160), every_ms=d.randint(300, 900), direction=d.choice(["both", "both", "s2c"]), delay_ms=d.log_uniform(0.1, 1)
    ),
)
def path_stutters(case, kept_ms, every_ms=300, direction="both", delay_ms=0.05, sessions=3):
    turn = ["select {i}, 'known'", "think 5"]
    moments = [(0.6 + i * every_ms / 1e3, f"keep {direction} {kept_ms:.0f}") for i in range(round(4000 / every_ms))] if kept_ms else []
    with case.bench(noise_limits=BUSY) as b:
        database = PostgreSQL(b)
        b.wire(f"both delay_us={delay_ms * 1000:.0f}")
        with b.capture():
            b.later(*moments)
            rows = postgresql.load(b, [dict(work="script", steps=turn, n=2000, secs=4.6)] * sessions)
        served = database.log()
    # What neither the path as a rule nor the statements took was kept on the way.
    expectation = judged(rows, served, 2 * delay_ms, rest="network", turns=False)
    if expectation.side == ["network"]:
        wrong = ["server-slow", "server-stall", "client-host-slow", "network-loss"]
        # Requests leave no trace at the client of when they came, but for answers that were kept as well.
        expectation.alone = ["network"]
        expectation.forbid = [*expectation.forbid, *wrong]
        both = ["--client", "client.pcap", "--server", "server.pcap"]
        expectation.runs = [
            expect.run("at both ends", "diagnose", both, side=["network"], cause=["network-delay"], forbid=wrong),
            expect.run("at the client", "diagnose", ["--client", "client.pcap"], side=["network", "undetermined"], forbid=wrong),
            expect.run("at the server", "diagnose", ["--server", "server.pcap"], side=["network", "none", "undetermined"], forbid=wrong),
        ]
    return expectation


@kind("pgsql-lock-trips", "a row's lock is held while its holder's next statements cross the path",
      mild=dict(delay_ms=2, clients=6), harsh=dict(delay_ms=5, clients=12), healthy=dict(delay_ms=0.1, clients=4, rate=40),
      draw=lambda d: dict(delay_ms=d.log_uniform(2, 12), clients=d.randint(4, 16)))
def lock_trips(case, delay_ms, clients, rate=None):
    # Each holds the one branch's row for two round trips and a half. Who waits for it waits for those, but does so at the
    # server, whose own log has that time: of what the packets show it is the server's, as of whoever works for a holder.
    n = 40 if rate else max(3, round(4.5 / (4.2 * delay_ms / 1e3) / clients))
    seconds, *response = benched(case, delay_ms, statements=7, clients=clients, transactions=n, options=["-R", str(rate)] if rate else [])
    return turned(seconds, *response)


@kind("pgsql-slow-query", "statements that take the server long",
      mild=dict(query_ms=4), harsh=dict(query_ms=250), healthy=dict(query_ms=0),
      draw=lambda d: dict(query_ms=d.log_uniform(3, 500), delay_ms=d.log_uniform(0.1, 1), sessions=d.randint(1, 6)))
def slow_query(case, query_ms, delay_ms=0.2, sessions=4):
    turn = [f"select pg_sleep({query_ms / 1e3}), {{i}}" if query_ms else "select {i}, 'known'", "think 10"]
    rows, served = recorded(case, [dict(work="script", steps=turn, secs=4.5, n=150)] * sessions, wire=[f"both delay_us={delay_ms * 1000:.0f}"])
    return judged(rows, served, 2 * delay_ms, rest="server", turns=False)


@kind("pgsql-pool", "a pooler with fewer connections to the database than clients that ask",
      mild=dict(size=4, sessions=10, query_ms=6), harsh=dict(size=2, sessions=24, query_ms=12), healthy=dict(size=20, sessions=10, query_ms=0),
      draw=lambda d: (lambda size: dict(size=size, sessions=size * d.randint(2, 8), query_ms=d.log_uniform(3, 40)))(d.randint(1, 6)))
def pool(case, size, sessions, query_ms):
    turn = [f"select pg_sleep({query_ms / 1e3}), {{i}}" if query_ms else "select {i}, 'known'", *(["pace 40"] if not query_ms else [])]
    # They come one by one, so that the first find the pool empty.
    work = [dict(work="script", steps=turn, secs=4.5 - 2 * i / sessions, n=200, after_s=2 * i / sessions) for i in range(sessions)]
    with case.bench(noise_limits=BUSY) as b:
        database = PostgreSQL(b, local=True)
        pooler = PgBouncer(b, size=size)
        b.wire("both delay_us=200")
        with b.capture():
            rows = postgresql.load(b, work, port=pgbouncer.PORT)
        pooler.end()
        served = database.log()
    expectation = judged(rows, served, 0.4, rest="server", turns=False)
    if expectation.side != ["none"] and sessions >= 3 * size:
        expectation.find, expectation.facts = ["server-concurrency-cap"], {"server-concurrency-cap": {"cap": [size, size]}}
    return expectation


@kind("pgsql-connection-each", "a connection for each query",
      mild=dict(delay_ms=3), harsh=dict(delay_ms=20), healthy=dict(delay_ms=0.1, think_ms=25, queries=10),
      draw=lambda d: dict(delay_ms=d.log_uniform(3, 40), sessions=d.randint(1, 4)))
def connection_each(case, delay_ms, sessions=2, think_ms=2, queries=1):
    n = max(8, round(min(100, 4.5e3 / (6 * delay_ms + 5 + think_ms))))
    work = [dict(work="connects", sql="select 1", n=n, queries=queries, think_ms=think_ms)] * sessions
    rows, served = recorded(case, work, wire=[f"both delay_us={delay_ms * 1000:.0f}"])
    # Three round trips: TCP's, the logon's, the query's. What else a connect takes is the server's process that starts.
    whole = sum(postgresql.ms(r) for r in rows) / 1e3
    trips = sum(2 if r["op"] == "connect" else 1 for r in rows)
    network = min(whole, trips * 2 * delay_ms / 1e3)
    calls = [postgresql.ms(r) - (2 * delay_ms if r["op"] == "connect" else 0) for r in rows]
    expectation = turned({"client": 0.0, "network": network, "server": whole - network}, sum(calls) / len(calls), truth.percentile(calls, 99))
    if expectation.cause and expectation.side != ["none"]:
        expectation.cause = [*expectation.cause, "slow-connect"]
    return expectation


@kind("pgsql-tls", "statements that nobody can read, and connections that end with or without ceremony",
      mild=dict(query_ms=6, end="clean"), harsh=dict(query_ms=120, end="killed"), healthy=dict(query_ms=0, end="reset"),
      draw=lambda d: dict(query_ms=d.choice([0, d.log_uniform(4, 200)]), end=d.choice(["clean", "killed", "reset"]),
                          delay_ms=d.choice([0.2, d.log_uniform(2, 20)])))
def tls(case, query_ms, end, delay_ms=0.2):
    turn = [f"select pg_sleep({query_ms / 1e3}), {{i}}" if query_ms else "select {i}, 'known'", "think 12"]
    rows, served = recorded(case, [dict(work="script", steps=turn, secs=4, n=150, end=end)] * 4, wire=[f"both delay_us={delay_ms * 1000:.0f}"],
                            server=dict(tls=True), options="sslmode=require")
    # All ends come when nothing is under way: nobody loses anything.
    return judged(rows, served, 2 * delay_ms, rest="server")


@kind("pgsql-cut-off", "clients that go away by a reset in the middle of a request, over TLS or not",
      mild=dict(cut=1), harsh=dict(cut=4, encrypted=True), healthy=dict(cut=0),
      draw=lambda d: dict(cut=d.randint(1, 4), encrypted=d.choice([False, True]), delay_ms=d.log_uniform(0.1, 5)))
def cut_off(case, cut, encrypted=False, delay_ms=0.2):
    ends = ["reset in request" if i < cut else "clean" for i in range(4)]
    work = [dict(work="script", steps=["select {i}, 'known'", "think 12"], secs=4, n=250, end=end) for end in ends]
    rows, served = recorded(case, work, wire=[f"both delay_us={delay_ms * 1000:.0f}"], server=dict(tls=encrypted),
                            options=f"sslmode={'require' if encrypted else 'disable'}")
    before = judged(rows, served, 2 * delay_ms, rest="server")
    if not cut:
        return before
    # Who resets its own connection goes away of its own accord, and why is in no packet: what came before is judged.
    return expect.Expectation(side=["client", *before.side], forbid=["network-loss", "capture-incomplete"],
                              without={"window": before.side, "cut out": before.side})


@kind("pgsql-waits-for-events", "listeners and a replica that wait for what seldom comes: nobody keeps them waiting",
      mild=dict(every_ms=150), harsh=dict(every_ms=1500), healthy=None,
      draw=lambda d: dict(every_ms=d.log_uniform(50, 3000), listeners=d.randint(1, 6), replica=d.choice([True, False]),
                          delay_ms=d.log_uniform(0.1, 0.5)))
def waits_for_events(case, every_ms, listeners=3, replica=True, delay_ms=0.2):
    work = [dict(work="listens", channel="news", secs=4.8)] * listeners
    events = [f"think {every_ms}", "notify news, '{i}'", "insert into events values ({i})"]
    work.append(dict(work="script", steps=events, secs=4.5 - every_ms / 1e3, after_s=0.2))
    work.append(dict(work="script", steps=["select {i}, 'known'", "pace 40"], secs=4.5))
    with case.bench() as b:
        database = PostgreSQL(b, setup="create table events (n int)")
        b.wire(f"both delay_us={delay_ms * 1000:.0f}")
        with b.capture():
            if replica:
                command = [f"{BIN}/pg_receivewal", "-h", b.server.address, "-U", "postgres", "-D", b.scratch, "--no-loop", "-s", "1"]
                stream = b.start(b.client.command(*b.preload, *command), stderr=subprocess.DEVNULL)
            rows = postgresql.load(b, work)
            if replica:
                stream.send_signal(signal.SIGINT)
        database.log()
    assert rows and any(r["op"] == "notice" for r in rows)
    return expect.healthy()


@kind("pgsql-busy", "healthy traffic of many sessions, statements as text or prepared",
      mild=dict(rate=150), harsh=dict(rate=500, mode="prepared", clients=8), healthy=None,
      draw=lambda d: dict(rate=d.log_uniform(50, 600), mode=d.choice(["simple", "extended", "prepared"]), clients=d.randint(2, 10),
                          delay_ms=d.log_uniform(0.03, 0.4)))
def busy(case, rate, mode="simple", clients=4, delay_ms=0.1):
    seconds, *response = benched(case, delay_ms, statements=1, mode=mode, clients=clients, transactions=max(10, round(4.5 * rate / clients)),
                                 options=["-S", "-R", str(rate)])
    return turned(seconds, *response)
