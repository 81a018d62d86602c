#!/usr/bin/python3
"""evctl-doctor: each finding provoked, with its mend; what --fix mends, and what it leaves alone."""
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, SANITIZED, T

SHA = "ab" + "0123456789abcdef" * 3 + "01234567890123"

# Runs a program without setdomainname(2), by a filter of its own.
FILTERED = """
import ctypes, os, platform, struct, sys
libc = ctypes.CDLL(None)
number = 171 if platform.machine() == "x86_64" else 162
ops = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *op) for op in ops))
program = struct.pack("HxxxxxxQ", len(ops), ctypes.addressof(text))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0):
    sys.exit("no filter")
os.execv(sys.argv[1], sys.argv[1:])
"""

with T() as t:
    def doctor(*more, **kw):
        return t.run("evctl-doctor", "-o", "json", *more, **kw)

    def checks(r):
        return {c["check"]: c for c in r.json["checks"]}

    def bad(r):
        return {c["check"] for c in r.json["checks"] if not c["ok"]}

    r = doctor()
    t.ok(r.code in (0, 7) and checks(r)["state-file"]["is"] == "none yet: evctl init" and
         checks(r)["state-file"]["ok"], "no state is no finding", r)
    t.init()
    t.cred("KEY", "sk-live-0123456789-abcd")
    r = doctor()
    base = bad(r)
    state_checks = {c["check"] for c in r.json["checks"] if c["area"] == "state"}
    t.ok(not base & state_checks and state_checks >= {
        "state-directory", "state-file", "objects-directory", "integrity", "audit-chain", "private-key",
        "orphan-objects", "missing-objects"}, "a new state is well", r)
    t.ok({"kernel", "user-namespaces", "bubblewrap", "python", "cell", "font-list", "landlock", "cgroup", "sandbox",
          "seccomp", "gate", "numpy", "pandas", "matplotlib", "pypdf", "PIL", "cryptography", "psutil", "clock",
          "disk-space"} <= set(checks(r)), "every part of the machine is looked at", sorted(checks(r)))
    broken = {c["check"] for c in r.json["checks"] if not c["ok"] and c["required"]}
    t.ok(r.json["ok"] == (not broken) and r.json["findings"] == len(base) and r.json["broken"] == len(broken) and
         r.code == (7 if broken else 0), "exit 0 when all is well or merely weaker, 7 where something is broken", r)
    for name in ("python", "bubblewrap", "numpy", "pandas", "matplotlib", "pypdf", "PIL", "cryptography", "psutil"):
        c = checks(r)[name]
        t.ok(c["ok"] and c["is"][:1].isdigit() and not c["mend"], f"{name} with its version", c)
    plain = t.run("evctl-doctor")
    t.ok(all(line.split("\t")[0] in ("ok", "missing", "weaker", "broken", "exposed") and line.count("\t") == 3
             for line in plain.out.splitlines()), "off a terminal, a tab-separated row for each", plain)
    t.ok(t.run("evctl-doctor", "-o", "name").out.split() == sorted(base, key=list(checks(r)).index),
         "-o name: the findings alone")
    before = sqlite3.connect(t.home / "state.db").execute("SELECT count(*) FROM audit").fetchone()
    t.ok(doctor("--fix").json["fixed"] == [], "nothing to fix")
    t.ok(sqlite3.connect(t.home / "state.db").execute("SELECT count(*) FROM audit").fetchone() == before,
         "and nothing was changed")

    # A network file system, by a library that says so: there is none to be had in a test
    (t.dir / "nfs.c").write_text("#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <string.h>\n#include <sys/vfs.h>\n"
                                 "int statfs(const char *p, struct statfs *s)\n"
                                 "{ memset(s, 0, sizeof *s); s->f_type = 0x6969; return 0; }\n"
                                 "int statfs64(const char *p, struct statfs64 *s) { return statfs(p, (void *)s); }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", t.dir / "nfs.so", t.dir / "nfs.c"], check=True)
    if not SANITIZED:
        nfs = {"LD_PRELOAD": str(t.dir / "nfs.so")}
        r = doctor(env=nfs)
        t.ok(bad(r) - base == {"local-disk"} and "NFS" in checks(r)["local-disk"]["is"] and
             "never share it" in checks(r)["local-disk"]["mend"], "a state on NFS is a finding", r)
        r = t.run("evctl-state", "init", env={**nfs, "EVCTL_HOME": str(t.dir / "remote")})
        t.ok(r.code == 0 and "NFS" in r.err and "never share" in r.err, "and init warns of it", r)
        r = t.run("evctl-state", "init", env={"EVCTL_HOME": str(t.dir / "local")})
        t.ok(r.code == 0 and r.err == "", "control: not on a disk", r)

    # As an ordinary user: root may lock what it likes
    if not SANITIZED and os.geteuid() == 0:
        for limit, ok in (("0", False), ("1048576", True)):
            r = subprocess.run(
                ["prlimit", f"--memlock={limit}:{limit}", "setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock",
                 BIN / "evctl-doctor", "-o", "json"], env=t.env, capture_output=True, text=True)
            row = next(c for c in json.loads(r.stdout)["checks"] if c["check"] == "locked-memory")
            t.ok(row["ok"] is ok and not row["required"] and ("swap" in row["is"]), f"memory to lock: {limit}", row)

    def finds(what, check, says, mend, level="broken", **kw):
        r = doctor(**kw)
        c = checks(r).get(check, {})
        t.ok(c.get("level") == level and r.code == (0 if level == "weaker" and not broken else 7) and bad(r) - base == {check} and says in c["is"] and mend in c["mend"], what, r)
        return r

    def well(what):
        r = doctor()
        t.ok(bad(r) == base, what, r)

    # modes
    for path, check, mode in ((t.home, "state-directory", 0o700), (t.home / "state.db", "state-file", 0o600),
                              (t.home / "objects", "objects-directory", 0o700)):
        path.chmod(mode | 0o044)
        finds(f"{check} open to others", check, f"{mode | 0o044:04o}", f"chmod {mode:o} '{path}'", "exposed")
        x = t.run("evctl-doctor")
        t.ok(f"note: evctl doctor --fix mends: {check}\n" in x.err, "and a note says that --fix mends it", x)
        r = doctor("--fix")
        t.ok(r.json["fixed"] == [check] and path.stat().st_mode & 0o7777 == mode and bad(r) == base,
             "--fix closes it", r)

    # the private key
    key = t.home / "master.key"
    kept = key.read_bytes()
    key.chmod(0o644)
    r = finds("the private key open to others", "private-key", "", f"chmod 600 '{key}'", "exposed")
    r = doctor("--fix")
    t.ok(len(r.json["fixed"]) == 1 and "rekey" in r.json["fixed"][0] and key.stat().st_mode & 0o7777 == 0o600 and
         bad(r) == base, "--fix closes it, and says that it may be known", r)
    key.chmod(0o644)
    r = t.run("evctl-doctor", "-o", "json", cwd=t.home, env={"EVCTL_KEY_FILE": "master.key"})
    t.ok(checks(r)["private-key"]["level"] == "exposed", "however it was named", r)
    key.chmod(0o600)
    key.unlink()
    finds("no private key", "private-key", "there is no private key", "--key-file", "missing")
    r = doctor("--fix")
    t.ok(bad(r) - base == {"private-key"} and r.json["fixed"] == [] and not key.exists(), "--fix makes none", r)
    other = {"EVCTL_HOME": str(t.dir / "other")}
    t.good("evctl-state", "init", env=other)
    shutil.copy(t.dir / "other/master.key", key)
    key.chmod(0o600)
    finds("another state's private key", "private-key", "is not this state's", "fingerprint")
    key.write_bytes(b"no key")
    finds("no key in the key's file", "private-key", "", "")
    key.write_bytes(kept)
    well("control: the right key again")
    rd, wr = os.pipe()
    os.write(wr, b"a long passphrase of mine")
    os.close(wr)
    wrapped = {"EVCTL_HOME": str(t.dir / "wrapped")}
    t.good("evctl-state", "init", "--passphrase", "--passphrase-fd", rd, env=wrapped, pass_fds=(rd,))
    r = doctor(env=wrapped)
    t.ok(checks(r)["private-key"]["ok"] and "passphrase" in checks(r)["private-key"]["is"],
         "a wrapped key is well, and not asked for", r)
    rd, wr = os.pipe()
    os.write(wr, b"not that passphrase")
    os.close(wr)
    r = t.run("evctl-doctor", "-o", "json", "--passphrase-fd", rd, env=wrapped, pass_fds=(rd,))
    t.ok(not checks(r)["private-key"]["ok"], "but a wrong passphrase is a finding", r)

    # What SQLite keeps beside the file, as a crash or a copy left it
    for name in ("state.db-shm", "state.db-wal"):
        for mode in (0o400, 0):
            beside = t.home / name
            beside.write_bytes(b"")
            beside.chmod(mode)
            r = doctor()
            t.ok(not checks(r)[name]["ok"] and checks(r)[name]["mend"] == f"chmod 600 '{beside}'", f"{name} of {mode:o}", r)
            if beside.exists():
                beside.chmod(0o600)  # none but root writes over it as it is
            beside.write_bytes(b"")
            beside.chmod(mode)
            r = doctor("--fix")
            t.ok(r.json["fixed"] == [name] and bad(r) == base, "--fix makes it ours to write", r)
    t.ok(t.run("evctl-cred", "list").code == 0, "and the state is in use again")

    # a directory of the state's that is gone
    (t.home / "objects").rename(t.dir / "objects-was")
    finds("no directory of objects", "objects-directory", "not there", "mkdir", "missing")
    r = doctor("--fix")
    t.ok(r.json["fixed"] == ["objects-directory"] and (t.home / "objects").stat().st_mode & 0o7777 == 0o700 and
         bad(r) == base, "--fix makes it", r)
    (t.home / "objects").rmdir()
    (t.dir / "objects-was").rename(t.home / "objects")

    # objects
    orphan = t.home / "objects" / SHA[:2] / SHA[2:]
    orphan.parent.mkdir(mode=0o700)
    orphan.write_bytes(b"bytes")
    finds("an orphan object", "orphan-objects", "1", "evctl doctor --fix", "weaker")
    r = doctor("--fix")
    t.ok(r.json["fixed"] == ["orphan-objects"] and not orphan.exists() and bad(r) == base, "--fix takes it", r)
    db = sqlite3.connect(t.home / "state.db", isolation_level=None)
    db.execute("INSERT INTO runs (id, expert, version, tool, status, pid, pid_start, started, ended) "
               "VALUES ('rabc', 'e', 1, 't', 'ok', 1, 1, 1, 1)")
    db.execute("INSERT INTO artifacts (run, name, bytes, type, inline, sha256, created) "
               "VALUES ('rabc', 'x', 1, 't', 0, ?, 0)", (SHA,))
    finds("a lost object", "missing-objects", "1", "evctl-artifact rm rabc")
    r = doctor("--fix")
    t.ok(bad(r) - base == {"missing-objects"}, "--fix cannot bring it back", r)
    t.good("evctl-artifact", "rm", "rabc", "--yes")
    well("but its mend does")

    # a run whose process is gone
    db.execute("INSERT INTO runs (id, expert, version, tool, status, pid, pid_start, started) "
               "VALUES ('rgone', 'e', 1, 't', 'running', 999999, 1, 1)")
    t.ok(doctor("--fix").json["fixed"] == ["gone-runs"], "--fix says that it ended a run")
    t.ok(db.execute("SELECT status FROM runs WHERE id = 'rgone'").fetchone() != ("running",),
         "--fix ends a run whose process is gone")

    # the clock
    last = db.execute("SELECT max(seq) FROM audit").fetchone()[0]
    now = db.execute("SELECT at FROM audit WHERE seq = ?", (last,)).fetchone()[0]
    db.execute("UPDATE audit SET at = ? WHERE seq = ?", (int(time.time() * 1000) + 10**9, last))
    r = doctor()
    t.ok(r.code == 7 and bad(r) - base == {"clock", "audit-chain"} and "timedatectl" in checks(r)["clock"]["mend"],
         "a clock behind what it said before", r)
    db.execute("UPDATE audit SET at = ? WHERE seq = ?", (now, last))
    well("control: the row as it was")

    # the audit chain
    row = db.execute("SELECT object FROM audit WHERE seq = 2").fetchone()[0]
    db.execute("UPDATE audit SET object = 'OTHER' WHERE seq = 2")
    finds("a changed row of the audit", "audit-chain", "2", "evctl-state restore")
    db.execute("UPDATE audit SET object = ? WHERE seq = 2", (row,))
    saved = db.execute("SELECT * FROM audit WHERE seq = 2").fetchone()
    db.execute("DELETE FROM audit WHERE seq = 2")
    finds("a row dropped from the audit", "audit-chain", "", "evctl-state restore")
    db.execute("INSERT INTO audit VALUES (?,?,?,?,?,?,?,?)", saved)
    well("control: the audit whole again")

    # a damaged file, a newer one
    version = db.execute("PRAGMA user_version").fetchone()[0]
    db.execute("PRAGMA user_version = 99")
    r = finds("a state of a newer evctl", "open", "99", "install the newer evctl")
    db.execute(f"PRAGMA user_version = {version}")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    page = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'credentials'").fetchone()[0]
    size = db.execute("PRAGMA page_size").fetchone()[0]
    db.close()
    whole = (t.home / "state.db").read_bytes()
    (t.home / "state.db").write_bytes(whole[:(page - 1) * size] + b"\xff" * size + whole[page * size:])
    r = doctor()
    t.ok(r.code == 7 and "integrity" in bad(r) and "evctl-state restore" in checks(r)["integrity"]["mend"],
         "a damaged page", r)
    (t.home / "state.db").write_bytes(b"no database" * 1000)
    r = finds("no database at all", "open", "", "evctl-state restore BACKUP")
    t.ok("disk-space" in checks(r) and "sandbox" in checks(r), "and the rest is looked at all the same", r)
    (t.home / "state.db").write_bytes(whole)
    well("control: the file whole again")

    # what a machine lacks, made so for the doctor alone
    def without(script):
        argv = ["unshare", "-m", "sh", "-c", script + ' && exec "$@"', "sh", BIN / "evctl-doctor", "-o", "json"]
        done = subprocess.run(argv, capture_output=True, env=t.env)
        return type(r)(argv, done)

    if os.geteuid() == 0:
        x = without("mount --bind /dev/null /usr/bin/bwrap")
        t.ok(x.code == 7 and "bubblewrap" in bad(x) and "apt-get install bubblewrap" in checks(x)["bubblewrap"]["mend"] and checks(x)["bubblewrap"]["level"] == "missing"
             and "sandbox" in bad(x), "no bubblewrap", x)
        x = without("mount -t tmpfs none /mnt && mkdir /mnt/u /mnt/w && mount -t overlay none "
                    "-o lowerdir=/usr,upperdir=/mnt/u,workdir=/mnt/w /usr && umount -l /mnt && "
                    "mv /usr/lib/python3/dist-packages/psutil /usr/lib/python3/dist-packages/was")
        t.ok(x.code == (7 if broken else 0) and bad(x) - base == {"psutil"} and checks(x)["psutil"]["level"] == "weaker" and
             checks(x)["psutil"]["mend"] == "apt-get install python3-psutil", "a package that is not there", x)
        argv = ["unshare", "-m", "-U", "-r", "sh", "-c", 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', "sh",
                BIN / "evctl-doctor", "-o", "json"]
        x = type(r)(argv, subprocess.run(argv, capture_output=True, env=t.env))
        t.ok(x.code == 7 and {"user-namespaces", "sandbox"} <= bad(x) and
             "sysctl -w user.max_user_namespaces" in checks(x)["user-namespaces"]["mend"], "no user namespaces", x)
        # As under a container's filter of system calls, which no file of /proc tells of: setdomainname is refused.
        argv = [sys.executable, "-c", FILTERED, BIN / "evctl-doctor", "-o", "json"]
        x = type(r)(argv, subprocess.run(argv, capture_output=True, env=t.env))
        t.ok(x.code == 7 and {"user-namespaces", "sandbox"} <= bad(x) and all(
            option in checks(x)[row]["mend"] for row in ("user-namespaces", "sandbox")
            for option in ("seccomp=seccomp.json", "systempaths=unconfined")), "a container's filter: the two options", x)
        x = without('mount --bind "$EVCTL_HOME" "$EVCTL_HOME" && mount -o remount,bind,ro "$EVCTL_HOME"')
        t.ok(x.code == 7 and "state-writable" in bad(x) and "remount,rw" in checks(x)["state-writable"]["mend"] and
             "evctl doctor" not in checks(x).get("open", {"mend": ""})["mend"], "a state that is read-only", x)
        x = without('mount -t tmpfs -o size=2m none "$EVCTL_HOME" && chmod 700 "$EVCTL_HOME" && '
                    f'{BIN}/evctl-state init >&2')
        t.ok(x.code == 7 and "disk-space" in bad(x) and "evctl-artifact gc" in checks(x)["disk-space"]["mend"],
             "no room on the disk", x)
        argv = ["unshare", "-m", "-p", "-f", "sh", "-c", 'mount -t proc proc /proc && exec "$@"', "sh",
                BIN / "evctl-doctor", "-o", "json"]
        x = type(r)(argv, subprocess.run(argv, capture_output=True, env=t.env))
        t.ok(bad(x) == base, "in a container with few processes of its own all is the same", x)
        x = without("mount --bind /dev/null /proc/keys")
        t.ok(bad(x) - base == {"sandbox"} and "systempaths=unconfined" in checks(x)["sandbox"]["mend"],
             "a /proc that is partly hidden, as containers have it", x)
        x = without("true")
        t.ok(bad(x) == base, "control: nothing taken away", x)
    rows = [c for c in checks(doctor()).values()]
    t.ok(all(c["mend"] or c["ok"] for c in rows), "every finding has its mend", rows)
