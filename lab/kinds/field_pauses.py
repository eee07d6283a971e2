"""Pauses inside requests and responses (field case C10), and a copy over a bad interface (C11).

With nothing in flight and the window open TCP may always send: who is silent then waits for nobody on the wire.
"""

import os

from kit import noise, pcap
from kit.apps import stream
from kit.expect import Expectation, healthy, run, sides_of
from kit.kinds import kind

SEGMENT = 1448
NETWORK = ["network-bandwidth", "network-delay", "network-bufferbloat"]
# Whose doing it is if this side pauses, and the findings that say so.
PAUSES = {
    "server-writes": ("server", ["server-stall", "server-slow", "sender-application-limited"]),
    "client-writes": ("client", ["sender-application-limited"]),
    "client-reads": ("client", ["receive-window-limited"]),
    "server-reads": ("server", ["receive-window-limited"]),
}
# What nobody did; whoever reads too late is forbidden where it was not that.
NOT_IT = ["network-loss", "network-outage", "small-window", "window-scaling-off", "nagle", "nagle-delayed-ack", "capture-incomplete",
          "chatty", "small-writes", "client-concurrency-cap", "server-concurrency-cap"]


def recorded(case, *, who, pause_s, pauses, calls=1, think_s=0.0, rtt_ms=80, line_mbit=1, packets=16, tns=False):
    """Calls with so many pauses each over a line of that rate (None: none); returns (seconds of all calls, seconds of
    pauses, mean of a call in seconds)."""
    reads_late = who.endswith("reads") and pause_s
    if reads_late:
        # A burst is more than what fits into the reader's window, and that is more than what the line holds.
        packets *= 3
    steady = ["net.ipv4.tcp_slow_start_after_idle=0"]
    # Where packets of the session end inside segments, their headers are cut away with the rest of those.
    snap = 65535 if tns else 96
    limits = noise.Limits(p99_ms=5, worst_ms=50) if line_mbit else noise.Limits(p99_ms=2)
    with case.bench(offload=False, snap=snap, sysctl={"client": steady, "server": steady}, noise_limits=limits) as b:
        b.wire(f"both delay_us={rtt_ms * 500:.0f}")
        if line_mbit:
            b.wire(f"both rate_mbit={line_mbit} queue_kb=256")
        with b.capture():
            ends = stream.run(b, "pauses", who=who, pause_s=pause_s, bursts=pauses + 1, burst=packets * SEGMENT, calls=calls,
                              think_s=think_s, tns=tns, **({f"rcvbuf_{who.split('-')[0]}": 32768} if reads_late else {}))
    without_handshake(case)
    spent = [(r["t_done_ns"] - r["t_start_ns"]) / 1e9 for r in ends["client"]["rows"] if r["request_bytes"] + r["response_bytes"] > SEGMENT]
    paused = sum((to - since) / 1e9 for end in ends.values() for since, to in end["pauses"])
    return sum(spent), paused, sum(spent) / len(spent)


def without_handshake(case):
    """The same captures as `joined-*.pcap`, begun behind the handshake."""
    for end in ("client", "server"):
        header, scale, packets = pcap.read(f"{case.folder}/{end}.pcap")
        pcap.write(f"{case.folder}/joined-{end}.pcap", header, scale, packets[3:])


def judged(who, spent_s, paused_s, mean_s, *, tns=False):
    """Calls that took so long, of which somebody paused for so long; the rest is the path's."""
    side, causes = PAUSES[who]
    seconds = {side: paused_s, "network": spent_s - paused_s}
    if mean_s < 0.002:
        return healthy(skip=["one_way"])
    sides = sides_of(seconds)
    allowed = sorted({*(causes if side in sides or "mixed" in sides else []), *(NETWORK if sides != [side] else [])})
    forbid = NOT_IT + ([] if who.endswith("reads") else ["receive-window-limited"])
    runs = [r for r in seen(who, sides, allowed, forbid, paused_s)] if sides == [side] else []
    if tns:
        runs.append(run("operations", "ops", ["client.pcap"], says=["FETCH"], json={"groups[0].protocol": {"in": ["tns"]}}))
    return Expectation(side=sides, cause=allowed, forbid=forbid, skip=["one_way"], runs=runs)


def seen(who, sides, causes, forbid, paused_s):
    """Who pauses is named from both ends and from each, also without handshake; what it costs is what was paused, of
    which the far end alone cannot tell a round trip for each pause."""
    side = sides[0]
    near, far = [round(0.9 * paused_s, 2), round(1.1 * paused_s, 2)], [round(0.6 * paused_s, 2), round(1.2 * paused_s, 2)]
    places = {"both ends": ["--client", "client.pcap", "--server", "server.pcap"], "client": ["client.pcap"], "server": ["server.pcap"],
              "both ends, without handshake": ["--client", "joined-client.pcap", "--server", "joined-server.pcap"],
              "client, without handshake": ["joined-client.pcap"], "server, without handshake": ["joined-server.pcap"]}
    runs = []
    for name, args in places.items():
        low, high = near if name.startswith(("both", side)) else far
        runs.append(run(name, "diagnose", args, side=[side], cause=causes, forbid=forbid, first=[f"^The {side.upper()} "],
                        json={"findings[0].cost_ns": {"between": [int(low * 1e9), int(high * 1e9)]}}))
    to = "server_to_client" if who in ("server-writes", "client-reads") else "client_to_server"
    of = "sender-application" if who.endswith("writes") else "receiver-application"
    for end in ("client", "server"):
        low, high = near if end == side else far
        runs.append(run(f"conns, {end}", "conns", [f"{end}.pcap"], json={
            f"connections[0].directions.{to}.time_ns.{of}": {"between": [int(low * 1e9), int(high * 1e9)]}}))
    return runs


# As in the field: 16 packets, then nothing for 5 s; and just enough that it is most of the time.
FIELD, JUST, TWIN = dict(pause_s=5, pauses=3), dict(pause_s=0.3, pauses=5, calls=4, line_mbit=4), dict(pause_s=0, pauses=0, calls=30, think_s=0.15,
                                                                                                 rtt_ms=0.2, line_mbit=None)
# Less time on the path for bursts that are three times as large.
JUST_READS = {**JUST, "rtt_ms": 30, "line_mbit": 8}


def drawn(d):
    pauses = d.randint(1, 8)
    return dict(pause_s=d.log_uniform(0.2, 6 / pauses), pauses=pauses, calls=d.randint(1, 2), rtt_ms=d.log_uniform(1, 100),
                line_mbit=d.choice([1, 4, 20]), packets=d.choice([8, 16]))


def drawn_reads(d):
    """What is on its way when a reader pauses must not keep the line busy for as long: then it cost nobody anything."""
    return {**drawn(d), "line_mbit": d.choice([4, 20])}


@kind("pause-in-response", "a server that pauses within its responses", field_case="C10", mild=JUST, harsh=FIELD, healthy=TWIN, draw=drawn)
def in_response(case, **told):
    return judged("server-writes", *recorded(case, who="server-writes", **told))


@kind("pause-in-response-sqlnet", "a database that pauses within what a fetch returns", field_case="C10",
      mild=JUST, harsh=FIELD, healthy=TWIN, draw=drawn)
def in_response_sqlnet(case, **told):
    return judged("server-writes", *recorded(case, who="server-writes", tns=True, **told), tns=True)


@kind("pause-in-request", "a client that pauses within its requests", field_case="C10", mild=JUST, harsh=FIELD, healthy=TWIN, draw=drawn)
def in_request(case, **told):
    return judged("client-writes", *recorded(case, who="client-writes", **told))


@kind("client-reads-late", "a client that pauses while it reads a response, until its window is closed", field_case="C10",
      mild=JUST_READS, harsh=FIELD, healthy=TWIN, draw=drawn_reads)
def client_reads_late(case, **told):
    return judged("client-reads", *recorded(case, who="client-reads", **told))


@kind("server-reads-late", "a server that pauses while it reads a request, until its window is closed", field_case="C10",
      mild=JUST_READS, harsh=FIELD, healthy=TWIN, draw=drawn_reads)
def server_reads_late(case, **told):
    return judged("server-reads", *recorded(case, who="server-reads", **told))


@kind("pauseless-line", "responses over a narrow line, without any pause", field_case="C10",
      mild=dict(pauses=2, calls=6, line_mbit=2), harsh=dict(pauses=3, calls=6), healthy=TWIN,
      draw=lambda d: dict(pauses=d.randint(0, 3), calls=6, rtt_ms=d.log_uniform(5, 100), line_mbit=d.choice([1, 2, 4])))
def pauseless(case, pauses, calls, pause_s=0, **told):
    """What C10 is not: the same line and the same responses, written at once."""
    told.setdefault("think_s", 0.1)
    spent_s, _, mean_s = recorded(case, who="nobody", pause_s=pause_s, pauses=pauses, calls=calls, **told)
    if mean_s < 0.002:
        return healthy(skip=["one_way"])
    forbid = [c for c in NOT_IT if c != "chatty"] + ["server-stall", "server-slow", "sender-application-limited", "receive-window-limited"]
    runs = [run("both ends", "diagnose", ["--client", "client.pcap", "--server", "server.pcap"], side=["network"], cause=NETWORK, forbid=forbid,
                first=["^The NETWORK "])]
    runs += [run(end, "diagnose", [f"{end}.pcap"], side=["network", "none", "undetermined"], forbid=forbid) for end in ("client", "server")]
    return Expectation(side=["network"], cause=NETWORK, forbid=forbid, skip=["one_way"], runs=runs)


@kind("copy-two-interfaces", "a copy through an interface that loses what the other direction collides with", field_case="C11",
      mild=dict(collide=0.035), harsh=dict(collide=0.07), healthy=dict(collide=0),
      draw=lambda d: dict(collide=d.log_uniform(0.01, 0.07), line_mbit=d.choice([10, 20])))
def copy(case, collide, line_mbit=10, blocks=20, block=60000):
    """Blocks of a file, each confirmed, through a good interface (base-*.pcap) and through one at odds with its switch on
    who may send when, where whole groups of frames are lost, again and again. To scale: 15 minutes, and 140."""
    took = []
    for begins in (0, collide):
        with case.bench(snap=96, noise_limits=noise.Limits(p99_ms=5, worst_ms=50)) as b:
            b.wire("both delay_us=250")
            b.wire(f"both rate_mbit={line_mbit} queue_kb=256")
            with b.capture():
                # The connection is open by then.
                b.later((0.3, f"both ge_p={begins} ge_r=0.7 ge_h=1"))
                ends = stream.run(b, "pauses", who="client-writes", pause_s=0, bursts=1, burst=block, calls=blocks)
        rows = ends["client"]["rows"]
        took.append((rows[-1]["t_done_ns"] - rows[0]["t_start_ns"]) / 1e9)
        if len(took) == 1:
            for end in ("client", "server"):
                os.rename(f"{case.folder}/{end}.pcap", f"{case.folder}/base-{end}.pcap")
    base_s, elapsed_s = took
    case.truth["base"] = {"elapsed_s": base_s}
    case.truth["app"]["elapsed_s"] = elapsed_s
    both, pairs = ["--client", "client.pcap", "--server", "server.pcap"], {
        "both ends": ("base-client.pcap,base-server.pcap", "client.pcap,server.pcap"),
        "client": ("base-client.pcap", "client.pcap"), "server": ("base-server.pcap", "server.pcap")}
    cost, causes = elapsed_s - base_s, ["network-loss"]
    # The line itself is the rest: a block takes 50 ms of it.
    if cost < 0.6 * elapsed_s:
        causes += NETWORK
    costs = {"network-loss": [round(0.7 * cost, 2), round(1.1 * cost, 2)]} if cost > 0.2 * elapsed_s else {"network-loss": [0, 0.3 * elapsed_s]}
    if not collide:
        return Expectation(side=["network"], cause=NETWORK, forbid=["network-loss", *NOT_IT[1:]], skip=["one_way"],
                           runs=[run(f"compare, {n}", "compare", p, json={"verdict.outcome": {"in": ["no-difference"]}}) for n, p in pairs.items()])
    forbid = ["server-slow", "server-stall", "sender-application-limited", "receive-window-limited", "capture-incomplete", "small-window"]
    runs = [run("both ends", "diagnose", both, side=["network"], cause=causes, find=["network-loss"], forbid=forbid, first=["^The NETWORK "],
                cost_s=costs),
            run("sender", "diagnose", ["client.pcap"], side=["network"], cause=causes, find=["network-loss"], forbid=forbid),
            run("receiver", "diagnose", ["server.pcap"], side=["network", "none", "undetermined"], forbid=forbid)]
    if cost > 0.2 * elapsed_s:
        runs += [run(f"compare, {n}", "compare", p, first=["(?i)loss|lost|sent again|retransmi"]) for n, p in pairs.items()]
    return Expectation(side=["network"], cause=causes, find=["network-loss"], forbid=forbid, skip=["one_way"], runs=runs)
