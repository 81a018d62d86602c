#!/usr/bin/python3
"""What a tool may say, and what of it is believed."""

import json
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import main, same, show, status, test, true


@test
def flood(box):
    """18: a flood on stdout and stderr is bounded, and nobody waits for it"""
    got = box.run('import sys\ndef f():\n for i in range(100):\n  print("x" * 100000)\n'
                  '  print("y" * 100000, file=sys.stderr)\n return 1', 'f')
    status(got, 'ok')
    same((got['result'], got['log_truncated']), ('1', True))
    # Half of it is the beginning, half the end, but for what goes at the cut
    head, mark, tail = re.split(r'\n?evctl: (\d+) bytes of the log are left out here\n', got['log'])
    true(1000000 - 2 * 65536 - 100 < len(got['log']) <= 1000000 and len(head) > 400000 and len(tail) > 400000,
         'as much as the limit allows')
    same(len(head) + int(mark) + len(tail), 100 * 200002)
    true(head.startswith('x' * 100000 + '\n') and tail.endswith('y' * 100000 + '\n'), 'both ends')
    got = box.run('print("x" * 999999)')
    status(got, 'ok')
    same((len(got['result']), got['log_truncated']), (1000000, False))
    got = box.run('for i in range(300): print("x" * 100000)')
    status(got, 'limit', 'result')
    got = box.run('import sys\nwhile True: sys.stderr.write("x" * 10000)', timeout=1500)
    status(got, 'timeout')
    true(got['log_truncated'] and 1000000 - 2 * 65536 - 100 < len(got['log']) <= 1000000, 'bounded')


@test
def last_words(box):
    """however much was said before it, the traceback is in the log"""
    for lines in (10, 200000):
        got = box.run('def f():\n print("the first")\n for i in range(%d): print("a line like any other")\n'
                      ' raise RuntimeError("the last words")' % lines, 'f')
        status(got, 'failed')
        true(got['log'].startswith('the first\n') and got['log'].endswith('RuntimeError: the last words\n'), 'both ends')
        true(got['log_truncated'] == (lines > 10) == ('bytes of the log are left out here' in got['log']), 'the line between')


@test
def size(box):
    """a result of 1,000,000 bytes is one, a longer one a limit"""
    status(box.run('def f(): return "x" * 999998', 'f'), 'ok')
    status(box.run('def f(): return "x" * 999999', 'f'), 'limit', 'result')
    status(box.run('def f(): return "x" * 30000000', 'f'), 'limit', 'result')


FORGE = 'import os\ndef f():\n os.write(4, %s)\n return 1'


@test
def forged(box):
    """19: forged, partial, endless and double frames are no result"""
    ok = repr(b'R' + (3).to_bytes(4, 'little') + b'[1]')
    # A whole frame is the tool's own word for its own result: in a single sandbox it may have it.
    got = box.run(FORGE % ok, 'f')
    true(got['status'] in ('ok', 'failed') and got['result'] in ('[1]', ''), show(got))
    for frame in (b'R', b'R\x03', b'R\xff\xff\xff\xff', b'R\xff\xff\xff\x7f[1]', b'Z\0\0\0\0',
                  b'R\x03\0\0\0[1', b'R\x03\0\0\0{1}', b'R\0\0\0\0', b'\0' * 100):
        got = box.run(FORGE % repr(frame), 'f', timeout=3000)
        if frame == b'Z\0\0\0\0':
            status(got, 'failed')
        true(got['status'] in ('failed', 'timeout') and got['result'] == '', (frame, show(got)))
    got = box.run('import os\ndef f():\n os.write(4, b"R\\xff\\xff\\xff\\xff")\n'
                  ' while True: os.write(4, b"x" * 65536)', 'f')
    status(got, 'failed')


@test
def forged_in_session(box):
    """19: in a session a forged frame is never taken for the end, nor left for the next call"""
    code = '''
import os, time
def forge(frame):
    os.write(4, bytes(frame))
    time.sleep(.2)
    return 1
def fine():
    return 2
'''
    frames = [list(b'R\x03\0\0\0[1]'), list(b'R\x03\0\0\0[1'), list(b'R'), [0] * 5000,
              list(b'A\x03R\x01\0\0\x001'), list(b'E\x01')]
    calls = []
    for frame in frames:
        calls += [{'file': 'tool.py', 'func': 'forge', 'inputs': {'frame': frame}},
                  {'file': 'tool.py', 'func': 'fine'}]
    got = box.report(code, session=True, calls=calls)['calls']
    for i, call in enumerate(got):
        if i % 2:
            status(call, 'ok')
            same(call['result'], '2')
        else:
            status(call, 'failed')
        same(call['alive'], True)


@test
def not_json(box):
    """20: NaN, deep nesting, lone surrogates, huge integers, objects: failed; their like: ok"""
    for good in ('1e308', '"\\U0001f600"', '2**63-1', '-2**63', '[[[]]] * 3', '{"a": {}}', '""', 'None',
                 '0.1', '"\\0"', '(1, 2)', '{1: 2}'):
        status(box.run('def f(): return ' + good, 'f'), 'ok')
    for bad in ('float("nan")', '[float("inf")]', '"\\ud800"', '["\\udfff"]', '2**63', '10**5000',
                'object()', '{1, 2}', 'b"x"', 'f', '{(1, 2): 3}', '{"a\0b": 1}'):
        status(box.run('def f(): return ' + bad, 'f'), 'failed')
    status(box.run('def f():\n x = []\n for i in range(100000): x = [x]\n return x', 'f'), 'failed')
    status(box.run('def f():\n x = []\n for i in range(490): x = [x]\n return x', 'f'), 'ok')
    status(box.run('def f():\n x = []\n x.append(x)\n return x', 'f'), 'failed')
    for text in ('NaN', '1e999', '"\\ud800"', '9' * 30, '[' * 600 + ']' * 600, '{"a":1}x', '01', '.5',
                 "'a'", '[1,]', '{"a" 1}', '"\\x41"', '"\n"', '', '[', 'nul', '\ufeff1'):
        frame = b'R' + len(text.encode()).to_bytes(4, 'little') + text.encode()
        status(box.run('import os\ndef f():\n os.write(4, %r)\n os._exit(0)' % frame, 'f'), 'failed')
    status(box.run('import sys\nsys.stdout.buffer.write(b"\\xff")'), 'failed')


@test
def ends(box):
    """21: os._exit, a crash, sys.exit, KeyboardInterrupt, a signal: the same shape"""
    shapes = set()
    for body in ('os._exit(0)', 'os._exit(1)', 'ctypes.string_at(0)', 'sys.exit(0)', 'sys.exit("x")',
                 'raise KeyboardInterrupt', 'os.kill(os.getpid(), 9)', 'os.abort()', '1/0',
                 'os.close(4)', 'raise BaseException', 'os.kill(os.getpid(), 2)',
                 'g()', 'raise SystemExit(0)'):
        got = box.run('import os, sys, ctypes\ndef g(): g()\ndef f():\n %s' % body, 'f', timeout=4000)
        status(got, 'failed')
        shapes.add((got['status'], got['limit'], got['result']))
    same(len(shapes), 1)


@test
def session_ends(box):
    """21: and in a session the next call works"""
    bodies = ['os._exit(0)', 'ctypes.string_at(0)', 'sys.exit(0)', 'os.kill(os.getpid(), 9)', '1/0',
              'os.kill(-1, 9)', 'os.close(4)', 'os.kill(os.getppid(), 9) or 1/0', 'sys.stdout.close() or 1/0']
    code = 'import os, sys, ctypes\n' + ''.join(
        'def f%d():\n %s\n' % (i, body) for i, body in enumerate(bodies)) + 'def ok(): return 1\n'
    calls = []
    for i in range(len(bodies)):
        calls += [{'file': 'tool.py', 'func': 'f%d' % i}, {'file': 'tool.py', 'func': 'ok'}]
    got = box.report(code, session=True, calls=calls)['calls']
    for i, call in enumerate(got):
        status(call, 'ok' if i % 2 else 'failed')


@test
def closed_streams(box):
    """a tool that closes or replaces its streams still has a result"""
    for body in ('sys.stdout.close()', 'sys.stdout = None', 'os.close(1)', 'os.close(2)',
                 'sys.stderr = open("/dev/null", "w")'):
        got = box.run('import os, sys\ndef f():\n %s\n return 1' % body, 'f')
        status(got, 'ok')


main()
