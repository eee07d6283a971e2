"""NFS clients that hold their own calls: caps, slots, Nagle, a reader that does not read."""

from kinds.nfs import CAUSES, NEVER, judged, recorded
from kit import expect
from kit.apps import nfsload
from kit.kinds import kind

PATH_MS = 1.0


def waited_ms(rows):
    """Mean time of finished operations before they were handed to the client's NFS."""
    finished = nfsload.done(rows)
    return sum(r["t_issue_ns"] - r["t_enq_ns"] for r in finished) / len(finished) / 1e6


def capped(case, rows, served, cap, path_ms):
    """Expectation of a client that keeps `cap` calls outstanding and lets the application wait for the rest."""
    host_ms = waited_ms(rows)
    seconds = nfsload.shares(rows, served, path_ms)
    seconds["server"] += seconds.pop("rest")
    expected = judged(rows, served, path_ms, rest="server", case=case, find=["client-concurrency-cap"],
                      facts={"client-concurrency-cap": {"cap": [cap, cap]}}, forbid=["network-loss", "server-concurrency-cap", *NEVER])
    mean_ms, _ = nfsload.response_ms(rows)
    if expected.side == ["none"] and mean_ms + host_ms < expect.FAST_ENOUGH_MS:
        return expected
    # The wire cannot tell a cap from as many threads that each wait for their call, so that it blames who holds these
    # calls, or the client for its flat top. The application knows.
    expected.side = [*dict.fromkeys([*expected.side, "client", "mixed", "undetermined"])]
    expected.cause = None
    expected.without = {evidence: [*dict.fromkeys([*sides, "client", "mixed"])] for evidence, sides in expected.without.items()}
    with_host = {**seconds, "client": host_ms / 1000 * len(nfsload.done(rows))}
    sides = expect.sides_of(with_host)
    causes = ["client-concurrency-cap", "client-host-slow"] + ([] if sides == ["client"] else CAUSES["server"] + CAUSES["network"])
    expected.app = {"side": sides, "cause": causes, "client_host_ms": [round(0.93 * host_ms, 2), round(1.07 * host_ms + 0.6, 2)]}
    return expected


@kind("nfs-client-cap", "the client keeps few calls outstanding, its application waits with more",
      mild=dict(cap=16, jobs=48, service_ms=16), harsh=dict(cap=4, jobs=64, service_ms=4), healthy=dict(cap=64, rate=300, service_ms=0),
      draw=lambda d: dict(cap=(cap := d.choice([2, 4, 6, 8, 12, 16, 24])), jobs=cap * d.choice([3, 4, 8]), service_ms=round(1.2 * cap, 1),
                          version=d.choice(["3", "4.0"])))
def client_cap(case, cap, service_ms, jobs=0, rate=0, version="3"):
    rows, served = recorded(case, wire=[f"both delay_us={PATH_MS * 500:.0f}"], storage=dict(read_us=service_ms * 1000, write_us=service_ms * 1000),
                            load=dict(version=version, rate=rate, jobs=jobs, cap=cap, ops=2600, secs=5))
    return capped(case, rows, served, cap, PATH_MS)


@kind("nfs-slots", "a session of NFSv4.1 has few slots, the application has more to do",
      mild=dict(slots=8, jobs=24, service_ms=10), harsh=dict(slots=4, jobs=64, service_ms=5), healthy=dict(slots=64, rate=300, service_ms=0),
      draw=lambda d: dict(slots=(slots := d.choice([2, 4, 6, 8, 12, 16])), jobs=slots * d.choice([3, 5, 8]), service_ms=round(1.3 * slots, 1)))
def slots_of(case, slots, service_ms, jobs=0, rate=0):
    rows, served = recorded(case, wire=[f"both delay_us={PATH_MS * 500:.0f}"], storage=dict(read_us=service_ms * 1000, write_us=service_ms * 1000),
                            load=dict(version="4.1", slots=slots, rate=rate, jobs=jobs, cap=64, ops=2600, secs=5))
    return capped(case, rows, served, slots, PATH_MS)


@kind("nfs-nagle", "the client leaves Nagle on: small requests wait in it for an acknowledgement",
      mild=dict(delay_ms=2), harsh=dict(delay_ms=10), healthy=dict(delay_ms=0.1),
      draw=lambda d: dict(delay_ms=d.log_uniform(1.5, 15), rate=d.choice([150, 250, 350])))
def nagle(case, delay_ms, rate=300):
    rows, served = recorded(case, wire=[f"both delay_us={delay_ms * 1000:.0f}"], load=dict(rate=rate, cap=96, nodelay=0, ops=1500, secs=5))
    took = sorted(r["t_done_ns"] - r["t_issue_ns"] for r in nfsload.done(rows))
    found = ["nagle", "network-delay"] if delay_ms * rate > 300 else []
    expected = judged(rows, served, 2 * delay_ms, rest="client", case=case, find=found, injected=["nagle", "split-writes"],
                      causes={**CAUSES, "client": ["nagle"]}, host_ns=max(300_000, took[len(took) // 2]),
                      forbid=["nagle-delayed-ack", "network-loss", "server-slow", "server-stall", "server-concurrency-cap", *NEVER])
    if expected.side != ["none"]:
        # What waited in the client's socket before it was sent is not in any capture as a time, so the wire's share is the path's.
        expected.side = [*dict.fromkeys([*expected.side, "network", "client", "mixed"])]
        expected.cause = ["nagle", "network-delay"]
        expected.without = {evidence: expected.side for evidence in ("window", "cut out")}
    return expected


@kind("nfs-slow-reader", "the client's process takes answers slowly, until the server may not send",
      mild=dict(pause_ms=6), harsh=dict(pause_ms=25), healthy=dict(pause_ms=0, rate=120),
      draw=lambda d: dict(pause_ms=d.log_uniform(5, 30), jobs=d.choice([16, 32, 64]), version=d.choice(["4.0", "4.1"]), whole=d.random() < 0.7))
def slow_reader(case, pause_ms, jobs=16, rate=0, version="4.0", whole=True):
    block = 4096
    # Answers lie packed in the stream: only whole packets hold the headers of all.
    rows, served = recorded(case, wire=["both delay_us=200"], bench=dict(snap=0 if whole else 320),
                            load=dict(version=version, rate=rate, jobs=jobs, cap=64 if rate else jobs, bs=block, readpct=100, ops=600, secs=5,
                                      rcvbuf=4 * block if pause_ms else 0, read_bytes=block, read_sleep_us=pause_ms * 1000))
    took = sorted(r["t_done_ns"] - r["t_issue_ns"] for r in nfsload.done(rows))
    return judged(rows, served, 0.4, rest="client", case=case, causes={**CAUSES, "client": ["receive-window-limited", "client-host-slow"]},
                  find=["receive-window-limited"], injected=["client-concurrency-cap"], skip=["one_way"], host_ns=max(300_000, took[len(took) // 2]),
                  forbid=["server-slow", "server-stall", "server-concurrency-cap", "network-loss", "network-bandwidth", *NEVER])
