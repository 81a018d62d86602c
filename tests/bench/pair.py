"""Ratios of whole commands, measured in turn in one run: A B A B ..., the median of the pairs' ratios."""
import os
import statistics
import subprocess
import time


def once(argv, env, stdin):
    start = time.perf_counter()
    subprocess.run(argv, env=env, input=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   check=True)
    return time.perf_counter() - start


def pair(what, a, b, runs=int(os.environ.get("EVCTL_BENCH_ROUNDS", 20)), env=None, stdin=None):
    """Prints how long a takes in terms of b."""
    once(a, env, stdin), once(b, env, stdin)
    rows = [(once(a, env, stdin), once(b, env, stdin)) for _ in range(runs)]
    ratio = statistics.median(x / y for x, y in rows)
    print(f"{what}: {ratio:.2f}  ({statistics.median(x for x, _ in rows) * 1000:.1f} ms against "
          f"{statistics.median(y for _, y in rows) * 1000:.1f} ms)", flush=True)
    return ratio
