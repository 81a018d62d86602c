"""A Slurm of one's own on loopback: munged, slurmctld and four slurmd, each stopped by its pid."""
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

from waiting import alive, until

PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "squeue", "scontrol", "scancel")
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"


def missing():
    """Why it cannot be started here, or None."""
    if os.geteuid() != 0:
        return "only root starts Slurm's daemons"
    gone = [p for p in PROGRAMS if not shutil.which(p, path=PATH)]
    return f"there is no {', '.join(gone)}" if gone else None


def free_ports(n):
    """Ports that are free now, found all at once so that they differ."""
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


CONF = """ClusterName=evtest
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={dir}/munge/sock
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000,sched_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MaxArraySize={most}
MinJobAge=300
KillWait=2
ReturnToService=2
SlurmctldTimeout=60
SlurmdTimeout=10
StateSaveLocation={dir}/ctld
SlurmctldPidFile={dir}/ctld.pid
SlurmdPidFile={dir}/slurmd.%n.pid
SlurmdSpoolDir={dir}/spool.%n
SlurmctldLogFile={dir}/log/ctld.log
SlurmdLogFile={dir}/log/slurmd.%n.log
TaskProlog={dir}/prolog
{nodes}
PartitionName=ev Nodes=n[1-4] Default=YES MaxTime=60 State=UP OverSubscribe=NO
"""


class Slurm:
    def __init__(self, most_in_array=1001):
        self.most = most_in_array

    def __enter__(self):
        self.dir = Path(tempfile.mkdtemp(prefix="evctl-test-slurm.", dir="/var/tmp"))
        self.dir.chmod(0o755)
        for part in ("munge", "ctld", "log", *(f"spool.n{i}" for i in range(1, 5))):
            (self.dir / part).mkdir()
        host, ports = socket.gethostname(), free_ports(5)
        nodes = "\n".join(f"NodeName=n{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[i]} CPUs=2 RealMemory=4000"
                          for i in range(1, 5))
        self.conf = self.dir / "slurm.conf"
        self.conf.write_text(CONF.format(host=host, ports=ports, dir=self.dir, most=self.most, nodes=nodes))
        # Tasks leave theirs where no other test looks, those too that are killed.
        self.scratch = self.dir / "scratch"
        self.scratch.mkdir()
        self.scratch.chmod(0o1777)
        prolog = self.dir / "prolog"
        prolog.write_text(f"#!/bin/sh\necho export TMPDIR={self.scratch}\n")
        prolog.chmod(0o755)
        self.env = {**os.environ, "PATH": PATH, "SLURM_CONF": str(self.conf)}
        key = self.dir / "munge" / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        for path in (self.dir / "munge", key):
            shutil.chown(path, "munge", "munge")
        try:
            self.run("setpriv", "--reuid=munge", "--regid=munge", "--clear-groups", "munged", f"--key-file={key}",
                     f"--socket={self.dir}/munge/sock", f"--pid-file={self.dir}/munge/pid", f"--log-file={self.dir}/munge/log",
                     f"--seed-file={self.dir}/munge/seed", "--num-threads=2")
            self.start_controller()
            for i in range(1, 5):
                self.start_node(i)
            until(lambda: self.idle() == 4, "all nodes are idle", 60)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_):
        subprocess.run(["scancel", "--user=root"], env=self.env, capture_output=True)
        for name in (*(f"slurmd.n{i}.pid" for i in range(1, 5)), "ctld.pid", "munge/pid"):
            self.stop(name)
        shutil.rmtree(self.dir, ignore_errors=True)

    def run(self, *argv):
        return subprocess.run(argv, env=self.env, check=True, capture_output=True, text=True, timeout=60).stdout

    def idle(self):
        try:
            return sum(int(n) for n in self.run("sinfo", "-h", "-t", "idle", "-o", "%D").split())
        except subprocess.CalledProcessError:
            return 0

    def pid(self, name):
        try:
            return int((self.dir / name).read_text())
        except (OSError, ValueError):
            return None

    def stop(self, name, sig=signal.SIGTERM):
        pid = self.pid(name)
        if pid and alive(pid):
            os.kill(pid, sig)
            until(lambda: not alive(pid), f"{name} ends", 60)

    def start_controller(self):
        self.run("slurmctld", "-f", self.conf)

    def start_node(self, i):
        self.run("slurmd", "-f", self.conf, "-N", f"n{i}")
