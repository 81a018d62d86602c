#!/usr/bin/python3
"""The private key: where it is looked for, who may read it, passphrases, wrong keys."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, T

with T() as t:
    def key_line(**kw):
        return t.run("evctl-state", "status", "-o", "json", **kw).json["key"]

    # the default places
    plain = {"EVCTL_HOME": ""}
    r = t.run("evctl", "init", env=plain)
    xdg_key = t.dir / ".config/evctl/master.key"
    t.ok(r.code == 0 and (t.dir / ".local/share/evctl/state.db").exists() and xdg_key.exists(),
         "no names: XDG places", r)
    t.ok(oct(xdg_key.stat().st_mode)[-3:] == "600", "the key is 0600")
    t.init()
    own = t.home / "master.key"
    t.ok(own.exists() and key_line() == str(own), "a named state has its own key, used first")
    t.ok(own.read_bytes() != xdg_key.read_bytes(), "and it is another key")
    moved = t.dir / "moved.key"
    own.rename(moved)
    t.ok("not this state's" in key_line(), "the XDG key is tried next, and is not this state's")
    t.ok(key_line(env={"EVCTL_KEY_FILE": str(moved)}) == str(moved), "EVCTL_KEY_FILE")
    r = t.run("evctl-state", "status", "-o", "json", "--key-file", moved)
    t.ok(r.json["key"] == str(moved), "--key-file", r)
    fd = os.open(moved, os.O_RDONLY)
    r = t.run("evctl-state", "status", "-o", "json", "--key-fd", fd, pass_fds=(fd,))
    t.ok("--key-fd" in r.json["key"], "--key-fd", r)
    os.close(fd)
    creds = t.dir / "creds"
    creds.mkdir()
    (creds / "evctl.key").write_bytes(moved.read_bytes())
    (creds / "evctl.key").chmod(0o440)
    env = {"CREDENTIALS_DIRECTORY": str(creds)}
    t.ok(key_line(env=env) == str(creds / "evctl.key"), "a credentials directory, group may read")
    (creds / "evctl.key").chmod(0o444)
    t.ok("read by others" in key_line(env=env), "others may not")
    for mode in (0o640, 0o604, 0o660):
        moved.chmod(mode)
        t.ok("read by others" in key_line(env={"EVCTL_KEY_FILE": str(moved)}), f"{mode:o} is refused")
    moved.chmod(0o600)
    t.ok(key_line(env={"EVCTL_KEY_FILE": str(moved)}) == str(moved), "control: 600 is fine")

    # every message says whose word the place was
    for by, how in (("EVCTL_KEY_FILE", {"env": {"EVCTL_KEY_FILE": str(moved)}}), ("CREDENTIALS_DIRECTORY", {"env": env}),
                    ("default (EVCTL_HOME)", {})):
        place = {"EVCTL_KEY_FILE": moved, "CREDENTIALS_DIRECTORY": creds / "evctl.key"}.get(by, own)
        if place == own:
            own.write_bytes(moved.read_bytes())
        place.chmod(0o644)
        t.ok(f"by {by}: " in key_line(**how) and "read by others" in key_line(**how), f"a mode, by {by}", key_line(**how))
        place.chmod(0o600)
        was = place.read_bytes()
        place.write_bytes(xdg_key.read_bytes())
        t.ok(f"by {by.split('(')[-1].rstrip(')')}, is not this state's" in key_line(**how), f"another's key, by {by}", key_line(**how))
        place.write_bytes(b"nonsense")
        t.ok(f"by {by}: " in key_line(**how), f"no key at all, by {by}", key_line(**how))
        place.write_bytes(was)
    own.unlink()
    r = t.fails(4, "an option's", "evctl-state", "rekey", "--yes", "--key-file", xdg_key, says="by --key-file, is not this state's")

    # adding and rotating need no private key at all
    xdg_key.rename(t.dir / "away.key")
    r = t.run("evctl-cred", "add", "K", "--from-file", "-", stdin="sixteen-byte-key")
    t.ok(r.code == 0 and t.run("evctl-cred", "rotate", "K", "--from-file", "-",
                               stdin="another-long-key").code == 0, "add and rotate without a key", r)
    t.ok("no private key" in key_line(), "control: there is none to be found")
    t.ok("where HOME says" in key_line(), "and whose word that place was")
    lost = str(t.dir / "lost.key")
    t.ok(f"where EVCTL_KEY_FILE says: '{lost}'" in key_line(env={"EVCTL_KEY_FILE": lost}),
         "or EVCTL_KEY_FILE's")
    t.fails(4, "or an option's", "evctl-state", "rekey", "--key-file", lost,
            says=f"where --key-file says: '{lost}'")

    nowhere = t.dir / "nowhere"
    t.fails(9, "no state where EVCTL_HOME says", "evctl-state", "status", hint="evctl init",
            env={"EVCTL_HOME": str(nowhere)},
            says=f"there is no state file where EVCTL_HOME says: '{nowhere}/state.db'")
    t.fails(9, "or where --state says", "evctl-state", "status", "--state", nowhere,
            says=f"there is no state file where --state says: '{nowhere}/state.db'")
    t.fails(9, "or below HOME", "evctl-cred", "list", env={"EVCTL_HOME": "", "HOME": str(nowhere)},
            says="there is no state file where HOME says: ")

    # passphrase
    other = t.dir / "other"
    rd, wr = os.pipe()
    os.write(wr, b"correct horse\n")
    os.close(wr)
    r = t.run("evctl-state", "init", "--passphrase", "--state", other, "--passphrase-fd", rd,
              pass_fds=(rd,))
    t.ok(r.code == 0 and (other / "master.key").read_text().startswith("evctl-key-1-passphrase "),
         "init --passphrase wraps the key", r)

    def unlock(word):
        rd, wr = os.pipe()
        os.write(wr, word)
        os.close(wr)
        return t.run("evctl-state", "status", "-o", "json", "--state", other, "--passphrase-fd", rd,
                     pass_fds=(rd,)).json["key"]
    t.ok(unlock(b"correct horse\n") == str(other / "master.key"), "the passphrase opens it")
    t.ok(unlock(b"wrong") == "wrong passphrase", "a wrong one does not")
    r = t.run("evctl-state", "status", "-o", "json", "--state", other)
    t.ok("terminal" in r.json["key"], "no terminal: said, no hang", r)
    (t.dir / "junk").write_text("not a key")
    (t.dir / "junk").chmod(0o600)
    t.ok("not an evctl private key" in key_line(env={"EVCTL_KEY_FILE": str(t.dir / "junk")}),
         "junk is no key")

    # A state file that may not be read is there, and no init is advised. Root reads all; without these two, not.
    mine = [] if os.getuid() else ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
    list_it = [*mine, str(BIN / "evctl-cred"), "list", "-o", "json"]
    done = subprocess.run(list_it, env=t.env, capture_output=True, text=True)
    t.ok(done.returncode == 0, "control: it lists", done)
    (t.home / "state.db").chmod(0)
    done = subprocess.run(list_it, env=t.env, capture_output=True, text=True)
    error = json.loads(done.stderr)["error"]
    t.ok(done.returncode == 9 and "cannot read the state file" in error["message"] and
         "init" not in error["hint"], "a state of somebody else's is not missing", done)
