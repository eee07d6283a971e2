"""Requests and responses over plain TCP: delay, service, round trips, sizes; and healthy busy traffic."""

from kit import expect, truth
from kit.apps import tcpapp
from kit.kinds import kind

# Findings that a verdict may name for a side, unless a kind says better.
CAUSES = {
    "network": ["network-delay"],
    "server": ["server-slow", "server-stall", "server-concurrency-cap"],
    "client": ["client-host-slow", "client-concurrency-cap"],
}
NODELAY = dict(nodelay_c=1, nodelay_s=1)


def recorded(case, *, wire=(), steps=(), bench=None, **told):
    """One run of the applications through the wire; returns (truth of the applications, calls)."""
    with case.bench(**(bench or {})) as b:
        for line in wire:
            b.wire(line)
        with b.capture():
            b.later(*steps)
            app = tcpapp.run(b, **{**NODELAY, **told})
        return app, tcpapp.calls(b, fill=told.get("fill", 0))


def delays(out_ms, back_ms=None):
    """Lines for the wire."""
    back_ms = out_ms if back_ms is None else back_ms
    return [f"c2s delay_us={out_ms * 1000:.0f}", f"s2c delay_us={back_ms * 1000:.0f}"]


def count(seconds, each_ms, most=1200, least=60):
    """Calls that fill so many seconds."""
    return max(least, min(most, int(seconds * 1000 / each_ms)))


def sides(calls, path_ms, rest):
    """Seconds of the calls' time by side, from both applications' clocks: the server's work and its pauses in reading, the
    client's pauses in reading, the path as injected; what is left is `rest`'s."""
    whole = sum(c["t_done_ns"] - c["t_start_ns"] for c in calls) / 1e9
    server = sum(c["server_t_ready_ns"] - c["server_t_got_ns"] + c["server_slept_ns"] for c in calls) / 1e9
    client = sum(c["slept_ns"] for c in calls) / 1e9
    network = min(path_ms * len(calls) / 1e3, max(0.0, whole - server - client))
    seconds = {"client": client, "network": network, "server": server}
    seconds[rest] += max(0.0, whole - client - network - server)
    return seconds


def judged(calls, path_ms, *, rest="network", causes=None, find=(), **more):
    """Expectation of calls: accused is who had most of their time; `find` holds where they are slow enough to be judged."""
    causes = {**CAUSES, **(causes or {})}
    took = [(c["t_done_ns"] - c["t_start_ns"]) / 1e6 for c in calls]
    mean, p99 = sum(took) / len(took), truth.percentile(took, 99)
    expected = expect.of_calls(sides(calls, path_ms, rest), mean, p99, causes, **more)
    # Each connection waits for each answer: that never more than so many are outstanding is true, and no fault.
    expected.forbid = [c for c in expected.forbid if c != "client-concurrency-cap"]
    if expected.side == ["none"]:
        return _or_not(expected, causes) if mean > 0.8 * expect.FAST_ENOUGH_MS or p99 > 0.5 * expect.TAIL_MS else expected
    expected.find = list(find)
    if "network" in expected.side and trips_fill(calls, path_ms) > 0.4:
        # Who waits for a round trip before each next small call could have sent larger ones: the client's doing too.
        _also(expected, ["client", "mixed"], ["chatty", "small-writes"])
    if mean < 1.25 * expect.FAST_ENOUGH_MS and p99 < 2 * expect.TAIL_MS:
        # So near to what is fast enough that the packets, which see less than the applications, may be below it.
        _also(expected, ["none"], [None])
        expected.find = []
    return expected


def _or_not(healthy, causes):
    """The calls are just fast enough for the applications' clocks; who says that they are not is not far off."""
    return expect.Expectation(
        side=[*healthy.side, *expect.SIDES, "mixed"],
        cause=[None, "chatty", "small-writes", *sorted({c for v in causes.values() for c in v})],
        alone=healthy.alone,
    )


def _also(expected, more_sides, more_causes):
    expected.side = list(dict.fromkeys([*expected.side, *more_sides]))
    if expected.cause:
        expected.cause = list(dict.fromkeys([*expected.cause, *more_causes]))


def trips_fill(calls, path_ms):
    """The share of a connection's life that is round trips of single calls."""
    first = [c for c in calls if c["conn"] == 0]
    return len(first) * path_ms * 1e6 / (first[-1]["t_done_ns"] - first[0]["t_start_ns"])


@kind(
    "tcp-delay",
    "requests and responses over a path that takes long, the same both ways or not",
    mild=dict(out_ms=1, back_ms=2),
    harsh=dict(out_ms=2, back_ms=28),
    healthy=dict(out_ms=0.1, back_ms=0.3),
    draw=lambda d: dict(
        out_ms=d.log_uniform(0.2, 40),
        back_ms=d.log_uniform(0.2, 40),
        think_ms=d.log_uniform(1, 50),
        request=int(d.log_uniform(40, 3000)),
        response=int(d.log_uniform(40, 8000)),
        timestamps=d.random() < 0.7,
    ),
)
def delay(case, out_ms, back_ms, think_ms=10, request=200, response=2000, timestamps=True):
    _, calls = recorded(
        case,
        wire=delays(out_ms, back_ms),
        bench=dict(timestamps=timestamps),
        mode="rr",
        req=[request],
        resp=[response],
        think_us=think_ms * 1000,
        think_distribution="exponential",
        n=count(4.5, out_ms + back_ms + think_ms),
    )
    return judged(
        calls, out_ms + back_ms, forbid=["network-loss", "server-slow", "nagle-delayed-ack", "receive-window-limited", "capture-incomplete"]
    )


@kind(
    "tcp-service",
    "a server that takes long for its answers, request by request",
    mild=dict(service_ms=4),
    harsh=dict(service_ms=40, jobs=4),
    healthy=dict(service_ms=0.3, think_ms=6),
    rare=dict(service_ms=60, share=0.1),
    draw=lambda d: dict(
        service_ms=d.log_uniform(0.5, 100),
        share=d.choice([1, 1, 0.5, 0.1]),
        jobs=d.choice([1, 2, 6]),
        rtt_ms=d.log_uniform(0.1, 20),
        distribution=d.choice(["fixed", "exponential"]),
        response=int(d.log_uniform(40, 30000)),
        think_ms=d.choice([0, 2, 20]),
    ),
)
def service(case, service_ms, share=1, jobs=1, rtt_ms=0.6, distribution="exponential", response=1200, think_ms=2):
    _, calls = recorded(
        case,
        wire=delays(rtt_ms / 2),
        mode="rr",
        req=[120],
        resp=[response],
        jobs=jobs,
        svc_us=service_ms * 1000,
        svc_share=share,
        distribution=distribution,
        think_us=think_ms * 1000,
        n=count(4.5, service_ms * share + rtt_ms + think_ms + 0.3, 1500 // jobs),
    )
    return judged(calls, rtt_ms, forbid=["network-loss", "nagle-delayed-ack", "receive-window-limited", "capture-incomplete"])


@kind(
    "tcp-chatty",
    "row by row: each row is asked for by a round trip of its own",
    mild=dict(rtt_ms=3),
    harsh=dict(rtt_ms=20),
    healthy=dict(rtt_ms=0.15, think_ms=2),
    draw=lambda d: dict(rtt_ms=d.log_uniform(2.6, 60), row=int(d.log_uniform(30, 900)), service_ms=d.log_uniform(0.05, 1), jobs=d.choice([1, 1, 3])),
)
def chatty(case, rtt_ms, row=180, service_ms=0.1, think_ms=0, jobs=1):
    _, calls = recorded(
        case,
        wire=delays(rtt_ms / 2),
        mode="rr",
        req=[64],
        resp=[row],
        svc_us=service_ms * 1000,
        jobs=jobs,
        think_us=think_ms * 1000,
        n=count(4.5, rtt_ms + service_ms + think_ms + 0.2),
    )
    return judged(calls, rtt_ms, find=["chatty"], forbid=["network-loss", "server-slow", "receive-window-limited", "capture-incomplete"])


@kind(
    "tcp-write-size",
    "replication that waits for a short answer to each write: 8156, 64000, 65488, 65535 bytes",
    mild=dict(write=8156, rtt_ms=2.2),
    harsh=dict(write=8156, rtt_ms=12),
    healthy=dict(write=64000, rtt_ms=0.3, remote_ms=0.1),
    fits=dict(write=64000, rtt_ms=4),
    split=dict(write=65488, rtt_ms=1),
    limit=dict(write=65535, rtt_ms=1),
    frames=dict(write=65488, rtt_ms=4, offload=False),
    draw=lambda d: dict(
        write=d.choice([2048, 8156, 32768, 64000, 65488, 65535]),
        rtt_ms=d.log_uniform(0.5, 20),
        remote_ms=d.log_uniform(0.1, 3),
        offload=d.random() < 0.7,
        think_ms=d.choice([0.5, 0.5, 8]),
    ),
)
def write_size(case, write, rtt_ms, remote_ms=0.3, think_ms=0.5, offload=True):
    n = count(4.5, rtt_ms + remote_ms + think_ms + 0.5, 250 if not offload and write > 9000 else 1000)
    _, calls = recorded(
        case,
        wire=delays(rtt_ms / 2),
        bench=dict(timestamps=False, offload=offload),
        mode="rr",
        req=[write],
        resp=[36],
        svc_us=remote_ms * 1000,
        think_us=think_ms * 1000,
        n=n,
    )
    # Without time stamps 64,240 bytes are 44 segments of 1460: the most that leaves in one go. On longer paths Linux cuts by its pace too.
    torn = offload and write > 64240
    causes = {
        "client": [*CAUSES["client"], "small-writes", "chatty", *(["split-writes"] if torn else [])],
        "network": ["network-delay", "chatty", "small-writes"],
    }
    small = [["small-writes", "chatty"]] if write < 9000 and rtt_ms > 2 * remote_ms and trips_fill(calls, rtt_ms) > 0.5 else []
    expected = judged(
        calls,
        rtt_ms,
        causes=causes,
        find=small,
        forbid=["network-loss", "receive-window-limited", "nagle-delayed-ack", "split-writes", "capture-incomplete"],
    )
    if torn:
        expected.forbid = [c for c in expected.forbid if c != "split-writes"]
        expected.find = [*expected.find, *(["split-writes"] if rtt_ms <= 1.2 else [])]
    expected.skip = [*expected.skip, "one_way"]
    return expected


@kind(
    "tcp-big-requests",
    "requests of 60 kB with think time between, over a path that takes long",
    mild=dict(rtt_ms=3),
    harsh=dict(rtt_ms=40),
    healthy=dict(rtt_ms=0.2),
    draw=lambda d: dict(
        rtt_ms=d.log_uniform(0.2, 60),
        size=int(d.log_uniform(20000, 200000)),
        think_ms=d.log_uniform(5, 400),
        offload=d.random() < 0.7,
        timestamps=d.random() < 0.5,
    ),
)
def big_requests(case, rtt_ms, size=60000, think_ms=20, offload=True, timestamps=True):
    _, calls = recorded(
        case,
        wire=delays(rtt_ms / 2),
        bench=dict(offload=offload, timestamps=timestamps),
        mode="rr",
        req=[size],
        resp=[200],
        think_us=think_ms * 1000,
        n=count(4.5, rtt_ms + think_ms + 1, 250, 12),
    )
    causes = {"network": ["network-delay", "small-writes", "chatty"]}
    return judged(
        calls,
        rtt_ms,
        causes=causes,
        skip=["one_way"],
        forbid=["network-loss", "server-slow", "nagle-delayed-ack", "network-bandwidth", "capture-incomplete"],
    )


@kind(
    "tcp-busy-calls",
    "healthy: short requests and answers on several connections, think time between",
    mild=dict(rtt_ms=0.1, jobs=2),
    harsh=dict(rtt_ms=0.9, jobs=6, think_ms=4),
    healthy=None,
    draw=lambda d: dict(
        rtt_ms=d.log_uniform(0.05, 1.0),
        jobs=d.randint(1, 8),
        think_ms=d.log_uniform(3, 30),
        request=int(d.log_uniform(40, 4000)),
        response=int(d.log_uniform(40, 20000)),
        service_ms=d.log_uniform(0.01, 0.3),
    ),
)
def busy_calls(case, rtt_ms, jobs, think_ms=3, request=300, response=4000, service_ms=0.1):
    think_ms = max(think_ms, jobs)
    _, calls = recorded(
        case,
        wire=delays(rtt_ms / 2),
        mode="rr",
        req=[request],
        resp=[response],
        jobs=jobs,
        svc_us=service_ms * 1000,
        think_us=think_ms * 1000,
        think_distribution="exponential",
        n=count(4.5, rtt_ms + think_ms + service_ms + 0.3, 1600 // jobs),
    )
    return judged(calls, rtt_ms)


@kind(
    "tcp-busy-bulk",
    "healthy: a stream as fast as this machine carries it",
    mild=dict(rtt_ms=0.2),
    harsh=dict(rtt_ms=4, direction="down"),
    healthy=None,
    draw=lambda d: dict(
        rtt_ms=d.log_uniform(0.1, 8), direction=d.choice(["up", "down"]), megabytes=d.choice([80, 120]), congestion=d.choice(["cubic", "bbr"])
    ),
)
def busy_bulk(case, rtt_ms, direction="up", megabytes=100, congestion="cubic"):
    recorded(
        case,
        wire=delays(rtt_ms / 2),
        bench=dict(congestion=congestion),
        mode="bulk",
        direction=direction,
        bytes=megabytes * 1000000,
        write=262144,
        read=1 << 20,
    )
    return expect.healthy(skip=["one_way"])
