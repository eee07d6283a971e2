#!/usr/bin/env python3
"""Runs the checks against captures that are not part of the repository, and sees that none is lost.

usage: shared_checks.py SLOWSIDE SHARED [--update]

SHARED holds `check` (the checks), `samples` (public captures) and `lab` (captures of known causes, with
what is known about them). Each check and capture is an item:
  parity FILE            calls pair as tshark pairs them, but for tests/tshark-differs.txt
  lab CASE               the diagnosis of a pair of captures holds against the truth about it
  tcp CASE               the account of its connections agrees with the kernel's and the wire's
  metamorphic CASE NAME  a disguise of a pair of captures does not change the diagnosis
  layers CASE            with the times of application and server each layer's mean is that of their rows

tests/held.txt lists the items that hold. An item listed there that no longer holds fails the run; one
that holds and is not listed is printed, and added by --update. Nothing is ever taken out by this script.
Needs tshark, editcap and zstd.
"""

import csv
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.normpath(os.path.join(HERE, "..", "tests"))
HELD = os.path.join(TESTS, "held.txt")
DIFFERS = os.path.join(TESTS, "tshark-differs.txt")

# Captures of NFS, and of everything.
NFS_CASES = "n*"
LAB_CASES = "*"

# What a check says about one item: its name, whether it holds, and what it printed.
Outcome = tuple[str, bool, str]


def run(script: str, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, script, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    except subprocess.TimeoutExpired:
        return 1, "no end after 900 s"
    return done.returncode, done.stdout + done.stderr


def parity(slowside: str, shared: str, path: str) -> list[Outcome]:
    code, text = run(f"{shared}/check/rpc_parity.py", slowside, "--except", DIFFERS, path)
    # A capture without RPC, and a file that is none, say nothing.
    if "tshark cannot read it" in text or ": 0/0 pairs agree" in text:
        return []
    return [(f"parity {os.path.relpath(path, shared)}", code == 0, text)]


def lab(slowside: str, shared: str, case: str) -> list[Outcome]:
    expected = f"{shared}/lab/expected.json"
    code, text = run(f"{shared}/check/lab_truth.py", slowside, f"{shared}/lab/out", expected, case)
    return [] if "no such case" in text else [(f"lab {case}", code == 0, text)]


def tcp(slowside: str, shared: str, _: str) -> list[Outcome]:
    _, text = run(f"{shared}/check/tcp_truth.py", slowside, f"{shared}/lab/out")
    cases = re.split(r"^(ok  |MISS) ", text, flags=re.MULTILINE)[1:]
    found = [(ok, *case.split("\n", 1)) for ok, case in zip(cases[::2], cases[1::2])]
    return [(f"tcp {name.strip()}", ok == "ok  ", why) for ok, name, why in found] or [("tcp", False, text)]


def metamorphic(slowside: str, shared: str, case: str) -> list[Outcome]:
    _, text = run(f"{shared}/check/metamorphic.py", slowside, f"{shared}/lab/out/{case}")
    lines = re.findall(r"^(ok  |MISS) (\S+) +(.+?)(?:  +(.*))?$", text, re.MULTILINE)
    if not lines:
        return [(f"metamorphic {case}", False, text)]
    return [(f"metamorphic {name} {label.strip()}", ok == "ok  ", why) for ok, name, label, why in lines]


# Of each: the side of the verdict, and whether calls wait in the server outside of its operations. Where a host stands still
# or captures lack calls, means of rows and calls are not of the same work.
LAYERS = {
    "n1": ("none", False),
    "n2": ("network", False),
    "n4": ("server", False),
    "n4_v4": ("server", False),
    "n5": ("server", True),
    "n6": ("client", False),
    "n11": ("network", False),
    "n11_slots": ("client", False),
}

# Means may differ by so much of themselves, and by what the application's library and the server's layers take beside.
APART = 0.05
BESIDE_NS = 300_000


def mean_of(path: str, start: str, end: str) -> float:
    with gzip.open(path, "rt") as rows:
        took = [int(r[end]) - int(r[start]) for r in csv.DictReader(rows) if r["op"] in ("READ", "WRITE")]
    return sum(took) / len(took)


def layers(slowside: str, shared: str, case: str) -> list[Outcome]:
    folder = f"{shared}/lab/out/{case}"
    client, server = f"{folder}/client_ops.csv.gz", f"{folder}/server_ops.csv.gz"
    side, queues = LAYERS[case]
    given = ["--client", f"{folder}/client.pcap", "--server", f"{folder}/server.pcap"]
    command = [slowside, "diagnose", *given, "--app", client, "--server-app", server, "--format", "json"]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if answer.returncode != 0:
        return [(f"layers {case}", False, answer.stderr)]
    found = json.loads(answer.stdout)
    with open(f"{folder}/truth.json") as file:
        wire = json.load(file)["wire_measured"]
    path_ns = sum(wire[way]["emulator_delay_ms"]["mean"] for way in ("c2s", "s2c")) * 1e6
    asked_ns = mean_of(client, "t_issue_ns", "t_done_ns")
    # What is measured, and by how much rows of others may be beside it.
    expected = {
        "application": (mean_of(client, "t_enq_ns", "t_done_ns"), 0),
        "client-wire": (asked_ns, BESIDE_NS),
        "server-wire": (asked_ns - path_ns, BESIDE_NS),
        "server-operation": (mean_of(server, "t_start_ns", "t_end_ns"), 0),
    }
    wrong = []
    if [layer["layer"] for layer in found["layers"]] != list(expected):
        wrong.append(f"layers {[layer['layer'] for layer in found['layers']]}")
    # The snap length hides some calls of NFSv4.
    fewest = min((layer["calls"] for layer in found["layers"]), default=0)
    for layer in found["layers"]:
        want, beside = expected[layer["layer"]]
        if abs(layer["mean_ns"] - want) > APART * want + beside:
            wrong.append(f"{layer['layer']}: {layer['mean_ns'] / 1e6:.3f} ms, rows say {want / 1e6:.3f}")
        if (layer["joined"] or 0) < 0.99 * fewest:
            wrong.append(f"{layer['layer']}: {layer['joined']} of {layer['calls']} joined")
    if found["verdict"]["side"] != side:
        wrong.append(f"the verdict is {found['verdict']['side']}, not {side}")
    if queues != any(f["code"] == "server-queue" for f in found["findings"]):
        wrong.append("server-queue is " + ("missing" if queues else "found"))
    return [(f"layers {case}", not wrong, "; ".join(wrong))]


def items(slowside: str, shared: str) -> list[Outcome]:
    work = []
    captures = [f"{shared}/samples/nfs/*", f"{shared}/samples/nfs/derived/*"]
    captures += [f"{shared}/lab/out/{NFS_CASES}/{side}.pcap" for side in ("client", "server")]
    for path in sorted(p for pattern in captures for p in glob.glob(pattern) if os.path.isfile(p)):
        work.append((parity, path))
    for path in sorted(glob.glob(f"{shared}/lab/out/{LAB_CASES}/")):
        case = os.path.basename(os.path.dirname(path))
        work += [(lab, case), (metamorphic, case)]
    if os.path.exists(f"{shared}/check/tcp_truth.py"):
        work.append((tcp, ""))
    work.extend((layers, case) for case in LAYERS if os.path.isdir(f"{shared}/lab/out/{case}"))
    # The checks wait for programs, so threads are enough to use all cores.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda task: task[0](slowside, shared, task[1]), work)
        return [outcome for outcomes in found for outcome in outcomes]


def read_held() -> list[str]:
    if not os.path.exists(HELD):
        return []
    with open(HELD, encoding="utf-8") as lines:
        return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def main() -> int:
    if len(sys.argv) not in (3, 4) or sys.argv[3:] not in ([], ["--update"]):
        print(__doc__, file=sys.stderr)
        return 2
    for program in ("tshark", "editcap", "zstd"):
        if not shutil.which(program):
            print(f"{program} is missing; without it these checks would pass by saying nothing", file=sys.stderr)
            return 2
    outcomes = items(os.path.abspath(sys.argv[1]), os.path.normpath(sys.argv[2]))
    held = read_held()
    good = {name for name, holds, _ in outcomes if holds}
    for name, holds, text in outcomes:
        if not holds:
            known = "LOST" if name in held else "open"
            print(f"{known} {name}")
            print("\n".join(f"       {line}" for line in text.strip().splitlines()[:12]))
    gone = [name for name in held if name not in {name for name, _, _ in outcomes}]
    for name in gone:
        print(f"LOST {name}: it was not checked; the capture is gone, or holds nothing any more")
    lost = [name for name in held if name not in good]
    new = sorted(good - set(held))
    for name in new:
        print(f"new  {name}")
    if sys.argv[3:] and new:
        with open(HELD, "a", encoding="utf-8") as file:
            file.writelines(f"{name}\n" for name in new)
    print(f"{len(good)} of {len(outcomes)} items hold; {len(held)} were listed, of which {len(lost)} are lost")
    if new and not sys.argv[3:]:
        print("To list what is new: scripts/shared_checks.py SLOWSIDE SHARED --update")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
