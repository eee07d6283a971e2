"""Clocks of captures: an offset, a drift, a step or a slew in the middle."""

from kit import pcap
from kit.apps import nfsload
from kit.apps.ganesha import Ganesha
from kit.kinds import kind
from kinds.nfs import judged
from kinds.places import HARSH, HEALTHY, MILD, expected, fault_drawn, traffic


@kind("place-clock-step", "the server's clock is set (NTP step) while it captures",
      mild=dict(**MILD, step_s=-0.03), harsh=dict(**HARSH, step_s=1.7), healthy=dict(**HEALTHY, step_s=-0.8),
      draw=lambda d: dict(**fault_drawn(d), step_s=d.choice([-1, 1]) * d.log_uniform(0.002, 4), at=round(d.uniform(0.1, 0.9), 2)))
def clock_step(case, fault, ms, step_s, at=0.5):
    rows, served, path_ms = traffic(case, fault, ms)
    on_another_clock(case, step_s=step_s, step_at=at)
    # Which way a path takes longer cannot be told with such a clock. TCP time stamps show that hosts did not stop.
    return expected(fault, rows, served, path_ms, skip=["one_way"])


@kind("place-clock-slew", "the server's clock is slewed (NTP) from the middle of its capture on",
      mild=dict(**MILD, slew_ppm=500), harsh=dict(**HARSH, slew_ppm=-80_000), healthy=dict(**HEALTHY, slew_ppm=80_000),
      draw=lambda d: dict(**fault_drawn(d), slew_ppm=d.choice([-1, 1]) * d.log_uniform(100, 83_000), at=round(d.uniform(0, 0.8), 2)))
def clock_slew(case, fault, ms, slew_ppm, at=0.5):
    rows, served, path_ms = traffic(case, fault, ms)
    on_another_clock(case, slew_ppm=slew_ppm, step_at=at)
    return expected(fault, rows, served, path_ms, skip=["one_way"])


@kind("place-clock-drift", "the server's clock is another one: an offset and a drift, on a path that may take longer one way",
      mild=dict(out_ms=1, back_ms=1, offset_s=3.7, drift_ppm=50), harsh=dict(out_ms=1, back_ms=9, offset_s=-0.0123, drift_ppm=-20),
      healthy=dict(out_ms=0.2, back_ms=0.2, offset_s=-41.3, drift_ppm=100),
      draw=lambda d: dict(out_ms=d.log_uniform(0.5, 30), back_ms=d.log_uniform(0.5, 30), offset_s=d.choice([-1, 1]) * d.log_uniform(0.001, 4000),
                          drift_ppm=round(d.uniform(-150, 150))))
def clock_drift(case, out_ms, back_ms, offset_s, drift_ppm):
    with case.bench() as b:
        server = Ganesha(b)
        b.wire(f"c2s delay_us={out_ms * 1000:.0f}")
        b.wire(f"s2c delay_us={back_ms * 1000:.0f}")
        with b.capture():
            # Eight seconds: 20 ppm are 160 us of them, which scheduling does not hide.
            rows = nfsload.load(b, rate=200, cap=32, ops=1800, secs=8)
        served = server.log()
    on_another_clock(case, offset_s=offset_s, drift_ppm=drift_ppm)
    return judged(rows, served, out_ms + back_ms, rest="network", forbid=["network-loss", "server-slow", "capture-incomplete"], drift_ppm=8.0)


def on_another_clock(case, **clock):
    """The server's file on another clock; what that is into the truth."""
    file = f"{case.folder}/server.pcap"
    header, scale, packets = pcap.read(file)
    offset_s, drift_ppm = clock.setdefault("offset_s", 0), clock.get("drift_ppm", 0)
    case.truth["clock"] = {
        "server_offset_s": offset_s, "server_drift_ppm": drift_ppm, "t_ref_ns": packets[0][0], **clock,
        "formula": "t_server_file = t_true + offset + (t_true - t_ref) * drift_ppm * 1e-6, and from step_at of the capture on "
                   "+ step_s + (t_true - t_step) * slew_ppm * 1e-6",
        "note": "server_ops.csv.gz, client_ops.csv.gz and wire.csv.gz stay in true time"}
    pcap.write(file, header, scale, pcap.skewed(packets, **clock))
