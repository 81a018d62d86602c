#!/usr/bin/python3
"""The protocol's own conformance suite at the door, through a real nginx, which adds the token that the suite can't send.
What it asks of prompts, sampling, logging and subscriptions is not offered here."""
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from doorlib import Door, Nginx, T, buyer
from mcplib import SOURCE, node, npm

APPLIES = ["server-initialize", "ping", "tools-list", "tools-call-simple-text", "tools-call-image",
           "tools-call-audio", "tools-call-error", "tools-call-with-progress", "json-schema-2020-12",
           "resources-list", "dns-rebinding-protection", "server-sse-multiple-streams"]
MANIFEST = """name: suite
description: What the suite calls
tools:
  - {name: test_simple_text, description: Text, entry: text.py}
  - {name: test_image_content, description: A picture, entry: "t.py:picture"}
  - {name: test_audio_content, description: A sound, entry: "t.py:sound"}
  - {name: test_error_handling, description: Fails, entry: "t.py:fail"}
  - {name: test_tool_with_progress, description: Takes a while, entry: "t.py:slow"}
  - name: json_schema_2020_12_tool
    description: Tool with JSON Schema 2020-12 features
    entry: t.py:nothing
    input:
      $schema: https://json-schema.org/draft/2020-12/schema
      type: object
      $defs:
        address: {type: object, properties: {street: {type: string}, city: {type: string}}}
      properties: {name: {type: string}, address: {$ref: "#/$defs/address"}}
      additionalProperties: false
"""
CODE = SOURCE + '''
def picture():
    open("outputs/dot.png", "wb").write(png())

def sound():
    open("outputs/beep.wav", "wb").write(wav())

def slow():
    time.sleep(3.5)
    return {"done": True}

def nothing(**kw):
    return {}
'''

home = npm()
with T() as t:
    t.init()
    folder = t.expert("suite", {"t.py": CODE, "text.py": "print('This is a simple text response.')"},
                      MANIFEST)
    t.good("evctl-expert", "create", "suite", "--dir", folder)
    t.good("evctl-expert", "publish", "suite")
    acme = buyer(t, "acme", "suite")
    suite = home / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    with Door(t, "--sessions-a-buyer", 60) as d, Nginx(t, d.port, f'proxy_set_header Authorization "Bearer {acme}";') as n:
        for name in APPLIES:
            r = subprocess.run([node(home), suite, "server", "--url", f"http://localhost:{n.port}/mcp/suite",
                                "--scenario", name], env=t.env, cwd=t.dir, capture_output=True,
                               text=True, timeout=120)
            t.ok(r.returncode == 0 and "FAILURE" not in r.stdout, f"conformance: {name}",
                 (r.stdout + r.stderr)[-3000:])
        r = subprocess.run([node(home), suite, "server", "--url", f"http://localhost:{n.port}/mcp/suite",
                            "--scenario", "prompts-list"], env=t.env, cwd=t.dir,
                           capture_output=True, text=True, timeout=120)
        t.ok(r.returncode != 0, "control: the suite tells what is not offered", r.stdout[-1000:])
