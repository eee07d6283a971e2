#!/usr/bin/env python3
"""How near the account of TCP connections comes to the truth, from both captures and from each alone.

usage: scripts/tcp_accuracy.py SLOWSIDE LAB_OUT [CASE...]

LAB_OUT holds a folder per case with client.pcap, server.pcap, wire.csv.gz (what became of each packet on
the wire) and truth.json (with what the sending kernel says of its connection: tcp_info). Prints the
tables of docs/accuracy.md.
"""
import csv
import gzip
import json
import subprocess
import sys
from pathlib import Path

TIMES = ["t2", "t2_window", "t3", "t4", "t5"]
LOSSES = ["n1", "n7", "n7_nooff", "n10_capdrop", "t3", "t3_nooff", "t3_burst", "t4", "t11_reorder"]
WINDOW = ("receiver-application", "small-window")
DIRECTIONS = {"c2s": "client_to_server", "s2c": "server_to_client"}


def conns(slowside, case, source):
    """The connections as both captures show them, or one."""
    files = {
        "both": ["--client", case / "client.pcap", "--server", case / "server.pcap"],
        "client": ["--client", case / "client.pcap"],
        "server": ["--server", case / "server.pcap"],
    }[source]
    run = subprocess.run(
        [slowside, "conns", *files, "--format", "json"], capture_output=True, check=False
    )
    return json.loads(run.stdout)["connections"]


def dropped(case):
    """TCP payload that the wire dropped, by direction."""
    drops = dict.fromkeys(DIRECTIONS, 0)
    with gzip.open(case / "wire.csv.gz", "rt") as rows:
        for row in csv.DictReader(rows):
            if row["verdict"].startswith("drop"):
                drops[row["dir"]] += int(row["payload"])
    return drops


def total(connections, direction, field):
    """Of all connections; None where none of them knows."""
    values = [c["directions"][direction][field] for c in connections]
    known = [v for v in values if v is not None]
    return sum(known) if known else None


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|---" + "|---:" * (len(head) - 1) + "|")
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def percent(part, whole):
    return f"{100 * part / whole:.1f} %"


def shares(cases):
    rows = []
    for name, case, seen in cases:
        truth = json.loads((case / "truth.json").read_text())["app"]["client"]["tcp_info"]
        busy = truth["busy_time"] * 1000
        row = [name, percent(truth["rwnd_limited"] * 1000, busy)]
        for connections in seen.values():
            times = [c["directions"]["client_to_server"]["time_ns"] for c in connections]
            row.append(percent(sum(t[k] for t in times for k in WINDOW), busy))
        for connections in seen.values():
            times = [c["directions"]["client_to_server"]["time_ns"] for c in connections]
            life = sum(sum(t.values()) for t in times)
            row.append(percent(sum(t["unknown"] for t in times), life))
        rows.append(row)
    return rows


def losses(cases):
    rows = []
    for name, case, seen in cases:
        for short, direction in DIRECTIONS.items():
            drops = dropped(case)[short]
            again = {s: total(c, direction, "retransmitted_bytes") for s, c in seen.items()}
            if drops == 0 and not any(again.values()):
                continue
            lost = total(seen["both"], direction, "lost_on_network_bytes")
            arrow = "→" if short == "c2s" else "←"
            cells = [drops, lost, again["client"], again["server"]]
            rows.append([f"{name} {arrow}", *(f"{n:,}" for n in cells)])
    return rows


def missing(cases):
    rows = []
    for name, case, seen in cases:
        truth = json.loads((case / "truth.json").read_text()).get("capture", {})
        removed = truth.get("removed_frames") or {}
        gone = {side: len(frames) for side, frames in removed.items()}
        row = [name, gone.get("client", 0), gone.get("server", 0)]
        for connections in seen.values():
            each = [
                total(connections, d, "missing_from_capture_packets") or 0
                for d in DIRECTIONS.values()
            ]
            row.append(sum(each))
        rows.append(row)
    return rows


def main():
    slowside, lab, *only = sys.argv[1:]
    read = {}
    for name in sorted(set(TIMES + LOSSES)):
        case = Path(lab) / name
        if not only or name in only:
            seen = {source: conns(slowside, case, source) for source in ("both", "client", "server")}
            read[name] = (name, case, seen)
    of = lambda names: [read[n] for n in names if n in read]  # noqa: E731
    table(
        ["case", "kernel", "both", "client's", "server's", "unknown: both", "client's", "server's"],
        shares(of(TIMES)),
    )
    table(
        ["case", "dropped", "lost, both", "sent again, client's", "sent again, server's"],
        losses(of(LOSSES)),
    )
    table(
        ["case", "taken from client's", "from server's", "missing, both", "client's", "server's"],
        missing(of(LOSSES)),
    )


if __name__ == "__main__":
    main()
