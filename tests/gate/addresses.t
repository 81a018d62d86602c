#!/usr/bin/python3
"""cases/gate 7 to 11: what a name may lead to. In a network namespace of the test's own."""
import os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gatelib import *

PRIVATE = {"private": "10.1.2.3", "private2": "192.168.7.7", "private3": "172.16.5.5",
           "linklocal": "169.254.7.7", "cgnat": "100.64.1.1", "benchmark": "198.18.0.1",
           "loopback": "127.0.0.1", "loopback2": "127.8.9.10", "thishost": "0.0.0.0"}
METADATA = {"meta": "169.254.169.254", "meta2": "169.254.170.2", "meta3": "100.100.100.200"}


def run():
    ca = Authority("up")
    names = {"pub.x.example": PUBLIC, "both.x.example": "10.1.2.3 " + PUBLIC,
             "mapped.x.example": "::ffff:127.0.0.1", "mapmeta.x.example": "::ffff:169.254.169.254",
             "six.x.example": "::1", "metaboth.x.example": "169.254.169.254 " + PUBLIC}
    for k, ip in list(PRIVATE.items()) + list(METADATA.items()):
        names[k + ".x.example"] = ip
        if ip not in ("0.0.0.0", "127.0.0.1", "127.8.9.10"):
            add_address(ip)
    set_hosts(**names)
    cert = ca.cert("*.x.example")
    # One server on every address: whatever is let through arrives somewhere, and is counted.
    # The gate's own listeners are on 127.0.0.1:443, so the port is another one.
    up = Upstream(cert, answering(echo), ip="0.0.0.0", port=8443)
    six = None
    if socket.has_ipv6:
        six = Upstream.__new__(Upstream)
        six.handle, six.tls, six.seen, six.ctx = up.handle, True, up.seen, up.ctx
        six.sock = socket.create_server(("::1", 8444), family=socket.AF_INET6)
        threading.Thread(target=six.run, daemon=True).start()
    g = Gate(ports=(443, 8443))

    def asks(name, **more):
        g.begin(row(name, 8443, ca=ca.pem, **more))
        seen = len(up.seen)
        a = g.get("/", host=name, port=8443)
        g.end()
        return a.status, a.gate, len(up.seen) - seen

    eq(asks("pub.x.example"), (200, None, 1), "a public address: 200")
    for k in PRIVATE:
        name = k + ".x.example"
        eq(asks(name), (403, "address", 0), "%s (%s): 403, no packet" % (k, PRIVATE[k]))
    eq(asks("six.x.example"), (403, "address", 0), "::1: 403, no packet")
    eq(asks("mapped.x.example"), (403, "address", 0), "v4-mapped loopback: 403, no packet")
    eq(asks("private.x.example", allow_private=True)[0], 200, "allow_private: 200")
    eq(asks("loopback2.x.example", allow_private=True)[0], 200, "allow_private, loopback: 200")
    for k in METADATA:
        name = k + ".x.example"
        eq(asks(name), (403, "address", 0), "metadata %s: 403, no packet" % METADATA[k])
        eq(asks(name, allow_private=True), (403, "address", 0), "the same with allow_private: 403")
    eq(asks("mapmeta.x.example", allow_private=True), (403, "address", 0),
       "v4-mapped metadata with allow_private: 403")
    eq(asks("both.x.example"), (200, None, 1), "a private and a public address: the public one")
    eq(asks("metaboth.x.example", allow_private=True), (200, None, 1),
       "a metadata and a public address: the public one")
    eq(asks("nowhere.x.example")[:2], (502, "unreachable"), "no such name: 502")

    # connect_to is judged like any other address
    eq(asks("pub.x.example", connect_to="127.0.0.1:8443"), (403, "address", 0),
       "connect_to a private address, not allowed: 403")
    eq(asks("pub.x.example", connect_to="127.0.0.1:8443", allow_private=True)[0], 200,
       "connect_to a private address, allowed: 200")
    eq(asks("pub.x.example", connect_to="169.254.169.254:8443", allow_private=True),
       (403, "address", 0), "connect_to metadata: 403")
    eq(asks("nowhere.x.example", connect_to=PUBLIC + ":8443"), (200, None, 1),
       "connect_to a public address needs no look-up: 200")
    if six:
        eq(asks("nowhere.x.example", connect_to="[::1]:8444", allow_private=True)[0], 200,
           "connect_to an IPv6 address: 200")
        eq(asks("nowhere.x.example", connect_to="[::1]:8444"), (403, "address", 0),
           "the same without allow_private: 403")

    # Rebinding: the name turns private between one connection and the next.
    g.begin(row("turn.x.example", 8443, ca=ca.pem))
    set_hosts(**{"turn.x.example": PUBLIC})
    a = g.get("/", host="turn.x.example", port=8443)
    eq(a.status, 200, "before it turns: 200")
    g.end()
    set_hosts(**{"turn.x.example": "10.1.2.3"})
    eq(asks("turn.x.example"), (403, "address", 0), "after it has turned private: 403, no packet")
    # Within one call, while look-ups are kept and connections reused.
    set_hosts(**{"turn.x.example": PUBLIC})
    g.begin(row("turn.x.example", 8443, ca=ca.pem))
    first, got = len(up.seen), []
    for i in range(8):
        got.append(g.get("/", host="turn.x.example", port=8443).status)
        set_hosts(**{"turn.x.example": ("10.1.2.3", PUBLIC)[i % 2]})
    g.end()
    ok(200 in got and set(got) <= {200, 403}, "turning within a call: 200 or 403", got)
    eq({s.local for s in up.seen[first:]}, {PUBLIC}, "and only ever the public address was reached")
    eq(asks("pub.x.example")[0], 502, "and a name that is gone: 502")


main(run)
