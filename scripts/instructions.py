#!/usr/bin/env python3
"""Counts the instructions that slowside takes for a packet, and holds them against the committed table.

usage: instructions.py SLOWSIDE [--update] [SHAPE ...]
       instructions.py target/count/slowside --share NAME [--share NAME ...] [SHAPE ...]

Each shape of traffic is made twice from small captures in the repository (scripts/bench.py says how), the second
with twice as many packets; what the second takes more, by packet, is counted by valgrind. So neither starting up nor
what else the machine does has a part in it: a machine's mood cannot fail this, and a release build by the pinned
compiler counts the same everywhere, within a few in a hundred.

The table, tests/instructions.tsv, has a line per shape and command. What takes 5 % more than it says fails; what takes
5 % less is told, so that --update writes it down. With SHAPEs only these are counted. With --share it says which share
functions have whose names contain NAME, of a binary that has names (cargo build --profile count -p cli).
Needs valgrind, and zstd and editcap (wireshark-common) for captures in other formats.
"""

import argparse
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable

import bench

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
TABLE = os.path.join(ROOT, "tests", "instructions.tsv")
PACKETS = 10_000
MORE = 0.05


def source(*path: str) -> bench.Source:
    return bench.Source(os.path.join(ROOT, "tests", *path))


def copies(capture: bench.Source, path: str, packets: int) -> int:
    return bench.many(capture, path, max(packets // len(capture.packets), 1), capture.period)


def made() -> dict[str, Callable[[str, int], int]]:
    """What makes each shape: from where to write it and about how many packets to how many there are."""
    nfs = source("lab", "server-cap", "client.pcap.zst")
    at_server = source("lab", "server-cap", "server.pcap.zst")
    serial = source("lab", "healthy", "client.pcap.zst")
    bulk = source("field", "b9-same-writes", "base-client.pcap.zst")
    pgsql = source("databases", "pgsql", "pgbench_prepared.pcap")
    mysql = source("databases", "mysql", "queries.pcap.zst")
    return {
        "nfs": lambda path, packets: copies(nfs, path, packets),
        "nfs-at-server": lambda path, packets: copies(at_server, path, packets),
        "nfs-one": lambda path, packets: bench.one(nfs, path, packets),
        "nfs-pool": lambda path, packets: bench.pool(serial, path, 1_000, packets),
        "pgsql": lambda path, packets: copies(pgsql, path, packets),
        "mysql": lambda path, packets: copies(mysql, path, packets),
        "bulk": lambda path, packets: bench.one(bulk, path, packets),
        "connections": lambda path, packets: bench.connections(path, packets // 10, True),
    }


# What is counted: a shape, and slowside's arguments for it, in which {} is the capture and {server} the one that was
# taken at the other end.
COUNTED = [
    ("nfs", "ops {}"),
    ("nfs", "conns {}"),
    ("nfs", "calls {} --format csv"),
    ("nfs", "info {}"),
    ("nfs", "diagnose --client {}"),
    ("nfs", "diagnose --client {} --server {server}"),
    ("nfs", "report {} -o {}.html"),
    ("nfs-one", "ops {}"),
    ("nfs-pool", "ops {}"),
    ("pgsql", "ops {}"),
    ("pgsql", "sql {}"),
    ("mysql", "ops {}"),
    ("bulk", "ops {}"),
    ("connections", "ops {}"),
    ("nfs.pcapng", "ops {}"),
    ("nfs.gz", "ops {}"),
    ("nfs.zst", "ops {}"),
]


def converted(path: str, suffix: str) -> None:
    command = {
        "pcapng": ["editcap", "-F", "pcapng", path, f"{path}.pcapng"],
        "gz": ["gzip", "-k", "-6", path],
        "zst": ["zstd", "-q", "-k", path],
    }
    subprocess.run(command[suffix], check=True)


def instructions(slowside: str, arguments: list[str]) -> int:
    """All that one run takes."""
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", slowside, *arguments]
    run = subprocess.run([*command, "-q", "--threads", "1"], capture_output=True, text=True)
    counted = re.search(r"I\s+refs:\s+([\d,]+)", run.stderr)
    if run.returncode != 0 or counted is None:
        sys.exit(f"{' '.join(command)}: exit code {run.returncode}\n{run.stderr}")
    return int(counted[1].replace(",", ""))


def main() -> None:
    parser = argparse.ArgumentParser(description="Count instructions per packet.")
    parser.add_argument("slowside")
    parser.add_argument("shapes", nargs="*", metavar="SHAPE")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--share", action="append", metavar="NAME")
    options = parser.parse_intermixed_args()
    for tool in ("valgrind", "zstd", "editcap"):
        if shutil.which(tool) is None:
            sys.exit(f"{tool} is not installed")
    wanted = [row for row in COUNTED if not options.shapes or row[0] in options.shapes]
    if not wanted:
        parser.error(f"no such shape; there are {', '.join(dict.fromkeys(shape for shape, _ in COUNTED))}")
    slowside = os.path.abspath(options.slowside)
    with tempfile.TemporaryDirectory() as folder:
        if options.share:
            return shares(slowside, wanted, options.share, folder)
        found = count(slowside, wanted, folder)
    known = table()
    if options.update:
        write({**known, **found})
    sys.exit(1 if compare(known, found) and not options.update else 0)


Row = tuple[str, str]


def words(row: Row, path: str) -> list[str]:
    """A row's command for a shape that was made there, in the row's format."""
    suffix = row[0].partition(".")[2]
    named = f"{path}.{suffix}" if suffix else path
    return [word.replace("{server}", f"{path}.server").replace("{}", named) for word in row[1].split()]


def shares(slowside: str, wanted: list[Row], names: list[str], folder: str) -> None:
    """Prints which share of all instructions the functions of these names have, with what is inlined in them."""
    make(wanted, folder, (2,))
    print(f"{'shape':12} {'command':40} {'share of ' + ', '.join(names):>24}")
    for row in wanted:
        path = os.path.join(folder, f"{row[0].partition('.')[0]}-2")
        told = os.path.join(folder, "callgrind")
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={told}", slowside, *words(row, path), "-q", "--threads", "1"]
        subprocess.run(command, capture_output=True, check=True)
        annotated = ["callgrind_annotate", "--threshold=100", "--auto=no", "--show=Ir", told]
        lines = subprocess.run(annotated, capture_output=True, text=True, check=True).stdout.splitlines()
        # "12,345 ( 0.49%)  FILE:FUNCTION [BINARY]"
        parts = [re.match(r"\s*([\d,]+) \(.*?\)\s+(.*)", line) for line in lines]
        told_of = [(int(part[1].replace(",", "")), part[2]) for part in parts if part]
        if not any("::" in what for _, what in told_of):
            sys.exit(f"{slowside} has no names; cargo build --profile count -p cli makes one that has")
        total = next(n for n, what in told_of if what.startswith("PROGRAM TOTALS"))
        own = sum(n for n, what in told_of if any(name in what for name in names))
        print(f"{row[0]:12} {row[1]:40} {own / total:24.2%}")


def make(wanted: list[Row], folder: str, lengths: tuple[int, ...]) -> dict[tuple[str, int], int]:
    """Writes the captures of these rows, so many times as long each, and gives how many packets are in each."""
    shapes = made()
    packets: dict[tuple[str, int], int] = {}
    for shape in dict.fromkeys(shape.split(".")[0] for shape, _ in wanted):
        for times in lengths:
            path = os.path.join(folder, f"{shape}-{times}")
            packets[shape, times] = shapes[shape](path, PACKETS * times)
            if shape == "nfs":
                shapes["nfs-at-server"](f"{path}.server", PACKETS * times)
            for other, _ in wanted:
                name, _, suffix = other.partition(".")
                if name == shape and suffix and not glob.glob(f"{path}.{suffix}"):
                    converted(path, suffix)
    return packets


def count(slowside: str, wanted: list[Row], folder: str) -> dict[Row, int]:
    """Instructions per packet of each row."""
    packets = make(wanted, folder, (1, 2))

    def one(row: Row) -> int:
        shape = row[0].partition(".")[0]
        of = {times: instructions(slowside, words(row, os.path.join(folder, f"{shape}-{times}"))) for times in (1, 2)}
        return round((of[2] - of[1]) / (packets[shape, 2] - packets[shape, 1]))

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(wanted, pool.map(one, wanted)))


def table() -> dict[Row, int]:
    if not os.path.exists(TABLE):
        return {}
    with open(TABLE) as file:
        rows = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    return {(shape, command): int(number) for shape, command, number in rows}


def write(rows: dict[Row, int]) -> None:
    with open(TABLE, "w") as file:
        file.write("# Instructions per packet, by shape of traffic and command: scripts/instructions.py SLOWSIDE --update\n")
        for row in COUNTED:
            if row in rows:
                file.write("\t".join([*row, str(rows[row])]) + "\n")


def compare(known: dict[Row, int], found: dict[Row, int]) -> bool:
    """Prints all, and says whether anything takes too many."""
    grown = False
    print(f"{'shape':12} {'command':40} {'instructions a packet':>22} {'before':>8}")
    for (shape, command), number in found.items():
        before = known.get((shape, command))
        change = 0.0 if before is None else number / before - 1
        grown |= change > MORE or before is None
        remark = ""
        if abs(change) > MORE:
            remark = f"{change:+8.1%} {'TOO MANY' if change > 0 else 'better: --update'}"
        print(f"{shape:12} {command:40} {number:22,} {before if before is not None else '-':>8} {remark}")
    if grown:
        print(f"Where more is right: {sys.argv[0]} SLOWSIDE --update")
    return grown


if __name__ == "__main__":
    main()
