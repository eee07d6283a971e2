"""Redo that is shipped to a standby in writes that are too small, or a little too large (field cases B5 to B9).

Each case holds two runs of the same volume: base-*.pcap with a unit of 64000 bytes, which comes to wait for nothing but
redo, and the run in question. Its sender was captured into a ring of files, `sender`, of which the later ones alone begin
in the middle: without the handshake, and so without the scale of windows.
"""

import glob
import os

from kit import pcap
from kit.apps import stream
from kit.expect import ACCUSATIONS, Expectation, healthy, run
from kit.kinds import kind

FITS = 64000
# Nobody did any of this, from whichever evidence.
NOT_IT = ["network-loss", "network-outage", "network-bandwidth", "small-window", "window-scaling-off", "nagle", "nagle-delayed-ack",
          "capture-incomplete", "duplicate-packets"]
# Of a stream begun in the middle nobody knows how large its window is, unless it is zero.
GUESSES = ["small-window", "window-scaling-off"]
BOTH = ("base-client.pcap,base-server.pcap", "sender,server.pcap")
SENDER, RECEIVER = ("base-client.pcap", "sender"), ("base-server.pcap", "server.pcap")


def shipped(case, timestamps, **told):
    """One run into client.pcap, server.pcap and the sender's ring; returns what both ends say."""
    with case.bench(snap=96, timestamps=timestamps) as b:
        b.wire("both delay_us=500")
        with b.capture(rotate=(1, 20)):
            ends = stream.run(b, "redo", **told)
    ring = f"{case.folder}/sender"
    os.makedirs(ring, exist_ok=True)
    for end in ("client", "server"):
        parts = sorted(glob.glob(f"{case.folder}/{end}.pcap[0-9]*"))
        header, scale, _ = pcap.read(parts[0])
        pcap.write(f"{case.folder}/{end}.pcap", header, scale, [p for part in parts for p in pcap.read(part)[2]])
        for part in parts:
            if end == "client":
                os.rename(part, f"{ring}/{os.path.basename(part)}")
            else:
                os.unlink(part)
    return ends


def recorded(case, timestamps=True, **told):
    """Both runs; returns (seconds of the base, seconds of the run in question, files of its sender that begin in the middle)."""
    base = shipped(case, timestamps, **{**told, "unit": FITS, "step_us": told.get("step_us", 0)})
    of_base = case.truth["app"]
    for file in [*glob.glob(f"{case.folder}/*.gz"), *glob.glob(f"{case.folder}/sender/*")]:
        os.unlink(file)
    for end in ("client", "server"):
        os.rename(f"{case.folder}/{end}.pcap", f"{case.folder}/base-{end}.pcap")
    ends = shipped(case, timestamps, **told)
    case.truth["base"] = of_base
    if len(os.listdir(f"{case.folder}/sender")) == 1:
        header, scale, packets = pcap.read(f"{case.folder}/client.pcap")
        pcap.write(f"{case.folder}/middle.pcap", header, scale, pcap.window(packets, 0.4, 1))
        return base["primary"]["elapsed_s"], ends["primary"]["elapsed_s"], ["middle.pcap"]
    ring = [f"sender/{os.path.basename(f)}" for f in sorted(glob.glob(f"{case.folder}/sender/*"))]
    return base["primary"]["elapsed_s"], ends["primary"]["elapsed_s"], ring[1:]


def seen(middle, **checks):
    """The run in question from each kind of evidence; costs are those of the whole."""
    runs = [run("both ends", "diagnose", ["--client", "sender", "--server", "server.pcap"], **checks),
            run("sender", "diagnose", ["sender"], **checks), run("receiver", "diagnose", ["server.pcap"], **checks)]
    rest = {**{k: v for k, v in checks.items() if k != "cost_s"}, "forbid": sorted({*checks["forbid"], *GUESSES})}
    return [*runs, run("sender, begun in the middle", "diagnose", middle, **rest), scale_unknown(middle)]


def scale_unknown(captures):
    """Without the handshake the scale is unknown, nothing is said of a window that would need it, nobody waits for it (nor
    for the congestion window in its place), and what was in flight bounds it."""
    at = "connections[0].directions.client_to_server."
    return run("window, begun in the middle", "conns", [*captures, "--connection", "1"],
               json={at + "window_scale": {"in": [None]}, at + "window_max_bytes": {"in": [None]},
                     at + "time_ns.small-window": {"between": [0, 0]}, at + "time_ns.congestion": {"between": [0, 150_000_000]},
                     at + "flight_max_bytes": {"between": [4000, 4_000_000]}},
               says=["(?i)window[^.]{0,80}(unknown|not known|at least)"])


def spikes():
    """Acknowledgements that the standby's timer released, one behind each lull: counted, and nobody waits for them."""
    at = "connections[0].directions.client_to_server."
    return run("spikes of 40 ms", "conns", ["sender", "--connection", "1"], says=[r"delayed ACKs [3-9]\b"], json={
        at + "delayed_ack_ns": {"between": [38_000_000, 60_000_000]}, at + "rtt.p50_ns": {"between": [900_000, 1_700_000]},
        at + "time_ns.nagle-delayed-ack": {"between": [0, 250_000_000]}})


def compared(*first):
    """The base against the run in question, from both ends and from each alone: its first paragraph."""
    return [run(f"compare, {name}", "compare", pair, first=list(first))
            for name, pair in (("both ends", BOTH), ("sender", SENDER), ("receiver", RECEIVER))]


def no_different():
    return [run(f"compare, {name}", "compare", pair, json={"verdict.outcome": {"in": ["no-difference"]}})
            for name, pair in (("both ends", BOTH), ("sender", SENDER), ("receiver", RECEIVER))]


def figure(size):
    """A size as it may be written: 8156, 8,156 or 8.16 kB."""
    rounded = f"{size / 1000:#.3g} kB".replace(".", r"\.")
    return rf"\b({size}|{size:,}|{rounded})\b"


def exactly(size):
    """A size to the byte."""
    return rf"\b({size}|{size:,})\b"


def accuses_nobody(middle):
    return healthy(skip=["one_way"], runs=seen(middle, side=["none", "undetermined"], forbid=ACCUSATIONS) + no_different())


def too_small(middle, base_s, elapsed_s, unit):
    """What must be said of writes of `unit` bytes, each of which waits, that together took so much longer than those of 64000."""
    cost = elapsed_s - base_s
    if cost < 0.1 * elapsed_s:
        return accuses_nobody(middle)
    if cost < 0.25 * elapsed_s:
        runs = seen(middle, side=["client", "none"], forbid=NOT_IT) + compared(figure(FITS), figure(unit))
        return Expectation(side=["client", "none"], cause=["small-writes", None], forbid=NOT_IT, skip=["one_way"], runs=runs)
    # What confirms a write is no part of it: 8156, not 8192 with its 36 bytes.
    named = dict(side=["client"], cause=["small-writes"], find=["small-writes"], forbid=[*NOT_IT, "receive-window-limited"],
                 cost_s={"small-writes": [round(0.6 * cost, 2), round(1.2 * cost, 2)]}, first=["small-writes"],
                 says=[exactly(unit)], never=[exactly(unit + 36), exactly(unit + 40)])
    return Expectation(side=["client"], cause=["small-writes"], find=["small-writes"], forbid=named["forbid"], skip=["one_way"],
                       runs=seen(middle, **named) + compared(figure(FITS), figure(unit)))


@kind("redo-small-units", "redo that is shipped in small writes, so many under way at a time", field_case="B7",
      mild=dict(slots=2, mb=34), harsh=dict(slots=1, mb=30), healthy=dict(slots=1, unit=FITS, mb=30),
      draw=lambda d: dict(unit=d.choice([4060, 8156, 8156, 12252, 16348]), slots=d.randint(1, 3), mb=20, rate_mb=d.log_uniform(10, 30),
                          remote_us=d.log_uniform(50, 400)))
def small_units(case, slots, mb, unit=8156, rate_mb=24, remote_us=100):
    """Spikes of 40 ms (B5): the record behind each log switch is acknowledged late, and nobody waits for it."""
    base_s, elapsed_s, middle = recorded(case, unit=unit, slots=slots, confirm_every=1, remote_us=remote_us, mb=mb,
                                          rate_mb=rate_mb, lull_mb=mb / 5, lull_ms=60)
    expected = too_small(middle, base_s, elapsed_s, unit)
    expected.runs.append(spikes())
    return expected


@kind("redo-unconfirmed", "redo that nobody confirms, shipped in small writes that each cost the sender a step; a window that closes now and then",
      field_case="B6", mild=dict(step_us=500, flush_ms=45), harsh=dict(step_us=700, flush_ms=60), healthy=dict(unit=FITS, step_us=500, flush_ms=0),
      draw=lambda d: dict(unit=d.choice([4060, 8156, 16348]), step_us=d.log_uniform(100, 1000), flush_ms=d.choice([0, 20, 60]), mb=16))
def unconfirmed(case, step_us, flush_ms, unit=8156, mb=24, rate_mb=24):
    """Each write has a fixed cost at the sender, whatever its size. One run cannot tell that from redo that comes slowly:
    the client's application is what both have in common, and the comparison shows the writes. The standby does not read
    for a moment after each 5 MB: acknowledgements come from its timer, 40 ms late and for all that gathered (B5), with a
    window of zero, which is so whatever the scale. It costs little."""
    base_s, elapsed_s, middle = recorded(case, unit=unit, slots=0, step_us=step_us, mb=mb, rate_mb=rate_mb, rcvbuf_standby=65536,
                                          **(dict(flush_mb=5, flush_ms=flush_ms) if flush_ms else {}))
    cost, closed = elapsed_s - base_s, flush_ms / 1e3 * (mb // 5)
    if cost < 0.1 * elapsed_s and not flush_ms:
        return accuses_nobody(middle)
    causes = ["small-writes", "sender-application-limited", None]
    runs = seen(middle, side=["client", "none", "undetermined"], cause=causes, forbid=NOT_IT)
    if cost >= 0.25 * elapsed_s:
        runs += compared(figure(FITS), figure(unit))
    sides = ["client", "none"] if closed < 0.2 * elapsed_s else ["client", "none", "server"]
    return Expectation(side=sides, cause=causes if len(sides) == 2 else None, forbid=NOT_IT, skip=["one_way"], runs=runs)


@kind("redo-split-units", "redo that is shipped in writes a little larger than what the card takes at once", field_case="B8",
      mild=dict(slots=2), harsh=dict(slots=1), healthy=dict(slots=1, unit=FITS), plain=dict(slots=1, timestamps=False),
      draw=lambda d: dict(unit=d.choice([65488, 65535]), slots=d.randint(1, 2), timestamps=d.choice([True, False]), rate_mb=d.log_uniform(10, 24)))
def split_units(case, slots, unit=65488, timestamps=True, rate_mb=20, mb=60):
    """Segments of 65160 and 328 bytes with time stamps; without, frames of 64294 and 1302, as in the field."""
    _, _, middle = recorded(case, unit=unit, slots=slots, confirm_every=1, remote_us=100, mb=mb, rate_mb=rate_mb, timestamps=timestamps)
    if unit == FITS:
        return accuses_nobody(middle)
    whole = 65160 if timestamps else 64240
    facts = {"split-writes": {"write_bytes": [unit, unit], "rest_bytes": [unit - whole, unit - whole]}}
    named = dict(side=["none", "client"], find=["split-writes"], forbid=[c for c in NOT_IT if c != "split-writes"], facts=facts,
                 says=[exactly(size) for size in (unit, whole, unit - whole, FITS)])
    # What arrives was cut on the way: only the sender's end shows the pieces.
    runs = [r for r in seen(middle, **named) if r["name"] != "receiver"]
    return Expectation(side=["none", "client"], cause=["split-writes", None], find=["split-writes"], forbid=NOT_IT, facts=facts,
                       skip=["one_way"], runs=runs + no_different())
