#!/usr/bin/python3
"""The chain from end to end, and where its key is while a run is held open: nowhere to be seen."""
import base64
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from crm import Crm
from tap import BIN, T
from waiting import wait_for

KEY = "sk-live-4f9a7c11e0d2b8"
CODE = '''
import http.client, json, os, socket, urllib.error, urllib.request

def fetch(path="/leads"):
    request = urllib.request.Request("https://api.crm.example" + path,
                                     headers={"Authorization": "Bearer " + EV_KEYS["CRM_KEY"]})
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read())

def client():
    c = http.client.HTTPSConnection("api.crm.example")
    c.request("GET", "/client")
    return c.getresponse().status

def boom():
    raise ValueError("my key is " + EV_KEYS["CRM_KEY"])

def reach():
    out = {}
    def attempt(name, function):
        try:
            out[name] = str(function())
        except urllib.error.HTTPError as e:
            out[name] = f"{e.code} {e.headers.get('X-Evctl-Gate')}"
        except Exception as e:
            out[name] = type(e).__name__
    attempt("attached", lambda: fetch()["leads"])
    attempt("loopback tcp inside", lambda: inside())
    attempt("not attached", lambda: urllib.request.urlopen("https://other.example/", timeout=3).status)
    attempt("lookup", lambda: socket.getaddrinfo("secret.attacker.example", 443))
    attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
    attempt("udp", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    attempt("unix", lambda: socket.socket(socket.AF_UNIX))
    attempt("host loopback", lambda: socket.create_connection(("127.0.0.1", HOST_PORT), 3))
    attempt("direct", lambda: socket.create_connection(("192.0.2.1", 443), 3))
    return out

def inside():
    s = socket.create_server(("127.0.0.1", 0))
    c = socket.create_connection(s.getsockname())
    a, _ = s.accept()
    a.sendall(b"x")
    return c.recv(1)

def stubborn():
    import signal, subprocess
    for s in range(1, 65):
        try: signal.signal(s, signal.SIG_IGN)
        except (OSError, ValueError): pass
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True: pass
        os._exit(0)
    while True: pass
'''
TOOLS = "fetch client boom reach stubborn".split()


def manifest(extra=""):
    rows = "".join(f"  - {{name: {t}, entry: 'crm.py:{t}', timeout: "
                   f"{2 if t == 'stubborn' else 20}}}\n" for t in TOOLS)
    return f"name: crm\ndescription: d\ntools:\n{rows}{extra}"


def procs():
    """{pid: ppid} of everything alive."""
    out = {}
    for p in Path("/proc").iterdir():
        if p.name.isdigit():
            try:
                stat = (p / "stat").read_text()
                out[int(p.name)] = int(stat.rpartition(")")[2].split()[1])
            except OSError:
                pass
    return out


def family(pid):
    tree, out = procs(), {pid}
    while True:
        more = {c for c, p in tree.items() if p in out} - out
        if not more:
            return out
        out |= more


def seen_in_proc(pid, needle):
    """Where a process shows the needle: argv, environment, the files that it has open."""
    found = []
    base = Path(f"/proc/{pid}")
    for part in ("cmdline", "environ", "comm", "maps", "mountinfo"):
        try:
            if needle in (base / part).read_bytes():
                found.append(part)
        except OSError:
            pass
    try:
        fds = list((base / "fd").iterdir())
    except OSError:
        fds = []
    for fd in fds:
        try:
            if os.path.isfile(os.path.realpath(fd)) or "memfd:" in os.readlink(fd):
                if needle in Path(fd).read_bytes():
                    found.append(f"fd {fd.name} {os.readlink(fd)}")
        except OSError:
            pass
    return found


with T() as t:
    t.init()
    crm = Crm(t.dir, "api.crm.example")
    t.cred("CRM_KEY", KEY)
    t.good("evctl-host", "add", "api.crm.example", *crm.host_options)
    src = t.expert("crm", {"crm.py": CODE.replace("HOST_PORT", str(crm.port))}, manifest())
    t.good("evctl-expert", "create", "crm", "--dir", src)
    t.good("evctl-expert", "attach", "crm", "api.crm.example")
    r = t.run("evctl-verify", "crm")
    t.ok(r.code == 7 and "evctl-bind set api.crm.example CRM_KEY" in r.out, "red before the bind", r)
    r = t.run("evctl-run", "crm", "fetch")
    t.ok(r.code != 0 and "CRM_KEY" in r.err and r.out == "" and not crm.seen,
         "a run before the bind says which key is missing", r)
    t.good("evctl-bind", "set", "api.crm.example", "CRM_KEY")
    r = t.run("evctl-verify", "crm")
    t.ok(r.code == 0 and "green: every key the code tools read is supplied by an attached host" in r.out,
         "green after", r)
    r = t.run("evctl-run", "crm", "fetch")
    t.ok(r.code == 0 and r.json == {"leads": 7}, "the run", r)
    t.ok(crm.seen and crm.seen[-1][2].get("Authorization") == "Bearer " + KEY, "the key arrived", crm.seen)
    r = t.run("evctl-run", "crm", "client")
    t.ok(r.code == 0 and r.out.strip() == "200", "http.client too", r)

    r = t.run("evctl-run", "crm", "reach")
    t.ok(r.code == 0, "reach ran", r)
    out = r.json if r.code == 0 else {}
    t.ok(out.get("attached") == "7" and out.get("loopback tcp inside") == "b'x'",
         "controls: the attached host, and loopback inside, are reached", out)
    for name in ("not attached", "lookup", "raw", "udp", "unix", "host loopback", "direct"):
        t.ok(out.get(name) in ("PermissionError", "URLError", "gaierror", "ConnectionRefusedError", "OSError"),
             f"not reached: {name}", out.get(name))

    # a tool that raises with the key in its message
    r = t.run("evctl-run", "crm", "boom")
    t.ok(r.code == 11 and r.out == "" and KEY not in r.err and "ValueError" not in r.err and
         "failed" in r.err and "crm.py" not in r.err, "a failure is the run's id and a word", r)
    run = t.run("evctl-log", "runs", "-o", "json").json[0]
    t.ok(run["status"] == "failed" and (run.get("id") or run.get("run")) in r.err, "the id is the run's", run)
    ident = run.get("id") or run.get("run")
    r = t.run("evctl-log", "show", ident)
    t.ok(r.code == 0 and "ValueError" in r.out and "crm.py" in r.out, "the owner reads the traceback", r)
    t.ok(KEY not in r.out and "my key is" in r.out, "scrubbed of the key", r)
    (t.home / "master.key").rename(t.dir / "kept.key")
    r = t.run("evctl-log", "show", ident)
    t.ok(r.code == 4 and "ValueError" not in r.out, "not without the private key", r)
    t.fails(4, "no run without it either", "evctl-run", "crm", "fetch")
    (t.dir / "kept.key").rename(t.home / "master.key")

    # while a run is held open: look at every process, and at every file
    crm.hold.clear()
    run = subprocess.Popen([BIN / "evctl-run", "crm", "fetch"], env=t.env, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
    t.ok(crm.held.wait(20), "a run is held open")
    people = family(run.pid)
    t.ok(len(people) >= 4, "with its gate, launcher, bwrap and cell", people)
    needles = [KEY.encode(), base64.b64encode(KEY.encode())[:24], KEY.encode().hex().encode()]
    found = {p: f for p in people for n in needles if (f := seen_in_proc(p, n))}
    t.ok(not found, "no process shows the key: argv, environment, files, descriptors", found)
    decoy = subprocess.Popen(["/bin/sleep", "60"], env={"K": KEY})
    t.ok(wait_for(lambda: seen_in_proc(decoy.pid, KEY.encode()) == ["environ"]), "control: it would be seen")
    decoy.kill()
    decoy.wait()
    def files_with(needle, *places):
        out = []
        for place in places:
            for p in Path(place).rglob("*"):
                try:
                    if p.is_file() and not p.is_symlink() and p.stat().st_size < 50_000_000 and \
                            needle in p.read_bytes():
                        out.append(str(p))
                except OSError:
                    pass
        return out
    (t.dir / "decoy").write_text(KEY)
    hits = files_with(KEY.encode(), t.home, t.dir, "/dev/shm", "/run/user")
    t.ok(hits == [str(t.dir / "decoy")], "no file has it (but the decoy, which is found)", hits)

    # SIGKILL of evctl-run leaves no process behind
    rest = people - {run.pid}
    run.kill()
    run.wait()
    t.ok(wait_for(lambda: not rest & set(procs())), "SIGKILL of evctl-run: all of it is gone",
         rest & set(procs()))
    crm.hold.set()
    r = t.run("evctl-log", "runs", "-o", "json")
    t.ok(all(row["status"] != "running" for row in r.json), "and the run has an end in the record", r)

    # the deadline
    run = subprocess.Popen([BIN / "evctl-run", "crm", "stubborn"], env=t.env, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
    people = set()
    while run.poll() is None:
        people |= family(run.pid)
        time.sleep(0.05)
    out, err = run.communicate()
    t.ok(run.returncode == 12 and out == b"" and b"timeout" in err, "the deadline: exit 12", err)
    t.ok(len(people) >= 6, "control: its processes were seen", people)
    t.ok(not (people - {run.pid}) & set(procs()), "and nothing of them survives", people & set(procs()))

    # bad input loses nothing
    t.fails(2, "malformed JSON input", "evctl-run", "crm", "fetch", "--input", "{oops")
    t.fails(2, "input that is no object", "evctl-run", "crm", "fetch", "--input", "[1]")
    t.fails(3, "no such tool", "evctl-run", "crm", "fetsh", hint="did you mean")
    t.fails(3, "no such expert", "evctl-run", "crmm", "fetch")
    (src / "expert.yaml").write_text("name: crm\ntools: [\n")
    t.fails(2, "malformed YAML: line and column", "evctl-run", "crm", "fetch", says="expert.yaml:")
    (src / "expert.yaml").write_text(manifest())
    r = t.run("evctl-run", "crm", "fetch")
    t.ok(r.code == 0 and r.json == {"leads": 7}, "and it still runs", r)
