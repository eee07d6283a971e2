#!/usr/bin/env python3
"""pages.py serve ADDRESS PORT BYTES | read ADDRESS PORT READERS THINK_MS SECONDS: pages over HTTP/1.1, and who reads them one
after another on a connection of his own."""

import http.client
import http.server
import socket
import sys
import threading
import time


def serve(address, port, size):
    page = b"x" * size

    class Page(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self):
            super().setup()
            self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(size))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_):
            pass

    http.server.ThreadingHTTPServer((address, port), Page).serve_forever()


def read(address, port, think_s, until):
    connection = http.client.HTTPConnection(address, port)
    number = 0
    while time.monotonic() < until:
        connection.request("GET", f"/page/{number}")
        connection.getresponse().read()
        number += 1
        time.sleep(think_s)


def main():
    what, address, port, *rest = sys.argv[1:]
    if what == "serve":
        serve(address, int(port), int(rest[0]))
    readers, think_ms, seconds = (float(value) for value in rest)
    until = time.monotonic() + seconds
    threads = [threading.Thread(target=read, args=(address, int(port), think_ms / 1e3, until)) for _ in range(int(readers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


main()
