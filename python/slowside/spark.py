"""Rings of many hosts on Spark: one task per capture point, or pair of them, each exact.

    >>> from slowside import spark as ring
    >>> ring.calls(spark, "/captures/*/").write.parquet("calls/")
    >>> ring.calls(spark, [("/captures/app1/", "/captures/db1/"), ("/captures/app2/", "/captures/db1/")])
    >>> ring.calls(spark, "/captures/db1/", split=True)

A capture point is one file, or one directory that holds the files of a rotated set: one capture, of which no file stands alone,
as sessions and prepared statements live across them. With ``split`` many tasks read one. Two points of the same traffic, the
client's and the server's, are one task, in which calls are matched. Paths must be readable by all executors under the same
name, and slowside be installed there. Needs PySpark 4, with pyarrow.

Columns are those of :func:`slowside.calls`, behind ``point``, the path, of a pair the client's. As Spark has neither, names
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

__all__ = ["calls"]

# The path of a capture point, or those of a client's and its server's.
Point = Union[slowside.Path, "tuple[slowside.Path, slowside.Path]"]

# Rows that are handed to Spark at once.
_BATCH_ROWS = 8192


def calls(
    spark: "SparkSession", points: Union[str, Sequence[Point]], *, split: Union[bool, int] = False, **options: Any
) -> "DataFrame":
    """A row per call of each capture point, or pair of points.

    :param points: a pattern of files or directories, each of them a capture point of its own, as this driver sees them; or a
        list, of which each is the path of one, or the paths of the client's and the server's.
    :param split: read each capture point by many tasks: first its files, then its pairs of hosts in so many shares, 64 at most
        (``True``: as many as Spark runs tasks at a time). Rows are the same. For rings that one core cannot read in time.
    :param options: those of :func:`slowside.calls`, such as ``where`` and ``columns``.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    tasks = _tasks(points)
    schema = from_arrow_schema(_plain(_table_of_nothing(options), "").schema)
    if split:
        if any(server is not None for _, server in tasks):
            raise slowside.SlowsideError(
                "calls of two ends are matched by one task: leave out split, or give each end as a capture point of its own"
            )
        shares = spark.sparkContext.defaultParallelism if split is True else split
        return _split.calls(spark, [point for point, _ in tasks], shares, options, _plain, schema)
    # A task for each; there are few, and what is in one may take hours.
    rows = spark.sparkContext.parallelize(tasks, len(tasks))
    frame = spark.createDataFrame(rows, "point string, server string")

    def read(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        for batch in batches:
            for point, server in zip(batch["point"].to_pylist(), batch["server"].to_pylist()):
                yield from _calls_of(point, server, options).to_batches(max_chunksize=_BATCH_ROWS)

    return frame.mapInArrow(read, schema)


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


def _calls_of(point: str, server: Optional[str], options: dict[str, Any]) -> "pa.Table":
    import pyarrow as pa

    if server is None:
        rows = slowside.calls(point, **options)
    else:
        rows = slowside.calls(client=point, server=server, **options)
    return _plain(pa.table(rows), point)


def _table_of_nothing(options: dict[str, Any]) -> "pa.Table":
    """Columns and their types, before anything is read: of a capture without packets."""
    import pyarrow as pa

    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, 1))
        file.flush()
        return pa.table(slowside.calls(file.name, **options))


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
