#!/usr/bin/env python3
"""Holds what wireshark/slowside.lua shows in tshark against the rows that it reads, cell by cell.

    scripts/wireshark_checks.py SLOWSIDE

Captures of the repository, of one end and of both, compressed, in several files, merged and cut; rows that are
old, damaged, hostile or of another file; where rows are looked for; the profile's columns and coloring rules.
"""

import csv
import gzip
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "wireshark" / "slowside.lua"
PROFILE = ROOT / "wireshark" / "profile" / "slowside"
LAB = ROOT / "tests" / "lab"
WHICH = ["request_first", "request_last", "response_first", "response_last"]
TEXTS = ["side", "protocol", "op", "id", "outcome", "detail"]
NUMBERS = ["request_bytes", "response_bytes", "outstanding", "retransmits"]
TIMES = {
    "response_time": "response_time_ns",
    "request_transfer": "request_transfer_ns",
    "wait": "wait_ns",
    "response_transfer": "response_transfer_ns",
    "network_out": "network_out_ns",
    "at_server": "server_ns",
    "network_back": "network_back_ns",
    "client_response_lo": "client_response_lo_ns",
    "client_response_hi": "client_response_hi_ns",
}
csv.field_size_limit(1 << 30)

slowside = pathlib.Path(sys.argv[1]).resolve()
work = pathlib.Path(tempfile.mkdtemp(prefix="slowside-wireshark-"))
config = work / "config"
shutil.copytree(PROFILE, config / "profiles" / "slowside")
checked = 0


def fail(what):
    sys.exit(f"wireshark_checks: {what}")


def expect(holds, what):
    global checked
    checked += 1
    if not holds:
        fail(what)


def rows_of(arguments, sidecar):
    with open(sidecar, "wb") as out:
        done = subprocess.run([slowside, "calls", "-q", *arguments], stdout=out, stderr=subprocess.PIPE)
    if done.returncode not in (0, 3):
        fail(f"slowside calls {arguments}: {done.stderr.decode()}")
    return read(sidecar)


def read(sidecar):
    with open(sidecar, newline="") as file:
        return list(csv.DictReader(file))


def tshark(capture, *arguments, sidecar=None, cwd=work, env=()):
    """What it says, and what it says on standard error. Never an error of the script."""
    named = ["-o", f"slowside.sidecar:{sidecar}"] if sidecar else []
    environment = {**os.environ, "WIRESHARK_CONFIG_DIR": str(config), "TZ": "UTC", **dict(env)}
    environment.pop("SLOWSIDE_SIDECAR", None)
    environment.update(dict(env))
    command = ["tshark", "-X", f"lua_script:{SCRIPT}", *named, "-r", capture, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", cwd=cwd, env=environment)
    said = "\n".join(line for line in done.stderr.splitlines() if not line.startswith("Running as user"))
    wrong = done.returncode != 0 or re.search(r"lua error|\.lua:\d+:|_ws\.lua\.[^f]", said + done.stdout, re.IGNORECASE)
    if wrong:
        fail(f"{command}: {done.returncode} {said}")
    return done.stdout, said


def shown(capture, *arguments, **more):
    """What it shows of each frame: a list of (fields, lines of the ledger) by frame number; and what it said."""
    out, said = tshark(capture, "-T", "pdml", *arguments, **more)
    frames = {}
    for packet in xml.fromstring(out).iter("packet"):
        number = None
        calls = []
        for proto in packet.iter("proto"):
            if proto.get("name") == "geninfo":
                number = int(proto.find("field[@name='num']").get("show"))
            if proto.get("name") == "slowside":
                fields, lines = {}, []
                for field in proto.findall("field"):
                    name = field.get("name").removeprefix("slowside.")
                    if name == "line":
                        below = {f.get("name").removeprefix("slowside.line."): f.get("show") for f in field}
                        lines.append(below)
                    else:
                        fields.setdefault(name, []).append(field.get("show"))
                calls.append((fields, lines))
        frames[number] = calls
    return frames, said


def seconds(ns):
    sign, ns = ("-", -int(ns)) if ns.startswith("-") else ("", int(ns))
    return f"{sign}{ns // 10**9}.{ns % 10**9:09d}"


def harmless(text):
    return re.sub(r"[\x00-\x1f\x7f]", ".", text)


def packet_words(which):
    text = ", ".join(w.replace("_", " ") for w in which)
    text = text.replace("request first, request last", "request")
    return text.replace("response first, response last", "response")


def by_frame(rows, capture, prefix=""):
    """The rows that name each frame of a file, and as what."""
    frames = {}
    for row in rows:
        detail = json.loads(row["detail"])
        names = {}
        for which in WHICH:
            at = row["server_capture"] if prefix else detail.get(which + "_capture", row["capture"])
            frame = row[f"{prefix}{which}_frame"]
            if frame and at == str(capture):
                names.setdefault(int(frame), []).append(which)
        for frame, which in names.items():
            frames.setdefault(frame, []).append((row, which))
    return frames


def cause_of(lines):
    def hi(line):
        return float("inf") if line["hi_ns"] is None else line["hi_ns"]

    most = [a for a in lines if all(b is a or a["lo_ns"] > hi(b) for b in lines)]
    return [most[0]["cause"]] if most else []


def once(values):
    return list(dict.fromkeys(values))


def same_call(fields, lines, row, which, prefix, where, links=True):
    """Each cell of a row is what the fields say."""

    def is_(name, values):
        expect(fields.get(name, []) == values, f"{where}: slowside.{name} is {fields.get(name)}, not {values}")

    is_("packet", [packet_words(which)])
    for name in TEXTS:
        is_(name, [harmless(row[name])] if row.get(name) else [])
    for name in NUMBERS:
        is_(name, [row[name]] if row[name] else [])
    for name, column in TIMES.items():
        is_(name, [seconds(row[column])] if row[column] else [])
    is_("in_diagnosis", [{"true": "1", "false": "0"}[row["in_diagnosis"]]])
    is_("capture", [row["server_capture"] if prefix else json.loads(row["detail"]).get(which[0] + "_capture", row["capture"])])
    ledger = json.loads(row["ledger"])
    told = sorted((l for l in ledger if l["finding"] and l["lo_ns"] > 0), key=lambda l: -l["lo_ns"])
    is_("finding", once(l["finding"] for l in told))
    is_("finding_side", once(l["side"] for l in told))
    is_("cause", cause_of(ledger))
    want = []
    for line in ledger:
        one = {key: line[key] for key in ("place", "side", "cause")}
        one["lo"] = seconds(str(line["lo_ns"]))
        if line["hi_ns"] is not None:
            one["hi"] = seconds(str(line["hi_ns"]))
        if line["finding"]:
            one["finding"] = line["finding"]
        want.append(one)
    expect(lines == want, f"{where}: the ledger is {lines}, not {want}")
    if links:
        detail = json.loads(row["detail"])

        def at(w):
            return None if prefix else detail.get(w + "_capture", row["capture"])

        for name, target in (("call", "request_first"), ("response", "response_last")):
            frame = row[f"{prefix}{target}_frame"]
            here = at(target) == at(which[0])
            is_(name, [frame] if frame and here else [])


def same(capture, rows, name=None, prefix="", **more):
    """All that is shown of a capture is its rows, frame by frame."""
    frames, said = shown(capture, **more)
    want = by_frame(rows, name or capture, prefix)
    expect(want, f"{capture}: no rows")
    expect(said == "", f"{capture}: {said}")
    calls = 0
    for frame, found in frames.items():
        named = want.get(frame, [])
        expect(len(found) == len(named), f"{capture} frame {frame}: {len(found)} calls shown, not {len(named)}")
        for (fields, lines), (row, which) in zip(found, named):
            same_call(fields, lines, row, which, prefix, f"{capture} frame {frame}")
            calls += 1
    expect(set(want) <= set(frames), f"{capture}: rows name frames that it does not have")
    print(f"{pathlib.Path(capture).name}: {len(frames)} packets, {calls} of calls")


def captures():
    """One end, both ends, compressed in each way, in several files, merged."""
    sidecar = work / "rows.csv"
    databases = sorted((ROOT / "tests/databases").glob("*/*.pcap*"))
    for capture in [LAB / "server-cap/client.pcap.zst", LAB / "nagle/server.pcap.zst", *databases]:
        rows = rows_of([capture], sidecar)
        if rows:
            same(capture, rows, sidecar=sidecar)

    client, server = LAB / "server-cap/client.pcap.zst", LAB / "server-cap/server.pcap.zst"
    rows = rows_of([client, server], sidecar)
    same(client, rows, sidecar=sidecar)
    same(server, rows, prefix="server_", sidecar=sidecar)

    plain = work / "client.pcap"
    plain.write_bytes(subprocess.run(["zstd", "-dc", client], check=True, capture_output=True).stdout)
    packed = work / "client.pcap.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    same(packed, rows_of([packed], sidecar), sidecar=sidecar)

    subprocess.run(["editcap", "-c", "500", plain, work / "ring.pcap"], check=True)
    ring = sorted(work.glob("ring_*.pcap"))
    rows = rows_of(ring, sidecar)
    crossing = sum("_capture" in row["detail"] for row in rows)
    expect(crossing > 0, "no call crosses two files of the ring")
    for capture in ring:
        same(capture, rows, sidecar=sidecar)

    merged = work / "merged.pcapng"
    subprocess.run(["mergecap", "-w", merged, *ring], check=True)
    same(merged, rows_of([merged], sidecar), sidecar=sidecar)
    return plain


def other_files(plain):
    """Rows of another file: nothing is shown, and that is said."""
    sidecar = work / "other.csv"
    rows_of([plain], sidecar)
    for capture, words in [
        (LAB / "server-cap/server.pcap.zst", "it is of other captures"),
        (work / "later.pcap", "it was filtered or merged since"),
    ]:
        if capture.name == "later.pcap":
            subprocess.run(["editcap", plain, capture, "1"], check=True)
        for passes in [], ["-2"]:
            frames, said = shown(capture, *passes, sidecar=sidecar)
            expect(words in said and said.count("\n") == 0, f"{capture}: {said}")
            of_calls = [fields for calls in frames.values() for fields, _ in calls if set(fields) != {"note"}]
            expect(not of_calls, f"{capture}: something is shown of rows of another file")
            notes = [fields["note"][0] for calls in frames.values() for fields, _ in calls]
            expect(len(notes) == len(frames) - 49, f"{capture}: {len(notes)} notes in the tree")
            expect(all(words in n for n in notes), f"{capture}: the tree says {notes[:1]}")
    frames, said = shown(plain, sidecar=work / "none.csv")
    expect("none.csv cannot be read" in said and not any(frames.values()), f"no such rows: {said}")


def written(name, text):
    path = work / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def damaged_rows(plain):
    """Rows that are old, damaged or hostile."""
    sidecar = work / "good.csv"
    rows = rows_of([plain], sidecar)
    names = list(rows[0])

    def with_columns(keep, rows, **csv_of):
        path = work / "edited.csv"
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, keep, extrasaction="ignore", **{"lineterminator": "\n", **csv_of})
            writer.writeheader()
            writer.writerows(rows)
        return path

    # As written before there were sides.
    old = with_columns(names[: names.index("ledger") + 1], rows)
    frames, said = shown(plain, sidecar=old)
    expect("older slowside" in said, f"old rows: {said}")
    calls = [fields for calls in frames.values() for fields, _ in calls]
    expect(calls and all("op" in f and "side" not in f for f in calls), "old rows: wrong fields")

    # As a spreadsheet may write them, and with columns of the future.
    same(plain, rows, sidecar=with_columns([*names, "new"], rows, quoting=csv.QUOTE_ALL, lineterminator="\r\n", restval="x"))

    evil = '"><script>alert(1)</script>\x1b[31m\r\n"",=cmd|%s%n{"side":"server"}'
    hostile = [{**row} for row in rows]
    hostile[3].update(op=evil, id=evil, outcome=evil, side=evil)
    hostile[4].update(response_time_ns="9" * 40, request_bytes="-1", outstanding="1e9", retransmits="9" * 30)
    hostile[5].update(ledger='[{"place":"x"},{"place":"a","side":"b","cause":"c","lo_ns":' + "9" * 40 + "}]")
    hostile[6].update(request_last_frame="99999999999", response_last_frame="-4")
    path = with_columns(names, hostile)
    frames, said = shown(plain, sidecar=path)
    expect(said == "", f"hostile rows: {said}")
    of = by_frame(rows, plain)
    frame = int(hostile[3]["request_first_frame"])
    fields = [f for f, _ in frames[frame] if f["op"] == [harmless(evil)]]
    expect(len(fields) == 1 and fields[0]["side"] == [harmless(evil)], f"hostile text: {frames[frame]}")
    fields = frames[int(hostile[4]["request_first_frame"])][0][0]
    expect(not {"response_time", "request_bytes", "outstanding", "retransmits"} & set(fields), f"hostile numbers: {fields}")
    expect(set(frames) >= set(of), "hostile rows: frames are missing")

    # A zero byte, which slowside never writes, costs two rows at most.
    whole = sidecar.read_bytes()
    row = whole.index(b"\n", len(whole) // 2) + 1
    frames, said = shown(plain, sidecar=written("zero.csv", whole[:row] + b"\0" + whole[row:]))
    calls = sum(len(calls) for calls in frames.values())
    want = sum(len(named) for named in by_frame(rows, plain).values())
    expect(want - 4 <= calls < want, f"a zero byte: {calls} of calls, not {want}")

    cut = written("cut.csv", whole[:-40])
    frames, said = shown(plain, sidecar=cut)
    expect("1 rows are damaged" in said, f"cut rows: {said}")
    for name, text, words in [
        ("empty.csv", b"", "is empty"),
        ("lines.csv", b'{"capture":"x"}\n', "lines of JSON"),
        ("text.csv", b"a,b\n1,2\n", "it has no column"),
        # Of a fixed seed: one in 256 of random ones would begin as JSON does.
        ("bytes.csv", random.Random(1).randbytes(1 << 16), "it has no column"),
        ("quotes.csv", b'"' * 70001 + b"\n", "it has no column"),
    ]:
        frames, said = shown(plain, sidecar=written(name, text))
        expect(words in said and not any(frames.values()), f"{name}: {said}")
    frames, said = shown(plain, sidecar=work)
    expect("is empty, or is no file" in said, f"a folder: {said}")

    # So many rows of one packet that it would never be shown.
    crowd = with_columns(names, [rows[7]] * 5000)
    frames, said = shown(plain, sidecar=crowd)
    expect("of the same nanosecond are left out" in said, f"a crowd: {said}")
    print("rows that are old, damaged, hostile: as they should be")


def cut_files():
    """What `cut` wrote: by its comments alone, and with the rows of the whole."""
    client, server = LAB / "server-cap/client.pcap.zst", LAB / "server-cap/server.pcap.zst"
    subprocess.run([slowside, "cut", "-q", client, server, "--finding", "1", "-o", work / "cut.pcapng"], check=True)
    sidecar = work / "whole.csv"
    rows = rows_of([client, server], sidecar)
    for end, capture, prefix in [("client", client, ""), ("server", server, "server_")]:
        piece = work / f"cut-{end}.pcapng"
        out, _ = tshark(piece, "-T", "fields", "-e", "frame.number", "-e", "frame.comment", "-Y", "frame.comment")
        comments = {int(n): text for n, text in (line.split("\t") for line in out.splitlines())}
        frames, said = shown(piece)
        expect(said == "", f"{piece}: {said}")
        for frame, calls in frames.items():
            expect(bool(calls) == (frame in comments), f"{piece} frame {frame}: {calls}")
        asked = 0
        for frame, comment in comments.items():
            fields = frames[frame][0][0]
            expect(fields["why"] == [comment.split(": ", 1)[1]], f"{piece} frame {frame}: {fields}")
            part = re.search(r"(request|response) of call (\S+) (\w+)", comment)
            if part:
                asked += 1
                is_ = [fields[name][0] for name in ("packet", "id", "op")]
                expect(is_ == list(part.groups()), f"{piece} frame {frame}: {is_}")
            finding = re.findall(r"finding \d+ ([a-z-]+)", comment)
            expect(fields.get("finding", []) == finding, f"{piece} frame {frame}: {fields}")
        expect(asked > 0, f"{piece}: no call has a comment")

        frames, said = shown(piece, sidecar=sidecar)
        expect(said == "", f"{piece}: {said}")
        want = by_frame(rows, capture, prefix)
        for frame, comment in comments.items():
            number = int(re.match(r"frame (\d+) of ", comment)[1])
            for (fields, lines), (row, which) in zip(frames[frame], want.get(number, [])):
                same_call(fields, lines, row, which, prefix, f"{piece} frame {frame}", links=False)
                expect("call" not in fields, f"{piece} frame {frame}: a link of the whole capture")
            expect(len(frames[frame]) == max(1, len(want.get(number, []))), f"{piece} frame {frame}: {frames[frame]}")
    print("what cut wrote: as its comments say")


def where_rows_lie(plain):
    """Which rows are found without being named."""
    folder = work / "folder"
    folder.mkdir()
    capture = folder / "c.pcap"
    shutil.copy(plain, capture)
    rows = work / "rows-of-c.csv"
    rows_of([capture], rows)

    def found(**more):
        out, _ = tshark(capture, "-Y", "slowside.op", "-T", "fields", "-e", "frame.number", **more)
        return bool(out.strip())

    expect(not found(), "rows from nowhere")
    for place in [folder / "c.pcap.slowside.csv", folder / "slowside.csv", work / "slowside.csv", config / "slowside.csv"]:
        shutil.copy(rows, place)
        if place.parent != folder or sys.platform == "linux":
            expect(found(), f"rows of {place} are not found")
        place.unlink()
    expect(found(env=[("SLOWSIDE_SIDECAR", str(rows))]), "rows of SLOWSIDE_SIDECAR are not found")
    print("where rows lie: found")


def rule_of(sides, finding_sides):
    if len(sides) > 1:
        return "slowside: calls of several sides in a packet"
    for side in sides:
        if side == "undetermined":
            return "slowside: undetermined"
        return f"slowside: {side}, {'with a' if side in finding_sides else 'no'} finding"
    return None


def profile():
    """The profile's columns and coloring rules, over all causes of the lab that have few packets."""
    rules = re.findall(r"^@(.*?)@", (PROFILE / "colorfilters").read_text(), re.MULTILINE)
    seen = set()
    sidecar = work / "rows.csv"
    for name in ["server-cap", "network-delay", "healthy", "application-pauses", "client-cap", "slow-reader"]:
        capture = LAB / name / "client.pcap.zst"
        want = by_frame(rows_of([capture], sidecar), capture)
        out, said = tshark(capture, "-C", "slowside", "--color", "-T", "fields", "-e", "frame.number", "-e", "_ws.col.Side",
                           "-e", "_ws.col.Finding", "-e", "frame.coloring_rule.name", sidecar=sidecar)
        expect(said == "", f"the profile: {said}")
        for line in out.splitlines():
            frame, side, finding, rule = line.split("\t")
            rows = [row for row, _ in want.get(int(frame), [])]
            told = [l for row in rows for l in json.loads(row["ledger"]) if l["finding"] and l["lo_ns"] > 0]
            sides = once(row["side"] for row in rows if row["side"])
            expect(once(side.split(",")) == (sides or [""]), f"{name} frame {frame}: column Side is {side}, not {sides}")
            expect(set(finding.split(",")) == ({l["finding"] for l in told} or {""}), f"{name} frame {frame}: {finding}")
            right = rule_of(sides, {l["side"] for l in told})
            expect(right is None or rule == right, f"{name} frame {frame}: colored as {rule}, not as {right}")
            seen.add(rule)
    head, _ = tshark(LAB / "server-cap/client.pcap.zst", "-C", "slowside", "-c", "4")
    expect("NULL" in head or "mount" in head.lower(), f"the profile's list of packets: {head}")
    print(f"the profile: columns and {len(seen & set(rules))} of {len(rules)} rules seen")


plain = captures()
other_files(plain)
damaged_rows(plain)
cut_files()
where_rows_lie(plain)
profile()
shutil.rmtree(work)
print(f"{checked} comparisons, all alike")
