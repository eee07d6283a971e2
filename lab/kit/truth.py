"""What is known from outside of the packets: applications' own clocks, servers' own, the wire's log, tcp_info."""

import csv
import gzip


def percentile(values, p):
    if not values:
        return None
    values = sorted(values)
    at = (len(values) - 1) * p / 100
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (at - low)


def summary(values, digits=4):
    if not values:
        return {"n": 0}
    at = lambda p: round(percentile(values, p), digits)
    return {"n": len(values), "mean": round(sum(values) / len(values), digits), "min": round(min(values), digits),
            "p50": at(50), "p90": at(90), "p99": at(99), "max": round(max(values), digits)}


def rows(path):
    """Rows of a CSV file, gzipped or not."""
    opened = gzip.open(path, "rt") if str(path).endswith(".gz") else open(path)
    with opened as file:
        return list(csv.DictReader(file))


def write(path, columns, rows):
    """Rows into a gzipped CSV file."""
    with gzip.open(path, "wt") as file:
        out = csv.writer(file)
        out.writerow(columns)
        out.writerows(rows)


def of_wire(frames):
    """What a wire did to its frames, by direction."""
    measured = {}
    for direction in ("c2s", "s2c"):
        mine = [f for f in frames if f["dir"] == direction]
        verdicts = {}
        for f in mine:
            verdicts[f["verdict"]] = verdicts.get(f["verdict"], 0) + 1
        data = [f for f in mine if int(f["payload"]) > 0]
        measured[direction] = {
            "frames": len(mine),
            "verdicts": verdicts,
            "emulator_delay_ms": summary([(int(f["t_out_ns"]) - int(f["t_in_ns"])) / 1e6 for f in mine if int(f["t_out_ns"])]),
            "tcp_resent_frames": _resent(data),
            "dropped_tcp_data_frames": sum(f["verdict"].startswith("drop") for f in data),
            "tcp_data_frames": len(data),
        }
    return measured


def of_path(wires):
    """What wires one behind the other did together, of what each did (`of_wire`): delays add up, what any of them lost is
    lost, and of frames there were as many as the wire saw that saw most."""
    measured = {}
    for direction in ("c2s", "s2c"):
        each = [wire[direction] for wire in wires]
        passed = [wire["emulator_delay_ms"] for wire in each if wire["emulator_delay_ms"]["n"]]
        measured[direction] = {
            **{count: max(wire[count] for wire in each) for count in ("frames", "tcp_resent_frames", "tcp_data_frames")},
            "dropped_tcp_data_frames": sum(wire["dropped_tcp_data_frames"] for wire in each),
            "emulator_delay_ms": {"n": min((d["n"] for d in passed), default=0), "mean": round(sum(d["mean"] for d in passed), 4)},
        }
    return measured


def _resent(data):
    """Frames whose bytes had all been sent before, by sequence numbers."""
    highest, resent = {}, 0
    for f in sorted((f for f in data if f["verdict"] not in ("dup", "inject")), key=lambda f: int(f["t_in_ns"])):
        flow, end = (f["sport"], f["dport"]), int(f["seq"]) + int(f["payload"])
        seen = highest.get(flow)
        if seen is not None and 0 <= (seen - end) & 0xFFFFFFFF < 1 << 31:
            resent += 1
        else:
            highest[flow] = end & 0xFFFFFFFF
    return resent
