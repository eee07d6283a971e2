"""Captures that lack something: packets, ends of packets, the beginning, the time that the other one has."""

import glob
import os

from kit import expect, pcap
from kit.kinds import kind
from kinds.pgsql import recorded
from kinds.places import HARSH, HEALTHY, MILD, expected, fault_drawn, may_be_left_open, traffic

# Of operations whose packets are all there, those whose headers super-segments and snaplen leave to be read.
READABLE = 0.9


def span(path):
    packets = pcap.read(path)[2]
    return packets[0][0], packets[-1][0]


def cut(case, **windows):
    """Files cut to shares of their time ({end: (begin, end)}), noted in the truth."""
    told = case.truth["capture"]["windows"] = {}
    for end, (begin, stop) in windows.items():
        file = f"{case.folder}/{end}.pcap"
        pcap.rewrite(file, lambda packets, begin=begin, stop=stop: pcap.window(packets, begin, stop))
        told[end] = span(file)
    return told


def within(rows, *spans):
    """The share of operations that lie within all these spans."""
    inside = [r for r in rows if all(a <= r["t_issue_ns"] and r["t_done_ns"] <= b for a, b in spans)]
    return len(inside) / len(rows)


@kind("place-overlap", "captures that overlap in time only in part: the server's begins late, the client's ends early",
      mild=dict(**MILD, overlap=0.5), harsh=dict(**HARSH, overlap=0.3), healthy=dict(**HEALTHY, overlap=0.3),
      draw=lambda d: dict(**fault_drawn(d), overlap=round(d.uniform(0.1, 0.8), 2)))
def overlap(case, fault, ms, overlap):
    rows, served, path_ms = traffic(case, fault, ms)
    spans = cut(case, client=(0, 0.5 + overlap / 2), server=(0.5 - overlap / 2, 1))
    return expected(fault, rows, served, path_ms, coverage=READABLE * within(rows, spans["client"]),
                    matched=0.8 * within(rows, spans["client"], spans["server"]))


@kind("place-begun-late", "captures begun in the middle of connections: no handshake, no scale of windows",
      mild=dict(**MILD, begin=0.3), harsh=dict(**HARSH, begin=0.6), healthy=dict(**HEALTHY, begin=0.4),
      draw=lambda d: dict(**fault_drawn(d), begin=round(d.uniform(0.1, 0.7), 2)))
def begun_late(case, fault, ms, begin):
    rows, served, path_ms = traffic(case, fault, ms)
    spans = cut(case, client=(begin, 1), server=(begin, 1))
    return expected(fault, rows, served, path_ms, coverage=READABLE * within(rows, spans["client"]),
                    matched=0.8 * within(rows, *spans.values()), forbid=["small-window", "window-scaling-off", "receive-window-limited"])


@kind("place-begun-in-a-hang", "captures begun while statements hang, as somebody begins them who was called because they do",
      field_case="K50", mild=dict(hang_s=2), harsh=dict(hang_s=6, sessions=8), healthy=dict(hang_s=0),
      draw=lambda d: dict(hang_s=d.log_uniform(0.5, 6), sessions=d.randint(1, 8), delay_ms=d.log_uniform(0.1, 5)))
def begun_in_a_hang(case, hang_s, sessions=3, delay_ms=0.2):
    """Of what hangs only answers are captured. A session that does not shows since when."""
    quick = ["select {i}, 'known'", "think 20"]
    hang = [f"select pg_sleep({hang_s})"] if hang_s else []
    hangs = dict(work="script", steps=[*quick, *hang, *quick * 30], secs=hang_s + 10, n=1)
    goes_on = dict(work="script", steps=quick, secs=hang_s + 0.8, n=10_000)
    recorded(case, [hangs] * sessions + [goes_on], wire=[f"both delay_us={delay_ms * 1000:.0f}"])
    begins = (0.4 * hang_s + 0.1) / (hang_s + 0.8)
    cut(case, client=(begins, 1), server=(begins, 1))
    if not hang_s:
        return expect.healthy(skip=["one_way"])
    slow = dict(side=["server"], cause=["server-slow", "server-stall"])
    forbid = [c for c in expect.ACCUSATIONS if c not in (*slow["cause"], "chatty", "network-delay")]
    runs = [expect.run("both ends", "diagnose", ["--client", "client.pcap", "--server", "server.pcap"], **slow, forbid=forbid,
                       first=["^The SERVER is slow"], says=["that the capture has not whole"]),
            # How far away its clients are no handshake says.
            expect.run("server", "diagnose", ["--server", "server.pcap"], side=["server", "undetermined"], find=["server-slow"], forbid=forbid),
            # An answer that is lost comes late as well, and what was sent before nobody knows.
            expect.run("client", "diagnose", ["--client", "client.pcap"], side=["server", "undetermined"], forbid=forbid,
                       says=["that the capture has not whole"])]
    # A path that takes nearly as much as a call may (2 ms) is what is slow where the answer to what hung is missing.
    is_far = 2 * delay_ms >= 1.8
    without = {w: ["server", "network", "mixed"] for w in ("window", "cut out", "snaplen", "no beginning") if is_far}
    return expect.Expectation(**slow, forbid=forbid, skip=["one_way"], without=without, runs=runs)


@kind("place-capture-loss", "captures that lost packets which the wire did not lose",
      mild=dict(**MILD, client_share=0.005, server_share=0.02), harsh=dict(**HARSH, client_share=0.05, server_share=0.1),
      healthy=dict(**HEALTHY, client_share=0.01, server_share=0.05),
      draw=lambda d: dict(**fault_drawn(d), client_share=d.log_uniform(0.004, 0.1), server_share=d.log_uniform(0.004, 0.1)))
def capture_loss(case, fault, ms, client_share, server_share):
    rows, served, path_ms = traffic(case, fault, ms)
    removed = case.truth["capture"]["removed_frames"] = {}
    for end, share in (("client", client_share), ("server", server_share)):
        file = f"{case.folder}/{end}.pcap"
        header, scale, packets = pcap.read(file)
        kept, removed[end] = pcap.thinned(packets, share, seed=f"{case.seed} {end}")
        pcap.write(file, header, scale, kept)
    # A call takes some five packets with what it needs to be read; all must be there.
    whole = lambda *shares: READABLE * (1 - sum(shares)) ** 5
    told = expected(fault, rows, served, path_ms, coverage=whole(client_share), matched=0.8 * whole(client_share, server_share))
    told.forbid = sorted({f for f in told.forbid if f != "capture-incomplete"} | {"network-loss", "network-outage", "server-stall"})
    told.find = ["capture-incomplete"]
    return told


@kind("place-snaplen", "short snap lengths: 96 bytes keep the procedure, 68 keep TCP alone",
      mild=dict(**MILD, snap=96), harsh=dict(**HARSH, snap=68), healthy=dict(**HEALTHY, snap=96), healthy68=dict(**HEALTHY, snap=68),
      draw=lambda d: dict(**fault_drawn(d), snap=d.choice([68, 80, 96, 112])))
def snaplen(case, fault, ms, snap):
    rows, served, path_ms = traffic(case, fault, ms, bench=dict(snap=snap))
    # Offsets, by which operations are found, are never in so few bytes; of 68 (66 are headers) no call is.
    told = expected(fault, rows, served, path_ms, coverage=0.0, matched=0.4 if snap >= 96 else 0.0, skip=["one_way"] if snap < 96 else [])
    # Packets without calls: who is slow, and that nobody is, can be left open.
    return may_be_left_open(told) if snap < 96 else told


@kind("place-ring", "rotated files (tcpdump -C 1 -W n): each end a folder, of which a full ring has lost the beginning",
      mild=dict(**MILD, files=9), harsh=dict(**HARSH, files=2), healthy=dict(**HEALTHY, files=2),
      draw=lambda d: dict(**fault_drawn(d), files=d.randint(2, 6)))
def ring(case, fault, ms, files):
    # 2 kB of each super-segment: enough for rings of 1 MB to go round.
    rows, served, path_ms = traffic(case, fault, ms, bench=dict(snap=2048), capture=dict(rotate=(1, files)))
    spans = {}
    for end in ("client", "server"):
        os.mkdir(folder := f"{case.folder}/{end}-ring")
        for part in glob.glob(f"{case.folder}/{end}.pcap*"):
            os.rename(part, f"{folder}/{os.path.basename(part)}")
        pcap.joined(glob.glob(f"{folder}/*"), f"{case.folder}/{end}.pcap")
        spans[end] = span(f"{case.folder}/{end}.pcap")
    case.truth["capture"]["windows"] = spans
    told = expected(fault, rows, served, path_ms, coverage=READABLE * within(rows, spans["client"]), matched=0.8 * within(rows, *spans.values()))
    told.runs = [expect.run("folders of ring files", "diagnose", ["--client", "client-ring", "--server", "server-ring"],
                            side=told.side, cause=told.cause, forbid=["capture-incomplete", "network-loss"])]
    return told
