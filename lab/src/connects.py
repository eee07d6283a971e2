#!/usr/bin/env python3
"""Short connections, each after asking anew by ARP who has the server's address.

  connects.py server ADDRESS PORT
  connects.py client ADDRESS PORT CONNECTIONS CALLS PAUSE_S OUT     a row in OUT for each connection
"""

import csv
import socket
import subprocess
import sys
import threading
import time


def server(address, port):
    listening = socket.create_server((address, int(port)))
    print("READY", flush=True)
    while True:
        threading.Thread(target=answer, args=(listening.accept()[0],), daemon=True).start()


def answer(connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        while connection.recv(100, socket.MSG_WAITALL):
            connection.sendall(b"r" * 400)
    except OSError:
        pass


def client(address, port, connections, calls, pause_s, out):
    rows = []
    for i in range(int(connections)):
        subprocess.run(["ip", "neigh", "flush", "dev", "eth0"], check=True)
        begun, done, outcome = time.time_ns(), 0, "answered"
        try:
            with socket.create_connection((address, int(port)), timeout=3) as s:
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for _ in range(int(calls)):
                    s.sendall(b"q" * 100)
                    if len(s.recv(400, socket.MSG_WAITALL)) < 400:
                        raise ConnectionResetError("closed")
                    done += 1
        except OSError as problem:
            outcome = type(problem).__name__
        rows.append((i, begun, time.time_ns(), done, outcome))
        time.sleep(float(pause_s))
    with open(out, "w", newline="") as file:
        csv.writer(file).writerows([("connection", "t_start_ns", "t_end_ns", "calls", "outcome"), *rows])


{"server": server, "client": client}[sys.argv[1]](*sys.argv[2:])
