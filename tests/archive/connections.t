#!/usr/bin/python3
"""The archive's connections: kept alive, full, slow in every way, and there when it ends."""
import os
import signal
import socket
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), HERE]
sys.dont_write_bytecode = True
from fill import BASE, add_artifact, add_run, open_db
from serving import Serving
from tap import T

MOST = 64  # connections at once


def connect(s, room=None):
    k = socket.socket()
    if room:
        k.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    k.settimeout(20)
    k.connect(("127.0.0.1", s.port))
    return k


def get(s, path, *more):
    return "\r\n".join([f"GET {s.base}{path} HTTP/1.1", f"Host: {s.host}", f"Cookie: {s.cookie}",
                        *more, "", ""]).encode()


def answer(k):
    """The head and the body of one answer with a length, and no byte after it."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        c = k.recv(1)
        if not c:
            return head, None
        head += c
    n = int([line for line in head.split(b"\r\n") if line.startswith(b"Content-Length: ")][0][16:])
    body = b""
    while len(body) < n:
        c = k.recv(n - len(body))
        if not c:
            break
        body += c
    return head, body


def ended(k):
    try:
        return k.recv(1) == b""
    except ConnectionResetError:
        return True


with T() as t:
    t.init()
    db = open_db(t.home)
    big = os.urandom(8_000_000)
    add_run(db, "rbig1", expert="studio", tool="big", started=BASE)
    add_artifact(db, t.home, "rbig1", "big.bin", big)
    add_artifact(db, t.home, "rbig1", "small.txt", b"small")
    db.close()

    with Serving(t) as s:
        s.let_in()
        slow = connect(s)  # to be looked at when the rest is done
        slow.sendall(b"GET / HTTP/1.1\r\nHost: ")

        k = connect(s)
        for i in (1, 2):
            k.sendall(get(s, "get/rbig1/small.txt"))
            head, body = answer(k)
            t.ok(head.startswith(b"HTTP/1.1 200 ") and body == b"small" and b"Connection: close" not in head,
                 f"answer {i} of one connection", head)
        k.sendall(get(s, "get/rbig1/small.txt") + get(s, "style.css"))
        first, second = answer(k), answer(k)
        t.ok(first[1] == b"small" and b"text/css" in second[0], "two sent at once are answered in turn")
        k.sendall(get(s, "get/rbig1/small.txt", "Connection: close"))
        head, body = answer(k)
        t.ok(body == b"small" and b"Connection: close" in head and ended(k), "it closes when asked to", head)
        k = connect(s)
        k.sendall(get(s, "get/rbig1/small.txt").replace(b"HTTP/1.1", b"HTTP/1.0"))
        head, body = answer(k)
        t.ok(body == b"small" and ended(k), "and for HTTP/1.0", head)

        k = connect(s)
        k.sendall(get(s, "", "Content-Length: 11") + b"GET / HTTP/")
        head, body = answer(k)
        t.ok(head.startswith(b"HTTP/1.1 200 ") and b"Connection: close" in head and ended(k),
             "what comes as a body is never the next request", head)
        k = connect(s)
        k.sendall(get(s, "", "A: " + "x" * 33000))
        t.ok(answer(k)[0].startswith(b"HTTP/1.1 431 ") and ended(k), "a head over 32 KB: 431")
        k = connect(s)
        k.sendall(get(s, "", *["A: b"] * 130))
        t.ok(answer(k)[0].startswith(b"HTTP/1.1 431 ") and ended(k), "too many headers: 431")
        for what, junk in (("a bare LF", b"GET / HTTP/1.1\nHost: x\n\n"),
                           ("a folded line", f"GET {s.base} HTTP/1.1\r\nHost: {s.host}\r\n x\r\n\r\n".encode())):
            k = connect(s)
            k.sendall(junk)
            head, body = answer(k)
            t.ok(head.startswith(b"HTTP/1.1 400 ") and b"Content-Security-Policy" in head and ended(k),
                 f"{what}: 400", head)

        # ---- one who takes nothing keeps nobody waiting
        lazy = connect(s, 4096)
        lazy.sendall(get(s, "get/rbig1/big.bin"))
        t.ok(lazy.recv(15) == b"HTTP/1.1 200 OK", "control: it is being answered")
        t.ok(s.ask("get/rbig1/small.txt").body == b"small", "others are answered while one takes nothing")

        # ---- full
        idle = [connect(s) for _ in range(MOST)]
        k = connect(s)
        k.sendall(get(s, "get/rbig1/small.txt"))
        t.ok(answer(k)[1] == b"small", "when all places are taken, one that waits makes room")
        for x in idle:
            x.setblocking(False)

        def over():
            n = 0
            for x in idle:
                try:
                    n += x.recv(1, socket.MSG_PEEK) == b""
                except BlockingIOError:
                    pass
                except ConnectionResetError:
                    n += 1
            return n
        t.ok(0 < over() < MOST, "that was some of the idle ones, not all", over())
        for x in idle:
            x.close()

        slow.settimeout(20)
        t.ok(ended(slow), "a head that does not get whole is given up")

        # ---- the end
        kept = connect(s)
        kept.sendall(get(s, "get/rbig1/small.txt"))
        t.ok(answer(kept)[1] == b"small", "control: a connection that is kept alive")
        half = connect(s, 65536)
        half.sendall(get(s, "get/rbig1/big.bin"))
        head = half.recv(15)
        lazy.close()
        s.process.send_signal(signal.SIGTERM)
        t.ok(ended(kept), "one that waits is closed at once")
        body = answer(half)[1]
        t.ok(head == b"HTTP/1.1 200 OK" and body == big, "what is being sent is sent to its end")
        t.ok(s.process.wait(20) == 0, "and then it ends: exit 0")
    with Serving(t) as s:
        s.let_in()
        lazy = connect(s, 4096)
        lazy.sendall(get(s, "get/rbig1/big.bin"))
        t.ok(lazy.recv(15) == b"HTTP/1.1 200 OK", "control: it is being answered")
        t.ok(s.stop() == 0, "one who takes nothing does not keep it from ending")
