"""The gate against mitmproxy (Debian's) and against no proxy at all: the same client and the same
nginx for all three, in one run, in turn. Prints requests a second, added latency, MB a second."""
import os, statistics, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../gate"))
from gatelib import *

LOAD = os.path.join(os.environ.get("EVCTL_TESTBIN", os.path.join(BIN, "../tests")), "gate/load")
ROUNDS = int(os.environ.get("EVCTL_BENCH_ROUNDS", "5"))
NGINX = """
server { listen 127.0.0.1:9080; location / { return 200 "ok"; } }
server { listen 127.0.0.1:9443 ssl; ssl_certificate %(c)s; ssl_certificate_key %(c)s;
 location / { return 200 "hello world, hello world"; }
 location /file { root @DIR@; }
 location /up { client_body_buffer_size 128m; proxy_pass http://127.0.0.1:9080/;
  proxy_pass_request_body off; proxy_set_header Content-Length ""; } }
"""


def load(way, threads, n, keep, what, path, size=0):
    port, roots = way
    r = subprocess.run([LOAD, str(port), "api.x.example", roots, str(threads), str(n), keep, what, path,
                        str(size)], capture_output=True, text=True, timeout=300)
    if r.returncode:
        raise AssertionError("%s %s: %s" % (way, path, r.stderr[:300]))
    return json.loads(r.stdout)


def mitmproxy(up_pem):
    exe = shutil.which("mitmdump")
    if not exe:
        return None
    home = os.path.join(tempdir(), "mitm")
    os.makedirs(home)
    p = subprocess.Popen([exe, "-q", "--mode", "reverse:https://127.0.0.1:9443", "--listen-host", "127.0.0.1",
                          "--listen-port", "9081", "--set", "confdir=" + home, "--set", "http2=false",
                          "--set", "keep_host_header=true", "--set", "connection_strategy=lazy",
                          "--set", "ssl_verify_upstream_trusted_ca=" + up_pem, "--set", "stream_large_bodies=1m",
                          "--ssl-insecure"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                         env={"HOME": home, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"})
    at_end.append(lambda: (p.kill(), p.wait()))

    def up():
        try:
            socket.create_connection(("127.0.0.1", 9081), 1).close()
            return os.path.exists(home + "/mitmproxy-ca-cert.pem")
        except OSError:
            return False
    until(up, "mitmproxy", 30)
    return 9081, home + "/mitmproxy-ca-cert.pem"


def measure(ways, field, *how, few=()):
    """The median of each way's rounds, the ways in turn."""
    got = {name: [] for name in ways}
    for i in range(ROUNDS):
        for name, way in ways.items():
            if i < 2 or name not in few:
                got[name].append(load(way, *how)[field])
    return {name: statistics.median(v) for name, v in got.items()}


def show(what, got, unit, fmt="%.0f"):
    parts = ["%s %s" % (name, fmt % v) for name, v in got.items()]
    print("%-46s %s %s" % (what + ":", ", ".join(parts), unit), flush=True)


def ratio(what, x, aim, met):
    print("%-46s %.2f  (aim: %s%s)" % (what + ":", x, aim, "" if met else "; NOT MET"), flush=True)


def run():
    if not os.path.exists(LOAD):
        print("gate: %s is not built" % LOAD)
        return
    ca = Authority("up")
    set_hosts()
    nginx = Nginx(NGINX % {"c": ca.cert("api.x.example")}).wait("127.0.0.1", 9443)
    with open(nginx.dir + "/file", "wb") as f:
        f.truncate(50000000)
    os.chmod(nginx.dir + "/file", 0o644)
    g = Gate()
    roots = os.path.join(tempdir(), "gate.pem")
    open(roots, "w").write(g.ca)
    g.begin(row("api.x.example", ca=ca.pem, connect_to="127.0.0.1:9443", allow_private=True),
            deadline=3600000)
    ways = {"direct": (9443, ca.file), "gate": (g.port[443], roots)}
    m = mitmproxy(ca.file)
    if m:
        ways["mitmproxy"] = m

    print("gate: %d rounds, medians" % ROUNDS)
    n = 400
    rps = measure(ways, "rps", 8, n, "keep", "get", "/", few=("mitmproxy",))
    show("requests/s, 8 connections kept alive", rps, "")
    if m:
        x = rps["gate"] / rps["mitmproxy"]
        ratio("  gate / mitmproxy", x, "10", x >= 10)
    ms = measure(ways, "ms", 1, n, "keep", "get", "/", few=("mitmproxy",))
    show("latency, 1 connection kept alive", ms, "ms", "%.3f")
    added = ms["gate"] - ms["direct"]
    ratio("  added by the gate, ms", added, "at most 0.30", added <= 0.3)
    rps = measure(ways, "rps", 8, 40, "close", "get", "/", few=("mitmproxy",))
    show("requests/s, 8 at once, a connection each", rps, "")
    ms = measure(ways, "ms", 1, 40, "close", "get", "/", few=("mitmproxy",))
    show("latency, a connection each", ms, "ms", "%.2f")
    # The caps are 50 MB down and 10 MB up: twice 50, and ten times 10.
    for what, how in (("100 MB down", (1, 2, "keep", "get", "/file")),
                      ("100 MB up", (1, 10, "keep", "put", "/up", 10000000))):
        mbs = measure(ways, "mbs", *how, few=("mitmproxy",))
        show(what, mbs, "MB/s")
        x = mbs["gate"] / mbs["direct"]
        ratio("  gate / direct", x, "0.5", x >= 0.5)
    peak = [int(line.split()[1]) for line in open("/proc/%d/status" % g.p.pid) if line.startswith("VmHWM")][0]
    ratio("the gate's memory at its highest, MB", peak / 1000, "flat: under 100", peak < 100000)
    start = time.perf_counter()
    for _ in range(10):
        Gate().stop()
    print("%-46s %.1f ms" % ("from exec to ready:", (time.perf_counter() - start) * 100))


if __name__ == "__main__":
    enter_namespace()
    code = 0
    try:
        run()
    except Exception:
        traceback.print_exc()
        code = 1
    for stop in reversed(at_end):
        stop()
    sys.stdout.flush()
    os._exit(code)
