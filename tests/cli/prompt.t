#!/usr/bin/python3
"""Hidden prompts on a terminal: never echoed, and the terminal is as it was however the asking ends."""
import os
import pty
import select
import signal
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from tap import BIN, T

VALUE = "typed-value-0123456789"


class Terminal:
    def __init__(self, env, *argv):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            # Whoever runs the tests may ignore some (nohup does), and a program inherits that.
            for sig in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
                signal.signal(sig, signal.SIG_DFL)
            os.execvpe(argv[0], argv, env)
        self.shown, self.at = "", 0

    def until(self, done, what):
        end = time.monotonic() + 30
        while not done():
            if time.monotonic() > end:
                raise AssertionError(f"no {what} in {self.shown!r}")
            if select.select([self.fd], [], [], 0.02)[0]:
                try:
                    self.shown += os.read(self.fd, 65536).decode(errors="replace")
                except OSError:  # nobody has the terminal open any more
                    return self
        return self

    def sees(self, text):
        self.until(lambda: text in self.shown[self.at:], text)
        self.at = self.shown.index(text, self.at) + len(text)
        return self

    def echo(self):
        return bool(termios.tcgetattr(self.fd)[3] & termios.ECHO)

    def asked(self):
        self.sees("(hidden): ").until(lambda: not self.echo(), "silence")
        return self

    def types(self, data):
        data = data.encode()
        while data:
            data = data[os.write(self.fd, data):]
        return self

    def end(self):
        """The exit code, or minus the signal; whether the echo was on then."""
        got = []

        def ended():
            pid, status = os.waitpid(self.pid, os.WNOHANG) if not got else (0, 0)
            if pid:
                got.append(os.waitstatus_to_exitcode(status))
            return got

        echo = None
        end = time.monotonic() + 30
        while not ended() and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.02)[0]:
                try:
                    self.shown += os.read(self.fd, 65536).decode(errors="replace")
                except OSError:
                    pass
        echo = self.echo()
        if not got:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        while select.select([self.fd], [], [], 0)[0]:
            try:
                self.shown += os.read(self.fd, 65536).decode(errors="replace")
            except OSError:
                break
        os.close(self.fd)
        return (got or ["it hangs"])[0], echo


with T() as t:
    t.init()

    def add(name, *more):
        return Terminal({**t.env, "TERM": "dumb"}, str(BIN / "evctl-cred"), "add", name, *more)

    def hint(name):
        r = t.run("evctl-cred", "show", name, "-o", "json")
        return r.json["hint"] if r.code == 0 else None

    x = add("A").asked().types(VALUE + "\n")
    t.ok(x.end() == (0, True) and VALUE not in x.shown and hint("A") == "••••••••6789",
         "a value is taken, and not shown", x.shown)
    x = add("B").asked().types("typo\x15" + VALUE + "Z\x7f\n")
    t.ok(x.end() == (0, True) and hint("B") == "••••••••6789", "it can be mended while it is typed", x.shown)
    for keys, what in (("\x03", "Ctrl-C"), (VALUE + "\x03", "Ctrl-C after half a value"), ("\x04", "Ctrl-D")):
        x = add("C").asked().types(keys)
        t.ok(x.end() == (10, True) and "cancelled" in x.shown and VALUE not in x.shown and hint("C") is None,
             f"{what} cancels, and the echo is back", x.shown)
    x = add("C", "-o", "json").asked().types("\x03")
    t.ok(x.end() == (10, True) and '{"error":{"code":10,"kind":"cancelled"' in x.shown, "as JSON too", x.shown)
    for sig in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        x = add("C").asked()
        os.kill(x.pid, sig)
        code = 10 if sig == signal.SIGINT else -sig
        t.ok(x.end() == (code, True) and hint("C") is None, f"{sig.name} ends it, and the echo is back", x.shown)
    x = add("C").asked().types("\n")
    t.ok(x.end() == (2, True) and "the value is empty" in x.shown, "an empty one is refused", x.shown)

    # A terminal's line holds 4095 bytes; the kernel drops what is past them and says nothing.
    x = add("LONG").asked().types("x" * 4094 + "\n")
    t.ok(x.end() == (0, True) and hint("LONG") == "••••••••xxxx", "4094 bytes are taken", x.shown)
    x = add("LONGER").asked().types("x" * 4500 + "\n")
    t.ok(x.end() == (2, True) and "too long for a terminal" in x.shown and "--from-file" in x.shown and
         hint("LONGER") is None, "a line that the terminal cuts off is refused, not stored", x.shown)
    x = add("LINES").asked().types(VALUE + "\nrm -rf nothing\n")
    t.ok(x.end() == (0, True) and "rm -rf" not in x.shown, "a second line goes nowhere", x.shown)

    x = Terminal({**t.env, "TERM": "dumb", "PS1": "ready> "}, "bash", "--norc", "--noprofile", "-i").sees("ready> ")
    x.types(f"{BIN}/evctl-cred add STOPPED\n").asked().types("half\x1a").sees("Stopped").sees("ready> ")
    x.types("stty -a | grep -Eo ' -?echo ' | tr -d ' ' | sed 's/^/it says /'\n").sees("it says /'\r\n")
    x.sees("it says ").sees("\r\n")
    t.ok("it says echo\r\n" in x.shown, "Ctrl-Z stops it with the echo back", x.shown)
    x.types("fg\n").asked().types(VALUE + "\n").sees("added credential STOPPED").sees("ready> ").types("exit\n")
    t.ok(x.end()[0] == 0 and VALUE not in x.shown and hint("STOPPED") == "••••••••6789",
         "going on, it asks anew", x.shown)

    # Confirmations are not hidden, and need no --yes on a terminal.
    x = Terminal({**t.env, "TERM": "dumb"}, str(BIN / "evctl-cred"), "rm", "A").sees("[y/N] ").types("n\n")
    t.ok(x.end() == (10, True) and hint("A"), "no means no", x.shown)
    x = Terminal({**t.env, "TERM": "dumb"}, str(BIN / "evctl-cred"), "rm", "A").sees("[y/N] ").types("y\n")
    t.ok(x.end() == (0, True) and hint("A") is None, "yes means yes", x.shown)

    r = t.good("evctl-cred", "add", "WIDE", "--from-file", "-", stdin="é" * 6 + "abcd")
    t.ok(hint("WIDE") == "••••••••", "ten characters in sixteen bytes show none", hint("WIDE"))
    r = t.good("evctl-cred", "add", "WIDER", "--from-file", "-", stdin="é" * 12 + "abcd")
    t.ok(hint("WIDER") == "••••••••abcd", "sixteen characters show four", hint("WIDER"))

    # A wrapped private key asks as well.
    key = t.dir / "pass"
    key.write_text("a long passphrase")
    with open(key) as f:
        t.good("evctl-state", "init", "--passphrase", "--passphrase-fd", f.fileno(), "--state", t.dir / "two",
               pass_fds=(f.fileno(),))
    x = Terminal({**t.env, "TERM": "dumb", "EVCTL_HOME": str(t.dir / "two")}, str(BIN / "evctl-state"), "rekey",
                 "--yes").asked().types("\x03")
    t.ok(x.end() == (10, True), "Ctrl-C at a passphrase is no wrong key", x.shown)

    # Who is asked for a passphrase keeps nobody else out of a session meanwhile.
    two = {"EVCTL_HOME": str(t.dir / "two")}
    src = t.expert("e", {"m.py": "def f(): return EV_KEYS['K'] and 1\n"},
                   "name: e\ntools: [{name: f, entry: 'm.py:f'}]\nhosts: [a.example]\n")
    t.good("evctl-cred", "add", "K", "--from-file", "-", stdin=VALUE, env=two)
    t.good("evctl-host", "add", "a.example", "--bind", "K", env=two)
    t.good("evctl-expert", "create", "e", "--dir", src, env=two)
    session = t.good("evctl-session", "start", "e", "--draft", env=two).out.strip()
    call = ("e", "f", "--draft", "--session", session)
    x = Terminal({**t.env, "TERM": "dumb", **two}, str(BIN / "evctl-run"), *call).asked()
    with open(key) as f:
        r = t.run("evctl-run", *call, "--passphrase-fd", f.fileno(), env=two, pass_fds=(f.fileno(),))
    t.ok(r.code == 0 and r.out == "1\n", "another call is through while the first one's passphrase is asked for", r)
    t.ok(x.types("a long passphrase\n").end()[0] == 0, "and then the first one", x.shown)
    t.good("evctl-session", "end", session, env=two)
