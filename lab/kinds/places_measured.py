"""Measuring before blaming: the path measured beside its capture, sizes by interval, the database's own trace."""

import os
import subprocess
import time

from kit import expect, truth
from kit.apps import nfsload
from kit.apps.ganesha import Ganesha
from kit.kinds import kind
from kinds.nfs import judged

BOTH = ["client.pcap", "server.pcap"]
SLOWSIDE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "target/release/slowside")


def wire_ms(bench):
    """Median delays out and back that the wire gave to frames with data, ms."""
    measured = bench.truth["wire_measured"]
    return [measured[d]["emulator_delay_ms"]["p50"] for d in ("c2s", "s2c")]


@kind("field-probe", "a path measured by connecting, and by requests and answers of the application's size on its port", field_case="H26",
      mild=dict(round_trip_ms=3, size=250, rate=100), harsh=dict(round_trip_ms=30, size=8192, rate=40),
      healthy=dict(round_trip_ms=0.4, size=250, rate=150),
      draw=lambda d: dict(round_trip_ms=d.log_uniform(2.5, 60), size=d.choice([64, 250, 1400, 8192]), rate=d.randint(20, 100)))
def probe(case, round_trip_ms, size, rate):
    """Its probe is what is measured with."""
    if not os.path.exists(SLOWSIDE):
        raise RuntimeError("needs slowside itself: cargo build --release")
    with case.bench(snap=200) as b:
        b.wire(f"both delay_us={round_trip_ms * 500:.0f}")
        port, token = f"{b.server.address}:1521", f"{b.scratch}/token"
        with open(token, "w") as file:
            file.write("a token of the lab, 32 bytes long")
        os.chmod(token, 0o600)
        listening = b.start(b.server.command(*b.preload, SLOWSIDE, "probe", "--listen", port, "--token-file", token),
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1)
        with b.capture():
            measure = [SLOWSIDE, "probe", port, "--warm-up", "0s", "--format", "json"]
            connect = b.run(b.client, *measure, "--connect-only", "--duration", "1.5s", check=False)
            turns = b.run(b.client, *measure, "--size", f"200:{size}", "--rate", f"{rate}/s", "--duration", "3s", "--token-file", token)
        listening.terminate()
    for name, said in (("connect", connect), ("turns", turns)):
        with open(f"{case.folder}/probe-{name}.json", "w") as file:
            file.write(said.stdout)
    out_ms, back_ms = wire_ms(b)
    case.truth["path_ms"] = there_and_back = out_ms + back_ms
    # Hosts take some tenths of a millisecond to wake twice; a slow start's second window is a round trip more.
    least, most = there_and_back * 1e6 * 0.98, there_and_back * 1e6 * 1.02 + 1e6
    connects = {"connections[0].handshake.syn_to_synack_ns": {"between": [least, there_and_back * 1e6 * 1.02 + 4e5]}}
    # Small messages that wait for each other over a long path: fewer and larger ones would have spared it, which is the client's doing too.
    told = expect.Expectation(side=["network", "client", "mixed"], cause=["network-delay", "chatty"], forbid=["server-slow", "network-loss"])
    if round_trip_ms < 1.5:
        told = expect.healthy()
    told.alone = ["client"]
    told.runs = [expect.run("connecting", "conns", ["client.pcap"], json=connects),
                 expect.run("requests and answers", "ops", ["client.pcap"], json={"groups[0].p50_ns": {"between": [least, most]}}),
                 expect.run("both ends", "diagnose", BOTH, side=told.side, cause=told.cause, forbid=["server-slow"])]
    return told


@kind("field-intervals", "statistics of packets by interval: rates, and least, mean, greatest and deviation of sizes", field_case="H28",
      mild=dict(rate=60, bs=2048), harsh=dict(rate=250, bs=8192), healthy=dict(rate=30, bs=512),
      draw=lambda d: dict(rate=d.randint(30, 300), bs=d.choice([512, 2048, 8192])))
def intervals(case, rate, bs):
    with case.bench(offload=False, snap=128) as b:
        server = Ganesha(b)
        b.wire("both delay_us=150")
        with b.capture():
            nfsload.load(b, rate=rate, cap=64, ops=2000, secs=4, bs=bs)
        server.log()
    # Frames of the wire are those of the capture where no offload joins them.
    frames = truth.rows(f"{case.folder}/wire.csv.gz")
    sizes = [int(f["frame_len"]) for f in frames]
    mean = sum(sizes) / len(sizes)
    deviation = (sum((s - mean) ** 2 for s in sizes) / len(sizes)) ** 0.5
    case.truth["sizes"] = {"packets": len(sizes), "bytes": sum(sizes), "min": min(sizes), "mean": mean, "max": max(sizes),
                           "deviation": deviation}
    # Sizes are what it is about; offsets lie beyond this snap length.
    told = expect.healthy(coverage=0.0)
    row = rf",{len(sizes)},{sum(sizes)},{min(sizes)},{int(mean)}(\.\d+)?,{max(sizes)},{int(deviation)}(\.\d+)?,"
    told.runs = [expect.run("one interval of a minute", "stat", ["client.pcap", "--interval", "60s", "--format", "csv"], says=[row]),
                 expect.run("each second", "stat", ["client.pcap", "--interval", "1s"],
                            says=[r"(?i)\bdev(iation)?\b", rf"{min(sizes)} +{mean:.0f} +{max(sizes):,}\b|{min(sizes)} +{mean:.0f} +{max(sizes)}\b"])]
    return told


# ---- the database's own trace

HEAD = """Trace file /u01/app/oracle/diag/rdbms/prod/PROD/trace/PROD_ora_4711.trc
Oracle Database 19c Enterprise Edition Release 19.0.0.0.0 - Production
Unix process pid: 4711, image: oracle@dbhost

*** SESSION ID:(45.3859)
=====================
PARSING IN CURSOR #140737 len=32 dep=0 uid=90 oct=3 lid=90 tim={tim} hv=1 ad='7f00' sqlid='abcdefghij123'
select * from orders where id=:b
END OF STMT
PARSE #140737:c=10,e=20,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,plh=1,tim={tim}
"""


def trace_of(rows, offset_s, drift_ppm, file=7, block_bytes=8192):
    """A session's trace (event 10046) of reads, as Oracle writes it: every wait with the time of its end, in microseconds of a
    clock of its own."""
    first = rows[0]["t_issue_ns"]

    def tim(time_ns):
        return int((time_ns + offset_s * 1e9 + (time_ns - first) * drift_ppm * 1e-6) / 1000)

    lines = [HEAD.format(tim=tim(first) - 500)]
    for r in rows:
        took = (r["t_done_ns"] - r["t_issue_ns"]) // 1000
        block = f"file#={file} block#={r['offset'] // block_bytes} blocks=1"
        lines.append(f"WAIT #140737: nam='db file sequential read' ela= {took} {block} obj#=73 tim={tim(r['t_done_ns'])}\n")
    n, last = len(rows), tim(rows[-1]["t_done_ns"])
    lines.append(f"FETCH #140737:c=2000,e={last - tim(first) + 100},p={n},cr={n},cu=0,mis=0,r=1,dep=0,og=1,plh=1,tim={last + 50}\n")
    return "".join(lines)


@kind("field-trace", "a database's trace of its reads beside the capture: each wait is a READ, its clock is nobody's", field_case="I29",
      mild=dict(read_ms=3, offset_s=-1.7e9, drift_ppm=0), harsh=dict(read_ms=12, offset_s=81234.5, drift_ppm=60),
      healthy=dict(read_ms=0, offset_s=3.25, drift_ppm=-30),
      draw=lambda d: dict(read_ms=d.log_uniform(2.5, 25), offset_s=d.choice([-1.7e9, d.uniform(-1e5, 1e5)]), drift_ppm=round(d.uniform(-100, 100))))
def trace(case, read_ms, offset_s, drift_ppm):
    with case.bench() as b:
        server = Ganesha(b, read_us=read_ms * 1000, distribution="exponential")
        b.wire("both delay_us=150")
        with b.capture():
            # One session: one read at a time.
            rows = nfsload.load(b, jobs=1, cap=1, rate=0, readpct=100, ops=1500 if read_ms else 900, secs=5)
        served = server.log()
    reads = nfsload.done(rows)
    with open(f"{case.folder}/PROD_ora_4711.trc", "w") as file:
        file.write(trace_of(reads, offset_s, drift_ppm))
    waited = sum(r["t_done_ns"] - r["t_issue_ns"] for r in reads)
    case.truth["trace"] = {"clock_offset_s": offset_s, "clock_drift_ppm": drift_ppm, "t_ref_ns": reads[0]["t_issue_ns"], "waits": len(reads),
                           "waited_ns": waited}
    told = judged(rows, served, 0.3, rest="server", forbid=["network-delay", "network-loss", "client-host-slow"])
    # The offset is told at a time of the capture; 100 ppm of five seconds are 0.5 ms.
    clock = [offset_s * 1e9 - 1e6, offset_s * 1e9 + 1e6]
    joined = {"app.waits.joined": {"between": [0.9 * len(reads), len(reads)]}, "app.clock.offset_ns": {"between": clock},
              "budget.client_host_ns": {"between": [0, 400_000]},
              "app.events[0].oracle.mean_ns": {"between": [0.97 * waited / len(reads), 1.03 * waited / len(reads)]}}
    said = dict(side=told.side, cause=told.cause, json=joined)
    told.runs = [expect.run("both ends and the trace", "diagnose", [*BOTH, "--app", "PROD_ora_4711.trc"], **said),
                 expect.run("the database's host and the trace", "diagnose", ["--client", "client.pcap", "--app", "PROD_ora_4711.trc"], json=joined),
                 expect.run("the trace alone", "trace", ["PROD_ora_4711.trc"], says=[r"db file sequential read"],
                            json={"database.events[0].event": {"in": ["db file sequential read"]}})]
    return told
