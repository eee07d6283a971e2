"""Calls over plain TCP through narrow lines and full queues."""

from kinds.tcp import NODELAY, count, delays, judged, recorded
from kit import expect
from kit.apps import tcpapp
from kit.kinds import kind

NARROW = ["network-bandwidth", "network-bufferbloat"]


@kind(
    "tcp-narrow-requests",
    "big requests (or responses) over a narrow line, think time between",
    mild=dict(mbit=40),
    harsh=dict(mbit=5),
    healthy=dict(mbit=0),
    responses=dict(mbit=10, direction="down"),
    draw=lambda d: dict(
        mbit=d.log_uniform(3, 60),
        size=int(d.log_uniform(30000, 250000)),
        rtt_ms=d.log_uniform(0.4, 8),
        think_ms=d.log_uniform(5, 200),
        direction=d.choice(["up", "down"]),
        offload=d.random() < 0.6,
    ),
)
def narrow_requests(case, mbit, size=60000, rtt_ms=1, think_ms=20, direction="up", offload=True):
    # A queue in which a whole request fits: nothing is lost.
    line = [f"{'c2s' if direction == 'up' else 's2c'} rate_mbit={mbit} queue_kb={size * 1.2 / 1024 + 64:.0f}"] if mbit else []
    passing_ms = size * 8.5e-3 / mbit if mbit else 0.5
    sizes = dict(req=[size], resp=[200]) if direction == "up" else dict(req=[200], resp=[size])
    path_ms = rtt_ms if mbit else 0.3
    _, calls = recorded(
        case,
        wire=[*delays(path_ms / 2), *line],
        bench=dict(offload=offload),
        mode="rr",
        **sizes,
        think_us=think_ms * 1000,
        n=count(4.5, passing_ms + rtt_ms + think_ms, 250, 12),
    )
    longer = [*NARROW, "network-delay"] if passing_ms < 3 * rtt_ms else NARROW
    return judged(
        calls,
        path_ms,
        causes={"network": longer},
        skip=["one_way"],
        forbid=["network-loss", "server-slow", "nagle-delayed-ack", "receive-window-limited", "capture-incomplete"],
    )


@kind(
    "tcp-shared-line",
    "large responses of several connections at a time over a narrow line: their TCP goes by losses, or paces what it sends (BBR)",
    mild=dict(mbit=50),
    harsh=dict(mbit=10),
    healthy=dict(mbit=0, size=30000),
    paced=dict(mbit=10, congestion="bbr"),
    draw=lambda d: dict(
        mbit=d.log_uniform(6, 60),
        size=int(d.log_uniform(100000, 400000)),
        jobs=d.randint(2, 4),
        queue_kb=int(d.log_uniform(60, 400)),
        congestion=d.choice(["cubic", "bbr"]),
    ),
)
def shared_line(case, mbit, size=300000, jobs=3, queue_kb=200, congestion="cubic"):
    line = [f"s2c rate_mbit={mbit} queue_kb={queue_kb}"] if mbit else []
    passing_ms = jobs * size * 8.5e-3 / mbit if mbit else 1
    recorded(
        case,
        wire=[*delays(0.2), *line],
        bench=dict(congestion=congestion),
        mode="rr",
        req=[200],
        resp=[size],
        jobs=jobs,
        think_us=10_000,
        n=count(4.5, passing_ms + 10, 100, 4),
    )
    if not mbit:
        return expect.healthy()
    never = ["server-slow", "server-stall", "sender-application-limited", "receive-window-limited", "small-window"]
    return expect.Expectation(side=["network"], find=[[*NARROW, "network-loss"]], forbid=never, skip=["one_way"])


@kind(
    "tcp-full-queue",
    "short requests beside a stream that fills a deep queue, in either direction",
    mild=dict(mbit=20, queue_ms=80),
    harsh=dict(mbit=8, queue_ms=400),
    healthy=dict(mbit=0),
    down=dict(mbit=20, queue_ms=200, direction="down"),
    draw=lambda d: dict(
        mbit=d.log_uniform(4, 30), queue_ms=d.log_uniform(60, 500), rtt_ms=d.log_uniform(0.5, 20), direction=d.choice(["up", "down"])
    ),
)
def full_queue(case, mbit, queue_ms=100, rtt_ms=2, direction="up"):
    line = [f"{'c2s' if direction == 'up' else 's2c'} rate_mbit={mbit} queue_kb={mbit * queue_ms / 8:.0f}"] if mbit else []
    path_ms = rtt_ms if mbit else 0.3
    with case.bench() as b:
        for said in [*delays(path_ms / 2), *line]:
            b.wire(said)
        with b.capture():
            stream = (
                tcpapp.begin(b, name="stream_", port=9001, mode="bulk", direction=direction, write=65536, read=262144, bytes=int(5 * mbit * 125000))
                if mbit
                else None
            )
            tcpapp.run(
                b, mode="rr", req=[120], resp=[400], think_us=10000, n=count(4, 10 + path_ms + (0.7 * queue_ms if mbit else 0.3), 400, 10), **NODELAY
            )
            if stream:
                tcpapp.end(b, stream)
        calls = tcpapp.calls(b)
    return judged(
        calls,
        path_ms,
        causes={"network": [*NARROW, "network-delay", "network-loss"]},
        skip=["one_way"],
        forbid=["server-slow", "nagle-delayed-ack", "receive-window-limited", "capture-incomplete"],
    )
