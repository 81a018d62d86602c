#!/bin/sh
# How long a sandbox takes, as ratios within one run: of other machines they say the same.
exec /usr/bin/python3 - <<'END'
import json, os, statistics, subprocess, sys, time

ROUNDS = int(os.environ.get('EVCTL_BENCH_ROUNDS', 8))
BIN = os.environ.get('EVCTL_BIN', 'build/bin')
SBX = os.path.join(os.environ.get('EVCTL_TESTBIN', os.path.join(BIN, '../tests')), 'sandbox/sbx')
SHARE = os.path.join(BIN, '../share/evctl')
BARE = ['/usr/bin/bwrap', '--unshare-all', '--die-with-parent', '--ro-bind', '/usr', '/usr',
        '--symlink', 'usr/lib', '/lib', '--symlink', 'usr/lib64', '/lib64', '--proc', '/proc',
        '--dev', '/dev', '--tmpfs', '/tmp']
PYTHON = ['/usr/bin/python3', '-I', '-c', 'pass']


def masks():
    """As many binds as a sandbox has, for the comparison of like with like."""
    args = []
    keep = ('cpuinfo', 'filesystems', 'loadavg', 'meminfo', 'mounts', 'net', 'self', 'stat',
            'thread-self', 'uptime')
    for name in os.listdir('/proc'):
        path = '/proc/' + name
        if not name[0].isdigit() and name not in keep and os.access(path, os.R_OK):
            args += ['--ro-bind', '/usr/share' if os.path.isdir(path) else '/etc/passwd', path]
    return args


def bare(args, n):
    times = []
    for _ in range(n):
        begun = time.perf_counter()
        subprocess.run(args, check=True)
        times.append(time.perf_counter() - begun)
    return times


def start(code, n, session=False, preload=(), pause=0):
    spec = {'share': SHARE, 'files': {'t.py': code}, 'calls': [{'file': 't.py', 'func': 'f'}],
            'bench': n, 'session': session, 'preload': list(preload), 'pause': pause}
    process = subprocess.Popen([SBX], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write(json.dumps(spec).encode())
    process.stdin.close()
    return process


def times(process):
    out = process.stdout.read()
    if process.wait() != 0:
        sys.exit('sbx failed')
    return [us / 1e6 for us in json.loads(out)]


def row(name, ratio, note=''):
    print('%-75s %8.3f  %s' % (name, ratio, note))


mid = statistics.median
NONE = 'def f(): return 1'
HEAVY = ('import pandas, matplotlib.pyplot\n'
         'def f(): return int(pandas.DataFrame({"a": [1, 2]}).a.sum())')
PLOT = ('import pandas, matplotlib.pyplot as plt\n'
        'def f():\n plt.plot([1, 2])\n plt.savefig("outputs/a.png")\n plt.close()\n return 1')

# Interleaved, so that a busy moment weighs on all alike.
plain, alike, cold = [], [], []
same_mounts = BARE + masks() + PYTHON
for _ in range(ROUNDS):
    plain += bare(BARE + PYTHON, 5)
    alike += bare(same_mounts, 5)
    cold += times(start(NONE, 5))
base = mid(cold)
row('a cold call / bare bwrap, python3 -I -c pass', base / mid(plain), '%.1f ms' % (base * 1e3))
row('a cold call / the same with /proc masked alike', base / mid(alike))
# As a caller meets it, some time after the one before; and with no time between, where the session's own work
# between two calls is part of it.
PAUSE = 50
for name, code, n, preload in (('no import', NONE, 12 * ROUNDS, ()), ('pandas, matplotlib', HEAVY, 5 * ROUNDS, ('pandas', 'matplotlib')),
                               ('a plot', PLOT, 5 * ROUNDS, ('pandas', 'matplotlib'))):
    first = base if code is NONE else mid(times(start(code, 5)))
    for when, pause in (('', PAUSE), (', at once after another', 0)):
        again = mid(times(start(code, n, session=True, preload=preload, pause=pause))[1:])
        row('a call in a session / a cold call, %s%s' % (name, when), again / first, '%.2f ms' % (again * 1e3))


def at_once(n, calls):
    begun = time.perf_counter()
    for process in [start(NONE, calls, session=True) for _ in range(n)]:
        times(process)
    return time.perf_counter() - begun


one, eight = at_once(1, 25 * ROUNDS), at_once(8, 25 * ROUNDS)
row('8 sessions at once / 1, for 8 times the calls', eight / one, '%d CPUs' % os.cpu_count())
END
