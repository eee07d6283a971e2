"""Field cases A1 to A4: the database says 58 ms, the array says 1 ms."""

import os
import signal
import threading
import time

from kinds.nfs import CAUSES, carried
from kit import expect, pcap
from kit.apps import evidence, nfsload
from kit.apps.ganesha import Ganesha
from kit.kinds import kind

PAIR = ["client.pcap", "server.pcap"]
ANOTHER_HOUR_S, ANOTHER_HOST = 66 * 60, "10.0.0.77"
HOUR_SAID = r"66(\.0+)? min|1 h 0?6 min|1\.1 h"


def mean_ms(rows, begin, end="t_done_ns"):
    finished = nfsload.done(rows)
    return sum(r[end] - r[begin] for r in finished) / len(finished) / 1e6


def nobody():
    """Nobody is accused; that a few callers never have more than a few calls outstanding is a fact, without a cost."""
    expected = expect.healthy()
    expected.forbid.remove("client-concurrency-cap")
    return expected


def kept_evidence(case, rows, served):
    """All forms in which the application's times can be had; the names of the database's traces."""
    evidence.rows(case, "app.csv.gz", rows)
    evidence.rows(case, "app-no-offsets.csv.gz", rows, offsets=False)
    evidence.averages(case, "app-averages.csv", rows)
    evidence.latencies(case, "app-list.csv.gz", rows)
    evidence.rows(case, "app-hour.csv.gz", rows, shift_s=ANOTHER_HOUR_S)
    evidence.rows(case, "app-host.csv.gz", rows, client=ANOTHER_HOST)
    evidence.dtrace(case, "server-dtrace.txt", served)
    return evidence.oracle_traces(case, rows)


def runs_with_times(traces, with_times, refused, trace_times=None):
    """Runs over both captures with the application's times in each form, and with rows of another hour and host."""
    given = lambda *files: [*PAIR, *(a for f in files for a in ("--app", f))]
    forms = [("rows with offsets", ["app.csv.gz"]), ("rows without offsets", ["app-no-offsets.csv.gz"]),
             ("averages of intervals", ["app-averages.csv"]), ("a list of latencies", ["app-list.csv.gz"])]
    return [*(expect.run(name, "diagnose", given(*files), **with_times) for name, files in forms),
            expect.run("traces of sessions", "diagnose", given(*traces), **(trace_times or with_times)),
            expect.run("rows of another hour", "diagnose", given("app-hour.csv.gz"), **refused, says=[r"(?i)none of [\d,]+", HOUR_SAID]),
            expect.run("rows of another host", "diagnose", given("app-host.csv.gz"), **refused, says=[ANOTHER_HOST.replace(".", r"\.")])]


def four_clocks(app_ms, client_ms, server_ms, operation_ns):
    """What the application, both wires and the server itself measured, outermost first: each within (least, most) in ms; of a
    distribution the operation's mean lies within a power of two."""
    layers = [("application", app_ms), ("client-wire", client_ms), ("server-wire", server_ms)]
    told = {"layers[3].layer": {"in": ["server-operation"]}, "layers[3].mean_ns": {"between": [0.5 * operation_ns, 2 * operation_ns]}}
    for i, (name, (least, most)) in enumerate(layers):
        told[f"layers[{i}].layer"], told[f"layers[{i}].mean_ns"] = {"in": [name]}, {"between": [1e6 * least, 1e6 * most]}
    return told


@kind("field-server-threads", "a server with few threads under many callers", field_case="A1",
      mild=dict(threads=16, callers=32, service_ms=6), harsh=dict(threads=8, callers=48, service_ms=4),
      healthy=dict(threads=64, callers=4, service_ms=0.2),
      draw=lambda d: dict(threads=d.randint(7, 20), callers=d.randint(24, 96), service_ms=d.log_uniform(3, 10)))
def server_threads(case, threads, callers, service_ms):
    with case.bench() as b:
        server = Ganesha(b, threads=threads, read_us=service_ms * 1000, write_us=service_ms * 1000)
        b.wire("both delay_us=300")
        with b.capture():
            # One session at first, which writes: what an operation takes when none waits before it.
            first = nfsload.load(b, name="alone", jobs=1, cap=256, ops=120, secs=1, readpct=0)
            rows = nfsload.load(b, jobs=callers, cap=256, ops=900, secs=4, readpct=100)
        served = server.log()
    traces = kept_evidence(case, rows, served)
    seconds = nfsload.shares(first + rows, served, 0.6)
    # What neither storage nor wire took was waited for a thread.
    seconds["server"] += seconds.pop("rest")
    mean, p99 = nfsload.response_ms(first + rows)
    if mean < expect.FAST_ENOUGH_MS:
        return nobody()
    workers = case.truth["server_app"]["max_concurrent_io"]
    whole = sum(r["t_done_ns"] - r["t_issue_ns"] for r in nfsload.done(rows)) / 1e9
    queued = seconds["server"] - sum(r[4] - r[3] for r in served) / 1e9
    cap = dict(side=["server"], cause=["server-concurrency-cap"], facts={"server-concurrency-cap": {"cap": [0.8 * workers, 1.25 * workers]}},
               cost_s={"server-concurrency-cap": [0.8 * queued, min(whole, 1.2 * queued)]}, forbid=["network-delay", "client-host-slow"],
               first=["^The SERVER is slow", "server-concurrency-cap"])
    # The application waits for what passes on the wire and little else.
    with_times = {**cap, "json": {"budget.client_host_ns": {"between": [0, 0.2e6 * mean]}}}
    refused = {**cap, "json": {"budget.client_host_ns": {"in": [None]}}}
    storage = sum(r[4] - r[3] for r in served) / len(served)
    app = mean_ms(rows, "t_enq_ns")
    runs = [
        expect.run("both ends", "diagnose", PAIR, **cap, says=[r"(?i)threads", r"queue +\d"]),
        expect.run("server alone", "diagnose", ["server.pcap"], **cap),
        expect.run("client alone", "diagnose", ["client.pcap"], side=["server", "undetermined"], forbid=["network-delay", "client-host-slow"]),
        expect.run("mean of each end", "ops", PAIR[:1], json={"groups[0].op": {"in": ["READ"]}, "groups[0].mean_ns":
                   {"between": [0.85e6 * mean, 1.1e6 * mean]}}),
        *runs_with_times(traces, with_times, refused),
        expect.run("DTrace of the server", "diagnose", [*PAIR, "--server-app", "server-dtrace.txt"], **{**cap, "json": {
            "layers[2].layer": {"in": ["server-operation"]}, "layers[2].mean_ns": {"between": [0.5 * storage, 2 * storage]}}}),
        expect.run("four clocks", "diagnose", [*PAIR, "--app", "app.csv.gz", "--server-app", "server-dtrace.txt"], **{**cap, "json": four_clocks(
            (0.95 * app, 1.05 * app), (0.85 * mean, 1.1 * mean), (0.85 * mean - 0.7, 1.1 * mean - 0.6), storage)}),
    ]
    return expect.of_calls(seconds, mean, p99, CAUSES, find=["server-concurrency-cap"], facts=cap["facts"], forbid=cap["forbid"], runs=runs,
                           **carried(case, rows))


@kind("field-client-slots", "a client that keeps few requests outstanding for many threads", field_case="A2",
      mild=dict(slots=16, callers=64), harsh=dict(slots=16, callers=400), healthy=dict(slots=64, callers=4),
      draw=lambda d: dict(slots=d.choice([8, 16, 32]), callers=d.randint(64, 500), version=d.choice(["3", "4.1"])))
def client_slots(case, slots, callers, version="3"):
    with case.bench() as b:
        server = Ganesha(b, read_us=200, write_us=200)
        b.wire("both delay_us=150")
        with b.capture():
            rows = nfsload.load(b, version=version, jobs=callers, cap=slots, slots=slots, ops=1600, secs=4, readpct=100) \
                if version == "4.1" else nfsload.load(b, jobs=callers, cap=slots, ops=1600, secs=4, readpct=100)
        served = server.log()
    traces = kept_evidence(case, rows, served)
    wire, app = mean_ms(rows, "t_issue_ns"), mean_ms(rows, "t_enq_ns")
    storage = sum(r[4] - r[3] for r in served) / len(served)
    queue, host_s = app - wire, sum(r["t_issue_ns"] - r["t_enq_ns"] for r in nfsload.done(rows)) / 1e9
    seconds = nfsload.shares(rows, served, 0.3)
    # On the wire the rest is the server's: its threads run on the machine that all share here.
    seconds["server"] += seconds.pop("rest")
    mean, p99 = nfsload.response_ms(rows)
    # The application's clock has its own processor time in it, of which the wire knows nothing.
    found = expect.of_calls(seconds, mean - 0.5, p99, CAUSES, forbid=["network-delay"], **carried(case, rows))
    found.forbid = [code for code in found.forbid if code != "client-concurrency-cap"]
    if app < expect.FAST_ENOUGH_MS or queue < 0.5 * app:
        return found
    flat = dict(find=["client-concurrency-cap"], facts={"client-concurrency-cap": {"cap": [slots, slots]}})
    # 4.1 states its slots, but not who waits for them.
    alone = dict(side=found.side, **flat, says=["--app"], never=[r"client-concurrency-cap +client +[\d.]+ m?s"], forbid=["client-host-slow"])
    above = {"budget.client_host_ns": {"between": [0.85e6 * queue, 1.05e6 * app]}}
    with_times = dict(side=["client"], cause=["client-concurrency-cap"], **flat, first=["^The CLIENT is slow", "client-concurrency-cap"],
                      cost_s={"client-concurrency-cap": [0.8 * host_s, 1.25 * host_s]}, json=above)
    refused = dict(side=found.side, **flat, json={"budget.client_host_ns": {"in": [None]}})
    runs = [expect.run("both ends", "diagnose", PAIR, **alone), expect.run("client alone", "diagnose", PAIR[:1], **flat),
            *runs_with_times(traces, with_times, refused, {k: v for k, v in with_times.items() if k != "cost_s"}),
            expect.run("four clocks", "diagnose", [*PAIR, "--app", "app.csv.gz", "--server-app", "server-dtrace.txt"], **{**with_times, "json": four_clocks(
                (0.95 * app, 1.05 * app), (0.5 * wire, 1.05 * wire), (0.3 * wire, wire), storage)})]
    # On the wire the calls are as fast as the server; how near that is to fast enough, the application's clock does not say.
    found.side, found.cause, found.host_ns = sorted({"none", *found.side}), [None, *(found.cause or [])], 5_000_000
    found.find, found.facts, found.runs = flat["find"], flat["facts"], runs
    found.app = {"side": ["client"], "cause": ["client-concurrency-cap"], "client_host_ms": [0.85 * queue, 1.05 * app]}
    return found


@kind("field-client-host", "an application whose host gives it no time, behind two wires that are fast", field_case="A3",
      mild=dict(run_ms=20, stop_ms=40), harsh=dict(run_ms=15, stop_ms=150), healthy=dict(run_ms=20, stop_ms=0),
      draw=lambda d: dict(run_ms=d.log_uniform(10, 40), stop_ms=d.log_uniform(30, 250)))
def client_host(case, run_ms, stop_ms):
    with case.bench() as b:
        server = Ganesha(b)
        b.wire("both delay_us=150")
        with b.capture():
            stopped = _Stops(b.client, "nfsload", run_ms / 1e3, stop_ms / 1e3)
            # No more in a burst after each stop than a server answers at once: of a dozen the last waited 10 ms and more for the
            # others, 2.4 ms on average, and then the server is slow.
            rows = nfsload.load(b, rate=min(250, 4_000 / max(stop_ms, 1)), cap=64, ops=900, secs=4, readpct=100)
            b.truth["stops"] = stopped.end()
        served = server.log()
    if not stop_ms:
        return expect.healthy()
    traces = kept_evidence(case, rows, served)
    app, host_s = mean_ms(rows, "t_enq_ns"), sum(r["t_done_ns"] - r["t_enq_ns"] for r in nfsload.done(rows)) / 1e9
    # A read takes under a millisecond here when nothing stops: what is above that, the host took.
    above_s = host_s - 0.001 * len(rows)
    with_times = dict(side=["client"], cause=["client-host-slow"], first=["^The CLIENT is slow", "client-host-slow"],
                      forbid=["network-delay", "server-slow"], cost_s={"client-host-slow": [0.75 * above_s, 1.1 * host_s]},
                      json={"budget.client_host_ns": {"between": [0.75e6 * app, 1.05e6 * app]}})
    on_wire = dict(side=["none"], cause=[None], forbid=["client-host-slow", "server-slow", "network-delay"])
    runs = [expect.run("both ends", "diagnose", PAIR, **on_wire, says=["--app"]), expect.run("client alone", "diagnose", PAIR[:1], **on_wire),
            *runs_with_times(traces, with_times, {**on_wire, "json": {"budget.client_host_ns": {"in": [None]}}},
                             {k: v for k, v in with_times.items() if k != "cost_s"})]
    return expect.healthy(app={"side": ["client"], "cause": ["client-host-slow"], "client_host_ms": [0.75 * app, 1.05 * app]}, runs=runs)


class _Stops:
    """Takes the processor from a program: runs for so long, then stopped for so long, again and again."""

    def __init__(self, host, program, run_s, stop_s):
        self.host, self.program, self.run_s, self.stop_s, self.count, self.over = host, program, run_s, stop_s, 0, threading.Event()
        self.thread = threading.Thread(target=self._go, daemon=True)
        self.thread.start()

    def _pids(self):
        from kit.bench import sh

        for pid in sh(["ip", "netns", "pids", self.host.name]).split():
            try:
                if open(f"/proc/{pid}/comm").read().strip() == self.program:
                    yield int(pid)
            except OSError:
                pass

    def _go(self):
        # Not before it has mounted: what happens there is another matter.
        while not (pids := list(self._pids())) and not self.over.wait(0.02):
            pass
        self.over.wait(0.3)
        while self.stop_s and not self.over.wait(self.run_s):
            try:
                os.kill(pids[0], signal.SIGSTOP)
                time.sleep(self.stop_s)
                os.kill(pids[0], signal.SIGCONT)
            except ProcessLookupError:
                return
            self.count += 1

    def end(self):
        self.over.set()
        self.thread.join()
        return {"run_s": self.run_s, "stop_s": self.stop_s, "count": self.count}


@kind("field-capture-loss", "a capture that cannot keep up with transfers of 1 MB", field_case="A4",
      mild=dict(buffer_kb=1024, keeps=0.97), harsh=dict(buffer_kb=256, keeps=0.6), healthy=dict(buffer_kb=0, keeps=1),
      draw=lambda d: dict(buffer_kb=d.log_uniform(128, 2048), keeps=1 - d.log_uniform(0.02, 0.5)))
def capture_loss(case, buffer_kb, keeps):
    with case.bench(snap=200) as b:
        Ganesha(b)
        b.wire("both delay_us=100 rate_mbit=2000 queue_kb=8192")
        with b.capture():
            rows = nfsload.load(b, jobs=1, cap=4, bs=1 << 20, ops=60, secs=4, readpct=100)
    lost = {}
    for side in ("client", "server"):
        def overrun(packets, side=side):
            kept, lost[side] = _overrun(packets, buffer_kb * 1024, keeps)
            return kept
        if buffer_kb:
            pcap.rewrite(f"{case.folder}/{side}.pcap", overrun)
    case.truth["lost_by_the_capture"] = {side: {"packets": len(n), "bytes": sum(p[1] for p in n)} for side, n in lost.items()}
    never = ["network-loss", "network-outage", "network-reordering", "server-stall", "connection-reset"]
    mean, _ = nfsload.response_ms(rows)
    if not all(lost.get(side) for side in ("client", "server")):
        return expect.Expectation(side=["none", "network", "undetermined"], forbid=[*never, "capture-incomplete"], skip=["one_way"])
    # A megabyte takes a while to pass: who is named for that is not the point here, but it is neither loss nor silence.
    told = dict(side=["none", "network", "undetermined"], find=["capture-incomplete"], forbid=never, never=[r"(?i)the network (lost|loses)"])

    def missing(*sides):
        whole = sum(p[1] for side in sides for p in lost[side])
        return {"capture-incomplete": {"missing_bytes": [0.95 * whole, whole]}}

    runs = [expect.run("both ends", "diagnose", PAIR, **told, facts=missing("client", "server")),
            expect.run("client alone", "diagnose", PAIR[:1], **told, facts=missing("client")),
            expect.run("server alone", "diagnose", PAIR[1:], **told, facts=missing("server")),
            expect.run("what the capture is worth", "info", PAIR[:1], says=[r"(?i)lost|missing|dropped|gap"], never=[r"(?i)nothing is missing"])]
    return expect.Expectation(side=["none", "network", "undetermined"], find=told["find"], forbid=never, skip=["one_way"], coverage=0.3, runs=runs)


def _overrun(packets, room, keeps):
    """What a capture keeps that writes as fast as this share of the busy time's rate, and has so much room for what
    waits to be written: (kept, lost)."""
    large = [p for p in packets if p[1] > 1000]
    per_ns = keeps * sum(p[1] for p in large) / (large[-1][0] - large[0][0])
    waiting, before, kept, lost = 0.0, packets[0][0], [], []
    for packet in packets:
        waiting, before = max(0.0, waiting - (packet[0] - before) * per_ns), packet[0]
        if waiting + packet[1] > room:
            lost.append(packet)
        else:
            waiting += packet[1]
            kept.append(packet)
    return kept, lost
