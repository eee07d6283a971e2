"""Random reads and writes over NFS: libnfs for version 3, clients of the lab's own for 4.0, 4.1 and for version 3 over UDP.

Each operation has a file offset of its own, so that it can be found in a capture; its log has three times: asked by
the application (`t_enq_ns`), handed to the NFS client (`t_issue_ns`), done (`t_done_ns`).
"""

import csv
import subprocess
import sys

from kit import pcap, truth
from kit.build import SOURCES, binary


def load(bench, *, host=None, version="3", name="client", timeout=45, **options):
    """Runs a load to its end and returns its operations (dicts of numbers). `options`: ops, secs, rate (Poisson
    arrivals a second; 0 is a closed loop), jobs (threads of the closed loop), cap (most on the wire), bs (bytes), file,
    readpct, nodelay (3), slots and conns (4.1), rcvbuf, read_bytes and read_sleep_us (4.x), timeout_ms (UDP). `version`
    is "3", "3 udp", "4.0" or "4.1". The truth of `name` "client" is that of the case."""
    running = begin(bench, host=host, version=version, name=name, timeout=timeout, **options)
    return end(bench, running)


def begin(bench, *, host=None, version="3", name="client", timeout=45, **options):
    """Starts a load, for several at a time."""
    host = host or bench.client
    version = str(version)
    out = f"{bench.scratch}/{name}-ops.csv"
    options = {"export": "/export", "seed": bench.case.seed, "host": bench.server.address, "out": out, **options}
    if version.startswith("4"):
        program = [sys.executable, f"{SOURCES}/nfs4load.py"]
        options["minor"] = version[2:] or "0"
    elif version == "3 udp":
        program = [sys.executable, f"{SOURCES}/nfsudpload.py"]
    else:
        program = [binary("nfsload")]
        options.update(ver=version, mountport=20048)
    command = host.command("timeout", timeout, *bench.preload, *program, *(f"{k}={v}" for k, v in options.items()))
    process = bench.start(command, stderr=subprocess.PIPE, text=True)
    return name, out, version, options, process


def together(bench, *loads):
    """Runs several loads at a time on one host to their end, each with options as of `load`, and returns their
    operations as those of one application."""
    running = [begin(bench, name=f"client-{i}", **{**options, "part": f"{i}/{len(loads)}"}) for i, options in enumerate(loads)]
    rows = [r for one in running for r in end(bench, one)]
    path = f"{bench.scratch}/client-ops.csv"
    with open(path, "w") as file:
        out = csv.DictWriter(file, rows[0])
        out.writeheader()
        out.writerows(rows)
    bench.save("client_ops.csv.gz", path)
    bench.truth["app"] = summary(rows)
    return rows


def end(bench, running):
    name, out, version, options, process = running
    said = process.communicate()[1]
    if process.returncode:
        raise RuntimeError(f"NFS load of {name}: exit {process.returncode}: {said[-800:]}")
    bench.save(f"{name}_ops.csv.gz", out)
    rows = [{k: v if k in ("op", "xid") else int(v or 0) for k, v in r.items()} for r in truth.rows(out)]
    software = {"3": "libnfs (src/nfsload.c)", "3 udp": "raw-XDR NFSv3 client over UDP (src/nfsudpload.py)"}
    told = {"software": software.get(version, "raw-XDR NFSv4 client (src/nfs4load.py)"),
            "load": {k: v for k, v in options.items() if k != "out"}, "stderr": said.strip()}
    bench.truth["client" if name == "client" else name] = told
    bench.truth["app" if name == "client" else f"app_{name}"] = summary(rows)
    return rows


def done(rows):
    return [r for r in rows if r["t_done_ns"]]


def summary(rows):
    finished, told = done(rows), {}
    for op in ("READ", "WRITE"):
        mine = [r for r in finished if r["op"] == op]
        if mine:
            told[op] = {"app_ms(enq->done)": truth.summary([(r["t_done_ns"] - r["t_enq_ns"]) / 1e6 for r in mine]),
                        "issue_ms(issue->done)": truth.summary([(r["t_done_ns"] - r["t_issue_ns"]) / 1e6 for r in mine])}
    if finished:
        seconds = (max(r["t_done_ns"] for r in finished) - min(r["t_issue_ns"] for r in finished)) / 1e9
        waited = sum(r["t_done_ns"] - r["t_issue_ns"] for r in finished) / 1e9
        told.update(ops=len(rows), completed=len(finished), duration_s=round(seconds, 3), ops_per_s=round(len(finished) / seconds, 1),
                    mean_outstanding=round(waited / seconds, 2), errors=sum(r["status"] < 0 for r in finished))
    return told


def shares(rows, served, path_ms):
    """Seconds by side of all finished operations: the server's from its own log (`Ganesha.log`), the path's as the
    wires did it to each (`path_ms`, out and back; a number, or a function of the time of issue in ns), and what is
    left of the client's time, which is loss, queues and hosts: the caller says whose that is."""
    took = {}
    for op, offset, _, start, end, *_ in served:
        took[op, offset] = took.get((op, offset), 0) + (end - start)
    whole = server = network = 0.0
    finished = done(rows)
    for r in finished:
        took_ns = r["t_done_ns"] - r["t_issue_ns"]
        by_server = min(took.get((r["op"], r["offset"]), 0), took_ns)
        path_ns = 1e6 * (path_ms(r["t_issue_ns"]) if callable(path_ms) else path_ms)
        whole, server, network = whole + took_ns, server + by_server, network + min(path_ns, took_ns - by_server)
    return {"client": 0.0, "network": network / 1e9, "server": server / 1e9, "rest": (whole - server - network) / 1e9}


def response_ms(rows):
    """(mean, 99th percentile) of issue to done."""
    times = [(r["t_done_ns"] - r["t_issue_ns"]) / 1e6 for r in done(rows)]
    return sum(times) / len(times), truth.percentile(times, 99)


_CALL = bytes.fromhex("00000000" "00000002" "000186a3")  # a call, RPC version 2, program 100003
_ANSWER = bytes.fromhex("00000001" "00000000")  # an answer, accepted


def captured(path, rows):
    """Which of these operations a capture holds with the headers of their request and of their answer (short snap
    lengths cut those away that lie behind other data in one packet): a set of (op, offset)."""
    wanted = {r["offset"].to_bytes(8, "big"): (r["op"], r["offset"]) for r in rows}
    asked, answered = {}, set()
    for _, _, data in pcap.read(path)[2]:
        at = data.find(_CALL)
        while at >= 4:
            found = data.find(_CALL, at + 12)
            call = data[at : found if found > 0 else len(data)]
            for i in range(12, len(call) - 7, 4):
                if call[i : i + 8] in wanted:  # the last one: what comes before it may look like a small offset
                    asked[data[at - 4 : at]] = wanted[call[i : i + 8]]
            at = found
        at = data.find(_ANSWER)
        while at >= 4:
            answered.add(data[at - 4 : at])
            at = data.find(_ANSWER, at + 1)
    return {operation for xid, operation in asked.items() if xid in answered}
