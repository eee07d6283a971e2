"""What tests of Spark share."""

import os
import pathlib
import struct
import subprocess
import sys

import pyarrow as pa
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Of one moment: NFS, PostgreSQL with prepared statements, and Oracle's TNS.
CAPTURES = [
    ROOT / "tests/lab/server-cap/client.pcap.zst",
    ROOT / "tests/databases/pgsql/pgbench_prepared.pcap",
    ROOT / "tests/field/c10-database-pauses/client.pcap.zst",
]

HEAD = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 1)


def packets_of(path):
    """Time (ns), length, bytes of each packet of a capture of nanoseconds."""
    packed = path.suffix == ".zst"
    raw = subprocess.run(["zstd", "-dc", str(path)], check=True, capture_output=True).stdout if packed else path.read_bytes()
    at, packets = 24, []
    while at < len(raw):
        seconds, part, length, size = struct.unpack_from("<IIII", raw, at)
        packets.append((seconds * 10**9 + part, size, raw[at + 16 : at + 16 + length]))
        at += 16 + length
    return packets


def write_ring(folder, packets, files=10):
    """So many files of a rotated set."""
    folder.mkdir(exist_ok=True)
    each = -(-len(packets) // files)
    for n in range(files):
        with open(folder / f"ring.{n}.pcap", "wb") as out:
            out.write(HEAD)
            for time, size, data in packets[n * each : (n + 1) * each]:
                out.write(struct.pack("<IIII", time // 10**9, time % 10**9, len(data), size) + data)


@pytest.fixture(scope="session")
def ring_of_ten(tmp_path_factory):
    """A ring of ten files, over whose ends sessions, statements and calls go on; with a packet that is no pair of hosts'."""
    packets = []
    for path in CAPTURES:
        own = packets_of(path)
        packets += [(time - own[0][0], size, data) for time, size, data in own]
    arp = bytes.fromhex("ffffffffffff020000000001080600010800060400010200000000010a0000010000000000000a000002")
    packets.append((10**8, len(arp), arp))
    packets.sort(key=lambda packet: packet[0])
    folder = tmp_path_factory.mktemp("captures") / "ring"
    write_ring(folder, [(1_790_000_000 * 10**9 + time, size, data) for time, size, data in packets])
    return folder


def rows(table):
    """Rows in an order of their own, each cell as it is."""
    return sorted(repr(row) for row in table.to_pylist())


def alone(points, command="calls", **options):
    """The rows that one process has of each."""
    import slowside
    from slowside import spark as ring

    tables = [ring._plain(pa.table(getattr(slowside, command)(point, **options)), str(point)) for point in points]
    return pa.concat_tables(tables)


@pytest.fixture(scope="module")
def started():
    """Starts a session at a master, with settings beside those that all have; it ends with the module."""
    from pyspark.sql import SparkSession

    sessions = []

    def start(master, **settings):
        # The Python that has slowside, not the first that is found.
        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = SparkSession.builder.master(master).appName("slowside")
        for name, value in {
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "1g",
            **settings,
        }.items():
            builder = builder.config(name, value)
        sessions.append(builder.getOrCreate())
        return sessions[-1]

    yield start
    for session in sessions:
        session.stop()
