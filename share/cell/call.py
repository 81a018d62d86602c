# ---- one call, from its message to its frame

RESULT_MAX = LIMIT_RESULT_MB * 1_000_000  # a number from base/limits.h, by the build


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
            kind, payload = TOO_LONG, b'%d' % len(payload)
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
