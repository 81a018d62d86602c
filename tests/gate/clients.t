#!/usr/bin/python3
"""Real clients, unmodified and with no setting, through the gate: what code in the sandbox uses."""
import os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gatelib import *
import gzip, hashlib

CLIENT = r'''
import hashlib, http.client, importlib, json, sys, threading, traceback, urllib.error, urllib.request
U = "https://api.x.example"
results = []
def test(name):
    def wrap(f):
        try:
            got = f()
            results.append((name, got is True, repr(got)))
        except Exception:
            results.append((name, False, traceback.format_exc()))
    return wrap
def need(module):
    try:
        return importlib.import_module(module)
    except ImportError:
        results.append((module, None, "not installed"))
def digest(b):
    return hashlib.sha256(b).hexdigest()

@test("urllib: GET")
def _():
    with urllib.request.urlopen(U + "/hello") as r:
        return r.status == 200 and r.read() == b"/hello"
@test("urllib: POST")
def _():
    with urllib.request.urlopen(urllib.request.Request(U + "/hash", data=b"x" * 500000)) as r:
        return r.read().decode() == "500000 " + digest(b"x" * 500000)
@test("urllib: plain HTTP on port 80")
def _():
    with urllib.request.urlopen("http://plain.x.example/hello") as r:
        return r.read() == b"/hello"
@test("urllib: a refusal is an HTTPError that says why")
def _():
    try:
        urllib.request.urlopen("https://no.x.example/")
    except urllib.error.HTTPError as e:
        return e.code == 403 and e.headers["X-Evctl-Gate"] == "host" and \
            "evctl-host add no.x.example" in json.load(e)["hint"]
@test("urllib: a redirect is followed by the client, through the gate")
def _():
    with urllib.request.urlopen(U + "/redirect") as r:
        return r.read() == b"/hello"
@test("urllib: a redirect to a host that is not attached is refused")
def _():
    try:
        urllib.request.urlopen(U + "/away")
    except urllib.error.HTTPError as e:
        return e.code == 403 and e.headers["X-Evctl-Gate"] == "host"
@test("http.client: 100 requests on one connection")
def _():
    c = http.client.HTTPSConnection("api.x.example")
    socks = set()
    for i in range(100):
        c.request("GET", "/n%d" % i)
        if c.getresponse().read() != b"/n%d" % i:
            return i
        socks.add(id(c.sock))
    return len(socks) == 1
@test("http.client: chunked upload of 10 MB")
def _():
    data = bytes(range(256)) * 39062
    c = http.client.HTTPSConnection("api.x.example")
    c.request("PUT", "/hash", body=(data[i:i + 100000] for i in range(0, len(data), 100000)),
              encode_chunked=True, headers={"Transfer-Encoding": "chunked"})
    return c.getresponse().read().decode() == "%d %s" % (len(data), digest(data))
@test("http.client: an upload over the cap is refused, and says so")
def _():
    c = http.client.HTTPSConnection("api.x.example")
    c.request("PUT", "/hash", body=b"x" * 20000000)
    r = c.getresponse()
    return r.status == 413 and r.getheader("X-Evctl-Gate") == "body-too-large"

pandas = need("pandas")
if pandas:
    @test("pandas.read_csv by URL")
    def _():
        return pandas.read_csv(U + "/csv")["b"].tolist() == [2, 4]
    @test("pandas.read_csv by URL, compressed")
    def _():
        return pandas.read_csv(U + "/csv.gz", compression="gzip")["b"].tolist() == [2, 4]
    @test("pandas.read_json by URL")
    def _():
        return pandas.read_json(U + "/json")["a"].tolist() == [1, 3]

requests = need("requests")
if requests:
    @test("requests: GET, gzip")
    def _():
        return requests.get(U + "/gzip").text == "hello " * 1000
    @test("requests: POST of JSON")
    def _():
        return requests.post(U + "/echo", json={"a": 1}).json() == {"a": 1}
    @test("requests: files")
    def _():
        r = requests.post(U + "/echo", files={"f": ("n.bin", b"\0\1\2" * 1000)})
        return b"\0\1\2" * 1000 in r.content and b"n.bin" in r.content
    @test("requests: a session, 50 requests, threads")
    def _():
        s, bad = requests.Session(), []
        def some(k):
            for i in range(50):
                if s.get(U + "/t%d-%d" % (k, i)).text != "/t%d-%d" % (k, i):
                    bad.append(k)
        ts = [threading.Thread(target=some, args=(k,)) for k in range(8)]
        [t.start() for t in ts]; [t.join() for t in ts]
        return not bad
    @test("requests: 45 MB, streamed")
    def _():
        n = 0
        with requests.get(U + "/large", stream=True) as r:
            for part in r.iter_content(65536):
                n += len(part)
        return n == 45000000
    @test("requests: 60 MB is cut off, and it notices")
    def _():
        try:
            requests.get(U + "/toolarge").content
        except requests.exceptions.RequestException:
            return True
    @test("requests: Basic authentication")
    def _():
        return requests.get(U + "/auth", auth=("me", "pw")).text == "Basic bWU6cHc="

httpx = need("httpx")
if httpx:
    @test("httpx: GET and POST")
    def _():
        with httpx.Client() as c:
            return c.get(U + "/hello").text == "/hello" and \
                c.post(U + "/echo", json={"a": 1}).json() == {"a": 1}
    @test("httpx: server-sent events as they come")
    def _():
        got = []
        with httpx.stream("GET", U + "/sse") as r:
            for line in r.iter_lines():
                if line.startswith("data"):
                    got.append(line.strip())
                    httpx.get(U + "/next")
        return got == ["data: 0", "data: 1", "data: 2"]
    @test("httpx: async, 30 at once")
    def _():
        import asyncio
        async def go():
            async with httpx.AsyncClient(timeout=20) as c:
                rs = await asyncio.gather(*(c.get(U + "/a%d" % i) for i in range(30)))
                return [r.text for r in rs] == ["/a%d" % i for i in range(30)]
        return asyncio.run(go())

urllib3 = need("urllib3")
if urllib3:
    @test("urllib3: a pool in 20 threads")
    def _():
        pool, bad = urllib3.PoolManager(maxsize=20, cert_reqs="CERT_REQUIRED"), []
        def some(k):
            for i in range(20):
                if pool.request("GET", U + "/u%d-%d" % (k, i)).data != b"/u%d-%d" % (k, i):
                    bad.append(k)
        ts = [threading.Thread(target=some, args=(k,)) for k in range(20)]
        [t.start() for t in ts]; [t.join() for t in ts]
        return not bad
    @test("urllib3: an upload over the cap")
    def _():
        r = urllib3.PoolManager().request("POST", U + "/hash", body=b"x" * 20000000, retries=False)
        return r.status == 413
json.dump(results, sys.stdout)
'''


def run():
    ca = Authority("up")
    step = threading.Semaphore(0)

    def handle(conn, seen):
        left = b""
        while True:
            got = read_request(conn, seen, left)
            seen.data = b""
            if got is None:
                return
            head, body, left = got
            path = head.split()[1].decode()
            if path == "/sse":
                conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                             b"Transfer-Encoding: chunked\r\n\r\n")
                for i in range(3):
                    part = b"data: %d\n\n" % i
                    conn.sendall(b"%x\r\n%s\r\n" % (len(part), part))
                    step.acquire(timeout=10)
                conn.sendall(b"0\r\n\r\n")
                continue
            if path in ("/large", "/toolarge"):
                n = 45000000 if path == "/large" else 60000000
                conn.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                for _ in range(n // 500000):
                    conn.sendall(b"7a120\r\n" + b"x" * 500000 + b"\r\n")
                conn.sendall(b"0\r\n\r\n")
                continue
            csv = b"a,b\n1,2\n3,4\n"
            conn.sendall({
                "/redirect": lambda: reply("", "302 Found", ["Location: /hello"]),
                "/away": lambda: reply("", "302 Found", ["Location: https://no.x.example/"]),
                "/hash": lambda: reply("%d %s" % (len(body), hashlib.sha256(body).hexdigest())),
                "/csv": lambda: reply(csv), "/csv.gz": lambda: reply(gzip.compress(csv)),
                "/json": lambda: reply('[{"a": 1}, {"a": 3}]'),
                "/gzip": lambda: reply(gzip.compress(b"hello " * 1000), headers=["Content-Encoding: gzip"]),
                "/echo": lambda: reply(body), "/next": lambda: (step.release(), reply("ok"))[1],
                "/auth": lambda: reply(re.search(r"(?im)^authorization: (.*?)\r?$", head.decode()).group(1)),
            }.get(path, lambda: reply(path))())
    up = Upstream(ca.cert("*.x.example"), handle)
    plain = Upstream(None, handle, tls=False)
    set_hosts(**{n + ".x.example": "127.0.0.1" for n in ("api", "plain", "no")})
    g = Gate()
    if g.port[443] != 443:
        skip_all("port 443 is taken")
    roots = os.path.join(tempdir(), "roots.pem")
    open(roots, "w").write(g.ca)
    subprocess.run(["mount", "--bind", roots, "/etc/ssl/certs/ca-certificates.crt"], check=True)
    g.begin(row("api.x.example", ca=ca.pem, connect_to=up.addr, allow_private=True),
            row("plain.x.example", connect_to=plain.addr, allow_private=True))
    env = {"PATH": "/usr/bin:/bin", "HOME": tempdir()}
    r = subprocess.run(["/usr/bin/python3", "-B", "-c", CLIENT], capture_output=True, text=True,
                       env=env, timeout=120)
    ok(r.returncode == 0, "the clients ran", r.stderr)
    for name, good, note in json.loads(r.stdout or "[]"):
        if good is None:
            Tap.n += 1
            print("ok %d - %s # SKIP %s" % (Tap.n, name, note))
        else:
            ok(good, name, note)
    g.end()


main(run)
