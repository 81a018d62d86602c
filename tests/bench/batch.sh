#!/bin/sh
# What batches cost, as ratios within one run: of other machines they say the same.
exec /usr/bin/python3 - <<'END'
import json, os, shutil, statistics, subprocess, sys, tempfile, time
from pathlib import Path

BIN = Path(os.environ.get('EVCTL_BIN', 'build/bin')).resolve()
ROUNDS = int(os.environ.get('EVCTL_BENCH_ROUNDS', 10))
CODE = '''
import time
def spin(ms):
    end = time.process_time() + ms / 1000
    while time.process_time() < end:
        pass
    return ms
'''

with tempfile.TemporaryDirectory(prefix='evctl-bench.') as place:
    place = Path(place)
    env = {**os.environ, 'EVCTL_HOME': str(place / 'state'), 'HOME': str(place), 'TMPDIR': str(place)}
    src = place / 'src'
    src.mkdir()
    (src / 'm.py').write_text(CODE)
    (src / 'expert.yaml').write_text('name: s\ntools:\n  - {name: spin, entry: "m.py:spin"}\n')

    def run(*argv, one=False, **more):
        argv = [str(BIN / argv[0]), *map(str, argv[1:])]
        if one:
            argv = ['taskset', '-c', '0', *argv]
        begun = time.perf_counter()
        subprocess.run(argv, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
        return time.perf_counter() - begun

    run('evctl-state', 'init')
    run('evctl-expert', 'create', 's', '--dir', src)
    run('evctl-expert', 'publish', 's', '--yes')

    def calls(name, n, ms):
        f = place / name
        f.write_text((json.dumps({'tool': 'spin', 'input': {'ms': ms}}) + '\n') * n)
        return f

    def ratio(what, a, b, most=None):
        a(), b()
        rows = [(a(), b()) for _ in range(ROUNDS)]
        r = statistics.median(x / y for x, y in rows)
        print(f'{what}: {r:.2f}' + (f' (at most {most})' if most else ''), flush=True)
        return r

    some, hard = calls('some', 400, 5), calls('hard', 200, 20)
    bad = ratio('a batch on one processor against plain warm sessions',
                lambda: run('evctl-batch', 'start', 's', '--calls', some, '-j', '1', one=True),
                lambda: run('evctl-run', 's', '--calls', some, one=True), 1.10) > 1.10
    if os.cpu_count() > 1:
        for name, f in (('computes 20 ms', hard), ('does nothing', calls('easy', 400, 0))):
            ratio(f'one session against two, a tool that {name}', lambda f=f: run('evctl-batch', 'start', 's', '--calls', f, '-j', '1'),
                  lambda f=f: run('evctl-batch', 'start', 's', '--calls', f, '-j', '2'))
    if shutil.which('parallel'):
        few = [json.dumps({'ms': 5})] * 40
        forty = calls('forty', 40, 5)
        rows = []
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            subprocess.run(['parallel', '-j', str(os.cpu_count()), f'{BIN}/evctl-run s spin --input {{}}'], input='\n'.join(few),
                           text=True, env=env, check=True, stdout=subprocess.DEVNULL)
            rows.append((time.perf_counter() - begun) / run('evctl-batch', 'start', 's', '--calls', forty))
        print(f'GNU parallel starting evctl-run for each call against a batch: {statistics.median(rows):.2f}')
    sys.exit(bad)
END
