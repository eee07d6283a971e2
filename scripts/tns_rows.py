"""Rows in the answers of an Oracle server, counted by walking them: for tns_table.py.

slowside takes the number of rows from the count that the server keeps for the cursor, at the end of the answer. Here the
header of the rows says how many columns there are, and each row is walked, column by column, to the error block or the
parameters behind the last one. What has columns that are no plain texts (large objects) is not counted.
"""

DATA = 6
ROW_HEADER, ROW, ERROR, PARAMETERS, DESCRIBE, BIT_VECTOR, PIGGYBACK = 6, 7, 4, 8, 0x10, 0x15, 0x17
# Bytes of the headers that native clients are sent; "universal" is the form of thin ones.
FORMS = ("universal", 50, 34, 22, 18)
CHUNKED = 0xFE
COLUMNS = 1000


class NoRows(Exception):
    """These bytes are none."""


class Reader:
    def __init__(self, data, at):
        self.data, self.at = data, at

    def take(self, n):
        taken = self.data[self.at:self.at + n]
        if len(taken) < n:
            raise NoRows
        self.at += n
        return taken

    def byte(self):
        return self.take(1)[0]

    def little(self, n):
        return int.from_bytes(self.take(n), "little")

    def universal(self, most=8):
        length = self.byte()
        if length > most:
            raise NoRows
        return int.from_bytes(self.take(length), "big")

    def text(self):
        length = self.byte()
        if length == CHUNKED:
            # Lengths of chunks are bytes, or universal.
            short = self.data[self.at:self.at + 1] > b"\4"
            while chunk := self.byte() if short else self.universal(4):
                self.take(chunk)
        elif length < 253:
            self.take(length)
        elif length != 0xFF:
            raise NoRows


def payload(data):
    """What these packets of TNS carry, joined."""
    joined, at = b"", 0
    while at + 8 <= len(data):
        wide = data[at:at + 2] == b"\0\0"
        length = int.from_bytes(data[at:at + (4 if wide else 2)], "big")
        if length < 8:
            break
        if data[at + 4] == DATA:
            joined += data[at + 10:at + length]
        at += length
    return joined


def bits(vector):
    return sum(byte.bit_count() for byte in vector)


def header(r, form):
    """Columns, and how many of them the first row has."""
    vector = b""
    if r.byte() != ROW_HEADER:
        raise NoRows
    if form == "universal":
        r.byte()
        columns, further = r.universal(2), r.universal(4)
        columns += 256 * further
        r.universal(4), r.universal(2)
        if length := r.universal(4):
            r.byte()
            vector = r.take(length)
        if r.universal(4):
            raise NoRows
    elif form == 22:
        r.byte()
        columns, further = r.little(2), r.little(4)
        columns += 256 * further
        r.take(6)
        length = r.little(4)
        r.take(4)
        vector = r.take(length)
    elif form == 18:
        r.byte()
        columns = r.little(2)
        r.take(14)
    else:
        missing = r.byte()
        r.take(2)
        columns = r.little(2)
        r.take(form - 6)
        if missing == 0:
            vector = r.take((columns + 7) // 8)
    if not 1 <= columns <= COLUMNS:
        raise NoRows
    return columns, bits(vector) if vector else columns


def walked(data, at, form, behind):
    """Rows from a header on, `behind` bytes after each value."""
    r = Reader(data, at)
    columns, present = header(r, form)
    rows = 0
    while True:
        kind = r.byte()
        if kind == ROW:
            for _ in range(present):
                r.text()
                r.take(behind)
            rows, present = rows + 1, columns
        elif kind == BIT_VECTOR:
            sent = r.universal(2) if form == "universal" else r.little(2)
            present = bits(r.take((columns + 7) // 8))
            if present != sent:
                raise NoRows
        elif kind in (ERROR, PARAMETERS):
            return rows
        else:
            raise NoRows


def rows(answer):
    """How many rows these packets bring; None where that cannot be told."""
    data = payload(answer)
    if data[:1] not in (bytes([ROW_HEADER]), bytes([DESCRIBE]), bytes([PIGGYBACK])):
        return None
    first = data[0] == ROW_HEADER
    places = [0] if first else [i for i, byte in enumerate(data) if byte == ROW_HEADER]
    counted = []
    for at in places:
        for form in FORMS:
            # Oracle 9 has two bytes behind each value.
            for behind in (0, 2):
                try:
                    counted.append(walked(data, at, form, behind))
                except NoRows:
                    pass
    found = max(counted, default=None)
    return found if found or first else None
