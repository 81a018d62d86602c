# ---- the message that a call comes in, and the frame that its result leaves in

MESSAGE, MISSING = b'C\1', 0xffffffff


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
