"""A TLS server on loopback for end-to-end tests: remembers what it was sent, can hold an answer."""
import datetime
import http.server
import ssl
import threading

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def _certificate(subject, issuer, key, signer, ca, names=()):
    now = datetime.datetime.utcnow()
    def name(text):
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
    builder = (x509.CertificateBuilder().subject_name(name(subject)).issuer_name(name(issuer))
               .public_key(key.public_key()).serial_number(x509.random_serial_number())
               .not_valid_before(now - datetime.timedelta(minutes=5))
               .not_valid_after(now + datetime.timedelta(days=1))
               .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True))
    if names:
        builder = builder.add_extension(
            x509.SubjectAlternativeName([x509.DNSName(n) for n in names]), critical=False)
    return builder.sign(signer, hashes.SHA256())


class Crm:
    """Crm(folder, 'api.crm.example', ...): .port, .ca (a path), .seen (requests), .hold, .held."""

    def __init__(self, folder, *names, reply=b'{"leads": 7}'):
        root, leaf = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
        ca = _certificate("test CA", "test CA", root, root, True)
        own = _certificate(names[0], "test CA", leaf, root, False, names)
        pem = serialization.Encoding.PEM
        self.ca = folder / "ca.pem"
        self.ca.write_bytes(ca.public_bytes(pem))
        chain = folder / "server.pem"
        chain.write_bytes(leaf.private_bytes(pem, serialization.PrivateFormat.PKCS8,
                                             serialization.NoEncryption()) + own.public_bytes(pem))
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
