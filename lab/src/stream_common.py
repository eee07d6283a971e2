"""What the programs of streams and pauses share: sockets as told, waits that end on time, logs."""

import ctypes
import fcntl
import json
import socket
import struct
import termios
import time

# Sleepers wake within a microsecond of their time.
ctypes.CDLL(None).prctl(29, 1, 0, 0, 0)


def now():
    return time.time_ns()


def slept(seconds):
    if seconds > 0:
        time.sleep(seconds)


def listening(c, side):
    """A listener at `server`:`port`; says READY."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    tuned(listener, c, side)
    listener.bind((c["server"], c["port"]))
    listener.listen(1)
    listener.settimeout(40)
    print("READY", flush=True)
    return listener


def tuned(s, c, side):
    """Without Nagle's algorithm, with the receive buffer of this side if one is given."""
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if c.get(f"rcvbuf_{side}"):
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, c[f"rcvbuf_{side}"])


def received(s, size):
    """So many bytes."""
    parts = []
    while size:
        part = s.recv(min(size, 1 << 20))
        if not part:
            raise EOFError("the other end closed")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def acknowledged(s):
    """Waits until TCP at the other end has acknowledged everything."""
    while struct.unpack("i", fcntl.ioctl(s, termios.TIOCOUTQ, b"\0" * 4))[0]:
        time.sleep(0.0005)


def tcp_info(s):
    """A few numbers of the kernel's own of a connection (tcp_info)."""
    info = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    at = {"rtt_us": 68, "cwnd": 80, "total_retrans": 100, "min_rtt_us": 148, "snd_wnd": 228}
    return {name: struct.unpack_from("<I", info, o)[0] for name, o in at.items() if o + 4 <= len(info)}


def save(c, side, header, rows, told):
    with open(f"{c['dir']}/{side}.csv", "w") as file:
        file.write(header + "\n")
        file.writelines(",".join(map(str, row)) + "\n" for row in rows)
    with open(f"{c['dir']}/{side}.json", "w") as file:
        json.dump(told, file)
