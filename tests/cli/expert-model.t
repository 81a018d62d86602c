#!/usr/bin/python3
"""Random sequences of add, bind, rebind, attach, detach, publish, rotate, rm against a small model.

The model predicts each exit code, and after each step what every list and verdict says. The seed is
printed; EVCTL_TEST_SEED repeats a sequence, EVCTL_TEST_STEPS makes it longer.
"""
import copy
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import T

CREDS = ["A", "B", "C"]
HOSTS = ["one.example", "two.example:8443", "*.wild.example"]
EXPERTS = {"x": {"A": True, "B": False}, "y": {"B": True}}  # name -> key -> required
SEED = int(os.environ.get("EVCTL_TEST_SEED", random.randrange(1 << 32)))
STEPS = int(os.environ.get("EVCTL_TEST_STEPS", 250))


class Model:
    def __init__(self):
        self.creds = {}    # name -> [payer, has a stored value]
        self.hosts = {}    # text -> credential or None
        self.experts = {}  # name -> {"hosts": set, "published": n, "last": n, "versions": {n: {host: cred}}}

    def users_of_cred(self, c):
        return [h for h, b in self.hosts.items() if b == c] + [
            v for x in self.experts.values() for v in x["versions"].values() if c in v.values()]

    def supplied(self, bindings, key):
        hosts = [h for h, c in bindings.items() if c == key]
        if not hosts or not (self.creds[key][0] == "buyer" or self.creds[key][1]):
            return None
        return min(hosts)

    def verdict(self, name, bindings):
        reads = {k: self.supplied(bindings, k) for k in EXPERTS[name]}
        missing = [k for k, h in reads.items() if h is None]
        status = ("red" if any(EXPERTS[name][k] for k in missing) else
                  "amber" if missing else "green")
        unused = sorted((c, h) for h, c in bindings.items() if c and c not in reads)
        return status, reads, unused

    def draft(self, name):
        return {h: self.hosts[h] for h in self.experts[name]["hosts"]}


def step(t, m, rng, folders):
    """One random action: the command, what it should exit with, and the model after it."""
    n = copy.deepcopy(m)
    c, h, x = rng.choice(CREDS), rng.choice(HOSTS), rng.choice(list(EXPERTS))
    e = n.experts.get(x)
    kind = rng.choice(["cred-add", "cred-rm", "payer", "rotate", "host-add", "host-rm", "bind", "bind",
                       "clear", "create", "attach", "attach", "detach", "publish", "publish",
                       "force", "unpublish", "rm-version", "rm"])
    value = "0123456789abcdef"
    if kind == "cred-add":
        payer = rng.choice(["stored", "stored", "buyer"])
        cmd = ["evctl-cred", "add", c, "--payer", payer]
        cmd += ["--from-file", "-"] if payer == "stored" else []
        code = 5 if c in m.creds else 0
        n.creds.setdefault(c, [payer, payer == "stored"])
    elif kind == "cred-rm":
        cmd = ["evctl-cred", "rm", c, "--yes"]
        code = 3 if c not in m.creds else 5 if m.users_of_cred(c) else 0
        if code == 0:
            del n.creds[c]
    elif kind == "payer":
        payer = rng.choice(["stored", "buyer"])
        cmd = ["evctl-cred", "payer", c, payer]
        code = 3 if c not in m.creds else 5 if payer == "stored" and not m.creds[c][1] else 0
        if code == 0:
            n.creds[c][0] = payer
    elif kind == "rotate":
        cmd = ["evctl-cred", "rotate", c, "--from-file", "-"]
        code = 3 if c not in m.creds else 0
        if code == 0:
            n.creds[c][1] = True
    elif kind == "host-add":
        cmd, code = ["evctl-host", "add", h], 5 if h in m.hosts else 0
        n.hosts.setdefault(h, None)
    elif kind == "host-rm":
        cmd = ["evctl-host", "rm", h, "--yes"]
        used = any(h in v["hosts"] for v in m.experts.values())
        code = 3 if h not in m.hosts else 5 if used else 0
        if code == 0:
            del n.hosts[h]
    elif kind == "bind":
        cmd = ["evctl-bind", "set", h, c]
        code = 3 if h not in m.hosts or c not in m.creds else 0
        if code == 0:
            n.hosts[h] = c
    elif kind == "clear":
        cmd, code = ["evctl-bind", "clear", h], 0 if h in m.hosts else 3
        if code == 0:
            n.hosts[h] = None
    elif kind == "create":
        cmd = ["evctl-expert", "create", x, "--dir", folders[x]]
        code = 5 if e else 0
        n.experts.setdefault(x, {"hosts": set(), "published": None, "last": 0, "versions": {}})
    elif kind in ("attach", "detach"):
        cmd = ["evctl-expert", kind, x, h]
        code = 0 if e and h in m.hosts else 3
        if code == 0:
            (e["hosts"].add if kind == "attach" else e["hosts"].discard)(h)
    elif kind in ("publish", "force"):
        cmd = ["evctl-expert", "publish", x] + (["--force"] if kind == "force" else [])
        red = e and m.verdict(x, m.draft(x))[0] == "red"
        code = 3 if not e else 7 if red and kind == "publish" else 0
        if code == 0:
            e["last"] += 1
            e["published"] = e["last"]
            e["versions"][e["last"]] = m.draft(x)
    elif kind == "unpublish":
        cmd, code = ["evctl-expert", "unpublish", x], 0 if e else 3
        if e:
            e["published"] = None
    elif kind == "rm-version":
        v = rng.randint(1, max(1, e["last"] if e else 1))
        cmd = ["evctl-expert", "rm-version", x, str(v), "--yes"]
        code = 3 if not e or v not in e["versions"] else 5 if v == e["published"] else 0
        if code == 0:
            del e["versions"][v]
    else:
        cmd, code = ["evctl-expert", "rm", x, "--yes"], 0 if e else 3
        n.experts.pop(x, None)
    return cmd, code, (n if code == 0 else m), value


def said(t, *cmd):
    r = t.run(*cmd, "-o", "json")
    return r.json, r.code


def differences(t, m):
    """Whatever the programs say that the model does not."""
    out = []

    def check(what, got, want):
        if got != want:
            out.append(f"{what}: got {got}, want {want}")

    rows = said(t, "evctl-expert", "list")[0]
    check("experts", [r["name"] for r in rows], sorted(m.experts))
    for row in rows:
        e = m.experts[row["name"]]
        draft = m.draft(row["name"])
        check("hosts", {h["host"]: h["injects"] for h in row["hosts"]}, draft)
        check("published", row["published"], e["published"])
        check("versions", row["versions"], sorted(e["versions"]))
        views = [((), draft)]
        if e["published"]:
            views.append((("--published",), e["versions"][e["published"]]))
        for args, bindings in views:
            v, code = said(t, "evctl-verify", row["name"], *args)
            status, reads, unused = m.verdict(row["name"], bindings)
            check(f"verdict {args}", (v["status"], code), (status, 7 if status == "red" else 0))
            check(f"reads {args}", {r["name"]: r["host"] for r in v["reads"]}, reads)
            check(f"unused {args}", sorted((u["name"], u["host"]) for u in v["unused"]), unused)
    return out


with T() as t:
    t.init()
    folders = {}
    for name, keys in EXPERTS.items():
        code = "".join(f"EV_KEYS['{k}']\n" if required else f"EV_KEYS.get('{k}')\n"
                       for k, required in keys.items())
        folders[name] = t.expert(name, {"main.py": code},
                                 f"name: {name}\ntools:\n  - {{name: main, entry: main.py}}\n")
    print(f"# seed {SEED}")
    rng, m, trail, codes = random.Random(SEED), Model(), [], set()
    fault = None
    for i in range(STEPS):
        cmd, code, m, value = step(t, m, rng, folders)
        trail.append(" ".join(map(str, cmd)))
        r = t.run(*cmd, stdin=value)
        codes.add(code)
        if r.code != code:
            fault = f"step {i}: want exit {code}: {r}"
        elif i % 4 == 0 or code == 0:
            fault = "\n".join(differences(t, m)) or None
        if fault:
            break
    t.ok(fault is None, f"{STEPS} random steps agree with the model (seed {SEED})",
         f"{fault}\n" + "\n".join(trail[-12:]))
    t.ok(codes >= {0, 3, 5}, "control: refusals were among them", codes)
    t.ok(t.run("evctl-log", "audit", "--verify").code == 0, "and the audit chain fits")
