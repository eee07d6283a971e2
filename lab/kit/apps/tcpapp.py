"""A client and a server of the lab's own over plain TCP (`src/tcpapp.py`), which write, wait, read and pause as told."""

import json
import os
import subprocess
import sys

from kit import truth
from kit.build import SOURCES


def run(bench, **told):
    """Runs both to their end. `told`: mode ("rr": requests and responses; "bulk": a stream), n, req, resp (sizes of the
    writes of a request and of a response), svc_us, think_us, bytes, write, read, read_sleep_us, rcvbuf_c, rcvbuf_s,
    nodelay_c, nodelay_s, quickack_s, conns, …: see the source. Returns the truth of the applications."""
    told["dir"], told["server"] = bench.scratch, bench.server.address
    text = json.dumps(told)
    program = [sys.executable, f"{SOURCES}/tcpapp.py"]
    server = bench.start(bench.server.command("timeout", 60, *bench.preload, *program, "server", text), stdout=subprocess.PIPE, text=True)
    if server.stdout.readline().strip() != "READY":
        raise RuntimeError("the server of tcpapp did not start")
    bench.run(bench.client, *program, "client", text, timeout=50)
    try:
        server.wait(8)
    except subprocess.TimeoutExpired:
        server.terminate()
        server.wait()
    app = {"workload": {k: v for k, v in told.items() if k != "dir"}}
    for side in ("client", "server"):
        if os.path.exists(path := f"{bench.scratch}/{side}_app.json"):
            app[side] = json.load(open(path))
        if os.path.exists(path := f"{bench.scratch}/{side}_ops.csv"):
            bench.save(f"{side}_ops.csv.gz", path)
    _measure(bench, told, app)
    bench.truth["app"] = app
    return app


def _measure(bench, told, app):
    span = lambda r, a, b: (int(r[b]) - int(r[a])) / 1e6
    rows = truth.rows(f"{bench.scratch}/client_ops.csv")
    if rows:
        if told["mode"] == "rr":
            app["op_ms(start->reply)"] = truth.summary([span(r, "t_start_ns", "t_done_ns") for r in rows])
        app["write_blocked_ms(start->sent)"] = truth.summary([span(r, "t_start_ns", "t_sent_ns") for r in rows])
        elapsed = app["client"]["elapsed_s"]
        app["throughput_mbit_s"] = round(sum(int(r["sent"]) for r in rows) * 8e-6 / elapsed, 3)
        app["elapsed_s"] = round(elapsed, 3)
    served = f"{bench.scratch}/server_ops.csv"
    if os.path.exists(served) and told["mode"] == "rr" and (rows := truth.rows(served)):
        app["server_ms(got->replied)"] = truth.summary([span(r, "t_got_ns", "t_replied_ns") for r in rows])
