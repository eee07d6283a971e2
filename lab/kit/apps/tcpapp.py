"""A client and a server of the lab's own over plain TCP (`src/tcpapp.py`), which write, wait, read and pause as told."""

import json
import os
import subprocess
import sys

from kit import truth
from kit.build import SOURCES


def run(bench, **told):
    """Runs both to their end and returns the truth of the applications; `told`: see the source. A call's times are in
    `calls(bench)`, what held a stream is in `limits(app)`."""
    return end(bench, begin(bench, **told))


def begin(bench, *, client=None, **told):
    """Starts both, for several at a time; each pair but the first needs a `port` and a `name` of its own."""
    told = {"dir": bench.scratch, "server": bench.server.address, "seed": bench.case.seed, **told}
    text = json.dumps(told)
    program = [*bench.preload, sys.executable, f"{SOURCES}/tcpapp.py"]
    server = bench.start(bench.server.command("timeout", 60, *program, "server", text), stdout=subprocess.PIPE, text=True)
    if server.stdout.readline().strip() != "READY":
        raise RuntimeError("the server of tcpapp did not start")
    asking = bench.start((client or bench.client).command("timeout", 50, *program, "client", text), stderr=subprocess.PIPE, text=True)
    return told, server, asking


def end(bench, running):
    told, server, asking = running
    said = asking.communicate()[1]
    if asking.returncode:
        raise RuntimeError(f"the client of tcpapp: exit {asking.returncode}: {said[-800:]}")
    try:
        server.wait(8)
    except subprocess.TimeoutExpired:
        server.terminate()
        server.wait()
    name = told.get("name", "")
    app = {"workload": {k: v for k, v in told.items() if k != "dir"}}
    for side in ("client", "server"):
        if os.path.exists(path := f"{bench.scratch}/{name}{side}_app.json"):
            app[side] = json.load(open(path))
        if os.path.exists(path := f"{bench.scratch}/{name}{side}_ops.csv"):
            bench.save(f"{name}{side}_ops.csv.gz", path)
    _measure(bench, told, app)
    bench.truth[f"app_{name}" if name else "app"] = app
    return app


def calls(bench, name="", fill=0):
    """Calls as both applications saw them: the client's row with the server's fields (`server_` before them), in numbers.
    `fill` connections came before the client's own."""
    numbers = lambda path, before: [{before + k: int(v) for k, v in r.items()} for r in truth.rows(f"{bench.scratch}/{name}{path}_ops.csv")]
    served = {(r["server_conn"] - fill, r["server_i"]): r for r in numbers("server", "server_")}
    return [{**r, **served.get((r["conn"], r["i"]), {})} for r in numbers("client", "")]


def limits(app):
    """Seconds in which each thing held a stream's sender: its application, the receiver's window, its own buffer,
    and the network (all other time with bytes on their way), by the kernel's own count (TCP_INFO)."""
    down = app["workload"].get("direction", "up") == "down"
    sender = app["server"]["tcp_info_0"] if down else app["client"]["tcp_info"]
    elapsed, seconds = app["client"]["elapsed_s"], {k: sender[k] / 1e6 for k in ("busy_time", "rwnd_limited", "sndbuf_limited")}
    idle = max(0.0, elapsed - seconds["busy_time"])
    # A sender that pauses while its last bytes are still on their way is "busy" to the kernel, and limited by itself.
    idle = max(idle, min(app["thought_s"], elapsed - seconds["rwnd_limited"]))
    return {
        "application": idle,
        "window": seconds["rwnd_limited"],
        "buffer": seconds["sndbuf_limited"],
        "network": max(0.0, elapsed - idle - seconds["rwnd_limited"] - seconds["sndbuf_limited"]),
        "elapsed": elapsed,
        "resent": sender["total_retrans"],
    }


def _measure(bench, told, app):
    span = lambda r, a, b: (int(r[b]) - int(r[a])) / 1e6
    name, down = told.get("name", ""), told.get("direction", "up") == "down"
    rows = truth.rows(f"{bench.scratch}/{name}client_ops.csv")
    served = truth.rows(path) if os.path.exists(path := f"{bench.scratch}/{name}server_ops.csv") else []
    app["thought_s"] = (
        sum(int(r["slept_ns"]) for r in served) / 1e9 if told["mode"] == "bulk" and down else sum(int(r["thought_ns"]) for r in rows) / 1e9
    )
    if rows:
        if told["mode"] == "rr":
            app["op_ms(start->reply)"] = truth.summary([span(r, "t_start_ns", "t_done_ns") for r in rows])
        app["write_blocked_ms(start->sent)"] = truth.summary([span(r, "t_start_ns", "t_sent_ns") for r in rows])
        elapsed = app["client"]["elapsed_s"]
        app["throughput_mbit_s"] = round(sum(int(r["got" if down else "sent"]) for r in rows) * 8e-6 / elapsed, 3)
        app["elapsed_s"] = round(elapsed, 3)
    if served and told["mode"] == "rr":
        app["server_ms(got->ready)"] = truth.summary([span(r, "t_got_ns", "t_ready_ns") for r in served])
