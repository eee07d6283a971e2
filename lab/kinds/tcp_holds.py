"""Calls over plain TCP that a host holds: small writes with Nagle's algorithm on, readers that do not read."""

from kinds.tcp import count, delays, judged, recorded
from kit.kinds import kind

HELD = ["nagle-delayed-ack", "nagle"]
NOT_READING = ["receive-window-limited", "small-window"]


def _nagle(case, who, *, share, rtt_ms, first, second, nodelay, offload, think_ms=3):
    """A share of the messages of one end leaves in two writes, and its second one waits for the acknowledgement of the first."""
    sizes = dict(req=[first, second], resp=[400]) if who == "client" else dict(req=[120], resp=[first, second])
    flags = dict(nodelay_c=int(nodelay or who == "server"), nodelay_s=int(nodelay or who == "client"))
    # The end that delays its acknowledgements: a server that has answered before does, unless told to hurry.
    lazy = dict(quickack_s=0) if who == "client" else {}
    held_ms = 0 if nodelay else share * 42
    _, calls = recorded(
        case,
        wire=delays(rtt_ms / 2),
        bench=dict(offload=offload),
        mode="rr",
        **sizes,
        **flags,
        **lazy,
        split_share=share,
        think_us=think_ms * 1000,
        n=count(5, rtt_ms + held_ms + think_ms)
    )
    return judged(
        calls,
        rtt_ms,
        rest="network" if nodelay else who,
        causes={who: HELD},
        forbid=["server-slow", "server-stall", "network-loss", "capture-incomplete"],
    )


_NAGLE_DRAW = lambda d: dict(
    share=d.choice([0.08, 0.3, 1, 1]),
    rtt_ms=d.log_uniform(0.2, 15),
    first=int(d.log_uniform(1, 600)),
    second=int(d.log_uniform(20, 800)),
    offload=d.random() < 0.7,
    think_ms=d.choice([0, 3, 10]),
)


@kind(
    "tcp-nagle-client",
    "the client writes a request in two pieces, Nagle's algorithm on, and the server delays its acknowledgement",
    mild=dict(share=0.1),
    harsh=dict(),
    healthy=dict(nodelay=True),
    draw=_NAGLE_DRAW,
)
def nagle_client(case, share=1, rtt_ms=1, first=4, second=200, nodelay=False, offload=True, think_ms=3):
    return _nagle(case, "client", share=share, rtt_ms=rtt_ms, first=first, second=second, nodelay=nodelay, offload=offload, think_ms=think_ms)


@kind(
    "tcp-nagle-server",
    "the server writes a response in two pieces, Nagle's algorithm on, and the client delays its acknowledgement",
    mild=dict(share=0.1),
    harsh=dict(),
    healthy=dict(nodelay=True),
    draw=_NAGLE_DRAW,
)
def nagle_server(case, share=1, rtt_ms=1, first=40, second=600, nodelay=False, offload=True, think_ms=3):
    return _nagle(case, "server", share=share, rtt_ms=rtt_ms, first=first, second=second, nodelay=nodelay, offload=offload, think_ms=think_ms)


@kind(
    "tcp-slow-response-reader",
    "a client that reads its responses slowly, with a small receive buffer",
    mild=dict(pause_ms=0.5),
    harsh=dict(pause_ms=8),
    healthy=dict(pause_ms=0, buffer=0, size=60000),
    draw=lambda d: dict(
        pause_ms=d.log_uniform(0.8, 15),
        buffer=d.choice([8192, 16384, 32768]),
        rtt_ms=d.log_uniform(0.1, 1),
        size=int(d.log_uniform(120000, 400000)),
        service_ms=d.choice([0, 0, 2]),
    ),
)
def slow_response_reader(case, pause_ms, buffer=16384, rtt_ms=0.5, size=160000, service_ms=0):
    reading = dict(read_c=8192, read_sleep_us_c=pause_ms * 1000, rcvbuf_c=buffer) if pause_ms else {}
    _, calls = recorded(
        case,
        wire=delays(rtt_ms / 2),
        mode="rr",
        req=[100],
        resp=[size],
        think_us=10000,
        svc_us=service_ms * 1000,
        **reading,
        n=count(4.5, size / 8192 * pause_ms + rtt_ms + service_ms + 12, 250, 12)
    )
    return judged(
        calls,
        rtt_ms,
        rest="client" if pause_ms else "network",
        causes={"client": NOT_READING},
        skip=["one_way"],
        forbid=["network-loss", "network-bandwidth", "server-slow", "nagle-delayed-ack", "capture-incomplete"],
    )


@kind(
    "tcp-slow-request-reader",
    "a server that reads big requests slowly, with a small receive buffer",
    mild=dict(pause_ms=0.5),
    harsh=dict(pause_ms=8),
    healthy=dict(pause_ms=0, buffer=0, size=60000),
    draw=lambda d: dict(
        pause_ms=d.log_uniform(0.8, 15),
        buffer=d.choice([8192, 16384, 32768]),
        rtt_ms=d.log_uniform(0.1, 1),
        size=int(d.log_uniform(120000, 400000)),
        service_ms=d.choice([0, 0, 2]),
    ),
)
def slow_request_reader(case, pause_ms, buffer=16384, rtt_ms=0.5, size=160000, service_ms=0):
    reading = dict(read_s=8192, read_sleep_us_s=pause_ms * 1000, rcvbuf_s=buffer) if pause_ms else {}
    _, calls = recorded(
        case,
        wire=delays(rtt_ms / 2),
        mode="rr",
        req=[size],
        resp=[100],
        think_us=10000,
        svc_us=service_ms * 1000,
        **reading,
        n=count(4.5, size / 8192 * pause_ms + rtt_ms + service_ms + 12, 250, 12)
    )
    return judged(
        calls,
        rtt_ms,
        rest="server" if pause_ms else "network",
        causes={"server": [*NOT_READING, "server-slow"]},
        skip=["one_way"],
        forbid=["network-loss", "network-bandwidth", "nagle-delayed-ack", "capture-incomplete"],
    )
