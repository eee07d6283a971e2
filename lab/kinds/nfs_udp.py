"""NFS version 3 over UDP: datagrams of several fragments, and a client that asks again after a second."""

from kinds.nfs import CAUSES, NEVER, judged, recorded
from kinds.nfs_network import MOUNTED_S
from kit.apps import nfsload
from kit.kinds import kind

UDP = {"transports": "UDP, TCP"}


@kind("nfs-udp-delay", "NFS over UDP, over a path that takes long",
      mild=dict(out_ms=2, back_ms=2), harsh=dict(out_ms=20, back_ms=5), healthy=dict(out_ms=0.1, back_ms=0.1),
      busy=dict(out_ms=0, back_ms=0, jobs=4),
      draw=lambda d: dict(out_ms=d.log_uniform(1, 30), back_ms=d.log_uniform(1, 30), mtu=d.choice([1500, 1500, 9000])))
def udp_delay(case, out_ms, back_ms, jobs=0, mtu=1500):
    rows, served = recorded(case, wire=[f"c2s delay_us={out_ms * 1000:.0f}", f"s2c delay_us={back_ms * 1000:.0f}"], storage=UDP,
                            bench=dict(mtu=mtu), load=dict(version="3 udp", rate=0 if jobs else 250, jobs=jobs, cap=jobs or 64, ops=1200, secs=5))
    return judged(rows, served, out_ms + back_ms, rest="network", case=case, injected=["client-concurrency-cap"] if jobs else [],
                  forbid=["network-loss", "server-slow", *NEVER])


@kind("nfs-udp-slow-storage", "NFS over UDP, from slow storage",
      mild=dict(mean_ms=4), harsh=dict(mean_ms=25), healthy=dict(mean_ms=0),
      draw=lambda d: dict(mean_ms=d.log_uniform(3, 60), distribution=d.choice(["fixed", "exponential"])))
def udp_slow_storage(case, mean_ms, distribution="exponential"):
    wait = mean_ms * 1000
    rows, served = recorded(case, wire=["both delay_us=150"], storage=dict(read_us=wait, write_us=wait, distribution=distribution, **UDP),
                            load=dict(version="3 udp", rate=min(220, 4000 / max(mean_ms, 1)), cap=96, ops=1100, secs=5))
    return judged(rows, served, 0.3, rest="server", case=case, forbid=["network-delay", "network-loss", *NEVER])


@kind("nfs-udp-lost-fragments", "NFS over UDP, whose fragments are lost: the whole datagram is, and the client asks again after its timer",
      mild=dict(share=0.002), harsh=dict(share=0.015), healthy=dict(share=0),
      draw=lambda d: dict(share=d.log_uniform(0.0015, 0.02), timeout_ms=d.choice([300, 700, 1100]), delay_ms=d.log_uniform(0.1, 4),
                          direction=d.choice(["both", "c2s", "s2c"])))
def udp_lost_fragments(case, share, timeout_ms=1100, delay_ms=0.2, direction="both"):
    rows, served = recorded(case, wire=[f"both delay_us={delay_ms * 1000:.0f}"], steps=[(MOUNTED_S, f"{direction} loss={share}")], storage=UDP,
                            load=dict(version="3 udp", rate=200, cap=256, timeout_ms=timeout_ms, ops=1000, secs=5))
    again = sum(r["sent"] > 1 for r in rows)
    seconds = nfsload.shares(rows, served, 2 * delay_ms)
    said = again >= 3 and seconds["rest"] > 0.2 * sum(seconds.values())
    named = ["network-loss", "fragments-lost"] + ([] if seconds["rest"] > 2 * seconds["network"] else ["network-delay"])
    return judged(rows, served, 2 * delay_ms, rest="network", case=case, causes={**CAUSES, "network": named},
                  find=[["network-loss", "fragments-lost"]] if said else [], injected=["network-loss"] if again else [], skip=["one_way"],
                  forbid=["server-slow", "server-stall", "server-concurrency-cap", *NEVER])
