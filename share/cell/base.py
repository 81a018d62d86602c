"""The cell: what runs inside the sandbox. It takes a call's message, runs the tool, hands back a frame.

In a single sandbox it runs the call itself, under bubblewrap's init. In a session it is process 1 and
forks for each call; the child, never the parent, reads the message, so keys are never here.

Lean on purpose: only modules built into the interpreter, and _json, until the tool wants more. How the
tool's process can be lied to does not matter: all that leaves it is judged outside.

Its parts, a file each, are joined into one module when evctl is built (share/cell/join): so none imports another, and
to start it costs one read.

Message: its length, 'C' and a version; then entry file, function, inputs, memory, a count of keys, and name and
value of each, written as base/field.h says by sandbox/control.c. Frame: 'A' and the call's number once the message is
read; then a kind, a length, and the result. Numbers are little-endian, lengths and counts of four bytes.
"""

import builtins
import posix
import sys

OUT, LOG, CALL, RESULT, INIT = 1, 2, 3, 4, 5


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
