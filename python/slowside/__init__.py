"""slowside: reads packet captures of databases and storage, and says which side is slow, by how much, and why.

Each function is the command of that name (``slowside calls``, ``slowside diagnose`` …), in this process: the same rows,
the same words, the same errors. Rows are Arrow: ``pyarrow.table(rows)``, ``polars.DataFrame(rows)``, and DuckDB's SQL
takes them by their variable's name, all without a copy.

    >>> import polars as pl, slowside
    >>> pl.DataFrame(slowside.calls("ring/", where="op = READ and response_time > 20ms"))
    >>> slowside.diagnose("client.pcap", "server.pcap").verdict["sentence"]

Times ending in ``_ns`` are nanoseconds: moments are timestamps (UTC), durations integers. ``Rows.describe(column)`` says
what a column holds, and its unit. Other threads of Python go on while a capture is read.

A rotated set of files is one capture: give all of them, or their directory, to one call. One call per file is wrong
without a sign of it, as sessions and prepared statements live across files.
"""

from __future__ import annotations

import os
import warnings
from typing import Any, Mapping, Optional, Sequence, Union

from ._diagnosis import Diagnosis
from ._slowside import Rows, __version__
from ._slowside import rows as _rows
from ._slowside import run as _run

__all__ = [
    "Diagnosis",
    "Rows",
    "SlowsideError",
    "SlowsideWarning",
    "calls",
    "conns",
    "diagnose",
    "ops",
    "report",
    "series",
    "sql",
    "__version__",
]

Path = Union[str, "os.PathLike[str]"]
Paths = Union[Path, Sequence[Path]]


class SlowsideError(Exception):
    """It could not be done; the message says what, where, and the cure."""


class SlowsideWarning(UserWarning):
    """It was done; some input was damaged, or is to be known of."""


def _paths(paths: Optional[Paths]) -> list[str]:
    if paths is None:
        return []
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    return [os.fspath(path) for path in paths]


def _words(options: Mapping[str, Any]) -> list[str]:
    """Options of a command, by their names. What is not given is left to the command."""
    words = []
    for name, value in options.items():
        option = "--" + name.strip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
        elif name in ("client", "server"):
            words += [option, *_paths(value)]
        elif isinstance(value, (list, tuple)):
            words.append(f"{option}={','.join(map(str, value))}")
        else:
            words.append(f"{option}={value}")
    return words


def _line(
    command: str, captures: Sequence[Paths], format: Optional[str], options: Mapping[str, Any]
) -> list[str]:
    """The words of a command line. A list is one capture: the command would take two files for the two ends."""
    lists = [_paths(paths) for paths in captures]
    files = [file for paths in lists for file in paths]
    two_ends = "client" in options
    if two_ends and len(lists) == 2 and len(files) > 2:
        raise SlowsideError("of several files for each end say which is which: client=[…], server=[…]")
    if two_ends and len(lists) == 1 and len(files) == 2:
        options = {**options, "as_one": True}
    words = [command, *_words(options)]
    if format is not None:
        words.append(f"--format={format}")
    # Whatever a file is called, it is no option.
    return words + (["--", *files] if files else [])


def _refused(e: ValueError) -> SlowsideError:
    """What is wrong with an option, without the command's usage."""
    return SlowsideError(str(e).split("\n\n")[0].removeprefix("error: ").strip())


def _tell(code: int, said: str) -> None:
    said = "\n".join(line.removeprefix("slowside: ") for line in said.strip().splitlines())
    if code == 2:
        raise SlowsideError(said)
    if said:
        warnings.warn(said, SlowsideWarning, stacklevel=4)


def _run_line(words: list[str]) -> bytes:
    try:
        code, out, said = _run(words)
    except ValueError as e:
        raise _refused(e) from None
    _tell(code, said)
    return out


def _rows_of(command: str, captures: Sequence[Paths], **options: Any) -> Rows:
    try:
        code, rows, said = _rows(_line(command, captures, "arrow", options))
    except ValueError as e:
        raise _refused(e) from None
    _tell(code, said)
    assert rows is not None, "there are none only where it could not be done"
    return rows


def _diagnosis_of(captures: Sequence[Paths], **options: Any) -> str:
    """As the command writes it."""
    return _run_line(_line("diagnose", captures, "json", options)).decode()


def calls(
    *captures: Paths,
    client: Optional[Paths] = None,
    server: Optional[Paths] = None,
    from_: Optional[str] = None,
    to: Optional[str] = None,
    where: Optional[str] = None,
    columns: Optional[Sequence[str]] = None,
    sort: Optional[str] = None,
    top: Optional[int] = None,
    as_one: bool = False,
    anonymise: Optional[str] = None,
    threads: int = 0,
    memory: Optional[str] = None,
) -> Rows:
    """A row per call: when, from whom to whom, how long (ns), how it ended, and what held it up (``ledger``).

    :param captures: a file, a directory or a list of files is one capture; two are the two ends of the same traffic.
        (Of several files for each end, say which is which by ``client`` and ``server``.)
    :param client: the capture taken at the client, where that is to be said; ``server`` likewise.
    :param from_: leave out calls that start earlier: ``"14:00"``, ``"2026-03-01T14:00:00Z"``, ``"90s"`` after the
        first packet; ``to`` likewise.
    :param where: only calls of which this is true, such as ``"op = READ and response_time > 20ms"``.
    :param columns: these alone, in this order.
    :param sort: ``"completion"`` (as they are), ``"start"``, or ``"time"``: the longest first.
    :param top: so many of them, sorted by time or start, and no more in memory.
    :param as_one: read files as one capture, also where two of them hold the same packets.
    :param anonymise: a key; names and addresses become pseudonyms, the same ones with the same key.
    :param threads: for each capture; 0: as many as fit the machine.
    :param memory: for all that grows with the captures, such as ``"4G"``.
    """
    return _rows_of(
        "calls", captures, client=client, server=server, from_=from_, to=to, where=where,
        columns=columns, sort=sort, top=top, as_one=as_one, anonymise=anonymise,
        threads=threads or None, memory=memory,
    )  # fmt: skip


def conns(
    *captures: Paths,
    client: Optional[Paths] = None,
    server: Optional[Paths] = None,
    where: Optional[str] = None,
    from_: Optional[str] = None,
    to: Optional[str] = None,
    as_one: bool = False,
    anonymise: Optional[str] = None,
    threads: int = 0,
    memory: Optional[str] = None,
) -> Rows:
    """Two rows per TCP connection, one for each direction: what it did, and what it waited for (ns).

    ``number`` is ``connection`` of :func:`calls` for the same captures and times. ``where`` compares columns of these rows, such as
    ``"retransmitted_packets > 10"``; other parameters are those of :func:`calls`.
    """
    return _rows_of(
        "conns", captures, client=client, server=server, where=where, from_=from_, to=to, as_one=as_one,
        anonymise=anonymise, threads=threads or None, memory=memory,
    )  # fmt: skip


def series(
    *captures: Paths,
    width: str = "1s",
    client: Optional[Paths] = None,
    server: Optional[Paths] = None,
    where: Optional[str] = None,
    from_: Optional[str] = None,
    to: Optional[str] = None,
    as_one: bool = False,
    anonymise: Optional[str] = None,
    threads: int = 0,
    memory: Optional[str] = None,
) -> Rows:
    """What connections did over time: a row per interval of this width in which a packet of it was seen.

    Other parameters are those of :func:`conns`.
    """
    return _rows_of(
        "conns", captures, series=width, client=client, server=server, where=where, from_=from_, to=to,
        as_one=as_one, anonymise=anonymise, threads=threads or None, memory=memory,
    )  # fmt: skip


def ops(
    *captures: Paths,
    by: Sequence[str] = ("op",),
    from_: Optional[str] = None,
    to: Optional[str] = None,
    where: Optional[str] = None,
    as_one: bool = False,
    anonymise: Optional[str] = None,
    threads: int = 0,
    memory: Optional[str] = None,
) -> Rows:
    """A row per group of calls: how many, and the mean and percentiles of their response times (ns).

    :param captures: files or directories of one capture.
    :param by: any of ``op``, ``step``, ``client``, ``server``, ``connection``, ``file``, ``size``, ``time=10s``.

    Other parameters are those of :func:`calls`.
    """
    return _rows_of(
        "ops", captures, by=list(by), from_=from_, to=to, where=where, as_one=as_one,
        anonymise=anonymise, threads=threads or None, memory=memory,
    )  # fmt: skip


def sql(
    *captures: Paths,
    by: Sequence[str] = ("statement",),
    client: Optional[Paths] = None,
    server: Optional[Paths] = None,
    from_: Optional[str] = None,
    to: Optional[str] = None,
    where: Optional[str] = None,
    show_literals: bool = False,
    as_one: bool = False,
    anonymise: Optional[str] = None,
    threads: int = 0,
    memory: Optional[str] = None,
) -> Rows:
    """A row per statement of a database, or what ``by`` names: how often, rows, round trips, and where its time went (ns).

    Statements have no literals unless ``show_literals``. Other parameters are those of :func:`calls`.
    """
    return _rows_of(
        "sql", captures, by=list(by), client=client, server=server, from_=from_, to=to,
        where=where, show_literals=show_literals, as_one=as_one, anonymise=anonymise,
        threads=threads or None, memory=memory,
    )  # fmt: skip


def diagnose(
    *captures: Paths,
    client: Optional[Paths] = None,
    server: Optional[Paths] = None,
    from_: Optional[str] = None,
    to: Optional[str] = None,
    where: Optional[str] = None,
    as_one: bool = False,
    anonymise: Optional[str] = None,
    threads: int = 0,
    memory: Optional[str] = None,
) -> Diagnosis:
    """Which side is slow, by how much, and why. A notebook shows verdict, budget and findings.

    Parameters are those of :func:`calls`.
    """
    options = dict(
        client=client, server=server, from_=from_, to=to, where=where, as_one=as_one,
        anonymise=anonymise, threads=threads or None, memory=memory,
    )  # fmt: skip
    return Diagnosis.read(_diagnosis_of(captures, **options))


def report(
    *captures: Paths,
    output: Optional[Path] = None,
    client: Optional[Paths] = None,
    server: Optional[Paths] = None,
    from_: Optional[str] = None,
    to: Optional[str] = None,
    where: Optional[str] = None,
    as_one: bool = False,
    anonymise: Optional[str] = None,
    threads: int = 0,
    memory: Optional[str] = None,
) -> str:
    """The page of ``slowside report``, which needs no network; written to the file ``output`` where one is named.

    Parameters are those of :func:`calls`.
    """
    options = dict(
        client=client, server=server, from_=from_, to=to, where=where, as_one=as_one,
        anonymise=anonymise, threads=threads or None, memory=memory,
    )  # fmt: skip
    page = _run_line(_line("report", captures, None, {"output": "-", **options})).decode()
    if output is not None:
        with open(output, "w", encoding="utf-8") as file:
            file.write(page)
    return page
