"""One ring by many tasks of Spark, which are to it what threads are to a capture that one process reads.

::

    pieces, a task a file ─► told, a task a share ─► seen, a task a capture point ─► rows, a task a part of them
                                                └─► an answer, a task a capture point

Where two ends are judged together, what the shards of both told goes to one task.

Before, all files are read for when they begin and end: those that overlap in time, as the ports of a tap do, are one task.
Each batch of a file is a piece for each share: the packets of its connections, and what those of others say of the time. A
share's pieces, in the order of files and batches, are followed as a thread follows its connections. What all shares told,
batch by batch, is put together by one task, which knows the whole capture: it judges calls and numbers them and their
connections. Rows of calls are written by all; a diagnosis, connections, groups of calls and statements by that task, as they
are few. Spark moves pieces and what is made of them, and sorts both; what is in them only slowside knows.
"""

from __future__ import annotations

import tempfile
import warnings
from contextlib import ExitStack
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Optional, Sequence

import slowside

from ._slowside import SEEN, SHARES, TOLD, Judge, Pieces, Shard, capture_files, file_span, memory_bytes

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    Batches = Iterator[pa.RecordBatch]

# The path of a capture point; or those of a client's and its server's, which are judged together.
Ends = tuple[str, Optional[str]]

# A capture point, the first of its files that are read together, and these.
Task = tuple[int, int, list[str]]

# Columns of what tasks hand on. Which partition a row goes to is for Spark to say, which hashes `slot`.
_KINDS = {
    **dict.fromkeys(("task", "point", "share", "file"), "int"),
    **dict.fromkeys(("slot", "batch", "number", "first", "last"), "long"),
    **dict.fromkeys(("piece", "told", "seen"), "binary"),
}
_SPANS, _PIECES, _TOLD, _SEEN = (
    ", ".join(f"{name} {_KINDS[name]}" for name in names.split())
    for names in ("point file first last", "slot point share file batch piece", "slot task point share number told", "slot point seen")
)

# Options of those who write rows; all others are of the one who judges.
_WRITTEN = ("columns", "anonymise")

# Behind all batches.
_LAST = (1 << 63) - 1


def calls(
    spark: "SparkSession",
    tasks: Sequence[Ends],
    shares: int,
    options: dict[str, Any],
    plain: Callable[["pa.Table", str], "pa.Table"],
    schema: Any,
) -> "DataFrame":
    """Rows of calls of each of these capture points, of which each is split into so many shares."""
    for option in ("sort", "top"):
        if options.get(option) is not None:
            raise slowside.SlowsideError(f"{option} is of rows that one task writes: leave it out, and let Spark sort them")
    written = {name: value for name, value in options.items() if name in _WRITTEN}
    judged = {name: value for name, value in options.items() if name not in _WRITTEN}
    told, slots = _told(spark, tasks, shares, options, accounts=False)

    def seen(batches: "Batches") -> "Batches":
        for task, captures in _captures(batches):
            files = captures.pop("captures")
            judge = _asked(Judge, slowside._line("calls", files, None, {**judged, **captures}))
            for n, part in enumerate(judge):
                yield _batch(slot=[slots[n % len(slots)]], point=[task], seen=[part])
            slowside._tell(*judge.over)

    def rows_of(batches: "Batches") -> "Batches":
        import pyarrow as pa

        for _, task, part in _rows(batches):
            with tempfile.NamedTemporaryFile(prefix="slowside") as file:
                file.write(SEEN + part)
                file.flush()
                rows = slowside._rows_of("calls", [file.name], handed_on=True, **written)
            yield from plain(pa.table(rows), tasks[task][0]).to_batches(max_chunksize=8192)

    return told.mapInArrow(seen, _SEEN).repartition(len(slots), "slot").mapInArrow(rows_of, schema)


def at_once(
    spark: "SparkSession",
    tasks: Sequence[Ends],
    shares: int,
    options: dict[str, Any],
    answer: Callable[[str, dict[str, Any]], "Batches"],
    schema: Any,
    *,
    accounts: bool,
) -> "DataFrame":
    """What ``answer`` makes of a capture point, by its path, and of what its shards told, with options for that: of each of
    these, one task knows all. With ``accounts`` of all connections, or of those whose calls do not say what they waited for."""
    told, _ = _told(spark, tasks, shares, options, accounts=accounts)

    def answered(batches: "Batches") -> "Batches":
        for task, captures in _captures(batches):
            yield from answer(tasks[task][0], {**captures, **options, "handed_on": True})

    return told.mapInArrow(answered, schema)


def captures_of(point: str, server: Optional[str]) -> dict[str, Any]:
    """What is read of a capture point or two ends, as functions of slowside take it."""
    return {"captures": [point]} if server is None else {"captures": [], "client": point, "server": server}


def _told(
    spark: "SparkSession", tasks: Sequence[Ends], shares: int, options: dict[str, Any], *, accounts: bool
) -> tuple["DataFrame", list[int]]:
    """What shards of each capture point told, in order, a partition a task; and slots of as many partitions as there are
    shares."""
    for option in ("client", "server"):
        if options.get(option) is not None:
            raise slowside.SlowsideError(f"give two ends as a pair of points, not {option} as an option")
    points = [(n, point) for n, ends in enumerate(tasks) for point in ends if point is not None]
    shares = max(1, min(shares, SHARES))
    memory = _asked(memory_bytes, options.get("memory"))
    as_one = bool(options.get("as_one"))
    looked_at = [_asked(capture_files, point, as_one) for _, point in points]
    for _, unread in looked_at:
        for what in unread:
            warnings.warn(what, slowside.SlowsideWarning, stacklevel=5)
    files = [names for names, _ in looked_at]
    reading = [(n, file, [path]) for n, of_point in enumerate(files) for file, path in enumerate(of_point)]
    if len(reading) > len(points):
        reading = _together(reading, _frame(spark, reading).mapInArrow(_spans, _SPANS).collect())
    slots = _slots(spark, len(points) * shares)
    ends = _slots(spark, len(tasks))

    def pieces(batches: "Batches") -> "Batches":
        for point, file, paths in _rows(batches):
            for batch, of_batch in enumerate(Pieces(paths, file, shares)):
                yield _batch(
                    slot=[slots[point * shares + share] for share in range(shares)],
                    point=[point] * shares,
                    share=list(range(shares)),
                    file=[file] * shares,
                    batch=[batch] * shares,
                    piece=of_batch,
                )

    def told(batches: "Batches") -> "Batches":
        for (point, share), of_share in groupby(_rows(batches), key=itemgetter(1, 2)):
            task = points[point][0]
            # Of two ends each has half of it.
            own = memory if tasks[task][1] is None else memory // 2
            shard = Shard(share, shares, files[point], own, accounts)
            for row in of_share:
                yield from tell(task, point, share, shard.take(row[-1]))
            yield from tell(task, point, share, shard.finish())

    def tell(task: int, point: int, share: int, said: list[tuple[int, bytes]]) -> "Batches":
        if said:
            yield _batch(
                slot=[ends[task]] * len(said),
                task=[task] * len(said),
                point=[point] * len(said),
                share=[share] * len(said),
                number=[min(number, _LAST) for number, _ in said],
                told=[told for _, told in said],
            )

    frame = (
        _frame(spark, reading)
        .mapInArrow(pieces, _PIECES)
        .repartition(len(points) * shares, "slot")
        .sortWithinPartitions("point", "share", "file", "batch")
        .mapInArrow(told, _TOLD)
        .repartition(len(tasks), "slot")
        .sortWithinPartitions("task", "point", "number", "share")
    )
    return frame, slots


def _captures(batches: "Batches") -> Iterator[tuple[int, dict[str, Any]]]:
    """Tasks, each with what is read of it: files of what the shards of its capture points told."""
    for task, of_task in groupby(_rows(batches), key=itemgetter(1)):
        with ExitStack() as files:
            names = []
            for _, told in groupby(of_task, key=itemgetter(2)):
                file = files.enter_context(tempfile.NamedTemporaryFile(prefix="slowside"))
                file.write(TOLD)
                file.writelines(row[-1] for row in told)
                file.flush()
                names.append(file.name)
            yield task, captures_of(*names, *[None] * (2 - len(names)))


def _frame(spark: "SparkSession", tasks: list[Task]) -> "DataFrame":
    """A task for each."""
    rows = spark.sparkContext.parallelize(tasks, len(tasks))
    return spark.createDataFrame(rows, "point int, file int, paths array<string>")


def _spans(batches: "Batches") -> "Batches":
    for point, file, (path,) in _rows(batches):
        span = file_span(path)
        if span is not None:
            yield _batch(point=[point], file=[file], first=[span[0]], last=[span[1]])


def _together(tasks: list[Task], spans: Iterable[tuple[int, int, int, int]]) -> list[Task]:
    """The same, where files that overlap in time are one: they are merged packet by packet, as one process merges them."""
    known = {(point, file): (first, last) for point, file, first, last in spans}
    found: list[Task] = []
    now, latest = None, 0
    for point, file, paths in tasks:
        first, last = known.get((point, file), (None, None))
        if point != now:
            now, latest = point, None
        if latest is not None and first is not None and latest >= first:
            found[-1][2].extend(paths)
        else:
            found.append((point, file, list(paths)))
        latest = max((t for t in (latest, last) if t is not None), default=None)
    return found


def _slots(spark: "SparkSession", partitions: int) -> list[int]:
    """A number for each of so many partitions, by which Spark puts a row there, so that none has two shares and another none."""
    numbers = spark.range(64 * partitions).selectExpr("id", f"pmod(hash(id), {partitions}) as to")
    found = numbers.groupBy("to").min("id").collect()
    slots = dict(tuple(row) for row in found)
    return [slots[partition] for partition in range(partitions)]


def _asked(function: Callable[..., Any], *arguments: Any) -> Any:
    """What cannot be done is one error everywhere."""
    try:
        return function(*arguments)
    except ValueError as e:
        raise slowside.SlowsideError(str(e)) from None


def _rows(batches: "Batches") -> Iterator[tuple[Any, ...]]:
    """Rows, of which there is one for half a megabyte of a capture."""
    for batch in batches:
        columns = [column for column in batch.columns]
        for row in range(batch.num_rows):
            yield tuple(column[row].as_py() for column in columns)


def _batch(**columns: list[Any]) -> "pa.RecordBatch":
    import pyarrow as pa

    kinds = {"binary": pa.binary(), "int": pa.int32(), "long": pa.int64()}
    arrays = [pa.array(values, kinds[_KINDS[name]]) for name, values in columns.items()]
    return pa.record_batch(arrays, list(columns))
