"""What must be said of a case, derived from what was injected and from what the applications measured.

The fields are those that the checks read (see `Expectation`). Nothing here may look at what slowside says.
"""

import time
from dataclasses import asdict, dataclass, field

# Calls that are fast enough blame nobody (docs: `--fast-enough`, `--tail`).
FAST_ENOUGH_MS, TAIL_MS = 2.0, 20.0
SIDES = ("client", "network", "server")

# What none of a healthy case may be accused of.
ACCUSATIONS = [
    "server-slow", "server-concurrency-cap", "server-stall", "client-concurrency-cap", "client-host-slow", "network-delay",
    "network-loss", "network-outage", "network-reordering", "network-bandwidth", "network-bufferbloat", "receive-window-limited",
    "nagle-delayed-ack", "small-writes", "split-writes", "chatty", "slow-connect", "connection-refused", "mtu-black-hole", "nagle",
    "ack-frequency", "small-window", "window-scaling-off", "connection-reset",
    "connection-closed", "stale-connection", "slow-start", "small-send-buffer", "duplicate-packets", "capture-incomplete", "retry-later",
    "broken-off", "host-drops",
]


@dataclass
class Expectation:
    side: list                                   # the verdict's side: any of
    cause: list | None = None                    # the verdict's finding: any of; None where it is not checked
    find: list = field(default_factory=list)     # findings that must be there; a list inside: any of
    forbid: list = field(default_factory=list)   # findings that must not be there
    facts: dict = field(default_factory=dict)    # {finding: {fact: [low, high]}}
    first: list = field(default_factory=list)    # patterns (regular expressions) that the first sentence must match
    where: list = field(default_factory=list)    # on whom or when a finding's cost concentrates (`on`, `since`, `every`)
    coverage: float | None = None                # share of the application's operations whose request the capture holds
    matched: float | None = None                 # share matched between both captures
    alone: list = field(default_factory=list)    # further sides allowed from one capture alone
    without: dict = field(default_factory=dict)  # {beginning of a kind of evidence: sides that are right there}
    app: dict | None = None                      # with --app client_ops.csv.gz: {side, cause, client_host_ms}
    skip: list = field(default_factory=list)     # numeric checks that do not apply
    host_ns: int | None = None                   # most that a call may take more for the application than in the client's capture
    drift_ppm: float | None = None               # how near the drift of the clocks must be told
    runs: list = field(default_factory=list)     # of a field case: what each command must say (`Run`, as a dict)

    def as_json(self):
        kept = {k: v for k, v in asdict(self).items() if v not in (None, [], {})}
        return {**kept, "side": self.side}


def run(name, command, args, **checks):
    """One command over a case's files and what it must say. `args` name files of the case's folder. Checks:
    side, cause, find, forbid, facts, where as above (of the diagnosis); `cost_s` {finding: [low, high]}; `first`: regular
    expressions that the first sentence must match (of a diagnosis its verdict's sentence, else the first paragraph);
    `never`: expressions that stand nowhere in the text; `says`: expressions that stand somewhere in it; `json`
    {"dotted.path[0].of.a.field": {"between": [low, high]} | {"in": [values]}}; `exit`: the exit codes that are right, where
    they are others than 0, 1 and 3. Text is taken as one line, wherever it was broken, with standard error at its end."""
    return {"name": name, "command": command, "args": list(args), **checks}


def from_each_end(**checks):
    """The same of a diagnosis of both ends, and of each alone."""
    client, server = ["--client", "client.pcap"], ["--server", "server.pcap"]
    places = {"at both ends": [*client, *server], "at the client": client, "at the server": server}
    return [run(name, "diagnose", args, **checks) for name, args in places.items()]


def on(findings, *, share=None, durations_s=None, **subjects):
    """One of these findings must say that its cost concentrates on one of these subjects: {what it is divided by (client,
    server, export, file, operation, statement, connection, user, time): pattern of the value}, with a `share` of its cost
    in this range, and with the durations that the value names, in seconds, in these ranges. `kit/where.py` judges it."""
    asked = {"of": list(findings), "any": subjects, "share": share, "durations_s": durations_s}
    return {k: v for k, v in asked.items() if v}


def since(findings, begun_ns, **more):
    """From that time on, within a second (of UTC)."""
    seconds = range(int(begun_ns / 1e9 - 0.5), int(begun_ns / 1e9 + 1) + 1)
    times = "|".join(time.strftime("%H:%M:%S", time.gmtime(s)) for s in seconds)
    return on(findings, time=rf"^since .*({times})", **more)


def every(findings, period_s, lasting_s, **more):
    """At intervals of so long, each time for so long; who waits for the end of one may wait for as long again."""
    ranges = [[round(0.9 * period_s, 3), round(1.1 * period_s, 3)], [round(0.4 * lasting_s, 4), round(2.5 * lasting_s, 4)]]
    return on(findings, time="^every ", durations_s=ranges, **more)


def healthy(**more):
    """Nobody may be accused of anything."""
    return Expectation(side=["none"], cause=[None], forbid=list(ACCUSATIONS), **more)


def sides_of(seconds):
    """The sides that a verdict may name where each has these seconds ({side: s}) of the calls' time: the one that has
    most of it; `mixed` too where no side has three fifths, and the second one where it comes close to the first."""
    whole = sum(seconds.values())
    ranked = sorted(SIDES, key=lambda s: -seconds.get(s, 0.0))
    most, second = (seconds.get(s, 0.0) / whole for s in ranked[:2])
    if most >= 0.65:
        return [ranked[0]]
    return [ranked[0], "mixed"] + ([ranked[1]] if second >= 0.8 * most else [])


def of_calls(seconds, mean_ms, p99_ms, causes, **more):
    """Expectation for calls of this mean and 99th percentile, of which each side has these seconds.
    `causes` is {side: [findings that may be named]}."""
    if mean_ms < FAST_ENOUGH_MS and p99_ms < TAIL_MS:
        return healthy(**{k: v for k, v in more.items() if k in ("coverage", "matched", "host_ns", "skip", "alone")})
    sides = sides_of(seconds)
    allowed = [c for s in sides for c in causes.get(s, [])] if "mixed" not in sides else sorted({c for v in causes.values() for c in v})
    return Expectation(side=sides, cause=allowed or None, **more)
