#!/usr/bin/python3
"""What processes of a tool may try, and that nothing of them is left."""

import errno
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from waiting import adopt_orphans, state_of, until
from lib import USER, main, note, same, show, status, test, true


def inside(marker):
    """Processes of this machine whose command line holds the marker, as pids."""
    found = []
    for path in glob.glob('/proc/[0-9]*/cmdline'):
        try:
            with open(path, 'rb') as file:
                if marker.encode() in file.read():
                    found.append(int(path.split('/')[2]))
        except OSError:
            pass
    return found


def descendants(pid):
    """pid and all below it."""
    parents = {}
    for path in glob.glob('/proc/[0-9]*/stat'):
        try:
            with open(path) as file:
                text = file.read()
        except OSError:
            continue
        fields = text[text.rindex(')') + 2:].split()
        parents.setdefault(int(fields[1]), []).append((int(text.split()[0]), fields[0]))
    found, todo = [], [pid]
    while todo:
        for child, state in parents.get(todo.pop(), ()):
            if state != 'Z':
                found.append(child)
            todo.append(child)
    return found


def all_up(process):
    """The processes of a sandbox, once there are all that a run has at least."""
    def enough():
        found = descendants(process.pid)
        return found if len(found) >= 4 else None
    return until(enough, 'all processes up', 10)


def gone(pids):
    """What lost its parent is this process's own child then: reaped here, not whenever process 1 gets to it."""
    def all_gone():
        for pid in pids:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass
        return not any(os.path.exists('/proc/%d' % p) for p in pids)
    until(all_gone, 'gone %r' % pids, 10)


HANGS = {
    'holds the GIL': 're.match("(a+)+$", "a" * 60 + "b")',
    'ignores signals': '[signal.signal(s, signal.SIG_IGN) for s in (1, 2, 3, 13, 15)] and time.sleep(99)',
    'stops itself': 'kill(os.getpid(), signal.SIGSTOP) or time.sleep(99)',
    'stops all': 'os.fork(); kill(-1, signal.SIGSTOP); kill(os.getpid(), signal.SIGSTOP)',
    'kills its parent': 'kill(os.getppid(), signal.SIGKILL) or kill(1, signal.SIGKILL) or time.sleep(99)',
    'stops its parent': 'kill(os.getppid(), signal.SIGSTOP) or kill(1, signal.SIGSTOP) or time.sleep(99)',
    'hides in a child': '(os.fork() and os.wait()) or os.setsid() or time.sleep(99)',
}
KILL = '''
import os, re, signal, time
def kill(pid, number):
    try:
        os.kill(pid, number)
    except OSError:
        pass
'''


@test
def deadline(box):
    """22, 23, 25: whatever a tool does, it is dead at the deadline; in a session the next call works"""
    for what, body in HANGS.items():
        code = KILL + 'def f():\n %s\ndef ok(): return 1\n' % body
        got = box.run(code, 'f', timeout=700)
        status(got, 'timeout')
        true(700 <= got['ms'] < 8000, (what, got['ms']))
        # The first of a session's calls waits for Python's start, too.
        ok = {'file': 'tool.py', 'func': 'ok'}
        _, first, second = box.report(code, session=True, calls=[ok, {**ok, 'func': 'f', 'timeout': 700}, ok])['calls']
        status(first, 'timeout')
        true(first['ms'] < 8000 and first['alive'], (what, show(first)))
        status(second, 'ok')


@test
def detached(box):
    """23: a detached grandchild that keeps the pipes does not hold the call, and is gone"""
    marker = 'evctl-detached-%d' % os.getpid()
    code = '''
import os, subprocess, sys
def f(marker):
    code = "import os, signal, time\\n[signal.signal(s, signal.SIG_IGN) for s in (1, 2, 15)]\\n" \\
        "if os.fork(): os._exit(0)\\nos.setsid()\\nif os.fork(): os._exit(0)\\n" \\
        "open('/scratch/up', 'w').close()\\ntime.sleep(99)"
    subprocess.Popen([sys.executable, '-c', code, marker])
    while not os.path.exists('/scratch/up'): pass
    return 1
def g():
    return sorted(int(p) for p in os.listdir('/proc') if p.isdigit())
'''
    got = box.run(code, 'f', inputs={'marker': marker})
    status(got, 'ok')
    true(got['ms'] < 10000, got['ms'])
    same(inside(marker), [])
    calls = [{'file': 'tool.py', 'func': 'f', 'inputs': {'marker': marker}},
             {'file': 'tool.py', 'func': 'g'}]
    first, second = box.report(code, session=True, calls=calls)['calls']
    status(first, 'ok')
    same(inside(marker), [])
    pids = json.loads(second['result'])
    same((pids[0], len(pids)), (1, 2))


BOMB = '''
import os, threading, time
def fork():
    n = 0
    try:
        while True:
            if os.fork() == 0:
                time.sleep(99)
            n += 1
    except BlockingIOError:
        return n
def thread():
    n = 0
    try:
        while True:
            threading.Thread(target=time.sleep, args=(99,), daemon=True).start()
            n += 1
    except RuntimeError:
        return n
def fork_out():
    while True:
        os.fork()
def thread_out():
    while True:
        threading.Thread(target=time.sleep, args=(99,), daemon=True).start()
'''


@test
def bombs(box):
    """24: fork and thread bombs are EAGAIN inside, and a limit of their own kind"""
    for session in (False, True):
        for func in ('fork', 'thread'):
            got = box.report(BOMB, session=session, calls=[{'file': 'tool.py', 'func': func}] * 1)
            status(got['calls'][0], 'ok')
            true(60 <= int(got['calls'][0]['result']) <= 64, got['calls'][0]['result'])
    got = box.run(BOMB, 'thread_out')
    status(got, 'limit', 'processes')
    got = box.run(BOMB, 'fork_out')
    status(got, 'limit', 'processes')
    calls = [{'file': 'tool.py', 'func': 'fork_out', 'timeout': 2000}, {'file': 'tool.py', 'func': 'fork'}]
    first, second = box.report(BOMB, session=True, calls=calls)['calls']
    true(first['status'] in ('limit', 'timeout'), show(first))
    status(second, 'ok')
    true(60 <= int(second['result']) <= 64, second['result'])


@test
def killed_supervisor(box):
    """26: SIGKILL of the supervisor at any moment leaves nothing"""
    marker = 'evctl-orphan-%d' % os.getpid()
    code = ('import time, subprocess, sys\n'
            'def f(m): subprocess.run([sys.executable, "-c", "import time; time.sleep(99)", m])')
    seen = 0
    begun = time.monotonic()
    box.run('def f(): return 1', 'f')
    length = time.monotonic() - begun
    for i in range(40):
        process = box.start(code, 'f', inputs={'m': marker}, session=i % 2 == 1)
        if i < 30:
            end = time.monotonic() + length * i / 30
            while time.monotonic() < end:
                pass
        else:
            until(lambda: inside(marker), 'the tool running', 10)
        pids = descendants(process.pid)
        seen += len(pids) > 0
        process.kill()
        process.communicate()
        gone(pids)
    same(inside(marker), [])
    true(seen > 10, seen)


@test
def killed_idle(box):
    """26: a session's waiting process killed between calls: no call runs unwatched, or answers another"""
    code = 'def f(n): return n'
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        calls = [{'file': 'tool.py', 'func': 'f', 'inputs': {'n': n}, 'await': '%s/%d' % (place, n)}
                 for n in range(3)]
        process = box.start(code, session=True, stream=True, calls=calls)
        open(place + '/0', 'w').close()
        same(process.stdout.readline(), b'done\n')
        waiting = max(all_up(process))
        os.kill(waiting, signal.SIGKILL)
        for n in (1, 2):
            open('%s/%d' % (place, n), 'w').close()
            same(process.stdout.readline(), b'done\n')
        first, second, third = json.loads(process.stdout.read())['calls']
        process.wait()
    status(first, 'ok')
    true(second['status'] in ('failed', 'error') or second['result'] == '1', second)
    true(third['status'] in ('failed', 'error') or third['result'] == '2', third)


@test
def rehearsed(box):
    """a call finds the same whether it comes at once or finds its process waiting; then little is left to copy"""
    code = '''
def faults(): return int(open('/proc/self/stat').read().rsplit(')', 1)[1].split()[7])
import builtins, pandas, random, signal, sys, threading, time, warnings
def f():
    found = [sorted(sys.modules), sys.path, sys.argv, sorted(vars(builtins)), [str(f) for f in warnings.filters],
             sorted(__import__('os').listdir('/proc/self/fd')), threading.active_count(), str(signal.getsignal(2)),
             [str(type(f)) for f in sys.meta_path], EV_KEYS, INPUTS, sys.gettrace(), sys.stdout.line_buffering]
    before = faults()
    n = int(pandas.DataFrame({'b': [3, 4]}).b.sum())
    return found, faults() - before, n, random.random()
'''
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        calls = [{'file': 'tool.py', 'func': 'f', 'timeout': 20000, **await_} for await_ in
                 ({}, {}, {'await': place + '/waited'})]
        process = box.start(code, session=True, stream=True, calls=calls, preload=['pandas'])
        for n in range(2):
            same(process.stdout.readline(), b'done\n')
        called = all_up(process)
        until(lambda: state_of(max(called)) == 'S', 'it waits', 10)
        open(place + '/waited', 'w').close()
        same(process.stdout.readline(), b'done\n')
        got = json.loads(process.stdout.read())['calls']
        process.wait()
    for call in got:
        status(call, 'ok')
    first, second, waited = [json.loads(call['result']) for call in got]
    same(second[0], first[0])
    same(waited[0], first[0])
    same([first[2], waited[2]], [7, 7])
    true(waited[1] < 150, (waited[1], second[1]))  # without the rehearsal, about 450
    true(len({first[3], second[3], waited[3]}) == 3, 'each has its own random numbers')


@test
def killed_parts(box):
    """26: SIGKILL of any one process of the sandbox ends the call, and leaves nothing"""
    code = 'import time\ndef f(): time.sleep(60)'
    for session in (False, True):
        n = None
        i = 0
        while n is None or i < n:
            process = box.start(code, 'f', session=session)
            pids = all_up(process)
            n = len(pids)
            os.kill(pids[i], signal.SIGKILL)
            out = process.communicate(timeout=20)[0]
            got = json.loads(out)
            got = got['calls'][0] if 'calls' in got else got
            true(got.get('status') in ('failed', 'error') or 'error' in got, got)
            gone(pids)
            i += 1


def groups(pid):
    """Control groups made by a process; v1 or v2, wherever it was."""
    return [g for top in ('memory', 'pids', '') for g in
            glob.glob('/sys/fs/cgroup/%s/**/evctl-%d-*' % (top, pid), recursive=True)]


@test
def leftovers(box):
    """27: runs of one supervisor leave no descriptor, mount, zombie, cgroup, temporary file (many.t: 1,000 of evctl-run)"""
    def own(place):
        """What the uids of these sandboxes have there: they have nothing to do with any other."""
        uids = {e.name: e.stat(follow_symlinks=False).st_uid for e in os.scandir(place)}
        return sorted(n for n, uid in uids.items() if uid >= 2000000000 or uid == USER)

    def mounts():
        with open('/proc/self/mounts') as file:
            return len(file.readlines())
    before = mounts(), own('/tmp'), own('/dev/shm')
    count = 40
    # sbx itself fails if it has more descriptors or children after the runs than before.
    process = box.start('def f(): return 1', 'f', bench=count)
    same(len(json.loads(process.communicate(timeout=200)[0])), count)
    same(process.returncode, 0)
    same((mounts(), own('/tmp'), own('/dev/shm')), before)
    same(groups(process.pid), [])
    # The control: a run that is there has a group, where there are any.
    bounds = box.report('def f(): return 1', 'f')['bounds']
    process = box.start('import time\ndef f(): time.sleep(99)', 'f')
    all_up(process)
    same(bounds == 'rlimit', not groups(process.pid))
    pids = descendants(process.pid)
    process.kill()
    process.communicate()
    gone(pids)
    # Killed with its supervisor, the next run cleans up after it.
    box.run('def f(): return 1', 'f')
    same(groups(process.pid), [])


def locked_at(start):
    """Whether a record lock somewhere on this machine starts at that byte: what a holder shows it holds by."""
    with open('/proc/locks') as file:
        return any(line.split()[-2] == str(start) for line in file)


MARK = 424200 + os.getpid() % 100
DEVICES = ('null', 'zero', 'full', 'random', 'urandom')


@test
def crosstalk(box):
    """28: two sandboxes at once: no lock, shared memory, semaphore, key, port or file in common"""
    code = 'MARK = %d\n' % MARK + '''
import fcntl, os, socket, sys, time, mmap
from multiprocessing import shared_memory
PATHS = [os.path.realpath(sys.executable), os.__file__, '/etc/hosts', '/tool/tool.py',
         '/cell/cell.py', '/usr/share/zoneinfo', '/lib64/ld-linux-x86-64.so.2']
def hold():
    files = [open(p) if not os.path.isdir(p) else os.open(p, os.O_RDONLY) for p in PATHS]
    for f in files:
        fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
    shared_memory.SharedMemory('evctl', True, 100)
    s = socket.socket()
    s.bind(('127.0.0.1', 8899))
    s.listen()
    mark = open('/tmp/mark', 'w')
    fcntl.lockf(mark, fcntl.LOCK_EX, 1, MARK)
    time.sleep(60)
def look():
    found = []
    for p in PATHS:
        f = os.open(p, os.O_RDONLY)
        try:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            found.append(p)
    try:
        shared_memory.SharedMemory('evctl')
        found.append('shm')
    except FileNotFoundError:
        pass
    try:
        socket.create_connection(('127.0.0.1', 8899), 1)
        found.append('port')
    except OSError:
        pass
    if os.path.exists('/tmp/mark'): found.append('file')
    return found
def control():
    import multiprocessing
    p = multiprocessing.Process(target=hold)
    p.start()
    while not os.path.exists('/tmp/mark'): time.sleep(.01)
    return look()
'''
    same(len(box.value(code + 'f = control\n')), 10)
    holder = box.start(code + 'f = hold\n', 'f', timeout=20000)
    try:
        until(lambda: locked_at(MARK), 'the holder holding', 10)
        same(box.value(code + 'f = look\n'), [])
    finally:
        holder.kill()
        holder.communicate()


@test
def forgotten_files(box):
    """/tmp and /dev/shm are emptied between a session's calls, /scratch is not; a full one can be emptied by a call"""
    code = '''
import os, shutil, tempfile
def here():
    return [sorted(os.listdir(d)) for d in ('/tmp', '/tmp/.matplotlib', '/dev/shm', '/scratch')]
def forget(mb=20):
    with tempfile.NamedTemporaryFile(delete=False) as f:
        f.write(bytes(mb * 1000000))
    os.chdir('/tmp')
    for _ in range(2000):
        os.mkdir('d'), os.chdir('d')
    os.chdir('/scratch')
    for d in ('/tmp', '/dev/shm'):
        open(d + '/small', 'w').close()
        os.mkdir(d + '/locked', 0)
        os.chmod(d, 0)
    open('/scratch/mine', 'w').close()
    shutil.rmtree('/tmp/.matplotlib', ignore_errors=True)
    return mb
def fill(where='/scratch'):
    for i in range(100):
        with open('%s/%d' % (where, i), 'wb') as f:
            f.write(bytes(1000000))
def many():
    for i in range(100000):
        open('/scratch/n%d' % i, 'w').close()
def clear():
    for name in os.listdir('/scratch'):
        if name != 'outputs':
            os.unlink('/scratch/' + name)
    return os.statvfs('/scratch').f_bfree * os.statvfs('/scratch').f_bsize > 60000000
'''
    def call(func, **inputs):
        return {'file': 'tool.py', 'func': func, 'inputs': inputs}
    first, *calls = box.report(code, session=True, calls=[
        call('here')] + [call('forget')] * 6 + [call('here'), call('fill', where='/tmp'), call('forget'), call('clear')])['calls']
    status(first, 'ok')
    true(json.loads(first['result'])[0] == ['.matplotlib'], first['result'])
    for got in calls[:6] + calls[6:7] + calls[8:]:
        status(got, 'ok')
    want = json.loads(first['result'])[:3] + [['mine', 'outputs']]
    same(json.loads(calls[6]['result']), want, 'after six calls that forgot 20 MB each')
    status(calls[7], 'limit', 'disk')
    same(calls[7]['why'], 'no space left to write', 'a full /tmp is the call\'s own')
    for fill in ('fill', 'many'):
        filled, again, cleared, done = box.report(code, session=True, calls=[
            call(fill), call('forget'), call('clear'), call('forget')])['calls']
        status(filled, 'limit', 'disk')
        status(again, 'limit', 'disk')
        true('what earlier calls of the session left in /scratch' in again['why'], again['why'])
        true(50000000 < again['scratch'] < 70000000, again['scratch'])
        same((cleared['status'], cleared['result']), ('ok', 'true'), 'a call empties it')
        true(cleared['scratch'] < 1000000, cleared['scratch'])
        status(done, 'ok')


@test
def devices_tell_nothing(box):
    """28: inodes that all the machine has in common carry no lock and no time from one sandbox to another"""
    code = '''
import ctypes, fcntl, os, select, struct, time
keep = []
DEVICES = [open('/dev/' + n, 'r+b' if n in ('null', 'zero', 'full') else 'rb', 0) for n in %r]
def had(file, how):
    got = []
    for lock in (fcntl.flock, fcntl.lockf):
        try:
            lock(file, how | fcntl.LOCK_NB)
            got.append(True)
        except OSError:
            got.append(False)
    return got
def conflict(file):
    asked = struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 100, 7, 0)
    kind, _, start, n, pid = struct.unpack('hhqqi4x', fcntl.fcntl(file, fcntl.F_GETLK, asked))
    return kind == fcntl.F_RDLCK, start, n, pid
def look():
    return [[had(d, fcntl.LOCK_EX), had(d, fcntl.LOCK_SH)] + [conflict(d)] * (d.mode == 'rb+') for d in DEVICES] + [
        {n: [had(fd, fcntl.LOCK_EX), had(fd, fcntl.LOCK_SH)] for n, fd in others().items()}]
def hold():
    for d in DEVICES:
        fcntl.flock(d, fcntl.LOCK_SH)
        fcntl.lockf(d, fcntl.LOCK_SH, 7, 100)
    for fd in others().values():
        had(fd, fcntl.LOCK_SH), had(fd, fcntl.LOCK_EX)
    global mark
    mark = open('/scratch/mark', 'w')
    fcntl.lockf(mark, fcntl.LOCK_EX, 1, %d)
def others():
    """What has one inode for all the machine, and what has one for each namespace."""
    keep.append(select.epoll())
    found = {'eventfd': os.eventfd(0), 'epoll': keep[-1].fileno(), 'timerfd': ctypes.CDLL(None).timerfd_create(1, 0)}
    for n in sorted(os.listdir('/proc/self/ns')):
        found['ns/' + n] = os.open('/proc/self/ns/' + n, os.O_RDONLY)
    return found
def touch():
    try:
        os.utime(0)
        return 'touched 0'
    except OSError as e:
        if e.errno != 30:
            return str(e)
    for n in %r:
        try:
            os.utime('/dev/' + n)
            return 'touched ' + n
        except OSError as e:
            if e.errno != 30:
                return str(e)
    open('/scratch/x', 'w').close()
    os.utime('/scratch/x', (1, 1))
    os.utime('/scratch/x')
    return os.stat('/scratch/x').st_mtime > 1e9
def own():
    a, b = open('/scratch/l', 'w+b', 0), open('/scratch/l', 'r+b', 0)
    fcntl.flock(a, fcntl.LOCK_EX)
    refused = not had(b, fcntl.LOCK_EX)[0]
    fcntl.flock(a, fcntl.LOCK_UN)
    return refused and had(b, fcntl.LOCK_EX)[0]
''' % (DEVICES, MARK, DEVICES)
    alone = box.value(code + 'f = look\n')
    for n, row in zip(DEVICES, alone):
        same(row[:2], [[False, False], [True, True]], n)
    for n in ('eventfd', 'epoll', 'timerfd', 'ns/time'):
        if n in alone[-1]:
            same([how[0] for how in alone[-1][n]], [False, True], n)
    true(alone[-1]['ns/user'][0][0], 'what is its own can be locked')
    holder = box.start(code + 'def f():\n hold()\n time.sleep(60)', 'f', timeout=20000)
    try:
        until(lambda: locked_at(MARK), 'the holder holding', 10)
        same(box.value(code + 'f = look\n'), alone)
    finally:
        holder.kill()
        holder.communicate()
    same(box.value(code + 'f = touch\n'), True)
    same(box.value(code + 'f = own\n'), True)


@test
def filling(box):
    """29: every writable place is bounded, together where they are counted together"""
    code = '''
import errno, mmap, os
def fill(path, n=0):
    try:
        with open(path, 'wb', 0) as f:
            while True:
                n += f.write(bytes(1 << 20))
    except OSError as e:
        return [n, errno.errorcode[e.errno]]
def inodes(path):
    n = 0
    try:
        while True:
            open('%s/%d' % (path, n), 'w').close()
            n += 1
    except OSError as e:
        return [n, errno.errorcode[e.errno]]
def f():
    out = {}
    for d in ('/', '/dev', '/proc', '/tool'):
        out[d] = fill(d + '/x')
    out['all'] = fill('/scratch/x')
    out['tmp'] = fill('/tmp/x')
    out['shm'] = fill('/dev/shm/x')
    out['outputs'] = fill('/scratch/outputs/x')
    os.unlink('/scratch/x'), os.unlink('/tmp/x'), os.unlink('/dev/shm/x')
    out['inodes'] = inodes('/tmp')
    try:
        os.memfd_create('x')
        out['memfd'] = 'made'
    except OSError as e:
        out['memfd'] = errno.errorcode[e.errno]
    return out
'''
    got = box.value(code, timeout=60000)
    for place in ('/', '/dev', '/proc', '/tool'):
        true(got[place][0] == 0, (place, got))
    same(got['memfd'], 'ENOSYS')
    total = got['all'][0] + got['tmp'][0] + got['shm'][0]
    true(60000000 < total <= 64000000, got)
    true(5000000 < got['outputs'][0] <= 40000000, got)
    true(1000 < got['inodes'][0] < 20000 and got['inodes'][1] == 'ENOSPC', got)


@test
def buffers(box):
    """29: what the kernel keeps for one process, in connections and pairs, is bounded too"""
    code = '''
import socket
def flood(pairs):
    keep, total = [], 0
    try:
        for pair in pairs:
            keep.append(pair)
            for s in pair:
                s.setblocking(False)
                try:
                    while True:
                        total += s.send(bytes(1 << 18))
                except BlockingIOError:
                    pass
    except OSError as e:
        return [len(keep), total, e.errno]
def connections():
    server = socket.create_server(('127.0.0.1', 0), backlog=4096)
    while True:
        yield socket.create_connection(server.getsockname()), server.accept()[0]
def unix_pairs():
    while True:
        yield socket.socketpair()
def f(kind):
    return flood(connections() if kind == 'tcp' else unix_pairs())
'''
    for kind in ('tcp', 'unix'):
        pairs, total, error = box.value(code, inputs={'kind': kind}, timeout=30000)
        same(error, errno.EMFILE, kind)
        true(100 < pairs < 128 and 1_000_000 < total < 150_000_000, (kind, pairs, total))


@test
def no_descriptors(box):
    """29: nor does what needs no descriptor: connections that nobody accepts, and those closed with more to send"""
    code = '''
import socket, time
def f(n):
    servers, made = [], 0
    while made < n:
        servers.append(socket.create_server(('127.0.0.1', 0), backlog=4096))
        for i in range(100):
            s = socket.create_connection(servers[-1].getsockname())
            s.setblocking(False)
            try:
                while True: s.send(bytes(1 << 16))
            except BlockingIOError: pass
            s.close()
            made += 1
    time.sleep(1)
    return made
'''
    for session in (False, True):
        got = box.report(code, 'f', inputs={'n': 20000}, timeout=20000, session=session)['calls'][0]
        status(got, 'limit', 'memory')
        same(got['why'], 'too many connections at once')
    same(box.value(code, inputs={'n': 300}, timeout=20000), 300)


@test
def in_flight(box):
    """28: descriptors that a tool keeps in flight, counted for the user, stop no other run of that user"""
    code = '''
import array, fcntl, os, socket, time
def f():
    keep, sent = [], 0
    fds = array.array('i', [0] * 250).tobytes()
    try:
        while sent < 5000:
            pair = socket.socketpair()
            keep.append(pair)
            pair[0].sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
            sent += 250
    except OSError as e:
        print(sent, e, flush=True)
    mark = open('/scratch/mark', 'w')
    fcntl.lockf(mark, fcntl.LOCK_EX, 1, %d)
    time.sleep(60)
''' % MARK
    holder = box.start(code, 'f', timeout=20000)
    try:
        until(lambda: locked_at(MARK), 'as many in flight as can be', 10)
        usual = ['prlimit', '--nofile=1024']
        done = subprocess.run(usual + box.command, input=json.dumps(box.spec('def f(): return 1', 'f')).encode(),
                              stdout=subprocess.PIPE, timeout=60)
        status(json.loads(done.stdout)['calls'][0], 'ok')
    finally:
        holder.kill()
        holder.communicate()


@test
def memory(box):
    """memory is bounded, and its end is a limit of its own kind"""
    grow = 'def f():\n x = []\n while True: x.append(bytearray(10 << 20))'
    got = box.run(grow, 'f', memory=128 << 20)
    status(got, 'limit', 'memory')
    got = box.run('def f():\n x = bytearray(300 << 20)\n return len(x)', 'f', memory=512 << 20)
    status(got, 'ok')
    got = box.run('def f():\n x = bytearray(600 << 20)\n return len(x)', 'f', memory=512 << 20)
    status(got, 'limit', 'memory')
    calls = [{'file': 'tool.py', 'func': 'f', 'memory': 128 << 20}, {'file': 'tool.py', 'func': 'ok'}]
    first, second = box.report(grow + '\ndef ok():\n return len(bytearray(400 << 20))', session=True,
                               calls=calls)['calls']
    status(first, 'limit', 'memory')
    status(second, 'ok')
    # Many processes, each within its own limit.
    many = '''
import os, time
def f():
    for i in range(12):
        if os.fork() == 0:
            x = bytearray(100 << 20)
            for j in range(0, len(x), 4096): x[j] = 1
            time.sleep(99)
    status = [os.waitstatus_to_exitcode(os.wait()[1])]
    raise Exception(status)
'''
    report = box.report(many, 'f', memory=256 << 20, timeout=5000)
    if report['bounds'] == 'rlimit':
        note('no cgroup: memory is bounded for each process only')
    else:
        status(report['calls'][0], 'limit', 'memory')
        # When the kernel kills one, and the others wait for it: not until the deadline.
        waits = many.replace("status = [os.waitstatus_to_exitcode(os.wait()[1])]\n    raise Exception(status)",
                             "time.sleep(99)")
        for session in (False, True):
            got = box.report(waits, 'f', memory=256 << 20, timeout=20000, session=session)['calls'][0]
            status(got, 'limit', 'memory')
            true(got['ms'] < 15000, got['ms'])


@test
def ordinary(box):
    """no core of a process goes anywhere, and it has no place before others, whatever evctl was started with"""
    code = '''
import ctypes, os, resource
def f():
    try:
        open('/proc/self/coredump_filter', 'w').write('ff')
    except OSError:
        pass
    return [resource.getrlimit(resource.RLIMIT_CORE), int(open('/proc/self/coredump_filter').read(), 16),
            os.getpriority(0, 0), os.sched_getscheduler(0), int(open('/proc/self/oom_score_adj').read()) >= 0,
            ctypes.CDLL(None).syscall(252, 1, 0) >> 13 == 1, int(open('/proc/self/personality').read(), 16)]
'''
    facts, own = [False, 0], os.nice(0)
    same(box.value(code), [[1, 1], 0, own, os.SCHED_OTHER, True] + facts)
    same(json.loads(box.report(code, 'f', session=True)['calls'][0]['result']), [[1, 1], 0, own, os.SCHED_OTHER, True] + facts)
    # The control: an ordinary process starts with what its parent has.
    nice = ['nice', '-n', '-5'] if os.geteuid() == 0 else ['nice', '-n', '5']
    real_time = ['chrt', '--rr', '1', 'ionice', '-c', '1'] if os.geteuid() == 0 else []
    real_time += ['setarch', '-R']
    started = subprocess.run(nice + real_time + box.command, input=json.dumps(box.spec(code, 'f')).encode(),
                             stdout=subprocess.PIPE, timeout=60)
    got = json.loads(json.loads(started.stdout)['calls'][0]['result'])
    same(got[2:], [max(own - 5, 0) if os.geteuid() == 0 else min(own + 5, 19), os.SCHED_OTHER, True] + facts)


@test
def planted(box):
    """32: what one session plants, no other picks up, nor the next call of its own"""
    code = '''
import os, sys
def plant():
    for d in ('/scratch', '/tmp', '/scratch/outputs', '/dev/shm'):
        for name in ('sitecustomize.py', 'usercustomize.py', 'json.py', 'x.pth', 'tool.pyc'):
            with open(d + '/' + name, 'w') as f: f.write('open("/tmp/picked", "w")\\n')
    import json
    json.dumps = lambda *a: '"evil"'
    import builtins
    builtins.abs = lambda x: 666
    sys.modules['base64'] = None
    return os.environ.setdefault('EVIL', '1')
def look():
    import json, base64, subprocess
    subprocess.run([sys.executable, '-c', 'import json'])
    return [json.dumps([1]), abs(-2), os.environ.get('EVIL'), os.path.exists('/tmp/picked'),
            os.path.exists('/scratch/json.py')]
'''
    calls = [{'file': 'tool.py', 'func': 'plant'}, {'file': 'tool.py', 'func': 'look'}]
    first, second = box.report(code, session=True, calls=calls)['calls']
    status(first, 'ok')
    status(second, 'ok')
    got = json.loads(second['result'])
    # The file lasts through the session, as /scratch does. A bare subprocess reads its own directory.
    same(got[:3] + got[4:], ['[1]', 2, None, True])
    same(box.value(code + 'f = look\n'), ['[1]', 2, None, False, False])


@test
def what_calls_share(box):
    """32: neither the pipes' flags and sizes, nor process 1's priority, are other for the next call of a session"""
    spoil = '''
import ctypes, errno, fcntl, os, struct
libc = ctypes.CDLL(None, use_errno=True)
def tried(f, *args):
    try:
        return f(*args)
    except OSError as e:
        return e.errno
def ioprio_set(which, who):
    return ctypes.get_errno() if libc.syscall(251 if os.uname().machine == 'x86_64' else 30, which, who, 3 << 13) else None
def f():
    for fd in (1, 2, 4):
        fcntl.fcntl(fd, fcntl.F_SETFL, os.O_NONBLOCK | os.O_DIRECT | os.O_APPEND)
        fcntl.fcntl(fd, 1031, 4096)
        tried(os.fchmod, fd, 0)
        fcntl.flock(fd, fcntl.LOCK_EX)
    high = 1 + (1 << 32)
    return [tried(os.setpriority, 0, 1, 9), tried(os.setpriority, 1, 0, 9), tried(os.setpriority, 2, 0, 9),
            tried(os.sched_setaffinity, 1, {0}), tried(os.sched_setscheduler, 1, os.SCHED_IDLE, os.sched_param(0)),
            tried(os.sched_setparam, 1, os.sched_param(0)), ioprio_set(1, 1), ioprio_set(2, 0), ioprio_set(3, 0),
            # The control: a process may do all of it to itself.
            tried(os.setpriority, 0, 0, 19), tried(os.sched_setaffinity, 0, {min(os.sched_getaffinity(0))}),
            tried(os.sched_setscheduler, os.getpid(), os.SCHED_IDLE, os.sched_param(0)), ioprio_set(1, 0)]
'''
    look = '''
import fcntl, os
def lockable(n):
    with open('/proc/self/fd/%d' % n, 'w') as f:
        fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
def f():
    return [os.getpriority(0, 0), os.sched_getscheduler(0), len(os.sched_getaffinity(0)),
            [fcntl.fcntl(fd, fcntl.F_GETFL) & (os.O_NONBLOCK | os.O_DIRECT | os.O_APPEND) for fd in (1, 2, 4)],
            [fcntl.fcntl(fd, 1032) for fd in (1, 2, 4)], [lockable(n) for n in (1, 2)]]
'''
    calls = [{'file': name, 'func': 'f'} for name in ('look.py', 'spoil.py', 'look.py', 'long.py')]
    report = box.report({'look.py': look, 'spoil.py': spoil, 'long.py': 'def f(): return "x" * 900_000'}, calls=calls,
                        session=True)
    for call in report['calls']:
        status(call, 'ok')
    before, spoilt, after, _ = [json.loads(call['result']) for call in report['calls']]
    same(spoilt, [errno.EPERM] * 9 + [None] * 4)
    same(after, before)


adopt_orphans()
main()
