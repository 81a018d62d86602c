#!/usr/bin/python3
"""A limit of a group around evctl: what the kernel kills for it has reached a limit, and has not failed by itself."""
import atexit
import os
import sys
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import T, as_both

YAML = """name: o
tools:
  - {name: eat, entry: "m.py:eat"}
  - {name: end, entry: "m.py:end"}
"""
CODE = '''
import os, signal

def eat(mb):
    held = bytearray(mb << 20)
    for i in range(0, len(held), 4096):
        held[i] = 1
    return len(held)

def end():
    os.kill(os.getpid(), signal.SIGKILL)
'''
LIMIT = 160 << 20
CONTROLLER = Path("/sys/fs/cgroup/memory")


def enter_group():
    """Root moves itself into a small group of version 1, where it may; the tests that it starts are in it, too."""
    own = next((line.split(":", 2)[2] for line in Path("/proc/self/cgroup").read_text().splitlines()
                if "memory" in line.split(":")[1].split(",")), None)
    group = CONTROLLER / f"evctl-test-{os.getpid()}"
    before = CONTROLLER / (own or "").strip("/")

    def leave():
        (before if before.is_dir() else CONTROLLER).joinpath("cgroup.procs").write_text(str(os.getpid()))
        group.rmdir()

    if os.geteuid() != 0 or own is None:
        return
    try:
        group.mkdir()
    except OSError:
        return
    (group / "memory.limit_in_bytes").write_text(str(LIMIT))
    (group / "cgroup.procs").write_text(str(os.getpid()))
    os.environ["EVCTL_TEST_GROUP"] = str(group)
    atexit.register(leave)


if "EVCTL_TEST_AS" not in os.environ:
    enter_group()
as_both(__file__)

with T() as t:
    t.init()
    t.good("evctl-expert", "create", "o", "--dir", t.expert("o", {"m.py": CODE}, YAML))

    def status(tool, *args):
        r = t.run("evctl-run", "o", tool, "--draft", *args, "-o", "json")
        return r.json and r.json["status"], r

    t.ok((got := status("eat", "--arg", "mb=8"))[0] == "ok", "little memory is there", got)
    t.ok((got := status("end"))[0] == "failed", "a tool that ends itself has failed", got)
    if "EVCTL_TEST_GROUP" in os.environ:
        t.ok((got := status("eat", "--arg", "mb=300"))[0] == "limit", "the group's limit is told as one", got)
        t.ok((got := status("end"))[0] == "failed", "and what ends itself afterwards has failed", got)
    else:
        t.ok(True, "the group's limit is told as one # SKIP no control group of version 1 to make here")
