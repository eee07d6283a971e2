"""NFS version 3 over TCP (RFC 1813, RFC 5531), as much as makes a bounded load that looks real.

usage: nfs.py server ADDRESS SLOW_FROM SLOW_FOR
       nfs.py client ADDRESS CALLS_PER_SECOND SECONDS

The server answers READ, WRITE and GETATTR at once, but one call in a hundred after 20 ms; from SLOW_FROM
seconds after its first call on, for SLOW_FOR seconds, READs take 60 ms. The client keeps four connections,
each of which ends after 1,500 calls and is opened anew, sends calls when they are due, whatever is
outstanding, up to 16 of a connection, and prints how many calls were answered."""
import asyncio, random, struct, sys

GETATTR, READ, WRITE = 1, 6, 7
PORT = 2049
CONNECTIONS, CALLS_EACH, OUTSTANDING = 4, 1500, 16
SIZES = [512, 2048, 8192]


def words(*numbers):
    return struct.pack(f"!{len(numbers)}I", *numbers)


def opaque(data):
    return words(len(data)) + data + bytes(-len(data) % 4)


def record(message):
    """RFC 5531, 11: one fragment, the last."""
    return words(0x80000000 | len(message)) + message


async def read_record(reader):
    (mark,) = struct.unpack("!I", await reader.readexactly(4))
    return await reader.readexactly(mark & 0x7FFFFFFF)


class Server:
    def __init__(self, slow_from, slow_for):
        self.slow = (slow_from, slow_from + slow_for)
        self.first = None
        self.dice = random.Random(1)

    async def connected(self, reader, writer):
        pending = set()
        try:
            while True:
                call = await read_record(reader)
                task = asyncio.create_task(self.answer(call, writer))
                pending.add(task)
                task.add_done_callback(pending.discard)
        except asyncio.IncompleteReadError:
            writer.close()

    async def answer(self, call, writer):
        now = asyncio.get_running_loop().time()
        self.first = self.first or now
        xid, _, _, _, _, procedure = struct.unpack_from("!6I", call)
        if self.dice.random() < 0.01:
            await asyncio.sleep(0.02)
        if procedure == READ:
            if self.slow[0] <= now - self.first < self.slow[1]:
                await asyncio.sleep(0.06)
            (count,) = struct.unpack("!I", call[-4:])
            result = words(0, 0, count, 0) + opaque(bytes(count))
        elif procedure == WRITE:
            (count,) = struct.unpack_from("!I", call, 24 + 16 + 36 + 8)
            result = words(0, 0, 0, count, 2, 0, 0)
        else:
            result = words(0, 1, 0o644, 1, 0, 0, *[0] * 15)
        # Accepted, without a verifier, successful.
        writer.write(record(words(xid, 1, 0, 0, 0, 0) + result))


class Client:
    def __init__(self, address, rate, seconds):
        self.address, self.rate, self.seconds = address, rate, seconds
        self.dice = random.Random(2)
        self.xid = 0x10000000
        self.answered = 0

    def call(self):
        """Half are READs, a quarter each WRITEs and GETATTRs."""
        self.xid += 1
        procedure = self.dice.choice([GETATTR, READ, READ, WRITE])
        handle, offset, count = bytes(31) + b"f", self.dice.randrange(1 << 30) & ~4095, self.dice.choice(SIZES)
        arguments = opaque(handle)
        if procedure != GETATTR:
            arguments += struct.pack("!QI", offset, count)
        if procedure == WRITE:
            arguments += words(2) + opaque(bytes(count))
        # Version 2 of RPC, NFS 3, no credentials, no verifier.
        return record(words(self.xid, 0, 2, 100003, 3, procedure, 0, 0, 0, 0) + arguments)

    async def lane(self, until):
        loop = asyncio.get_running_loop()
        due = loop.time()
        while loop.time() < until:
            reader, writer = await asyncio.open_connection(self.address, PORT)
            room = asyncio.Semaphore(OUTSTANDING)

            async def receive():
                for _ in range(CALLS_EACH):
                    await read_record(reader)
                    self.answered += 1
                    room.release()

            receiver = asyncio.create_task(receive())
            sent = 0
            while sent < CALLS_EACH and loop.time() < until:
                await asyncio.sleep(max(0, due - loop.time()))
                # What could not be sent in time is not made up for.
                due = max(due, loop.time() - 1) + self.dice.expovariate(self.rate / CONNECTIONS)
                await room.acquire()
                writer.write(self.call())
                sent += 1
            for _ in range(OUTSTANDING):
                await room.acquire()
            receiver.cancel()
            writer.close()
            await writer.wait_closed()

    async def run(self):
        until = asyncio.get_running_loop().time() + self.seconds
        await asyncio.gather(*(self.lane(until) for _ in range(CONNECTIONS)))
        print(self.answered)


async def serve(address, slow_from, slow_for):
    server = await asyncio.start_server(Server(slow_from, slow_for).connected, address, PORT)
    print("ready", flush=True)
    await server.serve_forever()


role, address, *rest = sys.argv[1:]
if role == "server":
    asyncio.run(serve(address, *map(float, rest)))
else:
    asyncio.run(Client(address, *map(float, rest)).run())
