"""Certificates for tests, with all that a strict client asks for: key identifiers, key usage."""
import datetime
import os

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

PEM = serialization.Encoding.PEM
PURPOSES = {"serverAuth": ExtendedKeyUsageOID.SERVER_AUTH, "clientAuth": ExtendedKeyUsageOID.CLIENT_AUTH}


def new_key():
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key):
    return key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def usage(ca):
    return x509.KeyUsage(digital_signature=True, content_commitment=False, key_encipherment=False, data_encipherment=False,
                         key_agreement=False, key_cert_sign=ca, crl_sign=ca, encipher_only=False, decipher_only=False)


def certify(subject, key, issuer, signer, ca=False, names=(), days=2, purpose=None):
    """The PEM of key's certificate, by the issuer's name and key. It began days before it ends, where they are negative."""
    def name(text):
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
    now = datetime.datetime.now(datetime.timezone.utc)
    end = now + datetime.timedelta(days=days)
    builder = (x509.CertificateBuilder().subject_name(name(subject)).issuer_name(name(issuer))
               .public_key(key.public_key()).serial_number(x509.random_serial_number())
               .not_valid_before(min(now, end) - datetime.timedelta(minutes=5)).not_valid_after(end)
               .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
               .add_extension(usage(ca), critical=True)
               .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
               .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False))
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(n) for n in names]), critical=False)
    if purpose:
        builder = builder.add_extension(x509.ExtendedKeyUsage([PURPOSES[purpose]]), critical=False)
    return builder.sign(signer, hashes.SHA256()).public_bytes(PEM)


def write(path, *parts):
    with open(path, "wb") as f:
        f.write(b"".join(parts))
    return path


def self_signed(path, name):
    """A file with a key and a certificate that nobody but it vouches for."""
    key = new_key()
    return write(path, key_pem(key), certify(name, key, name, key, names=[name]))


class Authority:
    """One of the test's own: .file has its certificate, .pem is the text of that."""

    def __init__(self, folder, name="ca"):
        self.name, self.key, self.base = name, new_key(), os.path.join(folder, name)
        self.file = write(self.base + ".pem", certify(name, self.key, name, self.key, ca=True))
        with open(self.file) as f:
            self.pem = f.read()

    def cert(self, *names, expired=False, purpose=None):
        """The path of a file with a key and its certificate for the names."""
        path = "%s-%s%s%s.both" % (self.base, names[0].replace("*", "_"), "-old" if expired else "", purpose or "")
        if os.path.exists(path):
            return path
        key = new_key()
        return write(path, key_pem(key), certify("x", key, self.name, self.key, names=names,
                                                 days=-1 if expired else 2, purpose=purpose))
