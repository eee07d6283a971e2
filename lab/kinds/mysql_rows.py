"""Rows between MariaDB and a client that is slow with them."""

from kinds.mysql import delays, judged, recorded
from kinds.pgsql_rows import BULK, SMALL_BUFFER
from kit import expect
from kit.kinds import kind

NEVER = ["network-loss", "network-delay", "server-slow", "server-stall", "capture-incomplete"]

@kind(
    "mysql-load-slow-feeder",
    "LOAD DATA LOCAL by a client that pauses between the pieces of its file",
    mild=dict(pause_ms=15),
    harsh=dict(pause_ms=300, piece=200_000),
    healthy=dict(pause_ms=0),
    draw=lambda d: dict(pause_ms=d.log_uniform(10, 500), piece=d.choice([8000, 40_000, 200_000]), rtt_ms=d.log_uniform(0.2, 4)),
)
def load_slow_feeder(case, pause_ms, piece=40_000, rtt_ms=0.4):
    pieces = max(4, min(100, round(4.3e3 / pause_ms))) if pause_ms else 1
    told = dict(loads="rows_of_a_file", pieces=pieces, piece=piece if pause_ms else 9000, pause_ms=pause_ms, n=1 if pause_ms else 60)
    setup = "set global local_infile = 1; create table rows_of_a_file (v varchar(200)) engine = myisam;"
    rows, served = recorded(case, [told], wire=delays(rtt_ms), setup=setup)
    if not pause_ms:
        return judged(rows, served, 2 * rtt_ms, rest="server", skip=BULK)
    return expect.Expectation(
        side=["client"], skip=BULK, cause=["sender-application-limited"], find=["sender-application-limited"], forbid=[*NEVER, "receive-window-limited"]
    )


@kind(
    "mysql-slow-reader",
    "rows that a client takes one by one, with pauses: the server waits for room",
    mild=dict(pause_ms=20),
    harsh=dict(pause_ms=150),
    healthy=dict(pause_ms=0),
    draw=lambda d: dict(pause_ms=d.log_uniform(15, 300), rtt_ms=d.log_uniform(0.2, 1)),
)
def slow_reader(case, pause_ms, rtt_ms=0.4):
    rows = 650 * min(150, round(4.3e3 / pause_ms)) + 5000 if pause_ms else 200
    told = dict(streams=f"select repeat('v', 90) from seq_1_to_{rows}", every=650, pause_ms=pause_ms, n=1 if pause_ms else 100)
    bench = dict(sysctl={"client": [SMALL_BUFFER]}) if pause_ms else None
    rows, served = recorded(case, [told], wire=delays(rtt_ms), setup="", bench=bench)
    if not pause_ms:
        return judged(rows, served, rtt_ms, rest="server", skip=BULK)
    return expect.Expectation(
        side=["client"], skip=BULK, cause=["receive-window-limited"], find=["receive-window-limited"], forbid=[*NEVER, "sender-application-limited"]
    )
