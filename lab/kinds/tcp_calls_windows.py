"""Large messages over a path that takes long: what TCP lets go in a round trip, by its congestion window, by a buffer at the
sender, by one at the receiver."""

from kinds.tcp import count, delays, judged, recorded
from kit import expect
from kit.kinds import kind

BOTH = ["--client", "client.pcap", "--server", "server.pcap"]
NEVER = ["network-loss", "server-slow", "nagle", "nagle-delayed-ack", "receive-window-limited", "sender-application-limited", "capture-incomplete"]


def large(case, size, rtt_ms, direction, think_ms, passing_ms, offload, **told):
    """Calls of which one message is large."""
    up = direction == "up"
    _, calls = recorded(
        case,
        wire=delays(rtt_ms / 2),
        bench=dict(offload=offload),
        mode="rr",
        req=[size if up else 200],
        resp=[200 if up else size],
        think_us=think_ms * 1000,
        n=count(6, passing_ms + rtt_ms + think_ms, 60, 9),
        **told,
    )
    return calls


def says(expected, finding, side, ends, told):
    """What must be said where the packets tell: from both ends, and from one."""
    expected.runs = [
        expect.run(f"at {name}", "diagnose", args, side=[side], cause=[finding], find=[finding], first=[told], forbid=NEVER)
        for name, args in {"both ends": BOTH, **ends}.items()
    ]
    return expected


@kind(
    "tcp-slow-start",
    "large requests after pauses, over a path that takes long: TCP begins small each time",
    field_case="K45",
    mild=dict(size=150_000, rtt_ms=20),
    harsh=dict(size=400_000, rtt_ms=50),
    healthy=dict(size=100_000, rtt_ms=0.2),
    draw=lambda d: dict(size=int(d.log_uniform(60_000, 600_000)), rtt_ms=d.log_uniform(8, 80), offload=d.random() < 0.5),
)
def slow_start(case, size, rtt_ms, offload=True):
    calls = large(case, size, rtt_ms, "up", 600, 4 * rtt_ms, offload)
    expected = judged(calls, rtt_ms, causes={"network": ["slow-start", "network-delay"]}, skip=["one_way"], forbid=[*NEVER, "small-send-buffer"])
    if expected.side == ["network"] and rtt_ms >= 40:
        says(expected, "slow-start", "network", {"the client": ["--client", "client.pcap"]}, "(?i)the network is slow: messages leave in round trip after")
    return expected


@kind(
    "tcp-send-buffer",
    "large messages from a sender whose buffer holds little (SO_SNDBUF), over a path that takes long",
    field_case="K46",
    mild=dict(size=300_000, rtt_ms=10, buffer=20_000),
    harsh=dict(size=500_000, rtt_ms=20, buffer=12_000),
    healthy=dict(size=100_000, rtt_ms=0.2, buffer=16_000),
    responses=dict(size=900_000, rtt_ms=20, buffer=20_000, direction="down"),
    draw=lambda d: dict(
        size=int(d.log_uniform(300_000, 900_000)), rtt_ms=d.log_uniform(5, 30), buffer=int(d.log_uniform(10_000, 30_000)),
        direction=d.choice(["up", "down"]),
    ),
)
def send_buffer(case, size, rtt_ms, buffer, direction="up"):
    sender, end = ("client", "c") if direction == "up" else ("server", "s")
    calls = large(case, size, rtt_ms, direction, 100, rtt_ms * size / (2 * buffer), False, **{f"sndbuf_{end}": buffer})
    expected = judged(calls, rtt_ms, rest=sender, causes={sender: ["small-send-buffer"]}, skip=["one_way"], forbid=[*NEVER, "small-window"])
    if expected.side == [sender]:
        says(
            expected,
            "small-send-buffer",
            sender,
            {f"the {sender}": [f"--{sender}", f"{sender}.pcap"]},
            rf"(?i)the {sender} is slow: the {sender}'s send buffer is too small for this path",
        )
    return expected


@kind(
    "tcp-receive-buffer",
    "large messages to a receiver whose window is small (SO_RCVBUF), over a path that takes long",
    field_case="K47",
    mild=dict(size=200_000, rtt_ms=10, buffer=24_000),
    harsh=dict(size=300_000, rtt_ms=20, buffer=12_000),
    healthy=dict(size=100_000, rtt_ms=0.2, buffer=16_000),
    requests=dict(size=300_000, rtt_ms=20, buffer=16_000, direction="up"),
    draw=lambda d: dict(
        size=int(d.log_uniform(200_000, 600_000)), rtt_ms=d.log_uniform(5, 30), buffer=int(d.log_uniform(10_000, 30_000)),
        direction=d.choice(["up", "down"]),
    ),
)
def receive_buffer(case, size, rtt_ms, buffer, direction="down"):
    receiver, end = ("server", "s") if direction == "up" else ("client", "c")
    sender = "client" if direction == "up" else "server"
    calls = large(case, size, rtt_ms, direction, 100, rtt_ms * size / buffer, True, **{f"rcvbuf_{end}": buffer})
    forbid = [c for c in NEVER if c != "receive-window-limited"]
    expected = judged(calls, rtt_ms, rest=receiver, causes={receiver: ["small-window"]}, skip=["one_way"], forbid=[*forbid, "small-send-buffer"])
    if expected.side == [receiver]:
        ends = {f"the {who}": [f"--{who}", f"{who}.pcap"] for who in (sender, receiver)}
        if direction == "up":
            # Where requests arrive small pieces hide which wait was the window's.
            del ends["the server"]
        says(expected, "small-window", receiver, ends, rf"(?i)the {receiver} is slow: the {receiver}'s receive window is too small")
    return expected
