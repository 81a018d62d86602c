#!/usr/bin/python3
"""cases/gate 12 to 17: what agrees with what, and what counts as a request at all."""
import os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gatelib import *

H = b"Host: api.x.example\r\n"
GET = b"GET / HTTP/1.1\r\n" + H
POST = b"POST / HTTP/1.1\r\n" + H


def responses(s, n):
    """The next n responses on a kept-alive connection."""
    out, buf = [], b""
    for _ in range(n):
        while True:
            if b"\r\n\r\n" in buf:
                head, rest = buf.split(b"\r\n\r\n", 1)
                m = re.search(rb"(?i)content-length: *(\d+)", head)
                if m and len(rest) >= int(m.group(1)):
                    end = len(head) + 4 + int(m.group(1))
                    out.append(Answer(buf[:end]))
                    buf = buf[end:]
                    break
            got = s.recv(65536)
            if not got:
                return out
            buf += got
    return out


def run():
    ca = Authority("up")
    set_hosts()
    up = Upstream(ca.cert("api.x.example", "b.x.example"), answering(echo))
    plain = Upstream(None, answering(echo), tls=False)
    to = dict(ca=ca.pem, connect_to=up.addr, allow_private=True)
    g = Gate(ports=(443, 80, 8080))
    g.begin(row("api.x.example", **to), row("b.x.example", **to),
            row("plain.x.example", 8080, plain=True, allow_private=True, connect_to=plain.addr))

    def refused(raw, status, name, gate="bad-request", **how):
        before = len(up.bytes())
        a = Answer(g.raw(raw, **how))
        ok(a.status == status and a.gate == gate and a.whole and len(up.bytes()) == before, name, a)
        return a

    eq(Answer(g.raw(GET + b"Connection: close\r\n\r\n")).status, 200, "a plain good request: 200")
    refused(b"GET / HTTP/1.1\r\nHost: b.x.example\r\nConnection: close\r\n\r\n", 403,
            "SNI differs from Host: 403", gate="sni")
    refused(b"GET / HTTP/1.1\r\n\r\n", 400, "no Host: 400")
    refused(GET + H + b"\r\n", 400, "Host twice: 400")
    refused(GET + b"hOsT: b.x.example\r\n\r\n", 400, "two Hosts: 400")
    a = Answer(g.raw(b"GET https://api.x.example/p HTTP/1.1\r\n" + H + b"Connection: close\r\n\r\n"))
    eq((a.status, a.json()["line"]), (200, "GET /p HTTP/1.1"), "absolute form for this host: 200")
    refused(b"GET https://b.x.example/ HTTP/1.1\r\n" + H + b"\r\n", 400,
            "absolute form for another host: 400")
    refused(b"GET http://api.x.example/ HTTP/1.1\r\n" + H + b"\r\n", 400,
            "absolute form with another scheme: 400")

    s = g.dial()
    s.sendall(GET + b"\r\n")
    first = responses(s, 1)
    s.sendall(b"GET / HTTP/1.1\r\nHost: b.x.example\r\n\r\n")
    second = responses(s, 1)
    s.sendall(GET + b"\r\n")
    third = responses(s, 1)
    eq([a.status for a in first + second + third], [200, 403, 200],
       "kept alive: the second request for another host is refused, the third for this one is not")
    s.sendall(GET + b"\r\n" + b"GET /2 HTTP/1.1\r\n" + H + b"\r\n")
    eq([a.json()["line"] for a in responses(s, 2)], ["GET / HTTP/1.1", "GET /2 HTTP/1.1"],
       "pipelined requests are answered in turn")
    s.close()

    # What a port speaks.
    eq(g.raw(GET + b"\r\n", tls=False, port=443) or b"", b"", "plain HTTP on the TLS port: closed")
    eq(g.raw(GET + b"\r\n", tls=True, port=80), None, "TLS on the plain port: closed")
    eq(g.get("/", host="plain.x.example", port=8080, tls=False).status, 200, "plain on a plain port: 200")
    eq(g.raw(b"x", name="plain.x.example", port=8080), None, "TLS on a row's plain port: closed")
    nosni = ssl.create_default_context(cadata=g.ca)
    nosni.check_hostname = False
    s = socket.create_connection(("127.0.0.1", g.port[443]), 10)
    try:
        nosni.wrap_socket(s)
        ok(False, "no SNI: closed")
    except (ssl.SSLError, ConnectionError):
        ok(True, "no SNI: closed")
    for bad in ("127.0.0.1", "-x.example", "x.1"):
        c = ssl.create_default_context(cadata=g.ca)
        c.check_hostname = False
        got = None
        try:
            s = socket.create_connection(("127.0.0.1", g.port[443]), 10)
            if bad == "127.0.0.1":
                got = c.wrap_socket(s, server_hostname=bad)  # Python sends no SNI for an address
            else:
                got = c.wrap_socket(s, server_hostname=bad)
        except (ssl.SSLError, ConnectionError, ValueError):
            pass
        eq(got, None, "SNI '%s': closed" % bad)

    # Framing.
    a = Answer(g.raw(POST + b"Content-Length: 5\r\nConnection: close\r\n\r\nhello"))
    eq((a.status, base64.b64decode(a.json()["body"])), (200, b"hello"), "a body with a length: 200")
    a = Answer(g.raw(POST + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
                     b"5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nTrailer: t\r\n\r\n"))
    eq((a.status, base64.b64decode(a.json()["body"])), (200, b"hello world"), "a chunked body: 200")
    ok("Trailer: t" not in a.json()["headers"], "trailers are not passed on")
    for bad, name in ((b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "CL with TE"),
                      (b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "TE with CL"),
                      (b"Content-Length: 5\r\nContent-Length: 5\r\n", "two CLs"),
                      (b"Content-Length: 5, 5\r\n", "CL '5, 5'"),
                      (b"Content-Length: +5\r\n", "CL '+5'"),
                      (b"Content-Length: 0x5\r\n", "CL '0x5'"),
                      (b"Content-Length: 99999999999999999999\r\n", "CL that overflows"),
                      (b"Content-Length: -1\r\n", "negative CL"),
                      (b"Transfer-Encoding: chunked,\r\n", "TE 'chunked,'"),
                      (b"Transfer-Encoding: gzip, chunked\r\n", "TE 'gzip, chunked'"),
                      (b"Transfer-Encoding: xchunked\r\n", "TE 'xchunked'"),
                      (b"Transfer-Encoding: \x0bchunked\r\n", "TE with a vertical tab"),
                      (b"A: b\r\n c\r\n", "obs-fold"),
                      (b"A : b\r\n", "space before the colon"),
                      (b"A b: c\r\n", "space in a name"),
                      (b": c\r\n", "an empty name"),
                      (b"A\r\n", "no colon"),
                      (b"A: b\rC: d\r\n", "bare CR"),
                      (b"A: b\nC: d\r\n", "bare LF"),
                      (b"A: b\0\r\n", "NUL")):
        refused(POST + bad + b"\r\nhello", 400, name + ": 400 and close")
    refused(b"POST / HTTP/1.0\r\n" + H + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400,
            "TE on HTTP/1.0: 400")
    refused(b"GET / HTTP/1.1\nHost: api.x.example\n\n", 400, "bare LFs all over: 400")
    refused(b"GET / HTTP/2.0\r\n" + H + b"\r\n", 505, "HTTP/2.0: 505")
    refused(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "HTTP/2's preface: 505")
    for size in (b"+5", b"0x5", b" 5", b"5 ", b"", b"g", b"-1", b"fffffffffffffffff"):
        a = Answer(g.raw(POST + b"Transfer-Encoding: chunked\r\n\r\n" + size +
                         b"\r\nhello\r\n0\r\n\r\n"))
        eq((a.status, a.gate), (400, "bad-request"), "chunk size '%s': 400" % size.decode())
    a = Answer(g.raw(POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhelloXX0\r\n\r\n"))
    eq((a.status, a.gate), (400, "bad-request"), "a chunk longer than its size: 400")
    eq(Answer(g.raw(GET + b"A: " + b"b" * 30000 + b"\r\nConnection: close\r\n\r\n")).status, 200,
       "a head of 30 KB: 200")
    refused(GET + b"A: " + b"b" * 33000 + b"\r\n\r\n", 431, "a head over 32 KB: 431", "head-too-large")
    refused(GET + b"A: b\r\n" * 200 + b"\r\n", 431, "200 headers: 431", "head-too-large")

    # Expect
    s = g.dial()
    s.sendall(POST + b"Content-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n")
    got = s.recv(100)
    ok(got.startswith(b"HTTP/1.1 100 "), "Expect: 100 when the policy has passed", got)
    s.sendall(b"hello")
    rest = b""
    while True:
        part = s.recv(65536)
        if not part:
            break
        rest += part
    eq(base64.b64decode(Answer(rest).json()["body"]), b"hello", "and then the answer")
    a = Answer(g.raw(b"POST / HTTP/1.1\r\nHost: no.x.example\r\nContent-Length: 5\r\n"
                     b"Expect: 100-continue\r\nConnection: close\r\n\r\n", sni="no.x.example"))
    eq((a.status, a.continued), (403, False), "Expect to a refused host: 403, no 100")
    refused(POST + b"Content-Length: 5\r\nExpect: x\r\n\r\nhello", 417, "another Expect: 417")
    g.end()

    # Half a head and silence.
    g.begin(row("api.x.example", **to), deadline=600)
    start = time.monotonic()
    eq(g.raw(b"GET / HTTP/1.1\r\nHost: api"), b"", "half a head and silence: ended")
    took = time.monotonic() - start
    ok(0.3 < took < 3, "by the deadline", took)
    g.end()


main(run)
