"""Starts that take long: ten seconds to log in, name by name; and one over a VPN, exchange by exchange."""

import json
import struct
import subprocess
import sys

from kit import expect
from kit.apps.ganesha import Ganesha
from kit.apps.postgresql import PostgreSQL
from kit.build import SOURCES, binary
from kit.kinds import kind

SERVER, DNS, SILENT_DNS, NOBODY = "10.0.0.2", "10.0.0.53", "10.0.0.54", "10.0.0.77"
ANY_SIDE = ["client", "network", "server", "mixed", "undetermined", "none"]
LICENCE_PORT, NETBIOS_PORT, LISTENER_PORT = 5093, 137, 1521


def log_in(bench, steps):
    """Takes the steps (`src/login.py`) on the client; seconds of each into the truth."""
    out = f"{bench.scratch}/login.json"
    bench.run(bench.client, sys.executable, f"{SOURCES}/login.py", json.dumps(steps), out)
    bench.truth["app"] = took = {"what": "seconds of each step by the client's own clock", **json.load(open(out))}
    return took


def netbios_query(name):
    """RFC 1002: who has this name? To everybody."""
    letters = name.upper().ljust(15)[:15] + "\0"
    coded = b"".join(bytes([0x41 + (ord(c) >> 4), 0x41 + (ord(c) & 15)]) for c in letters)
    return (struct.pack(">6H", 0x8001, 0x0110, 1, 0, 0, 0) + b"\x20" + coded + b"\0" + struct.pack(">2H", 0x20, 1)).hex()


def nanoseconds(seconds, low=0.97, high=1.03):
    return {"between": [seconds * 1e9 * low, seconds * 1e9 * high + 20e6]}


# The recorded start-up of tests/startup is the like, with a directory that is slow to say what it has not.
@kind("field-login", "ten seconds to log in: a name that nobody knows, a licence server that nobody runs, a missing file", field_case="F20",
      mild=dict(silent_dns_s=0.5, netbios=1, licence=1, refused=0, logon_s=0),
      harsh=dict(silent_dns_s=1.3, netbios=3, licence=4, refused=3, logon_s=1),
      healthy=dict(silent_dns_s=0, netbios=0, licence=0, refused=0, logon_s=0),
      draw=lambda d: dict(silent_dns_s=d.choice([0, 0.5, 1, 2]), netbios=d.randint(0, 3), licence=d.randint(1, 4),
                          refused=d.randint(0, 3), logon_s=d.randint(0, 2)))
def login(case, silent_dns_s, netbios, licence, refused, logon_s):
    name = "TNS:PRODDB.example.test" if silent_dns_s else "proddb.example.test"
    steps = [["dns", "dns", [SILENT_DNS, DNS] if silent_dns_s else [DNS], name, silent_dns_s or 1]]
    if netbios:
        steps.append(["netbios", "broadcast", NETBIOS_PORT, netbios_query("TNS:PRODDB"), netbios, 0.75])
    if licence:
        steps.append(["licence", "broadcast", LICENCE_PORT, b"where is the licence server?".hex(), licence, 1.0])
    if refused:
        steps.append(["refused", "connect", SERVER, LISTENER_PORT, refused, 0.3])
    missing = [f"host={SERVER}", "file=/missing.ora", "ver=3", "mountport=20048"]
    steps += [["files", "run", binary("nfsload"), *missing], ["logon", "logon", SERVER]]
    with case.bench(snap=512) as b:
        b.wire("both delay_us=200")
        b.server.sh("; ".join(f"ip addr add {a}/24 dev eth0" for a in (DNS, SILENT_DNS)))
        hold = f"import socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('{SILENT_DNS}', 53)); time.sleep(60)"
        b.start(b.server.command(sys.executable, "-c", hold))
        b.start(b.server.command("dnsmasq", "-k", "--no-resolv", "--no-hosts", "--conf-file=/dev/null", "--local=/test/",
                                 "--bind-interfaces", f"--listen-address={DNS}", "--except-interface=lo",
                                 "--address=/proddb.example.test/10.0.0.2", "--pid-file"),
                stderr=subprocess.DEVNULL)
        Ganesha(b)
        PostgreSQL(b, settings={"pre_auth_delay": logon_s})
        with b.capture(filter=""):
            took = log_in(b, steps)
    if not (silent_dns_s or netbios or licence or refused or logon_s):
        return expect.healthy()
    waited = {"dns": ("dns", "no-answer", silent_dns_s and took["dns"]),
              "netbios": ("nbns", "no-answer", took.get("netbios", 0)),
              "licence": ("broadcast", "no-answer", took.get("licence", 0)),
              "refused": ("connect", "refused", took.get("refused", 0)), "logon": ("logon", "answered", logon_s and took["logon"])}
    case.truth["waited_s"] = {k: v[2] for k, v in waited.items()}
    # Whose it is differs by step: names and a licence that are configured, servers that are silent, a slow log-in.
    told = expect.Expectation(side=ANY_SIDE, forbid=["network-loss", "network-outage", "network-delay"])
    ranked = sorted((v for v in waited.values() if v[2]), key=lambda v: -v[2])
    checks = {f"client.reasons[{i}].{field}": wanted for i, (what, ending, seconds) in enumerate(ranked)
              for field, wanted in (("kind", {"in": [what]}), ("ending", {"in": [ending]}), ("cost_ns", nanoseconds(seconds)))
              # Two that took nearly as long may stand in either order.
              if all(other is seconds or abs(other - seconds) > 0.1 * seconds for _, _, other in ranked)}
    names = [*([r"TNS:PRODDB"] if silent_dns_s or netbios else []), *([rf"10\.0\.0\.255:{LICENCE_PORT}"] if licence else []),
             *([rf"10\.0\.0\.2:{LISTENER_PORT}"] if refused else []), *([r"missing\.ora"])]
    total = sum(v[2] for v in waited.values())
    told.runs = [expect.run("what it waited for", "startup", ["client.pcap", "--client", "10.0.0.1", "--all"], says=names,
                            first=[r"in all"], json={**checks, "client.waited_ns": {"between": [0.97e9 * total, 1.05e9 * total + 5e8]}})]
    return told


@kind("field-login-vpn", "a start over a VPN: many short exchanges with a file server and a database, each a round trip", field_case="F21",
      mild=dict(round_trip_ms=12, reads=60, queries=40), harsh=dict(round_trip_ms=40, reads=70, queries=40),
      healthy=dict(round_trip_ms=0.4, reads=200, queries=150),
      draw=lambda d: dict(round_trip_ms=(t := d.log_uniform(10, 80)), reads=int(2500 / t) + d.randint(5, 20),
                          queries=int(1500 / t) + d.randint(5, 20)))
def login_vpn(case, round_trip_ms, reads, queries):
    with case.bench(snap=400) as b:
        b.wire(f"both delay_us={round_trip_ms * 500:.0f}")
        Ganesha(b)
        PostgreSQL(b)
        read = [f"host={SERVER}", "ver=3", "mountport=20048", "bs=512", "readpct=100", "jobs=1", "cap=1", f"ops={reads}", "secs=20",
                f"out={b.scratch}/reads.csv"]
        with b.capture(filter=""):
            took = log_in(b, [["files", "run", binary("nfsload"), *read], ["database", "queries", SERVER, queries]])
    if round_trip_ms < 2:
        return expect.healthy()
    # The line is long, and whoever asks so often on it is who makes it so: both may be said.
    causes = ["network-delay", "chatty"]
    told = expect.Expectation(side=["network", "client", "mixed"], cause=causes, forbid=["server-slow", "network-loss", "network-outage"])
    files, database = took["files"], took["database"]
    # What a connection, a mount and a log-on take is within the steps and stands under other reasons.
    by_server = {"client.reasons[0].kind": {"in": ["file" if files > database else "call"]},
                 "client.reasons[0].cost_ns": nanoseconds(max(files, database), low=0.75),
                 "client.waited_ns": nanoseconds(files + database, low=0.9)}
    told.runs = [expect.run("both ends", "diagnose", ["client.pcap", "server.pcap"], side=told.side, cause=causes, first=[r"(network-delay|chatty)"]),
                 expect.run("by server and by wait", "startup", ["client.pcap", "--client", "10.0.0.1"], json=by_server,
                            says=[r"10\.0\.0\.2:2049 +file servers", r"10\.0\.0\.2:5432 +"])]
    return told
