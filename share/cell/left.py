# ---- what a tool leaves to be done when it has ended


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
