"""TAP for the shell-level tests: a state of one's own, the programs, and checks that can fail.

    from tap import T
    with T() as t:
        t.init()
        r = t.run("evctl-cred", "list")
        t.ok(r.code == 0, "lists", r)
"""
import contextlib
import json
import os
import select
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import termios
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("EVCTL_BIN", ROOT / "build" / "bin"))
HELPERS = ("evctl-egress", "evctl-front", "evctl-introspect", "evctl-task")  # whom people have no use for
KEY_HOMES = ("EVCTL_HOME", "EVCTL_KEY_FILE", "CREDENTIALS_DIRECTORY", "XDG_DATA_HOME",
             "XDG_CONFIG_HOME", "NO_COLOR")


class Tap:
    """What every test in Python counts and says with."""

    def __init__(self):
        self.n = self.failed = 0

    def ok(self, cond, what, detail=None):
        self.n += 1
        print(f"{'' if cond else 'not '}ok {self.n} - {what}", flush=True)
        if not cond:
            self.failed += 1
            if detail is not None:
                self.note("\n".join(str(detail).splitlines()[:60]))
        return bool(cond)

    def eq(self, got, want, what):
        return self.ok(got == want, what, "got  %.2000r\nwant %.2000r" % (got, want))

    def skip(self, what, why):
        self.n += 1
        print(f"ok {self.n} - {what} # SKIP {why}", flush=True)

    def died(self, e):
        """Within the handler of an exception that ends the test."""
        self.ok(False, f"died: {type(e).__name__}", traceback.format_exc())

    def note(self, text):
        for line in text.splitlines():
            print(f"# {line}", flush=True)

    def done(self):
        """Prints the plan; the exit code."""
        print(f"1..{self.n}", flush=True)
        return 1 if self.failed or self.n == 0 else 0


def skip_all(why):
    print(f"1..0 # SKIP {why}", flush=True)
    sys.exit(0)


# The programs are built with sanitizers. They need telling if they run under strace, or behind another library; a limit
# on address space they cannot live with, nor be compared with anything in memory or time.
SANITIZED = b"__asan_init" in (BIN / "evctl-cred").read_bytes()
UNDER_STRACE = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"} if SANITIZED else {}

USER = 65532  # has no files and no processes; another than that of tests/sandbox, which count theirs


def on_terminal(argv, env, columns=80):
    """What a program prints on a terminal of that width, and its exit code. The terminal stays open on this side:
    a kernel may say that nobody has it open any more before the last that was written to it is read."""
    ours, its = os.openpty()
    try:
        termios.tcsetwinsize(its, (40, columns))
        with subprocess.Popen(argv, env=env, stdin=its, stdout=its, stderr=its, start_new_session=True) as p:
            out, ended = b"", False
            while True:
                if select.select([ours], [], [], 0 if ended else 0.005)[0]:
                    out += os.read(ours, 65536)
                elif ended:
                    return out.decode(errors="replace").replace("\r\n", "\n"), p.returncode
                else:
                    ended = p.poll() is not None
    finally:
        os.close(ours)
        os.close(its)


def as_both(file):
    """Runs the test file FILE once as root and once as an ordinary user, where this is root, and ends this
    program with the TAP of both; in those runs, and where this is no root, returns. Sanitizers see no other code the
    second time: with them too it returns."""
    if os.geteuid() != 0 or "EVCTL_TEST_AS" in os.environ or SANITIZED:
        return
    n, failed = 0, False
    with tempfile.TemporaryDirectory(prefix="evctl-test.") as place:
        tests = Path(file).resolve().parents[1]
        for part in (tests / "lib", Path(file).resolve().parent):
            shutil.copytree(part, Path(place, "tests", part.name), ignore=shutil.ignore_patterns("*.pyc"))
        for part in ("bin", "share"):
            shutil.copytree(BIN.parent / part, Path(place, part))
        subprocess.run(["chmod", "-R", "a+rX", place], check=True)
        test = Path(place, "tests", Path(file).resolve().parent.name, Path(file).name)
        for name, prefix in (("root", []), ("user", ["setpriv", "--reuid", str(USER), "--regid", str(USER),
                                                     "--clear-groups"])):
            argv = [*prefix, sys.executable, "-B", str(test)]
            env = {**os.environ, "EVCTL_TEST_AS": name, "EVCTL_BIN": f"{place}/bin"}
            with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, text=True, cwd=place) as p:
                for line in p.stdout:
                    words = line.split(" ", 3)
                    if words[0] == "ok" or words[:2] == ["not", "ok"]:
                        n += 1
                        good = "" if words[0] == "ok" else "not "
                        print(f"{good}ok {n} - {name}: {line.split(' - ', 1)[1]}", end="", flush=True)
                    elif not line.startswith("1.."):
                        print(line, end="", flush=True)
            failed = failed or p.returncode != 0
    if failed or n == 0:
        n += 1
        print(f"not ok {n} - one of the two failed, or ran nothing")
    print(f"1..{n}", flush=True)
    sys.exit(failed or n == 0)


class Result:
    def __init__(self, argv, done):
        self.argv, self.code = argv, done.returncode
        self.out, self.err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def error(self):
        return json.loads(self.err)["error"]

    def __str__(self):
        return f"{' '.join(map(str, self.argv))}\nexit {self.code}\nout: {self.out}\nerr: {self.err}"


class T(Tap):
    def __enter__(self):
        self.dir = Path(tempfile.mkdtemp(prefix="evctl-test."))
        self.home = self.dir / "state"
        self.env = {k: v for k, v in os.environ.items() if k not in KEY_HOMES}
        self.env.update(EVCTL_HOME=str(self.home), HOME=str(self.dir), LC_ALL="C.UTF-8")
        return self

    def __exit__(self, kind, value, tb):
        if kind:
            self.ok(False, f"died: {kind.__name__}", "".join(traceback.format_exception(kind, value, tb)))
        shutil.rmtree(self.dir, ignore_errors=True)
        sys.exit(self.done())

    def run(self, program, *args, stdin=b"", env=None, timeout=120, **more):
        argv = [str(BIN / program), *map(str, args)]
        if isinstance(stdin, str):
            stdin = stdin.encode()
        done = subprocess.run(argv, input=stdin, capture_output=True, timeout=timeout,
                              env={**self.env, **(env or {})}, **more)
        return Result([program, *args], done)

    def good(self, program, *args, **kw):
        """Runs what must work, as a step towards the point of a test."""
        r = self.run(program, *args, **kw)
        if r.code != 0:
            raise AssertionError(f"a step failed: {r}")
        return r

    def fails(self, code, what, program, *args, says="", hint=None, **kw):
        """Runs what must fail with exactly that code, a message, and (unless False) a hint."""
        r = self.run(program, *args, **kw)
        self.ok(r.code == code and "error: " in r.err and says in r.err and
                (hint is False or "hint: " + (hint or "") in r.err), what, r)
        return r

    def init(self):
        self.good("evctl-state", "init")

    def sql(self, text, *args):
        """Rows of the state file. Closed at once: a connection left open would lose its locks as soon
        as this process closes any other descriptor of the file."""
        with contextlib.closing(sqlite3.connect(self.home / "state.db", timeout=10)) as db:
            with db:
                return db.execute(text, args).fetchall()

    def holding(self, text):
        """The files of the state directory that hold text in the clear; read by a program of its own,
        for the same reason."""
        done = subprocess.run(["grep", "-rlaF", "-e", text, str(self.home)], capture_output=True)
        if done.returncode > 1:
            raise AssertionError(done.stderr)
        return done.stdout.decode().splitlines()

    def cred(self, name, value, *more):
        self.good("evctl-cred", "add", name, "--from-file", "-", *more, stdin=value)

    def expert(self, name, files, manifest):
        folder = self.dir / f"{name}-src"
        folder.mkdir(exist_ok=True)
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        (folder / "expert.yaml").write_text(manifest)
        return folder
