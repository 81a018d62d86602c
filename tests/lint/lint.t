#!/usr/bin/python3
"""Each rule of lint.sh is broken in a copy of the tree, and is then the one that complains."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import ROOT, T

# By rule: breaches, each a file and what is put before its last line. A new file is made; "OLD -> NEW" replaces.
BREACHES = {
    "sqlite": [("common/run/run.c", "#include <sqlite3.h>")],
    "sodium": [("cmd/evctl.c", "#include <sodium.h>")],
    "yaml": [("common/base/json.c", "#include <yaml.h>")],
    "iconv": [("common/scan/decode.c", "#include <iconv.h>")],
    "curl": [("common/broker/broker.c", "#include <curl/curl.h>")],
    "sql": [("common/run/run.c", '#include "state/db.h"'), ("cmd/evctl.c", '#include "state/db.h"'),
            ("common/doctor/health.c", "static int f(struct db *d)\n{\n\treturn db_check(d, 0);\n}"),
            ("common/apply/apply.c", 'static const char *f =\n\t"SELECT name FROM hosts";'),
            ("cmd/evctl-cred.c", 'static const char *f =\n\t"x "\n\t"DELETE FROM hosts";'),
            ("common/archive/page.h", 'static const char *f = "INSERT INTO meta VALUES (1)";'),
            ("common/verify/check.c", 'static const char *f = "UPDATE hosts SET port = 1";')],
    "invocation": [("common/state/state.h", "struct invocation;"), ("common/state/state.h", '#include "base/program.h"')],
    "silence": [("common/state/cred.c", 'static void f(void)\n{\n\tprintf("x");\n}'),
                ("common/gate/call.c", "static void f(void)\n{\n\texit(1);\n}")],
    "processes": [("common/run/run.c", "static int f(void)\n{\n\treturn fork();\n}"),
                  ("common/state/db.c", 'static int f(void)\n{\n\treturn system("x");\n}')],
    "unbounded": [("common/base/buf.c", "static void f(char *a, char *b)\n{\n\tstrcpy(a, b);\n}"),
                  ("cmd/evctl.c", 'static int f(void)\n{\n\treturn atoi("1");\n}')],
    "cloexec": [("common/base/file.c", 'static int f(void)\n{\n\treturn open("x", O_RDONLY);\n}'),
                ("cmd/evctl.c", 'static int f(void)\n{\n\treturn openat(3, "x", O_WRONLY | O_CREAT, 0600);\n}')],
    "value": [("cmd/evctl-cred.c", "static void f(void)\n{\n\tSTATE_AUTO st;\n}"),
              ("common/run/run.c", "static void f(void)\n{\n\tSTR_AUTO a = g(1, 2), b;\n}"),
              ("tests/unit/seal.c", "static void f(void)\n{\n\tBUF_AUTO a,\n\t\tb = {0};\n}"),
              ("common/verify/check.c", "static void f(void)\n{\n\t__attribute__((cleanup(g))) struct keys k;\n}")],
    "layers": [("common/base/buf.c", '#include "state/state.h"'), ("common/new/new.c", '#include "base/err.h"'),
               ("HACKING.md", "| `scan` | base | -> | `scan` | base, state |"),
               ("HACKING.md", "| `scan` | base | -> | `scan` | |"),
               ("HACKING.md", "| `apply` | base, -> | `apply` | base, scan,")],
    "options": [("cmd/evctl-cred.c", 'static bool f(struct invocation *in)\n{\n\treturn opt_flag(in, "yes");\n}'),
                ("common/run/run.c", 'static const void *f(void)\n{\n\treturn option_named(common_options, "yes", 3);\n}'),
                ("cmd/evctl-host.c", "static size_t f(struct invocation *in)\n{\n\treturn in->ngiven;\n}")],
    "landing": [("cmd/evctl-host.c", 'connect_to, "connect-to" -> ca_file, "connect-to"'),
                ("common/cli/cli.h", 'secret.trim, "trim" -> secret.trim, "chop"'),
                ("cmd/evctl-log.c", 'kinds, "kind" -> kinds, "kin"')],
    "basenames": [("common/mcp/policy.c", '#include "base/err.h"'), ("common/run/say.h", "#ifndef EVCTL_RUN_SAY_H\n#define EVCTL_RUN_SAY_H\n#endif"),
                  ("common/state/evctl-run.c", '#include "base/err.h"')],
    "tags": [("cmd/evctl-cred.c", "struct conn {\n\tint n;\n};"), ("common/run/run.c", "struct node\n{\n\tint n;\n};"),
             ("common/gate/call.h", "struct host {\n\tint n;\n};"),
             ("common/mcp/caller.c", "struct outer {\n\tstruct buf {\n\t\tint n;\n\t} b;\n};")],
    "guard": [("common/base/new.h", "int f(void);"), ("common/base/buf.h", "EVCTL_BASE_BUF_H -> EVCTL_BASE_BUFF_H")],
}
# What comes near to a breach, and is none.
FINE = [("common/run/run.c", "static void f(void)\n{\n\tSTR_AUTO a = g(1, 2), b = NULL;\n\tBUF_AUTO c = {\n\t\t0};\n"
         '\tFD_AUTO d = open("x", O_RDONLY | O_CLOEXEC);\n\tsnprintf(a, 1, "x");\n\t_exit(1);\n}'),
        ("common/state/db.c", "#include <sqlite3.h>"),
        ("cmd/evctl.c", 'static const char *f = "SELECTED for DELETE";'), ("common/state/state.h", '#include "manifest/manifest.h"')]

GOOD_HEADER = "#ifndef EVCTL_MINI_MINI_H\n#define EVCTL_MINI_MINI_H\n\nint mini(int n);\n\n#endif\n"
GOOD = '#include "mini/mini.h"\n\nint mini(int n)\n{\n\treturn n + 1;\n}\n'


def mini(body, before=""):
    return GOOD.replace("\treturn n + 1;\n", "".join(f"\t{line}\n" for line in body)).replace("\n\nint", "\n" + before + "\nint", 1)


# By part of `make lint`: its tool, and a file and header that it must complain of.
PARTS = {
    "lint-format": ("clang-format", GOOD.replace("\t", "    "), GOOD_HEADER),
    "lint-rules": ("sh", GOOD, GOOD_HEADER.replace("MINI_MINI", "OTHER")),
    "lint-shell": ("shellcheck", 'for x in "$@"; do cd $y; done\n', GOOD_HEADER),
    "lint-headers": ("gcc", GOOD, GOOD_HEADER.replace("int n", "size_t n")),
    "lint-warnings": ("gcc", mini(["int unused;", "return n;"]), GOOD_HEADER),
    "lint-clang": ("clang", mini(["return n == n;"]), GOOD_HEADER),
    "lint-musl": ("musl-gcc", mini(["return getrlimit((__rlimit_resource_t)n, NULL);"], "#include <sys/resource.h>\n"), GOOD_HEADER),
    "lint-tidy": ("clang-tidy", mini(["return n + sizeof(char *) * 0 + strlen(\"a\" + n ? \"b\" : \"c\");"],
                                     "#include <string.h>\n#include <string.h>\n"), GOOD_HEADER),
    "lint-cppcheck": ("cppcheck", mini(["int a[2] = {0};", "return a[n - n + 2];"]), GOOD_HEADER),
    "lint-gcc": ("gcc", mini(["int *p = n ? &n : NULL;", "return *p;"], "#include <stddef.h>\n"), GOOD_HEADER),
}
ENV = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "CFLAGS")}

with T() as t:
    tree = t.dir / "tree"
    for part in ("common", "cmd", "tests", "share"):
        shutil.copytree(ROOT / part, tree / part, ignore=shutil.ignore_patterns("node_modules", "__pycache__"))
    for part in ("HACKING.md", "Makefile"):
        shutil.copy(ROOT / part, tree / part)

    def lint(*args):
        return subprocess.run([tree / "tests/lint/lint.sh", *args], capture_output=True, text=True, timeout=60)

    def broken(file, breach):
        """What lint.sh says of the tree with the breach in it; without it again afterwards."""
        path = tree / file
        old = path.read_text() if path.exists() else None
        if old is None:
            path.parent.mkdir(exist_ok=True)
            new = breach + "\n"
        elif " -> " in breach:
            was, to = breach.split(" -> ")
            new = old.replace(was, to)
        else:
            lines = old.splitlines()
            new = "\n".join(lines[:-1] + [breach] + lines[-1:]) + "\n"
        if new == old:
            raise AssertionError(f"{file} has no such place: {breach}")
        path.write_text(new)
        try:
            return lint()
        finally:
            path.unlink() if old is None else path.write_text(old)

    rules = lint("--rules").stdout.split()
    t.ok(len(rules) >= 10 and len(rules) == len(set(rules)), "there are rules, each of a name of its own", rules)
    t.ok(set(rules) == set(BREACHES), "each has a breach here", set(rules) ^ set(BREACHES))
    r = lint()
    t.ok(r.returncode == 0 and r.stderr == "", "control: the tree breaks none", r.stderr)
    for name in rules:
        for file, breach in BREACHES.get(name, []):
            r = broken(file, breach)
            said = {line.split(": ")[0] for line in r.stderr.splitlines() if line.split(": ")[0] in rules}
            t.ok(r.returncode == 1 and said == {name} and file in r.stderr, f"{name}: {breach!a} in {file}", r)
    for file, fine in FINE:
        r = broken(file, fine)
        t.ok(r.returncode == 0 and r.stderr == "", f"control: {fine!a} in {file}", r.stderr)
    r = lint()
    t.ok(r.returncode == 0, "control: nor does it afterwards", r.stderr)

    # ---- the parts of `make lint` that compile and analyse, on a folder with one file of a few lines
    small = t.dir / "small"
    small.mkdir()
    for part in ("Makefile", ".clang-format", ".clang-tidy", "HACKING.md"):
        shutil.copy(ROOT / part, small / part)
    for part in ("common/state/schema.sql", "common/state/views.sql", "common/archive", "tests/lint/lint.sh", "tests/lint/musl.sh",
                 "share/deps"):
        whole = ROOT / part
        (small / part).parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(whole, small / part) if whole.is_dir() else shutil.copy(whole, small / part)
    for folder in (".ci", "packaging", "completions"):
        shutil.copytree(ROOT / folder, small / folder)
    (small / "common/mini").mkdir()
    file, header = small / "common/mini/mini.c", small / "common/mini/mini.h"
    parts = subprocess.run(["make", "-s", "-f", "-", "print"], input=f"include {ROOT}/Makefile\nprint:\n\t@echo $(LINTS)\n",
                           text=True, capture_output=True, cwd=ROOT, env=ENV).stdout.split()
    t.ok(set(parts) == set(PARTS), "each part of make lint has a breach here", set(parts) ^ set(PARTS))
    for part, (tool, code, its_header) in PARTS.items():
        if not shutil.which(tool):
            t.skip(part, f"{tool} is not installed")
            continue
        for breach in (False, True):
            file.write_text(code if breach else GOOD)
            header.write_text(its_header if breach else GOOD_HEADER)
            script = small / "packaging/mini"
            script.write_text("#!/bin/sh\n" + (code if breach and part == "lint-shell" else ":\n"))
            r = subprocess.run(["make", "-s", "PARTS=mini", "PROGRAMS=", "UNIT=", "TESTPROGS=",
                                "SOURCES=common/mini/mini.c common/mini/mini.h", part],
                               cwd=small, capture_output=True, text=True, env=ENV)
            if part == "lint-rules":
                good = r.returncode != 0 and ("common/mini/mini.h: not EVCTL" in r.stderr) == breach
            else:
                good = (r.returncode != 0) == breach and (not breach or "mini" in r.stdout + r.stderr)
            t.ok(good, f"{part}: {'complains of ' + repr(code + its_header) if breach else 'control: says nothing'}", r)
