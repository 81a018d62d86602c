"""Waiting for what other processes do, and looking at them. Nothing of evctl, so any test may have it."""
import ctypes
import time

PR_SET_CHILD_SUBREAPER = 36


def wait_for(cond, seconds=20):
    """What cond gives once that is true, or None when the time is over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        got = cond()
        if got:
            return got
        time.sleep(0.005)
    return None


def until(cond, what, seconds):
    """What cond gives once that is true; an error when the time is over."""
    got = wait_for(cond, seconds)
    if not got:
        raise AssertionError(f"not within {seconds} s: {what}")
    return got


def state_of(pid):
    """The kernel's letter for what a process does, as R, S, T, Z; None when there is none."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return None


def alive(pid):
    return state_of(pid) not in (None, "Z", "X")


def adopt_orphans():
    """From here on whoever loses its parent below this process becomes its child: it can be counted, and reaped at once."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
