#!/usr/bin/env python3
"""A client and a server over plain TCP that write, wait, read and pause as they are told, and log it by their own clock.

  tcpapp.py server|client '<json>'

Options (`_c`, `_s`: of the client, of the server; sizes in bytes, times in microseconds):
  mode               "rr": requests and responses in turn; "bulk": a stream, acknowledged by one byte at its end
  n, req, resp       rr: calls of a connection; sizes of the writes of a request, of a response (lists)
  split_share        share of the calls that are written piece by piece, the others in one write (1)
  req_gap_us, resp_gap_us   pause between the writes of a request, of a response
  svc_us, svc_share, distribution   the server works so long on this share of the calls, "fixed" or "exponential"
  think_us           pause between calls, or between writes of a stream; think_distribution as above
  bytes, secs, write bulk: length (less if so many seconds pass), size of the writes; direction "up" (client to server) or "down"
  read, read_sleep_us       with _c, _s or for both: most bytes of one read, pause after it while more is to come
  jobs               rr: connections of the client at a time (1)
  nodelay_, rcvbuf_, sndbuf_, quickack_     socket options
  drain_             1: no write of a message before all of the last one was acknowledged
  backlog, accept_sleep (s), fill   the server's queue of connections, when it begins to accept, connections that fill it
  rst_at, rst_bytes  the server aborts at this call, after so many bytes
  linger_ms, rst_idle       the client waits so long before it closes; the server aborts meanwhile, with nothing outstanding
  port, name, dir, server, seed, sock_timeout (s)
"""

import ctypes
import fcntl
import json
import random
import socket
import struct
import sys
import threading
import time

QUICKACK, TCP_INFO, PR_SET_TIMERSLACK, SIOCOUTQ = 12, 11, 29, 0x5411
ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)

# Fields of struct tcp_info of this kernel: format and offset.
INFO = {
    "state": ("B", 0),
    "rto": ("I", 8),
    "snd_mss": ("I", 16),
    "pmtu": ("I", 60),
    "rtt": ("I", 68),
    "rttvar": ("I", 72),
    "ssthresh": ("I", 76),
    "cwnd": ("I", 80),
    "total_retrans": ("I", 100),
    "bytes_acked": ("Q", 120),
    "bytes_received": ("Q", 128),
    "segs_out": ("I", 136),
    "segs_in": ("I", 140),
    "min_rtt": ("I", 148),
    "delivery_rate": ("Q", 160),
    "busy_time": ("Q", 168),
    "rwnd_limited": ("Q", 176),
    "sndbuf_limited": ("Q", 184),
    "bytes_sent": ("Q", 200),
    "bytes_retrans": ("Q", 208),
    "snd_wnd": ("I", 228),
}
SAMPLED = ["cwnd", "rtt", "snd_wnd", "busy_time", "rwnd_limited", "sndbuf_limited", "total_retrans"]
now = time.time_ns


def info(s):
    try:
        data = s.getsockopt(socket.IPPROTO_TCP, TCP_INFO, 256)
    except OSError:
        return {}
    return {k: struct.unpack_from("<" + f, data, at)[0] for k, (f, at) in INFO.items() if at + struct.calcsize(f) <= len(data)}


def pause(us, distribution="fixed", dice=random):
    """Sleeps; returns for how long, in ns."""
    if us <= 0:
        return 0
    begun = now()
    time.sleep((dice.expovariate(1 / us) if distribution == "exponential" else us) / 1e6)
    return now() - begun


class End:
    """One end of a connection, with the options of its side ("c" or "s")."""

    def __init__(self, sock, told, side):
        self.sock, self.told, self.side = sock, told, side

    def option(self, name, default=0):
        return self.told.get(f"{name}_{self.side}", self.told.get(name, default))

    def prepare(self):
        """What must be set before the connection is made."""
        for name, number in (("rcvbuf", socket.SO_RCVBUF), ("sndbuf", socket.SO_SNDBUF)):
            if size := self.told.get(f"{name}_{self.side}"):
                self.sock.setsockopt(socket.SOL_SOCKET, number, size)

    def connected(self):
        self.sock.settimeout(self.told.get("sock_timeout", 30))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(bool(self.told.get(f"nodelay_{self.side}"))))

    def read(self, count, each=None, to_end=False):
        """Reads so many bytes, or `to_end` if that comes first; returns (when the first came, ns slept between reads).
        `each(bytes so far)` after every read."""
        most, sleep_us, quickack = self.option("read", 1 << 20), self.option("read_sleep_us"), self.told.get(f"quickack_{self.side}")
        got = first = slept = 0
        while got < count:
            if quickack is not None:
                self.sock.setsockopt(socket.IPPROTO_TCP, QUICKACK, quickack)
            data = self.sock.recv(min(count - got, most))
            if not data and to_end:
                break
            if not data:
                raise EOFError
            first = first or now()
            got += len(data)
            if each:
                each(got)
            if got < count:
                slept += pause(sleep_us)
        return first, slept

    def write(self, pieces, gap_us=0):
        for i, piece in enumerate(pieces):
            if i:
                pause(gap_us)
            while i and self.told.get(f"drain_{self.side}") and fcntl.ioctl(self.sock, SIOCOUTQ, b"\0" * 4) != b"\0" * 4:
                time.sleep(0.0002)
            self.sock.sendall(piece)

    def stream(self, rows):
        """Writes the whole stream and says that it ends; a row for each write."""
        told, left = self.told, self.told["bytes"]
        data = b"b" * told["write"]
        dice = random.Random(told.get("seed", 1))
        end = now() + int(told.get("secs", 60) * 1e9)
        while left > 0 and now() < end:
            size, start = min(left, len(data)), now()
            self.sock.sendall(data[:size])
            sent = now()
            left -= size
            rows.append((0, len(rows), start, sent, 0, sent, size, 0, 0, pause(told.get("think_us", 0), told.get("think_distribution"), dice)))
        self.sock.shutdown(socket.SHUT_WR)

    def abort(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


class Split:
    """Which calls are written piece by piece: the same at both ends."""

    def __init__(self, told, connection):
        self.dice, self.share = random.Random(f"{told.get('seed', 1)} {connection}"), told.get("split_share", 1)

    def pieces(self, sizes, letter):
        split = self.dice.random() < self.share
        return [letter * size for size in sizes] if split else [letter * sum(sizes)], split


class Server:
    def __init__(self, told):
        self.told, self.rows, self.said, self.lock = told, [], {}, threading.Lock()

    def run(self):
        told, listener = self.told, socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        End(listener, told, "s").prepare()
        listener.bind((told["server"], told.get("port", 9000)))
        listener.listen(told.get("backlog", 16))
        listener.settimeout(40)
        print("READY", flush=True)
        time.sleep(told.get("accept_sleep", 0))
        threads = []
        try:
            for connection in range(told.get("conns", told.get("jobs", 1) + told.get("fill", 0))):
                sock, _ = listener.accept()
                self.said.setdefault("accept_ns", []).append(now())
                threads.append(threading.Thread(target=self.serve, args=(sock, connection), daemon=True))
                threads[-1].start()
        except OSError as reason:
            self.said["accept_error"] = repr(reason)
        for thread in threads:
            thread.join(40)
        # t_begun: first byte read; t_got: the request read; t_ready: worked on; t_replied: the last byte taken by the socket.
        _save(told, "server", "conn,i,t_begun_ns,t_got_ns,t_ready_ns,t_replied_ns,got,sent,slept_ns", self.rows, self.said)

    def serve(self, sock, connection):
        end = End(sock, self.told, "s")
        end.connected()
        try:
            self.answer(end, connection) if self.told["mode"] == "rr" else self.stream(end, connection)
            if self.told.get("rst_idle"):
                time.sleep(self.told["linger_ms"] / 2e3)
                end.abort()
                return
            try:
                sock.recv(1)
            except OSError:
                pass
        except (EOFError, OSError) as reason:
            self.said.setdefault("errors", []).append(repr(reason))
        self.said[f"tcp_info_{connection}"] = info(sock)
        sock.close()

    def answer(self, end, connection):
        told = self.told
        size, split = sum(told["req"]), Split(told, connection)
        dice = random.Random(f"service {told.get('seed', 1)} {connection}")
        for i in range(told["n"]):
            begun, slept = end.read(size)
            got = now()
            if dice.random() < told.get("svc_share", 1):
                pause(told.get("svc_us", 0), told.get("distribution"), dice)
            ready = now()
            if told.get("rst_at") == i:
                self.said["rst_at_ns"] = now()
                end.abort()
                return
            end.write(split.pieces(told["resp"], b"r")[0], told.get("resp_gap_us", 0))
            with self.lock:
                self.rows.append((connection, i, begun, got, ready, now(), size, sum(told["resp"]), slept))

    def stream(self, end, connection):
        told = self.told
        if told.get("direction", "up") == "down":
            end.read(1)
            sent = []
            end.stream(sent)
            with self.lock:
                self.rows += [(connection, r[1], r[2], r[2], r[2], r[3], 0, r[6], r[9]) for r in sent]
            return

        def each(got):
            self.rows.append((connection, len(self.rows), now(), now(), 0, 0, got, 0, 0))
            if told.get("rst_bytes") and got >= told["rst_bytes"]:
                self.said["rst_at_ns"] = now()
                end.abort()

        _, self.said["read_slept_ns"] = end.read(told["bytes"], each, to_end=True)
        end.write([b"k"])


class Client:
    def __init__(self, told):
        self.told, self.rows, self.said, self.lock = told, [], {}, threading.Lock()

    def connect(self):
        sock = socket.socket()
        end = End(sock, self.told, "c")
        end.prepare()
        if port := self.told.get("from_port"):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(("", port))
        sock.settimeout(self.told.get("sock_timeout", 30))
        sock.connect((self.told["server"], self.told.get("port", 9000)))
        end.connected()
        return end

    def run(self):
        told, said = self.told, self.said
        holders = []
        for _ in range(told.get("fill", 0)):
            holders.append(self.connect())
            time.sleep(0.02)
        if holders:
            time.sleep(0.3)
        ends = []
        said["connect_start_ns"] = begun = now()
        try:
            for _ in range(told.get("jobs", 1)):
                ends.append(self.connect())
        except OSError as reason:
            said["connect_error"] = repr(reason)
        said["connect_ms"] = (now() - begun) / 1e6
        stop, samples, begun = threading.Event(), [], now()
        if ends:
            threading.Thread(target=self.sample, args=(ends[0].sock, samples, stop), daemon=True).start()
        said["begin_ns"] = now()
        threads = [threading.Thread(target=self.work, args=(end, k)) for k, end in enumerate(ends)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        said["elapsed_s"] = (now() - begun) / 1e9
        stop.set()
        if ends:
            said["tcp_info"] = info(ends[0].sock)
        time.sleep(told.get("linger_ms", 0) / 1e3)
        said["tcp_info_samples"] = {"cols": ["t_ns", *SAMPLED], "rows": samples}
        for end in [*ends, *holders]:
            end.sock.close()
        # t_sent: the socket took the last byte of the request; t_first: the first byte of the response was read.
        _save(told, "client", "conn,i,t_start_ns,t_sent_ns,t_first_ns,t_done_ns,sent,got,slept_ns,thought_ns,split", self.rows, said)

    def sample(self, sock, samples, stop):
        while not stop.wait(0.1):
            if at := info(sock):
                samples.append((now(), *(at[k] for k in SAMPLED)))

    def work(self, end, connection):
        try:
            self.ask(end, connection) if self.told["mode"] == "rr" else self.stream(end)
        except (OSError, EOFError) as reason:
            self.said.update(error=repr(reason), error_ns=now())

    def ask(self, end, connection):
        told, split = self.told, Split(self.told, connection)
        asked, answered = sum(told["req"]), sum(told["resp"])
        dice = random.Random(f"think {told.get('seed', 1)} {connection}")
        for i in range(told["n"]):
            if i == told.get("again_at"):
                # As after a failover: the connection is gone, and comes back from the same port.
                end.abort()
                time.sleep(told.get("again_after_s", 0.2))
                begun = now()
                try:
                    end = self.connect()
                finally:
                    self.said["again_ms"] = (now() - begun) / 1e6
            start = now()
            pieces, apart = split.pieces(told["req"], b"q")
            end.write(pieces, told.get("req_gap_us", 0))
            sent = now()
            first, slept = end.read(answered)
            done = now()
            thought = pause(told.get("think_us", 0), told.get("think_distribution"), dice)
            with self.lock:
                self.rows.append((connection, i, start, sent, first, done, asked, answered, slept, thought, int(apart)))

    def stream(self, end):
        told = self.told
        if told.get("direction", "up") == "down":
            end.write([b"g"])
            start = now()
            first, self.said["read_slept_ns"] = end.read(told["bytes"], to_end=True)
            self.rows.append((0, 0, start, start, first, now(), 1, told["bytes"], self.said["read_slept_ns"], 0, 0))
            return
        sent = []
        try:
            end.stream(sent)
            end.read(1)
            self.said["acked_ns"] = now()
        finally:
            self.rows += [(*r, 0) for r in sent]


def _save(told, side, columns, rows, said):
    base = f"{told['dir']}/{told.get('name', '')}{side}"
    with open(f"{base}_ops.csv", "w") as file:
        file.write(columns + "\n")
        file.writelines(",".join(map(str, r)) + "\n" for r in rows)
    with open(f"{base}_app.json", "w") as file:
        json.dump(said, file)


if __name__ == "__main__":
    (Server if sys.argv[1] == "server" else Client)(json.loads(sys.argv[2])).run()
