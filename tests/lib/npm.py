"""Packages from npm, installed once beside the build, by one test at a time."""
import fcntl
import shutil
import subprocess

from tap import BIN, skip_all


def install(folder, name):
    """The folder with node_modules, as folder's package.json and its lock have it."""
    home = BIN.parent / name
    home.mkdir(exist_ok=True)
    with open(home / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        want = (folder / "package.json").read_text() + (folder / "package-lock.json").read_text()
        stamp = home / ".installed"
        if not stamp.exists() or stamp.read_text() != want:
            if not shutil.which("npm"):
                skip_all("npm is not installed")
            for f in ("package.json", "package-lock.json"):
                shutil.copy(folder / f, home / f)
            subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund",
                            "--omit=optional", "--loglevel=error"], cwd=home, check=True,
                           stdout=subprocess.DEVNULL, timeout=600)
            stamp.write_text(want)
    return home
