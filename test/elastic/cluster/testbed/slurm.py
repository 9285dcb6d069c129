"""A stock Slurm on the hosts of a testbed: munge, slurmctld on the head, slurmd on each host.

The configuration is the smallest that lets jobs be resized; doc/developer/testbed.md states the purpose of each
setting.  It appears as /etc/slurm on every host.  One munged serves all hosts: its socket is a file, and files are
shared.

Accounting is optional: slurmdbd and a MariaDB on the head, which listens on a socket there and on no port.  Without
it, Slurm 22.05 takes only one direct change of a job that has been resized.
"""

from __future__ import annotations

import secrets
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from . import hosts
from .state import Cluster, Host, TestbedError

TOOLS = ("munged", "slurmctld", "slurmd", "sinfo")
ACCOUNTING_TOOLS = ("mariadbd", "mariadb-install-db", "slurmdbd", "sacctmgr")
START_LIMIT_S = 60.0

SLURM_CONF = """\
ClusterName=testbed
SlurmctldHost=head
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation={folder}/slurm/state
SlurmdSpoolDir={folder}/slurm/spool-%n
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile={folder}/log/slurmctld
SlurmdLogFile={folder}/log/slurmd-%n
ReturnToService=2
MpiDefault=none
SwitchType=switch/none

# no control groups and no binding: the hosts share one machine
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/log/jobs
SlurmdParameters=config_overrides

# whole nodes, and jobs that may be resized
SchedulerType=sched/backfill
SchedulerParameters=permit_job_expansion,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PriorityType=priority/basic
KillWait=5
SlurmdTimeout=20
{accounting}
NodeName=DEFAULT RealMemory=1000 State=UNKNOWN
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=EXCLUSIVE
"""

ACCOUNTING = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=head
"""

SLURMDBD_CONF = """\
AuthType=auth/munge
DbdHost=head
SlurmUser=root
StorageType=accounting_storage/mysql
StorageUser=root
StorageLoc=testbed
PidFile=/run/slurmdbd.pid
LogFile={folder}/log/slurmdbd
"""

MARIADB = """\
mkdir -p /run/mysqld
mariadb-install-db --no-defaults --user=root --datadir={folder}/slurm/database --skip-test-db \
    --auth-root-authentication-method=normal >{folder}/log/mariadb 2>&1 || exit 1
setsid mariadbd --no-defaults --user=root --datadir={folder}/slurm/database --skip-networking \
    --socket=/run/mysqld/mysqld.sock --pid-file=/run/mysqld/mysqld.pid --innodb-buffer-pool-size=16M \
    --innodb-lock-wait-timeout=900 --innodb-flush-log-at-trx-commit=0 >>{folder}/log/mariadb 2>&1 </dev/null &
"""

CGROUP_CONF = """\
CgroupPlugin=cgroup/v1
CgroupAutomount=no
"""


def impossible(accounting: bool = False) -> str:
    missing = [tool for tool in TOOLS + ACCOUNTING_TOOLS * accounting if shutil.which(tool) is None]
    if missing:
        packages = "slurmctld slurmd slurm-client munge" + " slurmdbd mariadb-server" * accounting
        return f"missing for Slurm: {' '.join(missing)} (Debian: {packages})"
    if not Path("/etc/slurm").is_dir():
        return "there is no /etc/slurm to put the testbed's configuration over; is Slurm installed from packages?"
    return ""


def write(folder: Path, cpus: dict[str, int], accounting: bool) -> None:
    """Makes the files, for nodes of so many cores; before the hosts start, since these put them in their place."""
    for part in ("etc", "munge", "state"):
        (folder / "slurm" / part).mkdir(mode=0o755, parents=True)
    nodes = "\n".join(f"NodeName={name} CPUs={count}" for name, count in cpus.items())
    text = SLURM_CONF.format(folder=folder, nodes=nodes, accounting=ACCOUNTING * accounting)
    (folder / "slurm" / "etc" / "slurm.conf").write_text(text, encoding="utf-8")
    (folder / "slurm" / "etc" / "cgroup.conf").write_text(CGROUP_CONF, encoding="utf-8")
    if accounting:
        settings = folder / "slurm" / "etc" / "slurmdbd.conf"
        settings.touch(mode=0o600)
        settings.write_text(SLURMDBD_CONF.format(folder=folder), encoding="utf-8")
    key = folder / "slurm" / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))


def _daemon(cluster: Cluster, host: Host, *command: str) -> None:
    done = hosts.run(cluster, host, *command)
    if done.returncode != 0:
        printed = (done.stderr + done.stdout).strip()
        raise TestbedError(f"{command[0]} does not start on {host.name}: {printed or 'see ' + cluster.folder + '/log'}")


def start_munge(cluster: Cluster) -> None:
    folder = cluster.folder
    _daemon(
        cluster,
        cluster.head,
        "munged",
        "--force",
        f"--key-file={folder}/slurm/munge.key",
        f"--log-file={folder}/log/munged",
        f"--seed-file={folder}/slurm/munge.seed",
        "--pid-file=/run/munged.pid",
        "--socket=/run/munge/munge.socket.2",
    )


def _await(what: str, ready: Callable[[], bool], cluster: Cluster) -> None:
    end = time.monotonic() + START_LIMIT_S
    while not ready():
        if time.monotonic() > end:
            raise TestbedError(f"{what}; see {cluster.folder}/log")
        time.sleep(0.1)


def start_accounting(cluster: Cluster) -> None:
    """The database, slurmdbd, and the cluster's entry."""
    head, socket = cluster.head, Path(f"/proc/{cluster.head.pid}/root/run/mysqld/mysqld.sock")
    _daemon(cluster, head, "sh", "-c", MARIADB.format(folder=cluster.folder))
    _await("MariaDB does not start", socket.exists, cluster)
    _daemon(cluster, head, "slurmdbd")
    add = ("sacctmgr", "-i", "add", "cluster", "testbed")
    _await("slurmdbd does not answer", lambda: hosts.run(cluster, head, *add).returncode == 0, cluster)


def start_controller(cluster: Cluster) -> None:
    _daemon(cluster, cluster.head, "slurmctld")


def start_node(cluster: Cluster, host: Host) -> None:
    _daemon(cluster, host, "slurmd", "-N", host.name)


def node_states(cluster: Cluster) -> dict[str, str]:
    """The state of each node as Slurm reports it; empty while the controller does not answer."""
    try:
        done = hosts.run(cluster, cluster.head, "sinfo", "-h", "-N", "-o", "%N %T", limit_s=20)
    except subprocess.TimeoutExpired:
        return {}
    return dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if done.returncode == 0)


def start(cluster: Cluster, accounting: bool) -> None:
    """Starts everything and waits until all nodes can be used."""
    start_munge(cluster)
    if accounting:
        start_accounting(cluster)
    start_controller(cluster)
    for host in cluster.hosts:
        start_node(cluster, host)
    _await(
        "Slurm's nodes do not become idle",
        lambda: set((node_states(cluster) or {"": ""}).values()) == {"idle"},
        cluster,
    )
    cluster.daemons = ["munged", *["mariadbd", "slurmdbd"] * accounting, "slurmctld", "slurmd"]
