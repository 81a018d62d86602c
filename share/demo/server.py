"""The demo's CRM: an HTTPS server on loopback that answers only to the right bearer key.

Usage: server.py DIR. Reads the key, a line, from stdin; writes DIR/ca.pem and DIR/port, then serves until its stdin closes, so
that it never outlives the demo that started it.
"""
import calendar
import datetime
import hmac
import http.server
import os
import random
import re
import ssl
import sys
import threading
import urllib.parse

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOST = "api.crm.example"


def name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def certificate(subject, issuer, key, signer, ca):
    now = datetime.datetime.utcnow()
    builder = (
        x509.CertificateBuilder()
        .subject_name(name(subject))
        .issuer_name(name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    )
    if not ca:
        builder = builder.add_extension(
            x509.SubjectAlternativeName([x509.DNSName(subject)]), critical=False
        )
    return builder.sign(signer, hashes.SHA256())


def pem(thing):
    return thing.public_bytes(serialization.Encoding.PEM)


def make_certificates(folder):
    root, leaf = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca = certificate("evctl demo CA", "evctl demo CA", root, root, True)
    own = certificate(HOST, "evctl demo CA", leaf, root, False)
    with open(os.path.join(folder, "ca.pem"), "wb") as f:
        f.write(pem(ca))
    chain = os.path.join(folder, "server.pem")
    with open(os.open(chain, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as f:
        f.write(leaf.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ))
        f.write(pem(own))
    return chain


def leads(month):
    year, number = map(int, month.split("-"))
    dice = random.Random(month)
    rows = ["day,lead,source"]
    for day in range(1, calendar.monthrange(year, number)[1] + 1):
        for _ in range(dice.randint(1, 9)):
            source = dice.choice(["fair", "referral", "web"])
            rows.append(f"{month}-{day:02},L{len(rows):04},{source}")
    return "\n".join(rows) + "\n"


class Crm(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    key = ""

    def answer(self, status, body, kind):
        data = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        given = self.headers.get("Authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {self.key}".encode()):
            return self.answer(401, '{"error":"bad key"}', "application/json")
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        month = query.get("month", [""])[0]
        if not re.fullmatch(r"[0-9]{4}-(0[1-9]|1[0-2])", month):
            return self.answer(400, '{"error":"bad month"}', "application/json")
        return self.answer(200, leads(month), "text/csv")

    def log_message(self, *_):
        pass


def main():
    folder = sys.argv[1]
    Crm.key = sys.stdin.readline().rstrip("\n")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(make_certificates(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Crm)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with open(os.path.join(folder, "port.new"), "w") as f:
        f.write(str(server.server_address[1]))
    os.rename(os.path.join(folder, "port.new"), os.path.join(folder, "port"))
    sys.stdin.read()


main()
