#!/usr/bin/python3
"""Real clients, unmodified and with no setting, through the gate: what code in the sandbox uses."""
import os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gatelib import *


def run():
    ca = Authority("up")
    handle = calls_handler()
    up = Upstream(ca.cert("*.x.example"), handle)
    plain = Upstream(None, handle, tls=False)
    set_hosts(**{n + ".x.example": "127.0.0.1" for n in ("api", "plain", "no")})
    g = Gate()
    if g.port[443] != 443:
        skip_all("port 443 is taken")
    roots = os.path.join(tempdir(), "roots.pem")
    open(roots, "w").write(g.ca)
    subprocess.run(["mount", "--bind", roots, "/etc/ssl/certs/ca-certificates.crt"], check=True)
    g.begin(row("api.x.example", ca=ca.pem, connect_to=up.addr, allow_private=True),
            row("plain.x.example", connect_to=plain.addr, allow_private=True))
    env = {"PATH": "/usr/bin:/bin", "HOME": tempdir()}
    r = subprocess.run(["/usr/bin/python3", "-B", os.path.join(HERE, "calls.py")], capture_output=True, text=True,
                       env=env, timeout=120)
    ok(r.returncode == 0, "the clients ran", r.stderr)
    for name, good, note in json.loads(r.stdout or "[]"):
        if good is None:
            TAP.skip(name, note)
        else:
            ok(good, name, note)
    g.end()


main(run)
