#!/usr/bin/env python3
"""Holds what slowside says of calls whose replies the snap length hides against their client's own times.

usage: hidden_checks.py SLOWSIDE LAB_OUT

LAB_OUT is a folder of lab cases, as lab/run records them, or ../shared/lab/out. Of each case of NFS whose client wrote down
when it issued each operation and when that was done (client_ops.csv.gz), a line: how many calls are hidden in the client's
capture, how long they took by the client's clock, and between which bounds they lie by the packets. A client's time holds the
packets' and more, so the least may not be more than that. Which of several hidden replies is whose is an assumption that
leaves the sum as it is: the sum is held, and of single calls it is told how many are beyond it by 2 ms and more.
Exit code 1 where the least of a case is beyond the truth, or no case has hidden calls.
"""

import collections
import csv
import glob
import gzip
import io
import json
import os
import subprocess
import sys

LATE_NS = 2_000_000


def calls(slowside: str, capture: str) -> list[dict[str, str]]:
    command = [slowside, "calls", capture, "--format", "csv"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return list(csv.DictReader(io.StringIO(out)))


def operations(path: str) -> list[dict[str, str]]:
    """Those that were issued, in that order."""
    with gzip.open(path, "rt", newline="") as file:
        rows = csv.DictReader(file)
        if not {"t_issue_ns", "t_done_ns", "offset"} <= set(rows.fieldnames or []):
            return []
        issued = [row for row in rows if int(row["t_issue_ns"] or 0) and int(row["t_done_ns"] or 0)]
    return sorted(issued, key=lambda row: int(row["t_issue_ns"]))


def took_ns(issued: list[dict[str, str]], seen: list[dict[str, str]]) -> dict[int, int]:
    """How long each operation took, by XID: as the client says, or as it counts from one whose offset nobody else has."""
    took = [int(row["t_done_ns"]) - int(row["t_issue_ns"]) for row in issued]
    if issued and "xid" in issued[0]:
        xids = collections.Counter(row["xid"] for row in issued)
        return {int(row["xid"], 16): ns for row, ns in zip(issued, took) if xids[row["xid"]] == 1}
    places: dict[tuple[str, int], list[int]] = collections.defaultdict(list)
    for place, row in enumerate(issued):
        places[row["op"], int(row["offset"])].append(place)
    firsts: collections.Counter[int] = collections.Counter()
    for call in seen:
        detail = json.loads(call["detail"] or "{}")
        found = places.get((call["op"], detail.get("offset", -1)), [])
        if call["outcome"] == "ok" and len(found) == 1:
            firsts[int(call["id"], 16) - found[0]] += 1
    if not firsts:
        return {}
    [(first, times)] = firsts.most_common(1)
    return {first + place: ns for place, ns in enumerate(took)} if 2 * times > sum(firsts.values()) else {}


def main() -> int:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    _, slowside, lab = sys.argv
    hidden_calls = beyond_truth = 0
    for path in sorted(glob.glob(os.path.join(lab, "*", "client_ops.csv.gz"))):
        captures = glob.glob(os.path.join(os.path.dirname(path), "client.pcap*"))
        if not captures:
            continue
        seen = calls(slowside, captures[0])
        truth = took_ns(operations(path), seen)
        # Nobody's answer was seen, and when it passed has bounds.
        hidden = [
            (truth[int(call["id"], 16)], int(call["client_response_lo_ns"]), call["client_response_hi_ns"])
            for call in seen
            if call["outcome"] == "no-response" and call["client_response_lo_ns"] and int(call["id"], 16) in truth
        ]
        if not hidden:
            continue
        all_ns, least_ns = sum(ns for ns, _, _ in hidden), sum(least for _, least, _ in hidden)
        most = "any" if any(not most for _, _, most in hidden) else f"{sum(int(m) for _, _, m in hidden) / 1e9:.3f} s"
        late = sum(least > ns + LATE_NS for ns, least, _ in hidden)
        is_beyond = least_ns > all_ns
        hidden_calls += len(hidden)
        beyond_truth += is_beyond
        name = os.path.basename(os.path.dirname(path))
        print(
            f"{'MISS' if is_beyond else 'ok  '} {name:32} {len(hidden):5} hidden, {all_ns / 1e9:8.3f} s: "
            f"{least_ns / 1e9:.3f} s to {most}, {late} beyond their own"
        )
    print(f"{hidden_calls} hidden calls, {beyond_truth} cases beyond the truth")
    return 1 if beyond_truth or not hidden_calls else 0


if __name__ == "__main__":
    sys.exit(main())
