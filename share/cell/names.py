# ---- names below a wildcard


def resolve_wildcards(suffixes):
    """Names below a wildcard are at the gate, like those in the hosts file."""
    import _socket

    def here(host, family=0):
        name = host.decode('ascii', 'replace') if isinstance(host, (bytes, bytearray)) else host
        if not isinstance(name, str):
            return host
        if not name.isascii():
            name = name.encode('idna').decode()
        name = name.lower().removesuffix('.')
        if not any(name.endswith(suffix) and len(name) > len(suffix) for suffix in suffixes):
            return host
        return '::1' if family == _socket.AF_INET6 else '127.0.0.1'

    getaddrinfo, gethostbyname_ex = _socket.getaddrinfo, _socket.gethostbyname_ex

    def patched_getaddrinfo(host, port, family=0, type=0, proto=0, flags=0):
        return getaddrinfo(here(host, family), port, family, type, proto, flags)

    def patched_gethostbyname_ex(host):
        name, aliases, addresses = gethostbyname_ex(here(host))
        return (host if here(host) != host else name), aliases, addresses

    class Socket(_socket.socket):
        __slots__ = ()

        def connect(self, address):
            return super().connect(self._here(address))

        def connect_ex(self, address):
            return super().connect_ex(self._here(address))

        def _here(self, address):
            if isinstance(address, tuple) and address:
                return (here(address[0], self.family),) + address[1:]
            return address

    _socket.getaddrinfo = patched_getaddrinfo
    _socket.gethostbyname = lambda host: patched_gethostbyname_ex(host)[2][0]
    _socket.gethostbyname_ex = patched_gethostbyname_ex
    _socket.socket = _socket.SocketType = Socket
