"""Statements of PostgreSQL that do not wait for one another: their answers stand behind one another, too."""

from kinds.pgsql import BUSY, recorded
from kit import expect
from kit.kinds import kind

NEVER = ["network-loss", "network-bandwidth", "capture-incomplete", "duplicate-packets", "connection-reset", "receive-window-limited"]
SNAPS = [128, 256, 256, 65535]


def pipelined(case, steps, delay_ms, depth, snap, sessions=3):
    told = dict(work="pipelines", steps=steps, depth=depth, think_ms=8, n=250, secs=4.5)
    recorded(case, [told] * sessions, wire=[f"both delay_us={delay_ms * 1000:.0f}"], bench=dict(snap=snap, noise_limits=BUSY))


@kind(
    "pgsql-pipeline",
    "a client that sends a dozen statements at a time, of which the server works on each for a while",
    mild=dict(ms=1),
    harsh=dict(ms=15),
    healthy=dict(ms=0),
    draw=lambda d: dict(ms=d.log_uniform(0.8, 30), depth=d.choice([6, 12, 30]), delay_ms=d.log_uniform(0.1, 0.6), snap=d.choice(SNAPS)),
)
def pipeline(case, ms, delay_ms=0.3, depth=12, snap=256):
    pipelined(case, [f"select {{r}}, pg_sleep({ms / 1e3})" if ms else "select {r}"], delay_ms, depth, snap)
    if not ms:
        return expect.healthy(skip=["one_way"])
    return expect.Expectation(side=["server"], skip=["one_way"], find=[["server-slow", "server-stall"]], forbid=["network-delay", *NEVER])


@kind(
    "pgsql-pipeline-far",
    "a client that sends a dozen small statements at a time to a server that is far away",
    mild=dict(delay_ms=4),
    harsh=dict(delay_ms=25),
    healthy=dict(delay_ms=0.1),
    draw=lambda d: dict(delay_ms=d.log_uniform(2, 40), depth=d.choice([6, 12, 30]), snap=d.choice(SNAPS)),
)
def pipeline_far(case, delay_ms, depth=12, snap=256):
    pipelined(case, ["select {r}"], delay_ms, depth, snap)
    if delay_ms < 1:
        return expect.healthy(skip=["one_way"])
    # Turns across a path are the path's, or its who takes so many.
    return expect.Expectation(side=["network", "client", "mixed"], skip=["one_way"], forbid=["server-slow", "server-stall", *NEVER])
