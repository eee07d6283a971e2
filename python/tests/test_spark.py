"""Rings of several hosts on Spark: the rows of each are those that one process has."""

import os
import pathlib
import shutil
import subprocess

import pyarrow as pa
import pytest
import slowside

# Where everything must hold, nothing is left out.
if not os.environ.get("CI"):
    pytest.importorskip("pyspark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java 17", allow_module_level=True)

from slowside import spark as ring  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = os.environ["SLOWSIDE"]
NFS = ROOT / "tests/lab/server-cap/client.pcap.zst"
PGSQL = ROOT / "tests/databases/pgsql/extended.pcap"


@pytest.fixture(scope="module")
def session(started):
    return started("local[2]")


@pytest.fixture(scope="module")
def points(tmp_path_factory):
    """A ring of ten files of NFS, and a database's capture."""
    folder = tmp_path_factory.mktemp("captures")
    nfs, pgsql = folder / "nfs", folder / "pgsql"
    nfs.mkdir()
    pgsql.mkdir()
    shutil.copy(PGSQL, pgsql)
    times = pa.table(slowside.calls(NFS, columns=["request_first_ns"]))[0].cast(pa.int64())
    times = sorted(t for t in times.to_pylist() if t)
    edges = [times[len(times) * n // 10] for n in range(1, 10)]
    for n, (first, last) in enumerate(zip([None, *edges], [*edges, None])):
        between = [f"--from=@{first / 1e9:.6f}"] if first else []
        between += [f"--to=@{last / 1e9:.6f}"] if last else []
        line = [COMMAND, "cut", str(NFS), *between, "-q", "-o", str(nfs / f"ring.{n}.pcapng")]
        subprocess.run(line, check=True, capture_output=True)
    return folder


def rows(table):
    return sorted(repr(row) for row in table.to_pylist())


@pytest.mark.parametrize("options", [{}, {"where": "response_time > 1ms", "columns": ["op", "sql", "order", "detail"]}])
def test_rows_are_those_of_one_process(session, points, options):
    frame = ring.calls(session, f"{points}/*", **options)
    found = frame.toArrow()
    assert frame.rdd.getNumPartitions() == 2
    alone = []
    for point in sorted(points.iterdir()):
        alone.append(ring._plain(pa.table(slowside.calls(point, **options)), str(point)))
    expected = pa.concat_tables(alone)
    assert found.column_names == expected.column_names
    assert found.num_rows == expected.num_rows > 0
    assert rows(found) == rows(expected)


def test_two_ends_are_one_task(session, points):
    server = ROOT / "tests/lab/server-cap/server.pcap.zst"
    frame = ring.calls(session, [(points / "nfs", server), points / "pgsql"])
    found = frame.toArrow()
    assert frame.rdd.getNumPartitions() == 2
    both = pa.table(slowside.calls(client=points / "nfs", server=server))
    alone = pa.table(slowside.calls(points / "pgsql"))
    expected = pa.concat_tables(
        [ring._plain(both, str(points / "nfs")), ring._plain(alone, str(points / "pgsql"))]
    )
    assert rows(found) == rows(expected)
    matched = [row for row in found.to_pylist() if row["server_ns"] is not None]
    assert len(matched) > 900 and {row["point"] for row in matched} == {str(points / "nfs")}


def test_what_cannot_be_read_ends_the_job(session, tmp_path):
    (tmp_path / "no.pcap").write_text("no capture")
    with pytest.raises(Exception, match="no.pcap"):
        ring.calls(session, f"{tmp_path}/*").collect()
    with pytest.raises(slowside.SlowsideError, match="names nothing"):
        ring.calls(session, f"{tmp_path}/none*")
    with pytest.raises(slowside.SlowsideError, match="no capture points"):
        ring.calls(session, [])
