"""Calls over plain TCP that a host holds: small writes with Nagle's algorithm on, readers that do not read."""

from kinds.tcp import count, delays, judged, recorded
from kit.kinds import kind

HELD = ["nagle-delayed-ack", "nagle"]
NOT_READING = ["receive-window-limited", "small-window"]


def _in_two_pieces(case, who, *, first, second, share=1, rtt_ms=1, nodelay=False, offload=True, think_ms=3):
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
        n=count(5, rtt_ms + held_ms + think_ms),
    )
    return judged(
        calls,
        rtt_ms,
        rest="network" if nodelay else who,
        causes={who: HELD},
        forbid=["server-slow", "server-stall", "network-loss", "capture-incomplete"],
    )


_PIECES = dict(
    mild=dict(share=0.1),
    harsh=dict(),
    healthy=dict(nodelay=True),
    draw=lambda d: dict(
        share=d.choice([0.08, 0.3, 1, 1]),
        rtt_ms=d.log_uniform(0.2, 15),
        first=int(d.log_uniform(1, 600)),
        second=int(d.log_uniform(20, 800)),
        offload=d.random() < 0.7,
        think_ms=d.choice([0, 3, 10]),
    ),
)


@kind("tcp-nagle-client", "the client writes a request in two pieces, Nagle's algorithm on, and the server delays its acknowledgement", **_PIECES)
def nagle_client(case, first=4, second=200, **told):
    return _in_two_pieces(case, "client", first=first, second=second, **told)


@kind("tcp-nagle-server", "the server writes a response in two pieces, Nagle's algorithm on, and the client delays its acknowledgement", **_PIECES)
def nagle_server(case, first=40, second=600, **told):
    return _in_two_pieces(case, "server", first=first, second=second, **told)


def _read_slowly(case, who, *, pause_ms, buffer=16384, rtt_ms=0.5, size=160000, service_ms=0):
    """One end pauses after each 8 kB that it reads of the other's big messages."""
    end = who[0]
    reading = {f"read_{end}": 8192, f"read_sleep_us_{end}": pause_ms * 1000, f"rcvbuf_{end}": buffer} if pause_ms else {}
    sizes = dict(req=[100], resp=[size]) if who == "client" else dict(req=[size], resp=[100])
    _, calls = recorded(
        case,
        wire=delays(rtt_ms / 2),
        mode="rr",
        **sizes,
        think_us=10000,
        svc_us=service_ms * 1000,
        **reading,
        n=count(4.5, size / 8192 * pause_ms + rtt_ms + service_ms + 12, 250, 12),
    )
    # Who reads its requests late is a slow server, too.
    slow = ["server-slow"]
    return judged(
        calls,
        rtt_ms,
        rest=who if pause_ms else "network",
        causes={who: [*NOT_READING, *(slow if who == "server" else [])]},
        skip=["one_way"],
        forbid=["network-loss", "network-bandwidth", "nagle-delayed-ack", "capture-incomplete", *(slow if who == "client" else [])],
    )


_READERS = dict(
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


@kind("tcp-slow-response-reader", "a client that reads its responses slowly, with a small receive buffer", **_READERS)
def slow_response_reader(case, **told):
    return _read_slowly(case, "client", **told)


@kind("tcp-slow-request-reader", "a server that reads big requests slowly, with a small receive buffer", **_READERS)
def slow_request_reader(case, **told):
    return _read_slowly(case, "server", **told)
