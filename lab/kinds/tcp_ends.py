"""How connections over plain TCP begin and end: lost handshakes, full queues of connections, resets."""

from kinds.tcp import delays, recorded
from kit import expect
from kit.kinds import kind

# The calls themselves are fast: where the fault is left out, nobody is to blame.
CALLS = dict(mode="rr", req=[64], resp=[400], think_us=10000, n=200)
FINE_ELSEWHERE = {k: ["none"] for k in ("window", "cut out", "no beginning")}


def _slow_connect(app, side, retry_ms=900, **more):
    if app["client"]["connect_ms"] < retry_ms:
        return expect.healthy()
    # The middle third may hold the end of it: what was sent again, and its answer.
    without = {**FINE_ELSEWHERE, "window": ["none", side], "cut out": ["none", side]}
    return expect.Expectation(
        side=[side],
        cause=["slow-connect", *(["network-loss"] if side == "network" else [])],
        find=["slow-connect"],
        forbid=["server-slow", "capture-incomplete"],
        without=without,
        **more,
    )


def _lost_handshakes(most):
    return dict(
        mild=dict(lost=1),
        harsh=dict(lost=2),
        healthy=dict(lost=0),
        draw=lambda d: dict(lost=d.randint(1, most), rtt_ms=d.log_uniform(0.1, 1.2)),
    )


@kind("tcp-syn-loss", "the first SYNs are lost", **_lost_handshakes(2))
def syn_loss(case, lost, rtt_ms=0.8):
    app, _ = recorded(case, wire=[*delays(rtt_ms / 2), f"c2s dropsyn={lost}"], **CALLS)
    return _slow_connect(app, "network")


@kind("tcp-synack-loss", "the first SYN/ACKs are lost", **_lost_handshakes(3))
def synack_loss(case, lost, rtt_ms=0.8):
    app, _ = recorded(case, wire=[*delays(rtt_ms / 2), f"s2c dropsynack={lost}"], **CALLS)
    return _slow_connect(app, "network")


@kind(
    "tcp-port-again",
    "a client comes back from the same port while the server still holds the connection before, whose end got lost",
    field_case="K42",
    mild=dict(lost=4),
    harsh=dict(lost=1000, patience_s=9),
    healthy=dict(lost=0),
    draw=lambda d: dict(lost=d.choice([1, 3, 5, 1000]), patience_s=d.uniform(4, 9), rtt_ms=d.log_uniform(0.1, 1.2)),
)
def port_again(case, lost, patience_s=6, rtt_ms=0.8):
    # One reset is lost as the client's host goes away, the others answer the server's challenges.
    again = dict(from_port=40871, again_at=40, sock_timeout=patience_s)
    app, _ = recorded(case, wire=[*delays(rtt_ms / 2), f"c2s droprst={lost}"], **{**CALLS, **again})
    if app["client"].get("again_ms", 0) < 700:
        return expect.healthy()
    hangs = "error" in app["client"]
    # Some of the resets that answer the server's challenges are lost, too, or only the one that went before.
    sides = ["network"] if "error" in app["client"] else ["network", "undetermined"]
    told = ["(?i)a server holds an earlier connection from the same port"]
    one_end = dict(side=["undetermined"], cause=["slow-connect"], first=told, says=["for that one, and"])
    return expect.Expectation(
        side=sides,
        cause=["slow-connect"],
        find=["slow-connect"],
        forbid=["server-slow", "capture-incomplete"],
        alone=["undetermined"],
        without={k: ["none", *sides] for k in FINE_ELSEWHERE},
        runs=[
            expect.run(
                "at both ends",
                "diagnose",
                ["--client", "client.pcap", "--server", "server.pcap"],
                side=sides,
                cause=["slow-connect"],
                first=told,
                says=[r"resets that the client sent for it \d+ arrived"],
            ),
            expect.run("at the client", "diagnose", ["--client", "client.pcap"], **one_end),
            expect.run("at the server", "diagnose", ["--server", "server.pcap"], **one_end),
        ],
    )


@kind(
    "tcp-backlog",
    "the server's queue of connections is full: it drops SYNs that it received",
    mild=dict(accept_after_s=1.2),
    harsh=dict(accept_after_s=3),
    healthy=dict(accept_after_s=0),
    draw=lambda d: dict(accept_after_s=d.uniform(1, 4), rtt_ms=d.log_uniform(0.1, 1.2)),
)
def backlog(case, accept_after_s, rtt_ms=0.8):
    app, _ = recorded(case, wire=delays(rtt_ms / 2), **CALLS, backlog=1, accept_sleep=accept_after_s, fill=2)
    return _slow_connect(app, "server")


@kind(
    "tcp-abort",
    "the server's application aborts with a request outstanding",
    mild=dict(at=0.9),
    harsh=dict(at=0.3, half=True),
    healthy=dict(at=None),
    draw=lambda d: dict(at=d.uniform(0.2, 0.95), rtt_ms=d.log_uniform(0.1, 1.2), work_ms=d.choice([0, 0.5])),
)
def abort(case, at, rtt_ms=0.8, work_ms=0, half=False):
    n = 600 if half else 300
    # Or it aborts the idle connection when all was answered, as some do instead of closing it.
    aborts = dict(rst_idle=1, linger_ms=600) if at is None else dict(rst_at=int(at * n))
    recorded(case, wire=delays(rtt_ms / 2), **{**CALLS, "n": n}, svc_us=work_ms * 1000, **aborts)
    return expect.healthy() if at is None else _reset("server")


@kind(
    "tcp-middlebox-reset",
    "a device on the path resets the connection towards both ends",
    mild=dict(after_s=3.5),
    harsh=dict(after_s=1),
    healthy=dict(after_s=0),
    draw=lambda d: dict(after_s=d.uniform(0.8, 4), way=d.choice(["c2s", "s2c"]), rtt_ms=d.log_uniform(0.4, 1.2)),
)
def middlebox_reset(case, after_s, way="c2s", rtt_ms=0.8):
    steps = [(after_s, f"rstat {way} 1")] if after_s else []
    app, _ = recorded(case, wire=delays(rtt_ms / 2), steps=steps, **{**CALLS, "n": 400})
    if not after_s:
        return expect.healthy()
    if "error" not in app["client"]:
        raise RuntimeError("the reset came too late")
    return _reset("network")


def _reset(side):
    # Nothing comes after it, so it lies outside of any window in the middle.
    return expect.Expectation(
        side=[side],
        cause=["connection-reset"],
        find=["connection-reset"],
        forbid=["network-loss", "capture-incomplete"],
        without={"window": ["none"], "cut out": ["none"]},
    )
