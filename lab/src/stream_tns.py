"""Enough of Oracle's protocol to be taken for it: a session that executes a query and fetches rows.

Packets have the short header of version 314, calls and rows the universal representation of thin drivers. Nobody logs on:
a capture of a session looks the same from behind its logon.
"""

import struct

DESCRIPTOR = (b"(DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST=db)(PORT=1521))(CONNECT_DATA=(SERVICE_NAME=orders)"
              b"(CID=(PROGRAM=app)(HOST=client)(USER=app))))")
STATEMENT = b"select text from documents"
# What a session data unit of 8192 leaves for data.
SDU = 8192
VALUE = 250
ROW = 1 + 1 + VALUE


def packet(kind, body):
    return struct.pack(">HHBBH", 8 + len(body), 0, kind, 0, 0) + body


def connect():
    head = struct.pack(">HH", 314, 300) + bytes.fromhex("0c412000ffff7f0800000100") + struct.pack(">H", len(DESCRIPTOR))
    return packet(1, head + bytes.fromhex("003a000008004141") + b"\0" * 24 + DESCRIPTOR)


def accept():
    return packet(2, struct.pack(">H", 314) + bytes.fromhex("08412000ffff010000000020414100") + b"\0" * 7)


def data(payload):
    """DATA packets of a session data unit each."""
    room = SDU - 10
    return b"".join(packet(6, b"\0\0" + payload[i:i + room]) for i in range(0, len(payload), room))


def number(n):
    """A universal integer: a length, then that many bytes."""
    size = (n.bit_length() + 7) // 8
    return bytes([size]) + n.to_bytes(size, "big")


def execute(sequence):
    return data(b"\x03\x5e" + bytes([sequence]) + bytes.fromhex("02802100") + b"\x01" + number(len(STATEMENT)) + bytes.fromhex("01010d0000")
                + b"\x04" + b"\xff" * 4 + number(1) + b"\x04\x7f\xff\xff\xff" + b"\0" * 11 + b"\x01" + b"\0" * 8 + STATEMENT
                + bytes.fromhex("0101") + b"\0" * 6 + bytes.fromhex("0101000280") + b"\0" * 5)


def fetch(sequence, rows):
    return data(b"\x03\x05" + bytes([sequence]) + number(1) + number(rows))


def rows(sequence, count, so_far, value=b"x" * VALUE):
    """A response with so many rows, `so_far` with those before, and the block that ends it."""
    head = bytes.fromhex("0602010100") + number(count) + b"\0" * 3
    block = (b"\x04\x01\x01\x01" + bytes([sequence]) + number(so_far) + bytes.fromhex("00000001010003") + b"\0" * 12 + bytes([sequence])
             + bytes.fromhex("000101") + b"\0" * 4 + b"\0" + number(so_far))
    return data(head + (b"\x07" + bytes([len(value)]) + value) * count + block)
