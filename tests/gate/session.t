#!/usr/bin/python3
"""Calls and sessions: what one call leaves to the next (nothing), limits, and the gate's end."""
import os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gatelib import *
import signal


def run():
    ca = Authority("up")
    set_hosts()
    now, most, lock, hold = [0], [0], threading.Lock(), threading.Event()

    def handle(head, body):
        if b"/slow" in head or b"/begun" in head:
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            hold.wait(60)
            with lock:
                now[0] -= 1
        return echo(head, body)

    def serve(conn, seen):
        left = b""
        while got := read_request(conn, seen, left):
            head, body, left = got
            if b"/begun" not in head:
                conn.sendall(handle(head, body))
                continue
            conn.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegun\r\n")
            handle(head, body)
            conn.sendall(b"6\r\n/begun\r\n0\r\n\r\n")
    up = Upstream(ca.cert("api.x.example", "b.x.example"), serve)
    to = dict(ca=ca.pem, connect_to=up.addr, allow_private=True)
    g = Gate()
    req = b"GET / HTTP/1.1\r\nHost: api.x.example\r\n\r\n"

    eq(g.raw(req), None, "before the first call: closed")
    g.begin(row("api.x.example", **to))
    eq(g.get("/").status, 200, "in a call: 200")
    kept, idle = g.dial(), socket.create_connection(("127.0.0.1", g.port[443]))
    kept.sendall(req)
    ok(kept.recv(65536).startswith(b"HTTP/1.1 200"), "a kept connection")
    busy = g.dial()
    busy.sendall(b"GET /slow HTTP/1.1\r\nHost: api.x.example\r\n\r\n")
    until(lambda: now[0] == 1, "the slow request", 10)
    start = time.monotonic()
    events = g.end()
    ok(time.monotonic() - start < 2, "the call ends at once, a request under way or not")
    eq([(e["path"], e["verdict"]) for e in events], [("/", "allowed"), ("/", "allowed"), ("/slow", "client-gone")],
       "three events")
    for s, name in ((kept, "a kept"), (busy, "a busy"), (idle, "an idle")):
        try:
            gone = s.recv(10) == b""
        except OSError:
            gone = True
        ok(gone, name + " connection is dropped between calls")
    hold.set()
    eq(g.raw(req), None, "between calls: closed")

    # A request that was queued while there was no call is not served by the next one's policy.
    os.kill(g.p.pid, signal.SIGSTOP)
    early = socket.create_connection(("127.0.0.1", g.port[80]))
    early.sendall(b"GET /early HTTP/1.1\r\nHost: api.x.example\r\n\r\n")
    os.kill(g.p.pid, signal.SIGCONT)
    g.begin(row("b.x.example", **to))
    try:
        eq(early.recv(100), b"", "what came before the call is not served in it")
    except ConnectionResetError:
        ok(True, "what came before the call is not served in it")
    a = g.get("/", host="api.x.example")
    eq((a.status, a.gate), (403, "host"), "the new call has a new policy")
    eq(g.get("/", host="b.x.example").status, 200, "and only that")
    ok(all(e["path"] != "/early" for e in g.end()), "nothing of it in the events")

    # Rotation: the value of the call is the one that counts.
    for value in ("first-value-0123", "second-value-456"):
        g.begin(row("api.x.example", key="K", **to), row("b.x.example", **to), keys=[key("K", value)])
        eq([g.get("/", host="b.x.example", headers=["X: " + v]).status for v in
            ("first-value-0123", "second-value-456")],
           [403, 200] if value[0] == "f" else [200, 403], "the guard follows a rotation: " + value[:6])
        g.end()

    # Malformed policies: refused, and the gate stays shut.
    for bad in ({"rows": [row("API.x")]}, {"rows": [row("x.example", 0)]}, {"rows": [row("x.example", 65536 + 443)]},
                {"rows": [dict(row("x.example"), key="nope")]}, {"keys": [key("K", "")]}, {"keys": [key("K", None)]},
                {"rows": [row(None)]}, {"rows": [row("x.example")] * 1001}, {"keys": [key("K", "v")] * 1001}, {"id": None},
                {"keys": [dict(key("K", "v" * 20, sealed=True), standin="short")]}, {"deadline_ms": 0},
                {"rows": [dict(row("x.example"), connect_to="nonsense")]}):
        g.send(dict({"op": "call", "id": "r", "deadline_ms": 1000, "rows": [], "keys": []}, **bad))
        a = g.recv()
        ok(a["op"] == "error" and "policy" in a["message"] or "ADDR" in a["message"], "refused: %.60r" % bad, a)
    g.send({"op": "call", "id": "r", "deadline_ms": 1000, "rows": [], "keys": []}, more=b"!")
    a = g.recv()
    ok(a["op"] == "error" and "policy" in a["message"], "refused: a byte too many", a)
    eq(g.raw(req), None, "after a refused policy: closed")
    g.begin(row("api.x.example", **to))
    eq(g.get("/").status, 200, "and a good one works again")

    # 64 at once; more wait their turn.
    hold.clear()
    most[0] = 0
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(g.get("/slow").status)) for _ in range(100)]
    for t in threads:
        t.start()
    until(lambda: now[0] == 64, "64 requests", 15)
    hold.set()
    for t in threads:
        t.join()
    eq((answers.count(200), most[0]), (100, 64), "100 requests: 64 at once, all answered")
    g.end()

    # Those that leave free their places at once, however they leave; those that only cease to send
    # get their answers.
    hold.clear()
    ask = b"GET %s HTTP/1.1\r\nHost: api.x.example\r\n\r\n"

    def leave(how, name, path=b"/slow", more=b""):
        g.begin(row("api.x.example", **to))
        crowd = [g.dial() for _ in range(64)]
        at = now[0]
        for s in crowd:
            s.sendall(ask % path + more)
        until(lambda: now[0] == at + 64, "64 requests", 15)
        for s in crowd:
            how(s)
        start = time.monotonic()
        a = g.get("/")
        ok(a.status == 200 and time.monotonic() - start < 5, "64 requests whose clients " + name, a)
        events = g.end()
        eq([e["verdict"] for e in events if e["path"] == path.decode()], ["client-gone"] * 64, "as the events say")

    def reset(s):
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()

    def bye(s):
        s.setblocking(False)
        try:
            s.unwrap()
        except (ssl.SSLError, OSError):
            pass
        s.close()
    leave(lambda s: s.close(), "close")
    leave(bye, "take leave of TLS and close")
    leave(reset, "reset")
    leave(lambda s: (s.recv(65536), s.close()), "close amid an answer in chunks", b"/begun")
    leave(lambda s: s.close(), "have sent another request before they close", more=ask % b"/")
    hold.set()
    until(lambda: now[0] == 0, "the end of them", 15)
    for path in (b"/slow", b"/begun"):
        plain = Upstream(None, serve, tls=False)
        g.begin(row("api.x.example", allow_private=True, connect_to=plain.addr))
        hold.clear()
        s = g.dial(port=80, tls=False)
        s.sendall(ask % path)
        until(lambda: now[0] == 1, "a slow request", 10)
        got = b"" if path == b"/slow" else s.recv(65536)
        s.shutdown(socket.SHUT_WR)
        eq(g.get("/", port=80, tls=False).status, 200, "another one meanwhile")
        hold.set()
        while more := s.recv(65536):
            got += more
        a = Answer(got)
        ok(a.status == 200 and a.whole and path[1:] in a.body, "%s of one that ceased to send is answered" % path.decode(), a)
        g.end()

    # Many idle connections do not shut others out.
    g.begin(row("api.x.example", **to))
    crowd = []
    for i in range(600):
        s = socket.create_connection(("127.0.0.1", g.port[80]), 10)
        s.sendall(b"GET / HTTP/1.1\r\nHost: no.x.example\r\n\r\n")
        s.recv(65536)
        crowd.append(s)
    eq(g.get("/").status, 200, "600 idle connections: another one is served")
    for s in crowd:
        s.close()
    g.end()

    # Events are capped, and counted on by shape.
    def heads(paths):
        s = g.dial(port=80, tls=False)
        f = s.makefile("rb")
        for i in range(0, len(paths), 100):
            s.sendall(b"".join(b"HEAD %s HTTP/1.1\r\nHost: no.x.example\r\n\r\n" % p for p in paths[i:i + 100]))
            for _ in paths[i:i + 100]:
                while f.readline() != b"\r\n":
                    pass
        s.close()
    g.begin(row("api.x.example", **to))
    heads([b"/n"] * 10000 + [b"/n"] * 40 + [b"/v2/users/%d/photos" % i for i in range(40)] +
          [b"/v2/users/%032x" % i for i in range(19)] + [b"/stolen/once"])
    events = g.end()
    listed, counted = [e for e in events if not e["counted"]], [e for e in events if e["counted"]]
    eq((len(listed), g.last["summary"]["truncated"], g.last["summary"]["requests"], g.last["summary"]["refused"]),
       (10000, 100, 10100, 10100), "10,100 requests: 10,000 events, the rest counted")
    eq([(e["method"], e["host"], e["path"], e["verdict"], e["counted"]) for e in counted],
       [("HEAD", "no.x.example", p, "host", n) for p, n in
        (("/n", 40), ("/v2/users/*/photos", 40), ("/v2/users/*", 19), ("/stolen/once", 1))],
       "by method, host and shape of path, each new one")
    g.begin(row("api.x.example", **to))
    words = ["".join(chr(97 + int(c)) for c in str(i)) for i in range(10000, 11100)]
    heads([b"/n"] * 10000 + [b"/" + w.encode() for w in words])
    events = g.end()
    eq((len(events), events[-1]["counted"], events[-1]["host"], events[-1]["verdict"]), (11001, 100, "", "others"),
       "1,100 shapes: 1,000, and the others together")

    # The end.
    g.begin(row("api.x.example", **to))
    s = g.dial()
    g.sock.close()
    eq(g.p.wait(5), 0, "the control socket ends: the gate exits 0")
    try:
        s.sendall(req)
        gone = s.recv(10) == b""
    except OSError:
        gone = True
    ok(gone, "and its connections with it")
    try:
        socket.create_connection(("127.0.0.1", g.port[443]), 2).close()
        ok(False, "and nobody listens any more")
    except OSError:
        ok(True, "and nobody listens any more")
    g = Gate()
    g.send({"op": "nonsense"})
    ok(g.p.wait(5) != 0, "a message that it does not know: it exits")
    # A supervisor that is killed
    pid = os.fork()
    if pid == 0:
        g = Gate()
        with open(os.path.join(tempdir(), "pid"), "w") as f:
            f.write(str(g.p.pid))
        os.rename(os.path.join(tempdir(), "pid"), os.path.join(tempdir(), "pid2"))
        time.sleep(60)
    path = os.path.join(tempdir(), "pid2")
    until(lambda: os.path.exists(path), "the other supervisor", 10)
    gate_pid = int(open(path).read())
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    until(lambda: not alive(gate_pid), "the gate's end", 5)
    ok(True, "the supervisor is killed: so is its gate")


main(run)
