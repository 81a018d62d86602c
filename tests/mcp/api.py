"""An outside API over TLS on loopback, which does with the key it is sent whatever a bad day of a real
one could do: echoes it raw, encoded, compressed, in a Location, in an error page; and answers of all
sizes. What it got is in .seen."""
import base64
import gzip
import html
import json
import os
import ssl
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from certs import Authority  # noqa: E402

PNG = (b"\x89PNG\r\n\x1a\n" + bytes.fromhex(
    "0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360f8ffbf1e00050402feb13cd9df0000000049454e44ae426082"))


class Seen:
    def __init__(self, h, body):
        self.method, self.path, self.body = h.command, h.path, body
        self.headers = [(k.lower(), v) for k, v in h.headers.items()]

    def all(self, name):
        return [v for k, v in self.headers if k == name]

    def one(self, name):
        got = self.all(name)
        return got[0] if len(got) == 1 else got


def folded(data, width):
    return b"\n".join(data[i:i + width] for i in range(0, len(data), width))


def echoes(key):
    """path -> (status, headers, body): the ways in which a key comes back."""
    k = key.encode()
    b64 = base64.b64encode
    page = f"<h1>Bad key</h1><p>{html.escape(key)}</p>".encode()
    return {
        "raw": (200, {}, b"you sent Bearer " + k),
        "twice": (200, {}, k + k),
        "gzip": (200, {"Content-Encoding": "gzip"}, gzip.compress(b"you sent " + k)),
        "deflate": (200, {"Content-Encoding": "deflate"}, __import__("zlib").compress(k)),
        "chunks": (200, {"chunked": "1"}, k),
        "b64": (200, {}, json.dumps({"echo": b64(k).decode()}).encode()),
        "b64-1": (200, {}, json.dumps({"echo": b64(b"u:" + k).decode()}).encode()),
        "b64-2": (200, {}, json.dumps({"echo": b64(b"x" + k + b"yy").decode()}).encode()),
        "b64url": (200, {}, base64.urlsafe_b64encode(b"abc" + k)),
        "b64-slashes": (200, {}, b64(k).replace(b"/", b"\\/")),
        "b64-folded": (200, {}, folded(b64(b"Bearer " + k), 20)),
        "hex": (200, {}, k.hex().encode()),
        "HEX": (200, {}, k.hex().upper().encode()),
        "percent": (200, {}, urllib.parse.quote(key, safe="").encode()),
        "percent-all": (200, {}, "".join("%%%02x" % c for c in k).encode()),
        "json": (200, {}, json.dumps({"authorization": "Bearer " + key}).encode()),
        "json-u": (200, {}, b'{"echo": "' + b"".join(b"\\u%04x" % c for c in k) + b'"}'),
        "json-u-hidden": (200, {}, b'{"a": "' + b"".join(b"\\u%04x" % c for c in k) + b'", "a": 1}'),
        "json-key": (200, {}, json.dumps({key: 1}).encode()),
        "location": (302, {"Location": "https://api.test/x?k=" + urllib.parse.quote(key, safe="")},
                     b""),
        "location-raw": (307, {"Location": "https://api.test/" + key}, b"moved"),
        "header": (200, {"X-Echo": "Bearer " + key}, b"ok"),
        "header-b64": (200, {"X-Echo": b64(b"u:" + k).decode()}, b"ok"),
        "header-name": (200, {"X-" + "".join(c for c in key if c.isalnum() or c in "-_"): "1"}, b"ok"),
        "error": (401, {"Content-Type": "text/html"}, page),
        "error-raw": (500, {"Content-Type": "text/html"}, b"<pre>" + k + b"</pre>"),
        "entities": (400, {}, "".join("&#%d;" % c for c in k).encode()),
        "entities-x": (400, {}, "".join("&#x%X;" % c for c in k).encode()),
        "utf-16": (200, {}, key.encode("utf-16-le")),
        "gzip-file": (200, {"Content-Type": "application/gzip"}, gzip.compress(b"z" * 50 + k)),
        "gzip-in-gzip": (200, {"Content-Encoding": "gzip"}, gzip.compress(gzip.compress(k))),
        "gzip-gzip": (200, {"Content-Encoding": "gzip, gzip"}, gzip.compress(gzip.compress(k))),
        "brotli": (200, {"Content-Encoding": "br"}, b"\x8b\x02\x80" + k + b"\x03"),
        "binary": (200, {}, b"\xff\xfe\x00" + k + b"\x00\xff"),
    }


class Api:
    """handle(path) of the echoes, and: /plain /json /binary /png /status/N /size/N /slow /hang; and
    /once, which a connection gets an answer to as its first request only."""

    def __init__(self, authority, *names):
        api = self
        self.seen, self.gone = [], threading.Event()
        self.started = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def any(self):
                n = int(self.headers.get("Content-Length") or 0)
                chunked = "chunked" in (self.headers.get("Transfer-Encoding") or "")
                body = self.rfile.read(n) if not chunked else self.chunks()
                seen = Seen(self, body)
                api.seen.append(seen)
                self.served = getattr(self, "served", 0) + 1
                auth = seen.all("authorization")
                key = auth[-1][7:] if auth else (seen.all("x-api-key") or [""])[-1]
                self.answer(*api.answer(self, key, self.path.split("?")[0].strip("/"), seen))

            do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = do_OPTIONS = any

            def chunks(self):
                body = b""
                while n := int(self.rfile.readline(), 16):
                    body += self.rfile.read(n)
                    self.rfile.readline()
                self.rfile.readline()
                return body

            def answer(self, status, headers, body):
                chunked = headers.pop("chunked", None)
                self.send_response(status)
                for k, v in headers.items():
                    self.send_header(k, v)
                if chunked:
                    self.send_header("Transfer-Encoding", "chunked")
                else:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command == "HEAD":
                    return
                if not chunked:
                    self.wfile.write(body)
                    return
                for i in range(0, len(body), 3):  # a key is split over many writes
                    part = body[i:i + 3]
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                    self.wfile.flush()
                self.wfile.write(b"0\r\n\r\n")

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *args):
                pass

        self.server = Quiet(("127.0.0.1", 0), Handler)
        ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ctx.load_cert_chain(authority.cert(*names))
        self.server.socket = ctx.wrap_socket(self.server.socket, server_side=True,
                                             do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        self.at = f"127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, handler, key, path, seen):
        word, _, rest = path.partition("/")
        if word == "echo" and rest in echoes(key):
            return echoes(key)[rest]
        if word == "size":
            return 200, {}, b"x" * int(rest)
        if word == "gzsize":
            return 200, {"Content-Encoding": "gzip"}, gzip.compress(b"x" * int(rest))
        if word == "status":
            return int(rest), {}, b"status " + rest.encode()
        if word == "hang":  # until the client is gone
            self.started.set()
            while handler.connection.recv(1024):
                pass
            self.gone.set()
            raise ConnectionError
        if word == "once" and handler.served > 1:
            raise ConnectionError
        if word == "drip":  # a byte now and then, for ever
            handler.send_response(200)
            handler.end_headers()
            while True:
                handler.wfile.write(b"x")
                handler.wfile.flush()
                time.sleep(0.2)
        if word == "png":
            return 200, {"Content-Type": "image/png"}, PNG
        if word == "bytes":
            return 200, {}, bytes(range(256))
        if word == "json":
            return 200, {"Content-Type": "application/json", "X-A": "1"}, b'{"fine": true}'
        if word == "source":
            return 200, {}, seen.body
        if word == "private":
            ok = key == self.key if hasattr(self, "key") else True
            return (200 if ok else 401), {}, b""
        return 200, {"Content-Type": "text/plain"}, b"hello"
