"""Messages as common/base/field.h describes them. A table is a list of (name, kind); a kind is NUMBER, FLAG, TEXT, BYTES,
a table in a list for a list, or a table for a part.
"""
import struct

NUMBER, FLAG, TEXT, BYTES = "number", "flag", "text", "bytes"


def put_bytes(value):
    if value is None:
        return b"\xff" * 4
    return struct.pack("<I", len(value)) + value + b"\0"


def put(kind, value):
    if kind == NUMBER:
        return struct.pack("<q", value)
    if kind == FLAG:
        return bytes([bool(value)])
    if kind == TEXT:
        return put_bytes(None if value is None else value.encode())
    if kind == BYTES:
        return put_bytes(value)
    if isinstance(kind[0], list):
        return struct.pack("<I", len(value)) + b"".join(put(kind[0], item) for item in value)
    return b"".join(put(k, value[name]) for name, k in kind)


def message(tag, table, value=()):
    return tag + b"\1" + (put(table, value) if table else b"")


class Reader:
    def __init__(self, data):
        self.data = data

    def take(self, n):
        part, self.data = self.data[:n], self.data[n:]
        assert len(part) == n, "cut short"
        return part

    def bytes(self):
        n, = struct.unpack("<I", self.take(4))
        if n == 0xffffffff:
            return None
        text = self.take(n + 1)
        assert text[n] == 0
        return text[:n]

    def get(self, kind):
        if kind == NUMBER:
            return struct.unpack("<q", self.take(8))[0]
        if kind == FLAG:
            return {0: False, 1: True}[self.take(1)[0]]
        if kind == TEXT:
            text = self.bytes()
            return None if text is None else text.decode()
        if kind == BYTES:
            return self.bytes()
        if isinstance(kind[0], list):
            return [self.get(kind[0]) for _ in range(struct.unpack("<I", self.take(4))[0])]
        return {name: self.get(k) for name, k in kind}


def read(data, tables):
    """(tag, value) of a message whose tag is one of the tables'."""
    tag, version = data[:1], data[1]
    assert version == 1, version
    r = Reader(data[2:])
    value = r.get(tables[tag]) if tables[tag] else {}
    assert not r.data, "%d bytes too many" % len(r.data)
    return tag, value
