#!/usr/bin/python3
"""A remote buyer: evctl-mcp behind a forced command. Who the buyer is, is said by the key that logs in,
not by the client; and nothing else can be run. sshd speaks over a pipe here, no port is opened."""
import fcntl
import getpass
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from mcplib import BIN, Raw, T, serve_demo, skip_all


def programs():
    """Where sshd is: the system's, or Debian's package unpacked beside the build, never installed."""
    if not shutil.which("ssh") or not shutil.which("ssh-keygen"):
        return None
    found = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if found:
        return found, ""
    home = BIN.parent / "ssh"
    home.mkdir(exist_ok=True)
    with open(home / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sshd = home / "root/usr/sbin/sshd"
        if not sshd.exists() and shutil.which("apt-get"):
            # With the libraries that are not here: which they are differs.
            r = subprocess.run("for p in $(apt-cache depends openssh-server | sed -n 's/^ *Depends: \\(lib[^ ]*\\)$/\\1/p'); do "
                               "dpkg -s $p || echo $p >>wanted; done; "
                               "apt-get -q download openssh-server $(cat wanted) && "
                               "for d in *.deb; do dpkg -x $d root; done", shell=True, cwd=home,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
            if r.returncode:
                return None
    return (str(sshd), ":".join(str(p) for p in (home / "root").glob("usr/lib/*-linux-gnu"))) \
        if sshd.exists() else None


def parts_of(sshd):
    """Where the programs are that newer ones are split into, when they are not where they look for them."""
    for option, name in (("SshdSessionPath", "sshd-session"), ("SshdAuthPath", "sshd-auth")):
        path = Path(sshd).parents[1] / "lib/openssh" / name
        if path.exists() and path.parent != Path("/usr/lib/openssh"):
            yield option, path


def keygen(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return path.with_suffix(".pub").read_text().strip()


found = programs()
if not found:
    skip_all("there is no sshd here")
sshd, libs = found

with T() as t:
    serve_demo(t)
    d = t.dir / "ssh"
    d.mkdir()
    keygen(d / "host")
    lines = []
    for buyer in ("ann", "bob"):
        public = keygen(d / buyer)
        lines.append(f'restrict,command="EVCTL_HOME={t.home} {BIN}/evctl-mcp demo --buyer {buyer}" {public}')
    (d / "authorized_keys").write_text("\n".join(lines) + "\n")
    (d / "sshd_config").write_text(f"""HostKey {d}/host
AuthorizedKeysFile {d}/authorized_keys
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin forced-commands-only
LogLevel ERROR
""" + "".join(f"{option} {path}\n" for option, path in parts_of(sshd)))
    proxy = f"{d}/sshd.sh"
    (d / "passwd").write_text(Path("/etc/passwd").read_text() + "sshd:x:65533:65534::/run/sshd:/bin/false\n")
    # As root it wants a user and a folder of its own: both only in its own view of the files.
    (d / "sshd.sh").write_text("#!/bin/sh\n" + (f"""[ "$1" = in ] || exec unshare -m "$0" in
mount --bind {d}/passwd /etc/passwd && mount -t tmpfs -o mode=755 none /run && mkdir /run/sshd
""" if os.getuid() == 0 else "") + f"LD_LIBRARY_PATH={libs} exec {sshd} -i -f {d}/sshd_config\n")
    (d / "sshd.sh").chmod(0o755)

    def ssh(buyer, *command):
        return ["ssh", "-F", "none", "-T", "-i", str(d / buyer), "-o", "IdentitiesOnly=yes",
                "-o", "IdentityAgent=none", "-o", "StrictHostKeyChecking=no", "-o", "LogLevel=ERROR",
                "-o", f"UserKnownHostsFile={d}/known", "-o", f"ProxyCommand={proxy}",
                f"{getpass.getuser()}@evctl", *command]

    for buyer in ("ann", "bob"):
        with Raw(t, argv=ssh(buyer)) as c:
            t.ok(c.hello()["serverInfo"]["name"] == "demo", f"{buyer}: initialize over ssh")
            r = c.call("add", {"a": 1, "b": 2})
            t.ok(r["result"]["structuredContent"] == {"sum": 3}, f"{buyer}: a call", r)
            r = c.call("fail")
            t.ok("owner" not in json.dumps(r) and r["result"]["isError"], f"{buyer}: a failure's word", r)
            c.close()
            t.ok(c.p.wait(15) == 0 and c.p.stderr.read() == b"", f"{buyer}: and nothing on stderr")
    runs = t.good("evctl-log", "runs", "-o", "json").json
    t.ok(sorted({r["buyer"] for r in runs}) == ["ann", "bob"], "each key is its buyer", runs[:2])
    with Raw(t, argv=ssh("ann", "evctl-mcp demo --buyer bob; cat", str(t.home / "master.key"))) as c:
        c.hello()
        c.call("add", {"a": 1, "b": 2})
        out = json.dumps(c.seen)
    runs = t.good("evctl-log", "runs", "-o", "json").json
    key = (t.home / "master.key").read_text().strip()
    t.ok(runs[0]["buyer"] == "ann" and key not in out, "a command of the client's own is not run", runs[0])
    t.ok(len(key) > 20, "control: there is a key to be read")
