#!/usr/bin/env python3
"""Holds Parquet and Arrow against CSV, cell by cell, as others read them: pyarrow, DuckDB and Polars.

usage: rows_checks.py SLOWSIDE CAPTURE…

Each capture is given to every command that has rows. Columns, their order and their types must be what the
commands promise; every reader must find what CSV says. Needs Python 3.9 with pyarrow, duckdb and polars, as
  python3 -m venv V && V/bin/pip install pyarrow duckdb polars
"""

import csv
import io
import json
import os
import subprocess
import sys
import tempfile

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq

COMMANDS = [
    (["calls"], "slowside.calls/1"),
    (["calls", "--sort", "start"], "slowside.calls/1"),
    (["calls", "--top", "20", "--columns", "sql,response_time_ns,ledger,detail"], "slowside.calls/1"),
    (["conns"], "slowside.conns/1"),
    (["conns", "--series", "1s"], "slowside.series/1"),
    (["ops", "--by", "op,client,file"], "slowside.ops/1"),
    (["sql", "--by", "statement,user"], "slowside.sql/1"),
    (["stat", "--interval", "1s"], "slowside.stat/1"),
]

csv.field_size_limit(1 << 30)


def run(*words: str) -> bytes:
    done = subprocess.run(words, capture_output=True)
    if done.returncode not in (0, 3):
        raise SystemExit(f"{' '.join(words)}: {done.stderr.decode().strip()}")
    return done.stdout


def texts(value: object) -> object:
    """A cell as CSV has it, and what is nested with such cells in it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return {name: texts(inner) for name, inner in value.items()}
    if isinstance(value, list):
        # pyarrow gives a map as pairs.
        if value and isinstance(value[0], tuple):
            return {name: texts(inner) for name, inner in value}
        return [texts(inner) for inner in value]
    return str(value)


def same(found: object, expected: str, kind: pa.DataType) -> bool:
    if pa.types.is_nested(kind):
        # An empty map is an empty list of pairs.
        return texts(found) == texts(json.loads(expected)) or (not found and expected in ("{}", "[]"))
    if pa.types.is_floating(kind) and found is not None:
        return expected != "" and float(expected) == found
    return texts(found) == expected


def plain(table: pa.Table) -> pa.Table:
    """With times as the integers that CSV has, and names as texts."""
    def column(field: pa.Field) -> pa.ChunkedArray:
        values = table[field.name]
        if pa.types.is_timestamp(field.type):
            if field.type != pa.timestamp("ns", "UTC"):
                raise SystemExit(f"{field.name} is {field.type}")
            return values.cast(pa.int64())
        if pa.types.is_dictionary(field.type):
            return values.cast(pa.string())
        return values
    return pa.table({field.name: column(field) for field in table.schema})


def by_polars(path: str) -> pa.Table:
    frame = polars.read_parquet(path)
    times = [n for n, kind in frame.schema.items() if isinstance(kind, polars.Datetime)]
    names = [n for n, kind in frame.schema.items() if kind == polars.Categorical]
    return frame.with_columns(
        [polars.col(n).dt.timestamp("ns") for n in times]
        + [polars.col(n).cast(polars.String) for n in names]
    ).to_arrow()


def by_duckdb(path: str) -> pa.Table:
    about = duckdb.sql(f"describe from '{path}'").fetchall()
    # DuckDB shows a time with its zone to the microsecond; the whole of it is in the integer.
    column = [
        f'epoch_ns("{name}"::timestamp_ns) as "{name}"' if kind.startswith("TIMESTAMP") else f'"{name}"'
        for name, kind, *_ in about
    ]
    return duckdb.sql(f"select {', '.join(column)} from '{path}'").to_arrow_table()


def differences(rows: list[list[str]], table: pa.Table, approximate: set[str]) -> list[str]:
    names, rows = rows[0], rows[1:]
    if table.column_names != names:
        return [f"columns {table.column_names}, not {names}"]
    if table.num_rows != len(rows):
        return [f"{table.num_rows} rows, not {len(rows)}"]
    wrong = []
    for i, name in enumerate(names):
        kind = table.schema.field(name).type
        for number, found in enumerate(table[name].to_pylist()):
            expected = rows[number][i]
            if name in approximate and expected:
                found, expected = found // 1000, str(int(expected) // 1000)
            if not same(found, expected, kind):
                wrong.append(f"{name} of row {number}: {found!r}, not {expected!r}")
                break
    return wrong


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    slowside, files = sys.argv[1], sys.argv[2:]
    tables, cells, wrong = 0, 0, []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.parquet")
        for file in files:
            for (command, *options), schema in COMMANDS:
                words = [slowside, command, *options, file, "--quiet", "--format"]
                text = run(*words, "csv", "--raw-cells").decode()
                rows = list(csv.reader(io.StringIO(text, newline="")))
                run(*words, "parquet", "-o", path)
                table = pq.read_table(path)
                stream = pa.ipc.open_stream(run(*words, "arrow")).read_all()
                said = table.schema.metadata.get(b"slowside.schema", b"").decode()
                kept = pq.ParquetFile(path).metadata.metadata.get(b"slowside.schema", b"").decode()
                if {said, kept} != {schema}:
                    wrong.append(f"{command} {file}: schema {said}, {kept}")
                times = {f.name for f in table.schema if pa.types.is_timestamp(f.type)}
                for reader, read, approximate in [
                    ("pyarrow", plain(table), set()),
                    ("a stream by pyarrow", plain(stream), set()),
                    ("DuckDB", by_duckdb(path), times),
                    ("Polars", by_polars(path), set()),
                ]:
                    for what in differences(rows, read, approximate):
                        wrong.append(f"{command} {' '.join(options)} {file}, {reader}: {what}")
                    tables += 1
                    cells += read.num_rows * read.num_columns
                polars.from_arrow(stream)
    for line in wrong:
        print(line)
    print(f"{tables} tables, {cells:,} cells, {len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
