# ---- how a call can end

FAILED, NO_JSON, TOO_LONG, MEMORY, PROCESSES, DISK, DONE = b'E', b'V', b'L', b'M', b'P', b'D', b'R'


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
    if isinstance(error, FileNotFoundError) and str(error.strerror).startswith('No usable temporary directory'):
        return DISK  # tempfile, where nothing can be written
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


def exit_code(error):
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code
    sys.stderr.write('%s\n' % (error.code,))
    return 1
