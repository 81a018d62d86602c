#!/usr/bin/python3
"""A machine that cannot give all of the sandbox gives none: exit 8, with the reason."""

import ctypes
import json
import os
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import main, note, same, status, test, true

CODE = 'def f(): return 1'


def refused(box, prefix, **kw):
    """Runs sbx under prefix; must say ERR_SANDBOX and why, and have run nothing."""
    done = subprocess.run(prefix + [os.path.join(box.place, 'sbx')], stdout=subprocess.PIPE,
                          input=json.dumps(box.spec(CODE, 'f')).encode(), timeout=60, **kw)
    report = json.loads(done.stdout)
    got = report if 'error' in report else report['calls'][0]
    same(got.get('code'), 8, got)
    true(got['error'] and got['hint'], got)
    return got


@test
def control(box):
    """the control: all is there, and a call works"""
    status(box.run(CODE, 'f'), 'ok')


@test
def no_namespaces(box):
    """41: no user namespaces: refused, with the reason and the mend"""
    # Its own user namespace has a limit of its own, which an ordinary user may set.
    got = refused(box, box.prefix + [
        'unshare', '--user', '--map-root-user', 'sh', '-c',
        'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', 'sh'])
    true('user namespace' in got['error'] and 'max_user_namespaces' in got['hint'], got)


def deny(syscall, argument=None):
    """Makes a system call fail with EPERM from here on, for what this process becomes."""
    def install():
        libc = ctypes.CDLL(None, use_errno=True)
        ops = [(0x20, 0, 0, 0), (0x15, 0, 3 if argument is not None else 1, syscall)]
        if argument is not None:
            ops += [(0x20, 0, 0, 16), (0x15, 0, 1, argument)]
        ops += [(0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
        text = b''.join(struct.pack('HBBI', *op) for op in ops)
        buffer = ctypes.create_string_buffer(text)
        program = struct.pack('HxxxxxxQ', len(ops), ctypes.addressof(buffer))
        if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0):
            raise OSError('seccomp')
    return install


@test
def container(box):
    """under a container's filter of system calls the hint names the two options that lift what is in the way"""
    for number in (171, 435):  # setdomainname, clone3
        got = refused(box, box.prefix, preexec_fn=deny(number))
        true('seccomp=seccomp.json' in got['hint'] and 'systempaths=unconfined' in got['hint'], got)


@test
def no_seccomp(box):
    """41: no seccomp: refused, with bubblewrap's words"""
    got = refused(box, box.prefix, preexec_fn=deny(157, 22))
    true('seccomp' in got['error'].lower(), got)


@test
def no_mounts(box):
    """41: no mounts in a user namespace: refused"""
    got = refused(box, box.prefix, preexec_fn=deny(165))
    true('mount' in got['error'], got)


@test
def no_pivot(box):
    """41: no change of root: refused"""
    got = refused(box, box.prefix, preexec_fn=deny(155))
    true('root' in got['error'], got)


@test
def no_bwrap(box):
    """41: no bubblewrap: refused, with the package to install"""
    if os.geteuid() != 0:
        return note('hiding /usr/bin/bwrap takes root')
    script = '''set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/up" "$1/work"
mount -t overlay overlay -o "lowerdir=/usr,upperdir=$1/up,workdir=$1/work" /usr
rm /usr/bin/bwrap
shift
exec "$@"'''
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        got = refused(box, ['unshare', '--mount', 'sh', '-c', script, 'sh', place] + box.prefix)
    true('bwrap' in got['error'] and 'bubblewrap' in got['hint'], got)


@test
def covered_bwrap(box):
    """41: something that is no program where bubblewrap should be: refused, with the package to install"""
    if os.geteuid() != 0:
        return note('hiding /usr/bin/bwrap takes root')
    script = 'mount --bind /dev/null /usr/bin/bwrap && exec "$@"'
    got = refused(box, ['unshare', '--mount', 'sh', '-c', script, 'sh'] + box.prefix)
    true('bwrap' in got['error'] and 'bubblewrap' in got['hint'], got)


@test
def mounts_beneath(box):
    """another file system beneath /usr: beside what is needed it is no matter, within it a refusal"""
    if os.geteuid() != 0:
        return note('mounting beneath /usr takes root')
    for place, works in (('/usr/local', True), ('/usr/lib/python3', False)):
        script = 'mount -t tmpfs tmpfs %s && exec "$@"' % place
        prefix = ['unshare', '--mount', 'sh', '-c', script, 'sh'] + box.prefix
        if works:
            code = 'import os, numpy\ndef f(): return sorted(set(os.listdir("/usr")) - {"bin", "lib", "lib64", "share"})'
            done = subprocess.run(prefix + [os.path.join(box.place, 'sbx')], stdout=subprocess.PIPE, timeout=60,
                                  input=json.dumps(box.spec(code, 'f')).encode())
            report = json.loads(done.stdout)
            true('calls' in report, report)
            status(report['calls'][0], 'ok')
            same(report['calls'][0]['result'], '[]')
        else:
            true('/usr/lib' in refused(box, prefix)['hint'], place)


OWN_DEVICES = """mount -t tmpfs -o mode=755 own /dev
for d in 'null 1 3' 'zero 1 5' 'full 1 7' 'random 1 8' 'urandom 1 9'; do
	set -- $d "$@"
	mknod -m 666 "/dev/$1" c "$2" "$3"
	shift 3
done
exec "$@" """


@test
def locked_device(box):
    """28: a device node that a program of the host has locked: refused, with its name; the control: not locked"""
    if os.geteuid() != 0:
        return note('needs root, for device nodes of its own')
    own = ['unshare', '--mount', 'sh', '-euc', OWN_DEVICES, 'sh']
    done = subprocess.run(own + ['flock', '/dev/none'] + box.command, stdout=subprocess.PIPE,
                          input=json.dumps(box.spec(CODE, 'f')).encode(), timeout=60)
    status(json.loads(done.stdout)['calls'][0], 'ok')
    got = refused(box, own + ['flock', '/dev/full'] + box.prefix)
    true("'/dev/full' locked" in got['error'] and 'lslocks' in got['hint'], got)


@test
def no_cell(box):
    """41: no cell: refused, before anything is started"""
    report = box.report(CODE, 'f', share='/nonexistent')
    same(report.get('code'), 8)
    true('/nonexistent' in report['error'], report)


@test
def bad_paths(box):
    """a file that would leave /tool is refused"""
    for path in ('../x', '/etc/x', 'a/../x', 'a//b', '', '.', 'a/', './a'):
        same(box.report({'tool.py': CODE, path: 'x'}, 'f').get('code'), 2, path)


main()
