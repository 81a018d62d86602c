#!/usr/bin/python3
"""The gate's judgements against other people's: names against libidn2 and libcurl's URL parser,
addresses against Python's ipaddress. Where they differ, ours must be the stricter, and listed."""
import ctypes, ctypes.util, ipaddress, os, random, subprocess, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gatelib import BIN, TAP, eq, ok, skip_all

PROBE = os.path.join(os.environ.get("EVCTL_TESTBIN", os.path.join(BIN, "../tests")), "gate/probe")
random.seed(int(os.environ.get("SEED", "5")))


def ask(lines):
    r = subprocess.run([PROBE], input="\n".join(lines) + "\n", capture_output=True, text=True,
                       check=True)
    out = r.stdout.splitlines()
    assert len(out) == len(lines), (len(out), len(lines))
    return out


# ---- names ----

def load(name):
    found = ctypes.util.find_library(name)
    return ctypes.CDLL(found) if found else None


idn2 = load("idn2")
curl = load("curl-gnutls") or load("curl")
FLAGS = 1 | 8  # IDN2_NFC_INPUT, IDN2_NONTRANSITIONAL


def by_idn2(name):
    out = ctypes.c_char_p()
    rc = idn2.idn2_to_ascii_8z(name.encode(), ctypes.byref(out), FLAGS)
    return out.value.decode() if rc == 0 else None


def by_curl(name):
    """The host that libcurl would connect to, None if it refuses the URL."""
    curl.curl_url.restype = ctypes.c_void_p
    u = ctypes.c_void_p(curl.curl_url())
    rc = curl.curl_url_set(u, 0, b"https://" + name + b"/p", 0)
    host = None
    if rc == 0:
        out = ctypes.c_char_p()
        if curl.curl_url_get(u, 5, ctypes.byref(out), 0) == 0:
            host = out.value.decode("latin-1")
    curl.curl_url_cleanup(u)
    return host


LABELS = ["a", "api", "x1", "xn--bcher-kva", "xn--fa-hia", "xn--zckzah", "b\u00fccher", "fa\u00df",
          "\u4f8b\u3048", "\u0645\u062b\u0627\u0644", "\u2460", "a\u200db", "I\u0307", "\uff41", "example",
          "com", "0x1", "127", "1", "0", "a_b", "a-b", "-a", "a-", "xn--a", "xn--", "r3---sn", "\u1e9e",
          "\u03c2", "a\u0308", "\u00ad", "\u2024", "X", "EXAMPLE", "9999999999", "0377", "x" * 63, "x" * 64]
DOTS = ["."] * 20 + ["\u3002", "\uff0e", "\uff61", "..", "\u2024"]


def some_name():
    n = random.randint(1, 4)
    s = random.choice(LABELS)
    for _ in range(n - 1):
        s += random.choice(DOTS) + random.choice(LABELS)
    if random.random() < 0.1:
        s += "."
    if random.random() < 0.15:
        i = random.randrange(len(s) + 1)
        s = s[:i] + random.choice(" @:/\\?#[]%!$&'()*+,;=~^`{|}<>\"\t\x7f\u00a0") + s[i:]
    return s


def names():
    wire = [some_name() for _ in range(20000)]
    got = ask(["host " + n.encode().hex() for n in wire])
    accepted = [(n, g[3:]) for n, g in zip(wire, got) if g.startswith("ok ")]
    ok(1000 < len(accepted) < 15000, "20,000 names: %d accepted as sent" % len(accepted))
    bad = [(n, g) for n, g in accepted if by_curl(n.encode()) not in (g, n, n.rstrip("."))]
    eq(bad, [], "libcurl reads each accepted name as a name, and as the same one")
    bad = [(n, g) for n, g in accepted if by_curl(g.encode()) != g]
    eq(bad, [], "and the normal form as itself")
    # "r3---sn": hyphens at the third and fourth place are refused by libidn2, and in wide use
    bad = [n for n, g in accepted if "xn--" in g and "r3---sn" not in g and by_idn2(n) not in (g, g + ".")]
    eq(bad, [], "libidn2 agrees on each accepted punycode name")

    got = ask(["row " + n.encode().hex() for n in wire])
    bad = []
    for n, g in zip(wire, got):
        if g.startswith("ok ") and ":" not in n:
            theirs = by_idn2(n)
            if theirs is None or theirs.lower().rstrip(".") != g[3:]:
                # a name of ASCII alone is not for libidn2 to judge, but it must be unchanged
                if not (n.isascii() and n.lower().rstrip(".") == g[3:]):
                    bad.append((n, g, theirs))
    eq(bad, [], "what is declared becomes what libidn2 makes of it")
    back = ask(["host " + g[3:].encode().hex() for g in got if g.startswith("ok ") and ":" not in g[3:]
                and "*" not in g])
    ok(back and all(b.startswith("ok ") for b in back), "and that is accepted on the wire")
    turned = [n for n, g in zip(wire, got) if g.startswith("ok ")
              for ip in [by_curl(g[3:].split(":")[0].encode())] if ip and ip[0].isdigit() and
              ip.count(".") == 3 and all(p.isdigit() for p in ip.split("."))]
    eq(turned, [], "none of it is an address to libcurl")
    spelled = ["2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "127.0.1", "0", "0x0", "1.1.1.1"]
    ok(all(by_curl(s.encode()).count(".") == 3 for s in spelled), "libcurl reads these as addresses")
    ok(all(g.startswith("no ") for g in ask(["host " + s.encode().hex() for s in spelled])),
       "the gate refuses all of them")


# ---- addresses ----

STRICTER4 = [ipaddress.ip_network(n) for n in ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32",
                                               "224.0.0.0/4")]
STRICTER6 = [ipaddress.ip_network(n) for n in ("2001::/23", "3fff::/20", "64:ff9b:1::/48", "ff00::/8", "::/96",
                                               "::ffff:0:0:0/96", "fec0::/10")]
GLOBAL6 = ipaddress.ip_network("2000::/3")


def theirs4(ip):
    return ip.is_global and not (ip.is_multicast or ip.is_reserved or ip.is_link_local or
                                 ip.is_loopback or ip.is_unspecified or ip.is_private)


def embedded(ip):
    v = int(ip)
    if ip.ipv4_mapped:
        return ip.ipv4_mapped
    if ip in ipaddress.ip_network("64:ff9b::/96"):
        return ipaddress.ip_address(v & 0xffffffff)
    if ip.sixtofour:
        return ip.sixtofour
    return None


def theirs(ip):
    if ip.version == 4:
        return theirs4(ip)
    if embedded(ip) is not None:
        return theirs4(embedded(ip))
    return ip.is_global and not (ip.is_multicast or ip.is_reserved or ip.is_link_local or
                                 ip.is_site_local or ip.is_private)


def isatap(ip):
    return (int(ip) >> 32) & 0xfffffdff in (0x5efe,) or (int(ip) >> 32) & 0xffffffff in (0x5efe, 0x2005efe)


def stricter(ip):
    if ip.version == 6 and embedded(ip) is not None:
        ip = embedded(ip)
    if ip.version == 4:
        return any(ip in n for n in STRICTER4)
    return ip not in GLOBAL6 or isatap(ip) or any(ip in n for n in STRICTER6)


def some_addresses():
    out = []
    edges = [0, 10 << 24, 100 << 24 | 64 << 16, 127 << 24, 169 << 24 | 254 << 16, 172 << 24 | 16 << 16,
             192 << 24, 192 << 24 | 2 << 8, 192 << 24 | 88 << 16 | 99 << 8, 192 << 24 | 168 << 16,
             198 << 24 | 18 << 16, 198 << 24 | 51 << 16 | 100 << 8, 203 << 24 | 113 << 8, 224 << 24,
             240 << 24, (1 << 32) - 1]
    for e in edges:
        for bits in range(33):
            for d in (-1, 0, 1):
                out.append(ipaddress.IPv4Address((e + (1 << bits) + d) % (1 << 32)))
                out.append(ipaddress.IPv4Address((e + d) % (1 << 32)))
    out += [ipaddress.IPv4Address(random.getrandbits(32)) for _ in range(40000)]
    heads = ["::", "::ffff:0:0", "64:ff9b::", "64:ff9b:1::", "100::", "2000::", "2001::", "2001:2::", "2001:10::",
             "2001:20::", "2001:db8::", "2001:200::", "2002::", "2606:4700::", "2606:4700:0:0:0:5efe::",
             "2606:4700::200:5efe:0:0", "3fff::", "3ffe::", "4000::", "5f00::", "fc00::", "fd00:ec2::", "fe80::",
             "fec0::", "ff02::", "::ffff:0:0:0"]
    v4 = [a for a in out if isinstance(a, ipaddress.IPv4Address)]
    for h in heads:
        base = int(ipaddress.IPv6Address(h))
        for _ in range(1200):
            a = int(random.choice(v4))
            out.append(ipaddress.IPv6Address(base | random.choice((a, a << 80 & (1 << 112) - 1, random.getrandbits(64),
                                                                   random.getrandbits(96), a << 64))))
    out += [ipaddress.IPv6Address(random.getrandbits(128)) for _ in range(5000)]
    return out


def addresses():
    ips = some_addresses()
    got = ask(["addr %s" % ip for ip in ips])
    ok(len(ips) > 70000 and set(got) == {"public", "private", "never"}, "%d addresses are judged" % len(ips))
    eq([str(i) for i, g in zip(ips, got) if g == "public" and not theirs(i)][:20], [],
       "none that ipaddress would not call global is public")
    eq([str(i) for i, g in zip(ips, got) if g != "public" and theirs(i) and not stricter(i)][:20], [],
       "and none that it calls global is not, save for those listed as stricter")
    n = sum(1 for i, g in zip(ips, got) if g == "public")
    ok(n > 20000, "%d of them are public" % n)


if not (idn2 and curl):
    skip_all("libidn2 or libcurl cannot be loaded")
names()
addresses()
sys.exit(TAP.done())
