"""A TLS server on loopback for end-to-end tests: remembers what it was sent, can hold an answer."""
import datetime
import http.server
import ssl
import threading

import certs


class Crm:
    """Crm(folder, 'api.crm.example', ...): .port, .ca (a path), .seen (requests), .hold, .held."""

    def __init__(self, folder, *names, reply=b'{"leads": 7}'):
        authority = certs.Authority(folder)
        self.ca, chain = folder / "ca.pem", authority.cert(*names)
        self.seen, self.hold, self.held = [], threading.Event(), threading.Event()
        self.hold.set()
        crm = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length)
                crm.seen.append((self.command, self.path, dict(self.headers), body))
                if not crm.hold.is_set():
                    crm.held.set()
                    crm.hold.wait(60)
                self.send_response(200)
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            do_POST = do_PUT = do_GET

            def log_message(self, *_):
                pass

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # a client that was killed is no news
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True,
                                                 do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.host_options = ("--connect-to", f"127.0.0.1:{self.port}", "--allow-private",
                             "--ca-file", str(self.ca))
