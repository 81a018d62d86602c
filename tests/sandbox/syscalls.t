#!/usr/bin/python3
"""What the kernel refuses, with the errno that it should; and that what code needs is not refused."""

import os
import platform
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import main, note, same, status, test, true

CALL = '''
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(nr, *args):
    args = [ctypes.c_char_p(a) if isinstance(a, bytes) else ctypes.c_long(a) for a in args]
    ctypes.set_errno(0)
    got = libc.syscall(ctypes.c_long(nr), *args)
    return errno.errorcode[ctypes.get_errno()] if got == -1 else 'ok'
'''

# x86_64 numbers.
EPERM = {
    'ptrace': (101, 0, 1, 0, 0), 'ptrace seize': (101, 0x4206, 1, 0, 0), 'process_vm_readv': (310, 1, 0, 0, 0, 0, 0),
    'process_vm_writev': (311, 1, 0, 0, 0, 0, 0), 'kcmp': (312, 1, 2, 0, 0, 0), 'mount': (165, b'x', b'/tmp', b'tmpfs', 0, 0),
    'umount2': (166, b'/tmp', 0), 'pivot_root': (155, b'/', b'/'), 'chroot': (161, b'/tmp'), 'unshare user': (272, 0x10000000),
    'unshare net': (272, 0x40000000), 'unshare none': (272, 0), 'setns': (308, 0, 0), 'bpf': (321, 0, 0, 0),
    'perf_event_open': (298, 0, 0, -1, -1, 0), 'userfaultfd': (323, 0), 'add_key': (248, b'user', b'x', b'y', 1, -3),
    'request_key': (249, b'user', b'x', 0, -3), 'keyctl': (250, 0, -3, 0), 'syslog': (103, 3, 0, 0),
    'init_module': (175, 0, 0, b''), 'finit_module': (313, 0, b'', 0), 'delete_module': (176, b'x', 0),
    'kexec_load': (246, 0, 0, 0, 0), 'reboot': (169, 0, 0, 0, 0), 'swapon': (167, b'x', 0), 'iopl': (172, 3),
    'ioperm': (173, 0, 1, 1), 'modify_ldt': (154, 0, 0, 0), 'acct': (163, 0), 'personality': (135, 0x0040000),
    'clock_settime': (227, 0, 0), 'settimeofday': (164, 0, 0), 'sethostname': (170, b'x', 1),
    'open_by_handle_at': (304, 0, 0, 0), 'name_to_handle_at': (303, 0, b'/', 0, 0, 0), 'fanotify_init': (300, 0, 0),
    'quotactl': (179, 0, 0, 0, 0), 'pidfd_getfd': (438, 0, 0, 0), 'process_madvise': (440, 0, 0, 0, 0, 0),
    'move_pages': (279, 1, 0, 0, 0, 0, 0), 'mbind': (237, 0, 0, 0, 0, 0, 0), 'lookup_dcookie': (212, 0, 0, 0),
    'prlimit64 of another': (302, 1, 7, 0, 0), 'clone newuser': (56, 0x10000011, 0, 0, 0, 0),
    'clone newns': (56, 0x00020011, 0, 0, 0, 0), 'clone newnet': (56, 0x40000011, 0, 0, 0, 0),
    'clone newpid': (56, 0x20000011, 0, 0, 0, 0), 'socketpair dgram': (53, 1, 2, 0, 0),
    'socketpair seqpacket': (53, 1, 5 | 0o2000000, 0, 0), 'huge pages': (9, 0, 1 << 21, 3, 0x40022, -1, 0), 'vhangup': (153,), 'sync': (162,),
}
ENOSYS = {
    'clone3': (435, 0, 0), 'memfd_create': (319, b'x', 0), 'memfd_secret': (447, 0), 'io_uring_setup': (425, 1, 0),
    'io_uring_enter': (426, 0, 0, 0, 0, 0), 'io_uring_register': (427, 0, 0, 0, 0), 'shmget': (29, 0, 100, 0o1777),
    'msgget': (68, 0, 0o1777), 'semget': (64, 0, 1, 0o1777), 'mq_open': (240, b'x', 0o102, 0o600, 0),
    'inotify_init': (253,), 'inotify_init1': (294, 0), 'open_tree': (428, -100, b'/', 0), 'move_mount': (429, 0, 0, 0, 0, 0),
    'fsopen': (430, b'tmpfs', 0), 'mount_setattr': (442, 0, 0, 0, 0, 0), 'io_setup': (206, 1, 0),
    'statmount': (457, 0, 0, 0, 0), 'listmount': (458, 0, 0, 0, 0), 'a call yet unmade': (999,), 'the last': (0x3fffffff,),
}


EPERM |= {'vmsplice': (278, 1, 0, 0, 0), 'prctl memory merge': (157, 67, 1, 0, 0, 0)}


def x86_only():
    if platform.machine() != 'x86_64':
        note('system call numbers are those of x86_64')
        return False
    return True


@test
def refused(box):
    """30: unshare, mount, bpf, keyctl, ptrace and the like: EPERM; io_uring and the like: ENOSYS"""
    if not x86_only():
        return
    code = CALL + 'def f(calls): return {k: call(*(a.encode() if isinstance(a, str) else a for a in v)) ' \
                  'for k, v in calls.items()}'
    for want, calls in (('EPERM', EPERM), ('ENOSYS', ENOSYS)):
        plain = {k: [a.decode() if isinstance(a, bytes) else a for a in v] for k, v in calls.items()}
        got = box.value(code, inputs={'calls': plain})
        same({k: v for k, v in got.items() if v != want}, {}, want)


@test
def allowed(box):
    """30: the control: what Python and its packages use goes through"""
    if not x86_only():
        return
    code = CALL + '''
import fcntl, mmap, resource, signal, socket, termios
def f():
    out = [call(39), call(186), call(302, 0, 7, 0, 0), call(318, b'12345678', 8, 0), call(334, 0, 0, 0, 0) != 'ENOSYS',
           call(434, os.getpid(), 0)]
    a, b = socket.socketpair()
    fcntl.ioctl(a, termios.FIONREAD, b'    ')
    m = mmap.mmap(-1, 4096)
    m[0] = 1
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
    if os.fork() == 0:
        os._exit(7)
    out.append(os.waitstatus_to_exitcode(os.wait()[1]))
    signal.raise_signal(signal.SIGWINCH)
    return out
'''
    same(box.value(code), ['ok', 'ok', 'ok', 'ok', True, 'ok', 7])


@test
def socket_buffers(box):
    """setting a socket's buffers is answered by 0 and does nothing; other options are set"""
    code = '''
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
SIZES = [7, 8, 32, 33]
def f():
    out = []
    for s in (*socket.socketpair(), socket.socket()):
        before = [s.getsockopt(socket.SOL_SOCKET, n) for n in SIZES[:2]]
        for n in SIZES:
            s.setsockopt(socket.SOL_SOCKET, n, 1 << 28)
        big = ctypes.c_int(1 << 28)
        # The kernel looks at 32 bits of each
        out.append(libc.syscall(ctypes.c_long(54), ctypes.c_long(s.fileno()), ctypes.c_long(1 | 7 << 32),
                                ctypes.c_long(7 | 7 << 32), ctypes.byref(big), 4))
        out.append(before == [s.getsockopt(socket.SOL_SOCKET, n) for n in SIZES[:2]])
        s.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        out.append(s.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE))
    return out
def fill(pairs=100):
    held, keep = 0, []
    for _ in range(pairs):
        a, b = socket.socketpair()
        keep.append((a, b))
        for s in (a, b):
            for n in SIZES:
                s.setsockopt(socket.SOL_SOCKET, n, 1 << 28)
            s.setblocking(False)
            try:
                while True:
                    held += s.send(bytes(65536))
            except BlockingIOError:
                pass
    return held
'''
    if x86_only():
        same(box.value(code), [0, True, 1] * 3)
    held = box.value(code + 'f = fill\n')
    true(1000000 < held < 100000000, 'what 100 pairs hold: %d' % held)


@test
def names(box):
    """neither of the machine's two names is seen"""
    same(box.value('import os\ndef f(): return os.uname().nodename'), 'sandbox')
    domain = 'import ctypes\ndef f():\n b = ctypes.create_string_buffer(390)\n' \
             ' return [ctypes.CDLL(None).uname(b), b.raw[325:390].split(b"\\0")[0].decode()]'
    same(box.value(domain), [0, '(none)'])
    if os.geteuid() == 0 and box.name == 'root':
        box.prefix = ['unshare', '--uts', 'sh', '-c', 'echo ours.example > /proc/sys/kernel/domainname && exec "$@"', 'sh']
        try:
            same(box.value(domain), [0, '(none)'], 'on a machine that has a domain name')
        finally:
            box.prefix = []


@test
def foreign(box):
    """30: x32 calls and int 0x80 kill the process that makes them"""
    if not x86_only():
        return
    code = CALL + '''
import mmap, signal
def f(how):
    pid = os.fork()
    if pid == 0:
        if how == 'x32':
            call(0x40000000 | 39)
        else:
            # mov eax, 20; int 0x80; ret: getpid as a 32-bit call, in memory that may be run
            text = bytes([0xb8, 20, 0, 0, 0, 0xcd, 0x80 if how == 'int80' else 0x90, 0xc3])
            if how != 'int80':
                text = bytes([0xb8, 20, 0, 0, 0, 0xc3])
            m = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
            m.write(text)
            address = ctypes.addressof(ctypes.c_char.from_buffer(m))
            ctypes.CFUNCTYPE(ctypes.c_int)(address)()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.wait()[1])
'''
    same(box.value(code, inputs={'how': 'x32'}), -31)
    # A kernel without 32-bit calls lets nobody make one.
    outside = {}
    exec(code, outside)
    without = outside['f']('int80') == -11
    if without:
        note('this kernel has no 32-bit calls')
    same(box.value(code, inputs={'how': 'int80'}), -11 if without else -31)
    same(box.value(code, inputs={'how': 'control'}), 0)


@test
def terminals(box):
    """31: TIOCSTI, with high bits set too, TIOCLINUX, TIOCSETD: EPERM; another ioctl: not"""
    if not x86_only():
        return
    code = CALL + 'def f(): return [call(16, 0, n, 0) for n in (0x5412, 0x5412 | 1 << 32, 0x541c, ' \
                  '0x541c | 1 << 63 - (1 << 64), 0x5423, 0x541d, 0x5401)]'
    got = box.value(code.replace(' | 1 << 63 - (1 << 64)', ' - (1 << 63)'))
    same(got, ['EPERM'] * 6 + ['ENOTTY'])


@test
def powers(box):
    """no capability, no new privilege, no exec of anything but Python"""
    code = '''
import os, subprocess, sys
def run(*argv):
    try:
        return subprocess.run(argv, capture_output=True, text=True).stdout
    except OSError as e:
        return type(e).__name__
def f():
    status = dict(l.split(':\\t', 1) for l in open('/proc/self/status').read().splitlines() if ':\\t' in l)
    elf = open(sys.executable, 'rb').read()
    with open('/scratch/elf', 'wb') as file: file.write(elf)
    os.chmod('/scratch/elf', 0o755)
    return [status['CapEff'], status['CapBnd'], status['NoNewPrivs'], status['Seccomp'],
            run(sys.executable, '-c', 'print(1)'), run('/scratch/elf', '-c', 'print(1)'),
            run('/lib64/ld-linux-x86-64.so.2', '/scratch/elf', '-c', 'print(1)'),
            run('/bin/sh', '-c', 'echo 1'), os.getuid(), os.getgroups()]
'''
    got = box.value(code)
    same(got[:6], ['0' * 16, '0' * 16, '1', '2', '1\n', 'PermissionError'])
    true(got[6] in ('', 'PermissionError', 'FileNotFoundError'), got)
    same(got[7], 'FileNotFoundError')
    same(got[8], 1000)


main()
