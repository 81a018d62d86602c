"""What real clients ask through the gate: run by clients.t beside it, and by sandbox.t inside a
sandbox. Prints [name, passed or null, note] for each, as JSON."""
import builtins, hashlib, http.client, importlib, json, sys, threading, traceback, urllib.error, urllib.request
U = "https://api.x.example"
# In a sandbox, what is not attached has no address either.
INSIDE = hasattr(builtins, "EV_KEYS")
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
    except urllib.error.URLError as e:
        return INSIDE and isinstance(e.reason, OSError)
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
    except urllib.error.URLError as e:
        return INSIDE and isinstance(e.reason, OSError)
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
    @test("pandas.read_csv by URL, compressed twice told: by its name and by Content-Encoding")
    def _():
        return pandas.read_csv(U + "/d.csv.gz")["b"].tolist() == [2, 4]
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
