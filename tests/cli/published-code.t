#!/usr/bin/python3
"""Published code is in no file but the builder's own: not in the state, not in a directory that
temporary files go to, not in a file that any process has open, while runs of it are held open.

What counts: a file with a name on this machine, or one without that lies on a disk. The sandbox has
the code before it, in memory: in /tool of its own mount namespace, which is a file system that no
path of the machine leads to; and evctl-run may hold the memory file that it came through.
"""
import contextlib
import os
import secrets
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from crm import Crm
from tap import BIN, T

MARK = secrets.token_hex(8)  # in no file before this test runs, and in none of another
CODE = f'''import urllib.request
# {MARK}-comment
WORD = "{MARK}-constant"

def ask():
    {"x" + MARK} = urllib.request.urlopen("https://api.crm.example/").read()
    return len({"x" + MARK})
'''
YAML = "name: p\ntools:\n  - {name: ask, entry: 'm.py:ask'}\n"
# Where this user may write: nothing that runs as it can have left a file elsewhere.
PLACES = sorted(p for p in {tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm",
                            os.environ.get("XDG_RUNTIME_DIR") or "/run"}
                if os.path.isdir(p) and os.access(p, os.W_OK))
BEGAN = time.time()


def has(path):
    """Whether the file has the mark; None if it cannot be read."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as f:
            if not stat.S_ISREG(os.fstat(f.fileno()).st_mode):
                return False
            tail = b""
            while part := f.read(1 << 20):
                if MARK.encode() in tail + part:
                    return True
                tail = part[-len(MARK):]
    except OSError:
        return None
    return False


def device(path):
    try:
        return os.lstat(path).st_dev
    except OSError:
        return None


def files(root, since):
    """Regular files beneath root, in its own file system, that were changed since then."""
    own = os.lstat(root).st_dev
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if device(os.path.join(folder, f)) == own]
        for name in names:
            path = os.path.join(folder, name)
            with contextlib.suppress(OSError):
                s = os.lstat(path)
                if stat.S_ISREG(s.st_mode) and s.st_ctime >= since - 2:
                    yield path


def named(own):
    """Files by name that hold the code: in the state, whatever their age, and in temporary places."""
    found = {p for p in files(own["state"], 0) if has(p)}
    for place in PLACES:
        found |= {p for p in files(place, BEGAN) if has(p)}
    return sorted(p for p in found if not p.startswith(f"{own['builder']}/"))


def processes():
    """Those that started since the test did, this one and the machine's others included."""
    mine = int(Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19])
    for p in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int((p / "stat").read_text().rsplit(")", 1)[1].split()[19]) >= mine:
                yield p


def sandboxed(p):
    """Whether the process sees another file system than this one."""
    try:
        return os.readlink(p / "ns/mnt") != os.readlink("/proc/self/ns/mnt")
    except OSError:
        return None


def opened():
    """(process, descriptor, what it is) of open files that hold the code."""
    for p in processes():
        with contextlib.suppress(OSError):
            for fd in os.listdir(p / "fd"):
                path = p / "fd" / fd
                if has(path):
                    yield p, fd, os.readlink(path)


def told():
    """Processes whose arguments or environment hold the code."""
    for p in processes():
        for what in ("cmdline", "environ"):
            with contextlib.suppress(OSError):
                if MARK.encode() in (p / what).read_bytes():
                    yield f"{p}/{what}"


def mounts(p):
    """Where the process may find what was made for it: mount point -> file system type."""
    found = {}
    for line in (p / "mountinfo").read_text().splitlines():
        left, right = line.split(" - ")
        found[left.split()[4]] = right.split()[0]
    return found


def seen_inside(p):
    """Files with the code in the memory file systems of a sandboxed process, by its own names."""
    root = f"/proc/{p.name}/root"
    found = set()
    for point, kind in mounts(p).items():
        if kind in ("tmpfs", "ramfs"):
            found |= {f[len(root):] for f in files(root + point, 0) if has(f)}
    return found


def in_memory(p, fd, what):
    """A file that is on no disk and that no path of the machine leads to."""
    if what.startswith("/memfd:"):
        return True
    point = max((m for m in mounts(p) if what == m or what.startswith(m.rstrip("/") + "/")), key=len,
                default="")
    return bool(sandboxed(p)) and mounts(p).get(point) in ("tmpfs", "ramfs")


def wait_for(cond, seconds=30):
    end = time.monotonic() + seconds
    while not cond():
        if time.monotonic() > end:
            raise AssertionError("never came")
        time.sleep(0.01)


@contextlib.contextmanager
def held(t, crm, *args):
    """A run that waits for the server's answer, in the middle of the published code."""
    crm.hold.clear()
    crm.held.clear()
    p = subprocess.Popen([BIN / "evctl-run", "p", "ask", *args], env=t.env, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    try:
        wait_for(lambda: crm.held.is_set() or p.poll() is not None)
        yield p
    finally:
        crm.hold.set()
        p.out = p.communicate(timeout=60)


def look(t, own, what):
    """All that has to be so while a published version runs."""
    found = named(own)
    t.ok(found == [], f"{what}: no file by name has a line of it", found)
    rows = list(opened())
    bad = [(str(p), fd, name) for p, fd, name in rows if not in_memory(p, fd, name)]
    t.ok(bad == [], f"{what}: no open file has, but in memory", bad)
    t.ok(list(told()) == [], f"{what}: no process's arguments or environment have", list(told()))
    inside = [p for p in processes() if sandboxed(p)]
    seen = set()
    for p in inside:
        with contextlib.suppress(OSError):
            seen |= seen_inside(p)
    t.ok(seen == {"/tool/m.py"}, f"{what}: control: the sandbox has it before it, in /tool alone",
         (inside, seen))


with T() as t:
    t.init()
    crm = Crm(t.dir, "api.crm.example")
    t.good("evctl-host", "add", "api.crm.example", *crm.host_options)
    src = t.expert("p", {"m.py": CODE}, YAML)
    own = {"state": str(t.home), "builder": str(src)}
    t.good("evctl-expert", "create", "p", "--dir", src)
    t.good("evctl-expert", "attach", "p", "api.crm.example")
    t.good("evctl-expert", "publish", "p")

    # The search finds what is there
    t.ok(has(src / "m.py") is True and has(src / "expert.yaml") is False, "control: the builder has it")
    for place in [str(t.home), *PLACES]:
        with tempfile.NamedTemporaryFile(dir=place, prefix="evctl-test-plant.") as f:
            f.write(b"\0" * (1 << 20) + CODE.encode()[20:])
            f.flush()
            found = named(own)
            t.ok(found == [f.name], f"control: a file in {place} would be found", found)
    with tempfile.TemporaryFile(dir=t.dir) as f:
        f.write(CODE.encode())
        f.flush()
        other = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                 pass_fds=[f.fileno()], env={"X": f"{MARK}"})
        rows = [(p.name, in_memory(p, fd, what)) for p, fd, what in opened()]
        t.ok((str(other.pid), False) in rows, "control: so would an open file without a name", rows)
        t.ok(list(told()) == [f"/proc/{other.pid}/environ"], "control: and an environment", list(told()))
        other.communicate()
    t.ok(named(own) == [] and not list(opened()) and not list(told()),
         "after publishing, nothing but the builder's directory has a line of it", named(own))

    # While it runs
    with held(t, crm) as p:
        look(t, own, "the builder's run")
    t.ok(p.returncode == 0, "and the run went well", p.out)
    with held(t, crm, "--buyer", "b1") as p:
        look(t, own, "a buyer's run")
    t.ok(p.returncode == 0, "and the run went well", p.out)
    s = t.good("evctl-session", "start", "p", "--buyer", "b1").out.strip()
    with held(t, crm, "--session", s, "--buyer", "b1") as p:
        look(t, own, "a session's call")
    t.ok(p.returncode == 0, "and the call went well", p.out)
    t.good("evctl-session", "end", s)
    t.ok(named(own) == [] and not list(opened()), "nothing of it is left behind", named(own))
    r = t.good("evctl-state", "backup", t.dir / "copy.db")
    t.ok(named(own) == [], "nor in a backup", named(own))
