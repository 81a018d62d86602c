#!/usr/bin/python3
"""Tab, really pressed, in bash (with and without bash-completion), zsh and fish, in a terminal."""
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, HELPERS, ROOT, T

SQL = """
PRAGMA foreign_keys = OFF;
INSERT INTO credentials (id, name, payer, created, changed) VALUES (1,'CRM_KEY','stored',0,0), (2,'API_KEY','buyer',0,0);
INSERT INTO hosts (name, port, created) VALUES ('a.example',443,0), ('a.example',8443,0), ('b.example',9,0),
  ('*.w.example',443,0);
INSERT INTO experts (id, name, dir, published, created) VALUES (1,'crm-helper','/x',12,0), (2,'chart','/y',NULL,0);
INSERT INTO tools VALUES (1,'count-leads','Counts: leads'), (1,'xtool','');
INSERT INTO snapshots (id, expert, version, manifest, code, reads, verdict, created) VALUES (1,1,12,
  '{"tools":[{"name":"count-leads","input":{"properties":{"month":{"enum":["January","February"]},"of-year":{"enum":[2026]}}}}]}',
  x'00','[]','green',0);
INSERT INTO runs (id, expert, version, tool, status, pid, pid_start, started) VALUES
  ('rab0000000000001','crm-helper',1,'count-leads','ok',1,1,1), ('rcd0000000000002','crm-helper',1,'count-leads','ok',1,1,2);
INSERT INTO artifacts (run, name, bytes, type, inline, sha256, created) VALUES
  ('rab0000000000001','a b.png',1,'image/png',1,'ab',0), ('rab0000000000001','z.png',1,'image/png',1,'ab',0);
INSERT INTO sessions (id, expert, version, pid, pid_start, idle_s, started, ended) VALUES ('s000000000000001',1,1,1,1,1,0,NULL);
INSERT INTO connections (id, name, env, auth, created, changed) VALUES (1,'maps','M','bearer',0,0), (2,'images','I','bearer',0,0);
INSERT INTO buyer_values (credential, expert, buyer, changed) VALUES (1,1,'acme',0);
INSERT INTO buyers (name, added) VALUES ('registered',0);
INSERT INTO runs (id, expert, version, tool, status, buyer, pid, pid_start, started) VALUES
  ('ref0000000000003','crm-helper',1,'count-leads','ok','caller',1,1,0);
"""
# What is typed, and what the line must be after one Tab; several where shells quote differently.
LINES = [
    ("a credential", "evctl-cred show CR", "evctl-cred show CRM_KEY"),
    ("an expert", "evctl-expert show cr", "evctl-expert show crm-helper"),
    ("a tool", "evctl-run crm-helper co", "evctl-run crm-helper count-leads"),
    ("a run", "evctl-log show rc", "evctl-log show rcd0000000000002"),
    ("an artifact, its blank quoted", "evctl-artifact get rab0000000000001 a",
     "evctl-artifact get rab0000000000001 a\\ b.png"),
    ("an artifact, in open quotes", "evctl-artifact get rab0000000000001 'a",
     "evctl-artifact get rab0000000000001 'a b.png'"),
    ("a session", "evctl-run crm-helper xtool --session s0", "evctl-run crm-helper xtool --session s000000000000001"),
    ("a connection", "evctl-conn show ma", "evctl-conn show maps"),
    ("a version", "evctl-run crm-helper xtool --version 1", "evctl-run crm-helper xtool --version 12"),
    ("a buyer", "evctl-run crm-helper xtool --buyer a", "evctl-run crm-helper xtool --buyer acme"),
    ("a buyer that is registered", "evctl-run crm-helper xtool --buyer re", "evctl-run crm-helper xtool --buyer registered"),
    ("a buyer that called", "evctl-run crm-helper xtool --buyer ca", "evctl-run crm-helper xtool --buyer caller"),
    ("a member of the input", "evctl-run crm-helper count-leads --arg mo", "evctl-run crm-helper count-leads --arg month="),
    ("a member's value", "evctl-run crm-helper count-leads --arg month=J", "evctl-run crm-helper count-leads --arg month=January"),
    ("a member's value that is a number", "evctl-run crm-helper count-leads --arg of-year=",
     "evctl-run crm-helper count-leads --arg of-year=2026"),
    ("a member after '='", "evctl-run crm-helper count-leads --arg=mo", "evctl-run crm-helper count-leads --arg=month="),
    ("a member's value after '='", "evctl-run crm-helper count-leads --arg=month=F",
     "evctl-run crm-helper count-leads --arg=month=February"),
    ("a buyer after '='", "evctl-run crm-helper xtool --buyer=a", "evctl-run crm-helper xtool --buyer=acme"),
    ("a host", "evctl-bind set b", "evctl-bind set b.example:9"),
    ("a host with ':' typed", "evctl-host show a.example:", "evctl-host show a.example:8443"),
    ("a host's port begun", "evctl-host show a.example:8", "evctl-host show a.example:8443"),
    ("a second host", "evctl-expert attach chart a.example:8443 b.ex",
     "evctl-expert attach chart a.example:8443 b.example:9"),
    ("a wildcard", "evctl-host show \\*.", ("evctl-host show \\*.w.example", "evctl-host show '*.w.example'")),
    ("a choice", "evctl-cred add X --payer s", "evctl-cred add X --payer stored"),
    ("a choice after '='", "evctl-cred add X --payer=s", "evctl-cred add X --payer=stored"),
    ("a choice as an argument", "evctl-cred payer CRM_KEY b", "evctl-cred payer CRM_KEY buyer"),
    ("an output format", "evctl-verify crm-helper -o s", "evctl-verify crm-helper -o sarif"),
    ("a file", "evctl-cred add X --from-file se", "evctl-cred add X --from-file secret.txt"),
    ("a file after '='", "evctl-cred add X --from-file=se", "evctl-cred add X --from-file=secret.txt"),
    ("a directory", "evctl-expert create x --dir so", "evctl-expert create x --dir source/"),
    ("a directory where an expert could be", "evctl-verify ./so", "evctl-verify ./source/"),
    ("a noun", "evctl arti", "evctl artifact"),
    ("a noun's name", "evctl cred show CR", "evctl cred show CRM_KEY"),
    ("after an option before the noun", "evctl -o json cred show CR", "evctl -o json cred show CRM_KEY"),
    ("init's option", "evctl init --passphrase-", "evctl init --passphrase-fd"),
    ("help's topic", "evctl help contr", "evctl help contract"),
]
NOTHING = [
    ("a name that is none", "evctl-cred show NOPE"), ("a verb that is none", "evctl-cred nope "),
    ("a state that is none", "evctl-cred --state /nowhere show C"),
]


def quoted(word):
    """A word of tmux's own command language, which takes $ for a variable in double quotes only."""
    return "'" + word.replace("'", "'\\''") + "'"


class Terminal:
    """A shell in a terminal of its own, wide and tall enough that nothing scrolls or wraps."""

    def __init__(self, t, name, argv, env):
        base = ["tmux", "-S", t.dir / f"{name}.tmux", "-f", "/dev/null"]
        subprocess.run([*base, "new-session", "-d", "-x", "250", "-y", "150", "-c", t.dir / "there",
                        "env", "-i", *[f"{k}={v}" for k, v in env.items()], *argv], check=True)
        # One client for all that is asked, in tmux's control mode: each answer stands between two marks.
        self.client = subprocess.Popen([*base, "-C", "attach", "-f", "ignore-size,no-output"], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, encoding="utf-8")
        self.answer()
        self.until(lambda s: s.strip() == ">", 30)

    def answer(self):
        lines = None
        for line in self.client.stdout:
            if line.startswith(("%end ", "%error ")):
                if line.startswith("%error "):
                    raise AssertionError(lines)
                return "".join(lines)
            if line.startswith("%begin "):
                lines = []
            elif lines is not None:
                lines.append(line)
        raise AssertionError("tmux is gone")

    def tmux(self, *words):
        self.client.stdin.write(" ".join(map(quoted, words)) + "\n")
        self.client.stdin.flush()
        return self.answer()

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def until(self, right, seconds=8):
        end = time.monotonic() + seconds
        while True:
            s = self.screen()
            if right(s) or time.monotonic() > end:
                return s
            time.sleep(0.003)

    def line(self, screen):
        found = re.findall(r"^> ?(.*)$", screen, re.M)
        return found[-1].rstrip() if found else ""

    def clear(self):
        """An empty line on an empty screen: the last Tab has done all that it had to do."""
        self.tmux("send-keys", "C-u", "C-l")
        self.until(lambda s: s.strip() == ">")

    def tab(self, text, right):
        self.tmux("send-keys", "-l", text)
        self.until(lambda s: self.line(s) == text.rstrip())
        self.tmux("send-keys", "Tab")
        s = self.until(right)
        self.clear()
        return s

    def on(self, text, end):
        """Goes on typing where the line stands, with a Tab."""
        self.tmux("send-keys", "-l", text)
        self.until(lambda s: self.line(s).endswith(text))
        self.tmux("send-keys", "Tab")
        s = self.until(lambda s: self.line(s).endswith(end))
        self.clear()
        return s

    def close(self):
        self.client.stdin.write("kill-server\n")
        self.client.stdin.close()
        self.client.stdout.read()
        self.client.wait()


def stage(t):
    """The scripts where the shells look for those that packages bring."""
    share = t.dir / "share"
    for folder, script, names in (("bash-completion/completions", "evctl.bash", "{}"), ("fish/vendor_completions.d", "evctl.fish", "{}.fish")):
        (share / folder).mkdir(parents=True)
        for p in PROGRAMS:
            shutil.copy(ROOT / "completions" / script, share / folder / names.format(p))
    (share / "zsh/site-functions").mkdir(parents=True)
    shutil.copy(ROOT / "completions/_evctl", share / "zsh/site-functions/_evctl")
    return share


PROGRAMS = sorted(p.name for p in BIN.iterdir() if p.name.startswith("evctl") and p.name not in HELPERS)

with T() as t:
    t.init()
    db = sqlite3.connect(t.home / "state.db")
    db.executescript(SQL)
    db.close()
    (t.dir / "there/source").mkdir(parents=True)
    (t.dir / "there/secret.txt").write_text("x")
    share = stage(t)
    (t.dir / "inputrc").write_text("set show-all-if-ambiguous on\nset completion-query-items 0\nset page-completions off\n"
                                   "set bell-style none\nset enable-bracketed-paste off\nset colored-stats off\n")
    (t.dir / "bashrc").write_text("PS1='> '\n. /usr/share/bash-completion/bash_completion\n")
    (t.dir / "plainrc").write_text(f"PS1='> '\n. {ROOT}/completions/evctl.bash\n")
    (t.dir / "zsh").mkdir()
    (t.dir / "zsh/.zshrc").write_text(
        f"PS1='> '\nfpath=({share}/zsh/site-functions $fpath)\nautoload -U compinit\ncompinit -u -D\nLISTMAX=0\n"
        "setopt no_beep\n")
    (t.dir / "fish-config/fish").mkdir(parents=True)
    (t.dir / "fish-config/fish/config.fish").write_text(
        "function fish_prompt; echo -n '> '; end\nfunction fish_right_prompt; end\nset -g fish_greeting\n"
        "set -g fish_autosuggestion_enabled 0\n")
    env = {"PATH": f"{BIN}:/usr/bin:/bin", "HOME": str(t.dir), "EVCTL_HOME": str(t.home), "TERM": "screen",
           "LC_ALL": "C.UTF-8", "INPUTRC": str(t.dir / "inputrc"), "ZDOTDIR": str(t.dir / "zsh"),
           "BASH_COMPLETION_USER_DIR": str(share / "bash-completion"), "XDG_CONFIG_HOME": str(t.dir / "fish-config"),
           "XDG_DATA_DIRS": f"{share}:/usr/local/share:/usr/share", "NO_COLOR": "1"}
    specs = {p: json.loads(t.run(p, "--dump-spec").out) for p in PROGRAMS if p != "evctl"}
    for shell, argv in (("bash", ["bash", "--noprofile", "--rcfile", t.dir / "bashrc", "-i"]),
                        ("bash alone", ["bash", "--noprofile", "--rcfile", t.dir / "plainrc", "-i"]),
                        ("zsh", ["zsh", "-i"]), ("fish", ["fish", "-i"])):
        term = Terminal(t, shell.replace(" ", "-"), list(map(str, argv)), env)

        def all_there(words):
            return lambda s: all(re.search(rf"(^|[\s]){re.escape(w)}(\s|$)", s, re.M) for w in words)

        def lists(what, text, words):
            """One Tab shows all of the words, or completes the only one."""
            single = text.rsplit(" ", 1)[0] + " " + words[0] if len(words) == 1 else None
            right = (lambda s: term.line(s) == single) if single else all_there(words)
            s = term.tab(text, right)
            return [] if right(s) else [(what, text, s.strip()[-1500:])]

        wrong = []
        for p, spec in specs.items():
            named = [v["name"] for v in spec["verbs"] if v.get("name")]
            if named:
                wrong += lists("verbs", p + " ", named)
        t.ok(not wrong, f"{shell}: every verb of every program", wrong)
        wrong = []
        for p, spec in specs.items():
            for v in spec["verbs"]:
                options = ["--" + o["name"] for o in v["options"] + spec["options"] + spec["common"]]
                wrong += lists("options", " ".join(filter(None, (p, v.get("name"), "--"))), options)
        t.ok(not wrong, f"{shell}: every option of every verb", "\n".join(map(str, wrong[:3])))
        for what, text, want in LINES:
            wants = want if isinstance(want, tuple) else (want,)
            if shell == "bash alone" and "blank" in what or shell == "bash alone" and "quotes" in what:
                continue  # words with blanks need bash-completion
            s = term.tab(text, lambda s: term.line(s) in wants)
            t.ok(term.line(s) in wants, f"{shell}: {what}", s)
        # After "month=" comes no blank: what is typed next is its value.
        term.tmux("send-keys", "-l", "evctl-run crm-helper count-leads --arg mo")
        term.until(lambda s: term.line(s).endswith("--arg mo"))
        term.tmux("send-keys", "Tab")
        term.until(lambda s: term.line(s).endswith("month="))
        s = term.on("J", "--arg month=January")
        t.ok(term.line(s).endswith("--arg month=January"), f"{shell}: a member, then its value", s)
        s = term.tab("evctl-log show r", all_there(["rab0000000000001", "rcd0000000000002"]))
        t.ok(shell.startswith("bash") or "crm-helper count-leads ok" in s, f"{shell}: runs, with what they ran", s)
        for what, text in NOTHING:
            term.tmux("send-keys", "-l", text)
            term.until(lambda s: term.line(s) == text.rstrip())
            term.tmux("send-keys", "Tab")
            term.tmux("send-keys", "-l", "END")  # typed after: once it is shown, the Tab was dealt with
            s = term.until(lambda s: term.line(s).endswith("END"))
            t.ok(term.line(s) == text + "END" and len(s.strip().splitlines()) == 1, f"{shell}: {what}: nothing", s)
            term.clear()
        term.close()
