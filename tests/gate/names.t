#!/usr/bin/python3
"""cases/gate 1 to 6: which names reach which host, through the running gate."""
import os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gatelib import *


def run():
    ca = Authority("up")
    set_hosts()
    up = Upstream(ca.cert("api.x.example", "*.w.example", "*.b.w.example", "deep.b.w.example",
                          "xn--bcher-kva.example", "odd.example", "a_b.x.example"), answering(echo))
    to = dict(ca=ca.pem, connect_to=up.addr, allow_private=True)
    plain = Upstream(None, answering(echo), tls=False)
    g = Gate(ports=(443, 80, 8443, 8080))
    g.begin(row("api.x.example", **to), row("*.w.example", **to),
            row("xn--bcher-kva.example", **to), row("a_b.x.example", **to),
            row("a_b.x.example", 8080, plain=True, connect_to=plain.addr, allow_private=True), row("odd.example", 8443, **to))

    def asks(name, host, sni=None, **more):
        return g.get("/", host=host, sni=sni or name, **more)

    a = g.get("/", host="api.x.example")
    eq((a.status, a.json()["headers"][0]), (200, "Host: api.x.example"), "the declared name: 200")
    a = asks("api.x.example", "API.X.Example")
    eq((a.status, a.json()["headers"][0]), (200, "Host: api.x.example"), "capitals: lower-cased")
    a = asks("api.x.example", "api.x.example.")
    eq((a.status, a.json()["headers"][0]), (200, "Host: api.x.example"), "one trailing dot: dropped")
    a = g.get("/", host="api.x.example.", sni="api.x.example.")
    eq((a.status, a.json()["headers"][0]), (200, "Host: api.x.example"), "in SNI and the certificate too")
    eq(asks("api.x.example", "api.x.example..").status, 400, "two trailing dots: 400")
    eq(g.get("/", host="a_b.x.example").raw, None, "an underscore: no TLS, which is why host add refuses it")
    eq(g.get("/", host="a_b.x.example", port=8080, tls=False).status, 200,
       "over plain HTTP it goes")

    eq(g.get("/", host="a.w.example").status, 200, "one label below a wildcard: 200")
    a = g.get("/", host="deep.b.w.example")
    eq(a.status, 200, "two labels below a wildcard: 200")
    for name in ("w.example", "notw.example", "w.example.evil"):
        a = g.get("/", host=name)
        eq((a.status, a.gate, a.whole), (403, "host", True), name + " is not below it: 403")
    ok("evctl-host add w.example.evil" in a.json()["hint"], "the refusal says what would allow it")

    n = len(up.seen)
    for bad in ("b\u00fccher.example", "a\uff0eb", "\u2460.example", "a%2fb", "a@b", "a\\b",
                "user:pw@api.x.example", "api.x.example@evil", "2130706433", "0x7f000001",
                "0177.0.0.1", "127.1", "0", "[::1]", "fe80::1%lo", "127.0.0.1"):
        raw = ("GET /secret-path HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % bad).encode()
        a = Answer(g.raw(raw, sni="api.x.example"))
        eq((a.status, a.gate), (400, "bad-request"), "Host '%s': 400" % ascii(bad))
    a = Answer(g.raw(b"GET / HTTP/1.1\r\nHost: api.x.example\0.evil\r\n\r\n"))
    eq(a.status, 400, "a NUL in Host: 400")
    eq(len(up.seen), n, "none of them reached the upstream")

    a = g.get("/", host="xn--bcher-kva.example")
    eq(a.status, 200, "declared punycode: 200")
    a = g.get("/", host="xn--fa-hia.example")
    eq((a.status, a.gate), (403, "host"), "punycode that was not declared: 403")

    a = g.get("/", host="odd.example", port=8443)
    eq((a.status, a.json()["headers"][0]), (200, "Host: odd.example:8443"), "a declared port: 200")
    a = g.get("/", host="odd.example")
    eq((a.status, a.gate), (403, "port"), "the same host on a port that was not declared: 403")
    a = asks("api.x.example", "api.x.example:444")
    eq((a.status, a.gate), (403, "port"), "another port in Host than connected to: 403")

    events = g.end()
    text = json.dumps(events)
    for word in ("user", "pw", "evil@", "secret-path", "2130706433", "%2f"):
        ok(word not in text, "a malformed host is not logged: " + word)
    ok('"host": "api.x.example"' in text, "a good one is")


main(run)
