#!/usr/bin/python3
"""What code finds inside, and what comes back of it."""

import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import Box, main, same, status, test, true


@test
def function(box):
    """a function gets its inputs as keywords, returns JSON, prints to the log"""
    got = box.run('import sys\ndef f(a, b):\n print("out")\n print("err", file=sys.stderr)\n'
                  ' return {"a": a, "b": [b, None, True, 1.5], "ä": "ü\\n"}',
                  'f', inputs={'a': 1, 'b': 'x'})
    status(got, 'ok')
    same(json.loads(got['result']), {'a': 1, 'b': ['x', None, True, 1.5], 'ä': 'ü\n'})
    same(got['log'], 'out\nerr\n')


@test
def awaited(box):
    """what an async function awaits is its result: tasks, threads and sockets run in its loop"""
    same(box.value('async def f(a):\n return a', inputs={'a': 3}), 3)
    same(box.value("""import asyncio, socket, sys

async def answer(reader, writer):
    writer.write((await reader.readline()).upper())
    await writer.drain()
    writer.close()

async def f(words):
    server = await asyncio.start_server(answer, '127.0.0.1', 0)
    port = server.sockets[0].getsockname()[1]
    async def ask(word):
        reader, writer = await asyncio.open_connection('127.0.0.1', port)
        writer.write(word.encode() + b'\\n')
        got = await reader.readline()
        writer.close()
        return got.decode().strip()
    shouted = await asyncio.gather(*map(ask, words))
    return [shouted, await asyncio.to_thread(len, words), await asyncio.wait_for(asyncio.sleep(0, 'slept'), 5)]
""", inputs={'words': ['a', 'b']}), [['A', 'B'], 2, 'slept'])
    got = box.run('async def f():\n raise ValueError("within")', 'f')
    status(got, 'failed')
    true('ValueError: within' in got['log'], got)
    call = {'file': 'tool.py', 'func': 'f', 'inputs': {'a': 1}}
    code = 'import asyncio\nasync def f(a):\n await asyncio.sleep(60 * (a == 2))\n return a'
    calls = box.report(code, session=True, calls=[call, {**call, 'inputs': {'a': 2}, 'timeout': 700}, call])['calls']
    same([(c['status'], c['result']) for c in calls], [('ok', '1'), ('timeout', ''), ('ok', '1')])


@test
def annotated(box):
    """dataclasses and members of Enums are made of the JSON that is given for them, wherever annotations have them"""
    code = """{future}
import enum
from dataclasses import dataclass, field
from typing import Annotated, Dict, List, Literal, NotRequired, Optional, TypedDict, Union

class Room(enum.Enum):
    ONE = 'single'
    TWO = 'double'

@dataclass
class Leg:
    to: str
    room: Room = Room.ONE

@dataclass
class Trip:
    legs: list['Leg'] = field(default_factory=list)

class Plan(TypedDict):
    leg: NotRequired[Leg]

def f(a: Leg, b: Optional[Leg], c: None | Room, d: List['Leg'], e: Dict[str, Room], g: Union[int, Trip, Leg],
      h: str | Room, i: Annotated[Leg, 'x'], j: tuple[Room, ...], k: Literal['single'], l, m: 'nowhere', *, n: dict, o: Plan):
    return [a.to, b.room.name, c.name, d[0].to, e['x'].name, g.to, h, i.to, j[0].name, k, l, m, n, o['leg'].to]
"""
    leg = {'to': 'x', 'room': 'double'}
    inputs = {'a': leg, 'b': leg, 'c': 'double', 'd': [leg], 'e': {'x': 'single'}, 'g': leg, 'h': 'single', 'i': leg,
              'j': ['single'], 'k': 'single', 'l': leg, 'm': leg, 'n': leg, 'o': {'leg': leg}}
    want = ['x', 'TWO', 'TWO', 'x', 'ONE', 'x', 'single', 'x', 'ONE', 'single', leg, leg, leg, 'x']
    for future in '', 'from __future__ import annotations':
        same(box.value(code.replace('{future}', future), inputs=inputs), want, future)


@test
def script(box):
    """a script runs as __main__ with INPUTS; its stdout is the result, its stderr the log"""
    got = box.run('import sys\nassert __name__ == "__main__"\nprint(INPUTS["x"] * 2)\n'
                  'print(__file__, sys.argv, file=sys.stderr)', inputs={'x': 'ab'})
    status(got, 'ok')
    same(got['result'], 'abab\n')
    same(got['log'], "/tool/tool.py ['/tool/tool.py']\n")


@test
def keys(box):
    """EV_KEYS is a plain dict in builtins, byte for byte what was given"""
    code = ('import builtins\ndef f():\n'
            ' return [type(EV_KEYS) is dict, builtins.EV_KEYS is EV_KEYS, dict(EV_KEYS)]')
    keys = {'A': 'one', 'B_2': 'zwei ü "\\ \n x', 'E': 'x' * 60000}
    same(box.value(code, keys=keys), [True, True, keys])
    same(box.value(code), [True, True, {}])


@test
def numpy_scalars(box):
    """numpy's scalars are the numbers that they hold, other objects are no result"""
    same(box.value('import numpy as n\ndef f():\n return [n.int64(3), n.float64(.5), n.bool_(1)]'),
         [3, 0.5, True])
    status(box.run('def f():\n return object()', 'f'), 'failed')
    status(box.run('import numpy as n\ndef f():\n return n.float64("nan")', 'f'), 'failed')


@test
def modules(box):
    """the expert's own modules import from /tool, sub-directories and packages included"""
    files = {'tool.py': 'import helper, pkg.deep\ndef f():\n return [helper.x, pkg.deep.y]',
             'helper.py': 'x = 1', 'pkg/__init__.py': '', 'pkg/deep.py': 'y = 2',
             'sub/own.py': 'import beside, helper\ndef g():\n return [beside.z, helper.x]',
             'sub/beside.py': 'z = 3'}
    same(box.value(files), [1, 2])
    got = box.run(files, calls=[{'file': 'sub/own.py', 'func': 'g'}])
    status(got, 'ok')
    same(json.loads(got['result']), [3, 1])


@test
def read_only(box):
    """/tool and everything but /scratch, /tmp, /dev/shm is read-only"""
    code = '''
import os
def f():
    out = {}
    for d in ['/', '/tool', '/cell', '/etc', os.path.dirname(os.__file__), '/dev', '/proc', '/scratch',
              '/scratch/outputs', '/tmp', '/dev/shm', '/etc/ssl/certs', '/usr/lib', '/usr/bin']:
        try:
            with open(d + '/new', 'w') as file:
                file.write('x')
            out[d] = True
        except OSError:
            out[d] = False
    try:
        open('/tool/tool.py', 'r+')
        out['tool.py'] = True
    except OSError:
        out['tool.py'] = False
    return out
'''
    same(sorted(k for k, v in box.value(code).items() if v),
         ['/dev/shm', '/scratch', '/scratch/outputs', '/tmp'])


@test
def contents(box):
    """no shell, no set-uid program, no host's facts in /etc, /proc, /sys"""
    code = '''
import os, stat
def f():
    setid, programs, etc = [], [], []
    for root, dirs, files in os.walk('/'):
        if root.startswith('/proc'):
            dirs[:] = []
            continue
        for name in files:
            path = os.path.join(root, name)
            st = os.lstat(path)
            if st.st_mode & 0o6000 and stat.S_ISREG(st.st_mode):
                setid.append(path)
            if root.endswith('bin'):
                programs.append(path)
            if root.startswith('/etc'):
                etc.append(path)
    facts = {}
    for name in ('cmdline', 'version', 'modules', 'kallsyms', 'keys', 'interrupts', 'locks',
                 'partitions', 'diskstats', 'config.gz', 'vmstat', 'swaps', 'kcore', 'sysrq-trigger'):
        try:
            facts[name] = len(open('/proc/' + name, 'rb').read(10))
        except OSError:
            facts[name] = 0
    return [setid, sorted(programs), sorted(etc), sum(facts.values()), os.listdir('/proc/sys'),
            os.path.exists('/sys'), open('/proc/meminfo').read()[:8], os.uname().nodename]
'''
    setid, programs, etc, facts, sys_dir, has_sys, meminfo, node = box.value(code)
    same(setid, [])
    same(programs, sorted({'/usr/bin/python3', os.path.realpath('/usr/bin/python3')}))
    true(all(p.startswith('/etc/alternatives/lib') or p in (
        '/etc/hosts', '/etc/passwd', '/etc/group', '/etc/nsswitch.conf', '/etc/matplotlibrc')
        for p in etc), etc)
    same([facts, sys_dir, has_sys, meminfo, node], [0, [], False, 'MemTotal', 'sandbox'])


@test
def packages(box):
    """every promised package imports; UTF-8, time zones, random and a process pool work"""
    code = '''
import locale, os, sys, zoneinfo, datetime, getpass, tempfile, sqlite3, subprocess
def work(x):
    return x * x
def f():
    import numpy, pandas, matplotlib, pypdf, PIL.Image, cryptography.fernet, psutil
    import multiprocessing
    with multiprocessing.Pool(2) as pool:
        squares = pool.map(work, [1, 2, 3])
    key = cryptography.fernet.Fernet.generate_key()
    token = cryptography.fernet.Fernet(key).encrypt(b'x')
    db = sqlite3.connect('/scratch/x.db')
    db.execute('create table t(a)')
    db.execute('insert into t values (1)')
    db.commit()
    zone = datetime.datetime(2024, 7, 1, tzinfo=zoneinfo.ZoneInfo('Europe/Berlin')).utcoffset()
    psutil.virtual_memory(), psutil.cpu_percent(), psutil.Process().memory_info()
    out = subprocess.run([sys.executable, '-c', 'print(6*7)'], capture_output=True, text=True)
    return [squares, len(token) > 50, zone.seconds, locale.getpreferredencoding(),
            len(open('/dev/urandom', 'rb').read(9)), getpass.getuser(), os.getcwd(),
            tempfile.gettempdir(), out.stdout, pandas.read_csv('/tool/a.csv').a.sum()]
'''
    same(box.value({'tool.py': code, 'a.csv': 'a\n1\n2\n'}, timeout=60000),
         [[1, 4, 9], True, 7200, 'UTF-8', 9, 'tool', '/scratch', '/tmp', '42\n', 3])


@test
def own_names(box):
    """a tool's own module goes before one of Python's of that name, also where a session imports packages ahead"""
    code = '''
import sys
ahead = sorted({'calendar', 'pandas'} & set(sys.modules))
import calendar
def f():
    return [ahead, getattr(calendar, 'WHO', 'not mine'), sys.argv]
'''
    for own, session, want in ((True, False, [[], 'mine', ['-c']]), (True, True, [[], 'mine', ['-c', 'plain']]),
                               (False, True, [['calendar', 'pandas'], 'not mine', ['-c']])):
        files = {'tool.py': code, **({'calendar.py': "WHO = 'mine'"} if own else {})}
        got = box.report(files, 'f', session=session, preload=['pandas'])['calls'][0]
        status(got, 'ok')
        same(json.loads(got['result']), want, (own, session))
    # In a directory of its own, and one that it looks in by itself.
    for files, file in (({'sub/t.py': code, 'sub/calendar.py': "WHO = 'mine'"}, 'sub/t.py'),
                        ({'tool.py': "import sys\nsys.path.insert(0, '/tool/vendor')\n" + code,
                          'vendor/calendar/__init__.py': "WHO = 'mine'"}, 'tool.py')):
        for session in (False, True):
            got = box.report(files, session=session, preload=['pandas'], calls=[{'file': file, 'func': 'f'}])['calls'][0]
            same(json.loads(got['result'])[:2], [[], 'mine'], (file, session))


@test
def by_name(box):
    """the streams can be opened by name, whoever runs evctl"""
    got = box.run("def f():\n for n in ('/dev/stderr', '/dev/stdout', '/dev/fd/2', '/proc/self/fd/1'):\n"
                  "  with open(n, 'w') as f: f.write(n + '\\n')\n return 1", 'f')
    status(got, 'ok')
    same(got['log'].split(), ['/dev/stderr', '/dev/stdout', '/dev/fd/2', '/proc/self/fd/1'])


@test
def try_again(box):
    """EAGAIN of a lock, or of a descriptor that does not block, is an error like others and no limit"""
    for body in ("import fcntl\n a, b = open('/scratch/l', 'w'), open('/scratch/l', 'w')\n fcntl.flock(a, fcntl.LOCK_EX)\n"
                 " fcntl.flock(b, fcntl.LOCK_EX | fcntl.LOCK_NB)",
                 "import socket\n a, b = socket.socketpair()\n a.setblocking(False)\n a.recv(1)"):
        got = box.run('def f():\n ' + body, 'f')
        status(got, 'failed')
        true('BlockingIOError' in got['log'], got['log'])


@test
def many_processes(box):
    """multiprocessing works by fork and by spawn, managers too; what cannot says so in Python's words"""
    code = '''
import multiprocessing, multiprocessing.connection, multiprocessing.shared_memory, concurrent.futures
def square(x):
    return x * x
def put(queue, shared, lock, n):
    with lock:
        shared['n'] = shared.get('n', 0) + n
    queue.put(n)
def by(method):
    here = multiprocessing.get_context(method)
    queue, lock = here.Queue(), here.Lock()
    with here.Manager() as manager:
        shared = manager.dict()
        crew = [here.Process(target=put, args=(queue, shared, lock, n)) for n in (1, 2)]
        for p in crew: p.start()
        got = sorted(queue.get() for p in crew)
        for p in crew: p.join()
        return [got, shared['n']]
def f():
    got = [multiprocessing.get_start_method(), by('fork'), by('spawn')]
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        got.append(list(pool.map(square, [1, 2, 3])))
    memory = multiprocessing.shared_memory.SharedMemory(create=True, size=10)
    memory.buf[0] = 7
    again = multiprocessing.shared_memory.SharedMemory(memory.name)
    got.append(again.buf[0])
    again.close()
    memory.unlink()
    with multiprocessing.connection.Listener() as listener:
        child = multiprocessing.Process(target=lambda: multiprocessing.connection.Client(listener.address).send('x'))
        child.start()
        got.append(listener.accept().recv())
        child.join()
    try:
        multiprocessing.get_context('forkserver').Manager()
    except PermissionError as e:
        got.append(str(e))
    return got
'''
    want = ['fork', [[1, 2], 3], [[1, 2], 3], [1, 4, 9], 7, 'x', '[Errno 1] Operation not permitted']
    same(box.value(code, timeout=60000), want)
    report = box.report(code, 'f', session=True)
    status(report['calls'][0], 'ok')
    same(json.loads(report['calls'][0]['result']), want)


@test
def plot(box):
    """matplotlib plots at once, without building a font list, and the chart is a PNG"""
    code = '''
def f():
    import matplotlib.font_manager as m
    import matplotlib.pyplot as plt
    built = []
    m.json_dump = lambda *a: built.append(a)
    plt.plot([1, 2, 3])
    plt.title('Größe $x^2$')
    plt.savefig('outputs/chart.png')
    return len(built)
'''
    got = box.run(code, 'f', timeout=60000)
    status(got, 'ok')
    same(got['result'], '0')
    same([(f['name'], f['type'], f['inline']) for f in got['outputs']['files']],
         [('chart.png', 'image/png', True)])
    same(got['log'], '')


SCRIPTS = {
    'a file left open': ("f = open('outputs/a', 'w'); f.write('whole')", '', {'a': '77686f6c65'}),
    'one in a cycle': ("class C: pass\nc = C(); c.c = c; c.f = open('outputs/a', 'w'); c.f.write('whole'); del c",
                       '', {'a': '77686f6c65'}),
    'an archive left open': ("import zipfile\nz = zipfile.ZipFile('outputs/a', 'w'); z.writestr('a', 'b')", '',
                             {'a': '504b0304'}),
    'beside what must not be touched': (
        "import importlib.util, sys, weakref\nclass A: pass\na = A(); p = weakref.proxy(a); del a\n"
        "class Lazy:\n def __getattribute__(self, n): raise SystemExit(9)\n __class__ = property(lambda s: 1 / 0)\n"
        "keep = [p, Lazy()]\nf = open('outputs/a', 'w'); f.write('whole')\nprint('hi')", 'hi\n', {'a': '77686f6c65'}),
    'a file that is only read': ("f = open('/tool/tool.py')\nimport sys\nsys.modules['x'] = 1\nprint('hi')", 'hi\n', {}),
    'atexit': ("import atexit\natexit.register(print, 'bye'); print('hi')", 'hi\nbye\n', {}),
    'a last error': ("import atexit\natexit.register(lambda: 1 / 0); print('hi')", 'hi\n', {}),
    'a thread': ("import threading, time\n"
                 "threading.Thread(target=lambda: (time.sleep(.2), print('late'))).start(); print('hi')",
                 'hi\nlate\n', {}),
    'a daemon thread': ("import threading, time\nf = open('outputs/a', 'w'); f.write('whole')\n"
                        "threading.Thread(target=time.sleep, args=(99,), daemon=True).start(); print('hi')",
                        'hi\n', {'a': '77686f6c65'}),
    'an executor': ("from concurrent.futures import ThreadPoolExecutor as E\nimport time\n"
                    "E().submit(lambda: (time.sleep(.2), print('late')))", 'late\n', {}),
    'a forked child': ("import atexit, os\nf = open('outputs/a', 'w')\natexit.register(print, 'bye')\nif os.fork() == 0:\n"
                       " f.write('whole')\nelse:\n os.wait(); f.close()", 'bye\nbye\n', {'a': '77686f6c65'}),
    'another stdout': ("import sys\nclass Tee:\n def write(self, s): sys.__stdout__.write(s)\n def flush(self): pass\n"
                       "sys.stdout = sys.stderr = Tee()\nprint('hi')", 'hi\n', {}),
    'a writer that waits': ("import subprocess, sys\nf = open('outputs/a', 'w'); f.write('whole')\n"
                            "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(99)'], stdin=-1)\n"
                            "import threading\nthreading.Thread(target=p.stdin.write, args=(bytes(1 << 20),), daemon=True).start()\n"
                            "import time; time.sleep(.2); print('hi')", 'hi\n', {'a': '77686f6c65'}),
    'a process': ("import multiprocessing, time\ndef g():\n time.sleep(.2); print('late', flush=True)\n"
                  "multiprocessing.Process(target=g).start()", 'late\n', {}),
}


def ended(box, what, code, out, files, session, func=None):
    got = box.report(code, func, session=session)['calls'][0]
    status(got, 'ok')
    same(got['result'], out, what)
    found = {f['name']: f['head'][:len(files.get(f['name'], ''))] for f in got['outputs']['files']}
    same((found, got['outputs']['withheld']), (files, []), what)


@test
def ends(box):
    """a script ends as any Python program does: nothing that it left to be written or waited for is lost"""
    for session in (False, True):
        for what, (code, out, files) in SCRIPTS.items():
            ended(box, what, code, out, files, session)


@test
def function_ends(box):
    """a function's call ends when it returns: what it left open is written, what it left running is not waited for"""
    for session in (False, True):
        ended(box, 'a file of the module', "f = open('/scratch/outputs/a', 'w')\ndef g(): f.write('whole'); return 1",
              '1', {'a': '77686f6c65'}, session, 'g')
        ended(box, 'a thread', "import threading, time\ndef g():\n f = open('outputs/a', 'w'); f.write('whole')\n"
              " threading.Thread(target=lambda: (time.sleep(99), f)).start(); return 1",
              '1', {'a': '77686f6c65'}, session, 'g')
    ended(box, 'every descriptor, and an object for a module', "import os, sys\nclass M:\n __slots__ = ()\n"
          " __file__ = '/tool/tool.py'\nsys.modules['m'] = M()\nf = open('outputs/a', 'w')\ndef g():\n f.write('whole')\n"
          " try:\n  while True: os.dup(0)\n except OSError: return 1", '1', {'a': '77686f6c65'}, False, 'g')
    got = box.run("f = open('outputs/a', 'w')\ndef g():\n try:\n  with open('outputs/full', 'wb') as o:\n"
                  "   while True: o.write(bytes(4096))\n except OSError: pass\n f.write('lost'); return 1", 'g')
    status(got, 'limit', 'disk')


@test
def exits(box):
    """a script's exit code 0 is a success, any other and every exit of a function a failure"""
    for code, want in [('import sys\nprint(1)\nsys.exit()', 'ok'), ('print(1)\nexit(0)', 'ok'),
                       ('print(1)\nraise SystemExit(3)', 'failed'), ('quit("no")', 'failed')]:
        got = box.run(code)
        status(got, want)
        if want == 'ok':
            same(got['result'], '1\n')
    status(box.run('import sys\ndef f():\n sys.exit(0)', 'f'), 'failed')


@test
def tracebacks(box):
    """the log has the traceback of the tool and nothing of the cell"""
    got = box.run('def g():\n    1 / 0\ndef f():\n    g()', 'f')
    status(got, 'failed')
    true(got['log'].startswith('Traceback') and 'ZeroDivisionError' in got['log'] and
         '1 / 0' in got['log'] and '/cell/' not in got['log'], got['log'])
    got = box.run('def f(:\n pass', 'f')
    status(got, 'failed')
    true('SyntaxError' in got['log'], got['log'])
    got = box.run('def g():\n pass', 'f')
    status(got, 'failed')
    true('AttributeError' in got['log'], got['log'])


main()
