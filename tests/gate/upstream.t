#!/usr/bin/python3
"""cases/gate 24 to 27: the way out. Certificates, proxies, redirects, HTTP/2, reuse."""
import os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gatelib import *


def redirect(to):
    return answering(lambda h, b: reply("", "302 Found", ["Location: " + to, "Set-Cookie: a=b"]))


def run():
    ca, other = Authority("up"), Authority("other")
    ordinary = ca.cert("api.x.example", "b.x.example")
    set_hosts()
    selfsigned = certs.self_signed(os.path.join(tempdir(), "self.both"), "api.x.example")
    # What the environment says must not matter: a trap proxy that would see anything sent to it.
    trap = Upstream(None, lambda c, s: setattr(s, "data", c.recv(1000)), tls=False)
    home = os.path.join(tempdir(), "home")
    os.mkdir(home)
    open(home + "/.netrc", "w").write("machine api.x.example login u password netrc-secret\n")
    env = {"HTTPS_PROXY": "http://" + trap.addr, "https_proxy": "http://" + trap.addr,
           "http_proxy": "http://" + trap.addr, "ALL_PROXY": "http://" + trap.addr, "HOME": home,
           "CURL_CA_BUNDLE": other.file, "SSL_CERT_FILE": other.file}
    g = Gate(env=env)

    def asks(up, path="/", roots=None, **more):
        g.begin(row("api.x.example", ca=(roots or ca).pem, connect_to=up.addr, allow_private=True))
        a = g.get(path, **more)
        g.end()
        return a

    # 24
    good = Upstream(ordinary, answering(echo))
    eq(asks(good).status, 200, "a valid certificate: 200")
    bad = {"expired": ca.cert("api.x.example", expired=True), "for another host": ca.cert("no.x.example"),
           "self-signed": selfsigned, "for clients": ca.cert("api.x.example", purpose="clientAuth"), "from an unknown CA": other.cert("api.x.example")}
    for name, cert in bad.items():
        up = Upstream(cert, answering(echo))
        a = asks(up, headers=["Authorization: Bearer not-to-be-sent"])
        eq((a.status, a.gate, up.bytes()), (502, "certificate", b""),
           "a certificate %s: 502, no request byte" % name)
    up = Upstream(ca.cert("api.x.example", purpose="serverAuth"), answering(echo))
    eq([asks(up).status for _ in range(2)], [200, 200], "while one for servers, and says so, is fine")
    up = Upstream(other.cert("api.x.example"), answering(echo))
    eq(asks(up, roots=other).status, 200, "with that CA as the row's: 200")
    eq(asks(good, roots=other).gate, "certificate", "and then the first one is refused")
    g.begin(row("api.x.example", connect_to=good.addr, allow_private=True))
    a = g.get("/")
    g.end()
    eq((a.status, a.gate), (502, "certificate"), "the system's roots do not hold a test CA: 502")
    eq(asks(Upstream(None, lambda c, s: (c.recv(9), c.sendall(reply("x"))), tls=False)).gate, "tls", "no TLS upstream: 502")

    # What a peer is refused for is said.
    def says(status, word, up, what):
        a = asks(up)
        eq((a.status, a.gate), (502, status), what)
        ok(word in a.json()["error"], "and it says: " + word, a)
    says("certificate", "for a server", Upstream(ca.cert("api.x.example", purpose="clientAuth"), answering(echo)),
         "a client's certificate")
    curious = Upstream(ordinary, answering(echo))
    curious.ctx.load_verify_locations(ca.file)
    curious.ctx.verify_mode = ssl.CERT_OPTIONAL
    eq(asks(curious).status, 200, "a host that would take a client's certificate")
    curious.ctx.verify_mode = ssl.CERT_REQUIRED
    says("broken", "asks for a client's certificate", curious, "one that must have it")

    def heads(*fields):
        return Upstream(ordinary, answering(lambda h, b: reply("ok", headers=fields)))
    eq(asks(heads(*["X-A: b"] * 99)).status, 200, "an answer with 100 headers")
    says("broken", "over 100 headers", heads(*["X-A: b"] * 100), "one more")
    eq(asks(heads(*["X-A: " + "b" * 1000] * 60)).status, 200, "a head of 60 KB")
    for fields in (["X-A: " + "b" * 1000] * 70, ["X-A: " + "b" * 70000], ["X-A: " + "b" * 200000]):
        says("broken", "over 64 KB", heads(*fields), "a head of %d bytes" % len("".join(fields)))

    # 25
    eq(len(trap.seen), 0, "proxies in the environment: nothing went there")
    seen = good.bytes()
    ok(b"netrc-secret" not in seen and b"Authorization: Basic" not in seen, ".netrc: not used")

    # 26: another session's gate as the upstream, which presents a leaf of its own CA
    g2 = Gate()
    g2.begin(row("api.x.example", ca=ca.pem, connect_to=good.addr, allow_private=True))
    other_gate = type("G", (), {"addr": "127.0.0.1:%d" % g2.port[443]})
    a = asks(other_gate)
    eq((a.status, a.gate), (502, "certificate"), "an upstream under another session's CA: 502")
    eq(asks(other_gate, roots=type("P", (), {"pem": g2.ca})).status, 200, "which is a good one to who trusts it")
    g.begin(row("api.x.example", ca=ca.pem, connect_to=good.addr, allow_private=True))
    try:
        g.dial(ctx=ssl.create_default_context(cadata=g2.ca))
        ok(False, "code that trusts another session's CA does not get through")
    except ssl.SSLCertVerificationError:
        ok(True, "code that trusts another session's CA does not get through")
    eq(g.get("/").status, 200, "while its own does")
    g.end()
    g2.stop()

    # 27
    for target in ("https://b.x.example/", "https://evil.example/", "/else", "http://169.254.169.254/"):
        up = Upstream(ordinary, redirect(target))
        a = asks(up)
        eq((a.status, a.headers.get("location"), a.headers.get("set-cookie"), len(up.seen)),
           (302, target, "a=b", 1), "a redirect to %s: handed back" % target)
    ok(b"Cookie" not in good.bytes(), "no cookie is kept")

    # What goes up is what was sent, written anew.
    a = asks(good, "/a//b/../c?x=%2F&y=a+b;z#".rstrip("#"), method="PATCH", body=b"x",
             headers=["X-Odd: a  b", "X-Empty:", "User-Agent: me", "Accept: text/x", "cookie: c=d"])
    got = a.json()
    eq(got["line"], "PATCH /a//b/../c?x=%2F&y=a+b;z HTTP/1.1", "method and target: as sent")
    want = {"Host: api.x.example", "X-Odd: a  b", "X-Empty:", "User-Agent: me", "Accept: text/x",
            "cookie: c=d", "Content-Length: 1"}
    eq(set(got["headers"]), want, "headers: as sent, and none added")
    a = asks(good, "/")
    eq(a.json()["headers"], ["Host: api.x.example"], "a bare request stays bare")
    a = asks(good, "/", method="POST")
    eq(a.json()["headers"], ["Host: api.x.example", "Content-Length: 0"], "POST without a body has length 0")
    a = asks(good, "/", headers=["Accept-Encoding: br, gzip, zstd"])
    ok("Accept-Encoding: gzip" in a.json()["headers"], "only encodings that the gate decodes are asked for")
    a = asks(good, "/", headers=["Accept-Encoding: gzip", "Range: bytes=0-1"])
    ok("Accept-Encoding: identity" in a.json()["headers"], "and none for a range")
    a = asks(good, "*", method="OPTIONS")
    eq(a.json()["line"], "OPTIONS * HTTP/1.1", "OPTIONS *")
    a = asks(good, "/", method="DELETE")
    eq(a.json()["line"], "DELETE / HTTP/1.1", "DELETE")
    a = asks(good, "/", method="GET", body=b"body of a GET")
    eq((a.json()["line"], base64.b64decode(a.json()["body"])), ("GET / HTTP/1.1", b"body of a GET"),
       "GET with a body")

    # Reuse, and a kept connection that has died.
    keep = Upstream(ordinary, answering(echo))
    g.begin(row("api.x.example", ca=ca.pem, connect_to=keep.addr, allow_private=True))
    for _ in range(5):
        g.get("/")
        g.get("/", method="POST", body=b"x")
        g.get("/", method="PUT", body=b"x" * 300000)
    eq(len(keep.seen), 1, "requests of fifteen client connections: one upstream connection")
    g.end()
    g.begin(row("api.x.example", ca=ca.pem, connect_to=keep.addr, allow_private=True))
    g.get("/")
    eq(len(keep.seen), 2, "the next call makes its own")
    g.end()

    def once(conn, seen):
        got = read_request(conn, seen)
        if got:
            conn.sendall(echo(got[0], got[1]))
        # and goes without having said so: the next request on this connection finds it closed
        conn.close()
        gone.append(got)
    gone = []
    dying = Upstream(ordinary, once)
    g.begin(row("api.x.example", ca=ca.pem, connect_to=dying.addr, allow_private=True))
    codes = []
    for m, b in (("GET", b""), ("GET", b""), ("POST", b"x" * 1000), ("POST", b""), ("PUT", b"z" * 300000), ("PATCH", b"z" * 300000)):
        codes.append(g.get("/", method=m, body=b).status)
        until(lambda: len(gone) == len(codes), "the end of the connection", 10)
    eq(codes, [200] * 6, "a kept connection that died: the request goes over a new one")
    g.end()

    # What is not idempotent arrives once, whatever becomes of the connection: this server answers
    # one request of each, and closes when it has read the next.
    def abrupt(conn, seen):
        left = b""
        for n in range(2):
            got = read_request(conn, seen, left)
            if got is None:
                return
            head, body, left = got
            arrived.append((head.split()[0].decode(), len(body)))
            if n == 0:
                conn.sendall(reply("ok"))
    arrived = []
    closing = Upstream(ordinary, abrupt)
    g.begin(row("api.x.example", ca=ca.pem, connect_to=closing.addr, allow_private=True),
            row("b.x.example", ca=ca.pem, connect_to=closing.addr, allow_private=True, key="K"),
            keys=[key("K", "a-key-of-another-host")])
    for method, body, host in (("POST", b"x" * 1000, "api.x.example"), ("POST", b"", "api.x.example"),
                               ("PATCH", b"x" * 200000, "api.x.example"), ("POST", b"x", "b.x.example"),
                               ("PUT", b"x" * 300000, "api.x.example"), ("REPORT", b"", "api.x.example")):
        eq(g.get("/", host=host).status, 200, "a connection that is kept")
        del arrived[:]
        a = g.get("/pay", method=method, body=body, host=host)
        eq((a.status, a.gate, arrived), (502, "broken", [(method, len(body))]),
           "a %s of %d bytes that it dies under: 502, and it arrived once" % (method, len(body)))
        ok("closed the connection" in a.json()["error"], "as the answer says", a)
        del arrived[:]
        eq((g.get("/pay", method=method, body=body, host=host).status, arrived), (200, [(method, len(body))]),
           "the next goes over a new one")
    eq(g.get("/").status, 200, "a connection that is kept")
    del arrived[:]
    a = g.get("/put", method="PUT", body=b"x" * 1000)
    eq((a.status, arrived[0], arrived[-1]), (200, ("PUT", 1000), ("PUT", 1000)),
       "what is idempotent goes over a kept connection, and again when that dies")
    ok(len(arrived) == 2, "as it did just now", arrived)
    g.end()

    # The same over HTTP/2, spoken by hand: frames are counted, not understood.
    def abrupt2(conn, seen):
        data, heads = b"", 0
        conn.sendall(b"\x00\x00\x00\x04\x00\x00\x00\x00\x00")  # SETTINGS
        while True:
            got = conn.recv(65536)
            if not got:
                return
            data += got
            if data.startswith(b"PRI "):
                data = data[24:]
            while len(data) >= 9 and len(data) >= 9 + int.from_bytes(data[:3], "big"):
                n, kind, flags, stream = int.from_bytes(data[:3], "big"), data[3], data[4], data[5:9]
                payload, data = data[9:9 + n], data[9 + n:]
                if kind == 4 and not flags:
                    conn.sendall(b"\x00\x00\x00\x04\x01\x00\x00\x00\x00")
                if kind == 1:
                    heads += 1
                    arrived.append("POST" if b"\x83" in payload[:3] else "GET")
                if kind in (0, 1) and flags & 1:
                    if heads > 1:
                        return
                    conn.sendall(b"\x00\x00\x01\x01\x05" + stream + b"\x88")  # HEADERS: 200
    two = Upstream(ordinary, abrupt2, alpn=["h2"])
    g.begin(row("api.x.example", ca=ca.pem, connect_to=two.addr, allow_private=True))
    for body in (b"", b"x" * 1000):
        eq(g.get("/").status, 200, "a connection that is kept")
        del arrived[:]
        eq((g.get("/pay", method="POST", body=body).status, arrived), (502, ["POST"]),
           "HTTP/2: a POST of %d bytes that it dies under arrives once" % len(body))
    del arrived[:]
    codes = [g.get("/").status, g.get("/").status]
    ok(len(arrived) > 2, "as a GET need not", (codes, arrived))
    g.end()

    # HTTP/2
    nginx = Nginx("""
server { listen 127.0.0.1:9443 ssl http2; ssl_certificate %(c)s; ssl_certificate_key %(c)s;
 location / { return 200 "$server_protocol $request_method $http_x_test"; }
 location /file { root @DIR@; } }
server { listen 127.0.0.1:9444 ssl; ssl_certificate %(c)s; ssl_certificate_key %(c)s;
 location / { return 200 "$server_protocol $request_method $http_x_test"; } }
""" % {"c": ordinary})
    data = os.urandom(3000000)
    open(nginx.dir + "/file", "wb").write(data)
    os.chmod(nginx.dir + "/file", 0o644)
    nginx.wait("127.0.0.1", 9444)
    for port, proto in ((9443, b"HTTP/2.0"), (9444, b"HTTP/1.1")):
        g.begin(row("api.x.example", ca=ca.pem, connect_to="127.0.0.1:%d" % port, allow_private=True))
        a = g.get("/", headers=["X-Test: t"])
        eq((a.status, a.body, a.lines[0]), (200, proto + b" GET t", "HTTP/1.1 200 OK"),
           "nginx over %s, HTTP/1.1 to the code" % proto.decode())
        a = g.get("/", method="POST", body=b"x" * 100000)
        eq((a.status, a.whole), (200, True), "a POST that nginx answers before it is sent")
        a = g.get("/", method="POST", body=b"x" * 20000)
        eq((a.status, a.body), (200, proto + b" POST "), "a small POST over " + proto.decode())
        if port == 9443:
            a = g.get("/file")
            ok(a.body == data and a.whole, "3 MB over HTTP/2: byte-exact")
        g.end()


main(run)
