"""Links that are bundles of others (LACP, ECMP): each connection takes one of them, chosen by its addresses and ports."""

import subprocess

from kinds import pgsql
from kit import expect
from kit.apps import postgresql
from kit.kinds import kind


@kind(
    "pgsql-bad-member",
    "of the links of a bundle one loses packets: connections that it carries suffer, others of the same hosts do not",
    mild=dict(percent=3),
    harsh=dict(percent=12),
    healthy=dict(percent=0),
    draw=lambda d: dict(percent=d.log_uniform(3, 20), to_server=d.choice([False, True]), rtt_ms=d.log_uniform(0.2, 4)),
)
def bad_member(case, percent, to_server=False, rtt_ms=0.6, sessions=8):
    # Who pauses for longer than a turn takes makes no loop of them.
    turn = ["select {i}, repeat('r', 2000)", "think 8"]
    bad = []
    with case.bench(routed=True, noise_limits=pgsql.BUSY) as b:
        database = postgresql.PostgreSQL(b)
        b.wire(f"both delay_us={rtt_ms * 500:.0f}")

        def lose():
            """A quarter of the connections that there are, as their ports tell a bundle."""
            said = subprocess.run(b.client.command("ss", "-tnH", "dport", "=", ":5432"), capture_output=True, text=True, check=True).stdout
            ports = sorted(line.split()[3].rpartition(":")[2] for line in said.splitlines())
            bad.extend(ports[: len(ports) // 4])
            port, device = ("sport", "eth9") if to_server else ("dport", "eth0")
            b.forward(f'oifname "{device}" tcp {port} {{ {", ".join(bad)} }} numgen random mod 1000 < {round(percent * 10)} drop')

        with b.capture():
            if percent:
                b.later((0.4, lose))
            rows = postgresql.load(b, [dict(work="script", steps=turn, n=2000, secs=5)] * sessions)
        served = database.log()
    if not percent:
        return expect.healthy()
    if not bad:
        raise RuntimeError("no connection took the bad member")
    expectation = pgsql.judged(rows, served, rtt_ms, rest="network", turns=False)
    if expectation.side == ["network"]:
        both = ["--client", "client.pcap", "--server", "server.pcap"]
        expectation.runs = [expect.run("at both ends", "diagnose", both, side=["network"], cause=["network-loss"])]
    return expectation
