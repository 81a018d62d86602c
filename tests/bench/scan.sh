#!/bin/sh
# How fast the scanner parses the standard library, against CPython's ast.parse in the same run; and
# how long evctl-verify takes for one small tool, the whole process.
exec /usr/bin/python3 - <<'END'
import ast, os, subprocess, sysconfig, tempfile, time, warnings

warnings.simplefilter('ignore')
ROUNDS = int(os.environ.get('EVCTL_BENCH_ROUNDS', 60))
BIN = os.environ.get('EVCTL_BIN', 'build/bin')
SPEED = os.path.join(os.environ.get('EVCTL_TESTBIN', os.path.join(BIN, '../tests')), 'scan/speed')

paths, texts = [], []
for root, dirs, names in os.walk(sysconfig.get_path('stdlib')):
    for name in names:
        if name.endswith('.py'):
            paths.append(os.path.join(root, name))
            with open(paths[-1], 'rb') as f:
                texts.append(f.read())
size = sum(map(len, texts)) / 1e6


def python():
    begun, real = time.process_time(), time.perf_counter()
    for text in texts:
        try:
            ast.parse(text)
        except (SyntaxError, ValueError):
            pass
    return time.process_time() - begun, time.perf_counter() - real


slow, slow_real = (min(t) for t in zip(*(python() for _ in range(min(3, ROUNDS)))))
out = subprocess.run([SPEED, '-d'], input='\n'.join(paths), capture_output=True, text=True, check=True)
one, every, whole = (float(x) for x in out.stdout.split()[1:])
print(f'standard library, {len(paths)} files, {size:.1f} MB, by processor time')
print(f'ast.parse                  {size / slow:7.1f} MB/s')
print(f'our parser, one core       {size / one:7.1f} MB/s   {slow / one:5.1f} times as fast')
print(f'our parser, {os.cpu_count()} cores        {size / every:7.1f} MB/s   {slow_real / every:5.1f} times as fast (in real time)')
print(f'as one directory, with the reads {size / whole:.1f} MB/s   {slow / whole:5.1f} times as fast')

with tempfile.TemporaryDirectory() as tmp:
    with open(tmp + '/expert.yaml', 'w') as f:
        f.write('name: small\ndescription: x\ntools:\n  - name: t\n    description: x\n'
                '    entry: t.py:f\n    input: {type: object}\n')
    with open(tmp + '/t.py', 'w') as f:
        f.write('import json, urllib.request\n\n\ndef f():\n    return EV_KEYS.get("A_KEY")\n')
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        subprocess.run([BIN + '/evctl-verify', tmp + '/'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        times.append(time.perf_counter() - begun)
    true = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        subprocess.run(['/bin/true'])
        true.append(time.perf_counter() - begun)
    print(f'evctl-verify of a small tool: {1e3 * min(times):.2f} ms, /bin/true {1e3 * min(true):.2f} ms')
END
