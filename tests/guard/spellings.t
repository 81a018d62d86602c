#!/usr/bin/python3
"""Keys as the encoders of the world spell them, in the places where texts come from, before the guard:
found whole, in pieces and not after they were replaced. And nothing found in ordinary texts.

EVCTL_ORDINARY_MB: how much of these (`make spellings`: 200). EVCTL_TABLE=1 prints the table."""
import base64, gzip, io, json, os, quopri, random, subprocess, sys, tempfile, urllib.parse, zipfile, zlib
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from tap import BIN, Tap

SEEK = os.path.join(os.environ.get("EVCTL_TESTBIN", str(BIN / "../tests")), "guard/seek")
ORDINARY = float(os.environ.get("EVCTL_ORDINARY_MB", "8"))
t = Tap()
work = tempfile.TemporaryDirectory(prefix="evctl-test-spellings-")

# ---- encoders, each by its own rules ----------------------------------------------------------


def each(rule):
    """An encoder made of what it does with a character."""
    return lambda s: "".join(rule(c) for c in s)


def table(**names):
    return each(lambda c: names.get("c%02x" % ord(c), c))


def units(c):
    b = c.encode("utf-16-be")
    return [b[i] << 8 | b[i + 1] for i in range(0, len(b), 2)]


def u(c, form="\\u%04x"):
    return "".join(form % v for v in units(c))


SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


def json_of(also="", ascii=False, form="\\u%04x", short=SHORT):
    def rule(c):
        if c in also or (ascii and c > "~") or (c < " " and c not in short):
            return u(c, form)
        return short.get(c, c)
    return each(rule)


def percent(safe, plus=False, form="%%%02X"):
    def rule(c):
        if c.isascii() and (c.isalnum() or c in safe):
            return c
        return "+" if plus and c == " " else "".join(form % b for b in c.encode())
    return each(rule)


def html(amp="&amp;", lt="&lt;", gt="&gt;", quot="&quot;", apos="&#39;", **more):
    return table(c26=amp, c3c=lt, c3e=gt, c22=quot, c27=apos, **more)


def numeric(form, which):
    return each(lambda c: form % ord(c) if which(c) else c)


def is_punct(c):
    return not c.isalnum()


ENCODERS = {
    "as it is": lambda s: s,
    "Go json": json_of("<>&\u2028\u2029"),
    "Go url.QueryEscape": percent("-_.~", plus=True),
    "Go url.PathEscape": percent("-_.~$&+:=@"),
    "Go html/template": html(quot="&#34;", c2b="&#43;"),
    "Go JS template": each(lambda c: "\\u%04x" % ord(c) if c in "<>&'\"+/=`" else SHORT.get(c, c)),
    "Go %q": json_of(form="\\u%04x"),
    "Java Gson": json_of("<>&='"),
    "Java Gson, pretty": lambda s: json_of("<>&='\u2028\u2029")(s),
    "Java URLEncoder": percent("-_.*", plus=True),
    "Java Jackson, ASCII": json_of(ascii=True, form="\\u%04X"),
    "Java properties": each(lambda c: "\\" + c if c in "=:#!\\ " else c if " " < c <= "~" else u(c, "\\u%04X")),
    ".NET System.Text.Json": json_of("<>&'+\"`", ascii=True, form="\\u%04X"),
    ".NET Uri.EscapeDataString": percent("-_.~"),
    ".NET UrlEncode": percent("-_.!*()", plus=True, form="%%%02x"),
    ".NET HtmlEncode": html(),
    ".NET JavaScriptStringEncode": json_of("<>&'+=\u0085"),
    ".NET HtmlEncoder": numeric("&#x%X;", lambda c: c in "&<>\"'+`"),
    "Python json": json_of(ascii=True),
    "Python json, UTF-8": json_of(),
    "Python quote": percent("-_.~/"),
    "Python quote_plus": percent("-_.~", plus=True),
    "Python html.escape": html(apos="&#x27;"),
    "Python repr": lambda s: repr(s)[1:-1],
    "Python ascii": lambda s: ascii(s)[1:-1],
    "Python quopri": lambda s: quopri.encodestring(s.encode()).decode("latin-1"),
    "Python quopri, all": lambda s: "".join("=%02X" % b for b in s.encode()),
    "JavaScript JSON.stringify": json_of(),
    "JavaScript encodeURIComponent": percent("-_.!~*'()"),
    "JavaScript encodeURI": percent("-_.!~*'();/?:@&=+$,#"),
    "JavaScript escape": each(lambda c: c if c.isascii() and (c.isalnum() or c in "@*_+-./") else
                              "%%%02X" % ord(c) if c < "\u0100" else u(c, "%%u%04X")),
    "JavaScript \\x": each(lambda c: "\\x%02x" % ord(c) if is_punct(c) and c < "\u0100" else c),
    "JavaScript \\u{}": each(lambda c: "\\u{%x}" % ord(c) if is_punct(c) else c),
    "Ruby CGI.escape": percent("*-._", plus=True),
    "Ruby ERB": html(),
    "Ruby to_json, Rails": json_of("<>&\u2028\u2029"),
    "Ruby inspect": json_of(form="\\u%04X"),
    "PHP json_encode": each(lambda c: "\\/" if c == "/" else u(c) if c > "~" else SHORT.get(c, c)),
    "PHP json_encode, HEX": json_of("<>&'\"", form="\\u%04X"),
    "PHP urlencode": percent("-_.", plus=True),
    "PHP rawurlencode": percent("-_.~"),
    "PHP htmlspecialchars": html(apos="&#039;"),
    "PHP htmlentities": html(apos="&#039;", ce9="&eacute;", cfc="&uuml;"),
    "PHP addslashes": each(lambda c: "\\" + c if c in "'\"\\" else c),
    "Handlebars": html(apos="&#x27;", c60="&#x60;", c3d="&#x3D;"),
    "Jinja": html(quot="&#34;"),
    "Jinja tojson": json_of("<>&'"),
    "Mustache": html(apos="&#39;", c2f="&#x2F;", c60="&#x60;", c3d="&#x3D;"),
    "HTML names": html(apos="&apos;", c2b="&plus;", c2f="&sol;", c3d="&equals;", c5f="&lowbar;"),
    "HTML, no semicolon": lambda s: "".join(
        "&#%d%s" % (ord(c), ";" if n.isdigit() else "") if is_punct(c) and c.isascii() else c
        for c, n in zip(s, s[1:] + " ")),
    "HTML, all decimal": numeric("&#%d;", lambda c: True),
    "HTML, all hex, padded": numeric("&#x%06x;", lambda c: True),
    "XML": html(apos="&apos;"),
    "CSV": each(lambda c: '""' if c == '"' else c),
    "SQL": each(lambda c: "''" if c == "'" else c),
    "every byte percent": lambda s: "".join("%%%02x" % b for b in s.encode()),
    "every character \\u": each(u),
    "percent beside JSON": each(lambda c: "%%%02X" % ord(c) if c in "/%" else u(c) if c in "+=" else SHORT.get(c, c)),
    "half percent": lambda s: "".join("%%%02x" % ord(c) if i % 2 and c.isascii() else
                                      percent("-_.~")(c) for i, c in enumerate(s)),
    "JSON in JSON": lambda s: json.dumps(json.dumps(s))[1:-1],
    "JSON in JSON in JSON": lambda s: json.dumps(json.dumps(json.dumps(s)))[1:-1],
    "percent twice": lambda s: percent("")(percent("")(s)),
    "HTML in JSON": lambda s: json.dumps(html(c3d="&#x3D;")(s))[1:-1],
    "JSON in percent": lambda s: percent("-_.~")(json_of("<>&='+", ascii=True)(s)),
    "lower case": lambda s: s.lower(),
    "capital first": lambda s: s.capitalize(),
    "Title-Case": lambda s: "-".join(
        (p[:1].upper() if p[:1].isascii() else p[:1]) + p[1:].lower() for p in s.split("-")),
}


def hexdump(b, width=16):
    return "".join("%08x  %-48s |%s|\n" % (i, b[i:i + width].hex(" "), "".join(
        chr(c) if 32 <= c < 127 else "." for c in b[i:i + width])) for i in range(0, len(b), width))


def xxd(b):
    return "".join("%08x: %-39s  %s\n" % (i, b[i:i + 16].hex(" ", -2), "".join(
        chr(c) if 32 <= c < 127 else "." for c in b[i:i + 16])) for i in range(0, len(b), 16))


CODINGS = {
    "base64": lambda b: base64.b64encode(b), "base64, 1 before": lambda b: base64.b64encode(b"a" + b + b"z"),
    "base64, 2 before": lambda b: base64.b64encode(b"ab" + b + b"zz"),
    "base64, folded": lambda b: base64.encodebytes(b"x" * 50 + b),
    "base64, folded, CRLF": lambda b: base64.encodebytes(b"x" * 41 + b).replace(b"\n", b"\r\n  "),
    "base64, for URLs": lambda b: base64.urlsafe_b64encode(b).rstrip(b"="),
    "base64, in a form": lambda b: urllib.parse.quote(base64.b64encode(b), safe="").encode(),
    "base64 twice": lambda b: base64.b64encode(b"x" + base64.b64encode(b"ab" + b) + b"yz"),
    "base32": lambda b: base64.b32encode(b), "base32, 3 before": lambda b: base64.b32encode(b"abc" + b + b"x").lower(),
    "hex": lambda b: b.hex().encode(), "HEX": lambda b: b.hex().upper().encode(),
    "hex, colons": lambda b: b.hex(":").encode(), "hex, spaces": lambda b: b.hex(" ").encode(),
    "HEX, dashes": lambda b: b.hex("-").upper().encode(),
    "hexdump -C": lambda b: hexdump(b"0123456789" + b).encode(), "xxd": lambda b: xxd(b"\0\1\2" + b).encode(),
    "UTF-16": lambda b: b.decode().encode("utf-16"), "UTF-16, big": lambda b: b.decode().encode("utf-16-be"),
    "UTF-32": lambda b: b.decode().encode("utf-32"),
}

# ---- places -----------------------------------------------------------------------------------

PLACES = {
    "alone": b"%s", "body, form": b"a=1&k=%s&z=2", "body, JSON": b'{"a": [1, "x"], "echo": "%s", "n": 2}',
    "body, multipart": b'--b\r\nContent-Disposition: form-data; name="k"\r\n\r\n%s\r\n--b--\r\n',
    "target, path": b"GET /x/%s/y HTTP/1.1\r\nHost: a.example\r\n\r\n",
    "target, query": b"GET /x?k=%s HTTP/1.1\r\nHost: a.example\r\n\r\n",
    "header": b"Host: a.example\r\nX-Key: %s\r\nAccept: */*\r\n\r\n",
    "header's name": b"Host: a.example\r\n%s: 1\r\nAccept: */*\r\n\r\n",
    "cookie": b"Cookie: a=b; session=%s; c=d\r\n", "redirect": b"Location: https://a.example/?next=%s\r\n",
    "HTML": b'<p class="c">Hello</p><input value="%s"> 1 &lt; 2', "XML": b'<a b="c">%s</a>',
    "CSV": b'1,2,3\n4,"%s",6\n', "log": b"2026-01-01T00:00:00Z INFO key=%s ok\n",
    "result": b'{"before": 1, "it": "%s", "after": 2}', "artifact": b"\x89PNG\r\n\x1a\n\0\0\0\r%s\xff\xfe\0\1",
    "artifact's name": b"report-%s.txt", "traceback": b"ValueError: invalid literal: '%s'\n",
}

KEYS = {
    "odd": "Zx9+vB7/nM5kQ2wE8rT4yU6==", "path": "AbCd+efGh/ijKl0123==mnOp4567",
    "plain": "sk-live-4f3a9c1d7e2b8a6c0d5e", "quotes": "p\"q'r\\s<t>u&v%w=x+y/z`0123456789",
    "text": "k\u00e9y-\u00fcber-0123456789-ABCdef",
}


def ask(key, texts):
    """For each text: found whole, found in pieces, found after it was replaced."""
    path = os.path.join(work.name, "key")
    with open(path, "wb") as f:
        f.write(key.encode())
    frames = b"".join(b"%d\n%s" % (len(x), x) for x in texts)
    r = subprocess.run([SEEK, path], input=frames, capture_output=True, timeout=600)
    lines = r.stdout.decode().split("\n")[:-1]
    return [tuple(int(x) for x in line.split()) for line in lines]


def spelt(key):
    for name, encode in ENCODERS.items():
        yield name, encode(key).encode()
    for name, code in CODINGS.items():
        yield name, code(key.encode())
    # "Every secret and its listed spellings", in codings too
    for inner in ("Python json", "Python quote", "PHP json_encode", "Go url.QueryEscape", "Python html.escape"):
        yield "base64 of " + inner, base64.b64encode(b"x" + ENCODERS[inner](key).encode())
        yield "hex of " + inner, ENCODERS[inner](key).encode().hex().encode()
    yield "base64 of UTF-16", base64.b64encode(key.encode("utf-16"))


def leaks():
    rows, bad = {}, []
    for kname, key in KEYS.items():
        cases = [(name, place, frame.replace(b"%s", text)) for name, text in spelt(key)
                 for place, frame in PLACES.items()]
        got = ask(key, [c[2] for c in cases])
        t.eq(len(got), len(cases), "%s: the guard answered for %d texts" % (kname, len(cases)))
        for (name, place, text), g in zip(cases, got):
            row = rows.setdefault(name, [0, 0])
            row[0] += 1
            if g != (1, 1, 0):
                row[1] += 1
                bad.append((kname, name, place, g, text[:200]))
    if os.environ.get("EVCTL_TABLE"):
        for name, (n, k) in rows.items():
            t.note("%-34s %5d texts %3d leaks" % (name, n, k))
    total = sum(n for n, _ in rows.values())
    t.ok(not bad, "%d spellings of %d keys in %d places, %d texts: 0 leaks" % (
        len(rows), len(KEYS), len(PLACES), total), "%d leaks\n" % len(bad) + "\n".join(map(str, bad[:40])))


def near():
    """One character less, or another: that is not the key, in any spelling."""
    for kname, key in KEYS.items():
        texts = []
        for other in (key[:5] + key[6:], key[:-4] + "!" + key[-3:], key[:9] + "~" + key[10:], key[3:]):
            texts += [text for name, text in spelt(other)]
        got = ask(key, texts)
        wrong = [x for x, g in zip(texts, got) if g != (0, 0, 0)]
        t.ok(len(got) == len(texts) and not wrong, "%s: %d texts with another value: none is found" % (kname, len(texts)),
             wrong[:5])


# ---- ordinary texts ---------------------------------------------------------------------------

r = random.Random(14)
WORDS = "the of and key token secret user password total amount value invoice customer street config true null".split()


def words(n):
    return " ".join(r.choice(WORDS) for _ in range(n))


def some_json(n):
    return json.dumps([{"id": i, "name": words(3), "text": words(9) + "\n\"quoted\" \u00e9 " + words(2), "n": r.random(),
                        "url": "https://a.example/x?id=%d&q=%s%%20x&t=%x" % (i, r.choice(WORDS), r.getrandbits(64)),
                        "token": "%032x" % r.getrandbits(128)} for i in range(n)], indent=r.choice((None, 1))).encode()


def some_html(n):
    return "".join('<tr class="c%d"><td>%s &amp; %s</td><td title="a=b">&#x%x;&nbsp;%s</td></tr>\n' % (
        i, words(2), words(1), r.randrange(33, 0x2000), words(4)) for i in range(n)).encode()


def some_csv(n):
    return "".join('%d,%s,"%s, ""x""",%.6f\n' % (i, words(1), words(3), r.random()) for i in range(n)).encode()


def some_log(n):
    return "".join("2026-01-%02dT%02d:00:00Z %s %08x: %s key=%s\n" % (
        r.randrange(1, 29), r.randrange(24), r.choice(("INFO", "WARN")), r.getrandbits(32), words(5),
        "%x" % r.getrandbits(48)) for _ in range(n)).encode()


def some_images(n):
    return b"".join(b"data:image/png;base64," + base64.b64encode(r.randbytes(300)) + b"\n" for _ in range(n))


def some_dump(n):
    return hexdump(r.randbytes(n * 16)).encode() + xxd(r.randbytes(n * 16)).encode()


KINDS = {"JSON": some_json, "HTML": some_html, "CSV": some_csv, "logs": some_log, "images": some_images,
         "dumps": some_dump, "bytes": lambda n: r.randbytes(n * 100), "gzip": lambda n: zlib.compress(some_json(n), 1)}


def ordinary():
    files, total = {}, 0
    for kind, make in KINDS.items():
        path, want = os.path.join(work.name, kind), ORDINARY * 1e6 / len(KINDS)
        with open(path, "wb") as f:
            while f.tell() < want:
                f.write(make(500))
            total += f.tell()
        files[kind] = path
    for kname, key in KEYS.items():
        path = os.path.join(work.name, "key")
        open(path, "wb").write(key.encode())
        p = subprocess.run([SEEK, path, *files.values()], capture_output=True, timeout=600)
        t.ok(p.returncode == 0 and p.stdout == b"", "%s: nothing in %.0f MB of ordinary texts" % (kname, total / 1e6), p.stdout)
    with open(files["JSON"], "ab") as f:
        f.write(KEYS["odd"].encode())
    open(path, "wb").write(KEYS["odd"].encode())
    p = subprocess.run([SEEK, path, *files.values()], capture_output=True, timeout=600)
    t.eq(p.stdout.decode().split(), [files["JSON"]], "and the key at the end of one is found there")


def zipped(*members):
    b = io.BytesIO()
    with zipfile.ZipFile(b, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in members:
            z.writestr(name, data)
    return b.getvalue()


def packed():
    key = KEYS["odd"].encode()
    def make(text):
        pdf = b"%PDF-1.7\n1 0 obj\n<< /Filter /FlateDecode >>\nstream\n" + zlib.compress(b"BT (" + text + b") Tj ET") + b"\nendstream"
        png = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\x50zTXtComment\0\0" + zlib.compress(text) + b"crc."
        document = zipped(("[Content_Types].xml", b"<x/>"), ("word/document.xml", b"<w:t>" + text + b"</w:t>"))
        return {"zip": zipped(("other", b"o" * 3000), ("a.txt", text)), "docx": document, "gz": gzip.compress(b"z" * 99 + text),
                "pdf": pdf, "png": png, "docx in zip": zipped(("d.docx", document)), "pdf in gz": gzip.compress(pdf),
                "tar.gz": gzip.compress(b"n" * 512 + text + b"\0" * 500)}
    open(os.path.join(work.name, "key"), "wb").write(key)
    for text, want in ((key, True), (base64.encodebytes(b"x" * 50 + key), True), (key[:-3], False)):
        for kind, data in make(text).items():
            path = os.path.join(work.name, "file")
            open(path, "wb").write(data)
            p = subprocess.run([SEEK, os.path.join(work.name, "key"), path], capture_output=True, timeout=60)
            t.ok(p.returncode == 0 and (p.stdout != b"") == want, "%s with %s: %s" % (
                kind, "the key" if text == key else "another" if not want else "base64 of it", "found" if want else "not found"))


leaks()
near()
packed()
ordinary()
sys.exit(t.done())
