# ---- modules that would otherwise look for what is not here

AUTHORITY = '/etc/ssl/certs/ca-certificates.crt'


def own_authority(certifi):
    """A certifi that the expert brings names the run's own authority."""
    certifi.where = lambda: AUTHORITY
    certifi.contents = lambda: read_file(AUTHORITY).decode('ascii')


def loopback_managers(managers):
    """A manager's processes talk over the sandbox's loopback, as there are no Unix sockets."""
    init = managers.BaseManager.__init__

    def __init__(self, address=None, *args, **more):
        init(self, address or ('127.0.0.1', 0), *args, **more)

    managers.BaseManager.__init__ = __init__


def loopback_connections(connection):
    """So do listeners that are left to choose, and what sends a descriptor to another process."""
    connection.default_family = 'AF_INET'


def fork_first(context):
    """Processes are forked where the code does not say how: newer ones would start a server on a Unix socket."""
    context._default_context._default_context = context._concrete_contexts['fork']


def tell_unresolved(socket):
    """A name that nothing attached has is told of in the log, also where the code goes on without."""
    ask = socket._socket.getaddrinfo

    def getaddrinfo(host, *args, **more):
        try:
            return ask(host, *args, **more)
        except socket.gaierror as error:
            name = host.decode('ascii', 'replace') if isinstance(host, (bytes, bytearray)) else host
            if error.errno in (socket.EAI_NONAME, socket.EAI_AGAIN) and isinstance(name, str):
                tell("evctl: no attached host has the name '%s'\n" % ascii(name.lower())[1:-1][:253])
            raise

    socket._socket.getaddrinfo = getaddrinfo


def tell(text):
    try:
        posix.write(LOG, text.encode())
    except OSError:
        pass  # the tool closed its log


class Amend:
    """Finds the modules above, and has each amended once it is loaded."""

    CHANGES = {'certifi': own_authority, 'multiprocessing.connection': loopback_connections,
               'multiprocessing.context': fork_first, 'multiprocessing.managers': loopback_managers,
               'socket': tell_unresolved}

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name not in cls.CHANGES:
            return None
        spec = sys.modules['_frozen_importlib_external'].PathFinder.find_spec(name, path, target)
        if spec is not None and hasattr(spec.loader, 'exec_module'):
            spec.loader = AmendingLoader(spec.loader, cls.CHANGES[name])
        return spec


class AmendingLoader:
    def __init__(self, loader, change):
        self.loader, self.change = loader, change

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        self.change(module)
