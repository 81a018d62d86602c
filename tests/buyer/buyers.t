#!/usr/bin/python3
"""evctl-buyer at the shell: every verb, what each refuses, tokens' form and what the state keeps of them."""
import os
import re
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import T

YAML = """name: %s
tools:
  - {name: file, entry: "m.py:file"}
"""
CODE = {"m.py": "def file():\n    open('outputs/a.txt', 'w').write('what acme bought')\n    return 1\n"}
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
B = "evctl-buyer"


def checksum(text):
    n, out = zlib.crc32(text.encode()), ""
    for _ in range(6):
        n, digit = divmod(n, 62)
        out = DIGITS[digit] + out
    return out


with T() as t:
    t.init()
    for name in ("p", "q"):
        t.good("evctl-expert", "create", name, "--dir", t.expert(name, CODE, YAML % name))
        t.good("evctl-expert", "publish", name, "--yes", "--force")

    def show(name):
        return t.good(B, "show", name, "-o", "json").json

    # ---- add, list, show
    t.eq(t.good(B, "list", "-o", "json").json, [], "nobody at first")
    r = t.run(B, "add", "acme", "--note", "contract <b>17</b>")
    t.ok(r.code == 0 and r.out + r.err != "", "a buyer is added", r)
    t.fails(5, "the same again: exit 5", B, "add", "acme", hint="evctl-buyer show acme")
    t.fails(2, "builder is nobody's name", B, "add", "builder", hint="evctl-buyer add ANOTHER-NAME")
    for bad in ("", "A", "a b", "-x", "a/b", "..", "a\nb", "é", "x" * 65):
        t.fails(2, f"{bad[:9]!r} is no name: exit 2", B, "add", "--", bad)
    t.ok(t.run(B, "add", "x" * 64).code == 0, "control: one of 64 is")
    t.fails(2, "a note that is too long", B, "add", "long", "--note", "n" * 501, hint="evctl-buyer add long --note SHORTER")
    t.eq(show("acme")["note"], "contract <b>17</b>", "the note as it was given")
    for verb in (("show",), ("grant", "p"), ("revoke", "p"), ("token",), ("tokens",), ("limit", "p"), ("rm", "--yes"),
                 ("rm", "--purge", "--yes"), ("subject", "V", "--issuer", "https://i.example")):
        t.fails(3, f"{' '.join(verb)} of nobody: exit 3", B, verb[0], "nobody", *verb[1:], says="no buyer 'nobody'",
                hint="evctl-buyer add nobody")
    t.fails(3, "a name almost right is told", B, "show", "acne", hint="")

    # ---- grant, revoke
    t.good(B, "grant", "acme", "p")
    t.fails(3, "of several experts one that isn't there: exit 3", B, "grant", "acme", "q", "none")
    t.eq(show("acme")["experts"], ["p"], "and none of them is granted")
    t.eq([x["changed"] for x in t.good(B, "grant", "acme", "p", "q", "-o", "json").json], [False, True], "what changed is told")
    t.good(B, "revoke", "acme", "q")
    t.eq(show("acme")["experts"], ["p"], "and revoked")

    # ---- token, tokens, withdraw
    r = t.good(B, "token", "acme", "--label", "laptop")
    text = r.out.strip()
    t.ok(re.fullmatch(r"evb_[0-9A-Za-z]{49}\n", r.out), "a token is alone on stdout", r)
    t.ok(text not in r.err, "and not on stderr", r)
    t.eq(text[-6:], checksum(text[4:-6]), "its end is the CRC-32 of its digits")
    other = t.good(B, "token", "acme", "--expires", "never", "--only", "pages", "--expert", "p", "-o", "json").json
    t.ok(other["token"] != text and other["expires"] is None, "another is another, and -o json has its id", other)
    for what in (text, text[4:-6], text[4:20], other["token"]):
        t.eq(t.holding(what), [], "nothing of it is kept in the clear")
    t.ok(t.holding("laptop"), "control: its label is")
    t.eq(t.sql("SELECT count(*), count(DISTINCT hash), min(length(hash)) >= 32 FROM tokens"), [(2, 2, 1)], "a hash is")
    rows = t.good(B, "tokens", "acme", "-o", "json").json
    first, second = (next(x for x in rows if (x["token"] == other["id"]) == last) for last in (False, True))
    t.ok(first["label"] == "laptop" and first["only"] == "" and first["experts"] is None and first["last_used"] is None,
         "listed with what it is for", first)
    t.ok(second["only"] == "pages" and second["experts"] == ["p"] and second["expires"] is None, "and one with bounds", second)
    ms = t.sql("SELECT expires - created FROM tokens WHERE id = ?", first["token"])[0][0]
    t.ok(abs(ms - 90 * 86400000) < 5000, "90 days where nothing else is said", ms)
    for bad in ("0", "-1", "x", "1.5", "1x", "", "36501", "99999999999999999999"):
        t.fails(2, f"--expires {bad!r}: exit 2", B, "token", "acme", f"--expires={bad}", hint="--expires 90, or --expires never")
    t.fails(2, "--only something else: exit 2", B, "token", "acme", "--only", "ssh")
    t.fails(3, "--expert that isn't there: exit 3", B, "token", "acme", "--expert", "none")
    t.fails(2, "a label that is too long: exit 2", B, "token", "acme", "--label", "l" * 101)
    t.eq(t.sql("SELECT count(*) FROM tokens"), [(2,)], "and no token is made by any of these")
    t.fails(3, "of several one that isn't there: exit 3", B, "withdraw", first["token"], "nothing", hint="evctl-buyer tokens")
    t.eq(t.sql("SELECT count(*) FROM tokens WHERE withdrawn IS NOT NULL"), [(0,)], "and none is withdrawn")
    t.fails(3, "a token itself is no id: exit 3", B, "withdraw", text)
    t.good(B, "withdraw", first["token"])
    rows = {x["token"]: x["withdrawn"] for x in t.good(B, "tokens", "-o", "json").json}
    t.ok(rows[first["token"]] and not rows[second["token"]], "the one is withdrawn, the other not", rows)
    t.eq(show("acme")["tokens"], 1, "one is good")

    # ---- limit
    L = (B, "limit", "acme")
    t.fails(3, "a limit on an expert that isn't there: exit 3", *L, "none", "--calls-a-day", "1")
    t.fails(3, "nor is there anything left of it", *L, "none")
    t.fails(2, "--none with another: exit 2", *L, "p", "--none", "--at-once", "1", hint="evctl-buyer limit B E --none")
    for option, bad in (("calls-a-day", "-1"), ("calls-a-day", "x"), ("seconds-a-day", "1.5"), ("at-once", "0")):
        t.fails(2, f"--{option} {bad}: exit 2", *L, "p", f"--{option}={bad}")
    t.good(*L, "p", "--calls-a-day", "5", "--seconds-a-day", "60")
    r = t.good(*L, "p", "--at-once", "2", "-o", "json").json
    t.ok(r["calls_a_day"] == 5 and r["calls_left"] == 5 and r["seconds_a_day"] == 60 and r["at_once"] == 2,
         "what is not named stays", r)
    t.good(*L, "p", "--none")
    t.eq(t.good(*L, "p", "-o", "json").json["calls_a_day"], None, "--none: without any")
    t.good(*L, "p", "--calls-a-day", "5")

    # ---- subject
    S = (B, "subject", "acme")
    t.fails(2, "a subject of nobody's: exit 2", *S, "ada", hint="--issuer URL")
    for issuer in ("", "login.example", "file:///x", "https://x\ny", "https://" + "x" * 1020):
        t.fails(2, f"issuer {issuer[:14]!r}: exit 2", *S, "--issuer", issuer, "ada")
    for value in ("", "x" * 256, "a\nb"):
        t.fails(2, f"subject {value[:5]!r}: exit 2", *S, "--issuer", "https://i.example", "--", value)
    t.good(*S, "--issuer", "https://i.example", "ada", "bob")
    t.eq(show("acme")["subjects"], ["https://i.example ada", "https://i.example bob"], "two are tied")
    t.good(B, "add", "beta")
    t.fails(5, "who is another's: exit 5, and none is tied", B, "subject", "beta", "--issuer", "https://i.example", "eve", "ada",
            hint="evctl-buyer show acme")
    t.eq(show("beta")["subjects"], [], "none of them")
    t.good(B, "subject", "beta", "--issuer", "https://j.example", "ada")
    t.eq(show("beta")["subjects"], ["https://j.example ada"], "the same name at another issuer is somebody else")

    # ---- requests, listed
    t.good("evctl-expert", "set", "q", "--listed", "--contact", "ask@example.org")
    t.eq(t.sql("SELECT name, contact FROM experts WHERE listed"), [("q", "ask@example.org")], "an expert is listed")
    t.eq(t.good(B, "requests", "-o", "json").json, [], "nobody asks")
    t.sql("INSERT INTO buyer_experts (buyer, expert, asked) SELECT 'beta', id, 1 FROM experts WHERE name = 'q'")
    t.ok([(x["buyer"], x["expert"]) for x in t.good(B, "requests", "-o", "json").json] == [("beta", "q")], "who asks is listed")
    t.eq(show("beta")["experts"], [], "and has not got it")
    t.good(B, "grant", "beta", "q")
    t.ok(t.good(B, "requests", "-o", "json").json == [] and show("beta")["experts"] == ["q"], "granted, it is no request")

    # ---- rm
    run = t.good("evctl-run", "p", "file", "--buyer", "acme", "-o", "json").json["run"]
    t.fails(2, "rm asks, and nobody answers", B, "rm", "acme")
    t.ok(t.run(B, "show", "acme").code == 0, "control: the buyer is there still")
    # a run of this test's own process, as a program would have noted it
    start = int(open("/proc/self/stat").read().rsplit(")", 1)[1].split()[19])
    space = t.sql("SELECT pid_space FROM runs WHERE id = ?", run)[0][0]
    t.sql("UPDATE runs SET status = 'running', pid = ?, pid_start = ?, pid_space = ? WHERE id = ?", os.getpid(), start, space, run)
    for purge in ((), ("--purge",)):
        t.fails(5, f"refused while a run goes on {purge}: exit 5", B, "rm", "acme", "--yes", *purge, says=run)
    t.sql("UPDATE runs SET status = 'ok' WHERE id = ?", run)
    t.good(B, "rm", "acme", "--yes")
    t.fails(3, "then there is no such buyer", B, "show", "acme")
    gone = "SELECT (SELECT count(*) FROM %s WHERE buyer = 'acme')"
    for table in ("tokens", "buyer_experts", "quotas", "subjects", "buyer_values", "connection_values"):
        t.eq(t.sql(gone % table), [(0,)], f"nothing left in {table}")
    t.eq(t.sql("SELECT buyer FROM runs WHERE id = ?", run), [("acme",)], "the run stays")
    t.eq(t.sql("SELECT count(*) FROM artifacts WHERE run = ?", run), [(1,)], "and its artifact")
    t.fails(5, "the name stays taken: exit 5", B, "add", "acme", hint="evctl-buyer rm acme --purge")
    t.good(B, "rm", "acme", "--purge", "--yes")
    t.eq(t.sql("SELECT buyer FROM runs WHERE id = ?", run), [(None,)], "purged, the run is nobody's")
    t.eq(t.sql("SELECT count(*) FROM artifacts WHERE run = ?", run), [(0,)], "and the artifact is gone")
    t.good(B, "add", "acme")
    r = show("acme")
    t.ok(r["experts"] == [] and r["tokens"] == 0 and r["subjects"] == [] and r["quotas"] == [],
         "the name is free, and has nothing of whose it was", r)
    t.ok(t.run("evctl-run", "p", "file", "--buyer", "nobody-registered").code == 0, "at the shell any name is a buyer's")
