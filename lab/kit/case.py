"""One recorded case: a folder with captures, truth and expectation."""

import contextlib
import fcntl
import glob
import json
import os
import shutil
import subprocess
import time

from kit import build, noise
from kit.bench import Bench

# Times that a case is recorded anew when the machine was not quiet.
TRIES = 3


class Case:
    """What a kind's function gets: where to record, what to call it, from which seed."""

    def __init__(self, name, folder, seed):
        self.name, self.folder, self.seed = name, folder, seed
        self.truth = {}

    def bench(self, **options):
        return Bench(self, **options)


def record(kind, parameters, name, folder, seed):
    """Records into `folder`, which is there when it is whole; returns the expectation. Raises `noise.TooNoisy` when the
    machine does not allow it."""
    making = os.path.join(os.path.dirname(folder), f".{os.path.basename(folder)}")
    for left in reversed(range(TRIES)):
        shutil.rmtree(making, ignore_errors=True)
        os.makedirs(making)
        case = Case(name, making, seed)
        begun = time.time()
        try:
            with slot():
                expected = kind.record(case, **parameters)
            break
        except noise.TooNoisy as too_noisy:
            shutil.rmtree(making, ignore_errors=True)
            if not left:
                raise
            print(f"{name}: {too_noisy}; once more", flush=True)
    case.truth = {"case": name, "kind": kind.name, "description": kind.title, "parameters": parameters, "seed": seed,
                  "versions": versions(), **case.truth, "recorded_in_s": round(time.time() - begun, 1)}
    case.truth["files"] = {os.path.basename(f): os.path.getsize(f) for f in sorted(glob.glob(f"{making}/*"))}
    _write(f"{making}/truth.json", case.truth)
    _write(f"{making}/expected.json", expected.as_json())
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(making, folder)
    return expected


def record_all(jobs, folder, seed):
    """Records each `(name, kind, parameters)` and collects what is expected in `folder/expected.json`; returns the names
    of those that could not be, and whether noise was the reason."""
    os.makedirs(folder, exist_ok=True)
    failed, noisy = [], False
    for name, kind, parameters in jobs:
        try:
            expected = record(kind, parameters, name, f"{folder}/{name}", seed)
        except noise.TooNoisy as reason:
            noisy = True
            failed.append(name)
            print(f"{name}: not recorded: {reason}", flush=True)
            continue
        except Exception as reason:
            failed.append(name)
            print(f"{name}: failed: {type(reason).__name__}: {reason}", flush=True)
            continue
        _collect(folder, name, expected)
        print(f"{name}: {'/'.join(expected.side)} {expected.cause or ''} {parameters}", flush=True)
    return failed, noisy


def _collect(folder, name, expected):
    """Another lab may record into the same folder."""
    collected = f"{folder}/expected.json"
    with open(f"{folder}/.collecting", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = json.load(open(collected)) if os.path.exists(collected) else {}
        _write(f"{folder}/.expected.json", {**known, name: expected.as_json()})
        os.rename(f"{folder}/.expected.json", collected)


@contextlib.contextmanager
def slot():
    """Waits for a place: so many labs (LAB_SLOTS, one if not said) record on this machine at a time."""
    os.makedirs(build.BINARIES, exist_ok=True)
    places = [open(f"{build.BINARIES}/slot{i}", "w") for i in range(int(os.environ.get("LAB_SLOTS", "1")))]
    while True:
        for place in places:
            with contextlib.suppress(OSError):
                fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
                try:
                    yield
                finally:
                    fcntl.flock(place, fcntl.LOCK_UN)
                return
        time.sleep(0.1)


def _write(path, value):
    with open(path, "w") as file:
        json.dump(value, file, indent=1, default=str)
        file.write("\n")


def versions():
    """Exact versions of what this lab runs, as installed."""
    wanted = [line.split()[0] for line in open(os.path.dirname(os.path.dirname(__file__)) + "/packages") if line.strip() and line[0] != "#"]
    listed = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *wanted], text=True, capture_output=True).stdout
    return {**dict(line.split() for line in listed.splitlines() if len(line.split()) == 2), "kernel": os.uname().release}
