#!/usr/bin/env python3
"""Runs every file of a folder of sample captures through `calls`, `ops` and `diagnose`, and keeps a table.

usage: samples_table.py SLOWSIDE SAMPLES [--update]

The table, tests/samples.tsv, has a line per file: the exit codes of the three commands, how many calls
`calls` lists, the kinds of problems found, a remark, and the diagnosis: side, cause and first sentence.
Without --update the samples are held against the table, and every difference is printed; with it the
table is written anew.

A line is clean when all three commands exit with 0. Every other line needs a remark by somebody who
looked at the file: tests/samples-remarks.tsv, a pattern (as in a shell) and a remark per line, the first
pattern that fits counts. Only 0, 2 (not a capture) and 3 (damaged) are right exit codes here: a crash, a
time above TIMEOUT or commands that disagree on whether the file can be read fail the check even when the
table says so.

Nobody is accused unseen: each file in which a side is named needs a line of somebody who held that against
the packets, in tests/samples-verdicts.tsv (file, side, whether that is not said yet, what the packets
show). Lines of other files are welcome there, and held as well: the side must be the one that the line
names. What is known to be said wrongly says `not yet` there, and fails as soon as it is said rightly, so
that the list only shrinks.
"""

import fnmatch
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

# Seconds that a command may take for one of the samples, the largest of which has some 10 MB.
TIMEOUT = 10

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests")
TABLE = os.path.join(TESTS, "samples.tsv")
REMARKS = os.path.join(TESTS, "samples-remarks.tsv")
LOOKED_AT = os.path.join(TESTS, "samples-verdicts.tsv")
HEADER = ["file", "calls_exit", "ops_exit", "diagnose_exit", "calls", "problems", "remark", "side", "cause", "sentence"]


def run(slowside: str, command: str, path: str, *options: str) -> tuple[str, bytes]:
    """The exit code in words, and standard output."""
    try:
        done = subprocess.run([slowside, command, *options, path], capture_output=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return "timeout", b""
    if b"panicked" in done.stderr:
        return "panic", done.stdout
    return str(done.returncode), done.stdout


def row(slowside: str, samples: str, name: str, remarks: list[tuple[str, str]]) -> list[str]:
    path = os.path.join(samples, name)
    calls_exit, calls = run(slowside, "calls", path, "--format", "csv")
    ops_exit, _ = run(slowside, "ops", path, "--format", "json")
    diagnose_exit, diagnosis = run(slowside, "diagnose", path, "--format", "json")
    count = max(calls.count(b"\n") - 1, 0)
    kinds = set()
    verdict = ["-", "-", "-"]
    if diagnosis:
        said = json.loads(diagnosis)
        for capture in said["captures"]:
            kinds.update(problem["kind"] for problem in capture["problems"])
        verdict = [said["verdict"][key] or "-" for key in ("side", "cause", "sentence")]
    exits = [calls_exit, ops_exit, diagnose_exit]
    remark = ""
    if exits != ["0", "0", "0"]:
        remark = next((text for pattern, text in remarks if fnmatch.fnmatchcase(name, pattern)), "")
    return [name, *exits, str(count), ",".join(sorted(kinds)) or "-", remark or "-", *verdict]


def read_table(path: str) -> list[list[str]]:
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as lines:
        return [line.rstrip("\n").split("\t") for line in lines if line.strip() and not line.startswith("#")]


def wrong(line: list[str], looked_at: dict[str, tuple[str, bool]]) -> str:
    """What is wrong with a line, whatever the table says."""
    name, *exits, _, _, remark, side, _, _ = line
    if not set(exits) <= {"0", "2", "3"}:
        return f"{name}: exit codes {' '.join(exits)}"
    if "2" in exits and set(exits) != {"2"}:
        return f"{name}: one command can read it, another cannot: {' '.join(exits)}"
    if exits != ["0", "0", "0"] and remark == "-":
        return f"{name}: not clean ({' '.join(exits)}) and without a remark in samples-remarks.tsv"
    shown, not_yet = looked_at.get(name, (side, False))
    if not_yet and shown == side:
        return f"{name}: said rightly now, which samples-verdicts.tsv does not know yet"
    if not not_yet and shown != side:
        return f"{name}: {side}, but the packets say {shown} (samples-verdicts.tsv)"
    if side in ("client", "network", "server", "mixed") and name not in looked_at:
        return f"{name}: the {side} is accused, and nobody looked at the packets (samples-verdicts.tsv)"
    return ""


def main() -> int:
    if len(sys.argv) not in (3, 4) or sys.argv[3:] not in ([], ["--update"]):
        print(__doc__, file=sys.stderr)
        return 2
    slowside, samples = os.path.abspath(sys.argv[1]), sys.argv[2]
    remarks = [(line[0], line[1]) for line in read_table(REMARKS)]
    names = sorted(
        os.path.relpath(os.path.join(folder, file), samples)
        for folder, _, files in os.walk(samples)
        for file in files
    )
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = list(pool.map(lambda name: row(slowside, samples, name, remarks), names))
    looked_at = {line[0]: (line[1], line[2] == "not yet") for line in read_table(LOOKED_AT)[1:]}
    bad = [text for text in (wrong(line, looked_at) for line in rows) if text]
    if sys.argv[3:]:
        with open(TABLE, "w", encoding="utf-8") as table:
            for line in [HEADER, *rows]:
                print("\t".join(line), file=table)
    else:
        listed = {line[0]: line for line in read_table(TABLE)[1:]}
        for line in rows:
            was = listed.pop(line[0], None)
            if was is None:
                bad.append(f"{line[0]}: not in the table")
            elif was != line:
                differences = [f"{h} {a} -> {b}" for h, a, b in zip(HEADER, was, line) if a != b]
                bad.append(f"{line[0]}: {'; '.join(differences)}")
        bad.extend(f"{name}: in the table, but there is no such file" for name in listed)
    for text in bad:
        print(text)
    clean = sum(line[1:4] == ["0", "0", "0"] for line in rows)
    print(f"{len(rows)} samples, {clean} clean, {len(bad)} differ or are wrong")
    if bad and not sys.argv[3:]:
        print("Where the new values are right: scripts/samples_table.py SLOWSIDE SAMPLES --update")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
