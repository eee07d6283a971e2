#!/usr/bin/env python3
"""A name server that takes its time: names.py ADDRESS DELAY_MS OUT; with a delay below 0 it never answers.

Every question is answered with one name that does not fit the address asked for; when it came and when it was answered is written
to OUT (CSV of t_ns, took_ns; -1 where it was not).
"""

import socket
import struct
import sys
import threading
import time

ANSWER = b"\6client\4test\0"


def main():
    address, delay_ms, out = sys.argv[1], float(sys.argv[2]), open(sys.argv[3], "w", buffering=1)
    out.write("t_ns,took_ns\n")
    asked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    asked.bind((address, 53))
    print("READY", flush=True)
    while True:
        question, sender = asked.recvfrom(512)
        at = time.time_ns()
        if delay_ms < 0:
            out.write(f"{at},-1\n")
            continue
        threading.Timer(delay_ms / 1e3, answer, (asked, question, sender, at, out)).start()


def answer(socket_, question, sender, at, out):
    is_pointer = b"\7in-addr\4arpa\0" in question
    body = question[12:question.index(b"\0", 12) + 5]
    record = b"\xc0\x0c" + struct.pack(">HHIH", 12, 1, 60, len(ANSWER)) + ANSWER if is_pointer else b""
    # A name that does not exist, where anything else is asked for.
    flags = 0x8180 if is_pointer else 0x8183
    socket_.sendto(struct.pack(">2s5H", question[:2], flags, 1, int(is_pointer), 0, 0) + body + record, sender)
    out.write(f"{at},{time.time_ns() - at}\n")


main()
