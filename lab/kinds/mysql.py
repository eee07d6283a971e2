"""MariaDB over one wire: slow statements, many small ones, loss, cursors, lock waits."""

from kit import expect, truth
from kit.apps import mariadb
from kit.kinds import kind

CAUSES = {
    "network": ["network-delay"],
    "server": ["server-slow", "server-stall", "server-concurrency-cap"],
    "client": ["client-host-slow", "client-concurrency-cap"],
}
TRIPS = ["chatty", "small-fetch"]
TABLE = "create table t (id int primary key, v varchar(200), n int); insert into t select seq, repeat('v', 120), 0 from seq_0_to_9999;"


def recorded(case, sessions, *, wire=(), setup=TABLE, bench=None):
    """Sessions through one wire; returns (operations, the server's own log of them)."""
    with case.bench(**(bench or {})) as b:
        server = mariadb.MariaDB(b, setup=setup)
        for line in wire:
            b.wire(line)
        with b.capture():
            rows = mariadb.load(b, sessions)
        return rows, server.log()


def delays(rtt_ms):
    return [f"both delay_us={rtt_ms * 500:.0f}"]


def judged(rows, served, rtt_ms, *, rest="network", trips=False, find=(), causes=None, **more):
    """Expectation of statements: the server's seconds are those of its own log, the path's as injected for each round trip,
    and what is left is `rest`'s. With `trips`, who crosses the path so often shares in it."""
    rows = [r for r in rows if r["op"] != "CONNECT"]
    took = [(r["t_done_ns"] - r["t_issue_ns"]) / 1e6 for r in rows]
    whole, server = sum(took), min(sum(took), sum(s[1] for s in served))
    network = min(rtt_ms * len(rows), whole - server)
    seconds = {"client": 0.0, "network": network, "server": server}
    seconds[rest] += whole - server - network
    causes = {**CAUSES, **(causes or {})}
    mean, p99 = whole / len(took), truth.percentile(took, 99)
    expected = expect.of_calls({k: v / 1e3 for k, v in seconds.items()}, mean, p99, causes, **more)
    # Each session waits for each answer: that never more than so many are outstanding is true, and no fault.
    expected.forbid = [c for c in expected.forbid if c != "client-concurrency-cap"]
    near = 0.8 < mean / expect.FAST_ENOUGH_MS < 1.25 or mean < expect.FAST_ENOUGH_MS and 0.5 < p99 / expect.TAIL_MS < 2
    if expected.side == ["none"]:
        if near:
            return expect.Expectation(side=["none", "mixed", *expect.SIDES], alone=expected.alone)
        return expected
    expected.find = list(find)
    if trips and "network" in expected.side:
        expected.side, expected.cause = [*expected.side, "client", "mixed"], [*expected.cause, *TRIPS]
    if near:
        expected.side, expected.cause, expected.find = [*expected.side, "none"], [*(expected.cause or []), None], []
    return expected


@kind(
    "mysql-slow",
    "statements that MariaDB takes long for",
    mild=dict(mean_ms=4),
    harsh=dict(mean_ms=60, sessions=4),
    healthy=dict(mean_ms=0.2, think_ms=4),
    draw=lambda d: dict(mean_ms=d.log_uniform(1, 120), sessions=d.randint(1, 8), rtt_ms=d.log_uniform(0.1, 15), think_ms=d.choice([0, 5, 20])),
)
def slow(case, mean_ms, sessions=2, rtt_ms=0.6, think_ms=2):
    statement = f"select v, sleep({mean_ms / 1e3:.6f} * {{e:.4f}}) from t where id = {{r}}"
    steps = [statement] + ([f"think {think_ms}"] if think_ms else [])
    n = max(15, min(1500 // sessions, int(4500 / (mean_ms + rtt_ms + think_ms + 0.4))))
    rows, served = recorded(case, [dict(steps=steps, n=n, secs=6)] * sessions, wire=delays(rtt_ms))
    # Small statements one by one that spend half of their session's life on the path are too many, think time or not.
    trips = 2 * rtt_ms >= 0.8 * (mean_ms + rtt_ms + think_ms)
    return judged(
        rows, served, rtt_ms, trips=trips or not think_ms, forbid=["network-loss", "nagle-delayed-ack", "receive-window-limited", "capture-incomplete"]
    )


@kind(
    "mysql-chatty",
    "row by row: a statement for each row, over a path that takes a while",
    mild=dict(rtt_ms=3),
    harsh=dict(rtt_ms=15),
    healthy=dict(rtt_ms=0.2, think_ms=3),
    draw=lambda d: dict(rtt_ms=d.log_uniform(2.5, 40), sessions=d.choice([1, 1, 3]), writes=d.random() < 0.5),
)
def chatty(case, rtt_ms, sessions=1, writes=True, think_ms=0):
    steps = (
        ["select v from t where id = {r}"]
        + (["update t set n = n + 1 where id = {r}"] if writes else [])
        + ([f"think {think_ms}"] if think_ms else [])
    )
    n = int(min(1600 / sessions, 4500 / (rtt_ms * 1.02 + 0.4 + think_ms))) // (2 if writes else 1)
    rows, served = recorded(case, [dict(steps=steps, n=n)] * sessions, wire=delays(rtt_ms))
    return judged(
        rows, served, rtt_ms, trips=True, find=["chatty"], forbid=["network-loss", "server-slow", "nagle-delayed-ack", "capture-incomplete"]
    )


@kind(
    "mysql-loss",
    "statements over a path that loses frames",
    mild=dict(loss=0.015),
    harsh=dict(loss=0.04),
    healthy=dict(loss=0),
    draw=lambda d: dict(
        loss=d.log_uniform(0.005, 0.05), rtt_ms=d.log_uniform(0.3, 10), sessions=d.randint(2, 8), rows=d.choice([1, 10, 60]), offload=d.random() < 0.7
    ),
)
def loss(case, loss, rtt_ms=0.8, sessions=6, rows=20, offload=True):
    steps = [f"select * from t where id between {{r}} and {{r}} + {rows - 1}", "think 15"]
    wire = delays(rtt_ms) + ([f"both loss={loss}"] if loss else [])
    calls, served = recorded(
        case, [dict(steps=steps, n=min(250, int(4500 / (16 + rtt_ms))), secs=5)] * sessions, wire=wire, bench=dict(offload=offload)
    )
    # Who wrote a response waits for nothing: its time ends with the last byte handed to the socket.
    lost = sum(case.truth["wire_measured"][d]["dropped_tcp_data_frames"] for d in ("c2s", "s2c"))
    # A lost SYN keeps its session waiting for a second.
    late = ["slow-connect"] if any(c["op"] == "CONNECT" and c["t_done_ns"] - c["t_issue_ns"] > 900_000_000 for c in calls) else []
    return judged(
        calls,
        served,
        rtt_ms,
        causes={"network": ["network-loss", "network-delay", *late]},
        find=["network-loss"] if lost >= 8 else [],
        skip=["one_way"],
        forbid=["server-slow", "server-stall", "nagle-delayed-ack", "receive-window-limited", "capture-incomplete"],
    )


@kind(
    "mysql-cursor",
    "a server's cursor, so many rows at a time, over a path that takes a while",
    mild=dict(prefetch=10, rtt_ms=4),
    harsh=dict(prefetch=1, rtt_ms=12),
    healthy=dict(prefetch=100, rtt_ms=0.2),
    hundred=dict(prefetch=100, rtt_ms=10),
    draw=lambda d: dict(
        prefetch=d.choice([1, 5, 20, 100, 400]), rtt_ms=d.log_uniform(0.2, 40), row_us=d.choice([0, 0, 20]), sessions=d.choice([1, 1, 3])
    ),
)
def cursor(case, prefetch, rtt_ms, row_us=0, sessions=1):
    batches = int(min(700, 4500 / (rtt_ms + 0.5 + row_us * prefetch / 1e3)))
    # Some four turns, so that no window falls between them.
    rows = max(1, min(9999, batches * prefetch // 4))
    told = dict(
        cursor=f"select id, v from t where id < {rows}", prefetch=prefetch, n=max(4, min(40, batches * prefetch // rows)), row_us=row_us, secs=6
    )
    calls, served = recorded(case, [told] * sessions, wire=delays(rtt_ms))
    find = [TRIPS] if prefetch <= 10 and not row_us and rtt_ms > 2 else []
    # The slow query log leaves out what is done for a cursor.
    return judged(
        calls,
        served,
        rtt_ms,
        rest="server",
        trips=True,
        find=find,
        forbid=["network-loss", "server-stall", "nagle-delayed-ack", "capture-incomplete"],
    )


@kind(
    "mysql-lock",
    "transactions that wait for each other's row",
    mild=dict(hold_ms=2, sessions=3),
    harsh=dict(hold_ms=25, sessions=6),
    healthy=dict(hold_ms=0, sessions=3, same_row=False),
    draw=lambda d: dict(hold_ms=d.log_uniform(2, 60), sessions=d.randint(3, 10), rtt_ms=d.log_uniform(0.2, 4)),
)
def lock(case, hold_ms, sessions, rtt_ms=0.4, same_row=True):
    """The holder sleeps in the server (`select sleep`), so all of it is the server's time."""
    hold = [f"select sleep({hold_ms / 1e3:.6f})"] if hold_ms else ["select 1"]
    row = lambda i: 7 if same_row else 100 * i
    n = max(4, min(120, int(4500 / ((hold_ms + 3 * rtt_ms + 1) * (sessions if same_row else 1) + (0 if same_row else 15)))))
    told = [
        dict(steps=["begin", f"update t set n = n + 1 where id = {row(i)}", *hold, "commit", *([] if same_row else ["think 10"])], n=n, secs=7)
        for i in range(sessions)
    ]
    rows, served = recorded(case, told, wire=delays(rtt_ms))
    return judged(rows, served, rtt_ms, trips=True, forbid=["network-loss", "nagle-delayed-ack", "receive-window-limited", "capture-incomplete"])


@kind(
    "mysql-holder-thinks",
    "transactions wait for a row whose holder's client thinks before it commits",
    mild=dict(hold_ms=5),
    harsh=dict(hold_ms=40),
    healthy=dict(hold_ms=5, same_row=False),
    draw=lambda d: dict(hold_ms=d.log_uniform(4, 80), sessions=d.randint(3, 8), rtt_ms=d.log_uniform(0.2, 4)),
)
def holder_thinks(case, hold_ms, sessions=4, rtt_ms=0.4, same_row=True):
    row = lambda i: 7 if same_row else 100 * i
    n = max(4, min(120, int(4500 / ((hold_ms + 2 * rtt_ms + 1) * (sessions if same_row else 1)))))
    told = [dict(steps=["begin", f"update t set n = n + 1 where id = {row(i)}", f"think {hold_ms}", "commit"], n=n, secs=7) for i in range(sessions)]
    rows, served = recorded(case, told, wire=delays(rtt_ms))
    expected = judged(rows, served, rtt_ms, trips=True, forbid=["network-loss", "nagle-delayed-ack", "receive-window-limited", "capture-incomplete"])
    if "server" in expected.side:
        # The statements wait in the server, for a client that thinks: who tells that apart may name it.
        expected.side, expected.cause = [*expected.side, "client", "mixed"], [*expected.cause, "client-think", "lock-wait"]
    return expected


@kind(
    "mysql-busy",
    "healthy: several sessions that read and write, think time between",
    mild=dict(sessions=2),
    harsh=dict(sessions=8, think_ms=8),
    healthy=None,
    draw=lambda d: dict(sessions=d.randint(1, 10), rtt_ms=d.log_uniform(0.05, 0.8), think_ms=d.log_uniform(4, 30), rows=int(d.log_uniform(1, 100))),
)
def busy(case, sessions, rtt_ms=0.3, think_ms=4, rows=20):
    think_ms = max(think_ms, sessions)
    steps = [
        f"select * from t where id between {{r}} and {{r}} + {rows - 1}",
        f"think {think_ms}",
        "update t set n = n + 1 where id = {r}",
        f"think {think_ms}",
        "select count(*), max(n) from t where id < {r} % 50",
    ]
    n = max(20, min(1800 // sessions, int(4500 / (2 * think_ms + 3 * rtt_ms + 1))) // 1)
    calls, served = recorded(case, [dict(steps=steps, n=n, secs=6)] * sessions, wire=delays(rtt_ms))
    return judged(calls, served, rtt_ms)
