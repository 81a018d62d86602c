#!/usr/bin/python3
"""Values as people bring them: pasted at the hidden prompt in lines, and with blanks or marks around them."""
import base64
import hashlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import T
from tmux import Shell

PEM = "-----BEGIN PRIVATE KEY-----\n" + base64.b64encode(bytes(range(48))).decode() + "\n-----END PRIVATE KEY-----\n"
JSON = '{\n  "type": "service_account",\n\n  "key": "a{b\\"[c",\n  "list": [1, 2]\n}\n'
PGP = "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\nlQOYBGAAAAABCADabcdef\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----\n"
SSH2 = '---- BEGIN SSH2 PUBLIC KEY ----\nAAAAB3NzaC1yc2EAAAADAQABAAABAQ\n---- END SSH2 PUBLIC KEY ----\n'
CODE = """import hashlib
def size(name):
    v = EV_KEYS[name].encode()
    return [len(v), hashlib.sha256(v).hexdigest()]
"""


def digest(value):
    return [len(value.encode()), hashlib.sha256(value.encode()).hexdigest()]


with T() as t:
    t.init()
    names = []
    term = Shell(t, "paste", columns=120)

    def asks(name, text, *more, ends=()):
        names.append(name)
        term.line(f"evctl-cred add {name} {' '.join(more)}").sees(r"\(hidden\):")
        term.pastes(text)
        if ends:
            term.sees("Ctrl-D ends it")
            term.keys(*ends)
        return term.sees(r"(added credential|error:)[^\n]*") + term.sees(r"\n>")

    for name, text, ends, what in (
            ("PEM", PEM, ["Enter"], "a PEM, ended by an empty line"),
            ("PEM_EOF", PEM, ["C-d"], "a PEM, ended by Ctrl-D"),
            ("CHAIN", PEM + PEM, ["Enter"], "two blocks"),
            ("PGP", PGP, ["Enter"], "armour with headers and an empty line"),
            ("SSH2", SSH2, ["Enter"], "SSH2's armour"),
            ("JSON", JSON, [], "JSON, which ends with its bracket, empty line and all"),
            ("LINE_JSON", '{"a": "bcdefghijk"}\n', [], "JSON in one line"),
            ("WORD", "a-word-of-20-letters\n", [], "a word")):
        s = asks(name, text, ends=ends)
        lines = text.count("\n")
        told = f", {len(text.encode()) - 1} bytes" + (f" in {lines} lines" if lines > 1 else "")
        t.ok("added credential" in s and f"note: value: ••••••••" in s and told in s, f"{what}: taken, told masked with its length",
             s)
        t.ok("AAECAw" not in term.screen() and "service_account" not in term.screen(), "and not shown", term.screen())
    for name, text, ends, what in (
            ("HALF", "\n".join(PEM.split("\n")[:2]) + "\n", ["Enter"], "armour without its end"),
            ("HALF_JSON", '{\n"a": 1,\n', ["Enter"], "JSON without its end")):
        s = asks(name, text, ends=ends)
        t.ok("error: what was pasted breaks off" in s and "--from-file -" in s, f"{what} is refused", s)
        t.ok(t.run("evctl-cred", "show", names.pop()).code == 3, "and not stored")
    s = asks("BRACE", "{a-password-with-a-brace\n", ends=["Enter"])
    t.ok("added credential" in s and ", 24 bytes" in s, "a password may begin with a brace", s)
    s = asks("NETRC", "machine a.example\nlogin me\npassword secret\n")
    t.ok("added credential" in s and "warning: more lines came after it" in s and "--from-file -" in s,
         "other lines: the first, and it is said", s)
    s = asks("LINE_OF_MANY", PEM, "--sealed", ends=["Enter"])
    t.ok("error: the value holds a line break" in s, "a sealed one has no lines", s)
    names.pop()
    s = asks("BLANKS", "  a-word-of-20-letters \n")
    t.ok("begins with white space and ends in white space, which is kept (--trim drops it)" in s, "blanks are told", s)
    s = asks("TRIMMED", "  a-word-of-20-letters \n", "--trim")
    t.ok("warning" not in s and ", 20 bytes" in s, "--trim drops them at a prompt", s)
    term.close()

    src = t.expert("e", {"m.py": CODE}, "name: e\ntools: [{name: size, entry: 'm.py:size'}]\n")
    for n in names:
        t.good("evctl-host", "add", f"{n.lower().replace('_', '-')}.example", "--bind", n)
    t.good("evctl-expert", "create", "e", "--dir", src)
    t.good("evctl-expert", "attach", "e", *[f"{n.lower().replace('_', '-')}.example" for n in names])
    for n, text in (("PEM", PEM), ("PEM_EOF", PEM), ("CHAIN", PEM + PEM), ("PGP", PGP), ("SSH2", SSH2), ("JSON", JSON),
                    ("LINE_JSON", '{"a": "bcdefghijk"}\n'), ("TRIMMED", "a-word-of-20-letters")):
        r = t.run("evctl-run", "e", "size", "--draft", "--arg", f"name={n}")
        t.eq(r.json if r.code == 0 else str(r), digest(text.rstrip("\n")), f"{n} is what was pasted, whole")

    def by_fd(*args, value):
        rd, wr = os.pipe()
        os.write(wr, value)
        os.close(wr)
        r = t.run(*args, "--from-fd", rd, pass_fds=(rd,))
        os.close(rd)
        return r

    def by_file(*args, value):
        (t.dir / "value").write_bytes(value)
        return t.run(*args, "--from-file", t.dir / "value")

    def by_stdin(*args, value):
        return t.run(*args, "--from-file", "-", stdin=value)

    WORD = b"a-word-of-20-letters"
    n = 0
    for source in (by_fd, by_file, by_stdin):
        for value, says in ((b" " + WORD, "begins with white space, which"), (WORD + b"\t", "ends in white space, which"),
                            (WORD + b"\n\n", None), ("\u3000".encode() + WORD, "begins with white space, which"),
                            (WORD + "\u00a0".encode(), "ends in white space, which"),
                            (b"\xef\xbb\xbf" + WORD, "begins with a byte order mark, which"),
                            (b"\xef\xbb\xbf" + WORD + b" ", "begins with a byte order mark and ends in white space, which"),
                            (b" \t ", "is nothing but white space"), (WORD, "")):
            if says is None:
                says = "ends in a newline, which" if source == by_stdin else "ends in white space, which"
            n += 1
            r = source("evctl-cred", "add", f"N{n}", value=value)
            t.ok(r.code == 0 and (says and f"warning: the value {says}" in r.err or not says and r.err == ""),
                 f"{source.__name__}: {value!r} is told", r)
            r = source("evctl-cred", "add", f"N{n}", "--replace", "--trim", value=value)
            if value.strip():
                t.ok(r.code == 0 and r.err == "" and t.sql("SELECT length FROM credentials WHERE name = ?", f"N{n}") == [(20,)],
                     "and --trim drops it", r)
            else:
                t.ok(r.code == 2 and "the value is empty" in r.err, "and --trim leaves nothing", r)
    r = by_fd("evctl-cred", "add", "NEWLINE", value=WORD + b"\n")
    t.ok("ends in a newline, which is kept (--trim drops it)" in r.err, "a descriptor's newline is told", r)
    r = by_stdin("evctl-cred", "add", "NEWLINE2", value=WORD + b"\n")
    t.ok(r.code == 0 and r.err == "", "stdin's one newline is dropped, as ever", r)
    r = by_file("evctl-cred", "add", "WIDE", value="\ufeffa-word".encode("utf-16-le"))
    t.ok(r.code == 2 and "NUL" in r.err and "hint: it is UTF-16" in r.err, "UTF-16 is called that", r)
    t.good("evctl-expert", "create", "s", "--dir", t.expert("s", {"m.py": CODE}, "name: s\ntools: [{name: size, entry: 'm.py:size'}]\n"))
    t.good("evctl-cred", "add", "THEIRS", "--payer", "buyer")
    for what, args in (("a buyer's", ("evctl-cred", "supply", "THEIRS", "--expert", "s", "--buyer", "b")),
                       ("a new", ("evctl-cred", "rotate", "NEWLINE"))):
        r = by_fd(*args, value=b" " + WORD)
        t.ok(r.code == 0 and "begins with white space" in r.err, f"{what} value too", r)
    conn = ("evctl-conn", "add", "c", "--host", "c.example", "--env", "C_KEY", "--auth", "bearer")
    r = by_fd(*conn, value=b" " + WORD)
    t.ok(r.code == 2 and "begins with white space" in r.err and "hint: add --trim" in r.err, "a connection's is refused", r)
    r = by_fd(*conn, "--trim", value=b" " + WORD + b"\n")
    t.ok(r.code == 0 and r.err == "", "and trimmed", r)
