#!/usr/bin/python3
"""cases/gate 28 to 30 and 33: stand-ins swapped, keys stopped, nothing written down."""
import os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gatelib import *
import gzip, urllib.parse, zlib

REAL = "sk_live_A1b2C3d4E5f6G7h8"       # sealed, bound to sealed.x.example
STAND = "sk_live_Z9y8X7w6V5u4T3s2"
OPEN = "open+Key/7f3a\"9c\\1d%2e\u00e9#4b"  # not sealed, bound to open.x.example


def every_u(s):
    return "".join("\\u%04x" % ord(c) for c in s).encode()


def every_html(s):
    return "".join("&#x%02x;" % ord(c) for c in s).encode()


def dump(b):
    return b"".join(b"%08x  %s  |...|\n" % (i, b[i:i + 16].hex(" ").encode()) for i in range(0, len(b), 16))


def run():
    ca = Authority("up")
    set_hosts()
    log = []

    def handle(head, body):
        log.append(head + b"\r\n\r\n" + body)
        path = head.split()[1]
        secret = REAL.encode()
        if path.startswith(b"/back"):
            forms = (secret + b"|" + base64.b64encode(secret) + b"|" + secret.hex().encode() + b"|" +
                     base64.b64encode(b"u:" + secret))
            extra = ["Location: /x?k=" + REAL, "X-Echo: Bearer " + REAL, "X-" + REAL + ": 1"]
            if path == b"/backgzip":
                forms = gzip.compress(forms)
                extra.append("Content-Encoding: gzip")
            if path == b"/backchunks":
                out = b"HTTP/1.1 200 " + secret + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
                for i in range(0, len(forms), 3):
                    out += b"%x\r\n%s\r\n" % (len(forms[i:i + 3]), forms[i:i + 3])
                return out + b"0\r\n\r\n"
            if path == b"/backtwice":
                forms = gzip.compress(forms)
                extra += ["Content-Encoding: gzip", "Content-Encoding: identity"]
            if path == b"/backdeflate":
                forms = zlib.compress(forms)
                extra.append("Content-Encoding: deflate")
            if path == b"/backspelt":
                forms = b"|".join((every_u(REAL), every_html(REAL), REAL.encode("utf-16-le"),
                                   base64.encodebytes(b"x" * 47 + secret), base64.b64encode(base64.b64encode(secret)),
                                   "".join("%%%02X" % c for c in secret).encode()))
            if path in (b"/backdump", b"/backlate"):
                forms = (b"x" * 300000 if path == b"/backlate" else b"") + dump(secret)
                return reply(forms, "200 OK")
            if path == b"/backbr":
                extra.append("Content-Encoding: br")
            return reply(forms, "200 OK", extra)
        return echo(head, body)
    up = Upstream(ca.cert("*.x.example", "*.w.x.example"), answering(handle))
    plain = Upstream(None, answering(handle), tls=False)
    to = dict(ca=ca.pem, connect_to=up.addr, allow_private=True)
    toplain = dict(connect_to=plain.addr, allow_private=True, port=80)
    g = Gate()
    keys = [key("SEALED", REAL, sealed=True, standin=STAND), key("OPEN", OPEN),
            key("SHORT", "tiny", guard=False)]
    rows = [row("sealed.x.example", key="SEALED", **to), row("open.x.example", key="OPEN", **to),
            row("free.x.example", **to), row("*.w.x.example", key="OPEN", **to)]
    g.begin(*rows, keys=keys)

    def last():
        return log[-1]

    # 28: towards the bound host
    host = "sealed.x.example"
    a = g.get("/", host=host, headers=["Authorization: Bearer " + STAND])
    ok(b"Authorization: Bearer " + REAL.encode() in last(), "stand-in in a header: swapped", last())
    ok(STAND.encode() not in last(), "and gone")
    ok(REAL not in a.body.decode() and STAND in a.body.decode(), "the echo of it: swapped back", a.body)
    basic = base64.b64encode(b"user:" + STAND.encode()).decode()
    a = g.get("/", host=host, headers=["Authorization: Basic " + basic])
    ok(base64.b64encode(b"user:" + REAL.encode()) in last(), "inside Basic: swapped", last())
    a = g.get("/p?key=%s&x=1" % STAND, host=host)
    ok(("/p?key=%s&x=1" % REAL).encode() in last(), "in the query: swapped", last())
    for body, name in ((b"k=" + STAND.encode(), "a form"), (json.dumps({"k": STAND}).encode(), "JSON"),
                       (STAND.encode() * 3, "three times"), (b"x" * 300000 + STAND.encode(), "300 KB on")):
        a = g.get("/", host=host, method="POST", body=body)
        want = body.replace(STAND.encode(), REAL.encode())
        ok(last().endswith(b"\r\n\r\n" + want) and b"Content-Length: %d" % len(want) in last(),
           "in the body, %s: swapped, Content-Length right" % name)
    for cut in (1, 5, 23):
        s = g.dial(host)
        s.sendall(b"POST / HTTP/1.1\r\nHost: sealed.x.example\r\nConnection: close\r\n"
                  b"Transfer-Encoding: chunked\r\n\r\n")
        for part in (b"a" * 70000 + STAND[:cut].encode(), STAND[cut:].encode() + b"b", b""):
            s.sendall(b"%x\r\n%s\r\n" % (len(part), part))
            time.sleep(0.02)
        s.recv(65536)
        s.close()
        ok(last().endswith(b"a" + REAL.encode() + b"b"), "across a chunk border, after %d: swapped" % cut)
    n = len(log)
    for h, what in (("free.x.example", "an unbound"), ("open.x.example", "another credential's")):
        a = g.get("/", host=h, headers=["X-Key: " + STAND])
        eq((a.status, a.gate, len(log)), (403, "leak", n), "stand-in towards %s host: 403" % what)
    for form in (STAND.encode().hex(), base64.b64encode(STAND.encode()).decode(),
                 base64.b64encode(b"u:" + STAND.encode()).decode()):
        eq(g.get("/?" + form, host="free.x.example").gate, "leak", "also encoded: 403")
    eq(len(log), n, "and nothing left")

    # the way back
    for path in ("/back", "/backgzip", "/backchunks"):
        a = g.get(path, host=host)
        if path == "/backgzip":
            eq(a.headers.get("content-encoding"), "gzip", "what came packed is packed again")
            a.body = gzip.decompress(a.body)
        blob = a.raw + a.body
        good = all(f not in blob for f in (REAL.encode(), REAL.encode().hex().encode(),
                                           base64.b64encode(REAL.encode())[:-4],
                                           base64.b64encode(b"u:" + REAL.encode())[4:-4]))
        ok(good and a.whole and STAND.encode() in a.body and STAND.encode().hex().encode() in a.body,
           path + ": no form of the value comes back, the framing is whole", blob)
    ok(STAND in g.get("/back", host=host).headers["location"], "nor in Location")
    a = g.get("/backspelt", host=host)
    stand = STAND.encode()
    eq(a.body, b"|".join((every_u(STAND), every_html(STAND), STAND.encode("utf-16-le"),
                          base64.encodebytes(b"x" * 47 + stand), base64.b64encode(base64.b64encode(stand)),
                          "".join("%%%02X" % c for c in stand).encode())),
       "each spelling of the value becomes the stand-in's in the same")
    a = g.get("/backdump", host=host)
    eq((a.status, a.gate), (502, "repeats-key"), "where it cannot be put: 502, and why")
    ok(dump(REAL.encode())[10:40] not in a.raw, "with nothing of it")
    try:
        a = g.get("/backlate", host=host)
        ok(not a.whole and b"73 6b 5f 6c 69 76 65" not in a.raw, "late in an answer: broken off before it", a.raw[-200:])
    except ConnectionError:
        ok(True, "late in an answer: reset")
    n = len(log)
    g.get("/", host=host, headers=["Range: bytes=5-10", "If-Range: x", "Accept: */*"])
    ok(len(log) == n + 1 and b"range" not in last().lower() and b"Accept: */*" in last(), "no part of an answer is asked for", last())
    g.get("/", host="free.x.example", headers=["Range: bytes=5-10"])
    ok(b"Range: bytes=5-10" in last(), "but of another host's")
    a = g.get("/", host=host, method="POST", body=b'{"k":"' + every_u(STAND) + b'"}')
    ok(last().endswith(b'{"k":"' + every_u(REAL) + b'"}'), "a stand-in in another spelling is swapped in the same", last())
    n = len(log)
    for body, more in ((dump(STAND.encode()), []), (gzip.compress(STAND.encode()), ["Content-Encoding: gzip"])):
        a = g.get("/", host=host, method="POST", body=body, headers=more)
        eq((a.status, a.gate, len(log)), (403, "stand-in", n), "one that cannot be swapped goes nowhere")
    a = g.get("/", host=host, method="POST", body=gzip.compress(b"fine"), headers=["Content-Encoding: gzip"])
    eq((a.status, len(log)), (200, n + 1), "a packed body without one goes up")
    for path in ("/backbr", "/backtwice", "/backdeflate"):
        a = g.get(path, host=host)
        eq((a.status, a.gate), (502, "encoded-answer"), path + ": an answer that can't be searched: 502")

    # 29: a real key towards a host that isn't its own
    raw = OPEN.encode()
    forms = {"raw": raw, "percent": urllib.parse.quote(OPEN, safe="").encode(),
             "percent, lower case": urllib.parse.quote(OPEN, safe="").lower().replace("key", "Key").encode(),
             "percent, safe /": urllib.parse.quote(OPEN).encode(),
             "form": urllib.parse.urlencode({"k": OPEN}).encode(),
             "every byte percent-encoded": "".join("%%%02X" % b for b in raw).encode(),
             "base64": base64.b64encode(raw), "base64, offset 1": base64.b64encode(b"a" + raw),
             "base64, offset 2": base64.b64encode(b"ab" + raw + b"c"),
             "base64url": base64.urlsafe_b64encode(b"ab" + raw),
             "hex": raw.hex().encode(), "HEX": raw.hex().upper().encode(),
             "JSON": json.dumps(OPEN).encode(), "JSON, UTF-8": json.dumps(OPEN, ensure_ascii=False).encode(),
             "JSON, \\/": json.dumps(OPEN).replace("/", "\\/").encode()}
    n, m = len(log), len(up.bytes())
    for name, form in forms.items():
        a = g.get("/", host="free.x.example", method="POST", body=b"before " + form + b" after")
        eq((a.status, a.gate, len(up.bytes())), (403, "leak", m), "in a body, %s: 403, not a byte left" % name)
    for name, form in forms.items():
        if b'"' in form or b"%" in form[:0] or form == raw:
            continue
        a = g.get("/p?q=" + form.decode(), host="free.x.example")
        eq((a.status, a.gate), (403, "leak"), "in a query, %s: 403" % name)
        a = g.get("/", host="free.x.example", headers=["X: " + form.decode()])
        eq((a.status, a.gate), (403, "leak"), "in a header, %s: 403" % name)
    mixed = "".join(c if i % 2 and c.isalnum() and c.isascii() else
                    "".join("%%%02x" % b for b in c.encode()) for i, c in enumerate(OPEN))
    eq(g.get("/?" + mixed, host="free.x.example").gate, "leak", "in a query, any mixture of percent: 403")
    eq(g.get("/", host="free.x.example", headers=["Authorization: Basic " + base64.b64encode(
        b"me:" + raw).decode()]).gate, "leak", "inside Basic: 403")
    eq((len(log), len(up.bytes())), (n, m), "nothing of it has left")
    # split across writes, and large
    for lead in (10, 400000):
        s = g.dial("free.x.example")
        s.sendall(b"POST /split HTTP/1.1\r\nHost: free.x.example\r\nConnection: close\r\n"
                  b"Transfer-Encoding: chunked\r\n\r\n")
        try:
            for part in (b"x" * lead + raw[:9], raw[9:14], raw[14:] + b"end", b""):
                s.sendall(b"%x\r\n%s\r\n" % (len(part), part))
                time.sleep(0.03)
            got = Answer(s.recv(65536))
        except OSError:
            got = None
        ok(got and got.gate == "leak", "split across writes, after %d bytes: 403" % lead, got)
        s.close()
    until(lambda: all(raw[:9] not in s.data for s in up.seen), "nothing of the split key upstream", 1)
    ok(True, "and not one byte of the key went up")
    eq(g.get("/", host="free.x.example", method="POST", body=b"harmless " + raw[:-1]).status, 200,
       "all but its last byte: 200, that is not it")
    eq(g.get("/", host="open.x.example", method="POST", body=raw).status, 200, "towards its own host: 200")
    eq(last().split(b"\r\n\r\n", 1)[1], raw, "and it arrives")
    eq(g.get("/", host="free.x.example", headers=["X: tiny"]).status, 200, "a value too short is not guarded")

    # compressed bodies
    for enc, data, want in (("gzip", gzip.compress(b"x" + raw), "leak"), ("gzip", gzip.compress(b"fine"), None),
                            ("deflate", zlib.compress(raw), "leak"), ("br", b"whatever", "encoded-body"),
                            ("gzip", b"not gzip at all", "encoded-body"),
                            ("gzip", gzip.compress(b"\0" * 200000000, 1)[:1000], "encoded-body"),
                            ("gzip", gzip.compress(b"fine") + b"trailing", "encoded-body")):
        a = g.get("/", host="free.x.example", method="POST", body=data, headers=["Content-Encoding: " + enc])
        eq(a.gate, want, "a compressed body, %s: %s" % (enc, want or "searched, and sent"))

    a = g.get("/", host="free.x.example", method="POST", body=gzip.compress(raw),
              headers=["Content-Encoding: identity", "Content-Encoding: gzip"])
    eq(a.gate, "encoded-body", "an encoding named twice: refused")

    # host names
    low = "k" + "a1b2c3d4e5f6"
    g.end()
    g.begin(*rows, row("*.v.x.example", key="NAMED", **to), keys=keys + [key("NAMED", low.upper())])
    a = g.get("/", host=low + ".v.x.example")
    eq((a.status, a.gate), (403, "leak"), "a key as a label below a wildcard: 403")
    eq(g.get("/", host="other.v.x.example").status, 502, "another label: tried")

    # long values: a part is enough
    g.end()
    head, foot = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n", "-----END PRIVATE KEY-----\n"

    def pem():
        return head + "".join(base64.b64encode(os.urandom(48)).decode() + "\n" for _ in range(24)) + foot
    mine, another = pem(), pem()
    g.begin(row("open.x.example", key="PEM", **to), row("free.x.example", **to), keys=[key("PEM", mine)])
    middle = mine[len(mine) // 2 - 200:len(mine) // 2 + 200]
    for name, form in (("all of it", mine), ("its middle", middle), ("its middle as JSON", json.dumps(middle)),
                       ("its middle without line ends", middle.replace("\n", ""))):
        a = g.get("/", host="free.x.example", method="POST", body=form)
        eq((a.status, a.gate), (403, "leak"), "a private key of many lines, %s: 403" % name)
    eq(g.get("/", host="free.x.example", method="POST", body=another).status, 200, "another such key: 200")
    eq(g.get("/", host="open.x.example", method="POST", body=mine).status, 200, "towards its own host: 200")

    # plain HTTP
    g.end()
    g.begin(row("open.x.example", key="OPEN", connect_to=plain.addr, allow_private=True),
            row("sealed.x.example", key="SEALED", connect_to=plain.addr, allow_private=True), keys=keys)
    n = len(log)
    a = g.get("/", host="open.x.example", port=80, tls=False, method="POST", body=raw)
    eq((a.status, len(log)), (403, n), "its own key over plain HTTP: 403")
    a = g.get("/", host="open.x.example", port=80, tls=False, headers=["X: " + raw.hex()])
    eq((a.status, a.gate), (403, "plain"), "in a header too, and the reason says so")
    eq(a.json()["hint"], "evctl-host set open.x.example --plain yes", "with the command that would allow it")
    eq(g.get("/", host="open.x.example", port=80, tls=False).status, 200, "without a key: 200")
    a = g.get("/", host="sealed.x.example", port=80, tls=False, headers=["X: " + STAND])
    eq(a.status, 403, "a stand-in over plain HTTP: 403")
    g.end()
    g.begin(row("open.x.example", key="OPEN", plain=True, connect_to=plain.addr, allow_private=True),
            row("sealed.x.example", key="SEALED", plain=True, connect_to=plain.addr, allow_private=True),
            keys=keys)
    eq(g.get("/", host="open.x.example", port=80, tls=False, method="POST", body=raw).status, 200,
       "the row says --plain: 200")
    g.get("/", host="sealed.x.example", port=80, tls=False, headers=["X: " + STAND])
    ok(b"X: " + REAL.encode() in last(), "and a stand-in is swapped")
    # two credentials with one value
    g.end()
    g.begin(row("a.x.example", key="A", **to), row("b.x.example", key="B", **to), row("c.x.example", **to),
            keys=[key("A", "same-value-0123456"), key("B", "Bearer same-value-0123456")])
    eq([g.get("/", host=h, headers=["X: same-value-0123456"]).status for h in
        ("a.x.example", "b.x.example", "c.x.example")], [200, 200, 403],
       "a value that is part of the host's own key may go there")
    g.end()

    # 30: nothing written down
    g.begin(*rows, keys=keys)
    b64 = base64.b64encode(raw).decode().replace("/", "_").replace("+", "-")
    g.get("/bot%s/send?x=1" % REAL, host="sealed.x.example")
    g.get("/bot%s/send" % STAND, host="sealed.x.example")
    g.get("/" + urllib.parse.quote(OPEN, safe=""), host="open.x.example")
    g.get("/" + b64, host="open.x.example")
    g.get("/tiny/x", host="free.x.example")
    g.get("/%s" % REAL, host="free.x.example", method="X" + REAL.replace("_", "-"))
    events = g.end()
    text = json.dumps(events) + g.logged()
    eq(len(events), 6, "six requests, six events")
    for f in (REAL, urllib.parse.quote(OPEN, safe=""), b64, "tiny", "x=1"):
        ok(f not in text, "not in events or log: " + f[:12])
    eq(events[1]["path"], "/bot%s/send" % STAND, "a stand-in is no secret")
    ok(events[0]["path"].startswith("/bot****") and events[0]["path"].endswith("/send"), "the rest of the path is kept")
    cmd = open("/proc/%d/cmdline" % g.p.pid).read() + open("/proc/%d/environ" % g.p.pid).read() \
        if os.access("/proc/%d/environ" % g.p.pid, os.R_OK) else ""
    ok(REAL not in cmd and raw.decode() not in cmd, "nor in argv or environment")

    # 33
    g.begin(row("free.x.example", **to), row("open.x.example", **to))
    bad = []

    def client(i):
        h = ("free", "open")[i % 2] + ".x.example"
        for j in range(20):
            tag = "client-%d-%d-" % (i, j) + "z" * (i * 37 % 3000)
            a = g.get("/" + tag, host=h, method="POST", body=tag)
            if a.status != 200 or a.json()["line"].split()[1] != "/" + tag or \
                    base64.b64decode(a.json()["body"]).decode() != tag or \
                    a.json()["headers"][0] != "Host: " + h:
                bad.append(a)
    threads = [threading.Thread(target=client, args=(i,)) for i in range(64)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    eq(len(bad), 0, "64 clients at once, 1,280 requests: no cross-talk")
    eq(len(g.end()), 1280, "1,280 events")


main(run)
