"""The link below it all: addresses that two hosts have, ARP, spanning trees, VLANs; and a copy that nobody feeds."""

import socket
import struct
import subprocess
import sys

from kit import expect, pcap, truth
from kit.apps import nfsload, tcpapp
from kit.apps.ganesha import Ganesha
from kit.build import SOURCES
from kit.kinds import kind
from kinds.nfs import CAUSES, judged
from kinds.tcp import paced_transfers

EVERYBODY = bytes([255] * 6)
BOTH = ["client.pcap", "server.pcap"]


def mac(number):
    """The hardware address that the bench gives (`Bench._device`)."""
    return bytes([2, 0, 0, 0, 0, number])


def arp(sender, sender_ip, target, target_ip, *, answer=True, to=None):
    body = struct.pack(">HHBBH", 1, 0x0800, 6, 4, 2 if answer else 1)
    body += sender + socket.inet_aton(sender_ip) + target + socket.inet_aton(target_ip)
    return (to or (target if answer else EVERYBODY)) + sender + b"\x08\x06" + body


def send(bench, host, device, frames):
    """Begins to send `(seconds from now, frame)` on a host's device."""
    process = bench.start(host.command(sys.executable, f"{SOURCES}/frames.py", device), stdin=subprocess.PIPE, text=True)
    process.stdin.write("".join(f"{at:.6f} {frame.hex()}\n" for at, frame in frames))
    process.stdin.close()


def nfs(bench, *, secs=5, rate=120):
    """Plain NFS beside what else happens on the link."""
    return nfsload.load(bench, rate=rate, cap=64, ops=2000, secs=secs)


# ---- a copy at low priority


@kind("field-low-priority-copy", "a copy whose process gets its disk so seldom that it writes now and then", field_case="G25",
      mild=dict(write=65536, pause_ms=50), harsh=dict(write=4096, pause_ms=1000), healthy=dict(write=65536, pause_ms=0),
      draw=lambda d: dict(write=d.choice([4096, 16384, 65536, 262144]), pause_ms=d.log_uniform(20, 1000)))
def low_priority_copy(case, write, pause_ms):
    if not pause_ms:
        # A healthy copy is not held up by its own process: what is read is sent, and the rest of the time is think time.
        return paced_transfers(case, direction="up", size=write, rtt_ms=0.2, think_ms=8)
    seconds = 6
    with case.bench() as b:
        b.wire("both delay_us=100")
        with b.capture():
            writes = int(seconds * 1000 / pause_ms)
            app = tcpapp.run(b, mode="bulk", bytes=writes * write, write=write, think_us=pause_ms * 1000, nodelay_c=True)
    # The pause after the last write is no one's: everything is there already.
    cause, idle = "sender-application-limited", app["thought_s"] * (writes - 1) / writes
    told = expect.Expectation(side=["client"], cause=[cause], find=[cause], skip=["one_way"],
                              forbid=["network-delay", "network-loss", "receive-window-limited", "server-slow"])
    said = dict(side=["client"], cause=[cause], find=[cause], first=[r"^The CLIENT .*sender-application-limited"])
    told.runs = [expect.run("both ends", "diagnose", BOTH, **said, cost_s={cause: [0.9 * idle, 1.02 * idle]}),
                 expect.run("at the sender", "diagnose", BOTH[:1], **said)]
    return told


# ---- two hosts for one address


@kind("field-duplicate-address", "two devices answer by ARP for one address, of which one was thought to be gone", field_case="G22",
      mild=dict(later_ms=3, connections=12), harsh=dict(later_ms=0, connections=24), healthy=dict(later_ms=None, connections=24),
      draw=lambda d: dict(later_ms=d.choice([0, 0, d.log_uniform(1, 10)]), connections=d.randint(8, 30)))
def duplicate_address(case, later_ms, connections):
    with case.bench(switched=True, clients=2) as b:
        server, other = b.server.address, b.clients[1]
        b.wire("both delay_us=200")
        if later_ms is not None:
            other.sh(f"ip addr add {server}/24 dev eth0")
            # Who answers first is believed: by chance, or always the server.
            b.wire(f"both delay_us={200 + later_ms * 1000:.0f} jitter_us={0 if later_ms else 400}", at=1)
            if not later_ms:
                b.wire("both jitter_us=400", at=-1)
        program = [sys.executable, f"{SOURCES}/connects.py"]
        listening = b.start(b.server.command(*b.preload, *program, "server", server, 7000), stdout=subprocess.PIPE, text=True)
        listening.stdout.readline()
        with b.capture(filter=""):
            b.run(b.client, *program, "client", server, 7000, connections, 15, 0.15, f"{b.scratch}/connects.csv")
        b.save("connections.csv.gz", f"{b.scratch}/connects.csv")
        rows = truth.rows(f"{b.scratch}/connects.csv")
    astray = case.truth["astray"] = sum(r["outcome"] != "answered" for r in rows)
    if later_ms is None:
        return expect.healthy(skip=["one_way"])
    find, names = ["duplicate-address"], [r"duplicate-address", r"10\.0\.0\.2\b", r"02:00:00:00:00:02", r"02:00:00:00:00:11"]
    if astray:
        # Refusals and resets come from the other device: no host is slow, the link has two of one address.
        told = expect.Expectation(side=["network"], cause=["duplicate-address", "connection-refused", "connection-reset"], find=find,
                                  forbid=["server-slow", "network-loss", "network-delay"], alone=["none"], skip=["one_way"])
        said = dict(side=["network"], first=[r"(?i)(two hosts|duplicate-address)"])
    else:
        told, said = expect.healthy(find=find, skip=["one_way"]), dict(side=["none"], cause=[None])
    told.runs = [expect.run("both ends", "diagnose", BOTH, find=find, says=names, **said),
                 expect.run("at the client", "diagnose", BOTH[:1], find=find, says=names, facts={"duplicate-address": {"addresses": [1, 1]}}, **said)]
    return told


# ---- hosts that ask and answer wrongly


@kind("field-arp-scan", "a host that asks by ARP for whole subnets", field_case="G22",
      mild=dict(targets=180, per_s=60), harsh=dict(targets=2400, per_s=600), healthy=dict(targets=12, per_s=3),
      draw=lambda d: dict(targets=(n := d.randint(150, 2500)), per_s=max(50, n / 5)))
def arp_scan(case, targets, per_s):
    with case.bench(switched=True, clients=2) as b:
        server = Ganesha(b)
        b.wire("both delay_us=100")
        with b.capture(filter=""):
            asked = [f"10.0.{1 + n // 250}.{1 + n % 250}" for n in range(targets)]
            send(b, b.clients[1], "eth0", [(n / per_s, arp(mac(17), "10.0.0.11", bytes(6), ip, answer=False)) for n, ip in enumerate(asked)])
            nfs(b, secs=5.2)
        server.log()
    if targets < 100:
        return expect.healthy(skip=["one_way"])
    # Somebody to look for, who cost nobody anything.
    told = expect.healthy(find=["arp-storm"], skip=["one_way"])
    seen = {"arp-storm": {"questions": [0.95 * targets, targets], "targets": [0.95 * min(targets, 1000), targets], "hosts": [1, 1]}}
    told.runs = [expect.run("both ends", "diagnose", BOTH, side=["none"], cause=[None], find=["arp-storm"], facts=seen,
                            says=[r"02:00:00:00:00:11|10\.0\.0\.11"]),
                 expect.run("at the server", "diagnose", BOTH[1:], find=["arp-storm"], facts=seen)]
    return told


@kind("field-arp-corrupt-target", "ARP answers with a broken hardware address of their target: impossible, or not the one that the frame goes to",
      field_case="G22",
      mild=dict(count=4, target="ffffffffffff"), harsh=dict(count=40, target="02deadbeef99"), healthy=dict(count=20, target=None),
      draw=lambda d: dict(count=d.randint(3, 60), target=d.choice(["ffffffffffff", "01005e000001", f"02{d.getrandbits(40):010x}"])))
def arp_corrupt_target(case, count, target):
    with case.bench() as b:
        server = Ganesha(b)
        b.wire("both delay_us=100")
        with b.capture(filter=""):
            # As the server's card answers a client that asks each time.
            said = bytes.fromhex(target) if target else mac(1)
            frames = [frame for n in range(count) for frame in ask_and_answer(0.5 + 4 * n / count, said)]
            send(b, b.client, "eth0", [f for f in frames if f[1][6:12] == mac(1)])
            send(b, b.server, "eth0", [f for f in frames if f[1][6:12] == mac(2)])
            nfs(b)
        server.log()
    if not target:
        return expect.healthy()
    # The frame reaches its receiver all the same: a card or switch that damages memory, and nobody is slow yet.
    told = expect.healthy(find=["invalid-arp"])
    facts = {"invalid-arp": {"packets": [count, count]}}
    told.runs = [expect.run(name, "diagnose", files, find=["invalid-arp"], facts=facts, says=[r"02:00:00:00:00:02", r"(?i)target"])
                 for name, files in (("both ends", BOTH), ("at the client", BOTH[:1]))]
    return told


def ask_and_answer(at, target):
    yield at, arp(mac(1), "10.0.0.1", bytes(6), "10.0.0.2", answer=False, to=mac(2))
    yield at + 0.002, arp(mac(2), "10.0.0.2", target, "10.0.0.1", to=mac(1))


# ---- bridges


def bpdu(root, cost, bridge, change=False):
    """A configuration BPDU (802.1D); root and bridge are (priority, hardware address)."""
    name = lambda who: struct.pack(">H", who[0]) + who[1]
    times = struct.pack(">4H", 1 << 8, 20 << 8, 2 << 8, 15 << 8)
    body = b"\x42\x42\x03" + struct.pack(">HBBB", 0, 0, 0, 0x01 if change else 0) + name(root) + struct.pack(">I", cost) + name(bridge)
    body += b"\x80\x01" + times
    return bytes.fromhex("0180c2000000") + bridge[1][:5] + b"\x99" + struct.pack(">H", len(body)) + body


@kind("field-root-moves", "the spanning tree's root moves to an old switch of equal priority and lower address; nothing passes meanwhile",
      field_case="G23",
      mild=dict(moves=[3.5], outage_ms=700), harsh=dict(moves=[1.5, 6.0], outage_ms=1800), healthy=dict(moves=[], outage_ms=0),
      draw=lambda d: dict(moves=d.choice([[1.5], [3.5], [1.5, 6.0]]), outage_ms=round(d.log_uniform(500, 1900))))
def root_moves(case, moves, outage_ms):
    ours, old = (32768, bytes.fromhex("001a6c400001")), (32768, bytes.fromhex("000142700001"))
    bridge, seconds = (32768, bytes.fromhex("001b0d500001")), 8
    frames = []
    for at in range(seconds + 3):
        moved = sum(m <= at for m in moves)
        told_change = any(0 <= at - m < 2 for m in moves)
        frames.append((at, bpdu(old if moved % 2 else ours, 19 if moved % 2 else 4, bridge, told_change)))
    with case.bench(switched=True) as b:
        server = Ganesha(b)
        b.wire("both delay_us=100")
        with b.capture(filter="", settle=2.5):
            for device in ("eth0", "eth9"):
                send(b, b.middle, device, frames)
            b.later(*((m, lambda: b.wire(f"outage both {outage_ms}", at=-1)) for m in moves))
            rows = nfs(b, secs=seconds, rate=40)
        served = server.log()
    if not moves:
        return judged(rows, served, 0.4, rest="network", skip=["one_way"])
    # TCP tries again after 0.2 s, then twice as long each time: what ended in between is noticed at the next try.
    longest = {"longest_ns": [0.9e6 * outage_ms, 2.2e6 * outage_ms + 5e8]}
    seen = {"stp-topology-change": {"root_changes": [len(moves)] * 2}, "network-outage": longest}
    causes = ["network-outage", "stp-topology-change"]
    # What waited arrives at once, in super-segments of which few offsets can be read, and queues in the server for some
    # milliseconds: where the outage itself is not seen, that is what there is to see.
    crowd = ["network", "server"]
    told = judged(rows, served, 0.4, rest="network", causes={**CAUSES, "network": [*causes, "network-loss"]}, coverage=0.3, matched=0.3,
                  find=["stp-topology-change", "network-outage"], facts=seen, alone=["server"], without={"window": crowd, "cut out": crowd},
                  forbid=["server-stall", "server-slow", "capture-incomplete"], skip=["one_way"])
    waited = sum((r["t_done_ns"] - r["t_issue_ns"]) / 1e9 for r in nfsload.done(rows))
    # At least one call waited for the end of each; most of those that the application asked meanwhile never left its socket.
    cost = {"network-outage": [0.9e-3 * outage_ms * len(moves), waited]}
    old_root = [r"00:01:42:70:00:01"]
    told.runs = [expect.run("both ends", "diagnose", BOTH, side=["network"], cause=causes, facts=seen, cost_s=cost, says=old_root,
                            first=[r"^The NETWORK .*(outage|spanning)"]),
                 expect.run("at the client", "diagnose", BOTH[:1], find=["stp-topology-change"], facts=seen, says=old_root,
                            forbid=["server-stall"])]
    return told


# ---- VLANs

SERVER_VLAN = 10


@kind("field-wrong-vlan", "a host in another VLAN than the server: each way in its own on a trunk's mirror, or a port that hears nothing",
      field_case="G24",
      mild=dict(client_vlan=20), harsh=dict(client_vlan=20, port=True), healthy=dict(client_vlan=SERVER_VLAN),
      draw=lambda d: dict(client_vlan=20, port=d.choice([True, False])))
def wrong_vlan(case, client_vlan, port=False):
    return deaf_port(case) if port else on_a_trunk(case, client_vlan)


def on_a_trunk(case, client_vlan):
    with case.bench() as b:
        server = Ganesha(b)
        with b.capture():
            nfs(b)
        server.log()
    for end in ("client", "server"):
        pcap.rewrite(f"{case.folder}/{end}.pcap", lambda packets: by_sender(packets, client_vlan))
    if client_vlan == SERVER_VLAN:
        told = expect.healthy()
        told.forbid.append("wrong-vlan")
        return told
    told = expect.healthy(find=["wrong-vlan"])
    seen = {"wrong-vlan": {"pairs": [1, 1]}}
    told.runs = [expect.run(name, "diagnose", files, side=["none"], find=["wrong-vlan"], facts=seen,
                            says=[rf"VLAN\s+{vlan}\b" for vlan in (client_vlan, SERVER_VLAN)])
                 for name, files in (("both ends", BOTH), ("at the client", BOTH[:1]))]
    return told


def by_sender(packets, client_vlan):
    """As a trunk's mirror gives them: each way in the VLAN of the port that it came in by."""
    client = set(map(id, pcap.sent_by(packets, "10.0.0.1")))
    tag = lambda p: pcap.tagged([p], (0x8100, client_vlan if id(p) in client else SERVER_VLAN))[0]
    return [tag(p) for p in packets]


def deaf_port(case):
    """The client's port is in VLAN 20, where only a neighbour is; its questions for the server reach nobody."""
    with case.bench(switched=True, clients=2) as b:
        # A switch without VLANs of its own: a bridge for each.
        b.middle.sh("ip link add vlan10 type bridge && ip link set vlan10 up && ip link set eth9 master vlan10")
        program = [sys.executable, f"{SOURCES}/connects.py"]
        with b.capture(filter=""):
            # What a host in a strange VLAN does hear: its neighbours' broadcasts.
            asking = arp(mac(17), "10.0.0.11", bytes(6), "10.0.0.254", answer=False)
            send(b, b.clients[1], "eth0", [(0.5 * n, asking) for n in range(12)])
            send(b, b.server, "eth0", [(0.7 * n, arp(mac(2), "10.0.0.2", bytes(6), "10.0.0.254", answer=False)) for n in range(8)])
            b.run(b.client, *program, "client", b.server.address, 7000, 2, 1, 0.1, f"{b.scratch}/connects.csv")
        b.save("connections.csv.gz", f"{b.scratch}/connects.csv")
        asked_s = sum((int(r["t_end_ns"]) - int(r["t_start_ns"])) / 1e9 for r in truth.rows(f"{b.scratch}/connects.csv"))
    # Not one packet of a conversation: nobody can be judged, and that is what must be said.
    told = expect.Expectation(side=["undetermined", "network"], forbid=["server-slow", "network-loss", "capture-incomplete"])
    first_wait = {"client.reasons[0].kind": {"in": ["arp"]}, "client.reasons[0].ending": {"in": ["no-answer"]},
                  "client.reasons[0].cost_ns": {"between": [0.6e9 * asked_s, 1.02e9 * asked_s]}}
    told.runs = [expect.run("what it waited for", "startup", ["client.pcap", "--client", "10.0.0.1"], json=first_wait, says=[r"10\.0\.0\.2\b"],
                            first=[r"addresses that nobody was seen to answer for"]),
                 expect.run("what the capture is worth", "info", ["client.pcap"], says=[r"(?i)VLAN", r"(?i)broadcast"], first=[r"NOT good enough"])]
    return told
