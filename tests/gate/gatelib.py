"""What the gate's tests share: a network namespace of their own, certificates, upstreams that
behave and that don't, and a supervisor that speaks to evctl-egress as evctl-run does.

Inside the namespace, names resolve by a hosts file that the test writes, and any address may be put
on the loopback interface. So addresses are tried without a packet leaving the machine.
"""
import array, base64, fcntl, gzip, hashlib, json, os, re, shutil, socket, ssl, struct, subprocess, sys, tempfile
import threading, time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../lib"))
import certs  # noqa: E402
from field import BYTES, FLAG, NUMBER, TEXT, message, read  # noqa: E402
from tap import Tap, skip_all  # noqa: E402
from waiting import alive, until  # noqa: E402

BIN = os.environ.get("EVCTL_BIN", os.path.join(HERE, "../../build/bin"))
PUBLIC = "93.184.216.34"  # on lo, in the namespace: as good as any public address
PUBLIC2 = "93.184.216.35"


# ---- TAP ----

TAP = Tap()
ok, eq = TAP.ok, TAP.eq


def main(run):
    """Runs the test inside the namespace and prints the plan."""
    enter_namespace()
    try:
        run()
    except Exception as e:
        TAP.died(e)
    said = sanitizers_said()
    if said:
        ok(False, "the sanitizers complained", said)
    for stop in reversed(at_end):
        stop()
    os._exit(TAP.done())


at_end = []


def sanitizers_said():
    """What a gate that was built with sanitizers has complained of."""
    log = os.path.join(_dir[0], "gate.log") if _dir else ""
    text = open(log, errors="replace").read() if os.path.exists(log) else ""
    return text if re.search(r"Sanitizer|runtime error:", text) else ""


# ---- the namespace ----

def enter_namespace():
    if os.environ.get("GATE_TEST_INSIDE") != "1":
        probe = subprocess.run(["unshare", "-Urnm", "true"], stderr=subprocess.DEVNULL)
        if probe.returncode != 0:
            skip_all("user namespaces are not allowed here")
        os.environ["GATE_TEST_INSIDE"] = "1"
        os.execvp("unshare", ["unshare", "-Urnm", "--propagation", "private",
                              sys.executable, "-B"] + sys.argv)
    lo_up()
    add_address(PUBLIC)
    add_address(PUBLIC2)


def lo_up():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    ifr = struct.pack("16sh14x", b"lo", 0x1 | 0x40)
    fcntl.ioctl(s, 0x8914, ifr)  # SIOCSIFFLAGS


aliases = [0]


def add_address(ip):
    """An IPv4 address on the loopback interface."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    aliases[0] += 1
    name = b"lo:%d" % aliases[0]
    addr = struct.pack("16sHH4s8x", name, socket.AF_INET, 0, socket.inet_aton(ip))
    fcntl.ioctl(s, 0x8916, addr)  # SIOCSIFADDR
    mask = struct.pack("16sHH4s8x", name, socket.AF_INET, 0, b"\xff\xff\xff\xff")
    fcntl.ioctl(s, 0x891c, mask)  # SIOCSIFNETMASK


hosts_file = []


def set_hosts(**names):
    """Name service of the namespace: a hosts file bound over the system's, nothing else."""
    d = tempdir()
    text = "127.0.0.1 localhost\n" + "".join(
        "%s %s\n" % (ip, name) for name, ips in names.items() for ip in ips.split())
    if not hosts_file:
        hosts_file.append(os.path.join(d, "hosts"))
        open(hosts_file[0], "w").write(text)
        os.chmod(hosts_file[0], 0o644)
        none = os.path.join(d, "resolv.conf")
        open(none, "w").write("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
        os.chmod(none, 0o644)
        for src, dst in ((hosts_file[0], "/etc/hosts"), (none, "/etc/resolv.conf")):
            subprocess.run(["mount", "--bind", src, dst], check=True)
    else:
        open(hosts_file[0], "r+").truncate(0)
        open(hosts_file[0], "r+").write(text)


# ---- files ----

_dir = []


def tempdir():
    if not _dir:
        _dir.append(tempfile.mkdtemp(prefix="evctl-gate-"))
        os.chmod(_dir[0], 0o755)
        pid = os.getpid()
        at_end.append(lambda: os.getpid() == pid and shutil.rmtree(_dir[0], ignore_errors=True))
    return _dir[0]


# ---- certificates ----

class Authority(certs.Authority):
    def __init__(self, name):
        super().__init__(tempdir(), name)


# ---- upstreams ----

class Seen:
    """One connection that a scripted upstream got: the bytes, and whether TLS came about."""

    def __init__(self):
        self.tls = False
        self.data = b""
        self.error = None


class Upstream:
    """A server that does as a script says: handle(conn, seen) gets the connected (TLS) socket."""

    def __init__(self, cert, handle, ip="127.0.0.1", port=0, tls=True, alpn=None):
        self.handle, self.tls, self.seen = handle, tls, []
        if tls:
            self.ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.ctx.load_cert_chain(cert)
            if alpn:
                self.ctx.set_alpn_protocols(alpn)
        self.sock = socket.create_server((ip, port), backlog=256)
        self.ip, self.port = self.sock.getsockname()
        self.addr = "%s:%d" % (self.ip, self.port)
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            conn, _ = self.sock.accept()
            threading.Thread(target=self.one, args=(conn,), daemon=True).start()

    def one(self, conn):
        seen = Seen()
        seen.local = conn.getsockname()[0]
        self.seen.append(seen)
        conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        conn.settimeout(60)
        try:
            if self.tls:
                conn = self.ctx.wrap_socket(conn, server_side=True)
                seen.tls = True
            self.handle(conn, seen)
        except Exception as e:
            seen.error = e
        finally:
            try:
                conn.close()
            except OSError:
                pass

    def bytes(self):
        return b"".join(s.data for s in self.seen)


def read_head(conn, seen, buf=b""):
    """One request head; returns (head, what of the body came along). None at end of file."""
    while b"\r\n\r\n" not in buf:
        got = conn.recv(65536)
        if not got:
            return None
        seen.data += got
        buf += got
    head, rest = buf.split(b"\r\n\r\n", 1)
    return head, rest


def read_request(conn, seen, buf=b""):
    """A whole request: (head, body, left over), None at end of file. Chunked bodies are decoded."""
    got = read_head(conn, seen, buf)
    if got is None:
        return None
    head, rest = got
    m = re.search(rb"(?im)^content-length: *(\d+)", head)

    def more():
        nonlocal rest
        data = conn.recv(65536)
        if not data:
            raise EOFError("body cut short")
        # Grown in place: a test's time is not to go with the square of what it sends.
        seen.data = seen.data if isinstance(seen.data, bytearray) else bytearray(seen.data)
        seen.data += data
        rest += data

    if m:
        n = int(m.group(1))
        while len(rest) < n:
            more()
        return head, rest[:n], rest[n:]
    if re.search(rb"(?im)^transfer-encoding: *chunked", head):
        body = bytearray()
        while True:
            while b"\r\n" not in rest:
                more()
            size, rest = rest.split(b"\r\n", 1)
            n = int(size, 16)
            while len(rest) < n + 2:
                more()
            body += rest[:n]
            rest = rest[n + 2:]
            if n == 0:
                return head, bytes(body), rest
    return head, b"", rest


def answering(make):
    """A handler that answers each request of a connection with make(head, body)."""
    def handle(conn, seen):
        left = b""
        while True:
            got = read_request(conn, seen, left)
            if got is None:
                return
            head, body, left = got
            conn.sendall(make(head, body))
    return handle


def reply(body=b"ok", status="200 OK", headers=()):
    if isinstance(body, str):
        body = body.encode()
    lines = ["HTTP/1.1 " + status, "Content-Length: %d" % len(body)] + list(headers)
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def echo(head, body):
    """The request as it arrived, as JSON."""
    lines = head.decode("latin-1").split("\r\n")
    return reply(json.dumps({"line": lines[0], "headers": lines[1:],
                             "body": base64.b64encode(body).decode()}),
                 headers=["Content-Type: application/json"])


def calls_handler():
    """What calls.py expects of the upstream."""
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
                "/d.csv.gz": lambda: reply(gzip.compress(csv), headers=["Content-Encoding: gzip"]),
                "/json": lambda: reply('[{"a": 1}, {"a": 3}]'),
                "/gzip": lambda: reply(gzip.compress(b"hello " * 1000), headers=["Content-Encoding: gzip"]),
                "/echo": lambda: reply(body), "/next": lambda: (step.release(), reply("ok"))[1],
                "/auth": lambda: reply(re.search(r"(?im)^authorization: (.*?)\r?$", head.decode()).group(1)),
            }.get(path, lambda: reply(path))())
    return handle


class Nginx:
    def __init__(self, config, events=""):
        d = tempfile.mkdtemp(dir=tempdir())
        self.dir = d
        conf = os.path.join(d, "nginx.conf")
        open(conf, "w").write("""
user root; daemon off; master_process off; pid %(d)s/pid; error_log %(d)s/error.log;
worker_rlimit_nofile 4096; events { worker_connections 2048; %(ev)s }
http { access_log off; client_body_temp_path %(d)s/b; proxy_temp_path %(d)s/p;
 fastcgi_temp_path %(d)s/f; uwsgi_temp_path %(d)s/u; scgi_temp_path %(d)s/s;
 client_max_body_size 0; keepalive_requests 1000000; keepalive_timeout 75; sendfile on;
 default_type text/plain;
%(c)s }
""" % {"d": d, "c": config.replace("@DIR@", d), "ev": events})
        exe = shutil.which("nginx") or "/usr/sbin/nginx"
        if not os.path.exists(exe):
            skip_all("nginx is not installed")
        self.p = subprocess.Popen([exe, "-c", conf, "-p", d, "-e", d + "/error.log"],
                                  stderr=subprocess.DEVNULL)
        at_end.append(self.stop)

    def stop(self):
        self.p.kill()
        self.p.wait()

    def wait(self, ip, port):
        def up():
            try:
                socket.create_connection((ip, port), 1).close()
                return True
            except OSError:
                return False
        until(up, "nginx", 10)
        return self


# ---- the supervisor ----

def row(host, port=443, **more):
    r = {"host": host, "port": port, "plain": False, "allow_private": False,
         "connect_to": None, "ca": None, "key": None}
    r.update(more)
    return r


def key(name, value, guard=True, sealed=False, standin=None):
    if isinstance(value, str):
        value = value.encode()
    return {"name": name, "value": value, "standin": standin, "guard": guard}


# What common/gate/message.c has.
ROW = [("host", TEXT), ("port", NUMBER), ("plain", FLAG), ("allow_private", FLAG),
       ("connect_to", TEXT), ("ca", TEXT), ("key", TEXT)]
KEY = [("name", TEXT), ("value", BYTES), ("standin", TEXT), ("guard", FLAG)]
EVENT = [("at", NUMBER), ("method", TEXT), ("host", TEXT), ("path", TEXT), ("port", NUMBER), ("status", NUMBER),
         ("up", NUMBER), ("down", NUMBER), ("ms", NUMBER), ("verdict", TEXT),
         ("counted", NUMBER)]
SUMMARY = [(name, NUMBER) for name in ("requests", "refused", "failed", "up", "down", "truncated")]
ASK = {"open": (b"O", [("ports", [[("port", NUMBER)]])]), "end": (b"E", None), "nonsense": (b"?", None),
       "call": (b"C", [("id", TEXT), ("deadline_ms", NUMBER), ("rows", [ROW]), ("keys", [KEY])])}
ANSWER = {b"Y": [("ca", TEXT)], b"K": None, b"X": [("message", TEXT)], b"V": [("summary", SUMMARY), ("events", [EVENT])]}
ANSWERS = {b"Y": "ready", b"K": "ok", b"X": "error", b"V": "events"}


class Gate:
    """evctl-egress, opened on loopback; names map to 127.0.0.1 inside as in the sandbox."""

    def __init__(self, ports=(443, 80), env=None, argv0=None):
        self.exe = os.path.join(BIN, "evctl-egress")
        ours, theirs = socket.socketpair()
        self.sock = ours
        self.port = {}
        listeners = []
        for p in ports:
            try:
                s = socket.create_server(("127.0.0.1", p), backlog=512)
            except OSError:  # not allowed, or taken by an upstream
                s = socket.create_server(("127.0.0.1", 0), backlog=512)
            self.port[p] = s.getsockname()[1]
            listeners.append(s)
        self.log = open(os.path.join(tempdir(), "gate.log"), "ab+")
        null = os.open("/dev/null", os.O_RDWR)

        def as_three():
            os.dup2(theirs.fileno(), 3)
            os.set_inheritable(3, True)
        self.p = subprocess.Popen([self.exe], env=env or {}, stdin=null, stdout=null,
                                  stderr=self.log, close_fds=False, preexec_fn=as_three)
        theirs.close()
        os.close(null)
        self.send({"op": "open", "ports": [{"port": p} for p in ports]},
                  [s.fileno() for s in listeners])
        for s in listeners:
            s.close()
        self.ca = self.recv("ready")["ca"]
        self.ctx = ssl.create_default_context(cadata=self.ca)
        self.deadline = 120000  # a slow machine is no fault of the gate
        at_end.append(self.stop)

    def stop(self):
        if self.p.poll() is None:
            self.p.kill()
            self.p.wait()
        self.sock.close()

    def send(self, msg, fds=(), more=b""):
        data = message(*ASK[msg["op"]], msg) + more
        data = struct.pack("<I", len(data)) + data
        anc = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        n = self.sock.sendmsg([data], anc)
        if n < len(data):  # even nothing cannot be sent to one that has read it all and is gone
            self.sock.sendall(data[n:])

    def recv(self, want=None, timeout=15):
        self.sock.settimeout(timeout)

        def exactly(n):
            got = b""
            while len(got) < n:
                part = self.sock.recv(n - len(got))
                if not part:
                    raise EOFError("the gate is gone: " + self.logged())
                got += part
            return got
        tag, msg = read(exactly(struct.unpack("<I", exactly(4))[0]), ANSWER)
        msg["op"] = ANSWERS[tag]
        if want and msg["op"] != want:
            raise AssertionError("got %r" % msg)
        return msg

    def logged(self):
        self.log.seek(0)
        return self.log.read().decode("latin-1")

    def begin(self, *rows, keys=(), deadline=None):
        self.send({"op": "call", "id": "r1", "deadline_ms": deadline or self.deadline,
                   "rows": list(rows), "keys": list(keys)})
        return self.recv("ok")

    def end(self):
        self.send({"op": "end"})
        self.last = self.recv("events")
        return self.last["events"]

    # -- clients --

    def dial(self, name="api.x.example", port=443, tls=True, sni=None, ctx=None, timeout=30):
        s = socket.create_connection(("127.0.0.1", self.port[port]), timeout)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            s = (ctx or self.ctx).wrap_socket(s, server_hostname=sni or name)
        return s

    def raw(self, data, **how):
        """Sends bytes on a new connection and reads to its end; what came, None if refused."""
        try:
            s = self.dial(**how)
        except (ssl.SSLError, ConnectionError, socket.timeout, OSError):
            return None
        try:
            s.sendall(data)
        except OSError:
            pass
        out = bytearray()
        try:
            while True:
                got = s.recv(1 << 20)
                if not got:
                    break
                out += got
        except OSError as e:
            self.broke = e
        s.close()
        return bytes(out)

    def get(self, path="/", host="api.x.example", method="GET", headers=(), body=b"", **how):
        """One request with Connection: close; an Answer."""
        port = how.get("port", 443)
        usual = port == (443 if how.get("tls", True) else 80)
        lines = ["%s %s HTTP/1.1" % (method, path),
                 "Host: " + host + ("" if usual else ":%d" % port), "Connection: close"]
        lines += list(headers)
        if isinstance(body, str):
            body = body.encode()
        if body and not any(h.lower().startswith(("content-length", "transfer-enc"))
                            for h in headers):
            lines.append("Content-Length: %d" % len(body))
        how.setdefault("name", host)
        return Answer(self.raw("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body, **how))


class Answer:
    """A response, taken apart strictly; .whole says whether its framing was complete."""

    def __init__(self, raw):
        self.raw = raw
        self.status, self.headers, self.body, self.whole = 0, {}, b"", False
        if not raw or b"\r\n\r\n" not in raw:
            return
        head, rest = raw.split(b"\r\n\r\n", 1)
        while head.startswith(b"HTTP/1.1 100"):
            self.continued = True
            head, rest = rest.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1])
        self.lines = lines
        for line in lines[1:]:
            n, v = line.split(":", 1)
            self.headers[n.lower()] = v.strip()
        self.gate = self.headers.get("x-evctl-gate")
        if self.headers.get("transfer-encoding") == "chunked":
            self.dechunk(rest)
        elif "content-length" in self.headers:
            n = int(self.headers["content-length"])
            self.body, self.whole = rest[:n], len(rest) == n
        else:
            self.body, self.whole = rest, True

    gate = None
    continued = False

    def dechunk(self, rest):
        parts, at = [], 0
        while not self.whole:
            end = rest.find(b"\r\n", at)
            if end < 0:
                break
            n = int(rest[at:end], 16)
            parts.append(rest[end + 2:end + 2 + n])
            at = end + 2 + n + 2
            if at > len(rest):
                break
            self.whole = n == 0
        self.body = b"".join(parts)

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return "Answer(%r)" % (self.raw[:600] if self.raw else self.raw)
