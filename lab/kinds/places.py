"""How captures are taken: tags of mirror ports, cooked captures, copies, one direction each. The traffic below is NFS
with one fault that stays the same, so that only the captures differ."""

import shutil

from kit import pcap
from kit.apps import nfsload
from kit.apps.ganesha import Ganesha
from kit.kinds import kind
from kinds.nfs import CAUSES, judged

# What calls take that have no fault of their own on the way.
NEAR_MS = 0.3
DATA = ["network-loss", "network-outage", "capture-incomplete"]


def traffic(case, fault, ms, *, bench=None, capture=None, at=None, before=None, secs=5):
    """Records NFS calls with one fault: "path" (so many ms there and back, on the wire `at`, or on the only one),
    "storage" (so many ms on average), or "none". Returns (operations, the server's log of them, ms of the path)."""
    path_ms, storage_us = (ms, 0) if fault == "path" else (NEAR_MS, ms * 1000)
    with case.bench(**(bench or {})) as b:
        if before:
            before(b)
        server = Ganesha(b, read_us=storage_us, write_us=storage_us, distribution="exponential")
        b.wire(f"both delay_us={path_ms * 500:.0f}", at=at)
        with b.capture(**(capture or {})):
            rows = nfsload.load(b, rate=min(250, 4000 / max(ms, 1)), cap=64, ops=1500, secs=secs)
        return rows, server.log(), path_ms


def expected(fault, rows, served, path_ms, **more):
    """What must be said of `traffic`, however it was captured."""
    others = {"path": ["server-slow", "server-stall"], "storage": ["network-delay"], "none": []}[fault]
    forbid = [*DATA, *others, *more.pop("forbid", [])]
    return judged(rows, served, path_ms, rest="server" if fault == "storage" else "network", causes=CAUSES, forbid=forbid, **more)


def may_be_left_open(told, *sides):
    """The expectation, with "undetermined" (and these sides) allowed too."""
    told.side = [*told.side, *(s for s in ("undetermined", *sides) if s not in told.side)]
    if told.cause and None not in told.cause:
        told.cause = [*told.cause, None]
    return told


def fault_drawn(dice):
    return dict(fault=dice.choice(["path", "storage"]), ms=dice.log_uniform(3, 60))


MILD, HARSH, HEALTHY = dict(fault="path", ms=4), dict(fault="storage", ms=25), dict(fault="none", ms=0)


@kind("place-vlan", "mirror ports whose packets carry VLAN tags: none, one, or two (QinQ)",
      mild=dict(**MILD, client_tags=[], server_tags=[[0x8100, 12]]),
      harsh=dict(**HARSH, client_tags=[[0x8100, 12]], server_tags=[[0x88A8, 100], [0x8100, 12]]),
      healthy=dict(**HEALTHY, client_tags=[[0x88A8, 100], [0x8100, 12]], server_tags=[[0x88A8, 100], [0x8100, 12]]),
      draw=lambda d: dict(**fault_drawn(d), client_tags=tags_drawn(d), server_tags=tags_drawn(d)))
def vlan(case, fault, ms, client_tags, server_tags):
    rows, served, path_ms = traffic(case, fault, ms)
    for side, tags in (("client", client_tags), ("server", server_tags)):
        pcap.rewrite(f"{case.folder}/{side}.pcap", lambda packets, tags=tags: pcap.tagged(packets, *tags, snap=256))
    # Another tag at each end is what trunks do; nobody is in a wrong VLAN.
    return expected(fault, rows, served, path_ms, forbid=["wrong-vlan"])


def tags_drawn(dice):
    inner = [0x8100, dice.randint(1, 4094)]
    return dice.choice([[], [inner], [[0x88A8, dice.randint(1, 4094)], inner], [[0x9100, dice.randint(1, 4094)], inner]])


@kind("place-any", "tcpdump -i any at both ends: cooked captures (SLL2)", mild=MILD, harsh=HARSH, healthy=HEALTHY, draw=fault_drawn)
def any_device(case, fault, ms):
    rows, served, path_ms = traffic(case, fault, ms, capture=dict(device="any"))
    return expected(fault, rows, served, path_ms)


@kind("place-mirror", "a mirror port that copies each packet twice, on its way in and on its way out",
      mild=dict(**MILD, ends=["server"], later_us=2), harsh=dict(**HARSH, ends=["client", "server"], later_us=300),
      healthy=dict(**HEALTHY, ends=["client", "server"], later_us=20),
      draw=lambda d: dict(**fault_drawn(d), ends=d.choice([["client"], ["server"], ["client", "server"]]), later_us=d.log_uniform(0.5, 500)))
def mirror(case, fault, ms, ends, later_us):
    rows, served, path_ms = traffic(case, fault, ms)
    for end in ends:
        pcap.rewrite(f"{case.folder}/{end}.pcap", lambda packets: pcap.mirrored(packets, int(later_us * 1000)))
    told = expected(fault, rows, served, path_ms, find=["duplicate-packets"])
    # That packets are there twice is said, and nobody's fault.
    told.find = ["duplicate-packets"]
    told.forbid = [f for f in told.forbid if f != "duplicate-packets"]
    return told


@kind("place-one-direction", "one direction in each file: what the client sent as seen at the client, what the server sent at the server",
      mild=MILD, harsh=HARSH, healthy=HEALTHY, draw=fault_drawn)
def one_direction(case, fault, ms):
    rows, served, path_ms = traffic(case, fault, ms)
    for end, address in (("client", "10.0.0.1"), ("server", "10.0.0.2")):
        file = f"{case.folder}/{end}.pcap"
        shutil.copy(file, f"{case.folder}/{end}-both.pcap")
        pcap.rewrite(file, lambda packets, address=address: pcap.sent_by(packets, address))
    # No file holds a whole call, and two clocks do not make one of two halves: to say nothing is right too.
    return may_be_left_open(expected(fault, rows, served, path_ms, coverage=0.0, matched=0.0, skip=["one_way"]), "none")
