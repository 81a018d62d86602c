#!/usr/bin/python3
"""Where keys are, and that they are nowhere else: looked for from inside and from the host."""

import glob
import json
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import main, same, status, test, true

SECRET = 'sk-q7Zt-%d-needle-in-a-haystack' % os.getpid()


def family(pid):
    """pid and all its descendants."""
    parents = {}
    for path in glob.glob('/proc/[0-9]*/stat'):
        try:
            with open(path) as file:
                text = file.read()
        except OSError:
            continue
        parents.setdefault(int(text[text.rindex(')') + 2:].split()[1]), []).append(int(text.split()[0]))
    found, todo = [pid], [pid]
    while todo:
        children = parents.get(todo.pop(), [])
        found += children
        todo += children
    return found


def holds(pid, needle, memory):
    """Where in /proc/PID the needle is: environ, cmdline, open files, memory."""
    found = []
    needle = needle.encode()
    base = '/proc/%d/' % pid
    for name in ('environ', 'cmdline', 'comm', 'mountinfo'):
        try:
            with open(base + name, 'rb') as file:
                if needle in file.read():
                    found.append(name)
        except OSError:
            pass
    for fd in glob.glob(base + 'fd/*'):
        try:
            if not os.path.isfile(fd):
                continue
            with open(fd, 'rb') as file:
                if needle in file.read(1 << 24):
                    found.append('fd')
        except OSError:
            pass
    if memory:
        try:
            with open(base + 'maps') as maps, open(base + 'mem', 'rb', 0) as mem:
                for line in maps:
                    first, last = (int(x, 16) for x in line.split()[0].split('-'))
                    # A sanitizer reserves terabytes; nothing else has as much as this.
                    if 'rw' in line and last - first < 1 << 30:
                        try:
                            mem.seek(first)
                            if needle in mem.read(last - first):
                                found.append('mem')
                        except OSError:
                            pass
        except OSError:
            pass
    return found


HOLD = '''
import os, time
def f(key=None):
    value = EV_KEYS.get('A')
    open('/scratch/outputs/up', 'w').close()
    print('up', flush=True)
    time.sleep(%s)
    return len(value or '')
'''


@test
def on_the_host(box):
    """37: while a call runs the key is in its process's memory and in no environ, cmdline or file"""
    for session in (False, True):
        process = box.start(HOLD % 3, 'f', keys={'A': SECRET}, session=session)
        end = time.monotonic() + 10
        holders = []
        while not holders and time.monotonic() < end:
            pids = family(process.pid)[1:]
            holders = [p for p in pids if 'mem' in holds(p, SECRET, os.geteuid() == 0)]
            if os.geteuid() != 0 and len(pids) >= 3:
                break
        if os.geteuid() == 0:
            # The control: the search does find it, in the one process that runs the call.
            same(len(holders), 1, 'processes that hold the key')
        for pid in family(process.pid):
            where = [w for w in holds(pid, SECRET, False)]
            same(where, [], pid)
        report = json.loads(process.communicate(timeout=30)[0])
        status(report['calls'][0], 'ok')
        same(report['calls'][0]['result'], str(len(SECRET)))


@test
def inside(box):
    """37, 39: inside, no environ, cmdline or descriptor holds it, nor a child process"""
    code = '''
import glob, os, subprocess, sys
def f():
    needle = EV_KEYS['A'].encode()
    found = []
    for path in glob.glob('/proc/[0-9]*/environ') + glob.glob('/proc/[0-9]*/cmdline'):
        try:
            if needle in open(path, 'rb').read(): found.append(path)
        except OSError:
            pass
    for root, dirs, files in os.walk('/'):
        if root.startswith(('/proc', '/usr', '/dev')):
            continue
        for name in files:
            try:
                if needle in open(os.path.join(root, name), 'rb').read(): found.append(name)
            except OSError:
                pass
    child = subprocess.run([sys.executable, '-c', 'import os, builtins\\\\n'
        'print(sorted(os.environ), hasattr(builtins, "EV_KEYS"), os.listdir("/proc/self/fd"))'],
        capture_output=True, text=True).stdout
    with open('/scratch/control', 'wb') as file: file.write(needle)
    control = needle in open('/scratch/control', 'rb').read()
    return [found, EV_KEYS['A'] in child, 'EV_KEYS' in str(os.environ), control, child]
'''.replace('\\\\', '\\')
    found, in_child, in_env, control, child = box.value(code, keys={'A': SECRET})
    same((found, in_child, in_env, control), ([], False, False, True))
    true("False ['0', '1', '2', '3']" in child, child)


@test
def next_call(box):
    """the zygote and the next call of a session hold nothing of the last one's keys"""
    code = '''
import os
def use():
    return len(EV_KEYS['A'])
def look():
    found = []
    with open('/proc/self/maps') as maps, open('/proc/self/mem', 'rb', 0) as mem:
        needle = b'sk-' + b'q7Zt'
        for line in maps:
            first, last = (int(x, 16) for x in line.split()[0].split('-'))
            if 'rw' in line:
                mem.seek(first)
                data = mem.read(last - first)
                if needle + b'-' in data: found.append('memory')
    try:
        open('/proc/1/mem', 'rb').close()
        found.append('zygote')
    except OSError:
        pass
    try:
        os.listdir('/proc/1/fd')
        found.append('zygote fds')
    except OSError:
        pass
    return found
'''
    calls = [{'file': 'tool.py', 'func': 'use', 'keys': {'A': SECRET}},
             {'file': 'tool.py', 'func': 'look'},
             {'file': 'tool.py', 'func': 'use', 'keys': {'A': SECRET}}]
    got = box.report(code, session=True, calls=calls)['calls']
    for call in got:
        status(call, 'ok')
    same([c['result'] for c in got], [str(len(SECRET)), '[]', str(len(SECRET))])
    # The control: with the key in hand the same search finds it.
    report = box.report(code, calls=[{'file': 'tool.py', 'func': 'look', 'keys': {'A': SECRET}}])
    true('memory' in report['calls'][0]['result'], report)


@test
def no_steal(box):
    """a call cannot wait for the next one's message: it has no end of that socket left"""
    code = '''
import os, select, socket, threading, time
def ours(fd):
    # Newer ones of libffi keep their own file open.
    try:
        return not os.readlink('/proc/self/fd/%d' % fd).startswith('/usr/lib/')
    except OSError:
        return False
def thief():
    def watch():
        while True:
            for fd in filter(ours, range(3, 64)):
                try:
                    data = os.read(fd, 1000)
                    if data: open('/scratch/stolen', 'ab').write(data)
                except OSError:
                    pass
    pid = os.fork()
    if pid == 0:
        os.setsid()
        watch()
    threading.Thread(target=watch, daemon=True).start()
    time.sleep(.2)
    return [fd for fd in range(3, 64) if ours(fd)]
def victim():
    return [len(EV_KEYS['A']), os.path.exists('/scratch/stolen')]
'''
    calls = [{'file': 'tool.py', 'func': 'thief'},
             {'file': 'tool.py', 'func': 'victim', 'keys': {'A': SECRET}}]
    first, second = box.report(code, session=True, calls=calls)['calls']
    status(first, 'ok')
    same(first['result'], '[4]')
    status(second, 'ok')
    same(second['result'], '[%d, false]' % len(SECRET))


main()
