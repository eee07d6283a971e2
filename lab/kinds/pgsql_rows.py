"""Rows of PostgreSQL and how they travel: cursors, COPY both ways, clients that digest, locks that clients hold."""

from kinds.pgsql import NEVER, judged, of_calls, recorded
from kit import expect, noise, truth
from kit.apps import postgresql
from kit.kinds import kind

# What slow start lets through in the first round trip: so much a turn could carry.
TEN_SEGMENTS = 14_600
STOCK = "create table stock (id int primary key, n int); insert into stock select g, 0 from generate_series(1, 100) g"
# What takes tens of milliseconds bears more noise, and who computes makes some.
LONG = noise.Limits(p99_ms=8, worst_ms=40)
ROW = "select g, repeat('x', {size}) from generate_series(1, {rows}) g"
# A client whose receive buffer stays small, so that its slowness reaches the sender soon; or such a server.
SMALL_BUFFER = "net.ipv4.tcp_rmem='4096 32768 65536'"


# The last byte of much crosses a wire later than its single frames do.
BULK = ["one_way"]


def of_fetches(rows, served, path_ms, fetch, row_bytes, think_s=0.0):
    """Expectation of a cursor read turn by turn: of the path's time, what larger fetches would spare is the client's
    doing, where it crosses 50 times and more and that is half of its life."""
    seconds = postgresql.shares(rows, served, path_ms)
    fetches = [r for r in rows if r["op"] == "fetch"]
    trip_s = path_ms * len(fetches) / 1e3
    needed = min(1.0, fetch * row_bytes / TEN_SEGMENTS)
    life_s = sum(postgresql.ms(r) for r in rows) / 1e3 + think_s
    # Of what neither the statements nor one trip each account for, some trips more are slow start's; the client takes
    # rows apart in the rest, which no wire shows.
    seconds["network"] += min(seconds.pop("rest"), 3 * path_ms * len(fetches) / 1e3)
    mean_ms = sum(seconds.values()) * 1e3 / len(postgresql.calls(rows))
    p99_ms = max(mean_ms, truth.percentile([r[2] for r in served], 99) + path_ms)
    many = len(fetches) >= 50 and trip_s >= 0.5 * life_s
    if many:
        seconds["client"] += trip_s * (1 - needed)
        seconds["network"] = max(0.0, seconds["network"] - trip_s * (1 - needed))
    causes = {"network": ["network-delay"], "server": ["server-slow"], "client": ["small-fetch", "chatty"]}
    expectation = of_calls(seconds, mean_ms, p99_ms, causes, forbid=NEVER, skip=BULK)
    if "client" in expectation.side:
        # From one end alone it can be unknown how much a turn carries.
        expectation.alone = ["network", "mixed"]
    if expectation.side == ["client"]:
        expectation.find = [["small-fetch", "chatty"]]
    return expectation


@kind("pgsql-cursor", "a cursor read a few rows at a time",
      mild=dict(fetch=5, delay_ms=1.5), harsh=dict(fetch=1, delay_ms=10, snap=96), healthy=dict(fetch=100, delay_ms=0.1),
      hundred=dict(fetch=100, delay_ms=5), cut=dict(fetch=5, delay_ms=5, snap=68), whole=dict(fetch=1, delay_ms=3, snap=65535),
      draw=lambda d: dict(fetch=d.choice([1, 5, 100]), delay_ms=d.log_uniform(0.1, 30), snap=d.choice([68, 96, 256, 65535])))
def cursor(case, fetch, delay_ms, snap=256, size=100):
    turns = max(20, round(min(400, 4.5e3 / (2 * delay_ms + 0.4))))
    rows, served = recorded(case, [dict(work="fetches", sql=ROW.format(size=size, rows=turns * fetch), fetch=fetch)],
                            wire=[f"both delay_us={delay_ms * 1000:.0f}"], bench=dict(snap=snap))
    return of_fetches(rows, served, 2 * delay_ms, fetch, size + 20)


@kind("pgsql-client-digests", "a client that computes on each row before it fetches more",
      mild=dict(fetch=100, row_us=60), harsh=dict(fetch=300, row_us=150), healthy=dict(fetch=100, row_us=0),
      draw=lambda d: dict(fetch=d.choice([20, 100, 300]), row_us=d.log_uniform(20, 200), sleeps=d.choice([True, False]),
                          delay_ms=d.log_uniform(0.05, 5)))
def client_digests(case, fetch, row_us, sleeps=False, delay_ms=0.1):
    turns = max(12, round(min(250, 4.5e3 / (2 * delay_ms + 0.5 + fetch * row_us / 1e3))))
    digest = {"think_row_us" if sleeps else "burn_row_us": row_us}
    work = dict(work="fetches", sql=ROW.format(size=60, rows=turns * fetch), fetch=fetch, **digest)
    rows, served = recorded(case, [work], wire=[f"both delay_us={delay_ms * 1000:.0f}"], bench=dict(noise_limits=LONG))
    expectation = of_fetches(rows, served, 2 * delay_ms, fetch, 80, think_s=turns * fetch * row_us / 1e6)
    digested = turns * fetch * row_us / 1e6
    waited = sum(postgresql.ms(r) for r in postgresql.calls(rows)) / 1e3
    # Its own pauses are named where they are long and outlast the calls; they are nobody's fault.
    if fetch * row_us >= 3000 and digested >= 1.5 * waited:
        expectation.find = [*expectation.find, ["large-fetch-client-think", "client-think"]]
    return expectation


@kind("pgsql-lock-holder-thinks", "clients wait for a row that another client locked before it thinks", field_case="K38",
      mild=dict(hold_ms=40), harsh=dict(hold_ms=400), healthy=dict(hold_ms=40, same=False),
      draw=lambda d: dict(hold_ms=d.log_uniform(30, 600), waiters=d.randint(1, 6), delay_ms=d.log_uniform(0.1, 1)))
def lock_holder_thinks(case, hold_ms, waiters=3, delay_ms=0.2, same=True):
    holds = ["begin", "update stock set n = n + 1 where id = 1", f"think {hold_ms}", "commit", f"think {hold_ms / 4}"]
    wants = [f"update stock set n = n + 1 where id = {1 if same else '{r} % 90 + 2'}", "think 10"]
    waits = dict(work="script", steps=wants, secs=4.3, n=250, after_s=0.05)
    work = [dict(work="script", steps=holds, secs=4.5), *[waits] * waiters]
    rows, served = recorded(case, work, wire=[f"both delay_us={delay_ms * 1000:.0f}"],
                            server=dict(setup=STOCK), bench=dict(noise_limits=LONG))
    if not same:
        return judged(rows, served, 2 * delay_ms, rest="server")
    # The server works on nothing meanwhile: who waits is let go by the holder's commit, each time. Where that is not often
    # enough to be beyond chance, nobody is to be accused.
    wrong = ["server-slow", "server-concurrency-cap", "network-delay"]
    waits = sum(1 for r in rows if r["op"] == "update" and postgresql.ms(r) > hold_ms / 2)
    if waits < 20:
        return expect.Expectation(side=["client", "undetermined"], forbid=[*NEVER, *wrong])
    told = dict(side=["client"], cause=["lock-wait"], find=["lock-wait"], first=[r"(?i)locks that other clients hold while they think"])
    return expect.Expectation(**told, forbid=[*NEVER, *wrong], without={"window": ["client", "undetermined"], "cut out": ["client", "undetermined"]},
                              runs=expect.from_each_end(**told, forbid=wrong))


@kind("pgsql-lock-holder-works", "clients wait for a row that another locked before a long statement of its own",
      mild=dict(work_ms=40), harsh=dict(work_ms=400), healthy=dict(work_ms=0),
      draw=lambda d: dict(work_ms=d.log_uniform(30, 600), waiters=d.randint(1, 6), delay_ms=d.log_uniform(0.1, 1)))
def lock_holder_works(case, work_ms, waiters=3, delay_ms=0.2):
    holds = ["begin", "update stock set n = n + 1 where id = 1", f"select pg_sleep({work_ms / 1e3})", "commit", f"think {work_ms / 4 + 5}"]
    wants = ["update stock set n = n + 1 where id = 1", "think 10"]
    waits = dict(work="script", steps=wants, secs=4.3, n=250, after_s=0.05)
    work = [dict(work="script", steps=holds, secs=4.5, n=150), *[waits] * waiters]
    rows, served = recorded(case, work, wire=[f"both delay_us={delay_ms * 1000:.0f}"],
                            server=dict(setup=STOCK), bench=dict(noise_limits=LONG))
    expectation = judged(rows, served, 2 * delay_ms, rest="server")
    if expectation.side == ["server"]:
        # While all of its clients wait for that row, it answers nobody.
        expectation.cause = [*expectation.cause, "server-stall"]
    return expectation


@kind("pgsql-copy-slow-feeder", "COPY into a table by a client that pauses between its pieces",
      mild=dict(pause_ms=15), harsh=dict(pause_ms=300, piece=200_000), healthy=dict(pause_ms=0),
      draw=lambda d: dict(pause_ms=d.log_uniform(10, 500), piece=d.choice([8000, 40_000, 200_000]), delay_ms=d.log_uniform(0.1, 2)))
def copy_slow_feeder(case, pause_ms, piece=40_000, delay_ms=0.2):
    n, piece = (200, 20_000) if not pause_ms else (1, piece)
    size = piece if not pause_ms else piece * max(4, min(100, round(4.3e3 / pause_ms)))
    rows, served = recorded(case, [dict(work="copies_in", table="lines", size=size, piece=piece, pause_ms=pause_ms, n=n)],
                            wire=[f"both delay_us={delay_ms * 1000:.0f}"], server=dict(setup="create table lines (line text)"))
    if not pause_ms:
        return judged(rows, served, 2 * 2 * delay_ms, rest="server", skip=BULK)
    return expect.Expectation(side=["client"], skip=BULK, cause=["sender-application-limited"], find=["sender-application-limited"],
                              forbid=[*NEVER, "server-slow", "server-stall", "network-delay"])


@kind("pgsql-copy-slow-reader", "COPY of a table to a client that reads slowly: the server waits for room",
      mild=dict(pause_ms=20), harsh=dict(pause_ms=150), healthy=dict(pause_ms=0),
      draw=lambda d: dict(pause_ms=d.log_uniform(15, 300), delay_ms=d.log_uniform(0.1, 0.5)))
def copy_slow_reader(case, pause_ms, delay_ms=0.2):
    n = 200 if not pause_ms else 1
    size = 20_000 if not pause_ms else 65_536 * min(150, round(4.3e3 / pause_ms)) + 500_000
    rows, served = recorded(case, [dict(work="copies_out", sql=ROW.format(size=93, rows=size // 100), pause_ms=pause_ms, n=n)],
                            wire=[f"both delay_us={delay_ms * 1000:.0f}"], bench=dict(sysctl={"client": [SMALL_BUFFER]} if pause_ms else None))
    if not pause_ms:
        return judged(rows, served, 2 * delay_ms, rest="server", skip=BULK)
    return expect.Expectation(side=["client"], skip=BULK, cause=["receive-window-limited"], find=["receive-window-limited"],
                              forbid=[*NEVER, "server-slow", "server-stall", "network-delay"])


@kind("pgsql-copy-slow-insert", "COPY into a table whose trigger takes long for each row: the server stops reading",
      mild=dict(wait_ms=5), harsh=dict(wait_ms=25), healthy=dict(wait_ms=0),
      draw=lambda d: dict(wait_ms=d.randint(4, 40), delay_ms=d.log_uniform(0.1, 2)))
def copy_slow_insert(case, wait_ms, delay_ms=0.2):
    n = 200 if not wait_ms else 1
    # Every fiftieth row waits; no sleep of PostgreSQL's is shorter than a millisecond.
    size = 20_000 if not wait_ms else round(4.3e3 / wait_ms) * 50 * 100
    slow = ("create sequence passed; create function slow() returns trigger language plpgsql as $$ begin "
            f"if nextval('passed') % 50 = 0 then perform pg_sleep({wait_ms / 1e3}); end if; return new; end $$;"
            "create trigger slow before insert on lines for each row execute function slow()")
    rows, served = recorded(case, [dict(work="copies_in", table="lines", size=size, piece=size, n=n)],
                            wire=[f"both delay_us={delay_ms * 1000:.0f}"],
                            bench=dict(sysctl={"server": [SMALL_BUFFER]} if wait_ms else None),
                            server=dict(setup=f"create table lines (line text); {slow if wait_ms else ''}"))
    if not wait_ms:
        return judged(rows, served, 2 * 2 * delay_ms, rest="server", skip=BULK)
    return expect.Expectation(side=["server"], skip=BULK, cause=["receive-window-limited", "server-slow"],
                              forbid=[*NEVER, "sender-application-limited", "network-delay"])


@kind(
    "pgsql-large-results",
    "large results over a narrow line, before which a part of one fits: acknowledgements let the rest go",
    field_case="K48",
    mild=dict(mbit=50),
    harsh=dict(mbit=10, sessions=3, rows=150, queue_ms=150),
    healthy=dict(mbit=0, rows=20),
    draw=lambda d: dict(
        mbit=d.log_uniform(6, 60), rows=d.randint(100, 600), sessions=d.choice([1, 1, 3]), rtt_ms=d.log_uniform(0.5, 8), queue_ms=d.log_uniform(20, 80)
    ),
)
def large_results(case, mbit, rows=400, sessions=1, rtt_ms=2, queue_ms=50):
    row_bytes = 2000
    line = [f"s2c rate_mbit={mbit} queue_kb={max(64, mbit * queue_ms / 8):.0f}"] if mbit else []
    passing_ms = rows * row_bytes * 8.6e-3 / mbit * sessions if mbit else 0.3
    path_ms = rtt_ms if mbit else 0.2
    turn = [f"select repeat('x', {row_bytes}) from generate_series(1, {rows}), (values ({{i}})) v", "think 60"]
    n = max(6, round(3000 / (passing_ms + path_ms + 60)))
    calls, served = recorded(
        case,
        [dict(work="script", steps=turn, n=n, secs=6)] * sessions,
        wire=[f"both delay_us={path_ms * 500:.0f}", *line],
        bench=dict(noise_limits=LONG),
    )
    # The server writes into buffers, and its own log has what it waited for their room.
    whole = sum(postgresql.ms(r) for r in postgresql.calls(calls)) / 1e3
    each = whole * 1e3 / len(postgresql.calls(calls))
    seconds = {"client": 0.0, "network": whole, "server": 0.0}
    mean, p99 = (each, each * 2) if mbit else postgresql.response_ms(calls)
    causes = {"network": ["network-bandwidth", "network-bufferbloat", *(["network-loss"] if sessions > 1 else [])]}
    never = [c for c in NEVER if c not in causes["network"] and c != "network-loss"]
    expectation = of_calls(seconds, mean, p99, causes, forbid=[*never, "server-slow", "chatty"], skip=BULK)
    if expectation.side == ["network"]:
        both = ["--client", "client.pcap", "--server", "server.pcap"]
        expectation.runs = [
            expect.run(
                f"at {name}", "diagnose", args, side=["network"], cause=["network-bandwidth"], find=["network-bandwidth"],
                first=["(?i)the network is slow: a link on the way is full"], forbid=["server-slow", "chatty", "slow-start"],
            )
            for name, args in {"both ends": both, **({"the server": ["--server", "server.pcap"]} if sessions == 1 else {})}.items()
        ]
    return expectation
