"""Rows are those of the command, cell by cell, as pyarrow, Polars and DuckDB take them."""

import csv
import io
import json
import os
import pathlib
import subprocess

import duckdb
import polars as pl
import pyarrow as pa
import pytest
import slowside

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The command of the same sources.
COMMAND = os.environ["SLOWSIDE"]
NFS = str(ROOT / "tests/lab/server-cap/client.pcap.zst")
NFS_SERVER = str(ROOT / "tests/lab/server-cap/server.pcap.zst")
PGSQL = str(ROOT / "tests/databases/pgsql/extended.pcap")

csv.field_size_limit(1 << 30)

CASES = [
    (slowside.calls, [NFS], {}, ["calls"]),
    (slowside.calls, [NFS, NFS_SERVER], {}, ["calls"]),
    (slowside.calls, [PGSQL], {"where": "response_time > 100us", "sort": "time"}, ["calls", "--where", "response_time > 100us", "--sort", "time"]),
    (slowside.calls, [PGSQL], {"columns": ["sql", "wait_ns", "ledger"], "top": 7, "sort": "time"}, ["calls", "--columns", "sql,wait_ns,ledger", "--top", "7", "--sort", "time"]),
    (slowside.conns, [NFS, NFS_SERVER], {}, ["conns"]),
    (slowside.conns, [NFS], {"where": "packets > 100"}, ["conns", "--where", "packets > 100"]),
    (slowside.series, [NFS], {"width": "100ms"}, ["conns", "--series", "100ms"]),
    (slowside.ops, [NFS], {"by": ["op", "client", "time=100ms"]}, ["ops", "--by", "op,client,time=100ms"]),
    (slowside.sql, [PGSQL], {"by": ["statement", "user"], "anonymise": "a-longer-key"}, ["sql", "--by", "statement,user", "--anonymise=a-longer-key"]),
]  # fmt: skip


def table(words, files):
    """What the command says, as texts."""
    line = [COMMAND, *words, "--format", "csv", "--raw-cells", "--quiet", *files]
    done = subprocess.run(line, capture_output=True, check=True)
    return list(csv.reader(io.StringIO(done.stdout.decode(), newline="")))


def texts(value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return {name: texts(inner) for name, inner in value.items()}
    if isinstance(value, list):
        if value and isinstance(value[0], tuple):
            return {name: texts(inner) for name, inner in value}
        return [texts(inner) for inner in value]
    return str(value)


def differences(expected, found):
    names, rows = expected[0], expected[1:]
    assert found.column_names == names
    assert found.num_rows == len(rows)
    wrong = []
    for i, name in enumerate(names):
        column = found[name]
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.int64())
        nested = pa.types.is_nested(column.type)
        for number, value in enumerate(column.to_pylist()):
            cell = rows[number][i]
            if nested:
                same = texts(value) == texts(json.loads(cell)) or (not value and cell in ("{}", "[]"))
            elif isinstance(value, float):
                same = value == float(cell)
            else:
                same = texts(value) == cell
            if not same:
                wrong.append((name, number, value, cell))
    return wrong


@pytest.mark.parametrize("function,files,options,words", CASES, ids=lambda v: getattr(v, "__name__", None))
def test_cells_are_those_of_csv(function, files, options, words):
    rows = function(*files, **options)
    expected = table(words, files)
    assert len(rows) == len(expected) - 1 > 0
    assert rows.columns == expected[0]
    # As often as one likes.
    for _ in range(2):
        assert differences(expected, pa.table(rows)) == []


def test_polars_and_duckdb_take_them():
    expected = table(["calls"], [NFS])
    rows = slowside.calls(NFS)
    frame = pl.DataFrame(rows)
    assert frame.height == len(rows)
    wait = expected[0].index("wait_ns")
    assert [texts(v) for v in frame["wait_ns"].to_list()] == [row[wait] for row in expected[1:]]
    ops = expected[0].index("op")
    assert frame["op"].cast(pl.String).to_list() == [row[ops] for row in expected[1:]]
    count, most = duckdb.sql("select count(*), max(wait_ns) from rows").fetchall()[0]
    assert count == len(rows)
    assert most == max(int(row[wait]) for row in expected[1:] if row[wait])
    lines = duckdb.sql("select count(*) from (select unnest(ledger) from rows)").fetchall()[0][0]
    ledger = expected[0].index("ledger")
    assert lines == sum(len(json.loads(row[ledger])) for row in expected[1:])


def test_a_directory_and_a_list_are_one_capture(tmp_path):
    # A ring of two: what passed first, and what came then.
    times = pa.table(slowside.calls(NFS))["request_first_ns"].cast(pa.int64()).to_pylist()
    middle = sorted(t for t in times if t)[len(times) // 2]
    for name, words in (("a.pcapng", ["--to"]), ("b.pcapng", ["--from"])):
        line = [COMMAND, "cut", NFS, *words, f"@{middle / 1e9:.6f}", "-o", str(tmp_path / name), "-q"]
        subprocess.run(line, check=True, capture_output=True)
    files = [tmp_path / "a.pcapng", tmp_path / "b.pcapng"]
    of_folder = pa.table(slowside.calls(tmp_path))
    assert of_folder.num_rows > len(times) // 2
    assert pa.table(slowside.calls(files)).num_rows == of_folder.num_rows
    assert pa.table(slowside.ops(files)).equals(pa.table(slowside.ops(tmp_path)))
    with pytest.raises(slowside.SlowsideError, match="client="):
        slowside.calls(files, [NFS_SERVER])


def test_columns_say_what_they_hold():
    rows = slowside.calls(NFS)
    assert rows.metadata["slowside.schema"] == "slowside.calls/1"
    assert rows.metadata["slowside.version"] == slowside.__version__
    assert rows.describe("wait_ns")["unit"] == "ns"
    assert rows.describe("wait_ns")["description"]
    with pytest.raises(KeyError):
        rows.describe("no such column")
