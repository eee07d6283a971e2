"""NFS over a path that loses, stops, or is not always the same, and between hosts of which one throws away what comes."""

import subprocess
import time
from collections import Counter

from kinds.nfs import CAUSES, NEVER, VERSIONS, carried, judged, lost_frames, recorded, where_runs
from kit import expect, truth
from kit.apps import nfsload
from kit.kinds import kind

# What loss costs is said when it is more than a trace of the calls' time.
WORTH_SAYING = 0.1
# Faults begin when the load does: what it costs to mount is not in the application's own times.
MOUNTED_S = 0.5
# Bytes that were lost this often waited for TCP's timer twice: to the packets nothing passed in that time.
LOOKS_INTERRUPTED = 3


def tries_lost(case):
    """Most times that the wire lost the same bytes."""
    lost = [f for f in truth.rows(f"{case.folder}/wire.csv.gz") if f["verdict"].startswith("drop") and int(f["payload"])]
    return max(Counter((f["dir"], f["sport"], f["seq"]) for f in lost).values(), default=0)


def loss_judged(case, rows, served, path_ms, **more):
    """Expectation where the remainder of the calls' time is recovery from loss."""
    seconds = nfsload.shares(rows, served, path_ms)
    lost = lost_frames(case)
    said = lost >= 5 and seconds["rest"] > WORTH_SAYING * sum(seconds.values())
    # Behind lost bytes calls wait in the client's socket, which no packet shows; then they leave in super-segments, of which a
    # short snap length keeps the first call alone. So the captures hold less of what loss cost than the application's times.
    shown = carried(case, rows)["matched"] > 0.7
    named = ["network-loss"] if shown and seconds["rest"] > 3 * seconds["network"] else ["network-loss", "network-delay"]
    if tries_lost(case) >= LOOKS_INTERRUPTED:
        named = [*named, "network-outage"]
    return judged(rows, served, path_ms, rest="network", case=case, causes={**CAUSES, "network": named},
                  injected=["network-loss", "ack-frequency"] if lost else [],
                  find=["network-loss"] if said else [], skip=["one_way"], forbid=["server-slow", "server-stall", "server-concurrency-cap", *NEVER],
                  **more)


@kind("nfs-loss", "single frames are lost at random",
      mild=dict(share=0.004), harsh=dict(share=0.03), healthy=dict(share=0, delay_ms=0.2),
      draw=lambda d: dict(share=d.log_uniform(0.002, 0.05), delay_ms=d.log_uniform(0.2, 6), version=d.choice(VERSIONS), offload=d.random() < 0.5,
                          direction=d.choice(["both", "both", "s2c"]), rate=round(d.log_uniform(20, 150))))
def loss(case, share, delay_ms=2, version="3", offload=True, direction="both", rate=150):
    rows, served = recorded(case, wire=[f"both delay_us={delay_ms * 1000:.0f}"], steps=[(MOUNTED_S, f"{direction} loss={share}")],
                            load=dict(version=version, rate=rate, cap=64, ops=800, secs=5), bench=dict(offload=offload))
    return loss_judged(case, rows, served, 2 * delay_ms)


@kind("nfs-burst-loss", "frames are lost in bursts, as on a radio link or behind a full buffer",
      mild=dict(begins=0.001), harsh=dict(begins=0.006), healthy=dict(begins=0, delay_ms=0.2),
      draw=lambda d: dict(begins=d.log_uniform(0.0008, 0.01), ends=d.log_uniform(0.1, 0.5), delay_ms=d.log_uniform(0.2, 6)))
def burst_loss(case, begins, ends=0.25, delay_ms=2):
    bursts = f"both ge_p={begins} ge_r={ends} ge_h=0.8"
    rows, served = recorded(case, wire=[f"both delay_us={delay_ms * 1000:.0f}"], steps=[(MOUNTED_S, bursts)],
                            load=dict(rate=120, cap=64, ops=600, secs=5))
    return loss_judged(case, rows, served, 2 * delay_ms)


@kind("nfs-outage", "nothing passes for a while",
      mild=dict(gone_ms=500), harsh=dict(gone_ms=1800), healthy=dict(gone_ms=0, delay_ms=0.2),
      draw=lambda d: dict(gone_ms=d.log_uniform(300, 2000), begin_s=round(d.uniform(1, 3.5), 2), direction=d.choice(["both", "both", "c2s", "s2c"]),
                          delay_ms=d.log_uniform(0.2, 5), version=d.choice(VERSIONS)))
def outage(case, gone_ms, begin_s=2.0, direction="both", delay_ms=1, version="3"):
    rows, served = recorded(case, wire=[f"both delay_us={delay_ms * 1000:.0f}"],
                            load=dict(version=version, rate=150, cap=400, ops=1000, secs=5),
                            steps=[(begin_s, f"outage {direction} {gone_ms:.0f}")] if gone_ms else [])
    # A timer that ran out only once is loss as well as an outage.
    named = ["network-outage"] if gone_ms > 900 else ["network-outage", "network-loss"]
    return judged(rows, served, 2 * delay_ms, rest="network", case=case, causes={**CAUSES, "network": named}, skip=["one_way"],
                  find=[named], forbid=["server-slow", "server-stall", "server-concurrency-cap", *NEVER])


@kind("nfs-kept", "nothing passes for a while, and nothing is lost: a host that is paused and moved, or a path that keeps all", field_case="K41",
      mild=dict(kept_ms=400), harsh=dict(kept_ms=1800), healthy=dict(kept_ms=0, delay_ms=0.2),
      draw=lambda d: dict(kept_ms=d.log_uniform(200, 3000), begin_s=round(d.uniform(0.8, 1.8), 2), direction=d.choice(["both", "c2s"]),
                          delay_ms=d.log_uniform(0.1, 5), version=d.choice(VERSIONS)))
def kept(case, kept_ms, begin_s=1.5, direction="both", delay_ms=0.2, version="3"):
    rows, served = recorded(case, wire=[f"both delay_us={delay_ms * 1000:.0f}"],
                            load=dict(version=version, rate=150, cap=400, ops=1000, secs=5),
                            steps=[(begin_s, f"keep {direction} {kept_ms:.0f}")] if kept_ms else [])
    expected = judged(rows, served, 2 * delay_ms, rest="network", case=case, skip=["one_way"],
                      forbid=["network-loss", "server-slow", "server-stall", "server-concurrency-cap", *NEVER])
    if expected.side == ["network"]:
        # From the client alone a host that is paused looks the same.
        expected.runs = [expect.run("at both ends", "diagnose", ["--client", "client.pcap", "--server", "server.pcap"], side=["network"]),
                         expect.run("at the client", "diagnose", ["client.pcap"], side=["undetermined"], forbid=["server-stall", "server-slow"],
                                    first=[r"not even an acknowledgement came"])]
    return expected


@kind("nfs-jitter", "a path whose delay is another for each frame, in order",
      mild=dict(jitter_ms=4), harsh=dict(jitter_ms=20), healthy=dict(jitter_ms=0.3, delay_ms=0.1),
      draw=lambda d: dict(jitter_ms=d.log_uniform(1, 30), delay_ms=d.log_uniform(0.1, 5), version=d.choice(VERSIONS)))
def jitter(case, jitter_ms, delay_ms=1, version="3"):
    rows, served = recorded(case, wire=[f"both delay_us={delay_ms * 1000:.0f} jitter_us={jitter_ms * 1000:.0f}"],
                            load=dict(version=version, rate=300, cap=64, ops=1200, secs=5))
    return judged(rows, served, 2 * delay_ms, rest="network", case=case, skip=["one_way"],
                  forbid=["network-loss", "network-outage", "network-reordering", "server-slow", *NEVER])


@kind("nfs-reordered", "a path on which some frames come behind later ones: nothing is lost, and much is sent again",
      mild=dict(share=0.02), harsh=dict(share=0.1, late_ms=15), healthy=dict(share=0, delay_ms=0.2),
      draw=lambda d: dict(share=d.log_uniform(0.01, 0.12), late_ms=d.log_uniform(3, 20), delay_ms=d.log_uniform(0.5, 5), version=d.choice(VERSIONS)))
def reordered(case, share, late_ms=6, delay_ms=2, version="3"):
    rows, served = recorded(case, wire=[f"both delay_us={delay_ms * 1000:.0f}"], bench=dict(snap=0),
                            steps=[(MOUNTED_S, f"both reorder={share} reorder_us={late_ms * 1000:.0f}")],
                            load=dict(version=version, rate=200, cap=64, ops=1000, secs=5, bs=32768))
    named = ["network-reordering", "network-delay"]
    told = judged(rows, served, 2 * delay_ms, rest="network", case=case, skip=["one_way"], causes={**CAUSES, "network": [*named, "network-loss"]},
                  forbid=["network-outage", "network-bandwidth", "server-slow", "server-stall", *NEVER])
    if told.side == ["network"]:
        told.runs = [expect.run("both ends", "diagnose", ["client.pcap", "server.pcap"], side=["network"], forbid=["network-loss"])]
    return told


@kind("nfs-delay-onset", "the path is good, and from the middle on takes long", field_case="J31",
      mild=dict(then_ms=8), harsh=dict(then_ms=30), healthy=dict(then_ms=0.2),
      draw=lambda d: dict(then_ms=d.log_uniform(4, 40), begin_s=round(d.uniform(1.2, 3.8), 2), direction=d.choice(["both", "c2s", "s2c"])))
def delay_onset(case, then_ms, begin_s=2.5, direction="both"):
    rows, served = recorded(case, wire=["both delay_us=200"], load=dict(rate=250, cap=96, ops=1250, secs=5),
                            steps=[(begin_s, f"{direction} delay_us={then_ms * 1000:.0f}")])
    onset = case.truth["events"][-1]["t_ns"]
    slow = 2 * then_ms if direction == "both" else then_ms + 0.2
    ill = dict(where=[expect.since(["network-delay"], onset)]) if slow > 4 else {}
    told = judged(rows, served, lambda issued: slow if issued > onset else 0.4, rest="network", case=case, skip=["one_way"],
                  forbid=["network-loss", "network-outage", "server-slow", *NEVER], **ill)
    told.runs = where_runs(told, says=[r"(?i)\bsince .*\d\d:\d\d:\d\d"])
    return told


@kind("nfs-damaged", "frames arrive with a bit flipped, and their receiver's TCP throws them away",
      mild=dict(share=0.01), harsh=dict(share=0.05), healthy=dict(share=0, delay_ms=0.2),
      draw=lambda d: dict(share=d.log_uniform(0.005, 0.06), delay_ms=d.log_uniform(0.2, 3), version=d.choice(VERSIONS)))
def damaged(case, share, delay_ms=0.5, version="3"):
    rows, served = recorded(case, wire=[f"both delay_us={delay_ms * 1000:.0f}"], steps=[(MOUNTED_S, f"both corrupt={share}")], bench=dict(snap=0, offload=False),
                            load=dict(version=version, rate=100, cap=64, ops=500, secs=5, bs=16384))
    told = loss_judged(case, rows, served, 2 * delay_ms)
    if "network-loss" in told.find:
        told.find = [*told.find, "checksum-errors"]
    return told


FIREWALL = "table ip lab {{\n chain in {{\n type filter hook input priority 0;\n tcp {} 2049 drop\n }}\n}}\n"


def thrown_away(host, gone_ms):
    """A step: the host's own firewall throws away what the other sends; what captures take from the card they have before it."""

    def throw(b, _):
        at, port = (b.server, "dport") if host == "server" else (b.client, "sport")
        subprocess.run(at.command("nft", "-f", "-"), input=FIREWALL.format(port), text=True, check=True)
        time.sleep(gone_ms / 1000)
        subprocess.run(at.command("nft", "delete", "table", "ip", "lab"), check=True)

    return throw


@kind("nfs-host-drops", "a host's own firewall throws away for a while what its card took", field_case="K67",
      mild=dict(host="server", gone_ms=400), harsh=dict(host="client", gone_ms=1500), healthy=dict(host="client", gone_ms=0),
      draw=lambda d: dict(host=d.choice(["client", "server"]), gone_ms=d.log_uniform(200, 2000), begin_s=round(d.uniform(1, 3), 2),
                          delay_ms=d.log_uniform(0.2, 3), version=d.choice(VERSIONS)))
def host_drops(case, host, gone_ms, begin_s=2.0, delay_ms=0.3, version="3"):
    rows, served = recorded(case, wire=[f"both delay_us={delay_ms * 1000:.0f}"], steps=[(begin_s, thrown_away(host, gone_ms))] if gone_ms else [],
                            load=dict(version=version, rate=150, cap=400, ops=1000, secs=5))
    told = judged(rows, served, 2 * delay_ms, rest=host, case=case, causes={**CAUSES, host: ["host-drops"]}, skip=["one_way"],
                  # From the other end alone nothing shows that it came there.
                  alone=["network"], forbid=["client-think", *NEVER])
    if told.side == [host]:
        said = dict(side=[host], cause=["host-drops"], find=["host-drops"], forbid=["network-loss", "network-outage"])
        told.runs = [expect.run("at both ends", "diagnose", ["--client", "client.pcap", "--server", "server.pcap"], **said,
                                first=[r"host-drops"], says=[r"its own capture has"]),
                     expect.run("at that host", "diagnose", [f"{host}.pcap"], **said)]
    return told


@kind("nfs-bad-member", "some of a client's connections cross the bad one of several lines that are one",
      mild=dict(share=0.02), harsh=dict(share=0.08), healthy=dict(share=0, delay_ms=0.2),
      draw=lambda d: dict(share=d.log_uniform(0.01, 0.12), delay_ms=d.log_uniform(0.2, 3), every=d.choice([2, 3])))
def bad_member(case, share, delay_ms=0.3, every=2):
    loads = [dict(version="4.0", rate=40, cap=16, ops=200, secs=5, bs=16384)] * 6
    rows, served = recorded(case, wire=[f"both delay_us={delay_ms * 1000:.0f}"], steps=[(MOUNTED_S, f"both flows={every} loss={share}")],
                            bench=dict(snap=320), run=lambda b: nfsload.together(b, *loads))
    told = loss_judged(case, rows, served, 2 * delay_ms)
    told.forbid = [*told.forbid, "mtu-black-hole"]
    return told
