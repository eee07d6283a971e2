"""NFS over one wire: busy and healthy, delay, slow storage; and what all files of NFS kinds share."""

from kit import expect, pcap
from kit.apps import nfsload
from kit.apps.ganesha import Ganesha
from kit.kinds import kind

CAUSES = {
    "network": ["network-delay", "network-loss"],
    "server": ["server-slow", "server-concurrency-cap", "server-stall"],
    "client": ["client-concurrency-cap", "client-host-slow"],
}
VERSIONS = ["3", "4.0", "4.1"]
# Accusations that no fault of one kind may lead to, unless it is itself one of them.
NEVER = ["capture-incomplete", "connection-reset", "connection-refused", "mtu-black-hole", "duplicate-packets"]
# What a window must be moved by, as a share of the capture, before it no longer matters where exactly it was cut.
CUT_S = 0.03


def recorded(case, *, wire=(), storage=None, load=None, steps=(), bench=None, run=None):
    """An NFS load through one wire; returns (operations, the server's own log of them). `steps` are (seconds, line for
    the wire | function of bench and server); `run` runs another load than `nfsload.load(bench, **load)`."""
    # The headers of version 4.1 are longer: SEQUENCE, then a file handle, come before what is read or written.
    bench = {**({"snap": 320} if load and load.get("version") == "4.1" else {}), **(bench or {})}
    with case.bench(**bench) as b:
        server = Ganesha(b, **(storage or {}))
        for line in wire:
            b.wire(line)
        with b.capture():
            b.later(*((at, what if isinstance(what, str) else lambda what=what: what(b, server)) for at, what in steps))
            rows = run(b) if run else nfsload.load(b, **load)
        return rows, server.log()


def judged(rows, served, path_ms, *, rest, case=None, causes=CAUSES, injected=(), **more):
    """Expectation of calls whose remainder (neither path nor storage) is `rest`'s. With `case`, its captures tell how
    many operations can be found in them, and which sides are right in the middle third of the time. `injected` are
    findings that are true, also where they cost too little for anybody to be blamed."""
    if case:
        more = {**carried(case, rows), "without": in_window(case, rows, served, path_ms, rest), **more}
    expected = _of(rows, served, path_ms, rest, causes, **more)
    if expected.side == ["none"]:
        expected.forbid = [f for f in expected.forbid if f not in injected]
    return expected


def _of(rows, served, path_ms, rest, causes, **more):
    seconds = nfsload.shares(rows, served, path_ms)
    seconds[rest] += seconds.pop("rest")
    mean_ms, p99_ms = nfsload.response_ms(rows)
    expected = expect.of_calls(seconds, mean_ms, p99_ms, causes, **more)
    if expected.side == ["none"] and mean_ms > 0.8 * expect.FAST_ENOUGH_MS:
        # Half of the time may have a mean beyond the floor.
        expected.side, expected.cause = ["none", rest, "mixed"], None
    if expected.side != ["none"] and mean_ms < 1.2 * expect.FAST_ENOUGH_MS and beyond_tail(rows) < 0.015:
        # At the floor: what an application waits above the wire decides whether anybody is to blame.
        expected.side, expected.cause, expected.find, expected.where = [*expected.side, "none"], [*(expected.cause or []), None], [], []
    return expected


def beyond_tail(rows):
    times = [(r["t_done_ns"] - r["t_issue_ns"]) / 1e6 for r in nfsload.done(rows)]
    return sum(t > expect.TAIL_MS for t in times) / len(times)


def carried(case, rows):
    """`coverage` and `matched`: what the captures hold of these operations, less a little for those whose headers lie in
    the middle of a stream that is cut."""
    at_client, at_server = (nfsload.captured(f"{case.folder}/{side}.pcap", rows) for side in ("client", "server"))
    coverage = max(0.0, round(0.95 * len(at_client) / len(rows) - 0.01, 2))
    both = len(at_client & at_server) / len(rows)
    return {"coverage": coverage, "matched": max(0.0, round(min(0.8 * coverage, 0.9 * both - 0.01), 2))}


def in_window(case, rows, served, path_ms, rest):
    """`without` for the middle third of the capture: the sides that are right there, if they are others. A window of time
    holds the calls that start in it, however long they take; what is cut out of a capture only those that also end in it."""
    packets = pcap.read(f"{case.folder}/client.pcap")[2]
    first, third = packets[0][0], (packets[-1][0] - packets[0][0]) / 3
    sides = {"window": set(), "cut out": set()}
    for moved in (0, CUT_S, -CUT_S):
        begin, end = first + third * (1 - moved), first + third * (2 + moved)
        started = [r for r in nfsload.done(rows) if begin <= r["t_issue_ns"] <= end]
        ended = [r for r in started if r["t_done_ns"] <= end]
        for kind, held in (("window", started), ("cut out", ended)):
            if len(held) >= 10:
                sides[kind].update(_of(held, served, path_ms, rest, CAUSES).side)
    return {kind: sorted(right) for kind, right in sides.items() if right}


def where_runs(expected, at_server=(), says=()):
    """Runs that must say on whom the cost concentrates: from both ends all of it, from the server's capture alone what it
    holds of that; as numbers, and in words."""
    if not expected.where:
        return []
    sides = dict(side=expected.side, forbid=expected.forbid)
    runs = [expect.run("both ends", "diagnose", ["client.pcap", "server.pcap"], **sides, where=expected.where, says=list(says))]
    return runs + [expect.run("server alone", "diagnose", ["server.pcap"], where=list(at_server))] * bool(at_server)


def lost_frames(case):
    """Frames with data that the wire lost, both ways."""
    return sum(case.truth["wire_measured"][d]["dropped_tcp_data_frames"] for d in ("c2s", "s2c"))


@kind("nfs-busy", "healthy and busy: nothing is slow, whatever the version, the frames and the load",
      mild=dict(rate=400), harsh=dict(jobs=4), healthy=None, nfs40=dict(version="4.0", rate=350), nfs41=dict(version="4.1", rate=350),
      jumbo=dict(rate=400, mtu=9000, offload=False), single_frames=dict(rate=300, offload=False), whole_packets=dict(rate=100, snap=0),
      draw=lambda d: dict(version=d.choice(VERSIONS), **d.choice([dict(rate=d.randint(50, 450)), dict(jobs=d.randint(1, 4))]),
                          **d.choice([{}, dict(offload=False), dict(offload=False, mtu=9000), dict(snap=512)]), block=d.choice([4096, 8192, 16384]),
                          readpct=d.choice([0, 30, 70, 100])))
def busy(case, version="3", rate=0, jobs=8, block=8192, readpct=70, offload=True, mtu=1500, snap=320):
    few = 450 if snap == 0 else 2000
    rows, served = recorded(case, bench=dict(offload=offload, mtu=mtu, snap=snap),
                            load=dict(version=version, rate=rate, jobs=jobs, cap=64 if rate else jobs, ops=few, secs=5, bs=block, readpct=readpct))
    # So many synchronous threads look like a cap on the wire, and both ends are at work without a pause.
    closed = {} if rate else dict(injected=["client-concurrency-cap"], skip=["one_way"])
    return judged(rows, served, 0, rest="client", case=case, **closed)


@kind("nfs-delay", "a path that takes long, the same both ways or not",
      mild=dict(out_ms=2, back_ms=2), harsh=dict(out_ms=5, back_ms=25), healthy=dict(out_ms=0.1, back_ms=0.1),
      draw=lambda d: dict(out_ms=d.log_uniform(1, 30), back_ms=d.log_uniform(1, 30), version=d.choice(VERSIONS), offload=d.random() < 0.7))
def delay(case, out_ms, back_ms, version="3", rate=300, offload=True):
    rows, served = recorded(case, wire=[f"c2s delay_us={out_ms * 1000:.0f}", f"s2c delay_us={back_ms * 1000:.0f}"],
                            load=dict(version=version, rate=rate, cap=64, ops=1500, secs=5), bench=dict(offload=offload))
    return judged(rows, served, out_ms + back_ms, rest="network", case=case, forbid=["network-loss", "server-slow", *NEVER])


@kind("nfs-slow-storage", "storage below the server takes long",
      mild=dict(mean_ms=4), harsh=dict(mean_ms=25), healthy=dict(mean_ms=0),
      draw=lambda d: dict(mean_ms=d.log_uniform(3, 60), distribution=d.choice(["fixed", "exponential"]), version=d.choice(VERSIONS)))
def slow_storage(case, mean_ms, distribution="exponential", version="3"):
    wait = mean_ms * 1000
    rows, served = recorded(case, wire=["both delay_us=150"], storage=dict(read_us=wait, write_us=wait, distribution=distribution),
                            load=dict(version=version, rate=min(250, 4000 / max(mean_ms, 1)), cap=64, ops=1200, secs=5))
    return judged(rows, served, 0.3, rest="server", case=case, forbid=["network-delay", "network-loss", *NEVER])
