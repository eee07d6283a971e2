"""Field cases D12 to D15: somebody "optimised" the network card: acknowledgements by count, Nagle's algorithm against
delayed ones, jumbo frames into a smaller path, packets that are in the capture twice."""

import os
import shutil

from kinds.tcp import count, delays, judged
from kit import expect, noise, pcap
from kit.apps import nfsload, tcpapp
from kit.apps.ganesha import Ganesha
from kit.kinds import kind

PAIR = ["client.pcap", "server.pcap"]
# What is waited for here takes tens of milliseconds.
ROUGH = noise.Limits(p99_ms=4, worst_ms=25)
NEVER = ["network-loss", "network-outage", "server-slow", "server-stall", "capture-incomplete"]


def spent(calls):
    return sum(c["t_done_ns"] - c["t_start_ns"] for c in calls) / 1e9


def renamed(case, to):
    """Makes room for another recording of the same case."""
    for name in PAIR:
        os.rename(f"{case.folder}/{name}", f"{case.folder}/{to}-{name}")


@kind("field-ack-by-count", "a receiver's card acknowledges every n-th segment, and the rest by a timer", field_case="D12",
      mild=dict(every=12, timer_ms=40), harsh=dict(every=16, timer_ms=200), healthy=dict(every=2, timer_ms=200),
      probes=dict(every=16, timer_ms=200, probes=True),
      draw=lambda d: dict(every=d.randint(12, 40), timer_ms=d.choice([40, 100, 200]), probes=d.random() < 0.5))
def ack_by_count(case, every, timer_ms, rtt_ms=0.3, probes=False):
    # The first wire is the client's card; what leaves it is captured behind it, as the client's. Some senders send their last
    # segment again when they wait (tail loss probes).
    sysctl = {"client": ["net.ipv4.ip_default_ttl=65"], "server": [f"net.ipv4.tcp_early_retrans={3 if probes else 0}"]}
    with case.bench(offload=False, routed=True, sysctl=sysctl, noise_limits=ROUGH) as b:
        b.wire(f"c2s ackevery={every} acktimer_us={timer_ms * 1000}", at=0)
        b.wire(delays(rtt_ms / 2)[0], at=-1)
        b.wire(delays(rtt_ms / 2)[1], at=-1)
        with b.capture(middle=True):
            # The server writes ten segments, and the rest when it is told that they arrived.
            tcpapp.run(b, mode="rr", n=count(4, timer_ms + 5 if every > 2 else 8, 300, 10), req=[100], resp=[14480, 5500], think_us=3000,
                       nodelay_c=1, nodelay_s=1, quickack_c=1, drain_s=1)
        calls = tcpapp.calls(b)
    shutil.move(f"{case.folder}/middle.pcap", f"{case.folder}/client.pcap")
    expected = judged(calls, rtt_ms, rest="client" if every > 2 else "network", causes={"client": ["ack-frequency"]}, forbid=NEVER)
    # Between the captures lies one of the two wires.
    expected.skip = [*expected.skip, "one_way"]
    if expected.side == ["none"] or every <= 2:
        return expected
    held = spent(calls) - 2 * rtt_ms * len(calls) / 1e3
    told = dict(find=["ack-frequency"], forbid=NEVER, cost_s={"ack-frequency": [0.7 * held, 1.1 * held]},
                facts={"ack-frequency": {"wait_mean_ns": [0.6e6 * timer_ms, 1.1e6 * timer_ms]}})
    first = dict(side=["client"], cause=["ack-frequency"], first=["^The CLIENT", "ack-frequency"])
    expected.runs = [expect.run("both ends", "diagnose", PAIR, **told, **first), expect.run("server alone", "diagnose", PAIR[1:], **told, **first),
                     expect.run("client alone", "diagnose", PAIR[:1], **told),
                     expect.run("segments for each acknowledgement", "conns", [PAIR[1], "--connection", "1"],
                                says=[r"(?i)segments? (per|for each) ack +1\.\d+ +([7-9]|1\d)\."])]
    return expected


@kind("field-nagle-copy", "a copy whose blocks leave in two writes, Nagle's algorithm on, against delayed acknowledgements", field_case="D13",
      mild=dict(share=0.3), harsh=dict(share=1), healthy=dict(share=0),
      draw=lambda d: dict(share=d.choice([0.2, 0.5, 1, 1]), rtt_ms=d.log_uniform(0.2, 5)))
def nagle_copy(case, share, rtt_ms=0.4, block=1200, n=90):
    copy = dict(mode="rr", n=n, req=[63], resp=[60, block], nodelay_c=1, split_share=share)
    with case.bench(offload=False, snap=128, noise_limits=ROUGH) as b:
        for line in delays(rtt_ms / 2):
            b.wire(line)
        if share:
            # To every other machine the same copy is quick: there the server does not hold back.
            with b.capture():
                quick = tcpapp.run(b, **copy, nodelay_s=1, port=5101)
            quick_s = spent(tcpapp.calls(b))
            renamed(case, "quick")
        with b.capture():
            slow = tcpapp.run(b, **copy, nodelay_s=int(not share), port=5102)
        calls = tcpapp.calls(b)
    expected = judged(calls, rtt_ms, rest="server" if share else "network", causes={"server": ["nagle-delayed-ack"]}, forbid=NEVER)
    if not share:
        return expected
    case.truth["elapsed_s"] = {"quick": quick["elapsed_s"], "slow": slow["elapsed_s"]}
    held = spent(calls) - quick_s
    told = dict(side=["server"], cause=["nagle-delayed-ack"], find=["nagle-delayed-ack"], forbid=NEVER, first=["^The SERVER", "nagle-delayed-ack"],
                cost_s={"nagle-delayed-ack": [0.8 * held, 1.1 * held]}, facts={"nagle-delayed-ack": {"waits": [0.8 * share * n, 1.2 * share * n]}})
    against = [",".join(f"quick-{f}" for f in PAIR), ",".join(PAIR)]
    expected.runs = [*(expect.run(name, "diagnose", files, **told, says=["TCP_NODELAY"]) for name, files in
                       (("both ends", PAIR), ("server alone", PAIR[1:]), ("client alone", PAIR[:1]))),
                     expect.run("the quick copy", "diagnose", [f"quick-{f}" for f in PAIR], side=["none", "network"],
                                forbid=["nagle-delayed-ack", "nagle", *NEVER]),
                     expect.run("against the quick copy", "compare", against, first=["(?i)nagle", "delayed ack"])]
    return expected


@kind("field-jumbo-frames", "jumbo frames into a path that cannot carry them, with and without routers that say so", field_case="D14",
      mild=dict(icmp=True), harsh=dict(icmp=False), healthy=dict(icmp=False, path=9000),
      draw=lambda d: dict(icmp=d.random() < 0.5, path=d.choice([1400, 1476, 1500, 4000])))
def jumbo_frames(case, icmp, path=1500):
    with case.bench(mtu=9000, offload=False, routed=icmp, noise_limits=ROUGH) as b:
        for line in delays(0.5):
            b.wire(line, at=-1)
        if icmp:
            b.middle.sh(f"ip link set eth0 mtu {path}")
        else:
            b.wire(f"s2c mtu={path}")
        with b.capture():
            small = tcpapp.run(b, name="small-", port=5101, mode="rr", n=40, req=[100], resp=[400], think_us=10000, nodelay_c=1, nodelay_s=1)
            running = tcpapp.begin(b, mode="rr", n=40, req=[100], resp=[20000], think_us=10000, nodelay_c=1, nodelay_s=1, sock_timeout=5)
            try:
                tcpapp.end(b, running)
                came = True
            except RuntimeError as gave_up:
                came, case.truth["gave_up"] = False, str(gave_up)[-200:]
    if path >= 9000:
        assert came and small
        return expect.healthy()
    if icmp:
        # Each connection learns it once; that costs a round trip and nobody.
        told = dict(find=["mtu-mismatch"], forbid=["mtu-black-hole", *NEVER],
                    facts={"mtu-mismatch": {"mtu_bytes": [path, path], "packet_bytes": [path + 1, 9000]}},
                    says=[r"10\.0\.9\.254", f"{path // 1000},?{path % 1000:03d}" if path >= 1000 else str(path)])
        return expect.Expectation(side=["none"], find=["mtu-mismatch"], forbid=["mtu-black-hole"], runs=[
            expect.run("both ends", "diagnose", PAIR, **told), expect.run("server alone", "diagnose", PAIR[1:], **told)])
    # What ends the work has no cost, and comes first.
    told = dict(side=["network"], cause=["mtu-black-hole"], first=["^The NETWORK", "mtu-black-hole"],
                json={"findings[0].code": {"in": ["mtu-black-hole"]}, "findings[0].cost_ns": {"in": [None]}},
                facts={"mtu-black-hole": {"segment_bytes": [path - 52 + 1, 8960]}}, says=[r"(?i)\bMTU\b"], forbid=["server-slow", "server-stall"])
    # The client sees that nothing comes, not that something was sent.
    runs = [expect.run("both ends", "diagnose", PAIR, **told), expect.run("server alone", "diagnose", PAIR[1:], **told),
            expect.run("client alone", "diagnose", PAIR[:1], side=["network", "undetermined", "mixed"], forbid=["server-slow", "server-stall"])]
    return expect.Expectation(side=["network"], cause=["mtu-black-hole"], find=["mtu-black-hole"], alone=["none"],
                              without={w: ["network", "none", "undetermined"] for w in ("window", "cut out", "no beginning", "snaplen")}, runs=runs)


@kind("field-fragments", "datagrams larger than a frame: how many fragments a path carries", field_case="D14",
      mild=dict(mtu=1500), harsh=dict(mtu=576), healthy=dict(mtu=1500, block=1024),
      draw=lambda d: dict(mtu=d.choice([576, 1400, 1476, 1500]), block=d.choice([4096, 8192])))
def fragments(case, mtu, block=8192, ops=200):
    with case.bench(mtu=mtu, offload=False) as b:
        Ganesha(b, transports="TCP, UDP")
        for line in delays(0.1):
            b.wire(line)
        with b.capture():
            rows = nfsload.load(b, version="3 udp", jobs=2, cap=2, ops=ops, secs=4, bs=block)
    # Each read's answer and each write's request is a datagram of a block and some headers; what is asked on the way is small.
    whole, pieces = len(nfsload.done(rows)), -(-(block + 108) // (mtu - 20))
    held, says = {"health.fragments.packets": {"in": [0]}}, {}
    if pieces > 1:
        held = {"health.fragments.whole_datagrams": {"between": [whole, whole + 10]}, "health.fragments.incomplete_datagrams": {"in": [0]},
                "health.fragments.packets": {"between": [whole * (pieces - 1), (whole + 10) * (pieces + 1)]}}
        says = dict(says=[r"(?i)\d fragments"])
    told = expect.healthy(runs=[expect.run("what the capture holds", "info", PAIR[:1], json=held, **says),
                                expect.run("both ends", "diagnose", PAIR, side=["none"], forbid=["fragments-lost", *NEVER])])
    # Each job asks anew when it has its answer: that never more than two calls are outstanding is true.
    told.forbid.remove("client-concurrency-cap")
    return told


def _again(packets, step_ns, ttl_less, copies=1, every=1):
    """Each n-th TCP segment once more (or oftener): the same packet, with less time to live each time."""
    out = []
    for i, (time, length, data) in enumerate(packets):
        out.append((time, length, data))
        ip = 14
        if data[12:14] != b"\x08\x00" or data[ip + 9] != 6 or i % every:
            continue
        for n in range(1, copies + 1):
            ttl = data[ip + 8] - n * ttl_less
            if ttl > 0:
                copy = bytearray(data)
                copy[ip + 8] = ttl
                # The header's sum as a router changes it: one less to live is 0x0100 more in the sum (RFC 1141).
                total = (copy[ip + 10] << 8 | copy[ip + 11]) + 0x100 * n * ttl_less
                total = (total & 0xFFFF) + (total >> 16)
                copy[ip + 10], copy[ip + 11] = total >> 8, total & 0xFF
                out.append((time + n * step_ns, length, bytes(copy)))
    return sorted(out, key=lambda p: p[0])


@kind("field-duplicates", "resends, packets captured twice, packets in a circle: told by number and time to live", field_case="D15",
      mild=dict(loss=0.01, every=200), harsh=dict(loss=0.04, every=30), healthy=dict(loss=0, every=0),
      draw=lambda d: dict(loss=d.log_uniform(0.005, 0.06), every=d.randint(20, 200)))
def duplicates(case, loss, every):
    with case.bench(offload=False, snap=96, noise_limits=ROUGH) as b:
        for line in [*delays(0.5), f"s2c loss={loss}"]:
            b.wire(line)
        with b.capture():
            tcpapp.run(b, mode="rr", n=260, req=[100], resp=[6000], think_us=5000, nodelay_c=1, nodelay_s=1)
        calls = tcpapp.calls(b)
    expected = judged(calls, 1, causes={"network": ["network-loss", "network-delay"]},
                      forbid=["duplicate-packets", "server-slow", "capture-incomplete"])
    if not loss:
        return expected
    header, scale, packets = pcap.read(f"{case.folder}/client.pcap")
    resent = b.truth["wire_measured"]["s2c"]["tcp_resent_frames"]
    tcp = sum(p[2][23] == 6 for p in packets)
    files = {"mirror.pcap": _again(packets, 2_000, 0), "router.pcap": _again(packets, 30_000, 1),
             "circle.pcap": _again(packets, 400_000, 2, 20, every)}
    # Both: taken on either side of a router, and what goes round passes both places each time.
    files["both.pcap"] = _again(files["circle.pcap"], 30_000, 1)
    for name, changed in files.items():
        pcap.write(f"{case.folder}/{name}", header, scale, changed)
    round_ = sum(p[2][23] == 6 for i, p in enumerate(packets) if i % every == 0)
    case.truth["made"] = {"tcp_packets": tcp, "packets_that_go_round": round_, "times_each": 20}
    copies = {"duplicate-packets": {"copies": [0.97 * tcp, tcp], "looped": [0, 0]}}
    looped = {"duplicate-packets": {"looped": [0.9 * round_, 20 * round_]}}
    is_loss = dict(find=["network-loss"], facts={"network-loss": {"retransmitted_packets": [0.8 * resent, 1.2 * resent + 1]}})
    circle = dict(find=["duplicate-packets"], facts=looped, says=[r"(?i)circle|loop", r"(?i)time to live|TTL"])
    expected.runs = [
        expect.run("lost and sent again", "diagnose", PAIR, **is_loss, forbid=["duplicate-packets"]),
        expect.run("captured twice", "diagnose", ["mirror.pcap"], find=["duplicate-packets"], facts={**copies, **is_loss["facts"]},
                   never=["(?i)packets go round"]),
        expect.run("captured on either side of a router", "diagnose", ["router.pcap"], find=["duplicate-packets"], never=["(?i)packets go round"],
                   facts={"duplicate-packets": {**copies["duplicate-packets"], "routed": [0.97 * tcp, tcp]}, **is_loss["facts"]}),
        expect.run("in a circle", "diagnose", ["circle.pcap"], **circle),
        expect.run("in a circle, captured twice", "diagnose", ["both.pcap"], **circle)]
    return expected
