"""Whether a key stands in some bytes, in any form that a reader could undo. Written without a look at
how evctl searches; each test shows first that it finds the key in what the API really sent."""
import base64
import gzip
import html
import json
import re
import urllib.parse
import zlib


def cores(key):
    """What base64 makes of the key whatever stands around it."""
    for lead in (b"", b"x", b"xx"):
        text = base64.b64encode(lead + key).rstrip(b"=")
        yield text[-(-len(lead) * 8 // 6):len(text) - (1 if (len(lead) + len(key)) % 3 else 0)]


def strings(j):
    if isinstance(j, str):
        yield j
    elif isinstance(j, list):
        for v in j:
            yield from strings(v)
    elif isinstance(j, dict):
        for k, v in j.items():
            yield k
            yield from strings(v)


def undone(data):
    yield data
    yield re.sub(rb"[\s\\\0]", b"", data)
    yield urllib.parse.unquote_to_bytes(data)
    yield html.unescape(data.decode("latin-1")).encode("latin-1", "replace")
    yield re.sub(rb"\\u00([0-9a-fA-F]{2})", lambda m: bytes([int(m[1], 16)]), data)
    try:
        for s in strings(json.loads(data, object_pairs_hook=lambda p: [list(x) for x in p])):
            yield s.encode()
            try:
                yield base64.b64decode(s, validate=True)
            except ValueError:
                pass
    except ValueError:
        pass


def inflated(data, depth=0):
    yield data
    for at in [m.start() for m in re.finditer(rb"\x1f\x8b\x08|\x78[\x01\x9c\xda]", data)][:20]:
        for how in (zlib.decompressobj(31), zlib.decompressobj()):
            try:
                got = how.decompress(data[at:])
            except zlib.error:
                continue
            if got and depth < 2:
                yield from inflated(got, depth + 1)


def holds(key, data):
    key = key.encode() if isinstance(key, str) else key
    for flat in inflated(data):
        for text in undone(flat):
            low = text.lower()
            if key.lower() in low or key.hex().encode() in low:
                return True
            for core in cores(key):
                if core in text or core.translate(bytes.maketrans(b"+/", b"-_")) in text:
                    return True
    return False
