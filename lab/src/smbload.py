#!/usr/bin/env python3
"""smbload.py '<json>': sessions of a client of SMB 2.1, each a process of its own, into a log of every operation.

The JSON: {"server", "out" (CSV to write), "seed", "sessions": [...]}. A session: "name", "work" (a function below) and
its options; "after_s": when it starts. Logs in as nobody, whom the server takes for a guest. The log: `sessions.py`.
"""

import random
import select
import socket
import struct
import time

import sessions

NEGOTIATE, SESSION_SETUP, TREE_CONNECT, CREATE, CLOSE, READ, WRITE, LOCK = 0, 1, 3, 5, 6, 8, 9, 10
CHANGE_NOTIFY, OPLOCK_BREAK = 15, 18
PENDING, MORE_PROCESSING = 0x103, 0xC0000016
BATCH, NONE = 9, 0
EXCLUSIVE, UNLOCK = 2, 4
UNASKED = (1 << 64) - 1
# Unicode, NTLM, extended session security, a target, anonymous.
NTLM_FLAGS = 0x00080A05


class Session(sessions.Session):
    def __init__(self, told, all_told):
        super().__init__(told)
        self.dice, self.server = random.Random(f"{all_told['seed']} {told['name']}"), all_told["server"]
        self.message, self.session, self.tree = 0, 0, 0
        self.breaks = []

    def begin(self):
        self.socket = socket.create_connection((self.server, 445), 10)
        self.socket.settimeout(40)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port = self.socket.getsockname()[1]
        self.timed("connect", self.connect)

    def finish(self):
        self.socket.close()

    # ---- messages ([MS-SMB2] 2.2)

    def send(self, command, body):
        header = struct.pack("<4sHHIHHIIQIIQ16s", b"\xfeSMB", 64, 1, 0, command, 64, 0, 0, self.message, 0xFEFF, self.tree, self.session, bytes(16))
        self.message += 1
        self.socket.sendall(struct.pack(">I", 64 + len(body)) + header + body)
        return self.message - 1

    def receive(self):
        """(message id, status, body) of the next answer; who holds a file is told so (`breaks`)."""
        while True:
            data = self._exactly(struct.unpack(">I", self._exactly(4))[0])
            status, message, session = struct.unpack_from("<I", data, 8)[0], *struct.unpack_from("<Q", data, 24), *struct.unpack_from("<Q", data, 40)
            if message == UNASKED:
                self.breaks.append(data[64 + 8 : 64 + 24])
                return message, status, b""
            if status == PENDING:
                continue
            self.session = self.session or session
            self.tree = self.tree or (struct.unpack_from("<I", data, 36)[0] if data[12] == TREE_CONNECT else 0)
            return message, status, data[64:]

    def _exactly(self, n):
        got = b""
        while len(got) < n:
            if not (part := self.socket.recv(n - len(got))):
                raise ConnectionError("the server has ended the connection")
            got += part
        return got

    def call(self, command, body, allowed=(0,)):
        asked = self.send(command, body)
        while True:
            message, status, body = self.receive()
            if message == asked:
                if status not in allowed:
                    raise OSError(f"command {command}: status {status:#x}")
                return body

    def connect(self):
        self.call(NEGOTIATE, struct.pack("<HHHHI16sQH", 36, 1, 1, 0, 0, bytes(16), 0, 0x0210))
        setup = lambda token: struct.pack("<HBBIIHHQ", 25, 0, 1, 0, 0, 88, len(token), 0) + token
        self.call(SESSION_SETUP, setup(b"NTLMSSP\0" + struct.pack("<II", 1, NTLM_FLAGS) + bytes(16)), (MORE_PROCESSING,))
        # No name, no password: each field is empty and behind the message.
        nothing = struct.pack("<HHI", 0, 0, 64)
        self.call(SESSION_SETUP, setup(b"NTLMSSP\0" + struct.pack("<I", 3) + nothing * 6 + struct.pack("<I", NTLM_FLAGS)))
        path = f"\\\\{self.server}\\export".encode("utf-16-le")
        self.call(TREE_CONNECT, struct.pack("<HHHH", 9, 0, 72, len(path)) + path)

    def open(self, name, oplock=NONE, access=0x0012019F):
        """The id of a file; `granted` is the oplock that it was given."""
        text = name.encode("utf-16-le")
        body = struct.pack("<HBBIQQIIIIIHHII", 57, 0, oplock, 2, 0, 0, access, 0x80, 7, 1, 0, 120, len(text), 0, 0) + (text or b"\0")
        answer = self.call(CREATE, body)
        self.granted = answer[2]
        return answer[64:80]

    def close(self, file):
        self.call(CLOSE, struct.pack("<HHI16s", 24, 0, 0, file))

    def read(self, file, offset, size):
        return struct.unpack_from("<I", self.call(READ, struct.pack("<HBBIQ16sIIIHHB", 49, 0x50, 0, size, offset, file, 0, 0, 0, 0, 0, 0)), 4)[0]

    def write(self, file, offset, data):
        self.call(WRITE, struct.pack("<HHIQ16sIIHHI", 49, 112, len(data), offset, file, 0, 0, 0, 0, 0) + data)
        return len(data)

    def lock(self, file, offset, flags):
        """A lock of a byte, waited for."""
        self.call(LOCK, struct.pack("<HHI16sQQII", 48, 1, 0, file, offset, 1, flags, 0))

    # ---- work

    def reads(self, file="data.bin", size=16384, n=10**9, secs=10**9, think_ms=0, writes=0.0):
        """Reads and, as a share, writes at random places."""
        handle, begun = self.timed("create", lambda: self.open(file)), time.monotonic()
        for _ in range(n):
            if time.monotonic() - begun > secs:
                break
            offset = self.dice.randrange(4096) * 16384 % (64 << 20)
            if self.dice.random() < writes:
                self.timed("write", lambda: self.write(handle, offset, bytes(size)))
            else:
                self.timed("read", lambda: self.read(handle, offset, size))
            time.sleep(think_ms / 1e3)
        self.timed("close", lambda: self.close(handle))

    def opens(self, file="data.bin", n=10**9, secs=10**9, think_ms=0):
        """Opens a file, reads some of it and closes it."""
        begun = time.monotonic()
        for _ in range(n):
            if time.monotonic() - begun > secs:
                return
            handle = self.timed("create", lambda: self.open(file))
            self.timed("read", lambda: self.read(handle, 0, 4096))
            self.timed("close", lambda: self.close(handle))
            time.sleep(think_ms / 1e3)

    def keeps(self, file="data.bin", secs=5, held_ms=0):
        """Opens a file for itself alone, and gives it back so long after it was asked to."""
        end = time.monotonic() + secs
        while (left := end - time.monotonic()) > 0:
            handle = self.open(file, BATCH)
            # Others may have it open just now: then it is tried again.
            if self.granted == BATCH and self.is_asked_back(left):
                self.breaks.clear()
                time.sleep(held_ms / 1e3)
            self.close(handle)
            time.sleep(0.005)

    def is_asked_back(self, within_s):
        return self.breaks or select.select([self.socket], [], [], within_s)[0] and self.receive()[0] == UNASKED

    def locks(self, file="data.bin", n=10**9, secs=10**9, held_ms=0, think_ms=0):
        """Locks the same byte as others do, holds it for a while, lets it go."""
        handle, begun = self.timed("create", lambda: self.open(file)), time.monotonic()
        for _ in range(n):
            if time.monotonic() - begun > secs:
                break
            self.timed("lock", lambda: self.lock(handle, 0, EXCLUSIVE))
            time.sleep(held_ms / 1e3)
            self.timed("unlock", lambda: self.lock(handle, 0, UNLOCK))
            time.sleep(think_ms / 1e3)
        self.timed("close", lambda: self.close(handle))

    def watches(self, secs=5):
        """Waits for changes of the share's folder, of which there are none."""
        folder = self.timed("create", lambda: self.open("", access=0x00100081))
        self.send(CHANGE_NOTIFY, struct.pack("<HHI16sII", 32, 0, 4096, folder, 0x3, 0))
        self.socket.settimeout(secs)
        try:
            self.receive()
        except TimeoutError:
            pass


sessions.main(Session)
