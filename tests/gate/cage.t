#!/usr/bin/python3
"""The gate's own cage: what whoever takes it over still can't do, each with its control."""
import os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gatelib import *

ALLOWED = {"reads-hosts", "reads-roots", "tcp-socket", "udp-socket", "makes-threads"}
DEADLY = {"runs-programs", "traces", "changes-namespace"}
# What only root can do anyway, or what this machine's kernel may not enforce.
ROOT_ONLY = {"is-root", "has-capabilities", "changes-namespace"}


def landlock():
    import ctypes
    return ctypes.CDLL(None).syscall(444, None, 0, 1)


def probe(mode, where):
    exe = os.path.join(os.environ.get("EVCTL_TESTBIN", os.path.join(BIN, "../tests")), "gate/cage_probe")
    out = subprocess.run([exe, mode, where], capture_output=True, text=True, timeout=60).stdout
    return dict(line.split() for line in out.splitlines())


def run():
    if b"__asan_init" in open(os.path.join(BIN, "evctl-egress"), "rb").read():
        skip_all("the sanitizers need what the cage refuses")
    where = tempdir()
    open(where + "/secret", "w").write("x")
    os.chmod(where + "/secret", 0o666)
    os.chmod(where, 0o777)
    free, caged = probe("free", where), probe("caged", where)
    abi = landlock()
    if os.path.exists(where + "/new"):
        os.unlink(where + "/new")
    for name in sorted(free):
        if name in ALLOWED:
            eq((free[name], caged[name]), ("yes", "yes"), name + ": allowed")
            continue
        if free[name] != "yes":
            ok(name in ROOT_ONLY and os.geteuid() != 0, name + ": not possible here to begin with", free[name])
            continue
        if (abi < 1 and "file" in name) or (abi < 4 and name == "listens") or \
                (abi < 6 and name == "signals-other" and os.geteuid() != 0):
            TAP.skip(name, f"this kernel's Landlock has version {abi}")
            continue
        if name == "is-root" and os.environ.get("GATE_TEST_INSIDE") == "1":
            eq(caged[name], "yes", "is-root: the only uid of a namespace stays, without its power")
            continue
        eq(caged[name], "killed" if name in DEADLY else "no", name + ": stopped")
    ok(len(free) == len(caged) == 21, "21 tries")

    # The running gate
    set_hosts()
    g = Gate()
    g.begin(row("api.x.example"))
    st = dict(line.split(":\t", 1) for line in open("/proc/%d/status" % g.p.pid) if ":\t" in line)
    eq((st["Seccomp"].strip(), st["NoNewPrivs"].strip(), int(st["CapEff"], 16), int(st["CapPrm"], 16)),
       ("2", "1", 0, 0), "the gate runs under a filter, without privileges")
    fds = {n: os.readlink("/proc/%d/fd/%s" % (g.p.pid, n)).split(":")[0]
           for n in os.listdir("/proc/%d/fd" % g.p.pid)} if os.access("/proc/%d/fd" % g.p.pid, os.R_OK) else {}
    if fds:
        eq(sorted(v for v in fds.values() if not v.startswith("/")), ["socket"] * 3,
           "its sockets: the control, and one a port")
        ok(all(v in ("/dev/null",) or v.endswith("gate.log") for v in fds.values() if v.startswith("/")),
           "its files: none", fds)
    limits = open("/proc/%d/limits" % g.p.pid).read()
    ok(re.search(r"Max core file size +1 +1 ", limits), "no core dumps, not through a pipe either")
    ok(re.search(r"Max address space +2147483648 ", limits), "a limit on memory")
    g.end()


def outside():
    """As real root: the uid must change too."""
    run()
    g = Gate()
    st = dict(line.split(":\t", 1) for line in open("/proc/%d/status" % g.p.pid) if ":\t" in line)
    eq((set(st["Uid"].split()), set(st["Gid"].split()), st["Groups"].strip()), ({"65534"}, {"65534"}, ""),
       "started by root, it runs as nobody, in no group")


if __name__ == "__main__":
    if os.environ.get("GATE_TEST_INSIDE") != "1" and os.geteuid() == 0:
        pid = os.fork()
        if pid == 0:
            # without a namespace: nothing is sent anywhere, the gate's ports are ephemeral
            globals()["set_hosts"] = lambda **k: None
            try:
                outside()
            except Exception as e:
                TAP.died(e)
            for stop in reversed(at_end):
                stop()
            os._exit(TAP.done())
        os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    main(run)
