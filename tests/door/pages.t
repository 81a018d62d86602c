#!/usr/bin/python3
"""The door's pages over HTTP: signing in, listings, own keys, forms, the archive; and who must not."""
import re
import sys
import time
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from doorlib import Door, T, bearer, buyer, until

CODE = '''
def greet(who, times=1, loud=False, extra=None):
    open("outputs/a <b>.txt", "w").write("hi " + who)
    return {"said": [who] * times, "loud": loud, "extra": extra}

def keyed():
    return {"length": len(EV_KEYS["CRM_KEY"])}

def bad():
    raise ValueError("owner only: /srv/secret")
'''
MANIFEST = """name: crm
description: Reads <b>leads</b>
tools:
  - name: greet
    description: Greets & counts
    entry: t.py:greet
    input: {type: object, required: [who], properties: {who: {type: string, description: 'Whom "to" greet'}, times: {type: integer},
            loud: {type: boolean}, extra: {type: object}}}
    examples: [{input: {who: "<b>"}, output: {said: ["<b>"]}}]
  - {name: keyed, entry: "t.py:keyed"}
hosts: [api.crm.example]
"""
PLAIN = MANIFEST.replace("name: crm", "name: plain", 1).replace('keyed, entry: "t.py:keyed"', 'bad, entry: "t.py:bad"').replace("hosts: [api.crm.example]\n", "")


class Browser:
    """What a browser keeps: a cookie."""

    def __init__(self, door, origin=None):
        self.door, self.cookie, self.origin = door, None, origin or f"http://127.0.0.1:{door.port}"

    def ask(self, method, path, form=None, **more):
        headers = {**({"Cookie": self.cookie} if self.cookie else {}), **more}
        body = None
        if form is not None:
            body = urllib.parse.urlencode(form)
            headers = {"Origin": self.origin, "Content-Type": "application/x-www-form-urlencoded", **headers}
        r = self.door.ask(method, path, body, {k: v for k, v in headers.items() if v is not None})
        if r.headers.get("Set-Cookie"):
            self.set_cookie = r.headers["Set-Cookie"]
            self.cookie = self.set_cookie.split(";")[0]
        r.text = r.body.decode(errors="replace")
        return r

    def get(self, path, **more):
        return self.ask("GET", path, **more)

    def post(self, path, form, **more):
        csrf = getattr(self, "csrf", None)
        return self.ask("POST", path, {**({"csrf": csrf} if csrf else {}), **form}, **more)

    def sign_in(self, token):
        r = self.post("/", {"token": token})
        if r.status == 303:
            self.csrf = re.search(r'name="csrf" value="(\w+)"', self.get("/").text).group(1)
        return r


with T() as t:
    t.init()
    t.good("evctl-cred", "add", "CRM_KEY", "--payer", "buyer")
    t.good("evctl-host", "add", "api.crm.example", "--bind", "CRM_KEY", "--connect-to", "10.1.2.3:9443", "--allow-private")
    src = t.expert("crm", {"t.py": CODE}, MANIFEST)
    t.good("evctl-expert", "create", "crm", "--dir", src)
    t.good("evctl-expert", "publish", "crm", "--force", "--yes")
    plain = t.expert("plain", {"t.py": CODE.replace("EV_KEYS", "dict")}, PLAIN)
    t.good("evctl-expert", "create", "plain", "--dir", plain)
    t.good("evctl-expert", "publish", "plain")
    hidden = t.expert("hidden", {"t.py": "def f():\n    return 1\n"}, "name: hidden\ndescription: h\ntools:\n  - {name: f, entry: 't.py:f'}\n")
    t.good("evctl-expert", "create", "hidden", "--dir", hidden)
    t.good("evctl-expert", "publish", "hidden")
    acme, zeta = buyer(t, "acme", "crm", "plain"), buyer(t, "zeta")
    mcp_only = buyer(t, "acme", token=("--only", "mcp"))
    d = Door(t, "--sessions-a-buyer", 20)
    b, z, nobody = Browser(d), Browser(d), Browser(d)

    # ---- signing in
    r = nobody.get("/")
    t.ok(r.status == 200 and 'name="token"' in r.text and "crm" not in r.text, "without a cookie: a form, and no expert", r)
    policy = r.headers["Content-Security-Policy"]
    t.ok("default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "script" not in policy and
         r.headers["Referrer-Policy"] == "same-origin" and r.headers["Cache-Control"] == "no-store" and "<script" not in r.text,
         "no script, no frame, not kept", r.headers)
    r = b.sign_in(acme)
    t.ok(r.status == 303 and "HttpOnly" in b.set_cookie and "SameSite=Strict" in b.set_cookie and acme not in b.set_cookie and
         re.fullmatch(r"evctl-door=[0-9a-f]{64}", b.cookie), "a token gets a cookie, which is random", b.set_cookie)
    t.ok("crm" in b.get("/").text and "Reads &lt;b&gt;leads&lt;/b&gt;" in b.get("/").text, "and the experts granted; markup is text")
    for what, token, status in (("a bad token", "evb_" + "x" * 49, 401), ("one for MCP only", mcp_only, 403)):
        r = Browser(d).post("/", {"token": token})
        t.ok(r.status == status and "Set-Cookie" not in r.headers and token not in r.text, f"{what}: {status}", r)
    for what, more, status in (("from another site", {"Origin": "https://evil.example"}, 403), ("from nowhere", {"Origin": "null"}, 403),
                               ("without Origin", {"Origin": None}, 403), ("as JSON", {"Content-Type": "application/json"}, 415)):
        r = Browser(d).ask("POST", "/", {"token": acme}, **more)
        t.ok(r.status == status and "Set-Cookie" not in r.headers, f"a form {what}: {status}", r)

    # ---- the listing
    r = b.get("/e/crm")
    page = r.text
    t.ok(r.status == 200 and "Greets &amp; counts" in page and "Whom &quot;to&quot; greet" in page.replace("&#34;", "&quot;") or "Whom" in page, "the listing", r)
    t.ok("api.crm.example" in page and "10.1.2.3" not in page and "t.py" not in page and str(src) not in page, "hosts, but no address, file or path", page)
    t.ok("For example: <code>{&#34;who&#34;:&#34;&lt;b&gt;&#34;} -&gt; {&#34;said&#34;:[&#34;&lt;b&gt;&#34;]}</code>" in page.replace("&quot;", "&#34;"),
         "a tool's examples", page)
    t.ok(f"http://127.0.0.1:{d.port}/mcp/crm" in page and "CRM_KEY" in page, "a client's configuration, and the key to bring", page)
    t.eq([nobody.get(p).status for p in ("/e/crm", "/e/hidden", "/e/none")], [404] * 3, "for nobody it is not there, as one that is none")
    t.eq([b.get(p).status for p in ("/e/hidden", "/e/none", "/e/crm/none")], [404] * 3, "nor one that isn't granted")
    for path in ("/archive/", "/usage", "/e/crm/greet"):
        t.eq((nobody.get(path).status, nobody.get(path).headers["Location"]), (303, "/"), f"{path}: sign in first")

    narrow = Browser(d)
    narrow.sign_in(buyer(t, "acme", token=("--expert", "plain")))
    t.ok('href="/e/plain"' in narrow.get("/").text and "/e/crm" not in narrow.get("/").text and
         [narrow.get(p).status for p in ("/e/plain", "/e/plain/greet", "/e/crm", "/e/crm/greet")] == [200, 200, 404, 404],
         "a token for one expert shows no other", narrow.get("/").text)

    # ---- own keys
    value = "sk-live-çé-0123456789\r\nsecond line"
    r = b.post("/e/crm", {"do": "bring", "kind": "credential", "key": "CRM_KEY", "value": value})
    t.ok(r.status == 200 and "line" in r.text and "0123456789" not in r.text and "••••line" in r.text, "a key is brought, and shown masked", r)
    t.eq(t.sql("SELECT buyer, length, tail FROM buyer_values"), [("acme", len(value.replace("\r\n", "\n").encode()), "line")], "with its newlines as they were meant")
    t.ok("sk-live" not in d.log and not t.holding("sk-live"), "in no log, and in the clear nowhere")
    r = b.post("/e/crm/keyed", {})
    t.ok(r.status == 200 and '"length": %d' % len(value.replace("\r\n", "\n")) in r.text.replace("&quot;", '"').replace("&#34;", '"'), "the code gets it", r)
    for what, form, status in (("no value", {"do": "bring", "kind": "credential", "key": "CRM_KEY", "value": ""}, 422),
                               ("a key that is none", {"do": "bring", "kind": "credential", "key": "NOPE", "value": "x" * 20}, 409),
                               ("a form that is none", {"do": "erase", "kind": "credential", "key": "CRM_KEY"}, 409)):
        t.eq(b.post("/e/crm", form).status, status, f"{what}: {status}")
    r = b.ask("POST", "/e/crm", {"do": "withdraw", "kind": "credential", "key": "CRM_KEY"})
    t.ok(r.status == 403 and t.sql("SELECT count(*) FROM buyer_values") == [(1,)], "a form without the page's token does nothing", r)
    z.sign_in(zeta)
    r = z.post("/e/crm", {"do": "bring", "kind": "credential", "key": "CRM_KEY", "value": "x" * 20})
    t.ok(r.status == 404 and t.sql("SELECT count(*) FROM buyer_values") == [(1,)], "nor does one of somebody to whom it isn't granted", r)
    t.good("evctl-host", "add", "more.crm.example", "--bind", "CRM_KEY")
    t.good("evctl-expert", "attach", "crm", "more.crm.example")
    t.good("evctl-expert", "publish", "crm", "--force", "--yes")
    t.ok("more hosts than you agreed" in b.get("/e/crm").text, "a version that goes to more hosts asks again")
    t.ok("missing" in b.post("/e/crm/keyed", {}).text, "until then the key isn't given")
    r = b.post("/e/crm", {"do": "agree", "kind": "credential", "key": "CRM_KEY"})
    t.ok(r.status == 200 and "more hosts than you agreed" not in r.text and "Result" in b.post("/e/crm/keyed", {}).text, "a button agrees, without the value", r)
    r = b.post("/e/crm", {"do": "withdraw", "kind": "credential", "key": "CRM_KEY"})
    t.ok(r.status == 200 and t.sql("SELECT count(*) FROM buyer_values") == [(0,)], "and it is withdrawn", r)

    # ---- a tool's form, and a plain call
    form = b.get("/e/plain/greet").text
    t.ok(all(x in form for x in ('name="in.who"', 'name="in.times"', '<select id="in-loud"', '<textarea id="in-extra"')), "a form from the schema", form)
    r = b.post("/e/plain/greet", {"in.who": "<i>you</i>", "in.times": "2", "in.loud": "true", "in.extra": '{"a": [1]}'})
    t.ok(r.status == 200 and "&lt;i&gt;you&lt;/i&gt;" in r.text and "<i>you" not in r.text and "/archive/view/" in r.text, "its result, and the artifact", r)
    r = b.post("/e/plain/greet", {"in.who": "x", "in.times": "many"})
    t.ok(r.status == 422 and "not JSON" in r.text, "what does not fit: 422", r)
    r = b.post("/e/plain/greet", {"in.times": "1"})
    t.ok("who" in r.text and "alert" in r.text, "what is missing is said", r)
    r = b.post("/e/plain/bad", {})
    t.ok("It failed" in r.text and "owner only" not in r.text and "secret" not in r.text, "a failure, and not why", r)
    def call(tool, body, token=acme, expert="plain"):
        return d.ask("POST", f"/call/{expert}/{tool}", body, {"Authorization": f"Bearer {token}"})
    r = call("greet", {"who": "you"})
    t.ok(r.status == 200 and r.json["status"] == "ok" and r.json["result"]["said"] == ["you"] and r.json["artifacts"][0]["name"] == "a <b>.txt", "a plain call", r)
    for what, status, r in (("wrong input", 422, call("greet", {"wo": 1})), ("not JSON", 422, call("greet", "{")), ("a key is missing", 409, call("keyed", {}, expert="crm")),
                            ("it fails", 502, call("bad", {})), ("no such tool", 404, call("none", {})), ("no such expert", 404, call("f", {}, expert="hidden")),
                            ("a bad token", 401, call("greet", {"who": "x"}, token="evb_x"))):
        t.ok(r.status == status and b"owner only" not in r.body and str(src).encode() not in r.body, f"{what}: {status}", r)
    t.eq(d.ask("GET", "/call/plain/greet", None, {"Authorization": f"Bearer {acme}"}).status, 405, "and POST only")
    t.good("evctl-buyer", "limit", "acme", "plain", "--calls-a-day", 1)
    r = call("greet", {"who": "you"})
    t.ok(r.status == 429 and r.json["error"]["kind"] == "quota" and "00:00 UTC" in r.json["error"]["message"], "over the quota: 429", r)
    t.ok("0 of 1 calls" in b.get("/e/plain").text and "used up" in b.post("/e/plain/greet", {"in.who": "x"}).text, "which the pages say too")
    t.good("evctl-buyer", "limit", "acme", "plain", "--none")

    # ---- the archive
    run = t.sql("SELECT id FROM runs WHERE buyer = 'acme' AND tool = 'greet' AND status = 'ok' ORDER BY started LIMIT 1")[0][0]
    name = urllib.parse.quote("a <b>.txt")
    t.ok("a &lt;b&gt;.txt" in b.get("/archive/").text and b.get(f"/archive/run/{run}").status == 200, "own artifacts")
    t.eq(t.sql("SELECT fetched FROM artifacts WHERE run = ?", run), [(None,)], "not fetched yet")
    r = b.get(f"/archive/get/{run}/{name}")
    t.ok(r.status == 200 and r.body == b"hi <i>you</i>" and "attachment" in r.headers["Content-Disposition"] and "sandbox" in r.headers["Content-Security-Policy"],
         "the bytes, as an attachment", r)
    t.ok(until(lambda: t.sql("SELECT fetched FROM artifacts WHERE run = ?", run)[0][0], "the mark", 10), "and it counts as fetched")
    t.good("evctl-buyer", "grant", "zeta", "plain")
    t.eq([z.get(p).status for p in (f"/archive/run/{run}", f"/archive/get/{run}/{name}", f"/archive/view/{run}/{name}")], [404] * 3, "another buyer finds nothing")
    t.ok("1" in b.get("/usage").text and "builder" not in b.get("/usage").text, "usage")

    # ---- before they hire
    t.good("evctl-expert", "set", "hidden", "--listed", "--contact", "sales@example.com")
    r = nobody.get("/e/hidden")
    t.ok(r.status == 200 and "sales@example.com" in r.text and "<form" not in r.text.split("<main")[1], "a listed one is shown to everybody, to read", r)
    t.ok("hidden" in nobody.get("/").text, "and is on the first page")
    r = z.post("/e/hidden", {"do": "ask"})
    t.ok(r.status == 200 and t.good("evctl-buyer", "requests", "-o", "json").json[0]["buyer"] == "zeta", "who is signed in may ask for it", r)
    t.eq(z.get("/e/hidden/f").status, 404, "which is not yet a grant")
    t.good("evctl-buyer", "grant", "zeta", "hidden")
    t.ok(z.get("/e/hidden/f").status == 200 and t.good("evctl-buyer", "requests", "-o", "json").json == [], "the owner's answer is")
    t.good("evctl-expert", "set", "hidden", "--unlisted")
    t.eq(nobody.get("/e/hidden").status, 404, "unlisted it is gone again")

    # ---- the end of a visit
    stolen = b.cookie
    t.eq(b.post("/sign-out", {}).status, 303, "sign out")
    thief = Browser(d)
    thief.cookie = stolen
    t.ok('name="token"' in thief.get("/").text and thief.get("/usage").status == 303, "a cookie from before opens nothing")
    ids = [x["token"] for x in t.good("evctl-buyer", "tokens", "zeta", "-o", "json").json]
    t.ok(z.get("/usage").status == 200, "control: one is still signed in")
    t.good("evctl-buyer", "withdraw", *ids)
    t.eq(z.get("/usage").status, 303, "a token that is withdrawn signs out")
    for path in ("/%00", "/../../etc/passwd", "//evil.example/", "/e/", "/e//", "/archive/../e/crm", "/" + "x" * 9000):
        t.ok(nobody.get(path).status in (400, 404, 303, 414), f"{path[:20]}: nothing", nobody.get(path).status)
    t.eq([nobody.ask(m, "/").status for m in ("PUT", "DELETE", "OPTIONS", "TRACE")], [405] * 4, "other methods: 405")
    tries = [Browser(d).post("/", {"token": "evb_" + "y" * 49}).status for _ in range(13)]
    t.ok(tries[-1] == 429, "ten bad tokens a minute in the form, and no more", tries)
    t.eq(d.stop(), 0, "and the door ends")
