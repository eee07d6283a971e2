"""One ring by many tasks of Spark: the rows are those that one process has, cell by cell."""

import os
import shutil
import struct

import pyarrow as pa
import pytest
import slowside
from conftest import CAPTURES, alone, packets_of, rows, write_ring

# Where everything must hold, nothing is left out.
if not os.environ.get("CI"):
    pytest.importorskip("pyspark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java 17", allow_module_level=True)

from slowside import spark as ring  # noqa: E402

NFS = CAPTURES[0]


@pytest.fixture(scope="module")
def session(started):
    return started("local[2]")


@pytest.mark.parametrize("split", [True, 7])
def test_rows_of_a_ring_of_ten_files_are_those_of_one_process(session, ring_of_ten, split):
    found = ring.calls(session, [ring_of_ten], split=split).toArrow()
    expected = alone([ring_of_ten])
    assert found.column_names == expected.column_names
    assert found.num_rows == expected.num_rows > 1000
    assert {"nfs3", "pgsql", "tns"} <= set(found["protocol"].to_pylist())
    # What only the whole capture says is there: ledgers, numbers of connections, places.
    assert sum(bool(ledger) for ledger in expected["ledger"].to_pylist()) > 1000
    assert rows(found) == rows(expected)


OPTIONS = [
    {"where": "response_time > 1ms", "columns": ["op", "sql", "order", "connection", "ledger", "capture"]},
    {"from_": "200ms", "to": "700ms", "anonymise": "a-longer-key", "memory": "2G"},
    {"where": "op = NOTHING"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=["columns", "times", "none"])
def test_options_mean_what_they_mean_elsewhere(session, ring_of_ten, options):
    found = ring.calls(session, [ring_of_ten], split=3, **options).toArrow()
    expected = alone([ring_of_ten], **options)
    assert found.schema == expected.schema
    assert found.num_rows == expected.num_rows
    assert rows(found) == rows(expected)


@pytest.mark.parametrize("split", [False, True, 7])
def test_a_diagnosis_is_that_of_one_process_to_the_byte(session, ring_of_ten, split):
    points = [str(ring_of_ten), str(CAPTURES[2])]
    found = ring.diagnose(session, points, split=split)
    for point, of_point in zip(points, found, strict=True):
        assert of_point.json == slowside.diagnose(point).json
    assert found[1].side == "server"


def test_options_of_a_diagnosis_mean_what_they_mean_elsewhere(session, ring_of_ten):
    options = {"where": "protocol = nfs3", "from_": "200ms", "anonymise": "a-longer-key"}
    [found] = ring.diagnose(session, [ring_of_ten], split=3, **options)
    assert found.json == slowside.diagnose(ring_of_ten, **options).json


LISTS = [
    ("conns", {}),
    ("conns", {"where": "retransmitted_packets > 0", "anonymise": "a-longer-key"}),
    ("ops", {}),
    ("ops", {"by": ["op", "client", "time=1s"], "where": "protocol = nfs3"}),
    ("sql", {}),
    ("sql", {"by": ["connection"], "from_": "300ms"}),
]


@pytest.mark.parametrize("split", [False, 5])
@pytest.mark.parametrize(("command", "options"), LISTS)
def test_lists_are_those_of_one_process(session, ring_of_ten, command, options, split):
    found = getattr(ring, command)(session, [ring_of_ten], split=split, **options).toArrow()
    expected = alone([ring_of_ten], command, **options)
    assert found.schema == expected.schema
    assert found.num_rows == expected.num_rows
    assert rows(found) == rows(expected)
    assert found.num_rows > 0 or options


@pytest.mark.parametrize("split", [False, True, 7])
def test_two_ends_are_judged_together(session, ring_of_ten, split):
    server = NFS.parent / "server.pcap.zst"
    pairs = [(str(NFS), str(server)), (str(ring_of_ten), str(server))]
    both = [{"client": client, "server": server} for client, server in pairs]
    found = ring.diagnose(session, pairs, split=split)
    assert [d.json for d in found] == [slowside.diagnose(**ends).json for ends in both]
    assert found[0].side == "server"
    for command in ("calls", "conns"):
        found = getattr(ring, command)(session, pairs, split=split).toArrow()
        tables = [pa.table(getattr(slowside, command)(**ends)) for ends in both]
        expected = pa.concat_tables([ring._plain(t, client) for t, (client, _) in zip(tables, pairs)])
        assert rows(found) == rows(expected)


def test_several_rings_are_split_each_by_itself(session, ring_of_ten):
    points = [ring_of_ten, CAPTURES[1]]
    found = ring.calls(session, [str(point) for point in points], split=2).toArrow()
    assert rows(found) == rows(alone(points))


def test_files_that_overlap_in_time_are_merged(session, tmp_path):
    packets = packets_of(CAPTURES[1])
    half = len(packets) // 2
    # Two ports of a tap and then one, and a packet that came too late into its file.
    tap = packets[:half:2] + packets[1:half:2] + packets[half + 1 :] + packets[half : half + 1]
    write_ring(tmp_path / "ring", tap, files=4)
    expected = alone([tmp_path / "ring"], as_one=True)
    assert expected.num_rows > 100
    found = ring.calls(session, [tmp_path / "ring"], split=3, as_one=True).toArrow()
    assert rows(found) == rows(expected)


def fragmented(packets):
    """Each long packet of IPv4 in VLAN 7, as two fragments."""
    for time, size, data in packets:
        link, header, payload = data[:12] + b"\x81\x00\x00\x07" + data[12:14], bytearray(data[14:34]), data[34:]
        if data[12:15] != b"\x08\x00\x45" or size != len(data) or len(payload) < 64:
            yield time, size + 4, link + data[14:]
            continue
        for offset, part, more in ((0, payload[:40], 0x2000), (5, payload[40:], 0)):
            header[2:4] = struct.pack(">H", 20 + len(part))
            header[6:8] = struct.pack(">H", more | offset)
            yield time + offset, 38 + len(part), link + header + part


def test_fragments_in_vlans_go_on_from_file_to_file(session, tmp_path):
    packets = list(fragmented(packets_of(CAPTURES[1])))
    write_ring(tmp_path / "ring", packets, files=10)
    expected = alone([tmp_path / "ring"])
    assert expected.num_rows > 200
    found = ring.calls(session, [tmp_path / "ring"], split=3).toArrow()
    assert rows(found) == rows(expected)


def test_what_is_damaged_or_empty_is_what_it_is_elsewhere(session, ring_of_ten, tmp_path):
    shutil.copytree(ring_of_ten, tmp_path / "ring")
    cut = tmp_path / "ring/ring.4.pcap"
    cut.write_bytes(cut.read_bytes()[:-7])
    (tmp_path / "ring/ring.99.pcap").write_bytes(b"was written over")
    write_ring(tmp_path / "empty", [], files=1)
    points = [tmp_path / "ring", tmp_path / "empty"]
    with pytest.warns(slowside.SlowsideWarning):
        expected = alone(points)
    with pytest.warns(slowside.SlowsideWarning, match="ring.99"):
        found = ring.calls(session, points, split=2).toArrow()
    assert found.num_rows == expected.num_rows > 1000
    assert rows(found) == rows(expected)


def test_what_cannot_be_split_says_what_to_do(session, ring_of_ten, tmp_path):
    with pytest.raises(slowside.SlowsideError, match="a pair of points"):
        ring.diagnose(session, [ring_of_ten], split=True, client=NFS)
    shutil.copy(NFS.parent / "server.pcap.zst", tmp_path / "server.pcap.zst")
    for option in ({"top": 3}, {"sort": "time"}):
        with pytest.raises(slowside.SlowsideError, match="let Spark sort"):
            ring.calls(session, [ring_of_ten], split=True, **option)
    shutil.copy(NFS, tmp_path / "client.pcap.zst")
    with pytest.raises(slowside.SlowsideError, match="of its own"):
        ring.calls(session, [tmp_path], split=True)
    packets = packets_of(NFS)
    # As many connections as packets.
    many = [
        (time + n, size, data[:26] + struct.pack(">I", n) + data[30:])
        for n, (time, size, data) in enumerate(packets * 12, start=1)
    ]
    write_ring(tmp_path / "memory", many, files=1)
    with pytest.raises(Exception, match="memory="):
        ring.calls(session, [tmp_path / "memory"], split=2, memory="64M").collect()
