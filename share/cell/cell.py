"""The cell: what runs inside the sandbox. It takes a call's message, runs the tool, hands back a frame.

In a single sandbox it runs the call itself, under bubblewrap's init. In a session it is process 1 and
forks for each call; the child, never the parent, reads the message, so keys are never here.

Lean on purpose: only modules built into the interpreter, and _json, until the tool wants more. How the
tool's process can be lied to does not matter: all that leaves it is judged outside.

Message: its length, 'C' and a version; then entry file, function, inputs, memory, a count of keys, and name and
value of each, written as base/field.h says by sandbox/control.c. Frame: 'A' and the call's number once the message is
read; then a kind, a length, and the result. Numbers are little-endian, lengths and counts of four bytes.
"""

import builtins
import posix
import sys

OUT, LOG, CALL, RESULT, INIT = 1, 2, 3, 4, 5
RESULT_MAX = LIMIT_RESULT_MB * 1_000_000  # a number from base/limits.h, by the build
MESSAGE, MISSING = b'C\1', 0xffffffff
PLAIN = 'plain'  # an argument: import nothing ahead
FAILED, NO_JSON, TOO_LONG, MEMORY, PROCESSES, DISK, DONE = b'E', b'V', b'L', b'M', b'P', b'D', b'R'


def read_file(name):
    fd = posix.open(name, posix.O_RDONLY | posix.O_CLOEXEC)
    try:
        parts = []
        while part := posix.read(fd, 1 << 20):
            parts.append(part)
        return b''.join(parts)
    finally:
        posix.close(fd)


def write_file(name, data):
    fd = posix.open(name, posix.O_WRONLY | posix.O_CLOEXEC)
    posix.write(fd, data)
    posix.close(fd)


def read_config():
    config = {}
    for line in read_file('/cell/config').decode().splitlines():
        word, _, rest = line.partition(' ')
        config.setdefault(word, []).append(rest)
    return config


# ---- the message and the frame


def read_exactly(fd, n):
    data = bytearray()
    while len(data) < n:
        part = posix.read(fd, min(n - len(data), 1 << 20))
        if not part:
            posix._exit(0)  # the supervisor is gone
        data += part
    return data


def number(data, at):
    return int.from_bytes(data[at:at + 4], 'little')


def read_call():
    """Entry file, function (None for a script), inputs, memory, keys: as field_write() wrote them."""
    data = read_exactly(CALL, number(read_exactly(CALL, 4), 0))
    at = len(MESSAGE)

    def field(errors='strict'):
        nonlocal at
        n = number(data, at)
        at += 4
        if n == MISSING:
            return None
        text = data[at:at + n].decode('utf-8', errors)
        at += n + 1
        return text

    file, function, inputs = field(), field(), field()
    memory = int.from_bytes(data[at:at + 8], 'little')
    keys = number(data, at + 8)
    at += 12
    keys = {field(): field('surrogateescape') for _ in range(keys)}
    if data[:len(MESSAGE)] != MESSAGE or at != len(data):
        posix._exit(1)  # not written for this cell
    return file, function, inputs, memory, keys


def write_all(fd, data):
    while data:
        data = data[posix.write(fd, data):]


def send(kind, payload=b''):
    write_all(RESULT, kind + len(payload).to_bytes(4, 'little') + payload)


# ---- JSON, by the C half of the json module: the rest of it costs more than a whole start


def decode(text):
    import _json

    class Context:
        strict = True
        object_hook = object_pairs_hook = None
        parse_float = float
        parse_int = int
        memo = {}

        @staticmethod
        def parse_constant(name):
            raise ValueError(name)

    return _json.make_scanner(Context)(text, skip_space(text))[0]


def skip_space(text):
    at = 0
    while at < len(text) and text[at] in ' \t\r\n':
        at += 1
    return at


def plain(value):
    """What JSON has no word for: numpy's scalars are the numbers that they hold."""
    if type(value).__module__ == 'numpy' and hasattr(value, 'item') and not getattr(value, 'shape', ()):
        item = value.item()
        if type(item) in (bool, int, float, str):
            return item
    raise TypeError('the result holds a %s, which is not JSON' % type(value).__name__)


def encode(value):
    import _json
    encoder = _json.make_encoder({}, plain, _json.encode_basestring, None, ': ', ', ', False, False, False)
    return ''.join(encoder([value], 0))[1:-1].encode()


# ---- one call


def can_fork():
    """Whether it was a lock, or a descriptor that does not block, that had a call try again later."""
    try:
        pid = posix.fork()
    except OSError:
        return False
    if pid == 0:
        posix._exit(0)
    posix.waitpid(pid, 0)
    return True


def kind_of(error):
    if isinstance(error, MemoryError):
        return MEMORY
    number = getattr(error, 'errno', None)
    if isinstance(error, OSError) and number in (12, 27, 28, 122):  # ENOMEM EFBIG ENOSPC EDQUOT
        return MEMORY if number == 12 else DISK
    if isinstance(error, BlockingIOError) and number == 11 and not can_fork():
        return PROCESSES
    if isinstance(error, RuntimeError) and error.args == ("can't start new thread",):
        return PROCESSES
    return FAILED


def report(error):
    """The traceback to the log, without the cell's own frames."""
    tb = error.__traceback__
    while tb and tb.tb_frame.f_code.co_filename == '/cell/cell.py':
        tb = tb.tb_next
    error.__traceback__ = tb
    sys.__excepthook__(type(error), error, tb)


def flush():
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        # The tool may have put there whatever can be written to.
        if hasattr(stream, 'flush') and not getattr(stream, 'closed', False):
            stream.flush()


def tool_path(file):
    if '/' in file:
        sys.path.insert(1, '/tool/' + file.rpartition('/')[0])
    return '/tool/' + file


def run_script(file):
    path = tool_path(file)
    main = type(sys)('__main__')
    main.__dict__.update(__file__=path, __builtins__=builtins)
    sys.modules['__main__'] = main
    sys.argv[:] = [path]
    exec(compile(read_file(path), path, 'exec', dont_inherit=True), main.__dict__)


def load_module(file):
    name = file.rpartition('/')[2].removesuffix('.py')
    path = tool_path(file)
    external = sys.modules['_frozen_importlib_external']
    spec = external.spec_from_file_location(name, path)
    if spec is None:
        spec = external.spec_from_file_location(
            name, path, loader=external.SourceFileLoader(name, path))
    return sys.modules['_frozen_importlib']._load(spec)


def run_function(file, function, inputs):
    posix.dup2(LOG, OUT)
    sys.stdout.reconfigure(line_buffering=True)
    return getattr(load_module(file), function)(**inputs)


def exit_code(error):
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code
    sys.stderr.write('%s\n' % (error.code,))
    return 1


def attempt(file, function, inputs):
    """Runs it; the kind of end, and a function's value."""
    try:
        if function:
            value = run_function(file, function, inputs)
        else:
            value = run_script(file)
        flush()
        return DONE, value
    except SystemExit as error:
        code = exit_code(error)
        flush()
        if function or code:
            sys.stderr.write('the tool exited with %r\n' % code)
            return FAILED, None
        return DONE, None
    except BaseException as error:
        kind = kind_of(error)
        report(error)
        return kind, None


def end_script():
    """As at the end of any program: its threads are waited for, then what it left to be done is done."""
    for module, name in (('threading', '_shutdown'), ('atexit', '_run_exitfuncs')):
        try:
            if module in sys.modules:
                getattr(sys.modules[module], name)()
        except BaseException as error:
            report(error)


def is_written(fd):
    """Whether it is a file open for writing. No pipe or socket: another thread may be writing there for ever."""
    try:
        return posix.fstat(fd).st_mode & 0o170000 == 0o100000 and kernel(FCNTL, fd, F_GETFL) & posix.O_ACCMODE != 0
    except OSError:
        return False


def has_written_files():
    try:
        return any(is_written(int(name)) for name in posix.listdir('/proc/self/fd'))
    except OSError:
        return True  # as many descriptors as there can be


def writers():
    """Of all that there is; by its type alone, as asking a proxy for its class may do anything."""
    import _io
    import gc
    kinds = (_io.BufferedWriter, _io.BufferedRandom, _io.TextIOWrapper)
    return [thing for thing in gc.get_objects() if issubclass(type(thing), kinds)]


def clear_modules():
    for module in list(sys.modules.values()):
        if type(module) is type(sys):
            file = module.__dict__.get('__file__')
            if type(file) is str and file.startswith('/tool/'):
                module.__dict__.clear()


def let_go():
    """Files that the tool left open are written to their ends. DONE, or the kind of end that this makes of it."""
    kind = DONE
    try:
        for writer in writers() if has_written_files() else ():
            try:
                if not writer.closed and is_written(writer.fileno()):
                    writer.flush()
            except Exception as error:
                report(error)
                if kind_of(error) != FAILED:
                    kind = kind_of(error)
            writer = None
        if has_written_files() and len(sys._current_frames()) == 1:  # other threads would still need what is let go
            import gc
            clear_modules()
            gc.collect()
    except BaseException as error:
        report(error)
    return kind


def end_child(function, kind):
    """A child that the tool forked, and let fall off its end."""
    try:
        if not function:
            end_script()
        let_go()
        flush()
    finally:
        posix._exit(kind != DONE)


def run(call):
    file, function, inputs, memory, builtins.EV_KEYS = call
    builtins.INPUTS = decode(inputs)
    limit_memory(memory)
    pid = posix.getpid()
    kind, value = attempt(file, function, builtins.INPUTS)
    if posix.getpid() != pid:
        end_child(function, kind)
    payload = b''
    if kind == DONE and function:
        try:
            payload = encode(value)
        except BaseException as error:
            kind = MEMORY if isinstance(error, MemoryError) else NO_JSON
            report(error)
        if len(payload) > RESULT_MAX:
            kind, payload = TOO_LONG, b''
    value = None
    if not function:
        end_script()
    left = let_go()
    if kind == DONE != left:
        kind, payload = left, b''
    try:
        flush()
    except BaseException as error:
        kind, payload = kind_of(error), b''
    send(kind, payload)


def limit_memory(limit):
    global memory_now
    if limit >= memory_now:
        return
    # Not by the resource module: to find it, and to load it, takes longer than all the rest of a call.
    if kernel(PRLIMIT, 0, RLIMIT_DATA, limit.to_bytes(8, 'little') * 2, 0) != 0:
        posix._exit(1)
    memory_now = limit


def take_call(call_no):
    """The whole life of the process of a call, from here to its end."""
    sys.path.insert(0, '/tool')
    call = read_call()
    posix.close(CALL)
    posix.set_inheritable(RESULT, False)
    posix.write(RESULT, b'A' + bytes([call_no & 255]))
    if in_session:
        set_dumpable(1)
        # When memory runs out, the kernel picks this process, not the one that the session needs.
        write_file('/proc/self/oom_score_adj', b'1000')
    seal()
    run(call)
    posix._exit(0)


# ---- what the process may do, beyond what is set from outside


class Kernel:
    """System calls that Python has no name for, without the weight of the ctypes package."""

    def __init__(self):
        import _ctypes

        class Long(_ctypes._SimpleCData):
            _type_ = 'l'

        class Call(_ctypes.CFuncPtr):
            _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
            _restype_ = Long

        self.long = Long
        self.call = Call(_ctypes.dlsym(_ctypes.dlopen(None, 0), 'syscall'))

    def __call__(self, number, *args):
        return self.call(*(a if isinstance(a, bytes) else self.long(a) for a in (number,) + args))


PRCTL, FCNTL, PRLIMIT, FCHMOD, FLOCK = {
    'x86_64': (157, 72, 302, 91, 73), 'aarch64': (167, 25, 261, 52, 32)}[posix.uname().machine]
PR_SET_DUMPABLE, RLIMIT_DATA = 4, 2
F_GETFL, F_SETFL, F_SETPIPE_SZ, PIPE_SIZE, LOCK_UN = 3, 4, 1031, 65536, 8
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
EXECUTE, WRITE_FILE, REMOVE_DIR, REMOVE_FILE = 1 << 0, 1 << 1, 1 << 4, 1 << 5
MAKE_CHAR, MAKE_DIR, MAKE_REG, MAKE_SOCK, MAKE_FIFO, MAKE_BLOCK, MAKE_SYM = (1 << n for n in range(6, 13))
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
SCOPE_ABSTRACT, SCOPE_SIGNAL = 1 << 0, 1 << 1


def landlock_rules(config):
    """A ruleset: writes only where there is something to write, exec of Python alone. -1 without."""
    abi = kernel(LANDLOCK_CREATE, 0, 0, 1)
    if abi < 1:
        return -1
    write = (WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SOCK | MAKE_FIFO
             | MAKE_SYM | (REFER if abi >= 2 else 0) | (TRUNCATE if abi >= 3 else 0))
    handled = write | EXECUTE | MAKE_CHAR | MAKE_BLOCK | (IOCTL_DEV if abi >= 5 else 0)
    words = [handled, 0, SCOPE_ABSTRACT | SCOPE_SIGNAL][:3 if abi >= 6 else 2 if abi >= 4 else 1]
    attr = b''.join(w.to_bytes(8, 'little') for w in words)
    rules = kernel(LANDLOCK_CREATE, attr, len(attr), 0)
    if rules < 0:
        return -1
    for path in ('/scratch', '/tmp', '/dev/shm'):
        add_rule(rules, path, write)
    for path in ('/dev/null', '/dev/zero', '/dev/full'):
        add_rule(rules, path, WRITE_FILE | (TRUNCATE if abi >= 3 else 0))
    for path in config['exec']:
        add_rule(rules, path, EXECUTE)
    return rules


def add_rule(rules, path, access):
    fd = posix.open(path, posix.O_PATH | posix.O_CLOEXEC)
    attr = access.to_bytes(8, 'little') + fd.to_bytes(4, 'little')
    if kernel(LANDLOCK_ADD, rules, 1, attr, 0) != 0:
        raise OSError('landlock')
    posix.close(fd)


def seal():
    """From here on this process, and what it starts, can do no more than a tool needs."""
    if landlock >= 0:
        if kernel(LANDLOCK_RESTRICT, landlock, 0) != 0:
            posix._exit(1)
        posix.close(landlock)


def set_dumpable(on):
    if kernel(PRCTL, PR_SET_DUMPABLE, on, 0, 0, 0) != 0:
        posix._exit(1)


# ---- the session: process 1


class ToolsOwn:
    """A package to be imported wants a module by the name of one of the tool's, which is what it gets when
    nothing is imported ahead: so begin again, without."""

    def __init__(self):
        # Wherever they are: the tool may put any of its directories where modules are looked for.
        self.names, directories = set(), ['/tool']
        for directory in directories:
            for name in posix.listdir(directory):
                if posix.stat(directory + '/' + name).st_mode & 0o170000 == 0o040000:
                    directories.append(directory + '/' + name)
                elif name == '__init__.py':
                    self.names.add(directory.rpartition('/')[2])
                elif name.endswith(('.py', '.so')):
                    self.names.add(name.partition('.')[0])

    def find_spec(self, name, path=None, target=None):
        if name in self.names:
            words = read_file('/proc/self/cmdline').split(b'\0')[:-1]
            posix.execv('/proc/self/exe', words + [PLAIN.encode()])


def preload(modules):
    own = ToolsOwn()
    sys.meta_path.insert(0, own)
    import_all(modules)
    sys.meta_path.remove(own)


def import_all(modules):
    for name in modules:
        try:
            __import__(name)
        except Exception as error:
            report(error)
    for module, dry in (('pandas', dry_frame), ('matplotlib', dry_plot)):
        if module in sys.modules:
            try:
                dry()
            except Exception as error:
                report(error)


def dry_frame():
    import pandas
    pandas.DataFrame({'a': [1, 2]}).a.sum()


def dry_plot():
    import io
    import matplotlib.pyplot as plot
    figure = plot.figure()
    plot.plot([1, 2])
    figure.savefig(io.BytesIO(), format='png')
    plot.close(figure)


def fresh_random():
    """numpy's global generator is not told of a fork."""
    numpy = sys.modules.get('numpy')
    if numpy is not None and 'numpy.random' in sys.modules:
        numpy.random.seed()


def kill_rest():
    try:
        posix.kill(-1, 9)
    except ProcessLookupError:
        pass
    try:
        while True:
            posix.waitpid(-1, 0)
    except ChildProcessError:
        pass


def restore_pipes():
    """What a call set on them would hold for the next: they are the same open files."""
    for fd in (OUT, LOG, RESULT):
        kernel(FCNTL, fd, F_SETFL, posix.O_WRONLY)
        kernel(FCNTL, fd, F_SETPIPE_SZ, PIPE_SIZE)
        kernel(FCHMOD, fd, 0o600)
        kernel(FLOCK, fd, LOCK_UN)


def await_end(pid, call_no):
    """Until the child of the call ends, or the supervisor orders it to."""
    import select
    child = posix.pidfd_open(pid)
    poll = select.poll()
    poll.register(child, select.POLLIN)
    poll.register(INIT, select.POLLIN)
    while True:
        ready = [fd for fd, _ in poll.poll()]
        if INIT in ready:
            order = posix.read(INIT, 2)
            if not order:
                posix._exit(0)
            if order == b'K' + bytes([call_no & 255]):
                break
        elif child in ready:
            break
    posix.close(child)


def dry_call():
    names = {}
    exec(compile('def call(**inputs): return inputs', '/cell/dry', 'exec'), names)
    encode(names['call'](**decode('{"a": 1}')))
    has_written_files()
    flush()


def rehearse():
    """In a call's process, until somebody calls: what most calls do. The pages that this writes are the
    process's own from then on; a call that is the first to write them spends most of its time on copies."""
    import select
    poll = select.poll()
    poll.register(CALL, select.POLLIN)
    for dry in (dry_call, dry_frame) if 'pandas' in sys.modules else (dry_call,):
        if poll.poll(0):
            break
        try:
            dry()
        except Exception:
            break  # a call that meets it will say so


def serve():
    import _signal
    import gc
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    encode(decode('{}'))  # loads what each call will want
    gc.collect()
    gc.freeze()
    set_dumpable(0)
    posix.write(INIT, b'S')
    call_no = 0
    while True:
        call_no += 1
        pid = posix.fork()
        if pid == 0:
            posix.close(INIT)
            _signal.signal(_signal.SIGINT, _signal.default_int_handler)
            fresh_random()
            rehearse()
            take_call(call_no)
        await_end(pid, call_no)
        kill_rest()
        restore_pipes()
        posix.write(INIT, b'E' + bytes([call_no & 255]))


# ---- names and authorities


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


class Amend:
    """Finds the modules above, and has each amended once it is loaded."""

    CHANGES = {'certifi': own_authority, 'multiprocessing.connection': loopback_connections,
               'multiprocessing.managers': loopback_managers}

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


def leave(code=None):
    raise SystemExit(code)


config = read_config()
in_session = config['session'] == ['1']
memory_now = 1 << 62
sys.path[:] = config['path']
builtins.exit = builtins.quit = leave  # site, which makes these, is not loaded
if 'wildcard' in config:
    resolve_wildcards(config['wildcard'])
sys.meta_path.insert(0, Amend)
kernel = Kernel()
landlock = landlock_rules(config)
if in_session:
    if PLAIN not in sys.argv:
        preload(config.get('preload', ()))
    serve()
else:
    posix.write(INIT, b'S')
    posix.close(INIT)
    take_call(1)
