#!/usr/bin/python3
"""cases/gate 18 to 23: bodies both ways, caps, and transfers that break."""
import os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gatelib import *
import gzip, hashlib, http.client, urllib.request, zlib

MB = 1000000


def stream(conn, total, chunked=False, head=b""):
    block = b"0123456789abcdef" * 4096
    while total > 0:
        part = block[:total]
        conn.sendall(b"%x\r\n%s\r\n" % (len(part), part) if chunked else part)
        total -= len(part)
    if chunked:
        conn.sendall(b"0\r\n\r\n")


def script(conn, seen):
    """One request a connection; what to do is in its path."""
    got = read_head(conn, seen)
    if got is None:
        return
    head, rest = got
    what = head.split()[1].decode()
    if what == "/204":
        conn.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
    elif what == "/304":
        conn.sendall(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\nETag: x\r\n\r\n")
    elif what == "/close":
        conn.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + b"until the end" * 1000)
        conn.unwrap()
    elif what == "/http10":
        conn.sendall(b"HTTP/1.0 200 OK\r\n\r\nold")
        conn.unwrap()
    elif what == "/cutclose":
        conn.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + b"until the end" * 1000)
    elif what == "/big":
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (51 * MB))
        stream(conn, 51 * MB)
    elif what == "/just":
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (50 * MB))
        stream(conn, 50 * MB)
    elif what == "/bigchunked":
        conn.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        stream(conn, 51 * MB, True)
    elif what == "/bomb":
        z = zlib.compressobj(9, zlib.DEFLATED, 31)
        data = b"".join(z.compress(b"\0" * MB) for _ in range(60)) + z.flush()
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
                     % len(data) + data)
    elif what == "/gzip":
        data = gzip.compress(b"hello " * 1000)
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
                     % len(data) + data)
    elif what == "/twogzips":
        data = gzip.compress(b"one ") + gzip.compress(b"two")
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
                     % len(data) + data)
    elif what == "/deflate" or what == "/rawdeflate":
        z = zlib.compressobj(9, zlib.DEFLATED, 15 if what == "/deflate" else -15)
        data = z.compress(b"hello") + z.flush()
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\nContent-Length: %d\r\n\r\n"
                     % len(data) + data)
    elif what == "/badgzip":
        data = gzip.compress(os.urandom(100000))[:50000]
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
                     % len(data) + data)
    elif what == "/notgzip":
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello")
    elif what == "/br":
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 4\r\n\r\nabcd")
    elif what == "/silent":
        time.sleep(30)
    elif what == "/half":
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + b"x" * 50000)
    elif what == "/halfchunked":
        conn.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
    elif what == "/reset":
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + b"x" * 50000)
        conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    elif what == "/garbage":
        conn.sendall(b"!!! what\r\n\r\n")
    elif what == "/headbomb":
        conn.sendall(b"HTTP/1.1 200 OK\r\n" + b"A: " + b"x" * 90000 + b"\r\n\r\n")
    elif what == "/early":
        conn.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
        time.sleep(0.3)
    elif what == "/gatehdr":
        conn.sendall(b"HTTP/1.1 200 OK\r\nX-Evctl-Gate: fake\r\nKeep-Alive: x\r\nX-Own: 1\r\n"
                     b"Content-Length: 2\r\n\r\nok")
    elif what == "/continue":
        conn.sendall(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
                     b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    elif what == "/sse":
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        for i in range(3):
            conn.sendall(b"data: %d\n\n" % i)
            seen.wait.wait(10)
            seen.wait.clear()
    elif what == "/hash":
        n = int(re.search(rb"(?i)content-length: (\d+)", head).group(1)) \
            if b"ontent-Length" in head else -1
        h, size = hashlib.sha256(rest), len(rest)
        if n < 0:
            conn_rest = rest
            body = b""
            while not conn_rest.endswith(b"0\r\n\r\n"):
                part = conn.recv(65536)
                if not part:
                    return
                seen.data += part
                conn_rest += part
            while conn_rest:
                line, conn_rest = conn_rest.split(b"\r\n", 1)
                k = int(line, 16)
                body += conn_rest[:k]
                conn_rest = conn_rest[k + 2:]
            h, size = hashlib.sha256(body), len(body)
        while size < n:
            part = conn.recv(65536)
            if not part:
                return
            h.update(part)
            size += len(part)
        conn.sendall(reply("%d %s %s" % (size, h.hexdigest(), "cl" if n >= 0 else "chunked")))
    else:
        conn.sendall(reply(what))


def rss(g):
    for line in open("/proc/%d/status" % g.p.pid):
        if line.startswith("VmHWM"):
            return int(line.split()[1])


def run():
    ca = Authority("up")
    set_hosts()
    Seen.wait = threading.Event()
    # kilobytes; the address sanitizer keeps what is freed for a while
    flat = 900000 if b"__asan_init" in open(os.path.join(BIN, "evctl-egress"), "rb").read() else 100000
    up = Upstream(ca.cert("api.x.example"), script)
    plain = Upstream(None, script, tls=False)
    g = Gate(ports=(443, 80, 8080))
    to = dict(ca=ca.pem, connect_to=up.addr, allow_private=True)
    g.begin(row("api.x.example", **to),
            row("plain.x.example", 8080, plain=True, connect_to=plain.addr, allow_private=True))

    # 18
    c = http.client.HTTPSConnection("api.x.example", g.port[443], context=g.ctx)
    c._create_connection = lambda a, *r, **k: socket.create_connection(("127.0.0.1", a[1]), 20)
    hdr = {"Host": "api.x.example"}

    def ask(method, path, body=None):
        c.request(method, path, body=body, headers=hdr)
        r = c.getresponse()
        return r.status, r.read()
    eq(ask("HEAD", "/x"), (200, b""), "HEAD: no body")
    sock = c.sock
    eq(ask("GET", "/204"), (204, b""), "204: no body")
    eq(ask("GET", "/304"), (304, b""), "304: no body")
    eq(ask("GET", "/after"), (200, b"/after"), "then a body again")
    ok(c.sock is sock and sock is not None, "all on one connection")
    eq(ask("GET", "/close"), (200, b"until the end" * 1000), "a close-delimited answer: complete")
    eq(ask("GET", "/http10"), (200, b"old"), "an HTTP/1.0 answer: complete")
    eq(ask("GET", "/continue"), (200, b"ok"), "interim answers are passed over")
    a = g.get("/x", method="head")
    eq((a.status, a.body), (200, b"/x"), "'head' is not HEAD")
    c.request("HEAD", "/x", headers=hdr)
    r = c.getresponse()
    eq(r.getheader("Content-Length"), "2", "HEAD keeps the length")
    r.read()

    # 19
    same = 0
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}),
                                         urllib.request.HTTPSHandler(context=g.ctx))
    set_hosts(**{"api.x.example": "127.0.0.1"})
    if g.port[443] == 443:
        for i in range(200):
            with opener.open("https://api.x.example/n%d" % i, timeout=20) as r:
                same += r.read() == b"/n%d" % i and r.headers["Connection"] == "close"
        eq(same, 200, "urllib, 200 times, each with Connection: close: byte-exact")

    # 20
    a = g.get("/big")
    eq((a.status, a.gate), (502, "answer-too-large"), "51 MB announced: refused before reading")
    a = g.get("/just")
    eq((a.status, len(a.body), a.whole), (200, 50 * MB, True), "50 MB: all of it")
    g.broke = None
    a = g.get("/bigchunked")
    ok(a.status == 200 and not a.whole and len(a.body) <= 50 * MB, "51 MB chunked: cut off, no clean end")
    g.broke = None
    a = g.get("/bomb")
    ok(a.status == 200 and not a.whole and len(a.body) <= 50 * MB,
       "60 MB out of a small gzip: cut off, no clean end", (a.status, a.whole, len(a.body)))
    g.broke = None
    raw = g.raw(b"GET /bomb HTTP/1.0\r\nHost: plain.x.example:8080\r\n\r\n", port=8080, tls=False)
    ok(len(raw) <= 51 * MB and isinstance(g.broke, ConnectionResetError),
       "the same to an HTTP/1.0 client without TLS: a reset, not an end", g.broke)
    raw = g.raw(b"GET /x HTTP/1.0\r\nHost: plain.x.example:8080\r\n\r\n", port=8080, tls=False)
    ok(raw.endswith(b"\r\n\r\n/x"), "while a whole answer ends", raw)
    a = g.get("/gzip")
    eq((a.status, gzip.decompress(a.body), a.whole, a.headers.get("content-encoding"), a.headers.get("content-length")),
       (200, b"hello " * 1000, True, "gzip", str(len(a.body))), "gzip passes as it came, and says so")
    eq(gzip.decompress(g.get("/twogzips").body), b"one two", "gzip of two members")
    eq(zlib.decompress(g.get("/deflate").body), b"hello", "deflate")
    eq(zlib.decompress(g.get("/rawdeflate").body, -15), b"hello", "deflate without its wrapping")
    a = g.get("/br")
    eq((a.body, a.headers.get("content-encoding")), (b"abcd", "br"), "what it can't decode passes as it is")
    a = g.get("/badgzip")
    ok(not a.whole, "a gzip that is cut short: no clean end")
    a = g.get("/notgzip")
    ok(not a.whole and not a.body, "what is no gzip, and says so: nothing of it")
    ok(rss(g) < flat, "flat memory: under %d MB" % (flat / 1000), rss(g))

    # 21
    data = os.urandom(1 << 20)
    a = g.get("/hash", method="POST", body=data)
    eq(a.body.split()[:2], [b"%d" % len(data), hashlib.sha256(data).hexdigest().encode()], "1 MiB up: arrives")
    big = os.urandom(10 * MB)
    a = g.get("/hash", method="POST", body=big)
    eq(a.body.split()[0], b"%d" % len(big), "10 MB up: arrives")
    wire = b"".join(b"%x\r\n%s\r\n" % (len(big[i:i + 50000]), big[i:i + 50000])
                    for i in range(0, len(big), 50000)) + b"0\r\n\r\n"
    a = g.get("/hash", method="POST", headers=["Transfer-Encoding: chunked"], body=wire)
    eq(a.body.decode(), "%d %s chunked" % (len(big), hashlib.sha256(big).hexdigest()),
       "10 MB up, chunked: arrives chunked")
    seen = len(up.seen)
    a = g.get("/hash", method="POST", body=b"x" * (100 * MB))
    eq((a.status, a.gate, len(up.seen)), (413, "body-too-large", seen), "100 MB up: refused, nothing sent")
    a = g.get("/hash", method="POST", headers=["Transfer-Encoding: chunked"],
              body=b"".join(b"%x\r\n%s\r\n" % (MB, b"x" * MB) for _ in range(11)) + b"0\r\n\r\n")
    eq((a.status, a.gate), (413, "body-too-large"), "11 MB up, chunked: refused")
    ok(rss(g) < flat, "flat memory: still under %d MB" % (flat / 1000), rss(g))
    a = g.get("/early", method="POST", body=b"x" * (5 * MB))
    eq((a.status, a.body), (413, b"no"), "an answer before the body was sent: passed on")

    # 22
    for path, name in (("/half", "cut short"), ("/halfchunked", "cut short, chunked"),
                       ("/reset", "reset in the middle"),
                       ("/cutclose", "close-delimited, but TLS not ended")):
        a = g.get(path)
        ok(a.status == 200 and not a.whole, name + ": a broken transfer, no clean end", a)
    try:
        with opener.open("https://api.x.example/half", timeout=20) as r:
            r.read()
        ok(False, "urllib notices")
    except (http.client.IncompleteRead, OSError) as e:
        ok(True, "urllib notices: " + type(e).__name__)
    a = g.get("/garbage")
    eq((a.status, a.gate), (502, "broken"), "garbage for an answer: 502")
    a = g.get("/headbomb")
    eq((a.status, a.gate), (502, "broken"), "a head of 90 KB for an answer: 502")
    a = g.get("/gatehdr")
    eq((a.status, a.gate, a.headers.get("x-own"), a.headers.get("keep-alive")), (200, None, "1", None),
       "the upstream's own X-Evctl-Gate is dropped")
    a = g.get("/x", headers=["X-Evctl-Gate: mine", "Proxy-Authorization: x", "TE: trailers"])
    ok(b"Proxy-Auth" not in up.bytes() and b"X-Evctl" not in up.bytes() and b"\nTE:" not in up.bytes(),
       "nor does the code's go up, nor its hop-by-hop headers")

    # streaming
    s = g.dial()
    s.sendall(b"GET /sse HTTP/1.1\r\nHost: api.x.example\r\n\r\n")
    buf = b""
    for i in range(3):
        while b"data: %d" % i not in buf:
            buf += s.recv(65536)
        ok(b"data: %d" % (i + 1) not in buf, "event %d comes before the next is sent" % i)
        Seen.wait.set()
    s.close()
    s = g.dial()
    s.sendall(b"POST /hash HTTP/1.1\r\nHost: api.x.example\r\nTransfer-Encoding: chunked\r\n\r\n"
              b"5\r\nhello\r\n")
    until(lambda: up.seen[-1].data.endswith(b"hello\r\n"), "the first chunk upstream", 10)
    ok(True, "an upload streams: its first chunk is there before its last is sent")
    s.sendall(b"0\r\n\r\n")
    ok(s.recv(65536).startswith(b"HTTP/1.1 200"), "and is answered")
    s.close()

    # 23
    a = g.get("/ws", headers=["Upgrade: websocket", "Sec-WebSocket-Key: x"])
    eq((a.status, a.gate), (403, "upgrade"), "Upgrade: 403")
    g.end()

    # 22 again: silence
    g.begin(row("api.x.example", **to), deadline=1500)
    start = time.monotonic()
    a = g.get("/silent")
    eq((a.status, a.gate), (504, "timeout"), "a silent upstream: 504")
    ok(time.monotonic() - start < 1.5, "in time for the code to hear of it")
    eq(g.end()[-1]["verdict"], "timeout", "as the event says")


main(run)
