"""NFS with two faults at a time: whoever has most of the time is named, or both."""

from kinds.nfs import CAUSES, NEVER, VERSIONS, judged, lost_frames, recorded
from kinds.nfs_network import MOUNTED_S
from kit.apps import nfsload
from kit.kinds import kind


@kind("nfs-delay-and-storage", "a long path to slow storage",
      mild=dict(delay_ms=2, mean_ms=4), harsh=dict(delay_ms=5, mean_ms=30), healthy=dict(delay_ms=0.1, mean_ms=0),
      network=dict(delay_ms=12, mean_ms=5),
      draw=lambda d: dict(delay_ms=d.log_uniform(1, 20), mean_ms=d.log_uniform(2, 40), version=d.choice(VERSIONS)))
def delay_and_storage(case, delay_ms, mean_ms, version="3"):
    rows, served = recorded(case, wire=[f"both delay_us={delay_ms * 1000:.0f}"], load=dict(version=version, rate=150, cap=96, ops=800, secs=5),
                            storage=dict(read_us=mean_ms * 1000, write_us=mean_ms * 1000, distribution="exponential"))
    seconds = nfsload.shares(rows, served, 2 * delay_ms)
    whole = sum(seconds.values())
    # A quarter of the calls' time is where a path is named (docs: network-delay); a third is beyond doubt.
    found = [f for side, f in (("network", "network-delay"), ("server", "server-slow")) if seconds[side] > whole / 3]
    return judged(rows, served, 2 * delay_ms, rest="network", case=case, find=found, forbid=["network-loss", "server-concurrency-cap", *NEVER])


@kind("nfs-loss-and-storage", "slow storage behind a path that loses",
      mild=dict(share=0.01, mean_ms=5), harsh=dict(share=0.04, mean_ms=25), healthy=dict(share=0, mean_ms=0, delay_ms=0.1),
      draw=lambda d: dict(share=d.log_uniform(0.003, 0.04), mean_ms=d.log_uniform(2, 40), delay_ms=d.log_uniform(0.2, 3)))
def loss_and_storage(case, share, mean_ms, delay_ms=0.5):
    rows, served = recorded(case, wire=[f"both delay_us={delay_ms * 1000:.0f}"], steps=[(MOUNTED_S, f"both loss={share}")],
                            load=dict(rate=150, cap=128, ops=800, secs=5),
                            storage=dict(read_us=mean_ms * 1000, write_us=mean_ms * 1000, distribution="exponential"))
    seconds = nfsload.shares(rows, served, 2 * delay_ms)
    whole = sum(seconds.values())
    found = ["network-loss"] if seconds["rest"] > whole / 4 and lost_frames(case) >= 5 else []
    found += ["server-slow"] if seconds["server"] > whole / 3 else []
    return judged(rows, served, 2 * delay_ms, rest="network", case=case, find=found, injected=["network-loss"], skip=["one_way"],
                  causes={**CAUSES, "network": ["network-loss", "network-delay"]}, forbid=["server-concurrency-cap", *NEVER])
