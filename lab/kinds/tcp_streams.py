"""Streams over plain TCP: what held the sender for most of the elapsed time, by the kernel's own count (TCP_INFO).

Each kind goes "up" (the client sends) or "down" (it asks with one byte, and the server sends).
"""

from kinds.tcp import delays, paced_transfers, recorded
from kit import expect
from kit.apps import tcpapp
from kit.kinds import kind

NOT_READING = ["receive-window-limited", "small-window"]
NOT_FED = {"client": ["sender-application-limited", "client-think"], "server": ["sender-application-limited", "server-slow", "server-stall"]}
_WAYS = ["up", "up", "down"]


def ends(direction):
    """(sender, receiver)"""
    return ("client", "server") if direction == "up" else ("server", "client")


def streams(name, title, **sets):
    """Declares a kind of streams, whose healthy twin is `unhindered`."""

    def declare(record):
        def either(case, hindered=True, direction="up", **told):
            return record(case, direction, **told) if hindered else unhindered(case, direction)

        kind(name, title, healthy=dict(hindered=False), **sets)(either)
        return record

    return declare


def stream(case, direction, rtt_ms, line=None, *, bench=None, **told):
    """Records a stream over a path that does `line` to what the sender sends; returns what held the sender, in seconds. Both
    applications read and write without pause unless told."""
    told = {"write": 65536, "read": 262144, "bytes": 40_000_000, "secs": 4.5, **told}
    app, _ = recorded(case, wire=path(direction, rtt_ms, line), bench=bench, mode="bulk", direction=direction, nodelay_c=0, nodelay_s=0, **told)
    case.truth["limits_s"] = limits = tcpapp.limits(app)
    return limits


def path(direction, rtt_ms, line):
    return [*delays(rtt_ms / 2), *([f"{_way(direction)} {line}"] if line else [])]


def _way(direction):
    return "c2s" if direction == "up" else "s2c"


def unhindered(case, direction):
    """As many bytes, in pieces with pauses between. A stream without a pause is held by something, always: here by this
    machine's processor, which must wait in turn for the applications, the wire and the captures."""
    return paced_transfers(case, direction=direction, size=65536, rtt_ms=0.2, think_ms=8)


def judged(limits, direction, network_causes=(), **more):
    sender, receiver = ends(direction)
    seconds = {"network": limits["network"], sender: limits["application"] + limits["buffer"], receiver: limits["window"]}
    expected_sides = expect.sides_of(seconds)
    causes = {"network": list(network_causes), sender: NOT_FED[sender], receiver: NOT_READING}
    allowed = sorted({c for s in (expect.SIDES if "mixed" in expected_sides else expected_sides) for c in causes[s]})
    # A stream is one call at most: there are no mean delays of its requests.
    return expect.Expectation(side=expected_sides, cause=allowed or None, skip=["one_way"], **more)


@streams(
    "tcp-slow-reader",
    "the receiving application reads slowly: the window closes",
    mild=dict(read=65536, pause_ms=10, buffer=65536),
    harsh=dict(read=8192, pause_ms=20, buffer=16384),
    down=dict(read=16384, pause_ms=10, buffer=32768, direction="down"),
    draw=lambda d: dict(
        read=d.choice([4096, 8192, 32768, 131072]),
        pause_ms=d.log_uniform(4, 60),
        buffer=d.choice([8192, 32768, 131072]),
        rtt_ms=d.log_uniform(0.2, 10),
        direction=d.choice(_WAYS),
        timestamps=d.random() < 0.7,
    ),
)
def slow_reader(case, direction, pause_ms, read=65536, buffer=0, rtt_ms=2, timestamps=True):
    _, receiver = ends(direction)
    reading = {f"read_{receiver[0]}": read, f"read_sleep_us_{receiver[0]}": pause_ms * 1000, f"rcvbuf_{receiver[0]}": buffer}
    limits = stream(case, direction, rtt_ms, bench=dict(timestamps=timestamps), **reading)
    return judged(limits, direction, forbid=["network-loss", "network-bandwidth", "capture-incomplete"])


@streams(
    "tcp-small-window",
    "a fast reader whose receive buffer is too small for the path",
    mild=dict(buffer=98304, rtt_ms=10),
    harsh=dict(buffer=16384, rtt_ms=30),
    down=dict(buffer=49152, rtt_ms=20, direction="down"),
    draw=lambda d: dict(buffer=int(d.log_uniform(8192, 131072)), rtt_ms=d.log_uniform(5, 60), direction=d.choice(_WAYS), timestamps=d.random() < 0.7),
)
def small_window(case, direction, buffer, rtt_ms, timestamps=True):
    _, receiver = ends(direction)
    # Linux gives about as much window as was asked for.
    limits = stream(case, direction, rtt_ms, bench=dict(timestamps=timestamps), **{f"rcvbuf_{receiver[0]}": buffer})
    return judged(limits, direction, ["network-delay"], forbid=["network-loss", "network-bandwidth", "capture-incomplete"])


@streams(
    "tcp-scaling-stripped",
    "a firewall takes the option that scales windows out of both SYNs: no window is above 64 kB",
    mild=dict(rtt_ms=15),
    harsh=dict(rtt_ms=60),
    down=dict(rtt_ms=40, direction="down"),
    draw=lambda d: dict(rtt_ms=d.log_uniform(12, 100), direction=d.choice(_WAYS)),
)
def scaling_stripped(case, direction, rtt_ms):
    with case.bench(routed=True) as b:
        for line in delays(rtt_ms / 4):
            b.wire(line)
        b.forward("tcp flags syn reset tcp option window")
        with b.capture():
            told = dict(write=65536, read=262144, bytes=40_000_000, secs=4.5, nodelay_c=0, nodelay_s=0)
            app = tcpapp.run(b, mode="bulk", direction=direction, **told)
    case.truth["limits_s"] = limits = tcpapp.limits(app)
    if limits["window"] < 0.8 * limits["elapsed"]:
        raise RuntimeError("the window was not what held it")
    # From one end nobody knows whether the other host offers no scaling; without the SYNs nobody knows of it at all.
    both = expect.run("at both ends", "diagnose", ["client.pcap", "server.pcap"], side=["network"], cause=["window-scaling-off"], forbid=["small-window"])
    return expect.Expectation(
        side=["network"],
        cause=["window-scaling-off"],
        forbid=["network-loss", "network-bandwidth", "capture-incomplete"],
        skip=["one_way"],
        runs=[both],
    )


@streams(
    "tcp-slow-sender",
    "the sending application pauses between its writes",
    mild=dict(pause_ms=8),
    harsh=dict(pause_ms=60, write=4096),
    down=dict(pause_ms=20, direction="down"),
    draw=lambda d: dict(
        pause_ms=d.log_uniform(8, 150),
        write=d.choice([2000, 16384, 65536]),
        rtt_ms=d.log_uniform(0.2, 8),
        direction=d.choice(_WAYS),
        distribution=d.choice(["fixed", "exponential"]),
    ),
)
def slow_sender(case, direction, pause_ms, write=16384, rtt_ms=4, distribution="fixed"):
    limits = stream(case, direction, rtt_ms, write=write, think_us=pause_ms * 1000, think_distribution=distribution)
    return judged(limits, direction, ["network-delay"], forbid=["network-bandwidth", "receive-window-limited", "network-loss", "capture-incomplete"])


# ---- the network

LOSS = ["network-loss"]


@streams(
    "tcp-loss-upload",
    "a stream whose frames get lost at random",
    mild=dict(loss=0.002),
    harsh=dict(loss=0.03),
    frames=dict(loss=0.005, offload=False),
    bbr=dict(loss=0.01, congestion="bbr"),
    down=dict(loss=0.005, direction="down"),
    draw=lambda d: dict(
        loss=d.log_uniform(0.002, 0.05),
        rtt_ms=d.log_uniform(8, 60),
        congestion=d.choice(["cubic", "cubic", "bbr"]),
        offload=d.random() < 0.6,
        direction=d.choice(_WAYS),
    ),
)
def loss_upload(case, direction, loss, rtt_ms=20, congestion="cubic", offload=True):
    return _lossy(case, direction, rtt_ms, f"loss={loss}", congestion, offload)


@streams(
    "tcp-loss-burst",
    "a stream whose frames get lost in bursts (Gilbert-Elliott)",
    mild=dict(enter=0.0005),
    harsh=dict(enter=0.004),
    draw=lambda d: dict(
        enter=d.log_uniform(0.0005, 0.006),
        leave=d.choice([0.1, 0.2, 0.4]),
        rtt_ms=d.log_uniform(5, 50),
        offload=d.random() < 0.6,
        congestion=d.choice(["cubic", "cubic", "bbr"]),
        direction=d.choice(_WAYS),
    ),
)
def loss_burst(case, direction, enter, leave=0.2, rtt_ms=20, congestion="cubic", offload=True):
    return _lossy(case, direction, rtt_ms, f"ge_p={enter} ge_r={leave} ge_h=0.8", congestion, offload)


def _lossy(case, direction, rtt_ms, line, congestion, offload):
    limits = stream(case, direction, rtt_ms, line, bench=dict(offload=offload, congestion=congestion))
    lost = case.truth["wire_measured"][_way(direction)]["dropped_tcp_data_frames"]
    bbr = congestion == "bbr"
    # BBR goes on at the rate that it measures: the path's own, or this machine's.
    causes = [*LOSS, *(["network-bandwidth", "network-delay", "network-bufferbloat"] if bbr else [])]
    expected = judged(limits, direction, causes, find=LOSS if lost >= 5 else [], forbid=["receive-window-limited", "capture-incomplete"])
    if bbr or lost < 5:
        expected.side = list(dict.fromkeys([*expected.side, "none"]))
        expected.cause = [*expected.cause, None]
    # A loss each second or so may leave the middle third without one.
    if lost < 15:
        expected.without = {k: ["network", "none"] for k in ("window", "cut out", "no beginning")}
    return expected


@streams(
    "tcp-narrow-line",
    "a stream through a narrow line with a short queue",
    mild=dict(mbit=40),
    harsh=dict(mbit=4),
    down=dict(mbit=20, direction="down"),
    draw=lambda d: dict(
        mbit=d.log_uniform(2, 60),
        queue_ms=d.log_uniform(10, 30),
        rtt_ms=d.log_uniform(4, 40),
        direction=d.choice(_WAYS),
        offload=d.random() < 0.6,
        congestion=d.choice(["cubic", "cubic", "bbr"]),
    ),
)
def narrow_line(case, direction, mbit, queue_ms=20, rtt_ms=10, offload=True, congestion="cubic"):
    line = f"rate_mbit={mbit} queue_kb={max(16, mbit * queue_ms / 8):.0f}"
    limits = stream(case, direction, rtt_ms, line, bench=dict(offload=offload, congestion=congestion))
    causes = ["network-bandwidth", "network-bufferbloat", *([] if queue_ms >= rtt_ms else LOSS)]
    return judged(
        limits,
        direction,
        causes,
        find=[["network-bandwidth", "network-bufferbloat", "network-loss"]],
        forbid=["receive-window-limited", "capture-incomplete"],
    )


@streams(
    "tcp-bufferbloat",
    "a stream through a narrow line with a deep queue",
    mild=dict(mbit=30, queue_ms=150),
    harsh=dict(mbit=10, queue_ms=600),
    down=dict(mbit=20, queue_ms=300, direction="down"),
    draw=lambda d: dict(
        mbit=d.log_uniform(3, 40), queue_ms=d.log_uniform(150, 800), rtt_ms=d.log_uniform(2, 25), direction=d.choice(_WAYS), offload=d.random() < 0.6
    ),
)
def bufferbloat(case, direction, mbit, queue_ms=0, rtt_ms=10, offload=True):
    line = f"rate_mbit={mbit} queue_kb={mbit * queue_ms / 8:.0f}"
    limits = stream(case, direction, rtt_ms, line, bench=dict(offload=offload))
    waited = case.truth["wire_measured"][_way(direction)]["emulator_delay_ms"]["p50"] - rtt_ms / 2
    find = [["network-bufferbloat"]] if waited > max(2 * rtt_ms, 40) else []
    return judged(limits, direction, ["network-bandwidth", "network-bufferbloat"], find=find, forbid=["receive-window-limited", "capture-incomplete"])


@streams(
    "tcp-reordering",
    "a stream whose frames come late one by one, or twice; none is lost",
    mild=dict(share=0.005, late_ms=2),
    harsh=dict(share=0.04, late_ms=6),
    draw=lambda d: dict(
        share=d.log_uniform(0.005, 0.06),
        late_ms=d.log_uniform(1, 8),
        twice=d.choice([0, 0.003, 0.01]),
        mbit=d.log_uniform(10, 50),
        rtt_ms=d.log_uniform(4, 30),
        direction=d.choice(_WAYS),
    ),
)
def reordering(case, direction, share, late_ms=3, twice=0.003, mbit=40, rtt_ms=10):
    line = f"reorder={share} reorder_us={late_ms * 1000:.0f} dup={twice} rate_mbit={mbit} queue_kb=4096"
    limits = stream(case, direction, rtt_ms, line, bench=dict(offload=False), bytes=12_000_000)
    find = ["network-reordering"] if case.truth["wire_measured"][_way(direction)]["verdicts"].get("reorder", 0) >= 10 else []
    return judged(
        limits,
        direction,
        ["network-bandwidth", "network-bufferbloat", "network-reordering"],
        find=find,
        forbid=["network-loss", "receive-window-limited", "capture-incomplete"],
    )


@streams(
    "tcp-black-hole",
    "a path that drops big frames and says nothing (ICMP filtered)",
    mild=dict(mtu=1400),
    harsh=dict(mtu=600),
    down=dict(mtu=1300, direction="down"),
    draw=lambda d: dict(mtu=d.randint(576, 1480), rtt_ms=d.log_uniform(0.5, 30), direction=d.choice(["up", "down"]), offload=d.random() < 0.6),
)
def black_hole(case, direction, mtu, rtt_ms=2, offload=True):
    recorded(
        case,
        wire=path(direction, rtt_ms, f"mtu={mtu}"),
        bench=dict(offload=offload),
        mode="bulk",
        direction=direction,
        bytes=200_000,
        write=32768,
        sock_timeout=5,
    )
    return expect.Expectation(side=["network"], cause=["mtu-black-hole"], find=["mtu-black-hole"], forbid=["capture-incomplete"])
