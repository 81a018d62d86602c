#!/usr/bin/python3
"""README's section on the door, word for word, from a published expert to a buyer's MCP client over HTTPS; and what doctor says
of a door that isn't set up whole."""
import atexit
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from doorlib import BIN, T, free_port, until
from certs import Authority
from mcplib import node, npm

README = (Path(__file__).parents[2] / "README.md").read_text()
home = npm()
with T() as t:
    commands = re.search(r"## The door\n.*?```sh\n(.*?)```", README, re.S).group(1).replace("\\\n", " ")
    lines = [x.split("  #")[0].strip() for x in commands.splitlines() if x.strip()]
    t.eq(len(lines), 6, "six commands")
    t.init()
    src = t.expert("crm-helper", {"leads.py": "def chart_leads(month):\n    return {'month': month, 'leads': 3}\n"},
                   "name: crm-helper\ndescription: Counts leads\ntools:\n  - {name: chart-leads, entry: 'leads.py:chart_leads'}\n")
    t.good("evctl-expert", "create", "crm-helper", "--dir", src)
    t.good("evctl-expert", "publish", "crm-helper")
    ca = Authority(t.dir)
    both, port = ca.cert("localhost"), free_port()
    inspector = f"{node(home)} {home}/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    # What differs is the machine's: its name and port, the certificate's files, and a package that is there already.
    script = "\n".join(lines[:5]).replace("chain.pem", both).replace("key.pem", both).replace("0.0.0.0:8443", f"0.0.0.0:{port}")
    script = script.replace("https://experts.example:8443", f"https://localhost:{port}") + "\necho $! > door.pid\n"
    env = {**t.env, "PATH": f"{BIN}:{os.environ['PATH']}", "NODE_EXTRA_CA_CERTS": ca.file}
    with open(t.dir / "said", "w") as said:  # a file: what goes on in the background keeps it open
        done = subprocess.run(["bash", "-e"], input=script, env=env, cwd=t.dir, stdout=said, stderr=said, text=True, timeout=60)
    said = (t.dir / "said").read_text()
    atexit.register(lambda pid: os.kill(pid, 9) if Path(f"/proc/{pid}").exists() else None, int((t.dir / "door.pid").read_text()))
    t.ok(done.returncode == 0 and "added buyer acme" in said and (t.dir / "acme.token").read_text().startswith("evb_"), "they run", said)
    last = lines[5].replace("npx @modelcontextprotocol/inspector", inspector).replace("https://experts.example:8443", f"https://localhost:{port}")

    def listed():
        r = subprocess.run(["bash", "-c", last], env=env, cwd=t.dir, capture_output=True, text=True, timeout=120)
        return r if '"chart-leads"' in r.stdout else None
    t.ok(until(listed, "the listing", 60), "and a client sees the tool")
    curl = re.search(r"`(curl -H .*?)`", README, re.S).group(1).replace("\n", " ")
    curl = curl.replace("curl ", f"curl -sS --cacert {ca.file} ").replace("https://experts.example:8443", f"https://localhost:{port}")
    r = subprocess.run(["bash", "-c", curl], env=env, cwd=t.dir, capture_output=True, text=True, timeout=60)
    t.ok('"leads": 3' in r.stdout, "and a plain call has its result", r)
    os.kill(int((t.dir / "door.pid").read_text()), 15)
    r = t.run("evctl-log", "usage", "--by", "buyer", "-o", "json")
    t.ok(r.json[0]["buyer"] == "acme" and r.json[0]["calls"] == 1, "which is on the bill", r)

    # doctor
    def words():
        return [(c["check"], c["is"], c["mend"]) for c in t.run("evctl-doctor", "-o", "json").json["checks"] if c["area"] == "door" and not c["ok"]]
    t.ok(not any(c[0] == "door-buyers" for c in words()), "doctor finds nothing about acme", words())
    t.good("evctl-buyer", "add", "zeta")
    t.ok(("door-buyers", "buyer zeta may use no expert", "evctl-buyer grant zeta EXPERT") in words(), "a buyer without a grant", words())
    t.good("evctl-buyer", "grant", "zeta", "crm-helper")
    t.ok(any("zeta has no token" in c[1] for c in words()), "or without a token", words())
    t.good("evctl-buyer", "token", "zeta")
    t.ok(not any(c[0] == "door-buyers" for c in words()), "control: then not", words())
