"""SMB over one wire: slow files, paths, and what clients keep from each other."""

from kinds import pgsql
from kit import expect, truth
from kit.apps import samba
from kit.apps.database import ms
from kit.kinds import kind

CAUSES = {
    "network": ["network-delay", "network-loss", "chatty"],
    "server": ["server-slow", "server-stall", "server-concurrency-cap"],
    "client": ["chatty"],
}
NEVER = ["capture-incomplete", "connection-reset", "connection-refused", "mtu-black-hole", "duplicate-packets", "network-bandwidth"]


def recorded(case, sessions, wire=(), **storage):
    """Returns (operations of all sessions, the server's own log of reads and writes)."""
    with case.bench() as b:
        server = samba.Samba(b, **storage)
        for line in wire:
            b.wire(line)
        with b.capture():
            rows = samba.load(b, sessions)
        return rows, server.log()


def judged(rows, served, path_ms, *, rest, **more):
    """Expectation of calls whose remainder (neither path nor storage) is `rest`'s."""
    calls = [r for r in rows if r["op"] != "connect"]
    times = [ms(r) for r in calls]
    whole = sum(times) / 1e3
    server = min(whole, sum(end - start for _, _, _, start, end, *_ in served) / 1e9)
    network = min(path_ms * len(calls) / 1e3, whole - server)
    seconds = {"client": 0.0, "network": network, "server": server}
    seconds[rest] += whole - server - network
    p99_ms = truth.percentile(times, 99)
    expectation = pgsql.of_calls(seconds, sum(times) / len(times), p99_ms, CAUSES, forbid=NEVER, **more)
    # Turns across a path are the path's, or its who takes so many.
    if "network" in expectation.side:
        expectation.side += [s for s in ("client", "mixed") if s not in expectation.side]
    return expectation


def readers(n, **more):
    return [dict(work="reads", secs=4, writes=0.3, think_ms=4, **more)] * n


@kind(
    "smb-slow-storage",
    "files of a Windows share that lie on slow storage",
    mild=dict(io_ms=4),
    harsh=dict(io_ms=25),
    healthy=dict(io_ms=0),
    draw=lambda d: dict(io_ms=d.log_uniform(3, 60), delay_ms=d.log_uniform(0.05, 1), sessions=d.randint(1, 6), size=d.choice([4096, 16384, 65536])),
)
def slow_storage(case, io_ms, delay_ms=0.2, sessions=4, size=16384):
    us = io_ms * 1000
    rows, served = recorded(case, readers(sessions, size=size), [f"both delay_us={delay_ms * 1000:.0f}"], read_us=us, write_us=us)
    return judged(rows, served, 2 * delay_ms, rest="server")


@kind(
    "smb-far",
    "a Windows share that is far away, whose reads and writes take a round trip each",
    mild=dict(delay_ms=2),
    harsh=dict(delay_ms=20),
    healthy=dict(delay_ms=0.1),
    draw=lambda d: dict(delay_ms=d.log_uniform(1.3, 40), sessions=d.randint(1, 6), loss=d.choice([0, 0, 0.01])),
)
def far(case, delay_ms, sessions=4, loss=0):
    lossy = [f"both loss={loss}"] if loss else []
    rows, served = recorded(case, readers(sessions), [f"both delay_us={delay_ms * 1000:.0f}", *lossy])
    return judged(rows, served, 2 * delay_ms, rest="network")


@kind(
    "smb-watched",
    "a share on which nothing is slow, while clients wait to be told of changes that nobody makes",
    mild=dict(watchers=1),
    harsh=dict(watchers=6),
    healthy=dict(watchers=0),
    draw=lambda d: dict(watchers=d.randint(1, 8), sessions=d.randint(1, 4)),
)
def watched(case, watchers, sessions=3):
    recorded(case, [*readers(sessions), *[dict(work="watches", secs=4)] * watchers], ["both delay_us=150"])
    return expect.healthy()


@kind(
    "smb-kept-open",
    "a client keeps a file open for itself alone (oplock), and takes its time to give it back when another opens it",
    field_case="K54",
    mild=dict(held_ms=30),
    harsh=dict(held_ms=250),
    healthy=dict(held_ms=0),
    draw=lambda d: dict(held_ms=d.log_uniform(15, 400), opens=d.randint(1, 3), delay_ms=d.log_uniform(0.05, 1)),
)
def kept_open(case, held_ms, opens=1, delay_ms=0.2):
    keeper = dict(work="keeps", file="data2.bin", secs=5, held_ms=held_ms)
    openers = [dict(work="opens", file="data2.bin", secs=4, think_ms=20, after_s=0.3)] * opens
    rows, served = recorded(case, [keeper, *openers], [f"both delay_us={delay_ms * 1000:.0f}"])
    return held(rows, served, delay_ms, "CREATE")


@kind(
    "smb-locked",
    "clients that lock the same part of a file, and hold the lock while they think",
    field_case="K55",
    mild=dict(held_ms=15),
    harsh=dict(held_ms=60),
    healthy=dict(held_ms=0),
    draw=lambda d: dict(held_ms=d.log_uniform(8, 120), sessions=d.randint(2, 5), delay_ms=d.log_uniform(0.05, 1)),
)
def locked(case, held_ms, sessions=3, delay_ms=0.2):
    think = 3 if held_ms else 60
    rows, served = recorded(case, [dict(work="locks", secs=4, held_ms=held_ms, think_ms=think)] * sessions, [f"both delay_us={delay_ms * 1000:.0f}"])
    return held(rows, served, delay_ms, "LOCK")


def held(rows, served, delay_ms, op):
    """What clients wait for each other is none of the server's work; on which operation it costs."""
    expectation = judged(rows, served, 2 * delay_ms, rest="client")
    if "client" in expectation.side:
        expectation.cause = ["lock-wait", *(expectation.cause or [])]
        expectation.forbid += ["server-slow", "server-stall"]
        # From one end it may be the server's work.
        expectation.alone = ["undetermined"]
    if expectation.side == ["client"]:
        wrong = ["server-slow", "server-stall", "network-delay"]
        where = [expect.on(["lock-wait"], operation=f"smb2 {op}")]
        # The host of one captures both clients here.
        expectation.runs = expect.from_each_end(
            side=["client"], cause=["lock-wait"], first=[r"keep for themselves"], forbid=wrong, where=where
        )
    return expectation
