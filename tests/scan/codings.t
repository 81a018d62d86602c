#!/usr/bin/python3
# The scanner's decoders against CPython's: every sequence of one and two bytes in every coding, the longer
# ones, texts of many characters, and coded states. What the table holds must be exact. "Not sure" (which makes
# amber) may be said only of ISO 2022 and idna, and never of what Python writes itself.
import codecs
import encodings
import encodings.aliases
import json
import os
import pkgutil
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import scanlib  # noqa: E402

say = scanlib.say

CODINGS = os.path.join(scanlib.TESTBIN, "scan", "codings")
CHARS, EUC_KR, UTF_8, ESCAPES, RAW_ESCAPES, ISO_2022, HZ, IDNA, UTF_7 = range(9)
REFUSED, UNSURE = b"\xfe", b"\xfd"


def ask(*args, text="", prefix=()):
    return subprocess.run([*prefix, CODINGS, *args], input=text.encode(), capture_output=True,
                          check=True).stdout


def python(name, data):
    try:
        return data.decode(name).encode("utf-8", "surrogatepass")
    except UnicodeError:
        return REFUSED


def texts(name, datas, prefix=()):
    got = ask("texts", name, text="".join(d.hex() + "\n" for d in datas), prefix=prefix).split(b"\xff")
    assert len(got) == len(datas) + 1, (name, len(got), len(datas))
    return got[:-1]


def compare(name, datas, got):
    """What differs, and how many are not sure."""
    bad = [(d, p, g) for d, g in zip(datas, got) for p in [python(name, d)] if g not in (p, UNSURE)]
    return [f"{name} {d!r}: Python {p!r}, here {g!r}" for d, p, g in bad], got.count(UNSURE)


table = {}
for line in ask("list").decode().splitlines():
    word = line.split()
    table[word[0]] = (int(word[1]), word[2:])

# Names: every spelling that Python has, and nothing else.
modules = {m.name for m in pkgutil.iter_modules(encodings.__path__)}
NEWER = set("""windows_31j 874 cp00858 cseuckr csibm00858 ibm00858 iso_8859_8_e iso_8859_8_i ms874 pc_multilingual_850_euro
            windows_874""".split())  # names that 3.11 has not
spellings = sorted(modules | set(encodings.aliases.aliases) - NEWER | {a for _, al in table.values() for a in al})
spellings += [s.upper() for s in spellings] + [s.replace("_", "-") for s in spellings]
spellings += [s.replace("_", ".") for s in spellings] + ["", "x", "utf-8-", "iso8859.6", "latin..1", "koi8-r-"]


def is_text(name):
    try:
        return codecs.lookup(name)._is_text_encoding
    except LookupError:
        return False


def can_hold_cookie(name):
    """In UTF-16, EBCDIC and punycode no '#' begins a comment, so no file declares them."""
    if not is_text(name):
        return False
    try:
        return b"#".decode(name) == "#"
    except UnicodeError:
        return False


names = ask("find", *spellings).decode().splitlines()
wrong = []
for s, n in zip(spellings, names):
    if (n != "-") != can_hold_cookie(s):
        wrong.append(f"{s!r}: {n}, and Python {'has it' if n == '-' else 'does not'}")
    elif n != "-" and codecs.lookup(n).name != codecs.lookup(s).name:
        wrong.append(f"{s!r} is {codecs.lookup(s).name}, not {n}")
say(not wrong, f"{len(spellings)} spellings, {len(names) - names.count('-')} of them known", wrong)
say(len(table) > 90 and names.count("-") > 100, "some are known, some are not")
if sys.version_info >= (3, 14):
    del table["palmos"]  # one of its characters was mended

# One and two bytes.
every = [bytes([i]) for i in range(256)] + [bytes([i >> 8, i & 255]) for i in range(65536)]
exact = []
for name, (kind, _) in sorted(table.items()):
    if kind in (UTF_8, ESCAPES, RAW_ESCAPES):
        continue
    got = ask("pairs", name).split(b"\xff")[:-1]
    assert len(got) == len(every), name
    wrong, unsure = compare(name, every, got)
    exact += [name] if not wrong and not unsure else []
    say(not wrong and (not unsure or kind == ISO_2022), f"{name}: all of one and two bytes", wrong)
say(len(exact) > 80, f"{len(exact)} are exact: {' '.join(exact)}")

# Three and four bytes.
long = {name: [bytes([0x8F, i >> 8, i & 255]) for i in range(65536)]
        for name in ("euc_jp", "euc_jis_2004", "euc_jisx0213")}
four = [bytes([a, b, c, d]) for a in range(0x81, 0xFF) for b in range(0x30, 0x3A) for c in range(0x81, 0xFF)
        for d in range(0x30, 0x3A)]
fixed = [i for i, f in enumerate(four) if f[:2] in (b"\x81\x35", b"\x82\x35", b"\x84\x31")]
long["gb18030"] = four[::23] + [four[i] for i in fixed]
consonants = [bytes([0xA4, i]) for i in (0xA0, 0xA1, 0xA3, 0xA8, 0xB1, 0xBE, 0xBF, 0xC0, 0xD3, 0xD4, 0xD5)]
long["euc_kr"] = [b"\xa4\xd4" + x + y + z for x in [bytes([0xA4, i]) for i in range(0xA0, 0xC1)]
                  for y in consonants for z in consonants]
long["euc_kr"] += [b"\xa4\xd4\xa4\xa1\xa4\xbf" + bytes([0xA4, i]) for i in range(0xA0, 0xFF)]
long["euc_kr"] += [b"\xa4\xd4\xa4\xa1\xa4\xbf\xa4", b"\xa4\xd4\xa4\xa1\xa5\xbf\xa4\xa1"]
for name, datas in long.items():
    got = texts(name, datas)
    wrong, unsure = compare(name, datas, got)
    taken = len(got) - got.count(REFUSED)
    say(not wrong and not unsure and taken > 300, f"{name}: {taken} of {len(datas)} longer ones", wrong)

# ISO 2022: each code of each set that can be designated.
SETS = {"iso2022_jp": "(J $@ $B", "iso2022_jp_1": "(J $@ $B $(D", "iso2022_jp_2": "(J $@ $B $(D $A $(A $(C .A .F",
        "iso2022_jp_2004": "$B $(Q $(P", "iso2022_jp_3": "$B $(O $(P", "iso2022_jp_ext": "(J (I $@ $B $(D",
        "iso2022_kr": "$)C"}
two = [bytes([a, b]) for a in range(0x21, 0x7F) for b in range(0x21, 0x7F)]
for name, sets in SETS.items():
    datas = []
    for s in [b"\x1b" + s.encode() for s in sets.split()]:
        before, after = b"", b"\x1b(B"
        if s[1:2] == b".":
            before, after = b"x\x1bN", b""
        if s[2:3] == b")":
            before, after = b"x\x0e", b"\x0f"
        codes = two if s[1:2] == b"$" else [bytes([i]) for i in range(0x20, 0x80)]
        datas += [s + before + c + after for c in codes]
    wrong, unsure = compare(name, datas, texts(name, datas))
    say(not wrong and not unsure, f"{name}: {len(datas)} codes of its sets", wrong)

# Texts: pieces at random, what Python writes, and states in odd orders.
rng = random.Random(2022)
ODD = [b"\x1b", b"\x1b$(B", b"\x1b)B", b"\x1b(A", b"\x1b(Z", b"\x1bN!", b"\x1b.A", b"\x1b&@\x1b$B", b"\x1b[0m", b"\x80",
       b"\xff", b"\x7f", b"\x00", b"xn--a"]
PIECES = [b"~{", b"~}", b"~~", b"~\n", b"~", b"+", b"-", b"+-", b"+AOk-", b"+2D3eAA-", b"+AAA", b"/", b"\n", b"\n", b" ", b"a", b"0!",
          b"#!", b"VP", b"\\", b".", b"\x0e", b"\x0f", b"\x1b(B"]
WORDS = [chr(c) for c in [*range(0x20, 0x7F), *range(0xA0, 0x180), *range(0x390, 0x460), *range(0x5D0, 0x650), *range(0xE01, 0xE30),
                          *range(0x3041, 0x3100), *range(0x4E00, 0x9FA5, 7), *range(0xAC00, 0xD7A4, 11), 0x20AC, 0xFF21]]
for name, (kind, _) in sorted(table.items()):
    if kind in (UTF_8, ESCAPES, RAW_ESCAPES):
        continue
    known = [w for w in WORDS if name != "idna" or "A" <= w <= "z"]
    known = [w for w in known if python(name, w.encode(name, *["ignore"] * (name != "idna"))) == w.encode()]
    written = []
    for _ in range(200):
        try:
            written.append("".join(rng.choices(known, k=rng.randrange(60))).encode(name))
        except UnicodeError:
            pass
    own = [b"\x1b" + s.encode() for s in SETS.get(name, "").split()]
    pieces = PIECES + own * 4 + ([] if kind in (CHARS, EUC_KR) else ODD[:rng.randrange(3)])
    mixed = [b"".join(rng.choices(pieces, k=rng.randrange(1, 12))) for _ in range(4000)]
    mixed += [b"".join(rng.choices(pieces + ODD, k=rng.randrange(1, 12))) for _ in range(1000)]
    if kind in (CHARS, EUC_KR):
        mixed += [bytes(rng.choices(range(256), k=rng.randrange(1, 9))) for _ in range(3000)]
    wrong, unsure = compare(name, written, texts(name, written))
    more, doubt = compare(name, mixed, texts(name, mixed))
    wrong += [f"{name} not sure of {d!r}" for d, g in zip(written, texts(name, written)) if g == UNSURE][:2]
    say(len(written) > 50 and not wrong, f"{name}: {len(written)} texts that Python wrote", wrong)
    say(not more and (not doubt or kind in (ISO_2022, IDNA)), f"{name}: {len(mixed)} mixed ones, {doubt} not sure", more)

# A machine without glibc's converters: not sure, and UTF-8, ASCII and latin-1 as ever.
GCONV = next((d for d in (f"/usr/lib/{os.uname().machine}-linux-gnu/gconv", "/usr/lib64/gconv", "/usr/lib/gconv")
              if os.path.isdir(d)), None)
BARE = ["bwrap", "--dev-bind", "/", "/"]
SAMPLES = (("koi8_r", b"\xc1"), ("shift_jis", b"\x82\xa0"), ("iso2022_jp", b"\x1b$B0!\x1b(B"), ("ascii", b"a"), ("latin_1", b"\xe9"))
if os.environ.get("EVCTL_EMULATED"):
    scanlib.TAP.skip("without converters", "an emulated program has its own")
elif GCONV is None or not shutil.which("bwrap") or subprocess.run([*BARE, "true"], check=False).returncode:
    scanlib.TAP.skip("without converters", "bwrap cannot be used here")
else:
    for what, hide in (("all is there", []), ("no directory", ["--tmpfs", GCONV]),
                       ("no module", [x for m in ("KOI8-R", "SJIS", "ISO-2022-JP")
                                      for x in ("--ro-bind", "/dev/null", f"{GCONV}/{m}.so")])):
        got = [texts(n, [d], prefix=[*BARE, *hide])[0] for n, d in SAMPLES]
        want = [UNSURE if hide and n not in ("ascii", "latin_1") else python(n, d) for n, d in SAMPLES]
        say(got == want, f"iconv, {what}", [f"{got} {want}"])

# The whole scan: a file that is not sure is no syntax error, but its reads cannot be known.
for what, coding, body, want in (("not sure", "iso2022_jp", b"\x1b(Z", (1, 0)), ("refused", "iso2022_jp", b"\x80", (0, 1)),
                                 ("known", "iso2022_jp", b"\x1b$B0!\x1b(B", (0, 0))):
    with tempfile.TemporaryDirectory() as tmp:
        with open(os.path.join(tmp, "a.py"), "wb") as f:
            f.write(f"# coding: {coding}\n# ".encode() + body + b"\nEV_KEYS['A']\n")
        got = json.loads(subprocess.run([scanlib.SCAN, tmp], capture_output=True, check=True).stdout)
    have = (len(got["dynamic"]), len(got["syntax_errors"]))
    say(have == want and len(got["reads"]) == (have == (0, 0)) and
        (not have[0] or "encoding" in got["dynamic"][0]["why"]), f"a file that is {what}", [str(got)])
sys.exit(scanlib.TAP.done())
