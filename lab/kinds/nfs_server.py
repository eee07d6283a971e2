"""NFS servers whose storage, process or workers hold the calls."""

import signal
import time

from kinds.nfs import CAUSES, NEVER, VERSIONS, carried, judged, recorded, where_runs
from kit import expect
from kit.apps import nfsload
from kit.apps.ganesha import Ganesha
from kit.kinds import kind

CAPPED = {**CAUSES, "server": ["server-concurrency-cap"]}


def stopped(seconds):
    """A step: the server's process stands still so long; its kernel goes on acknowledging."""

    def stop(_, server):
        server.signal(signal.SIGSTOP)
        time.sleep(seconds)
        server.signal(signal.SIGCONT)

    return stop


@kind("nfs-bimodal-storage", "most reads and writes hit a cache, some wait for a disk",
      mild=dict(share=0.04, slow_ms=30), harsh=dict(share=0.12, slow_ms=80), healthy=dict(share=0, slow_ms=0),
      draw=lambda d: dict(share=d.log_uniform(0.02, 0.2), slow_ms=d.log_uniform(25, 120), version=d.choice(VERSIONS)))
def bimodal_storage(case, share, slow_ms, version="3"):
    rows, served = recorded(case, wire=["both delay_us=200"], load=dict(version=version, rate=250, cap=96, ops=1250, secs=5),
                            storage=dict(read_us=300, write_us=300, distribution="bimodal", slow_p=share, slow_us=slow_ms * 1000))
    return judged(rows, served, 0.4, rest="server", case=case, causes={**CAUSES, "server": ["server-slow", "server-stall"]},
                  forbid=["network-delay", "network-loss", "server-concurrency-cap", *NEVER])


@kind("nfs-stall", "the server's process stands still for moments",
      mild=dict(stall_ms=200, times=2), harsh=dict(stall_ms=700, times=3), healthy=dict(stall_ms=0, times=0),
      draw=lambda d: dict(stall_ms=d.log_uniform(120, 800), times=d.randint(1, 4), delay_ms=d.log_uniform(0.1, 1), version=d.choice(VERSIONS)))
def stall(case, stall_ms, times, delay_ms=0.3, version="3"):
    steps = [(0.9 + i * 3.8 / times, stopped(stall_ms / 1000)) for i in range(times)]
    rows, served = recorded(case, wire=[f"both delay_us={delay_ms * 1000:.0f}"], steps=steps,
                            load=dict(version=version, rate=250, cap=512, ops=1250, secs=5))
    return judged(rows, served, 2 * delay_ms, rest="server", case=case, find=["server-stall"],
                  forbid=["network-delay", "network-loss", "network-outage", "server-concurrency-cap", *NEVER])


@kind("nfs-periodic-stall", "the server stands still at regular intervals", field_case="J32",
      mild=dict(every_s=2, stall_ms=100), harsh=dict(every_s=1, stall_ms=250), healthy=dict(every_s=2, stall_ms=0),
      draw=lambda d: dict(every_s=d.choice([0.5, 1, 1.5, 2]), stall_ms=d.log_uniform(60, 250), by=d.choice(["process", "storage"])))
def periodic_stall(case, every_s, stall_ms, by="process"):
    seconds = 9 if every_s > 1 else 6

    def slow_moment(_, server):
        server.waits(read_us=stall_ms * 1000, write_us=stall_ms * 1000)
        time.sleep(stall_ms / 1000)
        server.waits()

    moment = stopped(stall_ms / 1000) if by == "process" else slow_moment
    steps = [(0.6 + i * every_s, moment) for i in range(int((seconds - 0.6) / every_s))] if stall_ms else []
    rows, served = recorded(case, wire=["both delay_us=150"], steps=steps, load=dict(rate=150, cap=256, ops=1500, secs=seconds))
    ill = dict(where=[expect.every(CAUSES["server"], every_s, stall_ms / 1e3)]) if steps else {}
    told = judged(rows, served, 0.3, rest="server", case=case, causes={**CAUSES, "server": ["server-stall", "server-slow"]},
                  find=[["server-stall", "server-slow"]], forbid=["network-delay", "network-loss", "server-concurrency-cap", *NEVER], **ill)
    told.runs = where_runs(told, told.where, says=[r"(?i)\bevery \d"])
    return told


@kind("nfs-worker-cap", "the server has fewer workers than calls to work on",
      mild=dict(jobs=20, service_ms=8), harsh=dict(jobs=32, service_ms=16), healthy=dict(rate=300, service_ms=0),
      draw=lambda d: dict(jobs=d.randint(10, 36), service_ms=d.log_uniform(5, 20), version=d.choice(VERSIONS), threads=d.choice([8, 10, 12, 16])))
def worker_cap(case, service_ms, jobs=0, rate=0, threads=8, version="3"):
    rows, served = recorded(case, wire=["both delay_us=250"], storage=dict(threads=threads, read_us=service_ms * 1000, write_us=service_ms * 1000),
                            load=dict(version=version, rate=rate, jobs=jobs, cap=jobs or 64, ops=2000, secs=5))
    workers = case.truth["server_app"]["max_concurrent_io"]
    # Where the server reads no more, answers come packed and most headers are cut away: then nothing shows the cap (nfs-overrun).
    seen = carried(case, rows)["coverage"] > 0.3
    # A short queue that is always as long looks like a slow server.
    queued = seen and case.truth["app"]["mean_outstanding"] > 4 * workers
    states = dict(find=["server-concurrency-cap"], facts={"server-concurrency-cap": {"cap": [workers - 1, workers + 1]}}) if queued else {}
    mean_ms, _ = nfsload.response_ms(rows)
    return judged(rows, served, 0.5, rest="server", case=case, causes=CAPPED if queued else CAUSES, host_ns=max(300_000, int(mean_ms * 5e4)),
                  forbid=["network-delay", "network-loss", *NEVER], **states)


@kind("nfs-storage-onset", "storage is fast, and from the middle on slow", field_case="J31",
      mild=dict(then_ms=10), harsh=dict(then_ms=40), healthy=dict(then_ms=0.1),
      draw=lambda d: dict(then_ms=d.log_uniform(5, 60), begin_s=round(d.uniform(1.2, 3.8), 2), version=d.choice(VERSIONS)))
def storage_onset(case, then_ms, begin_s=2.5, version="3"):
    slower = lambda _, server: server.waits(read_us=then_ms * 1000, write_us=then_ms * 1000, distribution="exponential")
    rows, served = recorded(case, wire=["both delay_us=150"], steps=[(begin_s, slower)],
                            load=dict(version=version, rate=200, cap=96, ops=1000, secs=5))
    ill = dict(where=[expect.since(CAUSES["server"], case.truth["storage"][-1]["t_ns"])]) if then_ms > 4 else {}
    told = judged(rows, served, 0.3, rest="server", case=case, forbid=["network-delay", "network-loss", *NEVER], **ill)
    told.runs = where_runs(told, told.where, says=[r"(?i)\bsince .*\d\d:\d\d:\d\d"])
    return told


@kind("nfs-overrun", "one connection sends more calls than the server has workers, until the server no longer reads",
      mild=dict(jobs=40, service_ms=25), harsh=dict(jobs=200, service_ms=25), healthy=dict(rate=120, service_ms=0),
      draw=lambda d: dict(jobs=d.randint(40, 250), service_ms=d.log_uniform(20, 40), buffer_kb=d.choice([32, 64, 128]), whole=d.random() < 0.7))
def overrun(case, service_ms, jobs=0, rate=0, buffer_kb=64, whole=True):
    window = f'net.ipv4.tcp_rmem="4096 {buffer_kb << 9} {buffer_kb << 10}"'
    # Requests lie packed in the stream: only whole packets hold the headers of all.
    rows, served = recorded(case, wire=["both delay_us=250"], bench=dict(sysctl={"server": [window]}, snap=0 if whole else 256),
                            storage=dict(threads=8, write_us=service_ms * 1000),
                            load=dict(rate=rate, jobs=jobs, cap=jobs or 64, bs=4096, readpct=0, ops=650, secs=5))
    # What waits in the client's socket, because the server does not read, waits for the server's workers.
    took = sorted(r["t_done_ns"] - r["t_issue_ns"] for r in nfsload.done(rows))
    return judged(rows, served, 0.5, rest="server", case=case, causes={**CAUSES, "server": ["server-concurrency-cap", "server-slow"]},
                  skip=["one_way"], host_ns=max(300_000, took[len(took) // 2]), forbid=["network-delay", "network-loss", "network-bandwidth", *NEVER])


@kind(
    "nfs-locked",
    "a client wants to lock what another has locked: the server denies it, and it asks again by timers",
    field_case="K56",
    mild=dict(held_ms=800),
    harsh=dict(held_ms=1500),
    healthy=dict(held_ms=0),
    draw=lambda d: dict(held_ms=d.uniform(300, 2000), others=d.randint(1, 3), delay_ms=d.log_uniform(0.1, 0.5)),
)
def locked(case, held_ms, others=1, delay_ms=0.3):
    options = dict(version="4.1", rate=40, cap=8, ops=40, secs=3)
    with case.bench(snap=320) as b:
        server = Ganesha(b)
        b.wire(f"both delay_us={delay_ms * 1000:.0f}")
        with b.capture():
            # Each has a lock of its own where nobody holds any.
            at = lambda n: 0 if held_ms else n
            told = [dict(options, locks=1 if held_ms else 3, lock_at=at(n), held_ms=held_ms, seed=case.seed + n) for n in range(others + 1)]
            rows = nfsload.together(b, *told)
        served = server.log()
    expected = judged(rows, served, 2 * delay_ms, rest="client", case=case)
    said = [case.truth[f"client-{n}"]["stderr"] for n in range(others + 1)]
    waited_s = [float(w) for s in said for w in s.rpartition("asked again after ")[2].split()[:-1] if w != "no"]
    case.truth["injected"] = {"asked_again_after_s": waited_s}
    if sum(waited_s) < 0.6:
        return expected
    # Who has it may work, think, or be gone.
    expected.side, expected.cause, expected.find = ["undetermined"], ["retry-later"], ["retry-later"]
    expected.facts = {"retry-later": {"calls": [len(waited_s)] * 2}}
    expected.forbid = [f for f in expected.forbid if f != "retry-later"]
    expected.first = [rf"(?i)wait for locks that others hold, {len(waited_s)} times? NFS4ERR_DENIED"]
    told = dict(side=expected.side, cause=expected.cause, find=expected.find, facts=expected.facts, first=expected.first,
                cost_s={"retry-later": [0.98 * sum(waited_s), 1.05 * sum(waited_s)]}, forbid=["server-slow"])
    expected.runs = expect.from_each_end(**told)
    expected.without = {k: ["none", "undetermined"] for k in ("window", "cut out", "no beginning")}
    return expected


@kind("nfs-grace", "the server was restarted and tells clients to ask again later, until all had time to claim their locks", field_case="K37",
      mild=dict(grace_s=4), harsh=dict(grace_s=15), healthy=dict(grace_s=0),
      draw=lambda d: dict(grace_s=d.randint(3, 20), version=d.choice(["4.0", "4.1"]), rate=d.choice([20, 100, 300])))
def grace(case, grace_s, version="4.1", rate=100):
    with case.bench(snap=320) as b:
        server = Ganesha(b, grace_s=grace_s)
        if grace_s:
            # There is no grace if nobody was there before.
            nfsload.load(b, name="before", version=version, ops=1, secs=1)
            server.restart()
        with b.capture():
            rows = nfsload.load(b, version=version, rate=rate, cap=64, ops=5 * rate, secs=5)
        served = server.log()
    expected = judged(rows, served, 0, rest="client", case=case)
    waited_s = [float(w) for w in case.truth["client"]["stderr"].rpartition("asked again after ")[2].split()[:-1] if w != "no"]
    case.truth["injected"] = {"asked_again_after_s": waited_s}
    if sum(waited_s) < 0.6:
        return expected
    expected.side, expected.cause, expected.find = ["server"], ["retry-later"], ["retry-later"]
    expected.facts = {"retry-later": {"calls": [len(waited_s)] * 2, "longest_ns": [w * 1e9 * max(waited_s) for w in (0.99, 1.1)]}}
    expected.forbid = [f for f in expected.forbid if f != "retry-later"]
    expected.first = [rf"(?i)ask again later, {len(waited_s)} times? NFS4ERR_GRACE"]
    told = dict(side=expected.side, cause=expected.cause, find=expected.find, facts=expected.facts, first=expected.first,
                cost_s={"retry-later": [0.98 * sum(waited_s), 1.05 * sum(waited_s)]}, forbid=["client-think", "server-slow"])
    expected.runs = expect.from_each_end(**told)
    # They fill the beginning.
    expected.without = {"window": ["none", "server"], "cut out": ["none", "server"], "no beginning": ["none", "server"]}
    return expected
