"""Hosts in network namespaces, wires between them, and captures at each: where a case is recorded.

    client ── eth0 TAP ══ wire ══ TAP eth0 ── server                            `routed=False`
    client[i] ── eth0 ══ wire i ══ eth<i> ── middle ── eth9 ══ far wire ══ eth0 ── server     `routed=True`, `switched=True`

A wire delays, drops, reorders and limits single frames and logs each (`src/wire.c`). The middle host routes,
translates addresses if asked (nftables), and is a third place to capture at; where it is a switch, all are on one link
and find each other by ARP.
"""

import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

from kit import noise, sandbox, truth
from kit.build import binary

CLIENT, SERVER = "10.0.0.1", "10.0.0.2"
FAR_SERVER = "10.0.9.2"
# The host between them, as the first client sees it.
MIDDLE = "10.0.0.254"
# What any program of this lab may take before it is ended.
PATIENCE_S = 60


def sh(command, check=True):
    run = subprocess.run(command, shell=isinstance(command, str), text=True, capture_output=True)
    if check and run.returncode:
        raise RuntimeError(f"{command}: exit {run.returncode}: {run.stderr[-800:]}")
    return run.stdout


class Host:
    """A network namespace."""

    def __init__(self, name):
        self.name = name
        self.address = None
        self.devices = []
        sh(["ip", "netns", "add", name])
        self.sh("ip link set lo up")

    def command(self, *args):
        """The command line that runs these arguments on this host."""
        return ["ip", "netns", "exec", self.name, *map(str, args)]

    def sh(self, line, check=True):
        return sh(self.command("sh", "-c", line), check)

    def listens(self, port):
        return f":{port} " in self.sh("ss -ltnH", check=False)


class Wire:
    """A wire between two devices; see `src/wire.c` for what it can do to frames."""

    def __init__(self, bench, name, a, b):
        self.name, self.log = name, f"{bench.scratch}/{name}.csv"
        control = f"{bench.scratch}/{name}.sock"
        self.process = bench.start([binary("wire"), a, b, control, self.log], stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline().strip() != "READY":
            raise RuntimeError("the wire did not start")
        self._control = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._control.connect(control)

    def say(self, line):
        self._control.send(line.encode())

    def frames(self):
        """Ends the wire; every frame that it saw."""
        if self.process.poll() is None:
            self.say("quit")
            self.process.wait(10)
        return truth.rows(self.log)


class Bench:
    """One recording: hosts, wires, captures. Everything in it ends with the sandbox."""

    def __init__(self, case, *, offload=True, mtu=1500, snap=256, congestion="cubic", timestamps=True, sysctl=None,
                 clients=1, routed=False, switched=False, noise_limits=None):
        self.case, self.truth, self.folder = case, case.truth, case.folder
        self.offload, self.snap, self.congestion, self.mtu = offload, snap, congestion, mtu
        self.noise_limits = noise_limits or noise.Limits()
        self.scratch = f"{sandbox.SCRATCH}/{case.name.replace('/', '-')}"
        # Nothing of a recording that was thrown away may be taken for this one's.
        shutil.rmtree(self.scratch, ignore_errors=True)
        os.makedirs(self.scratch)
        os.chmod(self.scratch, 0o777)
        self.processes, self.injected, self.events, self._captures = [], [], [], []
        # Programs on hosts run with this: the congestion control of their sockets.
        self.preload = ["env", f"LAB_CC={congestion}", f"LD_PRELOAD={binary('cc.so')}"]
        self.clients = [Host("client" if i == 0 else f"client{i + 1}") for i in range(clients)]
        self.client, self.server, self.middle = self.clients[0], Host("server"), None
        self._timestamps, self._sysctl = int(timestamps), sysctl or {}
        if switched:
            self._switch()
        elif routed or clients > 1:
            self._route()
        else:
            self.wires = [Wire(self, "wire", "client:eth0", "server:eth0")]
            self._device(self.client, "eth0", CLIENT, 1, 2)
            self._device(self.server, "eth0", SERVER, 2, 1)
            self.client.address, self.server.address = CLIENT, SERVER
        self.truth.update({
            "topology": {"clients": [c.address for c in self.clients], "server": self.server.address, "routed": bool(self.middle)},
            "capture": {"mtu": mtu, "snaplen": snap, "offloads": "tso+gro on" if offload else "off", "congestion_control": congestion,
                        "tcp_timestamps": self._timestamps, "timestamp_precision": "ns", "tool": "tcpdump --time-stamp-precision=nano"},
            "clock": {"server_offset_s": 0, "server_drift_ppm": 0, "note": "all captures stamped by the same kernel clock"},
        })
        self.wire(f"seed {case.seed}", log=False)

    # ---- building

    def _through_middle(self):
        self.middle = Host("middle")
        self.wires = [Wire(self, f"wire{i}", f"{c.name}:eth0", f"middle:eth{i}") for i, c in enumerate(self.clients)]
        self.wires.append(Wire(self, "far", "middle:eth9", "server:eth0"))

    def _switch(self):
        self._through_middle()
        self.middle.sh("sysctl -qw net.ipv6.conf.all.disable_ipv6=1; ip link add switch type bridge && ip link set switch up")
        for i, client in enumerate(self.clients):
            client.address = f"10.0.0.{10 + i if i else 1}"
            self._device(client, "eth0", client.address, 16 * i + 1)
            self._device(self.middle, f"eth{i}", None, 16 * i + 0xA)
        self._device(self.middle, "eth9", None, 0x9A)
        self._device(self.server, "eth0", SERVER, 2)
        self.server.address = SERVER
        for device in self.middle.devices:
            self.middle.sh(f"ip link set {device} master switch")

    def _route(self):
        self._through_middle()
        for i, client in enumerate(self.clients):
            self._device(client, "eth0", f"10.0.{i}.1", 16 * i + 1, 16 * i + 2, gateway=f"10.0.{i}.254")
            self._device(self.middle, f"eth{i}", f"10.0.{i}.254", 16 * i + 2, 16 * i + 1, peer=f"10.0.{i}.1")
            client.address = f"10.0.{i}.1"
        self._device(self.middle, "eth9", "10.0.9.254", 0x92, 0x91, peer=FAR_SERVER)
        self._device(self.server, "eth0", FAR_SERVER, 0x91, 0x92, gateway="10.0.9.254")
        self.server.address = FAR_SERVER
        self.middle.sh("sysctl -qw net.ipv4.ip_forward=1")

    def _device(self, host, device, address, mac, peer_mac=None, gateway=None, peer=None):
        """Brings a TAP device up, with offloads, an address and a permanent neighbour if it has them."""
        hardware = lambda n: f"02:00:00:00:00:{n:02x}"
        peer = peer or gateway or (SERVER if address == CLIENT else CLIENT)
        toggle = "on" if self.offload else "off"
        host.devices.append(device)
        settings = ["net.ipv6.conf.all.disable_ipv6=1", "net.ipv4.tcp_no_metrics_save=1", f"net.ipv4.tcp_timestamps={self._timestamps}",
                    *self._sysctl.get(host.name, [])]
        host.sh(f"""set -e
            sysctl -qw {" ".join(settings)}
            ip link set {device} address {hardware(mac)} mtu {self.mtu} txqueuelen 10000
            {f"ip addr add {address}/24 dev {device}" if address else ""}
            ip link set {device} up
            {f"ip neigh replace {peer} lladdr {hardware(peer_mac)} nud permanent dev {device}" if peer_mac else ""}
            {f"ip route add default via {gateway}" if gateway else ""}
            ethtool -K {device} tso {toggle} gso {toggle} gro {toggle} {"tx on" if self.offload else ""} >/dev/null 2>&1 || true
            echo {30000 if self.offload else 0} > /sys/class/net/{device}/gro_flush_timeout""")

    def translate(self):
        """The middle host puts its own address in place of the clients' (source NAT). Needs nftables in the kernel."""
        rules = 'table ip lab {\n chain post {\n type nat hook postrouting priority 100;\n oifname "eth9" masquerade\n }\n}\n'
        subprocess.run(self.middle.command("nft", "-f", "-"), input=rules, text=True, check=True)

    def forward(self, rule):
        """A rule (nftables) for what the middle host forwards."""
        rules = f"table ip lab {{\n chain pass {{\n type filter hook forward priority 0;\n {rule}\n }}\n}}\n"
        subprocess.run(self.middle.command("nft", "-f", "-"), input=rules, text=True, check=True)

    def forget(self, quiet_s):
        """The middle host lets through what belongs to a connection that it knows or that begins, drops all else without a
        word, and forgets connections that were quiet for so long."""
        self.forward("ct state invalid drop")
        settings = ["tcp_loose=0", f"tcp_timeout_established={quiet_s}"]
        self.middle.sh("sysctl -qw " + " ".join(f"net.netfilter.nf_conntrack_{s}" for s in settings))

    # ---- running

    def start(self, command, **options):
        """Starts a program that lives until the recording ends, or less."""
        process = subprocess.Popen([str(c) for c in command], **options)
        self.processes.append(process)
        return process

    def until(self, ready, process, what):
        """Returns when a program that was started is `ready()`."""
        for _ in range(200):
            if ready():
                return
            if process.poll() is not None:
                raise RuntimeError(f"{what} exited")
            time.sleep(0.1)
        raise RuntimeError(f"{what} does not answer")

    def run(self, host, *args, timeout=PATIENCE_S, check=True, preload=True, **options):
        """Runs a program on a host to its end."""
        command = host.command("timeout", timeout, *(self.preload if preload else []), *args)
        run = subprocess.run(command, text=True, capture_output=True, **options)
        if check and run.returncode:
            raise RuntimeError(f"{args[0]}: exit {run.returncode}: {run.stderr[-1200:]}")
        return run

    def wire(self, line, at=None, log=True):
        """Tells a wire (all, or the one of this index; -1 is the server's) what to do to frames."""
        for wire in self.wires if at is None else [self.wires[at]]:
            wire.say(line)
        if log:
            where = {} if at is None else {"at": self.wires[at].name}
            self.injected.append(line if at is None else f"{self.wires[at].name}: {line}")
            self.events.append({"t_ns": time.time_ns(), "wire": line, **where})

    def event(self, what):
        self.events.append({"t_ns": time.time_ns(), "what": what})

    def later(self, *steps):
        """Does things at given seconds from now, in a thread: (seconds, line for the wires | function)."""
        begun = time.time()

        def go():
            for at, what in steps:
                time.sleep(max(0, begun + at - time.time()))
                what() if callable(what) else self.wire(what)

        thread = threading.Thread(target=go, daemon=True)
        thread.start()
        return thread

    def sockets(self, label):
        """Keeps what `ss -ti` says on both ends at this moment."""
        for host in (self.client, self.server):
            lines = host.sh("ss -tinOH", check=False).splitlines()[:12]
            self.truth.setdefault("ss_tcp_info", {}).setdefault(label, {})[host.name] = lines

    # ---- capturing

    def capture(self, *, middle=False, device="eth0", rotate=None, filter="ip", settle=1.3, sockets_at=0.8):
        """Captures on every client and the server (`client.pcap`, `server.pcap`, `client2.pcap` …) and, if asked, in the middle.
        `device` "any" writes cooked captures; `rotate` is (megabytes, files) as of `tcpdump -C -W`."""
        return _Capture(self, middle, device, rotate, filter, settle, sockets_at)

    def save(self, name, source):
        """A file into the case's folder, gzipped where the name says so."""
        import gzip

        with open(source, "rb") as i, (gzip.open if name.endswith(".gz") else open)(f"{self.folder}/{name}", "wb") as o:
            shutil.copyfileobj(i, o)

    def finish(self):
        """The wires' logs into truth; ends all programs."""
        measured, rows = {}, []
        for wire in self.wires:
            frames = wire.frames()
            measured[wire.name] = truth.of_wire(frames)
            rows += [(wire.name, f) for f in frames]
        if "wire" not in measured:
            # The first client's way to the server is through its own wire and the server's.
            measured = {**truth.of_path([measured[self.wires[0].name], measured[self.wires[-1].name]]), "wires": measured}
        self.truth["wire_measured"] = measured.get("wire", measured)
        self.truth["injected_wire"], self.truth["events"] = self.injected, self.events
        self._keep_wire(rows)
        self.end()

    def _keep_wire(self, rows):
        if rows:
            columns = ["wire", *rows[0][1]]
            truth.write(f"{self.folder}/wire.csv.gz", columns, ((name, *frame.values()) for name, frame in rows))

    def end(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
        for process in reversed(self.processes):
            try:
                process.wait(4)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for host in [*self.clients, self.server, *([self.middle] if self.middle else [])]:
            for pid in sh(["ip", "netns", "pids", host.name], check=False).split():
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
            sh(["ip", "netns", "del", host.name], check=False)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            if not issubclass(kind, noise.TooNoisy):
                self._show_logs()
            self.end()
        else:
            self.finish()

    def _show_logs(self):
        for log in [*glob.glob(f"{self.scratch}/*.log"), *glob.glob(f"{self.scratch}/*.tcpdump")]:
            text = open(log, errors="replace").read()[-1500:]
            if text:
                print(f"--- {log}\n{text}", flush=True)


class _Capture:
    """tcpdump on hosts, from entering to leaving, with the machine's noise beside it."""

    def __init__(self, bench, middle, device, rotate, filter, settle, sockets_at):
        self.bench, self.device, self.rotate, self.filter, self.settle, self.sockets_at = bench, device, rotate, filter, settle, sockets_at
        self.places = [(c, c.name, device) for c in bench.clients] + [(bench.server, "server", device)]
        if middle:
            self.places.append((bench.middle, "middle", "any" if device == "any" else "eth9"))

    def __enter__(self):
        bench = self.bench
        noise.wait_until_quiet(bench.noise_limits)
        self.running = []
        for host, name, device in self.places:
            log = open(f"{bench.scratch}/{name}.tcpdump", "w+")
            rotate = ["-C", self.rotate[0], "-W", self.rotate[1]] if self.rotate else []
            out = f"{bench.folder}/{name}.pcap"
            command = host.command("tcpdump", "-i", device, "-n", "-Z", "root", "-s", bench.snap, "-B", 32768,
                                   "--time-stamp-precision=nano", *rotate, "-w", out, *self.filter.split())
            self.running.append((bench.start(command, stderr=log, stdout=subprocess.DEVNULL), log, name))
        for _, log, name in self.running:
            for _ in range(150):
                log.seek(0)
                if "listening on" in log.read():
                    break
                time.sleep(0.02)
            else:
                raise RuntimeError(f"tcpdump did not start on {name}")
        self.watch = noise.Watch().__enter__()
        bench.truth["capture"]["start_ns"] = time.time_ns()
        bench.later((self.sockets_at, lambda: bench.sockets(f"at_{self.sockets_at}s")))
        return self

    def __exit__(self, kind, *_):
        bench = self.bench
        self.watch.__exit__(None)
        if kind:
            return
        time.sleep(self.settle)
        for process, _, _ in self.running:
            process.send_signal(signal.SIGINT)
        for process, log, name in self.running:
            process.wait(10)
            log.seek(0)
            text = log.read()
            said = {"captured": r"(\d+) packets? captured", "received_by_filter": r"(\d+) packets? received",
                    "dropped_by_kernel": r"(\d+) packets? dropped by kernel"}
            bench.truth["capture"][name] = {k: int(m.group(1)) for k, p in said.items() if (m := re.search(p, text))}
            if bench.truth["capture"][name].get("dropped_by_kernel"):
                raise noise.TooNoisy(f"tcpdump on {name} lost packets: {bench.truth['capture'][name]}")
        bench.truth["noise"] = self.watch.noise
        if not bench.noise_limits.bears(self.watch.noise):
            raise noise.TooNoisy(f"the machine was not quiet while this was recorded: {self.watch.noise}")
