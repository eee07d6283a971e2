#!/usr/bin/env python3
"""A proxy of TCP that passes bytes on as they come, and holds them for a while first.

  proxy.py LISTEN_PORT HOST PORT HOLD_US

Each connection that it accepts gets one of its own to HOST:PORT. Says READY when it listens.
"""

import ctypes
import socket
import sys
import threading
import time

ctypes.CDLL(None).prctl(29, 1, 0, 0, 0)


def pump(of, to, hold_s):
    try:
        while data := of.recv(1 << 16):
            time.sleep(hold_s)
            to.sendall(data)
        to.shutdown(socket.SHUT_WR)
    except OSError:
        for end in (of, to):
            end.close()


def main():
    port, host, to_port, hold_us = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    listener = socket.create_server(("0.0.0.0", port), backlog=64)
    print("READY", flush=True)
    while True:
        client = listener.accept()[0]
        server = socket.create_connection((host, to_port))
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for of, to in ((client, server), (server, client)):
            threading.Thread(target=pump, args=(of, to, hold_us / 1e6), daemon=True).start()


main()
