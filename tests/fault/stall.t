#!/usr/bin/python3
"""A caller that is stopped in the middle: what goes on without it is not taken for its own. And the memory of a
session's keeper, which has the keys of a call."""
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, SANITIZED, T
from waiting import state_of, wait_for

KEY = "stalled-key-abcdefghijklmnop-0123456789"
YAML = """name: e
tools:
  - {name: put, entry: "m.py:put"}
hosts: [a.example]
"""
CODE = '''
import time

def put(name, s=0):
    EV_KEYS['K']
    open('outputs/' + name, 'w').write(name)
    print('begun ' + name, flush=True)
    time.sleep(s)
    return name
'''


# Locked, and in no dump; with the address sanitizer mlock() does nothing.
KEPT = {"dd"} if SANITIZED else {"lo", "dd"}


def maps_with(pid, needle):
    """The maps of a process that hold the needle: name, and the kernel's flags of each."""
    found, maps = [], []
    with open(f"/proc/{pid}/smaps") as f:
        for line in f:
            head = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+ *(.*)", line)
            if head:
                maps.append([int(head[1], 16), int(head[2], 16), head[3], head[4].strip(), ""])
            elif line.startswith("VmFlags:"):
                maps[-1][4] = line.split(":", 1)[1].split()
    with open(f"/proc/{pid}/mem", "rb", 0) as f:  # not the terabytes that sanitizers reserve
        for start, end, mode, name, flags in maps:
            if "r" not in mode or name in ("[vvar]", "[vsyscall]", "[vvar_vclock]") or end - start > 1 << 36:
                continue
            try:
                f.seek(start)
                if needle in f.read(end - start):
                    found.append((name, flags))
            except OSError:
                pass
    return found


with T() as t:
    t.init()
    t.good("evctl-host", "add", "a.example")
    t.cred("K", KEY)
    t.good("evctl-bind", "set", "a.example", "K")
    t.good("evctl-expert", "create", "e", "--dir", t.expert("e", {"m.py": CODE}, YAML))

    def start(*args, **kw):
        return subprocess.Popen([BIN / "evctl-run", "e", "put", "--draft", *args], env=t.env, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)

    # The terminal's stop: the program stops, and the sandbox's own watch keeps the time.
    sleep = subprocess.Popen(["sleep", "60"], process_group=0)
    sleep.send_signal(signal.SIGTSTP)
    t.ok(wait_for(lambda: state_of(sleep.pid) == "T", 10), "the control: another program stops")
    sleep.kill()
    sleep.wait()
    p = start("--debug", "--arg", "name=x", "--arg", "s=2", process_group=0)
    t.ok(p.stderr.readline().startswith("begun x") or p.stderr.readline().startswith("begun x"), "a run is on")
    p.send_signal(signal.SIGTSTP)
    t.ok(wait_for(lambda: state_of(p.pid) == "T", 10), "and stops")
    t.ok(t.run("evctl-cred", "add", "OTHER", "--from-file", "-", stdin=KEY).code == 0, "it holds up nobody meanwhile")
    p.send_signal(signal.SIGCONT)
    out, err = p.communicate(timeout=60)
    t.ok(p.returncode == 0 and out == '"x"\n', "and goes on", (p.returncode, out, err))

    # A caller of a session that sleeps through its own call's end.
    session = t.good("evctl-session", "start", "e", "--draft").out.strip()
    keeper = t.sql("SELECT pid FROM sessions WHERE id = ?", session)[0][0]
    a = start("--debug", "--session", session, "--arg", "name=mine", "--arg", "s=2", "-o", "json")
    while not a.stderr.readline().startswith("begun mine"):
        pass
    a.send_signal(signal.SIGSTOP)
    if os.geteuid() == 0:
        held = maps_with(keeper, KEY.encode())
        t.ok(held and all(KEPT <= set(flags) for _, flags in held),
             "the keeper has the call's keys in memory that is locked and in no dump", held)
    b = wait_for(lambda: (r := t.run("evctl-run", "e", "put", "--draft", "--session", session, "--arg", "name=other",
                                     "-o", "json")).code == 0 and r.json, 90)
    t.ok(b and [x["name"] for x in b["artifacts"]] == ["other"], "the next caller gets its turn, and its own", b)
    if os.geteuid() == 0:
        for part in (KEY[:16], KEY[8:24], KEY[-16:]):
            held = maps_with(keeper, part.encode())
            t.ok(all(KEPT <= set(flags) for _, flags in held), "between calls, too", held)
    a.send_signal(signal.SIGCONT)
    out, err = a.communicate(timeout=60)
    t.ok(a.returncode == 11 and '"status":"failed"' in out and '"artifacts":[]' in out and '"withheld":[]' in out,
         "the first one, when it goes on, has failed, and takes nothing that is not its own", (a.returncode, out, err))
    run = re.search(r'"run":"(r[a-z0-9]{15})"', out)
    r = t.run("evctl-log", "show", run[1] if run else "none")
    t.ok("the outputs were read too late" in r.out, "which its log says", r)
    r = t.run("evctl-run", "e", "put", "--draft", "--session", session, "--arg", "name=last", "-o", "json")
    t.ok(r.code == 0 and [x["name"] for x in r.json["artifacts"]] == ["last"], "the session goes on", r)
    t.good("evctl-session", "end", session)
