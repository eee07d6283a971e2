"""Rings of many hosts on Spark: one task per capture point, each exact.

    >>> from slowside import spark as ring
    >>> ring.calls(spark, "/captures/*/").write.parquet("calls/")

A capture point is one file, or one directory that holds the files of a rotated set: one capture, which is never split, as
sessions and prepared statements live across its files. Paths must be readable by all executors under the same name, and
slowside be installed there. Needs PySpark 4, with pyarrow.

Columns are those of :func:`slowside.calls`, behind ``point``, the path. As Spark has neither, names are strings, and
times are the integers of nanoseconds since the epoch that they are in CSV.
"""

from __future__ import annotations

import glob as _glob
import struct
import tempfile
from typing import TYPE_CHECKING, Any, Iterator

import slowside

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["calls"]

# Rows that are handed to Spark at once.
_BATCH_ROWS = 8192


def calls(spark: "SparkSession", glob: str, **options: Any) -> "DataFrame":
    """A row per call of each capture point that ``glob`` names.

    :param glob: files or directories, each of them a capture point of its own, as this driver sees them.
    :param options: those of :func:`slowside.calls`, such as ``where`` and ``columns``.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    points = sorted(_glob.glob(glob))
    if not points:
        raise slowside.SlowsideError(f"{glob} names nothing that is there; give files or directories")
    schema = from_arrow_schema(_plain(_table_of_nothing(options), "").schema)
    # A task for each; there are few, and what is in one may take hours.
    rows = spark.sparkContext.parallelize([(point,) for point in points], len(points))
    frame = spark.createDataFrame(rows, "point string")

    def read(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        for batch in batches:
            for point in batch["point"].to_pylist():
                table = _plain(pa.table(slowside.calls(point, **options)), point)
                yield from table.to_batches(max_chunksize=_BATCH_ROWS)

    return frame.mapInArrow(read, schema)


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
