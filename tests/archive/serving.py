"""An archive server of one's own, and requests to it as a browser or an attacker would make them."""
import http.client
import re
import signal
import socket
import subprocess
from urllib.parse import urlsplit

from tap import BIN
from waiting import until


class Serving:
    def __init__(self, t, *args):
        self.out = t.dir / f"serve-{len(list(t.dir.glob('serve-*')))}"
        with open(self.out, "wb") as out:
            self.process = subprocess.Popen([BIN / "evctl-artifact", "serve", *args], env=t.env,
                                            stdin=subprocess.DEVNULL, stdout=out,
                                            stderr=subprocess.PIPE)
        self.link = until(lambda: self.out.read_text().strip() or self.process.poll(), "the link", 20)
        url = urlsplit(str(self.link))
        self.host, self.port = url.netloc, url.port
        self.base = url.path[:-len("open")]
        self.token = url.query[2:]
        self.cookie = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self, sig=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(sig)
        self.code = self.process.wait(timeout=20)
        self.process.stderr.close()
        return self.code

    def ask(self, path, method="GET", headers=None, cookie=True, whole=False):
        """path: beneath the base, unless whole. Header values of None leave a header out."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        h = {"Host": self.host}
        if cookie and self.cookie:
            h["Cookie"] = self.cookie
        h.update(headers or {})
        c.putrequest(method, path if whole else self.base + path, skip_host=True,
                     skip_accept_encoding=True)
        for name, value in h.items():
            if value is not None:
                c.putheader(name, value)
        c.endheaders()
        r = c.getresponse()
        r.body = r.read()
        r.text = r.body.decode(errors="replace")
        c.close()
        return r

    def let_in(self):
        r = self.ask("open?t=" + self.token)
        self.cookie = r.getheader("Set-Cookie", "").split(";")[0]
        return r

    def raw(self, data):
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as s:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            got = b""
            while chunk := s.recv(65536):
                got += chunk
        return got


def status(answer):
    m = re.match(rb"HTTP/1\.[01] (\d+)", answer)
    return int(m.group(1)) if m else None
