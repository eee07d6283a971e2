"""A host that works for its clients with calls of its own: captured next to it, both are to be told apart."""

import os

from kit import expect
from kit.apps import pgbouncer, postgresql
from kit.apps.pgbouncer import PgBouncer
from kit.apps.postgresql import PostgreSQL
from kit.kinds import kind

from kinds.pgsql import BUSY, judged


@kind("tier-pooler", "a pooler on a host of its own, and what lies beneath it: the way to the database, or its statements",
      mild=dict(query_ms=8, far_ms=0.2), harsh=dict(query_ms=2, far_ms=20, sessions=3), healthy=dict(query_ms=0, far_ms=0.1),
      draw=lambda d: dict(query_ms=d.choice([0, d.log_uniform(4, 60)]), far_ms=d.log_uniform(0.1, 20), sessions=d.randint(1, 5)))
def pooler(case, query_ms, far_ms, near_ms=0.2, sessions=1):
    turn = [f"select pg_sleep({query_ms / 1e3}), {{i}}" if query_ms else "select {i}, 'known'", "think 15"]
    with case.bench(noise_limits=BUSY, routed=True) as b:
        database = PostgreSQL(b)
        between = PgBouncer(b, size=10, between=True)
        b.wire(f"both delay_us={near_ms * 1000:.0f}", at=0)
        b.wire(f"both delay_us={far_ms * 1000:.0f}", at=-1)
        work = [dict(work="script", steps=turn, secs=4, n=150)] * sessions
        # The pooler has a card on each side.
        with b.capture(middle=True, device="any"):
            rows = postgresql.load(b, work, port=pgbouncer.PORT, address=between.address)
        served = database.log()
    # To the application its server is the pooler; what lies beneath is captured at the database.
    for name, place in (("below", "server"), ("server", "middle")):
        os.rename(f"{case.folder}/{place}.pcap", f"{case.folder}/{name}.pcap")
    asked = [r for r in rows if r["op"] != "connect"]
    beneath_ns = sum(r[2] for r in served if r[3]) * 1e6 + 2e6 * far_ms * len(asked)
    expectation = judged(rows, served, 2 * near_ms, rest="server", turns=False)
    if beneath_ns / len(asked) >= 2e6:
        tier = {"tiers[0].below": {"in": [f"{b.server.address}:5432"]},
                "tiers[0].most_ns": {"between": [0.85 * beneath_ns, 1.2 * beneath_ns + 1e6 * len(asked)]}}
        if sessions == 1:
            tier["tiers[0].least_ns"] = tier["tiers[0].most_ns"]
        # The way to the database and its statements are told apart as far as one end can.
        far = "network" if 2 * far_ms > 3 * query_ms else "server" if query_ms > 6 * far_ms else None
        if far:
            # How many statements there are is not the pooler's choice: it is not chatty.
            tier["tiers[0].diagnosis.verdict.side"] = {"in": [far, "undetermined", "mixed"]}
        said = dict(side=["server"], find=["downstream-wait"], first=[r"downstream-wait"] if sessions == 1 else [], json=tier)
        expectation.runs = [expect.run("at the pooler", "diagnose", ["server.pcap"], **said),
                            expect.run("with its client", "diagnose", ["--client", "client.pcap", "--server", "server.pcap"], **said)]
    return expectation
