#!/usr/bin/python3
"""No way out but the listeners that were handed out; the gate's own answers are tested elsewhere."""

import json
import os
import socket
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '../lib')]
import certs
from lib import main, same, status, test, true

CONNECT = '''
import errno, socket
def connect(host, port, timeout=2):
    try:
        with socket.create_connection((host, port), timeout) as s:
            return s.recv(100).decode()
    except (socket.gaierror, UnicodeError):
        return 'no name'
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))
'''


@test
def gate(box):
    """33: the positive control: attached names reach who holds the listeners, on each port, v4 and v6"""
    code = CONNECT + '''
def f():
    return [connect('api.x.example', 443), connect('api.x.example', 80), connect('b.example', 8443),
            connect('127.0.0.1', 443), connect('::1', 443), connect('API.x.example', 443)]
'''
    hello = lambda port: 'hello on %d\n' % port
    same(box.value(code, hosts=['api.x.example', 'b.example'], ports=[80, 443, 8443], accept=6),
         [hello(443), hello(80), hello(8443), hello(443), hello(443), hello(443)])


@test
def wildcards(box):
    """names below a wildcard resolve, the wildcard's own name and others do not"""
    code = CONNECT + '''
import http.client, urllib.request
def look(host, how):
    try:
        return how(host)
    except OSError:
        return None
def f():
    s = socket.socket()
    s.connect(('deep.below.x.example', 443))
    out = [s.recv(100).decode(), connect('a.x.example', 443), connect('A.X.example.', 443)]
    s = socket.socket(socket.AF_INET6)
    s.connect(('six.x.example', 443))
    out.append(s.recv(100).decode())
    for host in ('x.example', 'ax.example', '.x.example', 'a.x.example.com', 'x.examples'):
        out.append(connect(host, 443))
    out.append(look('a.x.example', socket.gethostbyname))
    out.append(look('a.x.example', socket.gethostbyname_ex))
    out.append(look('b.example', socket.gethostbyname))
    return out
'''
    hello = 'hello on 443\n'
    same(box.value(code, wildcards=['*.x.example'], ports=[443], accept=4),
         [hello] * 4 + ['no name'] * 5 + ['127.0.0.1', ['a.x.example', [], ['127.0.0.1']], None])


@test
def closed(box):
    """36: no listeners, or nobody to accept on them: closed, at once"""
    code = CONNECT + "def f(): return [connect('127.0.0.1', 443), connect('::1', 80), connect('a.example', 443)]"
    same(box.value(code, hosts=['a.example']), ['ECONNREFUSED'] * 3)
    same(box.value(code, hosts=['a.example'], ports=[80, 443]), ['ECONNREFUSED'] * 3)


@test
def elsewhere(box):
    """34: no address but loopback: not the host's loopback, not its addresses, not any other"""
    with socket.socket() as server:
        server.bind(('127.0.0.1', 0))
        server.listen()
        port = server.getsockname()[1]
        with socket.create_connection(('127.0.0.1', port)):
            pass  # the control: it is there
        code = CONNECT + '''
def f(port):
    return [connect(h, p) for h, p in (('127.0.0.1', port), ('127.0.0.2', port), ('0.0.0.0', port),
            ('::1', port), ('10.0.0.1', 80), ('8.8.8.8', 53), ('169.254.169.254', 80),
            ('2001:4860:4860::8888', 443), ('fe80::1', 80), ('::ffff:8.8.8.8', 80), ('224.0.0.1', 80))]
'''
        got = box.value(code, inputs={'port': port})
        same(got[:4], ['ECONNREFUSED'] * 4)
        true(all(g in ('ENETUNREACH', 'EADDRNOTAVAIL', 'EHOSTUNREACH', 'EINVAL') for g in got[4:]), got)


@test
def kinds(box):
    """33: only streams over IPv4 and IPv6 can be made; pairs only as Unix sockets"""
    code = '''
import errno, itertools, os, socket, ctypes
libc = ctypes.CDLL(None, use_errno=True)
def raw(*a):
    fd = libc.syscall(41, *[ctypes.c_long(x) for x in a])
    if fd < 0:
        return errno.errorcode[ctypes.get_errno()]
    os.close(fd)
    return 'made'
def f():
    made = []
    for family in range(46):
        for type in range(11):
            for proto in (0, 1, 6, 17, 58, 132, 136, 255, 262):
                if raw(family, type, proto) == 'made':
                    made.append([family, type, proto])
    odd = [raw(2 | 1 << 32, 1, 0), raw(2, 1 | 1 << 33, 0), raw(1 | 1 << 32, 1, 0), raw(16 | 1 << 40, 3, 0),
           raw(2, 3 | 1 << 32, 0), raw(2, 1, 262 | 1 << 32), raw(2, 1 | 0o4000 | 0o2000000, 6), raw(2, 2 | 0o4000, 0)]
    pairs = []
    for family in range(46):
        try:
            a, b = socket.socketpair(family)
            a.send(b'x')
            pairs.append([family, b.recv(1).decode()])
        except OSError:
            pass
    return [made, odd, pairs]
'''
    made, odd, pairs = box.value(code)
    same(made, [[2, 1, 0], [2, 1, 6], [10, 1, 0], [10, 1, 6]])
    for got in (odd[2], odd[3], odd[4], odd[5], odd[7]):
        same(got, 'EPERM')
    same(odd[6], 'made')
    same(pairs, [[1, 'x']])


@test
def lookups(box):
    """35: no name but those of the hosts file resolves, and nothing is asked of anybody"""
    code = '''
import socket, time
def f():
    out = []
    for name in ('secret.attacker.example', 'localhost', 'a.example', 'example.com', 'sandbox'):
        begun = time.monotonic()
        try:
            socket.getaddrinfo(name, 443)
            out.append(name)
        except socket.gaierror:
            pass
        if time.monotonic() - begun > 1: out.append('slow')
    return out
'''
    same(box.value(code, hosts=['a.example']), ['localhost', 'a.example', 'sandbox'])


@test
def authority(box):
    """the one authority inside is the given one, for ssl, for a brought certifi, for the environment"""
    pem = ('-----BEGIN CERTIFICATE-----\nMIIBejCCASGgAwIBAgIUOe1oJ0aVq0Cuy2yzwQ1z4mUo0jgwCgYIKoZIzj0EAwIw\n')
    code = '''
import os, ssl
def f():
    import certifi
    paths = ssl.get_default_verify_paths()
    with open(certifi.where()) as a, open(paths.cafile) as b, open('/usr/lib/ssl/cert.pem') as c, \\\\
            open(os.environ['REQUESTS_CA_BUNDLE']) as d:
        return [a.read(), b.read(), c.read(), d.read(), certifi.contents(), ssl.OPENSSL_VERSION[:7]]
'''.replace('\\\\', '\\')
    files = {'tool.py': code, 'certifi/__init__.py': 'from .core import where, contents',
             'certifi/core.py': 'def where(): return "/tool/certifi/cacert.pem"\ndef contents(): return "own"',
             'certifi/cacert.pem': 'own'}
    same(box.value(files, ca=pem, hosts=['a.example'], ports=[443]), [pem] * 5 + ['OpenSSL'])
    # In a session it is there before the first call, though the zygote is up already.
    report = box.report(files, session=True, ca=pem, calls=[{'file': 'tool.py', 'func': 'f'}] * 2)
    for call in report['calls']:
        status(call, 'ok')
        same(json.loads(call['result'])[:5], [pem] * 5)


@test
def verified(box):
    """a server certified by the given authority is trusted, any other is not"""
    with tempfile.TemporaryDirectory() as tmp:
        ours, other = certs.Authority(tmp, 'ours'), certs.Authority(tmp, 'other')
        with open(ours.cert('a.example')) as file:
            leaf = file.read()
    tool = '''
import ssl, socket, threading, urllib.request
def serve(listener, context):
    while True:
        try:
            s = context.wrap_socket(listener.accept()[0], server_side=True)
            s.recv(10000)
            s.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\nhi')
            s.close()
        except OSError:
            pass
def f():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain('/tool/leaf.pem')
    listener = socket.create_server(('127.0.0.1', 8443))
    threading.Thread(target=serve, args=(listener, context), daemon=True).start()
    try:
        return urllib.request.urlopen('https://a.example:8443/', timeout=5).read().decode()
    except OSError as e:
        return type(e.reason).__name__
'''
    files = {'tool.py': tool, 'leaf.pem': leaf}
    same(box.value(files, ca=ours.pem, hosts=['a.example']), 'hi')
    same(box.value(files, ca=other.pem, hosts=['a.example']), 'SSLCertVerificationError')
    same(box.value(files, hosts=['a.example']), 'SSLCertVerificationError')


main()
