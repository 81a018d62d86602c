#!/usr/bin/python3
"""In a delegated scope of the user's: the limits of a run outlast what systemd does meanwhile."""
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, T

YAML = 'name: r\ntools: [{name: wait, entry: "m.py:wait"}]\n'
CODE = "import time\ndef wait():\n    print('begun', flush=True)\n    time.sleep(60)\n"


def group_of(pid):
    with open(f"/proc/{pid}/cgroup") as f:
        return Path("/sys/fs/cgroup" + f.read().strip().split(":", 2)[2])


with T() as t:
    t.init()
    t.good("evctl-expert", "create", "r", "--dir", t.expert("r", {"m.py": CODE}, YAML))
    before = group_of("self")
    p = subprocess.Popen([BIN / "evctl-run", "r", "wait", "--draft", "--debug"], env=t.env, stderr=subprocess.PIPE)
    t.ok(p.stderr.readline() == b"begun\n", "a run")
    groups = list(before.glob("evctl-*"))
    t.ok(len(groups) == 1 and group_of("self") == before / "evctl.supervisor",
         "it has a group, and the others of the scope a leaf", (groups, group_of("self")))

    def limits():
        try:
            return [int((groups[0] / name).read_text()) for name in ("memory.max", "pids.max")]
        except OSError as e:
            return str(e)

    had = limits()
    t.ok(had[0] > 1 << 30 and 64 <= had[1] < 70, "with limits", had)
    for what in (["systemctl", "--user", "daemon-reload"],
                 ["systemctl", "--user", "set-property", "--runtime", before.name, "CPUWeight=50"],
                 ["systemd-run", "--user", "--quiet", "--scope", "-p", "MemoryMax=50M", "true"],
                 ["systemctl", "--user", "daemon-reexec"],
                 ["systemd-run", "--user", "--quiet", "--scope", "true"]):
        done = subprocess.run(what, capture_output=True)
        t.ok(done.returncode == 0 and limits() == had, " ".join(what), (done, limits()))
    p.kill()
    p.communicate()
    end = time.monotonic() + 20
    while (groups[0] / "cgroup.procs").read_text() and time.monotonic() < end:
        time.sleep(0.01)
    t.ok(not (groups[0] / "cgroup.procs").read_text(), "killed, nothing runs on")
    t.run("evctl-doctor")
    t.ok(not groups[0].exists(), "and its group goes with whoever is next")
