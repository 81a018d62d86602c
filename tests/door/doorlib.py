"""A door to test: started on a free port, spoken to in plain HTTP."""
import base64
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lib"), str(HERE.parent / "mcp"), str(HERE)]
sys.dont_write_bytecode = True
from mcplib import LEGACY, META, MODERN, serve_demo  # noqa: E402,F401
from tap import BIN, SANITIZED, T, skip_all  # noqa: E402,F401
from waiting import alive, until  # noqa: E402,F401

PATIENCE = 4 if SANITIZED else 1
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class Answer:
    def __init__(self, r, body):
        self.status, self.headers, self.body = r.status, r.headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def events(self):
        """The messages of a stream."""
        return [json.loads(part.split(b"data: ", 1)[1]) for part in self.body.split(b"\n\n") if b"data: " in part]

    @property
    def code(self):
        """Of a JSON-RPC error."""
        return self.json.get("error", {}).get("code")

    def __str__(self):
        return f"{self.status}\n{self.headers}\n{self.body[:1500]!r}"


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


class Door:
    def __init__(self, t, *args, listen=None, env=None, tls=None):
        self.t, self.port, self.tls = t, free_port(), tls
        self.log_path = t.dir / f"door-{self.port}.log"
        self.log_file = open(self.log_path, "wb")
        self.argv = [str(BIN / "evctl-serve"), "--listen", listen or f"127.0.0.1:{self.port}", *map(str, args)]
        self.p = subprocess.Popen(self.argv, env={**t.env, **(env or {})}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=self.log_file)
        until(lambda: self.answers() or self.p.poll() is not None, "the door to open", 20)
        if self.p.poll() is not None:
            raise AssertionError(self.log)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def answers(self):
        return answers(self.port)

    def stop(self, sig=signal.SIGTERM):
        if self.p.poll() is None:
            self.p.send_signal(sig)
        self.p.wait(60)
        self.log_file.close()
        return self.p.returncode

    @property
    def log(self):
        return self.log_path.read_text(errors="replace")

    @property
    def lines(self):
        """The log's requests."""
        return [json.loads(x) for x in self.log.splitlines() if x.startswith("{")]

    def children(self, name, pid=None):
        """Processes of that name anywhere below the door."""
        found = []
        for child in children_of(pid or self.p.pid):
            if name_of(child) == name[:15]:
                found.append(child)
            found += self.children(name, child)
        return found

    def dial(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(self, method, path, body=None, headers=None, conn=None):
        c = conn or self.dial()
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        c.request(method, path, body, headers or {})
        r = c.getresponse()
        answer = Answer(r, r.read())
        if not conn:
            c.close()
        return answer

    def raw(self, data, timeout=30):
        """What comes for bytes as they are, until the other side closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout) as s:
            s.sendall(data)
            out = b""
            try:
                while piece := s.recv(65536):
                    out += piece
            except (ConnectionResetError, TimeoutError):
                pass
            return out


def children_of(pid):
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
        return [int(c) for task in tasks for c in Path(f"/proc/{pid}/task/{task}/children").read_text().split()]
    except OSError:
        return []


def name_of(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def buyer(t, name, *experts, token=()):
    """A registered buyer's token."""
    if not t.sql("SELECT 1 FROM buyers WHERE name = ?", name):
        t.good("evctl-buyer", "add", name)
    if experts:
        t.good("evctl-buyer", "grant", name, *experts)
    return t.good("evctl-buyer", "token", name, *token).out.strip()


def bearer(token, **more):
    return {**JSON, "Authorization": f"Bearer {token}", **{k.replace("_", "-"): v for k, v in more.items()}}


class Client:
    """An MCP client of the older era."""

    def __init__(self, door, token, expert="demo", version="2025-11-25"):
        self.door, self.path, self.n = door, f"/mcp/{expert}", 0
        self.headers = bearer(token)
        self.first = self.call("initialize", {"protocolVersion": version, "capabilities": {},
                                              "clientInfo": {"name": "t", "version": "1"}})
        self.id = self.first.headers.get("Mcp-Session-Id")
        if self.id:
            self.headers["Mcp-Session-Id"] = self.id
            self.headers["MCP-Protocol-Version"] = version
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message, **more):
        return self.door.ask("POST", self.path, message, {**self.headers, **more})

    def call(self, method, params=None, **more):
        self.n += 1
        return self.send({"jsonrpc": "2.0", "id": self.n, "method": method, "params": params or {}}, **more)

    def tool(self, name, arguments=None, **more):
        return self.call("tools/call", {"name": name, "arguments": arguments or {}}, **more)


def modern(method, params=None, id=1, **meta):
    """A message of the newer era, and the headers that go with it."""
    params = {**(params or {}), "_meta": {META + "protocolVersion": MODERN, META + "clientCapabilities": {},
                                          META + "clientInfo": {"name": "t", "version": "1"}, **meta}}
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
    name = params.get("uri") if method == "resources/read" else params.get("name")
    if name is not None and method in ("tools/call", "resources/read", "prompts/get"):
        plain = name.isascii() and name.isprintable()
        headers["Mcp-Name"] = name if plain else "=?base64?" + base64.b64encode(name.encode()).decode() + "?="
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}, headers


class Nginx:
    """A real one before a door, on a port of its own; Host and Origin are kept."""

    def __init__(self, t, to, more="", tls=None, config=None):
        self.port, self.dir = free_port(), t.dir / f"nginx-{to}"
        program = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
        if not program:
            skip_all("there is no nginx")
        self.dir.mkdir()
        server = config or f"""server {{
            listen 127.0.0.1:{self.port}{' ssl' if tls else ''};
            {f'ssl_certificate {tls}; ssl_certificate_key {tls};' if tls else ''}
            client_max_body_size 11m;
            location / {{
                proxy_pass http://127.0.0.1:{to};
                proxy_http_version 1.1;
                proxy_set_header Host $http_host;
                proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
                proxy_set_header Connection "";
                proxy_buffering off;
                proxy_request_buffering off;
                {more}
            }}
        }}"""
        temp = "".join(f"{k}_temp_path {self.dir}/{k}; " for k in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (self.dir / "conf").write_text(f"""daemon off; master_process off; pid {self.dir}/pid; error_log {self.dir}/error;
            events {{}} http {{ access_log off; {temp} {server.replace('@PORT@', str(self.port)).replace('@TO@', str(to))} }}""")
        self.p = subprocess.Popen([program, "-p", self.dir, "-e", self.dir / "error", "-c", self.dir / "conf"], stderr=subprocess.PIPE)
        until(lambda: self.answers() or self.p.poll() is not None, "nginx to listen", 20)
        if self.p.poll() is not None:
            raise AssertionError(self.p.stderr.read().decode())

    answers = Door.answers

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.p.terminate()
        self.p.wait(20)
