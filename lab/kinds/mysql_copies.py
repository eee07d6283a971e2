"""Replicas of MariaDB, which ask a few questions and then copy the server's binary log: over a line that is full, or with commits that
wait for what a replica far away confirms."""

import re
import subprocess

from kit import expect
from kit.apps import mariadb
from kit.kinds import kind

from kinds.mysql import judged

LOGS = ["--log-bin=bin", "--server-id=1", "--binlog-format=ROW"]
CONFIRMED = ["--rpl-semi-sync-master-enabled=ON", "--rpl-semi-sync-master-wait-point=AFTER_SYNC"]
EVENTS = "create table events (n int primary key auto_increment, v longblob);"


@kind(
    "mysql-replica",
    "a replica begins to copy the binary log over a line that is too narrow for what is written",
    field_case="K51",
    mild=dict(rate=6),
    harsh=dict(rate=2),
    healthy=dict(rate=None),
    draw=lambda d: dict(rate=d.choice([None, d.log_uniform(1.5, 8)]), delay_ms=d.log_uniform(0.1, 5), size=int(d.log_uniform(500, 8000))),
)
def replica(case, rate, delay_ms=0.3, size=2000):
    # Written on the server's own host: some 8 Mbit/s, or twice as much as the line carries.
    per_s = 2 * (rate or 1.5) * 1e6 / 8 / size
    with case.bench() as b:
        server = mariadb.MariaDB(b, setup=EVENTS, settings=LOGS)
        copies = mariadb.Replica(server, b.client)
        b.wire(f"both delay_us={delay_ms * 1000:.0f}" + (f" rate_mbit={rate:.3f}" if rate else ""))
        written = "".join(f"insert into lab.events (v) values (repeat(char(65 + {n} % 26), {size:.0f})); do sleep({1 / per_s:.6f});\n" for n in range(20_000))
        with b.capture():
            copies.begin()
            command = ["timeout", "4", "mariadb", "--no-defaults", "-S", server.socket, "-u", "root"]
            subprocess.run(command, input=written, text=True, stdout=subprocess.DEVNULL)
        server.log()
    if not rate:
        return expect.healthy()
    # Behind the replica nobody sees how full the line is; and its first questions alone are none of that.
    expected = expect.Expectation(side=["network"], cause=["network-bandwidth", "network-bufferbloat"], alone=["undetermined"],
                                  find=[["network-bandwidth", "network-bufferbloat"]], forbid=["network-loss", "capture-incomplete", "server-slow"])
    said = dict(side=["network"], first=[r"(?i)line|link|full|queue"])
    expected.runs = [expect.run("at the server", "diagnose", ["--server", "server.pcap"], **said),
                     expect.run("at both ends", "diagnose", ["--client", "client.pcap", "--server", "server.pcap"], **said)]
    return expected


@kind(
    "mysql-semi-sync",
    "a database whose commits wait for a replica far away, or do not",
    field_case="K52",
    mild=dict(far_ms=5),
    harsh=dict(far_ms=30, sessions=4),
    healthy=dict(far_ms=30, waits=False),
    draw=lambda d: dict(far_ms=d.log_uniform(0.1, 50), sessions=d.randint(1, 6), waits=d.random() < 0.8),
)
def semi_sync(case, far_ms, sessions=2, near_ms=0.2, waits=True):
    turn = ["insert into events (v) values ('{i}')", "think 15"]
    with case.bench(clients=2) as b:
        server = mariadb.MariaDB(b, setup=EVENTS, settings=[*LOGS, *(CONFIRMED if waits else [])])
        far = b.clients[1]
        copies = mariadb.Replica(server, far, confirms=waits)
        b.wire(f"both delay_us={near_ms * 1000:.0f}", at=0)
        b.wire(f"both delay_us={far_ms * 1000:.0f}", at=1)
        with b.capture():
            copies.begin()
            # What is committed before it has asked for the log waits for nobody.
            clients = lambda: server.sql("show status like 'Rpl_semi_sync_master_clients'").split()[-1:]
            b.until(lambda: not waits or clients() != ["0"], copies.process, "the replica")
            rows = mariadb.load(b, [dict(steps=turn, n=150, secs=4)] * sessions)
        served = server.log()
    expected = judged(rows, served, 2 * near_ms)
    beneath_ns = 2e6 * far_ms * sum(r["op"].lower() == "insert" for r in rows) if waits else 0
    of_service = sum(r[1] for r in served if r[4].lower().startswith("insert")) * 1e6
    if beneath_ns > 0.6 * of_service and "server" in expected.side:
        tier = {"tiers[0].asks_for": {"in": ["copies"]}, "tiers[0].least_ns": {"between": [0.5 * beneath_ns, of_service]}}
        said = dict(side=expected.side, find=["downstream-wait"], first=[rf"standby {re.escape(far.address)}"], json=tier)
        expected.runs = [expect.run("at the server", "diagnose", ["server.pcap"], **said),
                         expect.run("at both ends", "diagnose", ["--client", "client.pcap", "--server", "server.pcap"], **said)]
    if not waits:
        expected.forbid = [*expected.forbid, "downstream-wait"]
        # The replica's own session begins with some twelve calls, each of which crosses its way: to the server they are calls.
        if 12 * 2 * far_ms > 0.5 * len(rows):
            expected.alone = [*expected.alone, "network", "mixed"]
    return expected
