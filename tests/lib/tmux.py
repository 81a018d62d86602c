"""A shell in a terminal of tmux's, as a person has it: keys go in, and the screen is looked at."""
import re
import subprocess
import time

from tap import BIN


class Shell:
    """bash, its prompt "> ". Lines that scrolled away are part of the screen."""

    def __init__(self, t, name, columns=80, rows=40, **env):
        self.base = ["tmux", "-S", str(t.dir / f"{name}.tmux"), "-f", "/dev/null"]
        env = {"PATH": f"{BIN}:/usr/bin:/bin", "HOME": str(t.dir), "EVCTL_HOME": str(t.home), "TERM": "screen",
               "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "PS1": "> ", **env}
        self.tmux("new-session", "-d", "-x", str(columns), "-y", str(rows), "-c", str(t.dir), "env", "-i",
                  *[f"{k}={v}" for k, v in env.items()], "bash", "--noprofile", "--norc", "-i")
        self.at = 0
        self.sees(r"(^|\n)> ?")

    def tmux(self, *words, **more):
        done = subprocess.run([*self.base, *words], capture_output=True, text=True, **more)
        if done.returncode:
            raise AssertionError(f"tmux {words}: {done.stderr}")
        return done.stdout

    def screen(self):
        return self.tmux("capture-pane", "-p", "-S", "-2000").rstrip("\n")

    def sees(self, pattern, seconds=30):
        """Waits until that is on the screen, after what was seen before; what was seen until then."""
        end = time.monotonic() + seconds
        while True:
            s = self.screen()
            found = re.search(pattern, s[self.at:])
            if found:
                seen = s[self.at:self.at + found.end()]
                self.at += found.end()
                return seen
            if time.monotonic() > end:
                raise AssertionError(f"no {pattern!r} in:\n{s[self.at:]}\n--- after:\n{s[:self.at]}")
            time.sleep(0.02)

    def keys(self, *names):
        self.tmux("send-keys", *names)
        return self

    def types(self, text):
        self.tmux("send-keys", "-l", text)
        return self

    def line(self, text):
        return self.types(text).keys("Enter")

    def pastes(self, text):
        """As a person does, newlines and all."""
        self.tmux("load-buffer", "-", input=text)
        self.tmux("paste-buffer")
        return self

    def does(self, command, seconds=60):
        """What a command prints, and its exit code."""
        mark = f"done{time.monotonic_ns()}"
        self.line(f"{command}; echo {mark[:4]}''{mark[4:]}=$?")
        seen = self.sees(rf"{mark}=\d+", seconds)
        self.sees(r"\n> ?")
        return seen.split("\n", 1)[1].rsplit(mark, 1)[0], int(seen.rsplit("=", 1)[1])

    def close(self):
        self.tmux("kill-server")
