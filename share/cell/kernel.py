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


def limit_memory(limit):
    global memory_now
    if limit >= memory_now:
        return
    # Not by the resource module: to find it, and to load it, takes longer than all the rest of a call.
    if kernel(PRLIMIT, 0, RLIMIT_DATA, limit.to_bytes(8, 'little') * 2, 0) != 0:
        posix._exit(1)
    memory_now = limit
