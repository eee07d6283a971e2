"""What sessions of a database wait for that no row is: locks that clients name, a lock on all tables of a server, a table that
is altered, and a row whose holder is far away."""

from concurrent.futures import ThreadPoolExecutor

from kinds import mysql, pgsql
from kinds.pgsql import NEVER
from kinds.pgsql_rows import LONG, STOCK
from kit import expect
from kit.apps import postgresql
from kit.apps.postgresql import PostgreSQL
from kit.kinds import kind

# Who waits for what another holds is not slow itself, and no path is.
NOT_THEIRS = [*NEVER, "server-slow", "server-concurrency-cap", "server-stall", "network-delay"]
# What is asked for short snap lengths hide; what is missing may be what let go.
HIDDEN = ("snaplen 68", "window", "cut out", "capture loss")


def of_holders():
    """The server works on nothing meanwhile: what the clients that wait are kept from, another client keeps while it thinks."""
    told = dict(side=["client", "undetermined"], find=["lock-wait"])
    hidden = {kind: [*told["side"], "server"] for kind in HIDDEN}
    return expect.Expectation(**told, forbid=NOT_THEIRS, without=hidden, runs=expect.from_each_end(**told, forbid=NOT_THEIRS))


@kind("pgsql-advisory-lock", "clients wait for a lock that another has asked for by number (pg_advisory_lock) before it thinks", field_case="K61",
      mild=dict(hold_ms=120), harsh=dict(hold_ms=900, in_transaction=True), healthy=dict(hold_ms=120, same=False),
      draw=lambda d: dict(hold_ms=d.log_uniform(60, 1500), waiters=d.randint(1, 6), delay_ms=d.log_uniform(0.1, 1), in_transaction=d.choice([True, False])))
def advisory_lock(case, hold_ms, waiters=3, delay_ms=0.2, in_transaction=False, same=True):
    def turn(number, think_ms):
        if in_transaction:
            return ["begin", f"select pg_advisory_xact_lock({number})", f"think {think_ms}", "commit"]
        return [f"select pg_advisory_lock({number})", f"think {think_ms}", f"select pg_advisory_unlock({number})"]

    holds = dict(work="script", steps=[*turn(7, hold_ms), f"think {hold_ms / 4}"], secs=4.5)
    waits = [dict(work="script", steps=[*turn(7 if same else 100 + i, 3), "think 12"], secs=4.3, n=150, after_s=0.05) for i in range(waiters)]
    pgsql.recorded(case, [holds, *waits], wire=[f"both delay_us={delay_ms * 1000:.0f}"], bench=dict(noise_limits=LONG))
    return of_holders() if same else expect.healthy()


@kind("mysql-named-lock", "clients wait for a lock that another has asked for by name (GET_LOCK) before it thinks, or do not wait for so long",
      field_case="K62",
      mild=dict(hold_ms=300, limit_s=10), harsh=dict(hold_ms=2600, limit_s=1), healthy=dict(hold_ms=300, limit_s=10, same=False),
      draw=lambda d: dict(hold_ms=d.log_uniform(100, 3000), waiters=d.randint(1, 6), rtt_ms=d.log_uniform(0.2, 4), limit_s=d.choice([0.2, 1, 10])))
def named_lock(case, hold_ms, limit_s, waiters=3, rtt_ms=0.4, same=True):
    holds = dict(steps=["select get_lock('batch', 30)", f"think {hold_ms}", "select release_lock('batch')", f"think {hold_ms / 4}"], n=99, secs=4.5)
    names = ["batch" if same else f"batch-{i}" for i in range(waiters)]
    waits = [dict(steps=[f"select get_lock('{name}', {limit_s})", "think 3", f"select release_lock('{name}')", "think 12"], n=150, secs=4.3, after_s=0.05)
             for name in names]
    mysql.recorded(case, [holds, *waits], wire=mysql.delays(rtt_ms), bench=dict(noise_limits=LONG))
    return of_holders() if same else expect.healthy()


@kind("mysql-read-lock", "a backup keeps all tables from being changed (FLUSH TABLES WITH READ LOCK) while it copies", field_case="K63",
      mild=dict(hold_ms=300), harsh=dict(hold_ms=2500, writers=8), healthy=dict(hold_ms=300, locks=False),
      draw=lambda d: dict(hold_ms=d.log_uniform(150, 3000), writers=d.randint(1, 8), rtt_ms=d.log_uniform(0.2, 4)))
def read_lock(case, hold_ms, writers=4, rtt_ms=0.4, locks=True):
    kept = ["flush tables with read lock", f"think {hold_ms}", "unlock tables"] if locks else ["select 1", f"think {hold_ms}", "select 2"]
    backup = dict(steps=["think 150", *kept, f"think {hold_ms / 2}"], n=99, secs=4.5)
    reads = dict(steps=["select v from t where id = {r}", "think 12"], n=250, secs=4.3)
    writes = dict(steps=["update t set n = n + 1 where id = {r}", "think 12"], n=250, secs=4.3)
    mysql.recorded(case, [backup, reads, *[writes] * writers], wire=mysql.delays(rtt_ms), bench=dict(noise_limits=LONG))
    return of_holders() if locks else expect.healthy()


@kind("mysql-alter-waits", "a table is altered while a client that has read it thinks: all that want it then wait behind that", field_case="K64",
      mild=dict(hold_ms=400), harsh=dict(hold_ms=1800, readers=8), healthy=dict(hold_ms=400, alters=False),
      draw=lambda d: dict(hold_ms=d.log_uniform(300, 2500), readers=d.randint(1, 8), rtt_ms=d.log_uniform(0.2, 4)))
def alter_waits(case, hold_ms, readers=4, rtt_ms=0.4, alters=True):
    read = "select n from t where id = {r}"
    holder = dict(steps=["begin", read, f"think {hold_ms}", "commit", f"think {hold_ms / 3}"], n=99, secs=4.5)
    alter = dict(steps=["think 60", "alter table t alter n set default {i}" if alters else read], n=60, secs=4.3, after_s=0.05)
    reads = dict(steps=[read, "think 12"], n=250, secs=4.3)
    mysql.recorded(case, [holder, alter, *[reads] * readers], wire=mysql.delays(rtt_ms), bench=dict(noise_limits=LONG))
    return of_holders() if alters else expect.healthy()


@kind("pgsql-far-holder", "clients wait for a row that a client far away has locked: its next statements take long on their way", field_case="K65",
      mild=dict(far_ms=15), harsh=dict(far_ms=80), healthy=dict(far_ms=15, same=False),
      draw=lambda d: dict(far_ms=d.log_uniform(8, 120), waiters=d.randint(1, 6), delay_ms=d.log_uniform(0.1, 0.6)))
def far_holder(case, far_ms, waiters=3, delay_ms=0.2, same=True):
    holds = ["begin", "update stock set n = n + 1 where id = 1", "select {r}", "select {i}", "commit", "think 30"]
    wants = [f"update stock set n = n + 1 where id = {1 if same else '{r} % 90 + 2'}", "think 10"]
    far = dict(work="script", steps=holds, secs=4.4)
    near = dict(work="script", steps=wants, secs=4.2, n=250, after_s=0.05)
    with case.bench(clients=2, noise_limits=LONG) as b:
        database = PostgreSQL(b, setup=STOCK)
        b.wire(f"both delay_us={delay_ms * 1000:.0f}", at=0)
        b.wire(f"both delay_us={far_ms * 1000:.0f}", at=1)
        with b.capture(), ThreadPoolExecutor() as pool:
            theirs = pool.submit(postgresql.load, b, [far], on=b.clients[1], name="client2")
            postgresql.load(b, [near] * waiters)
            theirs.result()
        database.log()
    # Nobody thinks and nobody works: the path of the one that holds the row keeps the others from it.
    if not same:
        return expect.Expectation(side=["none", "network", "client", "undetermined"], forbid=["server-slow", "server-concurrency-cap"])
    # That crosses it for one statement at a time.
    told = dict(side=["network", "client", "undetermined"], forbid=[*NEVER, "lock-wait", "server-slow", "server-concurrency-cap", "server-stall", "client-host-slow"])
    # The capture of a near client has nobody else in it: there, the server answers late.
    runs = [run for run in expect.from_each_end(**told) if run["name"] != "at the client"]
    return expect.Expectation(**told, alone=["server"], without={kind: [*told["side"], "server"] for kind in HIDDEN}, runs=runs)
