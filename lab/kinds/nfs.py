"""NFS over one wire: delay, storage, loss, caps, stalls, outages."""

from kit import expect
from kit.apps import nfsload
from kit.apps.ganesha import Ganesha
from kit.kinds import kind

CAUSES = {
    "network": ["network-delay", "network-loss"],
    "server": ["server-slow", "server-concurrency-cap", "server-stall"],
    "client": ["client-concurrency-cap", "client-host-slow"],
}


def recorded(case, *, wire=(), storage=None, load, steps=(), bench=None, served=None):
    """An NFS load through one wire; returns (operations, the server's own log of them)."""
    with case.bench(**(bench or {})) as b:
        server = Ganesha(b, **(storage or {}))
        for line in wire:
            b.wire(line)
        with b.capture():
            b.later(*((at, what if isinstance(what, str) else lambda what=what: what(b, server)) for at, what in steps))
            rows = nfsload.load(b, **load)
        return rows, server.log()


def judged(rows, served, path_ms, *, rest, causes=CAUSES, **more):
    """Expectation of calls whose remainder (neither path nor storage) is `rest`'s."""
    seconds = nfsload.shares(rows, served, path_ms)
    seconds[rest] += seconds.pop("rest")
    return expect.of_calls(seconds, *nfsload.response_ms(rows), causes, **more)


@kind("nfs-delay", "a path that takes long, the same both ways or not",
      mild=dict(out_ms=2, back_ms=2), harsh=dict(out_ms=5, back_ms=25), healthy=dict(out_ms=0.1, back_ms=0.1),
      draw=lambda d: dict(out_ms=d.log_uniform(1, 30), back_ms=d.log_uniform(1, 30), version=d.choice(["3", "4.0", "4.1"])))
def delay(case, out_ms, back_ms, version="3", rate=300):
    rows, served = recorded(case, wire=[f"c2s delay_us={out_ms * 1000:.0f}", f"s2c delay_us={back_ms * 1000:.0f}"],
                            load=dict(version=version, rate=rate, cap=64, ops=1500, secs=5))
    return judged(rows, served, out_ms + back_ms, rest="network", forbid=["network-loss", "server-slow", "capture-incomplete"])


@kind("nfs-slow-storage", "storage below the server takes long",
      mild=dict(mean_ms=4), harsh=dict(mean_ms=25), healthy=dict(mean_ms=0),
      draw=lambda d: dict(mean_ms=d.log_uniform(3, 60), distribution=d.choice(["fixed", "exponential"]), version=d.choice(["3", "4.0", "4.1"])))
def slow_storage(case, mean_ms, distribution="exponential", version="3"):
    wait = mean_ms * 1000
    rows, served = recorded(case, wire=["both delay_us=150"], storage=dict(read_us=wait, write_us=wait, distribution=distribution),
                            load=dict(version=version, rate=min(250, 4000 / max(mean_ms, 1)), cap=64, ops=1200, secs=5))
    return judged(rows, served, 0.3, rest="server", forbid=["network-delay", "network-loss", "capture-incomplete"])
