#!/usr/bin/env python3
"""Sends frames as they are given on one device: frames.py DEVICE < lines of "<seconds from now> <hex>"."""

import socket
import sys
import time

device = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
device.bind((sys.argv[1], 0))
begun = time.monotonic()
for at, frame in sorted((float(line.split()[0]), line.split()[1]) for line in sys.stdin):
    time.sleep(max(0.0, begun + at - time.monotonic()))
    # No frame on a wire is shorter than 60 bytes.
    device.send(bytes.fromhex(frame).ljust(60, b"\0"))
