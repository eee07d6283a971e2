"""Captures in the middle of a path: a tap that is taken for an end, a host that forwards, addresses that change."""

import os
import subprocess
import sys

from kit import expect, noise
from kit.apps import tcpapp
from kit.build import SOURCES
from kit.kinds import kind
from kinds import tcp
from kinds.places import HARSH, HEALTHY, MILD, expected, fault_drawn, may_be_left_open, traffic

# A tap between both ends, given as the capture of one of them; `at`: on which side of it the path is long.
CLIENT_SIDE, SERVER_SIDE = 0, -1


def drawn(dice):
    return dict(**fault_drawn(dice), instead=dice.choice(["client", "server"]), at=dice.choice([CLIENT_SIDE, SERVER_SIDE]))


@kind("place-middle", "a tap in the middle of the path, beside the capture of one end",
      mild=dict(**MILD, instead="server", at=CLIENT_SIDE), harsh=dict(**HARSH, instead="server", at=SERVER_SIDE),
      healthy=dict(**HEALTHY, instead="client", at=SERVER_SIDE), beyond=dict(fault="path", ms=30, instead="server", at=SERVER_SIDE),
      before=dict(fault="path", ms=30, instead="client", at=CLIENT_SIDE), draw=drawn)
def middle(case, fault, ms, instead, at):
    return tapped(case, fault, ms, instead, at)


@kind("place-any-forwarding", "tcpdump -i any on a host that forwards: each packet twice, as it comes and as it goes",
      mild=dict(**MILD, instead="server", at=CLIENT_SIDE), harsh=dict(**HARSH, instead="server", at=SERVER_SIDE),
      healthy=dict(**HEALTHY, instead="client", at=SERVER_SIDE), draw=drawn)
def any_forwarding(case, fault, ms, instead, at):
    told = tapped(case, fault, ms, instead, at, device="any")
    told.forbid = [f for f in told.forbid if f != "duplicate-packets"]
    return told


def tapped(case, fault, ms, instead, at, device="eth0"):
    rows, served, path_ms = traffic(case, fault, ms, bench=dict(routed=True), capture=dict(middle=True, device=device), at=at)
    os.rename(f"{case.folder}/{instead}.pcap", f"{case.folder}/{instead}-real.pcap")
    os.rename(f"{case.folder}/middle.pcap", f"{case.folder}/{instead}.pcap")
    case.truth["capture"][f"{instead}.pcap"] = f"taken in the middle; that of the {instead} is {instead}-real.pcap"
    # The wires' delays stand by wire, and a tap tells of its own half. What passes on the client's side of a tap
    # that stands for the client is not in the calls as it saw them.
    told = expected(fault, rows, served, path_ms, skip=["one_way"], host_ns=int((path_ms + 1) * 1e6) if instead == "client" else None)
    if fault == "path" and (instead, at) in (("server", SERVER_SIDE), ("client", CLIENT_SIDE)):
        # The long part lies beyond the tap: handshakes bound it, calls do not show it.
        may_be_left_open(told, *(["none"] if instead == "client" else []))
    return told


@kind("field-three-points", "captures at both ends and at the router between them: which half of the path takes long", field_case="K33",
      mild=dict(**MILD, at=SERVER_SIDE, translated=True), harsh=dict(fault="path", ms=30, at=CLIENT_SIDE, translated=False),
      healthy=dict(**HEALTHY, at=CLIENT_SIDE, translated=False),
      draw=lambda d: dict(**fault_drawn(d), at=d.choice([CLIENT_SIDE, SERVER_SIDE]), translated=d.choice([False, True])))
def three_points(case, fault, ms, at, translated):
    rows, served, path_ms = traffic(case, fault, ms, bench=dict(routed=True), capture=dict(middle=True), at=at,
                                    before=(lambda bench: bench.translate()) if translated else None)
    told = expected(fault, rows, served, path_ms)
    # What passes besides the wire's delay is a router's and two hosts' work.
    work_ns = 1.5e6
    delays_ns = [path_ms * 1e6, 0] if at == CLIENT_SIDE else [0, path_ms * 1e6]
    hops = {f"hops[{i}].mean_ns": {"between": [delay, 1.1 * delay + work_ns]} for i, delay in enumerate(delays_ns)}
    slow = [r"lie between client\.pcap\S* and middle\.pcap", r"lie between middle\.pcap\S* and server\.pcap"][at]
    checks = dict(side=told.side, json=hops, **(dict(first=[slow]) if told.side == ["network"] else {}))
    told.runs = [
        expect.run("the three as they come", "diagnose", ["server.pcap", "middle.pcap", "client.pcap"], **checks),
        expect.run("said which is which", "diagnose",
                   ["--client", "client.pcap", "--server", "server.pcap", "--between", "middle.pcap"], **checks),
    ]
    return told


@kind("field-three-points-lossy", "captures at both ends and at the router between them: on which half packets are lost", field_case="K35",
      mild=dict(loss=0.01, at=CLIENT_SIDE), harsh=dict(loss=0.05, at=SERVER_SIDE), healthy=dict(loss=0, at=SERVER_SIDE),
      draw=lambda d: dict(loss=d.log_uniform(0.01, 0.06), at=d.choice([CLIENT_SIDE, SERVER_SIDE])))
def three_points_lossy(case, loss, at):
    with case.bench(routed=True, offload=False, snap=96, noise_limits=noise.Limits(p99_ms=4, worst_ms=25)) as b:
        b.wire("both delay_us=250", at=CLIENT_SIDE)
        b.wire(f"s2c loss={loss}", at=at)
        with b.capture(middle=True):
            tcpapp.run(b, mode="rr", n=300, req=[100], resp=[5792], think_us=5000, nodelay_c=1, nodelay_s=1)
        calls = tcpapp.calls(b)
        names = [wire.name for wire in b.wires]
    told = tcp.judged(calls, 0.5, causes={"network": ["network-loss"]}, forbid=["server-slow", "capture-incomplete"])
    told.skip = [*told.skip, "one_way"]
    lost = [case.truth["wire_measured"]["wires"][name]["s2c"]["dropped_tcp_data_frames"] for name in names]
    # A segment of which the end had arrived is sent again whole; the last of a connection may lack its own.
    hops = {f"hops[{i}].lost_to_client": {"between": [0.9 * n - 1, 1.1 * n + 1]} for i, n in enumerate(lost)}
    where = [r"lost between client\.pcap\S* and middle\.pcap", r"lost between middle\.pcap\S* and server\.pcap"][at]
    first = dict(first=[where], find=["network-loss"]) if told.side == ["network"] else {}
    told.runs = [expect.run("the three as they come", "diagnose", ["server.pcap", "middle.pcap", "client.pcap"], side=told.side, json=hops, **first)]
    return told


@kind("field-proxy", "a proxy between the ends that passes bytes on in connections of its own", field_case="K36",
      mild=dict(hold_ms=0, svc_ms=15, path_ms=0.3), harsh=dict(hold_ms=20, svc_ms=2, path_ms=0.3), far=dict(hold_ms=0, svc_ms=2, path_ms=40),
      healthy=dict(hold_ms=0, svc_ms=0.2, path_ms=0.3),
      draw=lambda d: dict(zip(("hold_ms", "svc_ms", "path_ms"), d.choice([(0, d.log_uniform(8, 40), 0.3), (d.log_uniform(8, 40), 2, 0.3),
                                                                           (0, 2, d.log_uniform(20, 80))]))))
def proxy(case, hold_ms, svc_ms, path_ms):
    with case.bench(routed=True, noise_limits=noise.Limits(p99_ms=4, worst_ms=25)) as b:
        b.wire(f"both delay_us={500 * path_ms:.0f}", at=CLIENT_SIDE)
        rules = 'table ip lab {\n chain pre {\n type nat hook prerouting priority -100;\n iifname "eth0" tcp dport 5000 redirect to :7000\n }\n}\n'
        subprocess.run(b.middle.command("nft", "-f", "-"), input=rules, text=True, check=True)
        passing = b.start(b.middle.command(sys.executable, f"{SOURCES}/proxy.py", 7000, b.server.address, 5000, hold_ms * 1e3),
                          stdout=subprocess.PIPE, text=True)
        if passing.stdout.readline().strip() != "READY":
            raise RuntimeError("the proxy did not start")
        with b.capture(middle=True, device="any"):
            tcpapp.run(b, mode="rr", n=100, jobs=4, req=[120], resp=[800], svc_us=svc_ms * 1e3, distribution="exponential", think_us=4000,
                       think_distribution="exponential", nodelay_c=1, nodelay_s=1, port=5000)
        calls = tcpapp.calls(b)
    case.truth["proxy"] = {"hold_ms": hold_ms, "connections": 4}
    told = tcp.judged(calls, path_ms + 2 * hold_ms, forbid=["network-loss", "capture-incomplete"])
    # Who has one end alone takes the proxy for the other, and calls of its own for those between.
    told.skip = [*told.skip, "one_way"]
    said = dict(says=[r"A proxy ends connections between the captures"])
    if svc_ms > expect.FAST_ENOUGH_MS / 2:
        # The proxy's own calls take no longer than that.
        told.alone = [*(told.alone or []), "server"]
    if hold_ms:
        # It is none of the three.
        told.side, told.cause, told.find = ["undetermined"], [None], []
        said["first"] = [r"^The PROXY between both captures is slow: of \S+ ms per call it holds \S+ ms at\s+least"]
    told.runs = [expect.run("both ends", "diagnose", ["client.pcap", "server.pcap"], side=told.side, **said)]
    if hold_ms:
        said["first"] = [*said["first"], r"Of a call, \S+ ms lie\s+within middle\.pcap"]
        told.runs.append(expect.run("and at the proxy", "diagnose", ["client.pcap", "middle.pcap", "server.pcap"], side=told.side, **said))
    return told


@kind("place-nat", "a router between the ends that puts its own address in place of the client's",
      mild=dict(**MILD, at=CLIENT_SIDE), harsh=dict(**HARSH, at=SERVER_SIDE), healthy=dict(**HEALTHY, at=CLIENT_SIDE),
      draw=lambda d: dict(**fault_drawn(d), at=d.choice([CLIENT_SIDE, SERVER_SIDE])))
def nat(case, fault, ms, at):
    rows, served, path_ms = traffic(case, fault, ms, bench=dict(routed=True), at=at, before=lambda bench: bench.translate())
    return expected(fault, rows, served, path_ms, skip=["one_way"])
