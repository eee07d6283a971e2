#!/usr/bin/env python3
"""Holds every SQL*Net call of public captures against two other readers, and keeps a table of them.

usage: tns_table.py SLOWSIDE SAMPLES [--update]

The table, tests/tns-calls.tsv, has a line per call: capture, first and last frame, operation, statement (the
hash of its normal form), rows, changed rows, outcome, response time in ns, and what differs. Without --update
the calls of SAMPLES/tns, and of what speaks SQL*Net in SAMPLES/verdicts, are held against the table; with it the table
is written anew.

The other readers know nothing of how slowside reads:

- tshark gives each frame its time, and says which are retransmissions. A response time must be the time
  between its frames, to the nanosecond.
- This program cuts payloads into turns (what the client sends until the server answers, and the answer; an
  11-byte marker belongs to what is under way) and searches their raw bytes. Frames of a call must be those of a
  turn. An outcome ORA-nnnnn must stand in the answer, and an answer that holds one must have that outcome.
  The words of a statement must stand in the request, in their order; a request that holds a verb of SQL
  behind its header must have a statement. Every turn that was answered must be a call.
- tns_rows.py walks the rows of an answer, column by column, and counts them.

What differs needs a reason in tests/tns-differs.tsv: capture, first frame, what differs, why.
"""

import json
import pathlib
import re
import subprocess
import sys

import tns_rows

TESTS = pathlib.Path(__file__).parent.parent / "tests"
TABLE = TESTS / "tns-calls.tsv"
DIFFERS = TESTS / "tns-differs.tsv"
HEADER = ["capture", "first", "last", "op", "statement", "rows", "affected", "outcome", "response_ns", "differs"]
MARKER = 12
# Strings that begin a statement, behind the length of their text.
VERB = re.compile(rb"(?:select|insert into|update|delete from|alter|create|grant|begin|declare|drop|merge)\s", re.I)
ERROR = re.compile(rb"ORA-\d{5}")
# End of a cursor's rows.
NO_MORE_ROWS = b"ORA-01403"


def packets(path):
    """Payloads in the order of the capture: frame, ns, stream, source, bytes. What is sent again counts once."""
    fields = ["frame.number", "frame.time_epoch", "tcp.stream", "tcp.srcport", "tcp.seq", "tcp.payload"]
    args = [arg for field in fields for arg in ("-e", field)]
    # The port says nothing certain, so that tshark itself decides nothing.
    done = subprocess.run(
        ["tshark", "-n", "-r", path, "-Y", "tcp.len>0", "-T", "fields", *args, "-o", "tcp.relative_sequence_numbers:FALSE"],
        capture_output=True, text=True, check=True,
    )
    seen = {}
    for line in done.stdout.splitlines():
        frame, epoch, stream, source, sequence, payload = line.split("\t")
        seconds, _, fraction = epoch.partition(".")
        data = bytes.fromhex(payload)
        end = seen.get((stream, source))
        if end is not None and int(sequence) + len(data) <= end:
            continue
        seen[stream, source] = int(sequence) + len(data)
        yield int(frame), int(seconds) * 10**9 + int(fraction.ljust(9, "0")), stream, source, data


def is_marker(data):
    return len(data) % 11 == 0 and all(data[at + 4] == MARKER for at in range(0, len(data), 11))


def turns(path, clients):
    """By first frame: first and last frame, their times, bytes of the request and of the answer."""
    under_way, done = {}, {}
    for frame, ns, stream, source, data in packets(path):
        turn = under_way.get(stream)
        if source in clients:
            if turn is None or (turn["answered"] and not is_marker(data)):
                turn = {"first": frame, "begun": ns, "asked": b"", "answer": b"", "answered": False}
                turn |= {"last": frame, "ended": ns}
                under_way[stream] = done[frame] = turn
            turn["asked"] += data
        elif turn is not None:
            turn["answer"] += data
            turn |= {"answered": True, "last": frame, "ended": ns}
    return done


def calls(slowside, path):
    if path.suffix == ".md":
        return []
    done = subprocess.run([slowside, "calls", path, "--format", "jsonl"], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(f"{path}: {done.stderr.strip()}")
    return [c for c in map(json.loads, done.stdout.splitlines()) if c["protocol"] == "tns"]


def holds(words, data):
    """Whether the words stand in the data in their order; a chunk's length may stand within one."""
    at, data = 0, data.lower()
    for word in words:
        word = word.encode("utf-8", "replace")
        split = re.compile(rb".{0,2}".join(re.escape(word[i:i + 1]) for i in range(len(word))), re.S)
        match = split.search(data, at)
        if match is None:
            return False
        at = match.start() + 1
    return True


def differences(call, turn):
    """What the other readers say otherwise."""
    if turn is None:
        return ["no turn begins here"]
    said = []
    if call["response_last_frame"] is None:
        return [f"the turn ends with frame {turn['last']}"] if turn["answered"] else []
    if turn["last"] != call["response_last_frame"]:
        said.append(f"the turn ends with frame {turn['last']}")
    elif call["response_time_ns"] is not None and turn["ended"] - turn["begun"] != call["response_time_ns"]:
        said.append(f"tshark has {turn['ended'] - turn['begun']} ns")
    errors = [e for e in ERROR.findall(turn["answer"]) if e != NO_MORE_ROWS]
    outcome = call["outcome"]
    if outcome.startswith("ORA-") and outcome.encode() not in ERROR.findall(turn["answer"]):
        said.append("its error is not in the answer")
    if errors and errors[0].decode() != outcome:
        said.append(f"the answer has {errors[0].decode()}")
    rows, walked = call["detail"].get("rows"), tns_rows.rows(turn["answer"])
    if rows is not None and walked is not None and rows != walked:
        said.append(f"the answer has {walked} rows")
    sql = call["detail"].get("sql")
    carries = call["op"] in ("EXECUTE", "PREPARE", "LOGON")
    text = VERB.search(turn["asked"][10:]) is not None
    if carries and text and sql is None:
        said.append("the request holds a verb")
    if carries and text and sql is not None:
        words = re.findall(r"[a-z_$#][a-z0-9_$#]*", sql.split("?")[0][:400])
        if not holds(words, turn["asked"]):
            said.append("its words are not in the request")
    return said


def rows(slowside, path):
    all_calls = calls(slowside, path)
    if not all_calls:
        return
    clients = {c["client"].rpartition(":")[2] for c in all_calls}
    found = turns(path, clients)
    for first in found.keys() - {c["request_first_frame"] for c in all_calls}:
        turn = found[first]
        if turn["answered"]:
            row = [path.name, first, turn["last"], *[None] * 6, "a turn that is no call"]
            yield row
    for c in sorted(all_calls, key=lambda c: (c["request_first_frame"] or c["response_first_frame"])):
        d = c["detail"]
        said = differences(c, found.get(c["request_first_frame"]))
        yield [
            path.name, c["request_first_frame"], c["response_last_frame"], c["op"], d.get("statement"),
            d.get("rows"), d.get("affected"), c["outcome"], c["response_time_ns"], "; ".join(said),
        ]


def reasons():
    lines = DIFFERS.read_text().splitlines() if DIFFERS.exists() else []
    return {tuple(line.split("\t")[:3]): line.split("\t")[3] for line in lines if line and not line.startswith("#")}


def main():
    slowside, samples = sys.argv[1], pathlib.Path(sys.argv[2])
    table = []
    for path in [*sorted((samples / "tns").iterdir()), *sorted((samples / "verdicts").iterdir())]:
        table += [["" if v is None else str(v) for v in row] for row in rows(slowside, path)]
    known, failed = reasons(), 0
    for row in table:
        if row[9] and (row[0], row[1], row[9]) not in known:
            failed += 1
            print(f"{row[0]} frame {row[1]}, {row[3]}: {row[9]}")
    unused = known.keys() - {(row[0], row[1], row[9]) for row in table}
    for row in sorted(unused):
        failed += 1
        print(f"{row[0]} frame {row[1]}: differs no more: {row[2]}")
    text = "".join("\t".join(row) + "\n" for row in [HEADER, *table])
    if "--update" in sys.argv:
        TABLE.write_text(text)
    elif TABLE.read_text() != text:
        failed += 1
        before = set(TABLE.read_text().splitlines())
        print("not as tests/tns-calls.tsv has it:")
        print("\n".join([line for line in text.splitlines() if line not in before][:10]))
    timed = sum(1 for row in table if row[8])
    print(f"{len(table)} calls, {timed} response times as tshark has them, {failed} differences without a reason")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
