"""Rings of many hosts on Spark: one task per capture point, or pair of them, each exact.

    >>> from slowside import spark as ring
    >>> ring.calls(spark, "/captures/*/").write.parquet("calls/")
    >>> ring.calls(spark, [("/captures/app1/", "/captures/db1/"), ("/captures/app2/", "/captures/db1/")])
    >>> ring.calls(spark, "/captures/db1/", split=True)
    >>> [found] = ring.diagnose(spark, ["/captures/db1/"], split=True)

A capture point is one file, or one directory that holds the files of a rotated set: one capture, of which no file stands alone,
as sessions and prepared statements live across them. With ``split`` many tasks read one. Two points of the same traffic, the
client's and the server's, are one task, in which calls are matched. Paths must be readable by all executors under the same
name, and slowside be installed there. Needs PySpark 4, with pyarrow.

Columns are those of the function of that name in ``slowside``, behind ``point``, the path, of a pair the client's. As Spark has neither, names
are strings, and times are the integers of nanoseconds since the epoch that they are in CSV.
"""

from __future__ import annotations

import glob as _glob
import os
import struct
import tempfile
from typing import TYPE_CHECKING, Any, Iterator, Optional, Sequence, Union

import slowside

from . import _split

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["calls", "conns", "diagnose", "ops", "sql"]

# The path of a capture point, or those of a client's and its server's.
Point = Union[slowside.Path, "tuple[slowside.Path, slowside.Path]"]
Points = Union[str, Sequence[Point]]

# Rows that are handed to Spark at once.
_BATCH_ROWS = 8192


def calls(spark: "SparkSession", points: Points, *, split: Union[bool, int] = False, **options: Any) -> "DataFrame":
    """A row per call of each capture point, or pair of points.

    :param points: a pattern of files or directories, each of them a capture point of its own, as this driver sees them; or a
        list, of which each is the path of one, or the paths of the client's and the server's.
    :param split: read each capture point by many tasks: first its files, then its pairs of hosts in so many shares, 64 at most
        (``True``: as many as Spark runs tasks at a time). Rows are the same. For rings that one core cannot read in time.
    :param options: those of :func:`slowside.calls`, such as ``where`` and ``columns``.
    """
    tasks = _tasks(points)
    schema = _schema("calls", options)
    if split:
        return _split.calls(spark, tasks, _shares(spark, split), options, _plain, schema)
    return _rows(spark, tasks, "calls", schema, options)


def conns(spark: "SparkSession", points: Points, *, split: Union[bool, int] = False, **options: Any) -> "DataFrame":
    """Two rows per TCP connection of each capture point, or pair of points, one for each direction.

    ``number`` is ``connection`` of :func:`calls` for the same points and times. Options are those of :func:`slowside.conns`.
    """
    return _at_once(spark, points, split, "conns", options)


def ops(spark: "SparkSession", points: Points, *, split: Union[bool, int] = False, **options: Any) -> "DataFrame":
    """A row per group of calls of each capture point. Options are those of :func:`slowside.ops`, such as ``by``."""
    return _at_once(spark, points, split, "ops", options)


def sql(spark: "SparkSession", points: Points, *, split: Union[bool, int] = False, **options: Any) -> "DataFrame":
    """A row per statement of each capture point, or pair of points. Options are those of :func:`slowside.sql`."""
    return _at_once(spark, points, split, "sql", options)


def diagnose(
    spark: "SparkSession", points: Points, *, split: Union[bool, int] = False, **options: Any
) -> list[slowside.Diagnosis]:
    """Which side is slow at each capture point, or pair of points, in their order: what one process says of it, to the byte.

    Options are those of :func:`slowside.diagnose`.
    """
    tasks = _tasks(points)
    schema = "point string, answer string"

    def answer(point: str, options: dict[str, Any]) -> "Iterator[pa.RecordBatch]":
        yield _answer(point, slowside._diagnosis_of(**options))

    def read(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        for point, ends in _given(batches):
            yield _answer(point, slowside._diagnosis_of(**ends, **options))

    if split:
        frame = _split.at_once(spark, tasks, _shares(spark, split), options, answer, schema, accounts=False)
    else:
        frame = _frame(spark, tasks).mapInArrow(read, schema)
    found = dict(tuple(row) for row in frame.collect())
    return [slowside.Diagnosis.read(found[point]) for point, _ in tasks]


def _at_once(
    spark: "SparkSession", points: Points, split: Union[bool, int], command: str, options: dict[str, Any]
) -> "DataFrame":
    """Rows of which one task writes all of a capture point."""
    tasks = _tasks(points)
    schema = _schema(command, options)
    if not split:
        return _rows(spark, tasks, command, schema, options)

    def answer(point: str, options: dict[str, Any]) -> "Iterator[pa.RecordBatch]":
        yield from _batches(point, slowside._rows_of(command, **options))

    accounts = command == "conns"
    return _split.at_once(spark, tasks, _shares(spark, split), options, answer, schema, accounts=accounts)


def _rows(
    spark: "SparkSession", tasks: list[tuple[str, Optional[str]]], command: str, schema: Any, options: dict[str, Any]
) -> "DataFrame":
    """Rows of a command, a task a capture point or pair of them."""

    def read(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        for point, ends in _given(batches):
            yield from _batches(point, slowside._rows_of(command, **ends, **options))

    return _frame(spark, tasks).mapInArrow(read, schema)


def _frame(spark: "SparkSession", tasks: list[tuple[str, Optional[str]]]) -> "DataFrame":
    """A task for each; there are few, and what is in one may take hours."""
    rows = spark.sparkContext.parallelize(tasks, len(tasks))
    return spark.createDataFrame(rows, "point string, server string")


def _given(batches: "Iterator[pa.RecordBatch]") -> Iterator[tuple[str, dict[str, Any]]]:
    """Capture points, each with what is read of it."""
    for batch in batches:
        for point, server in zip(batch["point"].to_pylist(), batch["server"].to_pylist()):
            yield point, _split.captures_of(point, server)


def _batches(point: str, rows: slowside.Rows) -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    yield from _plain(pa.table(rows), point).to_batches(max_chunksize=_BATCH_ROWS)


def _answer(point: str, answer: str) -> "pa.RecordBatch":
    import pyarrow as pa

    return pa.record_batch([pa.array([point]), pa.array([answer])], ["point", "answer"])


def _shares(spark: "SparkSession", split: Union[bool, int]) -> int:
    return spark.sparkContext.defaultParallelism if split is True else split


def _tasks(points: Union[str, Sequence[Point]]) -> list[tuple[str, Optional[str]]]:
    """A capture point and, of a pair, that of the server."""
    if isinstance(points, str):
        found: Sequence[Point] = sorted(_glob.glob(points))
        if not found:
            raise slowside.SlowsideError(f"{points} names nothing that is there; give files or directories")
    else:
        found = points
        if not found:
            raise slowside.SlowsideError("no capture points; give files or directories")
    pairs = [(point, None) if isinstance(point, (str, os.PathLike)) else point for point in found]
    return [(os.fspath(point), None if server is None else os.fspath(server)) for point, server in pairs]


def _schema(command: str, options: dict[str, Any]) -> Any:
    """Columns and their types, before anything is read: of a capture without packets."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_schema

    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, 1))
        file.flush()
        rows = slowside._rows_of(command, [file.name], **options)
    return from_arrow_schema(_plain(pa.table(rows), "").schema)


def _plain(table: "pa.Table", point: str) -> "pa.Table":
    """With types that Spark has, behind the point of capture."""
    import pyarrow as pa

    def kind(of: "pa.DataType") -> "pa.DataType":
        if pa.types.is_timestamp(of):
            return pa.int64()
        if pa.types.is_dictionary(of):
            return kind(of.value_type)
        if pa.types.is_list(of):
            return pa.list_(kind(of.value_type))
        if pa.types.is_struct(of):
            return pa.struct([pa.field(f.name, kind(f.type)) for f in of])
        return of

    fields = [pa.field(f.name, kind(f.type)) for f in table.schema]
    plain = table.cast(pa.schema(fields))
    points = pa.repeat(pa.scalar(point, pa.string()), plain.num_rows)
    return plain.add_column(0, pa.field("point", pa.string()), points)
