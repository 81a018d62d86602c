"""For the tests beside this: sandboxes by way of sbx, as root and as an ordinary user, and TAP.

A test is a function that takes a Box; box.run(CODE) runs a script or function in a sandbox of its own
and gives its report. Each runs once per identity that this process can take.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../lib'))
from tap import Tap  # noqa: E402

BIN = os.environ.get('EVCTL_BIN') or os.path.join(os.path.dirname(__file__), '../../build/bin')
TESTBIN = os.environ.get('EVCTL_TESTBIN') or os.path.join(BIN, '../tests')
USER = 65533  # nobody's neighbour: has no files and no processes

tests = []
notes = []


def test(function):
    tests.append(function)
    return function


class Box:
    """One identity to open sandboxes as."""

    def __init__(self, name, prefix, place):
        self.name, self.prefix, self.place = name, prefix, place

    @property
    def command(self):
        return self.prefix + [os.path.join(self.place, 'sbx')]

    def spec(self, code, func=None, calls=None, **more):
        files = code if isinstance(code, dict) else {'tool.py': code}
        call = {'file': 'tool.py'}
        if func:
            call['func'] = func
        for name in ('inputs', 'keys', 'timeout', 'memory'):
            if name in more:
                call[name] = more.pop(name)
        return {'share': os.path.join(self.place, 'evctl'), 'files': files,
                'calls': [call] if calls is None else calls, **more}

    def start(self, *args, **kw):
        process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process.stdin.write(json.dumps(self.spec(*args, **kw)).encode())
        process.stdin.close()
        process.stdin = None
        return process

    def report(self, *args, **kw):
        process = self.start(*args, **kw)
        out = process.communicate(timeout=120)[0]
        try:
            return json.loads(out)
        except ValueError:
            raise AssertionError('sbx exited %r with %r' % (process.returncode, out))

    def run(self, *args, **kw):
        """The report of one call."""
        report = self.report(*args, **kw)
        if 'error' in report:
            raise AssertionError(report['error'])
        return report['calls'][0]

    def value(self, code, **kw):
        """What the function `f` of the code returns."""
        got = self.run(code, 'f', **kw)
        if got['status'] != 'ok':
            raise AssertionError(show(got))
        return json.loads(got['result'])


def show(got):
    return '%s %s %s\n%s' % (got['status'], got.get('limit'), got.get('why') or got.get('error'),
                             got.get('log', '')[-3000:])


def same(got, want, what=''):
    if got != want:
        raise AssertionError('%s: got %r, want %r' % (what, got, want))


def true(condition, what):
    if not condition:
        raise AssertionError(what)


def status(got, want, limit=None):
    if (got['status'], got.get('limit')) != (want, limit):
        raise AssertionError('want %s %s, got %s' % (want, limit, show(got)))
    if want != 'ok':
        same(got['result'], '', 'result of a failure')


def note(text):
    notes.append(text)


def boxes(place):
    os.chmod(place, 0o755)
    shutil.copy(os.path.join(TESTBIN, 'sandbox/sbx'), place)
    shutil.copytree(os.path.join(BIN, '../share/evctl'), os.path.join(place, 'evctl'))
    subprocess.run(['chmod', '-R', 'a+rX', place], check=True)
    if os.geteuid() != 0:
        return [Box('user', [], place)]
    as_user = ['setpriv', '--reuid', str(USER), '--regid', str(USER), '--clear-groups']
    return [Box('root', [], place), Box('user', as_user, place)]


def main():
    only = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix='evctl-test.') as place:
        todo = [(t, b) for b in boxes(place) for t in tests if not only or t.__name__ in only]
        tap = Tap()
        for function, box in todo:
            name = '%s: %s' % (box.name, (function.__doc__ or function.__name__).split('\n')[0])
            notes.clear()
            try:
                function(box)
                tap.ok(True, name)
            except Exception:
                tap.ok(False, name, traceback.format_exc())
            tap.note('\n'.join(notes))
    sys.exit(tap.done())
