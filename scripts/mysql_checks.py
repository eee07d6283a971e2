#!/usr/bin/env python3
"""Holds MySQL's calls against two other readers of the same captures.

    scripts/mysql_checks.py SLOWSIDE CAPTURE…

pt-query-digest (Debian's percona-toolkit, --type tcpdump): each statement it finds must be a call of the
same client, and take as long. tshark: commands and responses that it dissects must be as many as calls
have them. What differs stands in tests/mysql-differs.tsv, with the reason; anything else fails.
Programs that are not installed are left out, and that is said.
"""

import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# pt-query-digest prints microseconds.
SAME_NS = 1_500
DIFFERS = pathlib.Path(__file__).parent.parent / "tests" / "mysql-differs.tsv"
OPENS = {".zst": "zstd", ".gz": "gzip"}


def plain(path, folder):
    """The capture, not compressed."""
    tool = OPENS.get(path.suffix)
    if tool is None:
        return path
    out = folder / path.stem
    with out.open("wb") as file:
        subprocess.run([tool, "-dc", path], stdout=file, check=True)
    return out


def calls_of(slowside, path):
    done = subprocess.run(
        [slowside, "calls", path, "--format", "jsonl"], capture_output=True, text=True
    )
    if done.returncode not in (0, 3):
        sys.exit(f"{path}: {done.stderr.strip()}")
    calls = [json.loads(line) for line in done.stdout.splitlines()]
    return [c for c in calls if c["protocol"] == "mysql"]


def kind_of(call):
    """What pt-query-digest calls it."""
    op, cursor = call["op"], "cursor" in call["detail"]
    if op == "PREPARE":
        return "prepare"
    if op in ("EXECUTE", "BEGIN", "COMMIT", "ROLLBACK", "COPY"):
        return "execute" if cursor else "query"
    return op.lower()


def digest(path, server):
    """Statements by client: kind and nanoseconds."""
    tcpdump = subprocess.run(
        ["tcpdump", "-s", "65535", "-x", "-nn", "-q", "-tttt", "-r", path],
        capture_output=True,
        check=True,
    )
    done = subprocess.run(
        ["pt-query-digest", "--type", "tcpdump", "--watch-server", server, "--no-report",
         "--output", "slowlog", "--no-version-check"],
        input=tcpdump.stdout,
        capture_output=True,
    )
    found = collections.defaultdict(list)
    client, took = None, None
    for line in done.stdout.decode(errors="replace").splitlines():
        if line.startswith("# Client: "):
            client = line.split()[2]
        elif line.startswith("# Query_time: "):
            took = round(float(line.split()[2]) * 1e9)
        elif took is not None and not re.match(r"(# |SET timestamp|use )", line) or (
            took is not None and line.startswith("# administrator command")
        ):
            words = line.split(None, 1)
            kind = {"PREPARE": "prepare", "EXECUTE": "execute"}.get(words[0] if words else "", "query")
            if line.startswith("# administrator"):
                kind = line.split(": ", 1)[1].rstrip(";").lower().replace(" ", "_")
            if line.startswith("DEALLOCATE") or kind == "quit":
                kind = None
            if re.match(r"RESET \d+;", line):
                kind = "close"
            if kind == "stmt_prepare":
                kind = "prepare"
            if kind == "connect":
                kind = "logon"
            if kind:
                found[client].append((kind, took, line[:60]))
            took = None
    return found


def against_digest(name, path, calls):
    """Differences, and how many statements agree."""
    differ, agreed = [], 0
    mine_ns = theirs_ns = 0
    for server in sorted({c["server"] for c in calls}):
        theirs = digest(path, server)
        mine = collections.defaultdict(list)
        for call in calls:
            if call["server"] == server and call["response_time_ns"] is not None:
                mine[call["client"]].append(call)
        for client in sorted(set(mine) | set(theirs)):
            left = [c for c in mine[client] if c["op"] in (
                "EXECUTE", "BEGIN", "COMMIT", "ROLLBACK", "COPY", "PREPARE")]
            for kind, took, text in theirs[client]:
                if kind not in ("query", "prepare", "execute"):
                    continue
                # It ends a statement with the first packet of the response, slowside with the last.
                same = [
                    c for c in left
                    if kind_of(c) == kind and min(
                        abs(c["response_first_ns"] - c["request_first_ns"] - took),
                        abs(c["response_first_ns"] - c["request_last_ns"] - took),
                        abs(c["response_time_ns"] - took)) <= SAME_NS
                ]
                if same:
                    left.remove(same[0])
                    agreed += 1
                    mine_ns += same[0]["wait_ns"]
                    theirs_ns += took
                else:
                    differ.append((name, "only pt-query-digest", f"{kind} {took / 1e6:.3f} ms {text}"))
            for c in left:
                text = c["detail"].get("sql", "")[:40]
                differ.append((name, "only slowside", f"{kind_of(c)} frame {c['request_first_frame']} {text}"))
    return differ, agreed, mine_ns, theirs_ns


def against_tshark(name, path, calls):
    """tshark's commands against calls; its ports must be told."""
    ports = sorted({c["server"].rsplit(":", 1)[1] for c in calls})
    command = ["tshark", "-r", path, "-T", "fields", "-e", "mysql.command", "-Y", "mysql.command"]
    for port in ports:
        command += ["-d", f"tcp.port=={port},mysql"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    # No calls: QUIT 1, SEND_LONG_DATA 24, STMT_CLOSE 25; what CHANGE_USER (17) does is LOGON here.
    theirs = [
        int(code, 0)
        for line in done.stdout.split()
        for code in line.split(",")
        if int(code, 0) not in (1, 24, 25)
    ]
    commands = [c for c in calls if c["op"] not in ("CONNECT", "TURN", "OTHER")]
    mine = [c for c in commands if c["op"] != "LOGON"]
    logons = len(commands) - len(mine)
    changes = theirs.count(17)
    if len(theirs) - changes != len(mine) or changes > logons:
        return [(name, "tshark", f"{len(theirs) - changes} commands, slowside {len(mine)}")], len(theirs)
    return [], len(theirs)


def main():
    slowside, *captures = sys.argv[1:]
    known = {
        tuple(line.split("\t")[:3])
        for line in DIFFERS.read_text().splitlines()
        if line and not line.startswith("#")
    }
    has_digest = shutil.which("pt-query-digest") and shutil.which("tcpdump")
    has_tshark = shutil.which("tshark")
    if not has_digest:
        print("pt-query-digest is not installed: left out")
    if not has_tshark:
        print("tshark is not installed: left out")
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for capture in map(pathlib.Path, captures):
            name = capture.name
            path = plain(capture, pathlib.Path(folder))
            calls = calls_of(slowside, path)
            differ = []
            line = f"{name}: {len(calls)} calls"
            if has_tshark:
                found, commands = against_tshark(name, path, calls)
                differ += found
                line += f", tshark {commands} commands"
            if has_digest:
                found, agreed, mine, theirs = against_digest(name, path, calls)
                differ += found
                line += (f", pt-query-digest {agreed} statements the same,"
                         f" {theirs / 1e6:.3f} ms, slowside {mine / 1e6:.3f} ms")
            print(line)
            # Times change when fixtures are recorded anew.
            for d in differ:
                what = re.sub(r"[\d.]+ ms |frame \d+ ", "", d[2]).strip()
                is_known = (d[0], d[1], what) in known
                print(f"  {'known' if is_known else 'DIFFERS'}: {d[1]}: {d[2]}")
                failed |= not is_known
    sys.exit(failed)


if __name__ == "__main__":
    main()
