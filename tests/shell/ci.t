#!/usr/bin/python3
"""The CI examples' own steps, run as they stand in a clone of a repository such as they are for."""
import json
import os
import re
import shutil
import subprocess
import sys
import time

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, ROOT, T

CI = ROOT / "share/ci"
KEY = "crm-key-of-the-ci-test-0123456789"


def start_crm(t):
    """The demo's CRM on loopback."""
    folder = t.dir / "crm"
    folder.mkdir()
    server = subprocess.Popen(["/usr/bin/python3", ROOT / "share/demo/server.py", folder], stdin=subprocess.PIPE)
    server.stdin.write(KEY.encode() + b"\n")
    server.stdin.flush()
    end = time.monotonic() + 30
    while not (folder / "port").exists():
        if time.monotonic() > end:
            raise AssertionError("the CRM did not start")
        time.sleep(0.02)
    return server, int((folder / "port").read_text()), (folder / "ca.pem").read_text()


def make_repository(t, port, ca):
    """What share/ci/README.md says that it holds, in git; the private key stays outside."""
    repo, home = t.dir / "repo", {"EVCTL_HOME": str(t.dir / "builder")}
    repo.mkdir()
    shutil.copytree(ROOT / "share/demo/crm-helper", repo / "crm-helper")
    (repo / "evctl.yaml").write_text(
        "credentials: [{name: CRM_KEY, payer: stored}]\n"
        "hosts:\n  - host: api.crm.example\n    bind: CRM_KEY\n    allow_private: true\n"
        f"    connect_to: 127.0.0.1:{port}\n    ca: {json.dumps(ca)}\n"
        "experts: [{name: crm-helper, dir: ./crm-helper, hosts: [api.crm.example]}]\n")
    t.good("evctl-state", "init", env=home)
    t.good("evctl-cred", "add", "CRM_KEY", "--from-file", "-", stdin=KEY, env=home)
    t.good("evctl-apply", "-f", repo / "evctl.yaml", env=home)
    (repo / "ci").mkdir()
    t.good("evctl-state", "backup", repo / "ci/state", env=home)
    git = ["git", "-C", repo, "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "x"], check=True)
    return repo, t.dir / "builder/master.key"


class Job:
    """One clone, one environment, one shell after another, as a CI has them."""

    def __init__(self, t, repo, name, env, spoil=False):
        self.dir = t.dir / name
        subprocess.run(["git", "clone", "-q", repo, self.dir], check=True)
        self.env = {"PATH": f"{BIN}:/usr/bin:/bin", "HOME": str(t.dir / f"{name}-home"), "LC_ALL": "C.UTF-8", "CI": "true", **env}
        (t.dir / f"{name}-home").mkdir()
        self.log = ""
        if spoil:  # a key that nothing supplies
            code = self.dir / "crm-helper/leads.py"
            code.write_text(code.read_text().replace('EV_KEYS["CRM_KEY"]', 'EV_KEYS["OTHER_KEY"]'))

    def shell(self, script, env=None):
        r = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script], cwd=self.dir,
                           env={**self.env, **(env or {})}, capture_output=True, text=True, timeout=240)
        self.log += f"$ {script}\n{r.stdout}{r.stderr}[{r.returncode}]\n"
        return r.returncode

    def made_it(self):
        out = self.dir / "out/leads.png"
        result = self.dir / "result.json"
        return (result.exists() and json.loads(result.read_text())["leads"] > 0 and out.exists() and
                out.read_bytes()[:4] == b"\x89PNG")

    def findings(self):
        """All but the notes, which say what flags the hosts have."""
        found = json.loads((self.dir / "evctl.sarif").read_text())["runs"][0]["results"]
        return [f for f in found if f["level"] != "note"]


def github(t, repo, key, event, name, spoil=False):
    """The job of github.yml; its steps, what each upload step was given, and whether all went well."""
    flow = yaml.safe_load((CI / "github.yml").read_text())
    (job,) = flow["jobs"].values()
    box = Job(t, repo, name, {**flow["env"], "RUNNER_TEMP": str(t.dir / f"{name}-temp"), "GITHUB_ENV": str(t.dir / f"{name}-env")}, spoil)
    (t.dir / f"{name}-temp").mkdir()
    (t.dir / f"{name}-env").touch()
    failed, uploads = False, {}
    for step in job["steps"]:
        when = step.get("if", "success()")
        if when == "always()":
            go = True
        elif when == "github.event_name == 'push'":
            go = event == "push" and not failed
        else:
            assert when == "success()", when
            go = not failed
        if not go:
            continue
        if "uses" in step:
            with_ = step.get("with", {})
            uploads[step["uses"].split("@")[0]] = with_.get("sarif_file") or with_.get("path")
            continue
        env = {k: re.sub(r"\$\{\{ secrets\.EVCTL_KEY \}\}", lambda _: key.read_text().strip(), v)
               for k, v in step.get("env", {}).items()}
        failed |= box.shell(step["run"], env) != 0
        for line in (t.dir / f"{name}-env").read_text().splitlines():
            box.env[line.split("=", 1)[0]] = line.split("=", 1)[1]
    return box, uploads, not failed


def gitlab(t, repo, key, name, jobs, spoil=False):
    """Jobs of gitlab-ci.yml, each in a clone of its own, all lines of one in one shell."""
    flow = yaml.safe_load((CI / "gitlab-ci.yml").read_text())
    for job in jobs:
        box = Job(t, repo, f"{name}-{job}", {}, spoil)
        shared = t.dir / f"{name}-{job}-key"
        shutil.copy(key, shared)
        shared.chmod(0o666)
        box.env.update(CI_PROJECT_DIR=str(box.dir), EVCTL_KEY=str(shared))
        box.env.update({k: os.path.expandvars(v.replace("$CI_PROJECT_DIR", str(box.dir))) for k, v in flow["variables"].items()})
        code = box.shell("\n".join(flow["default"]["before_script"] + flow[job]["script"]))
        yield job, box, code, flow[job]["artifacts"]


with T() as t:
    server, port, ca = start_crm(t)
    try:
        repo, key = make_repository(t, port, ca)
        every = b"".join(p.read_bytes() for p in repo.rglob("*") if p.is_file())
        t.ok(KEY.encode() not in every and key.read_bytes().strip() not in every, "the repository holds no key")

        box, uploads, good = github(t, repo, key, "push", "gh-push")
        t.ok(good and box.made_it(), "GitHub, a push: verified, run, artifacts out", box.log)
        t.ok(box.findings() == [] and uploads == {"actions/checkout": None, "github/codeql-action/upload-sarif": "evctl.sarif",
                                                  "actions/upload-artifact": "result.json\nout/\n"}, "and what is uploaded is there",
             (uploads, box.log))
        box, uploads, good = github(t, repo, key, "pull_request", "gh-pr")
        t.ok(good and not (box.dir / "out").exists() and box.findings() == [], "GitHub, a pull request: verified without the key",
             box.log)
        box, uploads, good = github(t, repo, key, "push", "gh-red", spoil=True)
        f = box.findings()
        t.ok(not good and not (box.dir / "result.json").exists() and "github/codeql-action/upload-sarif" in uploads,
             "GitHub, a key that nothing supplies: fails, is annotated all the same, is not run", box.log)
        where = f[0]["locations"][0]["physicalLocation"]
        t.ok(f[0]["ruleId"] == "missing-key" and "OTHER_KEY" in f[0]["message"]["text"] and
             where["artifactLocation"]["uri"] == "crm-helper/leads.py" and where["region"]["startLine"] > 1,
             "the annotation is at its line, in the repository", f)

        for job, box, code, artifacts in gitlab(t, repo, key, "gl", ("verify", "run")):
            t.ok(code == 0, f"GitLab, {job}", box.log)
            if job == "verify":
                report = json.loads((box.dir / artifacts["reports"]["codequality"]).read_text())
                t.ok({f["severity"] for f in report} == {"info"}, "its report has the hosts' flags alone", (report, box.log))
            else:
                t.ok(box.made_it() and all((box.dir / p).exists() for p in artifacts["paths"]), "its artifacts are there", box.log)
        for job, box, code, artifacts in gitlab(t, repo, key, "gl-red", ("verify",), spoil=True):
            report = json.loads((box.dir / artifacts["reports"]["codequality"]).read_text())
            report = [f for f in report if f["severity"] != "info"]
            t.ok(code == 7 and len(report) == 1 and report[0]["check_name"] == "missing-key" and report[0]["severity"] == "major" and
                 report[0]["location"]["path"] == "crm-helper/leads.py" and report[0]["location"]["lines"]["begin"] > 1 and
                 len(report[0]["fingerprint"]) == 32, "GitLab, a key that nothing supplies: fails, with the line in its report",
                 (report, box.log))

        box = Job(t, repo, "make", {})
        shutil.copy(CI / "evctl.mk", box.dir)
        t.ok(box.shell(f"make -f evctl.mk KEY={key}") == 0 and box.made_it() and box.findings() == [], "Make", box.log)
        t.ok(box.shell(f"make -f evctl.mk KEY={key}") == 0, "again, on the same state", box.log)
        t.ok(box.shell("make -f evctl.mk clean verify KEY=/nowhere") == 0, "verifying needs no key", box.log)
        t.ok(box.shell("make -f evctl.mk KEY=/nowhere") != 0 and "hint:" in box.log.splitlines()[-2] + box.log, "running does", box.log)
        box = Job(t, repo, "make-red", {}, spoil=True)
        shutil.copy(CI / "evctl.mk", box.dir)
        t.ok(box.shell(f"make -f evctl.mk KEY={key}") != 0 and len(box.findings()) == 1 and not (box.dir / "out").exists(),
             "Make, a key that nothing supplies: fails, and evctl.sarif says where", box.log)
        logs = "".join(p.read_text(errors="replace") for p in t.dir.glob("*/result.json"))
        t.ok(KEY not in logs, "no result has the key")
        files = {p.name for p in CI.iterdir()}
        t.ok(files == {"README.md", "github.yml", "gitlab-ci.yml", "evctl.mk"}, "every example is tested", files)
    finally:
        server.stdin.close()
        server.wait()
