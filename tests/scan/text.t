#!/usr/bin/python3
# Text as CPython reads it: encodings and cookies, line ends, names, escapes, numbers, and the limits.
# Each case is a file that the parser and ast.parse must agree on, with all values in it.
import encodings
import os
import pkgutil
import sys
import tempfile
import unicodedata

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import scanlib  # noqa: E402

# What the parser follows is 3.11: its Unicode, its limits, its codecs. Others are held to what they have in common with it.
THIS = sys.version_info[:2] == (3, 11)
# Refused since 3.12, and taken in 3.11: as an f-string's field, and at the end of a file.
GONE = ("{x for x in y}", b"x = 1 \\@", b"\\@")
# Of 3.14 too: a comment that is not UTF-8 was taken, capitals were asked of names that are made by a rule, and not four digits.
BEFORE_14 = sys.version_info < (3, 14)
LENIENT = (b"# \xe9\n", b"# \xff", "hangul syllable ga", "CJK UNIFIED IDEOGRAPH-4e00", "CJK UNIFIED IDEOGRAPH-04E00")
# Names of codecs that 3.11 has not.
NEWER = set("""windows_31j 874 cp00858 cseuckr csibm00858 ibm00858 iso_8859_8_e iso_8859_8_i ms874 pc_multilingual_850_euro
            windows_874""".split())

cases = []  # (what, bytes)


def case(what, data):
    cases.append((what, data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")))


# Encodings: each of Python's codecs, by each of its names, decoding what it can encode.
SAMPLE = "aé©ßЖжαΩıŠ€あア漢字한글ñ¥ø£中文繁體"
codecs = [m.name for m in pkgutil.iter_modules(encodings.__path__)]
for name in sorted((set(codecs) | set(encodings.aliases.aliases)) - NEWER):
    try:
        text = "".join(c for c in SAMPLE if c.encode(name, "ignore").decode(name, "ignore") == c)
        body = f"x = '{text}'\n".encode(name)
    except (LookupError, UnicodeError, TypeError, AssertionError):
        body = b"x = 1\n"
    case(f"encoding {name}", b"# coding: " + name.encode() + b"\n" + body)
for name in ("cp1252", "koi8-r", "iso8859-15", "cp437", "mac-roman", "cp864", "shift_jis", "euc-jp"):
    for byte in range(128, 256):
        case(f"{name} byte {byte}", b"#coding=" + name.encode() + b"\nx='" + bytes([byte]) + b"'\n")
for head in (b"# -*- coding: latin-1 -*-\n", b"\n# vim: set fileencoding=latin-1 :\n",
             b"#!/x\n#coding:latin1\n", b"\n\n# coding: latin-1\n", b"x=1\n# coding: latin-1\n",
             b"'''\n# coding: latin-1\n'''\n", b"  # coding: latin-1\n", b"\x0c# coding=latin-1\n",
             b"# coding: utf-8\n", b"# coding: utf8\n", b"# coding: UTF_8_x\n", b"# coding: nonsense\n",
             b"# coding:\n", b"#coding: iso-8859-1-unix\n", b"#coding : latin-1\n", b"#xcoding=latin-1\n",
             b"# coding: rot13\n", b"# coding: latin-1 # coding: utf-8\n", b"\\\n# coding: latin-1\n",
             b"# coding: ascii\n", b"# coding: utf-16\n", b"# coding: utf-7\n", b"# coding\n#coding=latin-1\n"):
    for mark in (b"", b"\xef\xbb\xbf"):
        for body in (b"x = 'a'\n", b"x = '\xe9'\n", b"x = '\xc3\xa9'\n", b"# \xe9\n", b"\xc3\xa9 = 1\n",
                     b"x = b'\xe9'\n", b"x = '+AOk-'\n", b"x = '\\u00e9'\n"):
            if BEFORE_14 or body not in LENIENT:
                case(f"{mark + head!r} {body!r}", mark + head + body)
for name in ("unicode_escape", "raw_unicode_escape"):
    for body in (rb"x = '\u0041\x42\\u0043'", rb"\u0078 = 1", rb"x = 1\u000ay = 2", rb"x = r'\\\u0041'"):
        case(f"{name} {body!r}", b"# coding: " + name.encode() + b"\n" + body + b"\n")

# Line ends, white space, joining.
for end in (b"\n", b"\r\n", b"\r"):
    for src in (b"x = 1@y = 2@", b"if x:@  y@@  z@w@", b"x = '''a@b'''@", b"x = 'a\\@b'@", b"x = (1,@2)@",
                b"x = 1 \\@ + 2@", b"f'''{@x@}'''@", b"x = 1 \\@", b"if x:@\ty@        z@", b"if x:@\ty@ z@",
                b"if x:@ y@\tz@", b"if x:@\x0c  y@  z@", b"\x0cx@\x0cy@", b"  \x0cx@", b"  @ # c@x@", b"x@  # c@y@",
                b"if x:@  y@ # c@  z@", b"class A:@  def f(self): pass@@@  x = 1@", b"  \\@x@", b"if x:@  \\@ y@",
                b"\\@  x = 1@", b"x = 1;@", b"x = 1;;@", b";@", b"", b"@@", b"#", b"\\", b"\\@", b"x\\@@y"):
        if THIS or end != b"\r\n" or src not in GONE:
            case(f"line end {end!r} {src!r}", src.replace(b"@", end))
        case(f"no last line end {end!r} {src!r}", src.replace(b"@", end).rstrip(end))
case("mixed line ends", b"x = 1\r\ny = 2\rz = '''a\r\nb\rc'''\n")
case("CR before CRLF", b"x = 1\r\r\ny\n")
for junk in (b"\x00", b"x\x00y", b"x = '\x00'", b"# \x00", b"\x01", b"x = '\x01'", b"\xff", b"'\xff'", b"# \xff",
             b"\xed\xa0\x80", b"'\xed\xa0\x80'", b"'\xf4\x90\x80\x80'", b"'\xc0\x80'", b"$", b"?", b"!", b"`x`",
             b"\x7f", b"x\xc2\xa0= 1", b"\xe2\x80\x8b", b"x = 1\x1a", b"\xef\xbb\xbf\xef\xbb\xbfx"):
    if BEFORE_14 or junk not in LENIENT:
        case(f"junk {junk!r}", junk + b"\n")

# Names: every code point as the first and as a later character; normal forms.
points = [c for c in range(0x80, 0x110000) if not 0xD800 <= c < 0xE000]
starts = [c for c in points if chr(c).isidentifier()]
goes_on = [c for c in points if ("a" + chr(c)).isidentifier()]
for i in range(0, len(starts), 5000):
    case("names by start", "\n".join(chr(c) for c in starts[i:i + 5000]) + "\n")
for i in range(0, len(goes_on), 5000):
    case("names by rest", "\n".join("a" + chr(c) for c in goes_on[i:i + 5000]) + "\n")
known = set(starts)
refused = [c for c in points if c not in known and (THIS or unicodedata.category(chr(c)) != "Cn")]
for c in refused[::997] + [0xB2, 0x2118, 0x212E, 0x309B, 0x37A, 0x1885, 0x19DA, 0xB7, 0x387, 0xE33]:
    case(f"U+{c:04X} as a name", chr(c) + " = 1\n")
    case(f"U+{c:04X} in a name", "a" + chr(c) + " = 1\n")
for name in ("ﬁ", "ａｂｃ", "𝐢𝐟", "ℌ", "e\u0301", "ΑΒΓ", "K", "Å", "𝗺𝗮𝘁𝗰𝗵", "ª", "ﷺ", "x" * 300, "é" * 300):
    case(f"normal form of {name[:9]}", f"{name} = 1\n{name}.{name}[{name}]\n{name}.m()\n")

# Escapes.
every = [unicodedata.name(chr(c), None) for c in range(0x110000)]
names = [n for n in every if n] + [n.lower() for n in every[:3000] if n]
for i in range(0, len(names), 4000):
    case("named characters", "x = '" + "".join("\\N{%s}" % n for n in names[i:i + 4000]) + "'\n")
for n in ("NUL", "LINE FEED", "LF", "SPACE", "BELL", "ALERT", "LATIN SMALL LETTER A", "no such name", "", "SPACE ",
          "HANGUL SYLLABLE GA", "hangul syllable ga", "CJK UNIFIED IDEOGRAPH-4E00", "CJK UNIFIED IDEOGRAPH-4e00",
          "CJK UNIFIED IDEOGRAPH-04E00", "CJK UNIFIED IDEOGRAPH-FFFF", "KEYCAP DIGIT ONE", "NBSP", "VS17", "x" * 300,
          "LATIN SMALL LETTER A WITH MACRON AND GRAVE", "BYTE ORDER MARK", "byte order mark"):
    if BEFORE_14 or n not in LENIENT:
        case(f"\\N{{{n[:40]}}}", "x = '\\N{%s}'\n" % n)
for e in [chr(c) for c in range(32, 127)] + ["x4", "x41", "xg", "x4g", "u12", "u0041", "ud800", "ud83d\\ude00",
          "U0010ffff", "U00110000", "U0000", "777", "400", "07", "008", "1234", "N", "N{", "N{}", "N}", "\n", "é"]:
    for prefix in ("", "b", "r", "rb", "u", "f", "fr", "R", "BR", "F"):
        for quote in ("'", '"', "'''"):
            case(f"escape {prefix}{quote}\\{e}", f"x = {prefix}{quote}a\\{e}b{quote}\n")
for prefix in ("b", "B", "u", "U", "r", "R", "f", "F", "br", "bR", "Rb", "rB", "fr", "rF", "Fr", "ur", "ru", "bu", "fb",
               "uf", "bf", "rr", "bb", "ff", "t", "rbr", "é"):
    for body in ("'a'", '"a"', "'''a'''", "''", '""', "''''''", "'a' 'b'", "'a' b'c'", "'a' f'{x}' u'b'", "'é'"):
        case(f"prefix {prefix}{body}", f"x = {prefix}{body}\n")

# f-strings before PEP 701.
for f in ("{x}", "{x!r}", "{x!s:>{w}}", "{x:{y}{z}}", "{x:{y:{z}}}", "{x=}", "{x = }", "{x=!s}", "{x=:3}", "{{}}", "{{x}}", "{", "}",
          "}}", "{}", "{ }", "{x!}", "{x!z}", "{x!r }", "{x:}", "{x!r:}", "{'a'}", "{x['a']}", "{lambda x: 1}", "{(lambda x: 1)}",
          "{x if y else z}", "{x:=5}", "{(x:=5)}", "{x == y}", "{x != y}", "{x <= y}", "{x >= y}", "{x < y}", "{x > y}", "{x = y}",
          "{*x}", "{*x, y}", "{x, y}", "{yield x}", "{await x}", "{x for x in y}", "{[x for x in y]}", "{ {1: 2}[1] }", "{{1}}",
          "{{{x}}}", "{x}}", "{x", "{x:", "{x!r", "{x)}", "{(x}", "{x[}", "{x}{y}", "a{x}b{y}c", "{x:a{y}b{z}c}", "{x:%Y-%m}",
          "{#}", "{x#}", "{'#'}", "{\\n}", "\\{x}", "\\N{DIGIT ONE}{x}", "\\N{x", "{f(a='b')}", "{x.y.z()}", "{x!=y!r}", "{1_000}", "{0x}",
          "{x:{{}}}", "{x:}}", "{x:{}}", "{a b}", "{,}", "{x,}", "{None}", "{...}", "{f'{y}'}", "{f'{f'{y}'}'}", "{'a' 'b'}",
          "{x}\\n", "{x:\\n}", "{\nx\n}", "{x\n!r}", "{x:\n}", "\n{x}", "a\n  {x}  {y\n}\n{z}", "{'''a'''}", "{3.4:10}", "{3!r:10}", "é{x}é{y}"):
    for quote in ('"', '"""', "'''") if THIS or f not in GONE else ():
        case(f"f{quote}{f}", f"y = f{quote}{f}{quote}\n")
        case(f"deep f{quote}{f}", f"def g():\n    return h(1, f{quote}{f}{quote}, x)\n")
        case(f"joined f{quote}{f}", f"y = ('a'  f{quote}{f}{quote}\n  'b' f'{{z}}')\n")

# Numbers.
for n in ("0", "00", "0_0", "01", "0_1", "08", "09.5", "00.5", "0e0", "0j", "01j", "1_0", "1__0", "1_", "_1", "0x", "0x_f", "0xf_", "0xg",
          "0b102", "0b1_0", "0o8", "0o17", "0O7", "1.", ".5", "1.5e3", "1e", "1e+", "1e5j", "1.e5", "1._5", "1_0.5_0e1_0", "1if x else 2", "1or 2",
          "1and 2", "1in x", "1is x", "1not in x", "0x1for x in y", "1_a", "1a", "1else", "1.real", "1 .real", "1..real", "0xfor x", "1e400", "9" * 4300,
          "9" * 4301, "0" * 5000, "9" * 5000 + ".5", "9" * 5000 + "j", "0x" + "f" * 9000, "1_" * 4400 + "1", "1jif x else 2", "0b1and 2", "١"):
    case(f"number {n[:20]}", f"x = {n}\n")
    case(f"number in a list {n[:20]}", f"[{n} for x in y]\n")

# Limits: just below and just above CPython's.
for n in (198, 199, 200, 201, 5000, 100000):
    for a, b in (("(", ")"), ("[", "]"), ("f(", ")"), ("x[", "]"), ("{1:", "}")):
        case(f"{n} nested {a}", a * n + "x" + b * n + "\n")
for n in (97, 98, 99, 100, 101, 400):
    case(f"{n} nested blocks", "".join(" " * i + "if x:\n" for i in range(n)) + " " * n + "x\n")
for n in (2900, 2985, 2986, 3100, 50000) if THIS else (2900, 2985):
    for what in ("not ", "-", "x + ", "x if y else "):
        case(f"{n} times {what}", what * n + "x\n")
    case(f"{n} attributes", "x" + ".a" * n + "\n")
    case(f"{n} elifs", "if x: pass\n" + "elif x: pass\n" * n)
    case(f"{n} terms of or", "x or " * n + "x\n")

with tempfile.TemporaryDirectory() as tmp:
    paths = []
    for i, (what, data) in enumerate(cases):
        paths.append(os.path.join(tmp, f"{i}.py"))
        with open(paths[-1], "wb") as f:
            f.write(data)
    dumps = scanlib.dump(paths)
    bad = taken = 0
    for (what, data), path, got in zip(cases, paths, dumps):
        wrong = scanlib.differs(path, got)
        taken += got[0] == "ok"
        if wrong:
            bad += 1
            print(f"# {what}: {wrong[:300]}")
TAP = scanlib.TAP
TAP.ok(len(dumps) == len(cases), f"{len(dumps)} of {len(cases)} cases read")
TAP.ok(not bad, f"{bad} differ")
TAP.ok(1000 < taken < len(cases) - 1000, f"{taken} of them parse")
sys.exit(TAP.done())
