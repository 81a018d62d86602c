#!/usr/bin/python3
"""The templates of engines that are not run here: read by what knows their forms, and saying what evctl-task understands."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, ROOT, Tap

t = Tap()
PLACE = ROOT / "share" / "batch"
variables = (ROOT / "cmd" / "evctl-task.c").read_text()

try:
    import yaml
    from kubernetes import client
except ImportError as e:
    t.skip("the Kubernetes Job", f"there is no module {e.name}")
else:
    class Answer:
        def __init__(self, data):
            self.data = json.dumps(data)

    given = yaml.safe_load((PLACE / "kubernetes.yaml").read_text())
    api = client.ApiClient()
    job = api.deserialize(Answer(given), "V1Job")
    t.eq(api.sanitize_for_serialization(job), given, "the Job is read as a V1Job and written again, nothing lost")
    wrong = api.sanitize_for_serialization(api.deserialize(Answer({**given, "spec": {**given["spec"], "completionmode": "x"}}), "V1Job"))
    t.ok("completionmode" not in wrong["spec"], "control: a member that is none is lost")
    t.eq((job.spec.completion_mode, job.spec.template.spec.restart_policy), ("Indexed", "Never"), "it is an Indexed Job")
    t.eq(job.spec.template.spec.containers[0].command[0].split("/")[-1], "evctl-task", "of evctl-task")
    t.ok('"JOB_COMPLETION_INDEX"' in variables, "which knows its variable")

npm = shutil.which("npm")
with tempfile.TemporaryDirectory(prefix="evctl-test.") as place:
    made = npm and subprocess.run([npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", place, "hcl2-parser@1.0.3"],
                                  capture_output=True, timeout=300).returncode == 0
    if not made:
        t.skip("the Nomad job", "npm, or its hcl2-parser, cannot be had")
    else:
        script = "const h = require(process.argv[1]); process.stdout.write(JSON.stringify(h.parseToObject(require('fs').readFileSync(0, 'utf8'))))"

        def parse(text):
            done = subprocess.run(["node", "-e", script, f"{place}/node_modules/hcl2-parser"], input=text, capture_output=True, text=True)
            try:
                return json.loads(done.stdout)[0]
            except (ValueError, IndexError, TypeError):
                return None

        text = (PLACE / "nomad.hcl").read_text()
        job = parse(text)
        task = job["job"]["evctl-batch"][0]["group"]["chunks"][0]["task"]["chunk"][0]
        t.eq(task["config"][0]["command"].split("/")[-1], "evctl-task", "the Nomad job is read, and is of evctl-task")
        t.ok(not parse(text.replace("{", "", 1)), "control: one that is broken is not read")
        t.ok('"NOMAD_ALLOC_INDEX"' in variables, "which knows its variable")
sys.exit(t.done())
