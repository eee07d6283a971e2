"""How late this machine wakes those who sleep: what a recording must not be made through.

A sleeper with the priority of the lab's applications wakes every 2 ms and notes how late. What it suffers,
they suffer. A lab on a loaded machine lies: before a recording the machine must be quiet, and a recording
through which it was not is thrown away.
"""

import json
import subprocess
import sys
import time

PERIOD_S = 0.002


class TooNoisy(Exception):
    """The machine made the lab wait for longer than the case can bear."""


class Limits:
    """What a recording can bear, in milliseconds: the 99th percentile and the worst of all wake-ups."""

    def __init__(self, p99_ms=1.0, worst_ms=15.0):
        self.p99_ms, self.worst_ms = p99_ms, worst_ms

    def bears(self, noise):
        return noise["p99_ms"] <= self.p99_ms and noise["worst_ms"] <= self.worst_ms


def measure(over):
    """Lateness of wake-ups in this process until `over()`, and the share of the processors' time that the machine's own
    host gave to others meanwhile."""
    late, before = [], _processors()
    while not over():
        begun = time.monotonic()
        time.sleep(PERIOD_S)
        late.append(time.monotonic() - begun - PERIOD_S)
    whole, stolen = (after - then for after, then in zip(_processors(), before))
    return {**summary(late), "stolen": round(stolen / max(1, whole), 3)}


def summary(late):
    late = sorted(late)
    at = lambda share: round(late[int(share * (len(late) - 1))] * 1e3, 3) if late else 0.0
    return {"wakeups": len(late), "p50_ms": at(0.5), "p99_ms": at(0.99), "worst_ms": at(1)}


def _after(seconds):
    """Tells when so much time is over."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end


def _processors():
    """Time of all processors since the machine started, and what of it its host gave to others (proc_stat(5): steal)."""
    times = [int(t) for t in open("/proc/stat").readline().split()[1:]]
    return sum(times[:8]), times[7]


def wait_until_quiet(limits, patience_s=120):
    """Returns when half a second passed quietly, or raises TooNoisy."""
    end = time.monotonic() + patience_s
    while not limits.bears(noise := measure(_after(0.5))):
        if time.monotonic() > end:
            raise TooNoisy(f"the machine is not quiet: a sleeper woke {noise['p99_ms']} ms late (99th percentile), "
                           f"{noise['worst_ms']} ms at worst, and {noise['stolen']:.0%} of the processors went to other machines of "
                           "its host; end what else runs here, or wait")


class Watch:
    """Measures in a process of its own, from entering to leaving."""

    def __enter__(self):
        self._process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        # Some recordings are shorter than this takes to start.
        self._process.stdout.readline()
        return self

    def __exit__(self, kind, *_):
        out, _ = self._process.communicate("stop\n")
        self.noise = json.loads(out) if out else summary([])


if __name__ == "__main__":
    import select

    print("measuring", flush=True)
    print(json.dumps(measure(lambda: select.select([sys.stdin], [], [], 0)[0])))
