"""Captures into captures: what happens to files between the wire and whoever reads them.

A packet is `(time in ns, length on the wire, bytes kept)`. Classic pcap, microseconds or nanoseconds,
little-endian (as tcpdump writes here), Ethernet unless said.
"""

import random
import struct

_SCALE = {0xA1B23C4D: 1, 0xA1B2C3D4: 1000}


def read(path):
    """Returns (file header, ns per tick, packets)."""
    with open(path, "rb") as file:
        data = file.read()
    scale = _SCALE[struct.unpack_from("<I", data)[0]]
    at, packets = 24, []
    while at + 16 <= len(data):
        seconds, fraction, kept, length = struct.unpack_from("<IIII", data, at)
        packets.append((seconds * 10**9 + fraction * scale, length, data[at + 16 : at + 16 + kept]))
        at += 16 + kept
    return data[:24], scale, packets


def write(path, header, scale, packets):
    with open(path, "wb") as file:
        file.write(header)
        for time, length, data in packets:
            file.write(struct.pack("<IIII", time // 10**9, time % 10**9 // scale, len(data), length) + data)


def rewrite(path, change):
    """Replaces the file's packets by `change(packets)`."""
    header, scale, packets = read(path)
    write(path, header, scale, change(packets))


def skewed(packets, offset_s, drift_ppm=0.0, step_s=0.0, step_at=0.5, slew_ppm=0.0):
    """Times on another clock: an offset, a drift, and at that share of the capture a step, after which the
    clock is slewed at that rate."""
    first, last = packets[0][0], packets[-1][0]
    turn = first + int((last - first) * step_at)

    def told(time):
        told = time + int(offset_s * 1e9) + int((time - first) * drift_ppm * 1e-6)
        if time >= turn:
            told += int(step_s * 1e9) + int((time - turn) * slew_ppm * 1e-6)
        return told

    return [(told(time), length, data) for time, length, data in packets]


def window(packets, begin, end):
    """Those between two shares (0 to 1) of the capture's time."""
    first, last = packets[0][0], packets[-1][0]
    span = last - first
    return [p for p in packets if first + span * begin <= p[0] <= first + span * end]


def joined(paths, to):
    """Files of one capture, as a ring leaves them, into one, in the order of their first packets."""
    read_in = sorted((read(p) for p in paths), key=lambda f: f[2][0][0])
    header, scale, _ = read_in[0]
    write(to, header, scale, [p for _, _, packets in read_in for p in packets])


def thinned(packets, share, seed, keep_first=20):
    """Without a share of its packets, as a capture that lost them; returns (packets, what was lost)."""
    dice, kept, lost = random.Random(seed), [], []
    for frame, packet in enumerate(packets, 1):
        if frame > keep_first and dice.random() < share:
            lost.append({"frame_in_original": frame, "t_ns": packet[0], "len": packet[1]})
        else:
            kept.append(packet)
    return kept, lost


def tagged(packets, *tags, snap=1 << 18):
    """With VLAN tags, outermost first, each `(TPID, VLAN id)`: (0x8100, 12) or (0x88A8, 100); at most `snap` bytes."""
    inserted = b"".join(struct.pack(">HH", tpid, vlan) for tpid, vlan in tags)
    return [(t, n + len(inserted), (d[:12] + inserted + d[12:])[:snap]) for t, n, d in packets]


def mirrored(packets, delay_ns=2_000):
    """Each packet twice, as a switch that mirrors a port in both directions gives it: the copy a moment later."""
    twice = [*packets, *((t + delay_ns, n, d) for t, n, d in packets)]
    return sorted(twice, key=lambda p: p[0])


def sent_by(packets, address):
    """Only what this IPv4 address sent (untagged Ethernet)."""
    return [p for p in packets if p[2][26:30] == bytes(map(int, address.split(".")))]


def of_port(packets, port):
    """Only those from or to this TCP or UDP port (untagged Ethernet, IPv4 without options)."""
    wanted = struct.pack(">H", port)
    return [p for p in packets if wanted in (p[2][34:36], p[2][36:38])]
