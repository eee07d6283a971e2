#!/usr/bin/env python3
"""Measures slowside against tshark, tcptrace and a bare reader on large captures, and prints ratios.

usage: bench.py SLOWSIDE [--packets N] [--runs N] [--folder DIR] [--update] [--instructions] [CLIENT.pcap SERVER.pcap]

Makes, from a small pair of captures (Ethernet, IPv4, NFS; plain or .zst), in DIR (default: a folder in
TMPDIR that is removed in the end; sixteen times N packets of the pair's size must fit):
  many    N packets: copies of the client's capture with client addresses of their own, eight at a time
  lengths a quarter, one and four times as many copies (lengths 1, 4, 16), by each command, to see whether memory grows
          with packets
  one     N packets of one busy connection: its packets again and again, sequence numbers going on
  forms   `many` as pcapng, compressed, and as twenty files
  others  N packets each of PostgreSQL, MySQL, SQL*Net (where a public capture of it is at hand, ../shared/samples)
          and a stream of full segments
  pair    the server's copies beside `many`, for `diagnose`
  pool    N packets of 8, 1,000, 5,000, 10,000 and 100,000 clients' connections that are open all the time and have their turns
          by chance, with memory for all of them
  open    100,000 connections that are all open at once, with a request and a response each
  closed  100,000 such connections one after another, each closed
For the last two, memory is told by connection: all that `ops` takes, and all that `conns` takes.
All programs run one after another, and that several times over, so that what else the machine does
meets all alike. Printed are medians. Files are read once before, so that disks do not count. The bare reader is
crates/net/examples/floor.rs, which cargo builds.
tests/bench.tsv has the figures of the last run with --update. With --instructions scripts/instructions.py follows: what
machines without counters can tell.
Needs tshark, tcptrace, editcap (wireshark-common), zstd and cargo.
"""

import argparse
import glob
import json
import os
import random
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
TESTS = os.path.join(ROOT, "tests")
LAB = os.path.join(TESTS, "lab", "server-cap")
SQLNET = os.path.join(ROOT, "..", "shared", "samples", "tns", "trex-delay_oracle_0.pcap")
TABLE = os.path.join(TESTS, "bench.tsv")
CONCURRENT = 8
PCAP_HEADER, RECORD_HEADER, ETHERNET = 24, 16, 14
SYN, FIN, RST = 2, 1, 4


class Source:
    """A small capture: its packets as (nanoseconds, length on the wire, bytes)."""

    def __init__(self, path: str) -> None:
        if path.endswith(".zst"):
            data = subprocess.run(["zstd", "-dc", path], check=True, stdout=subprocess.PIPE).stdout
        else:
            with open(path, "rb") as file:
                data = file.read()
        self.header = data[:PCAP_HEADER]
        units = {0xA1B23C4D: 1, 0xA1B2C3D4: 1000}
        (magic,) = struct.unpack_from("<I", data)
        if magic not in units:
            sys.exit(f"{path}: not a little-endian pcap file")
        self.unit = units[magic]
        self.packets: list[tuple[int, int, bytes]] = []
        at = PCAP_HEADER
        while at + RECORD_HEADER <= len(data):
            seconds, fraction, captured, length = struct.unpack_from("<IIII", data, at)
            at += RECORD_HEADER
            when = seconds * 10**9 + fraction * self.unit
            self.packets.append((when, length, data[at : at + captured]))
            at += captured
        self.first = self.packets[0][0]
        self.period = self.packets[-1][0] - self.first + 1_000_000
        # Whoever sends first is the client.
        first = next(p for _, _, p in self.packets if is_tcp(p))
        self.client, self.port = first[26:30], port_to(first)

    def is_from_client(self, packet: bytes) -> bool:
        """Where both ends have one address, by the port of the server."""
        if packet[26:30] == packet[30:34]:
            return port_to(packet) == self.port
        return packet[26:30] == self.client

    def record(self, when: int, length: int, packet: bytes) -> bytes:
        seconds, rest = divmod(when, 10**9)
        return struct.pack("<IIII", seconds, rest // self.unit, len(packet), length) + packet


def port_to(packet: bytes) -> bytes:
    tcp = ETHERNET + (packet[14] & 15) * 4
    return packet[tcp + 2 : tcp + 4]


def is_tcp(packet: bytes) -> bool:
    return len(packet) >= 54 and packet[12:14] == b"\x08\x00" and packet[23] == 6


def many(source: Source, path: str, copies: int, period: int) -> int:
    """Copies of a capture, each with a client address of its own. Returns the number of packets."""
    with open(path, "wb", buffering=1 << 22) as out:
        out.write(source.header)
        for start in range(0, copies, CONCURRENT):
            base = source.first + start // CONCURRENT * period
            group = range(start, min(start + CONCURRENT, copies))
            addresses = [bytes([64 | i >> 16, i >> 8 & 255, i & 255]) for i in group]
            for when, length, packet in source.packets:
                offset = 0
                if is_tcp(packet):
                    offset = 27 if source.is_from_client(packet) else 31
                for i, address in enumerate(addresses):
                    copy = packet[:offset] + address + packet[offset + 3 :] if offset else packet
                    out.write(source.record(base + when - source.first + i * 37, length, copy))
    return copies * len(source.packets)


# When, how long on the wire, the packet, whether the client sent it, where its TCP header is, and the first
# sequence number and the one behind its last byte.
Flow = list[tuple[int, int, bytes, bool, int, int, int]]


def busiest(source: Source) -> Flow:
    """The packets of a capture's busiest connection, without its beginning and end."""
    flows: dict[frozenset, list[tuple[int, int, bytes, bool, int, int, int]]] = {}
    for when, length, packet in source.packets:
        if not is_tcp(packet):
            continue
        tcp = ETHERNET + (packet[14] & 15) * 4
        sequence, acknowledged, offset, flags = struct.unpack_from(">IIBB", packet, tcp + 4)
        if flags & (SYN | FIN | RST):
            continue
        (total,) = struct.unpack_from(">H", packet, 16)
        payload = total - (tcp - ETHERNET) - (offset >> 4) * 4
        up = source.is_from_client(packet)
        ends = frozenset([packet[26:30] + packet[tcp : tcp + 2], packet[30:34] + packet[tcp + 2 : tcp + 4]])
        flow = flows.setdefault(ends, [])
        flow.append((when, length, packet, up, tcp, sequence, sequence + payload))
    return max(flows.values(), key=len)


def spans(flow: Flow) -> dict[bool, int]:
    """How many sequence numbers each direction takes: from the client, and to it."""
    span = {}
    for up in (True, False):
        own = [p for p in flow if p[3] == up]
        # Unwrapped relative to the first packet of the direction.
        near = [((p[5] - own[0][5] + 2**31) % 2**32 - 2**31, p[6] - p[5]) for p in own]
        span[up] = max(s + n for s, n in near) - min(s for s, _ in near)
    return span


def renumbered(packet: bytes, tcp: int, sequence: int, further: int) -> bytes:
    """A packet with this sequence number, which acknowledges so much more."""
    (acknowledged,) = struct.unpack_from(">I", packet, tcp + 8)
    numbers = struct.pack(">II", sequence % 2**32, (acknowledged + further) % 2**32)
    return packet[: tcp + 4] + numbers + packet[tcp + 12 :]


def one(source: Source, path: str, packets: int) -> int:
    """The busiest connection of a capture, repeated without end. Returns the number of packets."""
    flow = busiest(source)
    span = spans(flow)
    first, period = flow[0][0], flow[-1][0] - flow[0][0] + 1_000_000
    rounds = max(packets // len(flow), 1)
    with open(path, "wb", buffering=1 << 22) as out:
        out.write(source.header)
        for i in range(rounds):
            for when, length, packet, up, tcp, sequence, _ in flow:
                copy = renumbered(packet, tcp, sequence + i * span[up], i * span[not up])
                out.write(source.record(first + i * period + when - first, length, copy))
    return rounds * len(flow)


def pool(source: Source, path: str, count: int, packets: int) -> int:
    """So many connections that are open all the time, as of a connection pool: each in turn, by chance, has
    its next turn: what lies between two requests of the busiest connection. Returns the number of packets."""
    flow = busiest(source)
    span = spans(flow)
    is_request = [up and behind > sequence for _, _, _, up, _, sequence, behind in flow]
    at = [0] * count
    chance = random.Random(1)
    written = 0
    with open(path, "wb", buffering=1 << 22) as out:
        out.write(source.header)
        while written < packets:
            i = chance.randrange(count)
            address = bytes([64 | i >> 16, i >> 8 & 255, i & 255])
            begun = False
            while not (begun and is_request[at[i] % len(flow)]):
                begun = True
                rounds, step = divmod(at[i], len(flow))
                _, length, packet, up, tcp, sequence, _ = flow[step]
                offset = 27 if up else 31
                copy = packet[:offset] + address + packet[offset + 3 :]
                copy = renumbered(copy, tcp, sequence + rounds * span[up], rounds * span[not up])
                out.write(source.record(source.first + written * 10_000, length, copy))
                at[i] += 1
                written += 1
    return written


POOLS = [8, 1_000, 5_000, 10_000, 100_000]
CONNECTIONS = 100_000
OPTIONS = bytes([2, 4, 5, 180, 1, 3, 3, 7, 4, 2, 1, 1])
# Who sends, with which flags, how much before and now; and how much of the other's it acknowledges.
LIFE = [
    (True, SYN, 0, 0, 0),
    (False, SYN | 16, 0, 0, 1),
    (True, 16, 1, 0, 1),
    (True, 24, 1, 300, 1),
    (False, 16, 1, 0, 301),
    (False, 24, 1, 500, 301),
    (True, 16, 301, 0, 501),
    (True, 16 | FIN, 301, 0, 501),
    (False, 16 | FIN, 501, 0, 302),
    (True, 16, 302, 0, 502),
]


def connections(path: str, count: int, close: bool) -> int:
    """So many connections that speak nothing known: each closed before the next begins, or all of them open
    at once. Returns the number of packets."""
    steps = LIFE if close else LIFE[:7]
    if close:
        turns = ((i, step) for i in range(count) for step in steps)
    else:
        turns = ((i, step) for step in steps for i in range(count))
    server = bytes([10, 0, 0, 2])
    with open(path, "wb", buffering=1 << 22) as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 1))
        for n, (i, (up, flags, before, length, acknowledged)) in enumerate(turns):
            ends = [(bytes([10, 1 + (i >> 16), i >> 8 & 255, i & 255]), 20_000 + i % 30_000), (server, 7_777)]
            first = [1_000 + i, 5_000 + 3 * i]
            (source, from_port), (destination, to_port) = ends if up else ends[::-1]
            own, other = first if up else first[::-1]
            options = OPTIONS if flags & SYN else b""
            tcp = struct.pack(
                ">HHIIBBHHH",
                *(from_port, to_port, own + before, other + acknowledged if flags & 16 else 0),
                *((20 + len(options)) << 2, flags, 64_240, 0, 0),
            )
            payload = tcp + options + bytes(length)
            ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), n & 0xFFFF, 0x4000, 64, 6, 0)
            frame = bytes(12) + b"\x08\x00" + ip + source + destination + payload
            seconds, rest = divmod(1_700_000_000 * 10**9 + n * 20_000, 10**9)
            out.write(struct.pack("<IIII", seconds, rest, len(frame), len(frame)) + frame)
    return count * len(steps)


# Starts a program and prints how it went. A process of its own: what the kernel calls a program's peak
# memory is at least that of the process that started it, and this script holds captures.
STARTER = """
import os, sys, time
null = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_WRONLY, 0) for fd in (1, 2)]
start = time.perf_counter()
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=null)
_, status, usage = os.wait4(pid, 0)
took = time.perf_counter() - start
print(os.waitstatus_to_exitcode(status), took, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
"""


def run(command: list[str]) -> tuple[float, float, int]:
    """Seconds of the clock, seconds of processor time, and the largest memory in bytes."""
    starter = [sys.executable, "-I", "-S", "-c", STARTER, *command]
    code, took, cpu, memory = subprocess.run(starter, check=True, stdout=subprocess.PIPE).stdout.split()
    if int(code) not in (0, 3):
        sys.exit(f"{' '.join(command)}: exit code {int(code)}")
    return float(took), float(cpu), int(memory)


class Table:
    """Commands by name, run in turns."""

    rows: list[str] = []

    def __init__(self, title: str, packets: int, runs: int, commands: dict[str, list[str]]) -> None:
        results: dict[str, list[tuple[float, float, int]]] = {name: [] for name in commands}
        for _ in range(runs):
            for name, command in commands.items():
                results[name].append(run(command))
        self.seconds = {name: statistics.median(r[0] for r in rows) for name, rows in results.items()}
        self.memory = {name: max(r[2] for r in rows) for name, rows in results.items()}
        base = next(iter(commands))
        print(f"\n{title}: {packets:,} packets, median of {runs}")
        print(f"  {'':24} {'seconds':>9} {'cpu s':>8} {'packets/s':>12} {'time ratio':>11} {'peak MB':>9}")
        for name, rows in results.items():
            seconds = self.seconds[name]
            cpu = statistics.median(r[1] for r in rows)
            print(
                f"  {name:24} {seconds:9.3f} {cpu:8.3f} {packets / seconds:12,.0f}"
                f" {seconds / self.seconds[base]:11.2f} {self.memory[name] / 1e6:9.1f}",
                flush=True,
            )
            ratio = seconds / self.seconds[base]
            Table.rows.append(f"{title}\t{packets}\t{name}\t{seconds:.3f}\t{cpu:.3f}\t{ratio:.2f}\t{self.memory[name] >> 20}\n")


def floor() -> str:
    """The bare reader, built."""
    build = ["cargo", "build", "-q", "--release", "--locked", "-p", "net", "--example", "floor"]
    subprocess.run(build, check=True, cwd=ROOT)
    metadata = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"]
    found = json.loads(subprocess.run(metadata, check=True, cwd=ROOT, stdout=subprocess.PIPE).stdout)
    return os.path.join(found["target_directory"], "release", "examples", "floor")


def forms(plain: str, slowside: str, packets: int, runs: int, warm: Callable[[str], None]) -> None:
    """The same packets in other files."""
    ring = f"{plain}.ring"
    os.makedirs(ring)
    made = {
        "pcapng": (["editcap", "-F", "pcapng", plain, f"{plain}.pcapng"], [f"{plain}.pcapng"]),
        "gz": (["gzip", "-k", "-6", plain], [f"{plain}.gz"]),
        "zst": (["zstd", "-q", "-k", plain], [f"{plain}.zst"]),
        "20 files": (["editcap", "-F", "nsecpcap", "-c", str(-(-packets // 20)), plain, os.path.join(ring, "f")], [ring]),
    }
    commands = {"pcap": [slowside, "ops", "-q", plain]}
    for name, (make, captures) in made.items():
        subprocess.run(make, check=True)
        commands[name] = [slowside, "ops", "-q", *captures]
    for capture in [*(f"{plain}.{suffix}" for suffix in ("pcapng", "gz", "zst")), *sorted(glob.glob(f"{ring}/*"))]:
        warm(capture)
    Table("forms", packets, runs, commands)
    for suffix in ("pcapng", "gz", "zst"):
        os.remove(f"{plain}.{suffix}")
    shutil.rmtree(ring)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure slowside against tshark and tcptrace.")
    parser.add_argument("slowside")
    parser.add_argument("captures", nargs="*", metavar="CLIENT.pcap SERVER.pcap")
    parser.add_argument("--packets", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--folder")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--instructions", action="store_true")
    options = parser.parse_intermixed_args()
    if len(options.captures) not in (0, 2):
        parser.error("give both captures, or none")
    captures = options.captures or [os.path.join(LAB, f"{side}.pcap.zst") for side in ("client", "server")]
    slowside = os.path.abspath(options.slowside)
    with tempfile.TemporaryDirectory() as temporary:
        measure(slowside, floor(), captures, options.folder or temporary, options.packets, options.runs)
    if options.update:
        with open(TABLE, "w") as file:
            file.write("# what\tpackets\tprogram\tseconds\tprocessor seconds\ttimes the first\tpeak MiB\n")
            file.writelines(Table.rows)
    if options.instructions:
        count = os.path.join(ROOT, "scripts", "instructions.py")
        sys.exit(subprocess.run([sys.executable, count, slowside]).returncode)


def commands_of(folder: str) -> list[list[str]]:
    """What reads a capture, in words."""
    return [
        ["ops"],
        ["conns"],
        ["calls", "--format", "csv"],
        ["info"],
        ["stat"],
        ["startup"],
        ["diagnose", "--client"],
        ["report", "-o", os.path.join(folder, "page.html")],
    ]


def lengths(slowside: str, client: Source, folder: str, copies: int, runs: int, warm: Callable[[str], None]) -> None:
    """The same traffic going on for a quarter of the time, for all of it and for four times as long."""
    grown: dict[str, list[int]] = {}
    for times in (1, 4, 16):
        name = os.path.join(folder, f"{times}.pcap")
        packets = many(client, name, max(copies * times // 4, 1), client.period)
        warm(name)
        commands = {words[0]: [slowside, words[0], "-q", *words[1:], name] for words in commands_of(folder)}
        table = Table(f"length {times}", packets, runs, commands)
        for command, memory in table.memory.items():
            grown.setdefault(command, []).append(memory)
        os.remove(name)
    for command, (shortest, *_, longest) in grown.items():
        print(f"  {command}: {longest / shortest:.2f} times the memory for 16 times the packets")


def measure(slowside: str, bare: str, captures: list[str], folder: str, packets: int, runs: int) -> None:
    os.makedirs(folder, exist_ok=True)
    client, server = (Source(path) for path in captures)
    period = max(client.period, server.period)
    copies = max(packets // len(client.packets), 1)

    def path(name: str) -> str:
        return os.path.join(folder, f"{name}.pcap")

    def warm(name: str) -> None:
        warm_file(path(name))

    def warm_file(path: str) -> None:
        with open(path, "rb") as file:
            while file.read(1 << 24):
                pass

    def ops(name: str) -> list[str]:
        return [slowside, "ops", "-q", path(name)]

    def others(name: str) -> dict[str, list[str]]:
        return {
            "tshark -z rpc,srt": ["tshark", "-n", "-q", "-z", "rpc,srt,100003,3", "-r", path(name)],
            "tcptrace -n": ["tcptrace", "-n", path(name)],
            "a bare reader": [bare, path(name)],
        }

    count = many(client, path("many"), copies, period)
    warm("many")
    one_thread = {"slowside ops --threads 1": [*ops("many"), "--threads", "1"]}
    table = Table("many connections", count, runs, {"slowside ops": ops("many"), **one_thread, **others("many")})

    def command(name: str, *more: str) -> list[str]:
        return [slowside, name, "-q", *more, path("many")]

    commands = {words[0]: command(*words) for words in commands_of(folder)}
    Table("commands", count, runs, commands)
    forms(path("many"), slowside, count, runs, warm_file)

    one_count = one(client, path("one"), packets)
    warm("one")
    Table("one busy connection", one_count, runs, {"slowside ops": ops("one"), **others("one")})
    os.remove(path("one"))

    server_count = many(server, path("server"), copies, period)
    warm("server")
    diagnose = [slowside, "diagnose", "-q", "--client", path("many"), "--server", path("server")]
    pair = Table(
        "a pair",
        count + server_count,
        runs,
        {"slowside diagnose": diagnose, "ops, client's capture": ops("many"), "ops, server's capture": ops("server")},
    )
    both = pair.seconds["ops, client's capture"] + pair.seconds["ops, server's capture"]
    print(f"  diagnose takes {pair.seconds['slowside diagnose'] / both:.2f} times both ops runs together")
    os.remove(path("server"))

    databases = {
        "PostgreSQL": os.path.join(TESTS, "databases", "pgsql", "pgbench_prepared.pcap"),
        "MySQL": os.path.join(TESTS, "databases", "mysql", "queries.pcap.zst"),
        "SQL*Net": SQLNET,
    }
    others_of = {title: (many, capture) for title, capture in databases.items() if os.path.exists(capture)}
    bulk = os.path.join(TESTS, "field", "b9-same-writes", "base-client.pcap.zst")
    others_of["a stream of full segments"] = (one, bulk)
    for title, (make, capture) in others_of.items():
        source = Source(capture)
        if make is many:
            made = many(source, path("other"), max(packets // len(source.packets), 1), source.period)
        else:
            made = one(source, path("other"), packets)
        warm("other")
        compared = others("other")
        del compared["tshark -z rpc,srt"]
        own = {"slowside ops": ops("other")}
        if title in databases:
            own["slowside sql"] = [slowside, "sql", "-q", path("other")]
        Table(title, made, runs, {**own, **compared})
        os.remove(path("other"))

    serial = Source(os.path.join(LAB, "..", "healthy", "client.pcap.zst"))
    for size in POOLS:
        pool_count = pool(serial, path("pool"), size, packets)
        warm("pool")
        commands = {"slowside ops": [*ops("pool"), "--memory", "4G"], "tcptrace -n": ["tcptrace", "-n", path("pool")]}
        Table(f"a pool of {size:,} connections", pool_count, runs, commands)
        os.remove(path("pool"))

    for name, close in (("open", False), ("closed", True)):
        held = connections(path(name), CONNECTIONS, close)
        warm(name)
        conns = [slowside, "conns", "-q", "--format", "csv", path(name)]
        title = f"{CONNECTIONS:,} connections, {'each closed' if close else 'all open at once'}"
        both = Table(title, held, min(runs, 3), {"slowside ops": ops(name), "slowside conns": conns})
        ops_memory, conns_memory = both.memory["slowside ops"], both.memory["slowside conns"]
        print(
            f"  bytes a connection: {ops_memory / CONNECTIONS:,.0f} in ops,"
            f" {conns_memory / CONNECTIONS:,.0f} in conns"
        )
        os.remove(path(name))

    os.remove(path("many"))
    lengths(slowside, client, folder, copies, min(runs, 3), warm_file)


if __name__ == "__main__":
    main()
