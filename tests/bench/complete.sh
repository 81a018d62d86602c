#!/bin/sh
# Completion with 100,000 rows of a kind, against the same program doing nothing and against 10 rows.
exec /usr/bin/python3 - "$(dirname "$0")/../lib" <<'END'
import os, sqlite3, statistics, subprocess, sys, time

sys.path.insert(0, sys.argv[1])
from tap import BIN, T

ROUNDS = int(os.environ.get("EVCTL_BENCH_ROUNDS", 40))


def timed(argv, env):
    begun = time.perf_counter()
    subprocess.run(argv, stdout=subprocess.DEVNULL, env=env, check=True)
    return time.perf_counter() - begun


with T() as t:
    few, many = {**t.env, "EVCTL_HOME": str(t.dir / "few")}, {**t.env, "EVCTL_HOME": str(t.dir / "many")}
    for env, n in ((few, 10), (many, 100_000)):
        t.good("evctl-state", "init", env=env)
        db = sqlite3.connect(f"{env['EVCTL_HOME']}/state.db")
        for insert in ("credentials (name, payer, created, changed) SELECT 'K' || i, 'stored', 0, 0",
                       "runs (id, expert, version, tool, status, pid, pid_start, started) "
                       "SELECT printf('r%015d', i), 'e', 1, 't', 'ok', 1, 1, i"):
            db.execute(f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {n}) "
                       f"INSERT INTO {insert} FROM n")
        db.commit()
        db.close()
    for what, program, words in (("credentials by a prefix", "evctl-cred", ["show", "K5"]),
                                 ("the newest runs", "evctl-log", ["show", ""])):
        a, b, c = [], [], []
        for _ in range(ROUNDS):
            c.append(timed([BIN / program, "--version"], few))
            b.append(timed([BIN / program, "--complete", *words], few))
            a.append(timed([BIN / program, "--complete", *words], many))
        mid = statistics.median
        print(f"{what}: 100,000 rows against 10: {mid(x / y for x, y in zip(a, b)):.2f}; against --version: "
              f"{mid(x / y for x, y in zip(a, c)):.2f}  ({mid(a) * 1e3:.1f} ms)", flush=True)
        if ROUNDS < 10:
            t.skip(f"{what}: under 20 ms here", "too few rounds to tell")
        else:
            t.ok(mid(a) < 0.020, f"{what}: under 20 ms here", mid(a))
END
