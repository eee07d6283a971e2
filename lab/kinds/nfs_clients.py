"""Several clients, or several connections of one: who of them is slow, and by whom."""

from kinds.nfs import CAUSES, NEVER, carried, judged, recorded, where_runs
from kinds.nfs_network import MOUNTED_S
from kit import expect, pcap
from kit.apps import nfsload
from kit.apps.ganesha import Ganesha
from kit.kinds import kind

# The share of a finding's cost that is one client's.
MOST = [0.7, 1]
# Kinds of evidence that hold one end only.
ALONE = ["{0} alone", "window, {0}", "snaplen 96, {0}", "snaplen 200, {0}", "capture loss, {0}", "no beginning, {0}"]


@kind("nfs-sessions", "NFSv4.1 over several connections: one session's, or those of several clients on one host",
      mild=dict(conns=2, delay_ms=3), harsh=dict(conns=4, mean_ms=20, trunked=False), healthy=dict(conns=4),
      trunked_slow=dict(conns=3, mean_ms=8), hosts_healthy=dict(conns=3, trunked=False),
      draw=lambda d: dict(conns=d.randint(2, 5), trunked=d.random() < 0.5,
                          **d.choice([dict(delay_ms=d.log_uniform(1, 20)), dict(mean_ms=d.log_uniform(3, 40))])))
def sessions(case, conns, trunked=True, delay_ms=0.15, mean_ms=0):
    rate = min(250, 5000 / max(mean_ms, 1))
    if trunked:
        run = lambda bench: nfsload.load(bench, version="4.1", conns=conns, rate=rate, cap=64, ops=1200, secs=5)
    else:
        each = dict(version="4.1", rate=rate / conns, cap=64, ops=1200 // conns, secs=5)
        run = lambda bench: nfsload.together(bench, *[dict(each, seed=case.seed + i) for i in range(conns)])
    rows, served = recorded(case, wire=[f"both delay_us={delay_ms * 1000:.0f}"], bench=dict(snap=320), run=run,
                            storage=dict(read_us=mean_ms * 1000, write_us=mean_ms * 1000, distribution="exponential"))
    fault, other = ("server", "network-delay") if mean_ms else ("network", "server-slow")
    return judged(rows, served, 2 * delay_ms, rest=fault, case=case, forbid=["network-loss", other, *NEVER])


@kind("nfs-two-clients", "two clients of one server, each slow for a reason of its own; captured at the first and at the server",
      field_case="J30",
      mild=dict(first="delay", delay_ms=4, second="file", read_ms=10), harsh=dict(first="loss", loss=0.02, second="file", read_ms=40),
      healthy=dict(first="delay", delay_ms=0.1, second="file", read_ms=0), capped=dict(first="delay", delay_ms=15, second="cap"),
      draw=lambda d: dict(**d.choice([dict(first="delay", delay_ms=d.log_uniform(2, 30)), dict(first="loss", loss=d.log_uniform(0.008, 0.04))]),
                          **d.choice([dict(second="file", read_ms=d.log_uniform(4, 50)), dict(second="cap")])))
def two_clients(case, first, second, delay_ms=1.0, loss=0.0, read_ms=0.0):
    # A cap of the second client shows over a path that is not short.
    second_ms = 3.0 if second == "cap" else 0.1
    mine = dict(rate=100, cap=96, ops=500, secs=5, file="data.bin")
    theirs = dict(file="data2.bin", secs=5, **(dict(jobs=24, cap=3, ops=1500) if second == "cap" else dict(rate=90, cap=96, ops=450)))
    with case.bench(clients=2) as bench:
        server = Ganesha(bench, read_us=read_ms * 1000, only="data2.bin")
        bench.wire(f"both delay_us={delay_ms * 1000:.0f}", at=0)
        bench.wire(f"both delay_us={second_ms * 1000:.0f}", at=1)
        with bench.capture():
            bench.later((MOUNTED_S, lambda: bench.wire(f"both loss={loss}", at=0)))
            running = [nfsload.begin(bench, name="client", **mine),
                       nfsload.begin(bench, host=bench.clients[1], name="client2", **dict(theirs, seed=case.seed + 1))]
            own, others = (nfsload.end(bench, one) for one in running)
        addresses = [r"\b" + c.address.replace(".", r"\.") + r"\b" for c in bench.clients]
        log = server.log()
    return of_two(case, own, others, log, 2 * delay_ms, 2 * second_ms, addresses, "network-loss" if loss else "network-delay")


@kind("nfs-clients-captured", "two clients of one server, each slow for a reason of its own; captured at all three, by clocks that are hours apart",
      field_case="K34",
      mild=dict(delay_ms=6, read_ms=25, apart_s=-9000.3), harsh=dict(delay_ms=25, read_ms=60, apart_s=4.2), healthy=dict(delay_ms=0.1, read_ms=0, apart_s=3700),
      draw=lambda d: dict(delay_ms=d.log_uniform(4, 30), read_ms=d.log_uniform(6, 50), apart_s=d.choice([-1, 1]) * d.log_uniform(0.5, 90_000)))
def clients_captured(case, delay_ms, read_ms, apart_s):
    mine = dict(rate=60, cap=96, ops=200, secs=4, file="data.bin")
    theirs = dict(rate=60, cap=96, ops=200, secs=4, file="data2.bin", readpct=100)
    with case.bench(clients=2, snap=200) as bench:
        server = Ganesha(bench, read_us=read_ms * 1000, only="data2.bin")
        bench.wire(f"both delay_us={delay_ms * 1000:.0f}", at=0)
        bench.wire("both delay_us=100", at=1)
        with bench.capture():
            running = [nfsload.begin(bench, name="client", **mine),
                       nfsload.begin(bench, host=bench.clients[1], name="client2", **dict(theirs, seed=case.seed + 1))]
            own, others = (nfsload.end(bench, one) for one in running)
        log = server.log()
    pcap.rewrite(f"{case.folder}/client2.pcap", lambda packets: pcap.skewed(packets, apart_s, drift_ppm=30))
    case.truth["clock"] = {"client2_s": apart_s, "client2_drift_ppm": 30}
    served = {marked: [r for r in log if r[7] == marked] for marked in (0, 1)}
    mine = _seconds(own, served[0], 2 * delay_ms)
    theirs = _seconds(others, served[1], 0.2)
    sides = [_sides(mine, own), _sides(theirs, others)]
    told = expect.healthy() if sides == [["none"]] * 2 else expect.Expectation(side=[*dict.fromkeys([*sum(sides, []), *(["mixed"] if sides[0] != sides[1] else [])])])
    told.skip = ["one_way"]
    if sides == [["none"]] * 2:
        said = dict(side=["none"], first=[r"of none is anybody to blame"])
    else:
        # Most held up is who waits longest; the other is named beside it. Where both wait alike, either may come first.
        waits = {"client": sum(mine.values()), "client2": sum(theirs.values())}
        first, second = sorted(waits, key=lambda c: -waits[c])
        causes = {"client": "network-delay", "client2": "server-slow"}
        words = {"client": "network", "client2": "server"}
        orders = [(first, second)] + [(second, first)] * (waits[first] < 1.3 * waits[second])
        named = "|".join(rf"This is of {a}\.pcap\S*, where most is held up of 2 clients\. In {b}\.pcap\S* it is the {words[b]} \({causes[b]}\)"
                         for a, b in orders)
        said = dict(first=[named], json={f"peers[{i}].diagnosis.verdict.cause": {"in": [causes[order[i]] for order in orders]} for i in (0, 1)})
    files = ["client.pcap", "client2.pcap"]
    told.runs = [expect.run("the three as they come", "diagnose", [files[1], "server.pcap", files[0]], **said),
                 expect.run("said which is which", "diagnose", ["--client", *files, "--server", "server.pcap"], **said)]
    return told


def of_two(case, own, others, log, own_path_ms, others_path_ms, addresses, fault):
    """Each capture's side is that of the calls which it saw: the client's of its own, the server's of both clients'; the pair
    may tell the whole of what the first client waited and, beside it, what the server took for the second."""
    served = {marked: [r for r in log if r[7] == marked] for marked in (0, 1)}
    mine = _seconds(own, served[0], own_path_ms)
    theirs = _seconds(others, served[1], others_path_ms)
    both = {side: mine[side] + theirs[side] for side in mine}
    own_sides, all_sides = _sides(mine, own), _sides(both, [*own, *others])
    expected = expect.healthy() if own_sides == all_sides == ["none"] else expect.Expectation(side=[*dict.fromkeys([*own_sides, *all_sides])])
    expected.coverage, expected.matched = carried(case, own).values()
    expected.skip = ["one_way"]
    if expected.side == ["none"]:
        return expected
    if theirs["server"] > 0.2 * sum(both.values()):
        # What the server took for the second client is certain in its capture; what its path took for the first is not.
        expected.side = [*dict.fromkeys([*expected.side, "mixed", "server"])]
        expected.where = [expect.on(CAUSES["server"], client=addresses[1], connection=addresses[1], file="data2", share=MOST)]
    else:
        expected.forbid = ["server-slow", "server-stall", "server-concurrency-cap"]
    recovery = nfsload.shares(own, served[0], own_path_ms)["rest"]
    named = fault if fault == "network-delay" or recovery > 0.2 * sum(mine.values()) else "network-delay"
    expected.find = [named] if "network" in own_sides else []
    if expected.find:
        expected.where.append(expect.on(expected.find, client=addresses[0], connection=addresses[0], file=r"data\.bin", share=MOST))
    expected.cause = None if "mixed" in expected.side else [c for s in expected.side for c in {**CAUSES, "none": [None]}.get(s, [])]
    if "none" in expected.side:
        expected.where = []
    expected.forbid += ["capture-incomplete", "connection-reset", "duplicate-packets", *([] if fault == "network-loss" else ["network-loss"])]
    expected.without = {evidence.format("client"): own_sides for evidence in ALONE}
    # The server's capture is of other calls: those of the second client too, and of the first only what came.
    expected.without.update({evidence.format("server"): expected.side for evidence in ALONE})
    if expected.where:
        # The server's capture does not show what the first client waits for on its way.
        expected.runs = where_runs(expected, expected.where[:1] if theirs["server"] > 0.2 * sum(both.values()) else [], says=addresses)
    return expected


def _seconds(rows, served, path_ms):
    seconds = nfsload.shares(rows, served, path_ms)
    seconds["network"] += seconds.pop("rest")
    return seconds


def _sides(seconds, rows):
    return expect.of_calls(seconds, *nfsload.response_ms(rows), CAUSES).side
