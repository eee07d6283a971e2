#!/usr/bin/env python3
"""Holds what slowside says of public traces against sums over their lines, and keeps a table of them.

usage: traces_table.py SLOWSIDE SAMPLES [--update]

The table, tests/traces-sums.tsv, has a line per file of SAMPLES/traces: waits and their time, calls of the database
(PARSE, EXEC, FETCH, CLOSE) and their time, the response time, all in ns, and the SQL*Net packets sent and received with
their bytes. Without --update the files are held against the table; with it the table is written anew.

The sums are made here, from the text of the files, by rules of their own:

- `ela` of WAIT lines by event, `e` of call lines by kind: number and sum, each must be what slowside says of it.
- A recursive call (`dep` above 0) is within the next call above it that ends behind it: it counts once. The response time
  is what calls took that no other holds, and what waits took that lie in none of these. Of files that trcsess joined, within
  each process.
- Packets: lines with `plen=` of nsprecv, nsbasic_brc (received), nspsend and nsbasic_bsd (sent).

What differs needs a reason in tests/traces-differs.tsv: file, what differs, why (with lines of the file).
"""

import gzip
import json
import lzma
import pathlib
import re
import subprocess
import sys
from collections import defaultdict

TESTS = pathlib.Path(__file__).parent.parent / "tests"
TABLE = TESTS / "traces-sums.tsv"
DIFFERS = TESTS / "traces-differs.tsv"
HEADER = ["file", "waits", "waits_ns", "calls", "calls_ns", "response_ns", "sent", "sent_bytes", "received", "received_bytes", "differs"]
WAIT = re.compile(r"WAIT #\d+: nam='([^']*)' ela= *(\d+)(?:.*? tim=(\d+))?")
CALL = re.compile(r"(PARSE|EXEC|FETCH|CLOSE|UNMAP|SORT UNMAP) #\d+:c=(\d+),e=(\d+),(.*)")
# Operations on large objects are calls of the client.
LOB = re.compile(r"(LOB[A-Z]*): .*?\bc=(\d+),e=(\d+),(.*)")
SENT = re.compile(r"\b(?:nspsend|nsbasic_bsd): ?.*\bplen=(\d+)")
RECEIVED = re.compile(r"\b(?:nsprecv|nsbasic_brc): ?.*\bplen=(\d+)")
# Whose lines follow: of the file itself, or where trcsess joined several.
PROCESS = re.compile(r"(?:\*\*\* \[ )?Unix process pid: (\d+)")
UNIT_NS = 1000


def lines(path):
    opened = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with opened(path, "rt", encoding="utf-8", errors="replace") as text:
        yield from text


def field(text, name):
    found = re.search(rf"\b{name}=(\d+)", text)
    return int(found.group(1)) if found else None


def sums(path):
    """By event and by kind of call: number and ns; the response time; packets and bytes by direction."""
    waits, calls = defaultdict(lambda: [0, 0]), defaultdict(lambda: [0, 0])
    packets = {"sent": [0, 0], "received": [0, 0]}
    # Calls that no other holds, with what of the waits before each lies in none; by process.
    response, open_waits, held, processes = 0, [], [], {}
    process = None
    for line in lines(path):
        if whose := PROCESS.match(line):
            processes[process] = held, open_waits
            process = whose.group(1)
            held, open_waits = processes.pop(process, ([], []))
        wait, call = WAIT.match(line), CALL.match(line) or LOB.match(line)
        if wait:
            took, at = int(wait.group(2)), wait.group(3)
            waits[wait.group(1)][0] += 1
            waits[wait.group(1)][1] += took * UNIT_NS
            open_waits.append((int(at) if at else None, took))
        elif call:
            kind, took, rest = call.group(1), int(call.group(3)), call.group(4)
            depth, at = field(rest, "dep") or 0, field(rest, "tim")
            if at is None:
                continue
            calls[kind][0] += 1
            calls[kind][1] += took * UNIT_NS
            begun = at - took
            # What was within it: recursive calls below it, and waits that end behind its beginning.
            held = [h for h in held if not (h[0] > depth and h[1] > begun)]
            held.append((depth, at, took))
            open_waits = [w for w in open_waits if w[0] is not None and w[0] <= begun]
            if depth == 0:
                response += sum(h[2] for h in held) + sum(w[1] for w in open_waits)
                held, open_waits = [], []
        for way, shape in (("sent", SENT), ("received", RECEIVED)):
            packet = shape.search(line)
            if packet:
                packets[way][0] += 1
                packets[way][1] += int(packet.group(1))
    processes[process] = held, open_waits
    for held, open_waits in processes.values():
        response += sum(h[2] for h in held) + sum(w[1] for w in open_waits)
    return waits, calls, response * UNIT_NS, packets


def profile(slowside, path):
    done = subprocess.run([slowside, "trace", path, "--format", "json"], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode in (0, 3) else None


def said_packets(net, way):
    rows = [p for p in (net or {"all": {"packets": []}})["all"]["packets"] if p["bytes"] and p["direction"] == way]
    return [sum(p["packets"] for p in rows), sum(p["bytes"] for p in rows)]


def differences(found, said):
    waits, calls, response, packets = found
    database, differs = said["database"], []
    rows = {e["event"]: [e["count"], e["total_ns"]] for e in (database or {"events": []})["events"]}
    for event in sorted(waits.keys() | rows.keys()):
        if waits.get(event) != rows.get(event):
            differs.append(f"{event}: {rows.get(event)} for {waits.get(event)}")
    kinds = {c["call"]: [c["count"], c["total_ns"]] for c in (database or {"calls": []})["calls"]}
    for kind in ("PARSE", "EXEC", "FETCH", "CLOSE"):
        if calls.get(kind, [0, 0]) != kinds.get(kind, [0, 0]):
            differs.append(f"{kind}: {kinds.get(kind)} for {calls.get(kind)}")
    if database and database["response_ns"] != response:
        differs.append(f"response: {database['response_ns']} for {response}")
    for way, ours in packets.items():
        theirs = said_packets(said["net"], way)
        if ours != theirs:
            differs.append(f"{way}: {theirs} for {ours}")
    return differs


def row(name, found, differs):
    waits, calls, response, packets = found
    both = [packets[way][part] for way in ("sent", "received") for part in (0, 1)]
    counts = [sum(v[part] for v in of.values()) for of in (waits, calls) for part in (0, 1)]
    return [name, *map(str, [*counts, response, *both]), "; ".join(differs)]


def reasons():
    text = DIFFERS.read_text().splitlines() if DIFFERS.exists() else []
    return {tuple(line.split("\t")[:2]): line.split("\t")[2] for line in text if line and not line.startswith("#")}


def main():
    slowside, samples = sys.argv[1], pathlib.Path(sys.argv[2]) / "traces"
    table = []
    for path in sorted(p for p in samples.rglob("*") if p.is_file()):
        said = profile(slowside, path)
        # Text beside the traces, and what is packed as slowside does not read it, is refused.
        if said is not None:
            found = sums(path)
            table.append(row(str(path.relative_to(samples)), found, differences(found, said)))
    known, seen, failed = reasons(), set(), 0
    for line in table:
        for what in filter(None, line[-1].split("; ")):
            seen.add((line[0], what))
            if (line[0], what) not in known:
                failed += 1
                print(f"{line[0]}: {what}")
    for name, what in sorted(known.keys() - seen):
        failed += 1
        print(f"{name}: differs no more: {what}")
    text = "".join("\t".join(line) + "\n" for line in [HEADER, *table])
    if "--update" in sys.argv:
        TABLE.write_text(text)
    elif TABLE.read_text() != text:
        failed += 1
        print("not as tests/traces-sums.tsv has it")
    waits = sum(int(line[1]) for line in table)
    print(f"{len(table)} traces, {waits} waits, {failed} differences without a reason")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
