#!/usr/bin/env python3
"""Lets slowside capture take captures of hosts that are there: network namespaces with Debian's sshd, keys of their own,
traffic between them and tcpdump on both, and what goes wrong on the way.

    sudo scripts/capture_checks.py target/release/slowside          all, under a minute
    sudo scripts/capture_checks.py target/release/slowside cut gone only these

Needs root, openssh-server, openssh-client, sudo, tcpdump, iproute2, nftables, util-linux, zstd, python3-jsonschema and, for what
the role of Ansible does (fleet), ansible-playbook in PATH; what is missing is said, and nothing is left out for it. All of it lives in namespaces of this run (network, mounts, processes) and ends
with it; no file of the user or the system is read or written.

         desk (slowside runs here)
       10.99.0.1
    ___________|______ ways of ssh _____________________
       |.2              |.3           |.5       |.4
     client          server 10.98.0.1 |      inside 10.97.0.2
       |10.98.0.2       |             |         |
       '----- data -----'------- router (NAT) --'
"""

import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = pathlib.Path("/run/checks")
SERVER, PORT = "10.98.0.1", 5000
# What the server takes for an answer, and its clock is ahead elsewhere.
SERVICE, SLOW, AHEAD = 0.03, 0.4, 3
NEEDED = {
    "sshd": "openssh-server",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "tcpdump": "tcpdump",
    "ip": "iproute2",
    "ss": "iproute2",
    "nft": "nftables",
    "sudo": "sudo",
    "unshare": "util-linux",
    "zstd": "zstd",
}


def sh(line: str) -> None:
    subprocess.run(line, shell=True, check=True)


def inside(space: str, *words: str, **how) -> subprocess.Popen:
    return subprocess.Popen(["ip", "netns", "exec", space, *words], **how)


# ---- the hosts


def network() -> None:
    for space in ("desk", "client", "server", "inside", "router"):
        sh(f"ip netns add {space}; ip -n {space} link set lo up")
    sh("ip -n desk link add ways type bridge; ip -n desk addr add 10.99.0.1/24 dev ways; ip -n desk link set ways up")
    for number, space in ((2, "client"), (3, "server"), (4, "inside"), (5, "router")):
        sh(f"ip -n desk link add to-{space} type veth peer name ssh0 netns {space}")
        sh(f"ip -n desk link set to-{space} master ways up; ip -n {space} link set ssh0 up")
        sh(f"ip -n {space} addr add 10.99.0.{number}/24 dev ssh0")
    sh("ip -n client link add data0 type veth peer name data0 netns server")
    for space, address in (("client", "10.98.0.2"), ("server", SERVER)):
        sh(f"ip -n {space} addr add {address}/24 dev data0; ip -n {space} link set data0 up")
    # Another client, whose address the router changes.
    sh("ip -n inside link add data0 type veth peer name in0 netns router")
    sh("ip -n server link add nat0 type veth peer name out0 netns router")
    sh("ip -n inside addr add 10.97.0.2/24 dev data0; ip -n inside link set data0 up")
    sh("ip -n router addr add 10.97.0.1/24 dev in0; ip -n router link set in0 up")
    sh("ip -n router addr add 10.96.0.1/24 dev out0; ip -n router link set out0 up")
    sh("ip -n server addr add 10.96.0.2/24 dev nat0; ip -n server link set nat0 up")
    sh(f"ip -n inside route add {SERVER}/32 via 10.97.0.1; ip -n router route add {SERVER}/32 via 10.96.0.2")
    sh("ip netns exec router sysctl -qw net.ipv4.ip_forward=1")
    sh("ip netns exec router nft 'add table nat; add chain nat post { type nat hook postrouting priority 100; };"
       " add rule nat post oifname out0 masquerade'")


def sshd(space: str, port: int = 22, path: str | None = None) -> subprocess.Popen:
    """Debian's, with keys and a configuration of its own."""
    config = WORK / f"sshd-{space}-{port}"
    config.write_text(
        f"Port {port}\nHostKey {WORK}/host\nAuthorizedKeysFile {WORK}/user.pub\nStrictModes no\nUsePAM no\n"
        f"PermitRootLogin yes\nPasswordAuthentication no\nPidFile none\nMaxStartups 100\n"
        + (f"SetEnv PATH={path}\n" if path else "")
    )
    return inside(space, "/usr/sbin/sshd", "-D", "-e", "-f", str(config), stderr=subprocess.DEVNULL)


def hosts() -> dict[str, subprocess.Popen]:
    for key in ("host", "user"):
        sh(f"ssh-keygen -q -t ed25519 -N '' -f {WORK}/{key}")
    # Somebody who may not capture, and one who may as root, in a copy of the list of users.
    users, rights = WORK / "passwd", WORK / "sudoers"
    more = [f"{name}:*:{id}:{id}::/tmp:/bin/sh\n" for name, id in (("plain", 4711), ("admin", 4712))]
    users.write_text(pathlib.Path("/etc/passwd").read_text() + "".join(more))
    sh(f"mount --bind {users} /etc/passwd")
    rights.write_text("root ALL=(ALL:ALL) ALL\nadmin ALL=(root) NOPASSWD: ALL\n")
    rights.chmod(0o440)
    sh(f"mount --bind {rights} /etc/sudoers")
    # A host without tcpdump, and one whose clock is ahead.
    bare, late = WORK / "bare", WORK / "late"
    bare.mkdir()
    late.mkdir()
    for folder in ("/usr/bin", "/bin", "/usr/sbin", "/sbin"):
        for program in os.listdir(folder):
            if program not in ("tcpdump", "snoop") and not (bare / program).exists():
                (bare / program).symlink_to(f"{folder}/{program}")
    # sbin is looked into in any case.
    for folder in ("/usr/sbin", "/sbin", "/usr/local/sbin"):
        assert not os.path.exists(f"{folder}/tcpdump"), f"{folder}/tcpdump would be found"
    date = late / "date"
    date.write_text(
        f'#!/bin/sh\nfor last; do :; done\ncase $last in\n+%s.%N) exec /bin/date -d "{AHEAD} seconds" "$@" ;;\n'
        f'*) exec /bin/date -d "{AHEAD} seconds" "$@" ;;\nesac\n'
    )
    date.chmod(0o755)
    usual = "/usr/local/bin:/usr/bin:/bin"
    daemons = {
        "client": sshd("client"),
        "server": sshd("server"),
        "inside": sshd("inside"),
        "router": sshd("router"),
        "bare": sshd("server", 2201, str(bare)),
        "late": sshd("server", 2202, f"{late}:{usual}"),
        "leaving": sshd("server", 2203),
        "having": sshd("client", 2204, f"{pathlib.Path(SLOWSIDE).parent}:{usual}"),
    }
    names = {
        "client": ("10.99.0.2", 22, "root"),
        "plain": ("10.99.0.2", 22, "plain"),
        "admin": ("10.99.0.2", 22, "admin"),
        "inside": ("10.99.0.4", 22, "root"),
        "router": ("10.99.0.5", 22, "root"),
        "server": ("10.99.0.3", 22, "root"),
        "bare": ("10.99.0.3", 2201, "root"),
        "late": ("10.99.0.3", 2202, "root"),
        "leaving": ("10.99.0.3", 2203, "root"),
        "having": ("10.99.0.2", 2204, "root"),
    }
    (WORK / "config").write_text(
        f"UserKnownHostsFile {WORK}/known\nGlobalKnownHostsFile /dev/null\nStrictHostKeyChecking accept-new\n"
        f"IdentityFile {WORK}/user\nIdentitiesOnly yes\nBatchMode yes\nConnectTimeout 2\n"
        + "".join(f"Host {n}\n  HostName {a}\n  Port {p}\n  User {u}\n" for n, (a, p, u) in names.items())
    )
    return daemons


def serve() -> None:
    """Answers each request of 100 bytes with 500, after SERVICE seconds, or after SLOW if it says so."""
    listener = socket.create_server((SERVER, PORT), backlog=16)

    def one(peer: socket.socket) -> None:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while asked := peer.recv(100):
            time.sleep(SLOW if asked[:1] == b"s" else SERVICE)
            peer.sendall(b"a" * 500)

    while True:
        threading.Thread(target=one, args=(listener.accept()[0],), daemon=True).start()


def ask(letter: bytes = b"q", times: int = 1 << 62) -> None:
    with socket.create_connection((SERVER, PORT)) as peer:
        for _ in range(times):
            peer.sendall(letter * 100)
            if not peer.recv(500, socket.MSG_WAITALL):
                return
            time.sleep(0.005)


def traffic() -> None:
    me = [sys.executable, os.path.abspath(__file__)]
    inside("server", *me, "--serve")
    while not subprocess.run(["ip", "netns", "exec", "server", "ss", "-Hltn", f"sport = :{PORT}"],
                             capture_output=True, check=True).stdout:
        time.sleep(0.05)
    inside("client", *me, "--ask")
    inside("inside", *me, "--ask")


# ---- slowside


class Run:
    """slowside capture, as it goes on and as it ended."""

    def __init__(self, name: str, *words: str, space: str = "desk", path: str | None = None):
        self.folder = WORK / f"out-{name}"
        line = [SLOWSIDE, "capture", "--ssh", f"ssh -F {WORK}/config", "-o", str(self.folder), *words]
        env = {**os.environ, "HOME": str(WORK), "TMPDIR": "/tmp", "TZ": "UTC"}
        if path:
            env["PATH"] = f"{path}:{env['PATH']}"
        self.name = name
        self.process = inside(space, *line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, env=env)
        self.err: list[str] = []
        self.reader = threading.Thread(target=lambda: self.err.extend(iter(self.process.stderr.readline, "")))
        self.reader.start()

    def heard(self, what: str, within: float = 40) -> None:
        end = time.monotonic() + within
        while not any(what in line for line in self.err):
            assert time.monotonic() < end and self.process.poll() is None, f"{self.name}: no {what!r}: {self.err}"
            time.sleep(0.05)

    def end(self, code: int) -> "Run":
        self.out = self.process.stdout.read()
        got = self.process.wait()
        self.reader.join()
        self.said = "".join(self.err)
        assert got == code, f"{self.name}: exit code {got}, not {code}\n{self.said}\n{self.out}"
        return self

    def says(self, *all_of: str) -> None:
        for what in all_of:
            assert what in self.said + self.out, f"{self.name}: {what!r} is not in\n{self.said}\n{self.out}"

    def manifest(self) -> dict:
        manifest = json.loads((self.folder / "manifest.json").read_text())
        import jsonschema

        schema = json.loads((ROOT / "docs/schemas/slowside.capture.1.json").read_text())
        jsonschema.Draft202012Validator(schema).validate(manifest)
        return manifest

    def diagnosis(self) -> dict:
        return json.loads((self.folder / "diagnosis.json").read_text())

    def is_whole(self, least: int) -> dict:
        """Two captures, calls of both matched, and the server named, which is slow."""
        manifest = self.manifest()
        assert [end["packets"]["dropped"] for end in manifest["ends"]] == [0, 0], manifest
        diagnosis = self.diagnosis()
        matched = sum(op["matched"]["count"] for op in diagnosis["ops"] if op["matched"])
        assert matched >= least, f"{self.name}: {matched} calls matched"
        assert diagnosis["verdict"]["side"] == "server", diagnosis["verdict"]
        self.says("The SERVER is slow")
        return manifest


def processes(space: str) -> dict[int, str]:
    pids = subprocess.run(["ip", "netns", "pids", space], capture_output=True, text=True, check=True).stdout.split()
    lines = {}
    for pid in map(int, pids):
        try:
            lines[pid] = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            pass
    return lines


def capturing(space: str) -> list[int]:
    return [pid for pid, line in processes(space).items() if line.startswith("tcpdump ")]


def below(pid: int) -> list[int]:
    try:
        # A child is its thread's.
        children = " ".join(task.read_text() for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children")).split()
    except OSError:
        return []
    return [p for child in map(int, children) for p in [child, *below(child)]]


# ---- what is tried


def dry() -> None:
    """The exact commands, and none of them run; the port is found."""
    run = Run("dry", "--client", "client", "--server", "server", "--server-address", SERVER, "--dry-run").end(0)
    run.says(f"-i data0 -s 262144", f"'host {SERVER} and port {PORT}'", f"'host 10.98.0.2 and port {PORT}'", f"port {PORT} is taken",
             "Nothing was started")
    assert not run.folder.exists()


def whole() -> None:
    """Two captures, a verdict, counters, a manifest; and the folder is diagnosed again."""
    run = Run("whole", "--client", "client", "--server", f"server:{PORT}", "--server-address", SERVER, "--for", "4s").end(0)
    manifest = run.is_whole(60)
    for end in manifest["ends"]:
        assert end["ended"] == "asked" and end["capture"]["file"].endswith(".pcap.zst"), end
        tools = {sample["tool"] for sample in end["samples"]}
        assert {"ss", "nstat", "psi-cpu"} <= tools or not os.path.exists("/proc/pressure"), tools
        assert "tcpdump" in tools, tools
        for sample in (sample for sample in end["samples"] if sample["tool"] != "tcpdump"):
            first = (run.folder / sample["file"]).read_text().split("\n", 1)[0]
            assert first.startswith("# 20") and "Z " in first, first
        prints = (run.folder / end["side"] / "ss.txt").read_text().count("\n# 20") + 1
        assert prints >= 3, prints
        assert str(PORT) in (run.folder / end["side"] / "ss.txt").read_text()
        assert (run.folder / end["side"] / "nstat.txt").read_text().count("# 20") > 3
    assert abs(manifest["clock"]["offset_ns"]) <= manifest["clock"]["error_ns"], manifest["clock"]
    assert [capture["dropped"] for capture in run.diagnosis()["captures"]] == [0, 0]
    assert "drops unknown" not in (run.folder / "diagnosis.txt").read_text()
    assert oct(run.folder.stat().st_mode & 0o777) == "0o700"
    again = subprocess.run([SLOWSIDE, *manifest["diagnose"], "--format", "json"], cwd=run.folder, capture_output=True, check=True)
    assert json.loads(again.stdout)["verdict"] == run.diagnosis()["verdict"]
    # Nobody's captures are written over.
    Run("whole", "--client", "client", "--server", f"server:{PORT}").end(2).says("is there already; name a new folder with -o")


def beneath() -> None:
    """What passes at the server by a port of what lies beneath it, on whichever interface, is captured there as well."""
    run = Run("beneath", "--client", "client", "--server", f"server:{PORT}", "--server-address", SERVER, "--for", "3s", "--beneath", "22")
    ends = {end["side"]: end for end in run.end(0).is_whole(40)["ends"]}
    assert (ends["client"]["interface"], ends["server"]["interface"]) == ("data0", "any"), ends
    for side, expected in (("client", False), ("server", True)):
        capture = run.folder / ends[side]["capture"]["file"]
        conns = subprocess.run([SLOWSIDE, "conns", capture, "--format", "json"], capture_output=True, check=True)
        ports = {c[end].rsplit(":", 1)[1] for c in json.loads(conns.stdout)["connections"] for end in ("client", "server")}
        assert ("22" in ports) == expected and str(PORT) in ports, (side, ports)


def local() -> None:
    """One end is where slowside runs."""
    run = Run("local", "--client", "local", "--server", f"server:{PORT}", "--server-address", SERVER, "--for", "3s", space="client")
    run.end(0).is_whole(40)


def containers() -> None:
    """docker exec and kubectl exec, by stand-ins that enter a namespace as these enter a container."""
    folder = WORK / "stand-ins"
    folder.mkdir()
    for name, expected, space in (("docker", "exec -i app ", "client"), ("kubectl", "exec -i pg-0 -n prod -c shot -- ", "server")):
        program = folder / name
        count = len(expected.split())
        program.write_text(
            f'#!/bin/sh\ncase "$* " in "{expected}"*) ;; *) echo "$*" >&2; exit 9 ;; esac\nshift {count}\n'
            f'exec ip netns exec {space} "$@"\n'
        )
        program.chmod(0o755)
    run = Run("containers", "--client", "docker:app", "--server", f"kubectl:prod/pg-0/shot:{PORT}", "--server-address", SERVER,
              "--for", "2s", path=str(folder))
    manifest = run.end(0).is_whole(20)
    assert [end["by"] for end in manifest["ends"]] == ["docker", "kubectl"]


def cut() -> None:
    """All connections are cut: captures go on, are fetched over new ones, and nothing is missing."""
    run = Run("cut", "--client", "client", "--server", f"server:{PORT}", "--server-address", SERVER, "--for", "6s")
    run.heard("both ends capture")
    time.sleep(1)
    words = {pid: line for pid, line in processes("desk").items() if line.startswith("ssh")}
    # Shells that stay, and masters, which ssh puts into the background and calls by their sockets.
    mine = [pid for pid in below(run.process.pid) if pid in words]
    assert mine, words
    sockets = words[mine[0]].split("ControlPath=")[1].split("%C")[0]
    masters = [pid for pid, line in words.items() if line.startswith(f"ssh: {sockets}")]
    assert len(masters) == 2, words
    for pid in masters + mine:
        os.kill(pid, signal.SIGKILL)
    run.heard("the connection to the server server is lost")
    run.end(0).says("the server server answers again", "the client client answers again")
    manifest = run.is_whole(100)
    assert [end["ended"] for end in manifest["ends"]] == ["asked", "asked"], manifest


def gone(daemons: dict[str, subprocess.Popen]) -> None:
    """The server cannot be reached any more: its capture ends by itself, which is said; what there is is diagnosed."""
    before = set(capturing("server"))
    run = Run("gone", "--client", "client", "--server", f"leaving:{PORT}", "--server-address", SERVER, "--for", "3s",
              "--remote-dir", "/run/leaving")
    run.heard("both ends capture")
    theirs = [p for p in set(capturing("server")) - before if os.readlink(f"/proc/{p}/cwd").startswith("/run/leaving/")]
    assert len(theirs) == 1, theirs
    daemon = daemons["leaving"].pid
    for pid in [daemon, *below(daemon)]:
        try:
            # Not what was started over it, which has left it.
            if "sshd" in os.readlink(f"/proc/{pid}/exe"):
                os.kill(pid, signal.SIGKILL)
        except OSError:
            # It ended meanwhile.
            pass
    run.heard("is lost; its capture goes on, and ends by itself within")
    run.end(2).says("server leaving: it cannot be reached any more", "its capture ended by itself", "removes itself")
    end = time.monotonic() + 15
    while theirs[0] in capturing("server"):
        assert time.monotonic() < end, "tcpdump runs on"
        time.sleep(0.2)
    manifest = run.manifest()
    assert [bool(end["capture"]) for end in manifest["ends"]] == [True, False], manifest
    folder = next(pathlib.Path("/run/leaving").iterdir())
    for _ in range(50):
        if (folder / "done").exists():
            break
        time.sleep(0.2)
    assert (folder / "done").read_text().startswith("time "), (folder / "done").read_text()


def rights() -> None:
    """What is missing at both ends is said at once, with the cure."""
    run = Run("rights", "--client", "plain", "--server", f"bare:{PORT}", "--server-address", SERVER, "--max-size", "1024G").end(2)
    run.says("client plain: tcpdump may not capture as plain", "permission", "give --sudo",
             "server bare: neither tcpdump nor snoop is there; install it there: apt-get install tcpdump",
             "MB free, and 1048640 may be needed", "nothing was captured")
    assert not run.folder.exists()
    run = Run("nobody", "--client", "10.99.0.77", "--server", f"bare:{PORT}").end(2)
    run.says("client 10.99.0.77: it cannot be reached", "server bare: neither tcpdump")


def sudo() -> None:
    """Who may do so as root captures as root, and leaves nothing that is root's."""
    run = Run("sudo", "--client", "admin", "--server", f"server:{PORT}", "--server-address", SERVER, "--for", "3s", "--sudo")
    run.end(0).is_whole(40)
    # Nobody is asked for a password, and it is said who would have to.
    run = Run("password", "--client", "plain", "--server", f"server:{PORT}", "--server-address", SERVER, "--sudo").end(2)
    run.says("client plain", "sudo must ask for no password there")


def disk() -> None:
    """A disk that is too small is refused; one that fills up ends both captures, which are whole."""
    small = ["--client", "client", "--server", f"server:{PORT}", "--server-address", SERVER, "--remote-dir", "/run/small"]
    Run("too-small", *small, "--max-size", "50M").end(2).says("MB free, and 114 may be needed", "--max-size 36M takes less")
    run = Run("disk", *small, "--max-size", "10M", "--for", "20s")
    run.heard("both ends capture")
    time.sleep(2)
    (pathlib.Path("/run/small") / "others").write_bytes(bytes(50 << 20))
    run.end(0).says("its disk was about to be full after")
    manifest = run.is_whole(20)
    assert "disk" in [end["ended"] for end in manifest["ends"]], manifest
    assert os.listdir("/run/small") == ["others"]


def clock() -> None:
    """A clock that is three seconds ahead is told, and disturbs nothing."""
    run = Run("clock", "--client", "client", "--server", f"late:{PORT}", "--server-address", SERVER, "--for", "2s").end(0)
    run.says(f"the server's clock is {AHEAD}.0", "ahead of the client's")
    clock = run.is_whole(20)["clock"]
    assert abs(clock["offset_ns"] - AHEAD * 10**9) <= clock["error_ns"], clock


def nat() -> None:
    """A client whose address is changed on the way: the server captures by port alone, and its calls are matched."""
    run = Run("nat", "--client", "inside", "--server", f"server:{PORT}", "--server-address", SERVER, "--for", "3s").end(0)
    run.says("no connection at the server comes from 10.97.0.2")
    manifest = run.is_whole(30)
    assert [end["filter"] for end in manifest["ends"]] == [f"host {SERVER} and port {PORT}", f"port {PORT}"]
    assert manifest["ends"][1]["interface"] == "any" and manifest["notes"], manifest


def between() -> None:
    """A router between both captures too, by port as it changes addresses, and the answer has a line for each hop."""
    run = Run("between", "--client", "inside", "--server", f"server:{PORT}", "--server-address", SERVER, "--for", "3s",
              "--also", "router").end(0)
    manifest = run.manifest()
    assert [end["side"] for end in manifest["ends"]] == ["client", "server", "between-1"], manifest
    router = manifest["ends"][2]
    assert (router["interface"], router["filter"]) == ("out0", f"port {PORT}"), router
    assert router["capture"]["file"] == "between-1.pcap.zst" and router["samples"], router
    hops = run.diagnosis()["hops"]
    assert [hop["calls"] >= 30 for hop in hops] == [True, True], hops
    # Neither takes what the server does.
    assert all(hop["mean_ns"] < SERVICE * 1e9 / 2 for hop in hops), hops
    run.says("and between-1.pcap.zst", "--between between-1.pcap.zst", "The SERVER is slow")


def clients() -> None:
    """Two clients, one of them behind a router that changes its address, by other interfaces of the server: each with a diagnosis."""
    run = Run("clients", "--client", "client", "--client", "inside", "--server", f"server:{PORT}", "--server-address", SERVER,
              "--for", "3s").end(0)
    manifest = run.manifest()
    assert [end["side"] for end in manifest["ends"]] == ["client", "server", "client-2"], manifest
    server, further = manifest["ends"][1:]
    assert (server["interface"], server["filter"]) == ("any", f"port {PORT}"), server
    assert further["filter"] == f"host {SERVER} and port {PORT}" and further["capture"]["file"] == "client-2.pcap.zst", further
    peers = run.diagnosis()["peers"]
    assert [peer["diagnosis"]["verdict"]["cause"] for peer in peers] == ["server-slow"] * 2, peers
    assert all(peer["diagnosis"]["budget"]["calls"] >= 30 for peer in peers), peers
    run.says("most is held up of 2 clients", "same holds up 1 of the others", "The SERVER is slow")


def anonymised() -> None:
    """What may be sent on names nobody, and says the same."""
    run = Run("anonymised", "--client", "client", "--server", f"server:{PORT}", "--server-address", SERVER, "--for", "3s", "--anonymise",
              "--snaplen", "0").end(0)
    sent = run.folder / "anonymised"
    assert sorted(file.name for file in sent.iterdir()) == ["client.pcapng", "diagnosis.json", "diagnosis.txt", "server.pcapng"]
    told = json.loads((sent / "diagnosis.json").read_text())
    assert told["verdict"]["cause"] == run.diagnosis()["verdict"]["cause"] == "server-slow", told["verdict"]
    assert [capture["files"] for capture in told["captures"]] == [["client.pcapng"], ["server.pcapng"]], told["captures"]
    for file in sent.iterdir():
        data = file.read_bytes()
        for name in (SERVER, "10.98.0.2"):
            address = bytes(int(part) for part in name.split("."))
            assert name.encode() not in data and address not in data, f"{file} names {name}"
    again = subprocess.run([SLOWSIDE, "--quiet", str(sent / "client.pcapng"), str(sent / "server.pcapng")], capture_output=True, text=True)
    assert "The SERVER is slow" in again.stdout, again
    run.says("What may be sent on, with pseudonyms, is in")


def interrupted() -> None:
    """Ctrl-C ends early, with what there is."""
    run = Run("interrupted", "--client", "client", "--server", f"server:{PORT}", "--server-address", SERVER, "--for", "10min")
    run.heard("both ends capture")
    time.sleep(2)
    os.kill(run.process.pid, signal.SIGINT)
    run.end(0).is_whole(15)


def found(look) -> int:
    """The first of what there is, as soon as there is one."""
    end = time.monotonic() + 20
    while not (there := look()):
        assert time.monotonic() < end, processes("desk")
        time.sleep(0.05)
    return there[0]


def slowly() -> None:
    inside("client", sys.executable, os.path.abspath(__file__), "--ask-slowly").wait()


def holds_it(run: Run, watched: str) -> None:
    """Both captures have the slow calls, and not all that passed since they began."""
    manifest = run.manifest()
    assert manifest["when"]["side"] == watched and manifest["when"]["crossed"]["when"] == "max > 200ms", manifest["when"]
    for end in manifest["ends"]:
        assert end["ended"] == "asked" and 3 <= end["lasted_ns"] / 1e9 <= 12, end
        assert end["packets"]["captured"] > 50 and end["samples"], end
        longest = subprocess.run([SLOWSIDE, "calls", "--quiet", end["capture"]["file"], "--top", "1", "--columns", "response_time_ns",
                                  "--format", "csv"], cwd=run.folder, capture_output=True, text=True, check=True).stdout
        assert int(longest.split()[1]) >= SLOW * 1e9, longest


def waiting() -> None:
    """Rings at both ends, which are fetched when something becomes true of what passes; a watcher that is cut off is begun again."""
    run = Run("waiting", "--client", "client", "--server", f"server:{PORT}", "--server-address", SERVER, "--when", "max > 200ms",
              "--before", "2s", "--after", "1s")
    run.heard("both ends capture, until max > 200ms")
    os.kill(found(lambda: [pid for pid in below(run.process.pid) if "tcpdump -U" in processes("desk").get(pid, "")]), signal.SIGKILL)
    run.heard("nobody looks at what passes at the client client")
    # Rings go round meanwhile.
    time.sleep(8)
    slowly()
    run.heard("`max > 200ms` is true of tcp")
    holds_it(run.end(0), "client")


def watching() -> None:
    """A host that has slowside looks by itself."""
    run = Run("watching", "--client", "having", "--server", f"server:{PORT}", "--server-address", SERVER, "--when", "max > 200ms",
              "--before", "2s", "--after", "1s")
    run.heard("both ends capture, until")
    found(lambda: [pid for pid, line in processes("client").items() if "slowside live -i data0" in line])
    time.sleep(2)
    slowly()
    holds_it(run.end(0), "client")


def never() -> None:
    """What does not become true fetches nothing and leaves nothing."""
    run = Run("never", "--client", "client", "--server", f"server:{PORT}", "--server-address", SERVER, "--when", "max > 30s",
              "--watch", "server", "--before", "1s", "--after", "1s", "--for", "4s").end(2)
    run.says("did not become true within 4 s; nothing was fetched")
    assert not run.folder.exists()


def fleet() -> None:
    """Ansible's role: check mode captures nothing; then all clients are captured at once, each with a verdict, and a second run
    changes nothing."""
    (WORK / "inventory").write_text("[clients]\nclient\ninside\n")
    (WORK / "extra.json").write_text(json.dumps({
        "slowside_server": f"server:{PORT}", "slowside_for": "2s", "slowside_program": SLOWSIDE,
        "slowside_output": str(WORK / "fleet"),
        "slowside_options": ["--ssh", f"ssh -F {WORK}/config", "--server-address", SERVER],
    }))
    env = {**os.environ, "HOME": str(WORK), "ANSIBLE_NOCOLOR": "1", "ANSIBLE_LOCALHOST_WARNING": "0",
           "ANSIBLE_INVENTORY_UNPARSED_WARNING": "0"}

    def play(*words: str) -> str:
        line = [shutil.which("ansible-playbook"), "-i", str(WORK / "inventory"), "-e", f"@{WORK}/extra.json", *words,
                str(ROOT / "examples/ansible/capture.yml")]
        run = inside("desk", *line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env, stdin=subprocess.DEVNULL)
        said = run.communicate()[0]
        assert run.returncode == 0, said
        return said

    said = play("--check")
    assert "Nothing was started." in said and not (WORK / "fleet").exists(), said
    said = play()
    for client in ("client", "inside"):
        assert f"{client}: server: The SERVER is slow" in said.replace("\\n", " "), said
    manifest = json.loads((WORK / "fleet/manifest.json").read_text())
    assert [end["side"] for end in manifest["ends"]] == ["client", "server", "client-2"], manifest
    again = play().split("PLAY RECAP")[1]
    assert again.count("changed=0") == 2, again


LONGEST_FIRST = (fleet, gone, waiting, watching, rights, cut, sudo, disk, whole, nat, between, clients, anonymised, interrupted, local, beneath, clock, containers, never, dry)


def checks() -> int:
    daemons = hosts()
    traffic()
    time.sleep(0.5)
    all_of = {c.__name__: c for c in LONGEST_FIRST}
    chosen = [all_of[name] for name in sys.argv[3:]] or list(all_of.values())
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        began = time.monotonic()
        tried = {pool.submit(check, *([daemons] if check is gone else [])): check for check in chosen}
        for result in concurrent.futures.as_completed(tried):
            check, wrong = tried[result], result.exception()
            failed += wrong is not None
            at = f"{time.monotonic() - began:2.0f} s"
            print("WRONG" if wrong else "ok   ", at, f"{check.__name__}: {check.__doc__}", wrong or "", flush=True)
        print(f"{time.monotonic() - began:.0f} s")
    # A look every two seconds tells what runs there that its folder is gone.
    time.sleep(2.5)
    kept = [folder for folder in os.listdir("/var/tmp") if str(ROOT).startswith(f"/var/tmp/{folder}/")]
    left = [f for f in os.listdir("/var/tmp") if f not in kept] + [l for s in ("client", "server", "inside", "router") for l in processes(s).values()
                                     if "run.sh" in l and "leaving" not in l or l.startswith("tcpdump ")]
    left = [line for line in left if "run.sh" not in line] if "gone" in [c.__name__ for c in chosen] else left
    print("WRONG" if left else "ok   ", "nothing is left", left or "")
    return 1 if failed or left else 0


def private(places: list[str]) -> None:
    """Places of its own; what this needs of what lies there stays where it is."""
    playbook = shutil.which("ansible-playbook")
    needed = [ROOT, pathlib.Path(SLOWSIDE).parent, *([pathlib.Path(playbook).parent.parent] if playbook else [])]
    under = [n for n in needed if any(n.is_relative_to(place) for place in places)]
    under = [n for n in under if not any(n != other and n.is_relative_to(other) for other in under)]
    sh("mount -t tmpfs tmpfs /mnt")
    for i, folder in enumerate(under):
        os.mkdir(f"/mnt/{i}")
        sh(f"mount --bind {shlex.quote(str(folder))} /mnt/{i}")
    for place in places:
        sh(f"mount -t tmpfs tmpfs {place}")
    for i, folder in enumerate(under):
        folder.mkdir(parents=True, exist_ok=True)
        sh(f"mount --bind /mnt/{i} {shlex.quote(str(folder))}")


def main() -> int:
    global SLOWSIDE
    if sys.argv[1:] == ["--serve"]:
        serve()
    if sys.argv[1:] == ["--ask"]:
        ask()
    if sys.argv[1:] == ["--ask-slowly"]:
        return ask(b"s", 3) or 0
    if len(sys.argv) > 2 and sys.argv[1] == "--inside":
        SLOWSIDE = sys.argv[2]
        private(["/run", "/var/tmp", "/tmp"])
        for folder in ("sshd", "checks", "small", "leaving"):
            os.mkdir(f"/run/{folder}")
        # Before there are hosts, which have their own view of what is mounted.
        sh("mount -t tmpfs -o size=100m tmpfs /run/small")
        os.environ["PATH"] += ":/usr/sbin:/sbin"
        network()
        code = checks()
        sys.stdout.flush()
        # The first process of its namespace: all others end with it.
        os._exit(code)
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    slowside = shutil.which(sys.argv[1]) or sys.exit(f"{sys.argv[1]} is no program")
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    missing = [f"{tool} ({package})" for tool, package in NEEDED.items() if not shutil.which(tool, path=path)]
    try:
        import jsonschema  # noqa: F401
    except ImportError:
        missing.append("jsonschema (python3-jsonschema)")
    fleet_asked = len(sys.argv) == 2 or "fleet" in sys.argv
    if fleet_asked and not shutil.which("ansible-playbook", path=path):
        missing.append("ansible-playbook (ansible-core from PyPI, in PATH)")
    if os.geteuid() != 0:
        missing.append("root")
    if missing:
        sys.exit(f"missing: {', '.join(missing)}")
    apart = ["unshare", "--mount", "--net", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"]
    tried = subprocess.run([*apart, "true"], capture_output=True, text=True)
    if tried.returncode:
        sys.exit(f"missing: namespaces ({tried.stderr.strip()})")
    me = os.path.abspath(__file__)
    return subprocess.run([*apart, sys.executable, me, "--inside", os.path.abspath(slowside), *sys.argv[2:]]).returncode


if __name__ == "__main__":
    sys.exit(main())
