#!/usr/bin/python3
"""The archive's server, byte by byte: who is let in, what is shown, what counts as fetched."""
import os
import re
import signal
import socket
import struct
import subprocess
import sys
from urllib.parse import quote, unquote

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), HERE]
sys.dont_write_bytecode = True
from fill import BASE, add_artifact, add_run, object_path, open_db
from sample import HOSTILE, HTML, SVG, fill_gallery
from serving import Serving, status
from tap import T
from waiting import until

CLOCK = r'''
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *ts)
{
	static int (*real)(clockid_t, struct timespec *);
	if (!real)
		real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	int r = real(id, ts);
	FILE *f = fopen(getenv("TEST_AHEAD"), "re");
	long ahead = 0;
	if (f && fscanf(f, "%ld", &ahead) == 1 && id == CLOCK_MONOTONIC)
		ts->tv_sec += ahead;
	if (f)
		fclose(f);
	return r;
}
'''
WORDS = ("leads", "crm-helper", "chart", "acme", "zeta")


def url(name):
    return quote(name, safe="")


def fetched(t, run, name):
    db = open_db(t.home)
    got = db.execute("SELECT fetched FROM artifacts WHERE run = ? AND name = ?", (run, name)).fetchone()[0]
    db.close()
    return got


def safe_headers(r):
    want = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin", "X-Frame-Options": "DENY",
            "Cache-Control": "no-store"}
    csp = r.getheader("Content-Security-Policy") or ""
    return all(r.getheader(k) == v for k, v in want.items()) and \
        csp.startswith("default-src 'none'") and "script" not in csp and "frame-ancestors 'none'" in csp


with T() as t:
    t.init()
    fill_gallery(t.home)

    # ---- in time: a clock that a file puts forward, as nobody waits ten minutes
    shim = t.dir / "clock.so"
    (t.dir / "clock.c").write_text(CLOCK)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, t.dir / "clock.c"], check=True)
    ahead = t.dir / "ahead"
    saved, t.env = t.env, {**t.env, "LD_PRELOAD": str(shim), "TEST_AHEAD": str(ahead)}
    with Serving(t) as s, Serving(t) as late:
        t.env = saved
        ahead.write_text("590")
        t.ok(s.let_in().status == 200, "control: the link opens in its tenth minute")
        ahead.write_text("600")
        r = late.let_in()
        t.ok(r.status == 403 and "too old" in r.text and not r.getheader("Set-Cookie"),
             "and not after that", r.text)
        t.ok(s.ask("").status == 200, "what it opened stays open")
        late.process.terminate()
        told = late.process.stderr.read().decode()
        t.ok("within 10 minutes" in told, "which was said", told)

    # ---- being let in
    with Serving(t) as s:
        t.ok(re.fullmatch(r"http://127\.0\.0\.1:\d+/[0-9a-f]{32}/open\?t=[0-9a-f]{32}", s.link),
             "the link", s.link)
        listeners = [line.split()[1] for line in open("/proc/net/tcp").readlines()[1:]
                     if line.split()[3] == "0A" and line.split()[1].endswith(f":{s.port:04X}")]
        t.ok(listeners == [f"0100007F:{s.port:04X}"], "listens on 127.0.0.1 alone", listeners)
        r = s.ask("")
        t.ok(r.status == 403 and not any(w in r.text for w in WORDS), "no cookie: 403 and no word", r.text)
        r = s.ask("/", whole=True)
        t.ok(r.status == 404 and not any(w in r.text for w in WORDS), "outside of the base: 404", r.text)
        t.ok(s.ask("open?t=" + "0" * 32).status == 403, "a wrong token")
        t.ok(s.ask("open").status == 403, "no token")
        t.ok(s.ask("open?t=" + s.token, "HEAD").status == 403, "HEAD does not open it")
        t.ok(s.ask("open?t=" + s.token, headers={"Sec-Purpose": "prefetch"}).status == 403,
             "nor does a browser that looks ahead")
        t.ok(s.ask("open?t=" + s.token, headers={"Sec-Fetch-Site": "cross-site",
                                                "Sec-Fetch-Mode": "no-cors"}).status == 403,
             "nor a picture on another site")
        t.ok(s.ask("open?t=" + s.token, headers={"Host": "evil.example"}).status == 403,
             "nor another name")
        r = s.let_in()
        cookie = r.getheader("Set-Cookie")
        t.ok(r.status == 200 and f'url={s.base}"' in r.text and safe_headers(r), "the link opens", r.text)
        t.ok("HttpOnly" in cookie and "SameSite=Strict" in cookie and f"Path={s.base}" in cookie and
             "Domain" not in cookie, "the cookie: HttpOnly, SameSite=Strict, this path only", cookie)
        t.ok(s.token not in cookie, "and is not the link's token")
        r = s.ask("open?t=" + s.token)
        t.ok(r.status == 403 and "has been used" in r.text and not r.getheader("Set-Cookie"),
             "the link is good once", r.text)
        r = s.ask("")
        t.ok(r.status == 200 and "leads.png" in r.text and safe_headers(r), "the gallery", r.getheaders())
        t.ok("<script" not in r.text.lower() and "javascript:" not in
             "".join(re.findall(r'(?:href|src|action)="([^"]*)"', r.text)), "no script in it")
        t.ok(s.ask("", cookie=False, headers={"Cookie": s.cookie[:-1] + "x"}).status == 403,
             "another cookie is refused")
        t.ok(s.ask("", cookie=False, headers={"Cookie": s.cookie[:-1]}).status == 403, "so is a part")

        # ---- DNS rebinding, other sites, other ports
        for host in ("evil.example", f"evil.example:{s.port}", "127.0.0.1", "127.0.0.1:1",
                     f"localhost:{s.port}", f"[::1]:{s.port}", f"127.0.0.1:{s.port}.evil.example",
                     f"127.0.0.1:0{s.port}", f"2130706433:{s.port}", ""):
            r = s.ask("", headers={"Host": host})
            t.ok(r.status in (400, 403) and not any(w in r.text for w in WORDS), f"Host {host!r}", r.text)
        own = f"GET {s.base} HTTP/1.1\r\nCookie: {s.cookie}\r\n"
        t.ok(status(s.raw(f"{own}Host: {s.host}\r\nConnection: close\r\n\r\n".encode())) == 200,
             "control: our own raw request")
        t.ok(status(s.raw(f"{own}Host: {s.host}\r\nHost: evil\r\nConnection: close\r\n\r\n".encode()))
             in (400, 403), "two Hosts")
        t.ok(status(s.raw(f"{own}Connection: close\r\n\r\n".encode())) in (400, 403), "no Host")
        t.ok(status(s.raw(f"GET http://evil.example{s.base} HTTP/1.1\r\nCookie: {s.cookie}\r\n"
                          "Host: evil.example\r\nConnection: close\r\n\r\n".encode())) != 200,
             "a whole URL in the request line")
        for origin in ("http://evil.example", "null", "http://127.0.0.1:1", f"https://{s.host}",
                       f"http://localhost:{s.port}"):
            t.ok(s.ask("", headers={"Origin": origin}).status == 403, f"Origin {origin}")
        t.ok(s.ask("", headers={"Origin": f"http://{s.host}"}).status == 200, "control: our own Origin")
        for site in ("cross-site", "same-site"):
            t.ok(s.ask("", headers={"Sec-Fetch-Site": site}).status == 403, f"Sec-Fetch-Site {site}")
        for site in ("none", "same-origin"):
            t.ok(s.ask("", headers={"Sec-Fetch-Site": site}).status == 200, f"control: {site}")
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"):
            r = s.ask("", method)
            t.ok(r.status in (405, 501) or (method == "POST" and r.status == 405), f"{method}: 405", r.status)
        t.ok(s.ask("", "HEAD").status == 200, "control: HEAD")
        for junk in (b"\0\1\2\3\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"A" * 100_000):
            with socket.create_connection(("127.0.0.1", s.port), timeout=20) as k:
                k.sendall(junk)
        t.ok(s.ask("").status == 200, "rubbish does not end it")

        # ---- what is shown
        shown = {"rchart1/leads.png": "image/png", "rclip1/poster.jpg": "image/jpeg",
                 "rclip1/teaser.mp4": "video/mp4", "rclip1/teaser.webm": "video/webm",
                 "rclip1/jingle.wav": "audio/wav", "rclip1/voice.mp3": "audio/mpeg",
                 "rpart1/zeta-only.webp": "image/webp"}
        for path, kind in shown.items():
            r = s.ask("raw/" + path, headers={"Range": "bytes=0-9"})
            t.ok(r.status == 200 and r.getheader("Content-Type") == kind and len(r.body) > 100 and
                 safe_headers(r) and "sandbox" in r.getheader("Content-Security-Policy"),
                 f"{path} is shown, whole", r.getheaders())
        for name in ("page.png", "drawing.svg", "lie.png", "lie.svg", "liar.gif", "page.html",
                     HOSTILE[0]):
            r = s.ask("raw/revil1/" + url(name))
            t.ok(r.status == 415 and HTML not in r.body and SVG not in r.body and
                 b"PWNED" not in r.body, f"{name!r} is not shown", (r.status, r.text))
        page = s.ask("run/revil1").text
        for name in ("page.png", "drawing.svg", "lie.svg", "page.html"):
            t.ok(f"raw/revil1/{url(name)}" not in page, f"no page asks for {name} to be shown")
        for name in [*HOSTILE, "page.png", "drawing.svg", "lie.png", "lie.svg", "page.html"]:
            r = s.ask("get/revil1/" + url(name))
            d = r.getheader("Content-Disposition") or ""
            m = re.fullmatch(r"attachment; filename\*=UTF-8''([A-Za-z0-9%._~-]+)", d)
            file = unquote(m.group(1)) if m else "/"
            t.ok(r.status == 200 and r.getheader("Content-Type") == "application/octet-stream" and
                 not re.search(r'[/\\:*?"<>|%\x00-\x1f\u200b\u202e]', file) and file[0] != "." and
                 r.getheader("Set-Cookie") is None and safe_headers(r),
                 f"{name[:40]!r} downloads only, as {file[:40]!r}", (r.status, r.getheaders()))
            r = s.ask("view/revil1/" + url(name))
            t.ok(r.status == 200 and "<script" not in r.text and "<img src=x" not in r.text and
                 "\u202e" not in r.text and "\u200b" not in r.text, "and its page is inert", r.text)
        r = s.ask("get/rchart1/leads.png")
        t.ok(r.getheader("Content-Type") == "image/png" and "attachment" in
             r.getheader("Content-Disposition"), "a sound image downloads as what it is")
        for path in ("get/rchart1/../../state.db", "get/rchart1/%2e%2e%2f%2e%2e%2fstate.db",
                     "raw/../../etc/passwd", "get/rchart1/", "get//leads.png", "run/", "run/x/y",
                     "objects/00", "view/rchart1", "get/rchart1/leads.png%00.txt", "%00"):
            r = s.ask(path)
            t.ok(r.status == (400 if "%00" in path else 404) and b"SQLite" not in r.body and b"root:" not in r.body, f"nothing at {path}",
                 r.status)
        for q in ("?kind=image", "?kind=%27%20OR%201", "?text=l%25s", "?expert=crm-helper&kind=file",
                  "?before=rclip1", "?before=%27", "?text=%22%3E%3Cscript%3E"):
            r = s.ask(q)
            t.ok(r.status == 200 and "<script" not in r.text, f"gallery {q}", r.text)
        t.ok("leads.png" in s.ask("?kind=image").text and "leads.csv" not in s.ask("?kind=image").text,
             "images only")
        t.ok("rchart1" not in s.ask("?before=rclip1").text and "rheat1" in s.ask("?before=rclip1").text,
             "older than a run")
        t.ok("Nothing fits" in s.ask("?text=l%25s").text, "text is text, no pattern")
        t.ok("leads.csv" in s.ask("?text=LEADS.c").text, "control: in either case of letters")
        r = s.ask("run/rpart1")
        t.ok("part-2.zip" in r.text and "larger than 5 MB" in r.text, "the owner sees what was withheld")

        # ---- damaged bytes
        db = open_db(t.home)
        sha = db.execute("SELECT sha256 FROM artifacts WHERE name = 'heat.png'").fetchone()[0]
        db.close()
        path = object_path(t.home, sha)
        good = path.read_bytes()
        path.write_bytes(good[:-1] + b"x")
        for verb in ("raw", "get"):
            r = s.ask(f"{verb}/rheat1/heat.png")
            t.ok(r.status == 500 and good[:50] not in r.body, f"{verb}: damaged bytes are not sent", r.status)
        path.write_bytes(good)
        t.ok(s.ask("raw/rheat1/heat.png").body == good, "control: mended, they are")

        # ---- the owner's looking is no fetch
        s.ask("get/rchart1/leads.csv")
        t.ok(fetched(t, "rchart1", "leads.png") is None and fetched(t, "rchart1", "leads.csv") is None,
             "what the owner looked at and took is not fetched")
        t.ok(s.stop(signal.SIGINT) == 0, "Ctrl-C ends it: exit 0")

    # ---- a buyer
    db = open_db(t.home)
    add_run(db, "rbig1", expert="studio", tool="big", buyer="acme", started=BASE)
    add_artifact(db, t.home, "rbig1", "big.bin", os.urandom(5_000_000))
    db.close()
    with Serving(t, "--buyer", "acme") as s:
        s.let_in()
        r = s.ask("")
        t.ok(r.status == 200 and "leads.png" in r.text and "teaser.mp4" in r.text, "acme's own runs")
        hidden = ("zeta", "heat.png", "half-made", "owner only", "part-1.zip", "rpart1", "rheat1", "rfail1")
        t.ok(not any(w in r.text for w in hidden), "and nothing of others, nor the owner's",
             [w for w in hidden if w in r.text])
        none = s.ask("view/rnone/none.png").body
        for path in ("rpart1/zeta-only.webp", "rheat1/heat.png", "rfail1/half-made.png", "rnone/x"):
            for verb in ("view", "raw", "get"):
                r = s.ask(f"{verb}/{path}")
                t.ok(r.status == 404 and r.body == none, f"{verb}/{path}: as if it were not there", r.text)
        for run in ("rpart1", "rheat1", "rnone"):
            r = s.ask(f"run/{run}")
            t.ok(r.status == 404 and r.body == none, f"run/{run}: as if it were not there")
        r = s.ask("run/rfail1")
        t.ok(r.status == 200 and "half-made" not in r.text and "failed" in r.text, "a failed run: one word")
        t.ok("zeta" not in s.ask("?expert=crm-helper").text, "the filter shows no other buyer")
        db = open_db(t.home)
        db.execute("INSERT INTO withheld VALUES ('rchart1', 1, 'SECRET_NAME.txt', 'holds CRM_KEY')")
        db.close()
        r = s.ask("run/rchart1")
        t.ok("1 file was withheld" in r.text and "SECRET_NAME" not in r.text and "CRM_KEY" not in r.text,
             "a buyer learns how many files were withheld, no names")
        t.ok(fetched(t, "rchart1", "leads.csv") is None, "looking at pages is no fetch")
        s.ask("get/rchart1/leads.csv", "HEAD")
        t.ok(fetched(t, "rchart1", "leads.csv") is None, "nor is HEAD")
        s.ask("get/rchart1/leads.csv")
        t.ok(until(lambda: fetched(t, "rchart1", "leads.csv"), "the mark", 20), "a download is")
        s.ask("raw/rchart1/leads.png")
        t.ok(until(lambda: fetched(t, "rchart1", "leads.png"), "the mark", 20), "so is a picture shown")
        with socket.socket() as half:
            half.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            half.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            half.connect(("127.0.0.1", s.port))
            half.sendall(f"GET {s.base}get/rbig1/big.bin HTTP/1.1\r\nHost: {s.host}\r\n"
                         f"Cookie: {s.cookie}\r\n\r\n".encode())
            half.recv(1000)
        until(lambda: s.ask("").status == 200, "another request", 20)
        t.ok(fetched(t, "rbig1", "big.bin") is None, "half a download is not")
        t.ok(len(s.ask("get/rbig1/big.bin").body) == 5_000_000 and
             until(lambda: fetched(t, "rbig1", "big.bin"), "the mark", 20), "control: the whole is")
    t.fails(2, "a buyer's name is checked", "evctl-artifact", "serve", "--buyer", "No Such/Name", hint="")

    # ---- many runs
    db = open_db(t.home)
    for i in range(45):
        add_run(db, f"rmany{i:02}", expert="many", tool="count", started=BASE + 20 * 86_400_000 + i // 7)
        add_artifact(db, t.home, f"rmany{i:02}", "n.txt", str(i).encode())
    db.close()
    with Serving(t) as s:
        s.let_in()
        seen, path = [], "?expert=many"
        for _ in range(5):
            text = s.ask(path).text
            seen += re.findall(r"/run/(rmany\d\d)\"", text)
            m = re.search(r'rel="next" accesskey="n" href="([^"]*)"', text)
            if not m:
                break
            path = m.group(1).replace("&amp;", "&")[len(s.base):]
        t.ok(len(seen) == 45 == len(set(seen)) and seen == sorted(seen, reverse=True),
             "every run is on exactly one of three pages", seen)
        t.fails(5, "a taken port: exit 5", "evctl-artifact", "serve", "--port", s.port, says="listen",
                hint="leave --port out")
    t.fails(2, "no such port: exit 2", "evctl-artifact", "serve", "--port", "70000")
