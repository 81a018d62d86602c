#!/usr/bin/python3
"""Random sequences of add, bind, rebind, attach, detach, publish, rotate, supply, rm, run against a
small model.

The model predicts each exit code, what every list and verdict says after each change, and of each
run which value it was given under which name. The seed is fixed and printed: EVCTL_TEST_SEED tries
another, EVCTL_TEST_STEPS makes the sequence longer.
"""
import collections
import copy
import hashlib
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import T

CREDS = ["A", "B", "C"]
HOSTS = ["one.example", "two.example:8443", "*.wild.example"]
EXPERTS = {"x": {"A": True, "B": False}, "y": {"B": True}}  # name -> key -> required
BUYERS = ["b1", "b2", "builder"]
# What a tool reads is what the scanner sees; what it was given is seen only as it runs.
CODE = """import builtins, hashlib

def main():
    got = getattr(builtins, ''.join(reversed('SYEK_VE')))
    if len(got) > 99:
        {reads}
    return {{k: hashlib.sha256(got[k].encode()).hexdigest() for k in sorted(got)}}
"""
# How often each is tried: what makes things more than what removes them, or there is little to run.
KINDS = {"cred-add": 4, "cred-rm": 1, "payer": 3, "rotate": 3, "host-add": 4, "host-rm": 1, "bind": 8,
         "clear": 1, "create": 6, "attach": 8, "detach": 1, "publish": 5, "force": 3, "unpublish": 1,
         "rm-version": 2, "rm": 0.5, "supply": 8, "withdraw": 1}
SEED = int(os.environ.get("EVCTL_TEST_SEED", 1))
STEPS = int(os.environ.get("EVCTL_TEST_STEPS", 500))
CHOSEN = not {"EVCTL_TEST_SEED", "EVCTL_TEST_STEPS"} & set(os.environ)  # others may miss a kind


class Model:
    def __init__(self):
        self.creds = {}    # name -> [payer, the stored value]
        self.hosts = {}    # text -> credential or None
        self.experts = {}  # name -> {"hosts": set, "published": n, "last": n, "versions": {n: {host: cred}}}
        self.rotated = set()  # values that came by rotate
        self.supplies = {}  # (cred, expert, buyer) -> (value, the hosts agreed to)

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

    def which(self, x, buyer, asked):
        """The version that is run: 0 the draft, None if there is none."""
        e = self.experts.get(x)
        if not e or (isinstance(asked, int) and asked not in e["versions"]):
            return None
        if asked == "draft" or (asked is None and not buyer and not e["last"]):
            return 0
        return asked or e["published"]

    def run(self, x, buyer, version):
        """Exit code, missing keys, and name -> value."""
        own = not version or buyer in (None, "builder")
        bindings = self.experts[x]["versions"][version] if version else self.draft(x)
        got, missing = {}, []
        for c in sorted({c for c in bindings.values() if c}):
            payer, value = self.creds[c]
            if payer == "buyer":
                value, agreed = self.supplies.get((c, x, "builder" if own else buyer), (None, set()))
                if not own and not {h for h, b in bindings.items() if b == c} <= agreed:
                    value = None
                if value is None and EXPERTS[x].get(c):
                    missing.append(c)
            if value is not None:
                got[c] = value
        return (14, missing, None) if missing else (0, [], got)

    def draft(self, name):
        return {h: self.hosts[h] for h in self.experts[name]["hosts"]}


def step(m, rng, folders, value):
    """One random action: the command, what it should exit with, and the model after it."""
    n = copy.deepcopy(m)
    c, h, x = rng.choice(CREDS), rng.choice(HOSTS), rng.choice(list(EXPERTS))
    e = n.experts.get(x)
    kind = rng.choices(list(KINDS), KINDS.values())[0]
    b = rng.choice(BUYERS)
    if kind == "cred-add":
        payer = rng.choice(["stored", "stored", "buyer"])
        cmd = ["evctl-cred", "add", c, "--payer", payer]
        cmd += ["--from-file", "-"] if payer == "stored" else []
        code = 5 if c in m.creds else 0
        n.creds.setdefault(c, [payer, value if payer == "stored" else None])
    elif kind == "cred-rm":
        cmd = ["evctl-cred", "rm", c, "--yes"]
        code = 3 if c not in m.creds else 5 if m.users_of_cred(c) else 0
        if code == 0:
            del n.creds[c]
            n.supplies = {k: v for k, v in n.supplies.items() if k[0] != c}
    elif kind == "payer":
        payer = rng.choice(["stored", "buyer"])
        cmd = ["evctl-cred", "payer", c, payer]
        code = 3 if c not in m.creds else 5 if payer == "stored" and not m.creds[c][1] \
            else 0
        if code == 0:
            n.creds[c][0] = payer
    elif kind == "rotate":
        cmd = ["evctl-cred", "rotate", c, "--from-file", "-"]
        code = 3 if c not in m.creds else 0
        if code == 0:
            n.creds[c][1] = value
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
        # What is published already is no new version, unless forced.
        if code == 0 and (kind == "force" or e["versions"].get(e["published"]) != m.draft(x)):
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
    elif kind == "supply":
        cmd = ["evctl-cred", "supply", c, "--expert", x, "--buyer", b, "--from-file", "-"]
        code = 3 if c not in m.creds else 5 if m.creds[c][0] == "stored" else 0 if e else 3
        if code == 0:
            now = e["versions"].get(e["published"], {})
            n.supplies[c, x, b] = value, {h for h, bound in now.items() if bound == c}
    elif kind == "withdraw":
        cmd = ["evctl-cred", "withdraw", c, "--expert", x, "--buyer", b]
        code = 0 if n.supplies.pop((c, x, b), None) else 3
    else:
        cmd, code = ["evctl-expert", "rm", x, "--yes"], 0 if e else 3
        n.experts.pop(x, None)
        n.supplies = {k: v for k, v in n.supplies.items() if k[1] != x}
    return cmd, code, (n if code == 0 else m)


def run_step(m, rng):
    """One random run: the command, the expert, for whom, and which version was asked for."""
    x, buyer = rng.choice(list(EXPERTS)), rng.choice([None, *BUYERS])
    last = m.experts[x]["last"] if x in m.experts else 0
    asked = rng.choice([None, None, None, "draft", "draft", rng.randint(1, last or 1)])
    cmd = ["evctl-run", x, "main", "-o", "json"] + (["--buyer", buyer] if buyer else [])
    cmd += ["--draft"] if asked == "draft" else ["--version", str(asked)] if asked else []
    return cmd, x, buyer, asked


def note_kinds(m, x, buyer, version, code, got, seen):
    """Counts what a run has shown, so that the test can tell that it has shown everything."""
    e = m.experts[x]
    if code == 14:
        seen["14"] += 1
        seen["14, widened since"] += any((c, x, buyer) in m.supplies for c in m.creds) and version > 0
        return
    kind = "draft" if not version else "published"
    draft = {h: b for h, b in m.draft(x).items() if b}
    for c, value in got.items():
        seen[f"{kind}: a value"] += 1
        if m.creds[c][0] == "buyer":
            own = kind == "draft" or buyer in (None, "builder")
            seen[f"{kind}: {'the builder' if own else 'a buyer'} brought it"] += 1
        elif value in m.rotated:
            seen[f"{kind}: a rotated value"] += 1
        if kind == "published" and c not in draft.values():
            seen["published: the draft has it no more"] += 1
    if kind == "published" and version != e["published"]:
        seen["an old version"] += 1


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


RUNS = {"14", "14, widened since", "draft: a value", "published: a value", "draft: a rotated value",
        "published: a rotated value", "draft: the builder brought it",
        "published: the builder brought it", "published: a buyer brought it",
        "published: the draft has it no more", "an old version"}


def digests(got):
    return {c: hashlib.sha256(v.encode()).hexdigest() for c, v in got.items()}


def wrong_run(t, m, rng, trail, codes, seen):
    """Runs, and says how that was not as the model has it."""
    cmd, x, buyer, asked = run_step(m, rng)
    trail.append(" ".join(cmd))
    version = m.which(x, buyer, asked)
    code, missing, got = m.run(x, buyer, version) if version is not None else (3, [], None)
    r = t.run(*cmd)
    codes.add(code)
    if r.code != code:
        return f"want exit {code}: {r}"
    if code == 3:
        return None
    note_kinds(m, x, buyer, version, code, got, seen)
    said = r.json
    if said["version"] != (version or "draft") or said.get("missing", []) != missing:
        return f"want version {version}, missing {missing}: {r}"
    if code == 0 and said["result"] != digests(got):
        return f"want {got}: {digests(got)}: {r}"
    return None


def wrong_step(t, m, rng, folders, i, trail, codes):
    """Changes something; the model after it, and how the programs differ from that."""
    value = f"the-value-of-step-{i:05}"
    cmd, code, after = step(m, rng, folders, value)
    trail.append(" ".join(map(str, cmd)))
    r = t.run(*cmd, stdin=value)
    codes.add(code)
    if r.code != code:
        return after, f"want exit {code}: {r}"
    if code == 0 and cmd[1] == "rotate":
        after.rotated.add(value)
    return after, "\n".join(differences(t, after)) if i % 4 == 0 or code == 0 else ""


with T() as t:
    t.init()
    folders = {}
    for name, keys in EXPERTS.items():
        reads = "; ".join(f"EV_KEYS['{k}']" if required else f"EV_KEYS.get('{k}')"
                          for k, required in keys.items())
        folders[name] = t.expert(name, {"main.py": CODE.format(reads=reads)},
                                 f"name: {name}\ntools:\n  - {{name: main, entry: main.py:main}}\n")
    print(f"# seed {SEED}")
    rng, m, trail, codes, seen = random.Random(SEED), Model(), [], set(), collections.Counter()
    fault = None
    for i in range(STEPS):
        if i > 20 and rng.random() < 0.35:
            fault = wrong_run(t, m, rng, trail, codes, seen)
        else:
            m, fault = wrong_step(t, m, rng, folders, i, trail, codes)
        if fault:
            break
    t.ok(not fault, f"{STEPS} random steps agree with the model (seed {SEED})",
         f"step {i}: {fault}\n" + "\n".join(trail[-12:]))
    t.ok(codes >= {0, 3, 5}, "control: refusals were among them", codes)
    t.ok(not CHOSEN or 7 in codes and RUNS <= {k for k, n in seen.items() if n},
         "control: so was every kind of run that matters",
         f"{RUNS - {k for k, n in seen.items() if n}} not among {dict(seen)}")
    t.ok(t.run("evctl-log", "audit", "--verify").code == 0, "and the audit chain fits")
