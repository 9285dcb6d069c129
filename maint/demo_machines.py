"""Where maint/demo-cluster plays its cluster: on this machine itself, or on hosts of a testbed (doc/developer/testbed.md)."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
CLUSTER = REPOSITORY / "test" / "elastic" / "cluster" / "cluster"
UP_LIMIT_S = 120.0


class MachineFailure(Exception):
    """Why there is no such machine here, and what to do."""


class Local:
    """elasticd's back end `local`: this machine, divided into several nodes."""

    def __init__(self, nodes: int, cores: int) -> None:
        self.nodes, self.cores = nodes, cores

    def describe(self) -> str:
        processors = len(os.sched_getaffinity(0))
        return f"A cluster of {self.nodes} nodes with {self.cores} cores each, simulated on this machine's {processors}"

    def config(self) -> str:
        return f"[backend]\nnodes = {self.nodes}\ncores_per_node = {self.cores}\n"

    def words(self, *command: str | Path) -> list[str]:
        """How a command is run where elasticd runs."""
        return [str(word) for word in command]

    def up(self) -> None:
        """Makes the machine."""

    def down(self) -> None:
        """Removes every trace of it."""


class Hosts(Local):
    """The back end `hosts`: hosts of a testbed, each a set of namespaces with a sshd of its own; elasticd on another one."""

    def describe(self) -> str:
        return f"A testbed of {self.nodes} hosts with {self.cores} cores each, over ssh"

    def config(self) -> str:
        names = ", ".join(f'"h{i}:{self.cores}"' for i in range(1, self.nodes + 1))
        return f'[backend]\nkind = "hosts"\nhosts = [{names}]\n'

    def words(self, *command: str | Path) -> list[str]:
        return [sys.executable, str(CLUSTER), "--state", str(self.folder), "shell", "--host", "head", *map(str, command)]

    def options(self) -> list[str]:
        return []

    def up(self) -> None:
        self.above = Path(tempfile.mkdtemp(prefix="elastic-demo-"))
        self.folder = self.above / "c"
        self._cluster("up", "--nodes", str(self.nodes), *self.options())

    def down(self) -> None:
        if hasattr(self, "folder"):
            self._cluster("down")
            self.above.rmdir()
            del self.folder

    def _cluster(self, *words: str) -> None:
        command = [sys.executable, str(CLUSTER), "--state", str(self.folder), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=UP_LIMIT_S, stdin=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            raise MachineFailure(f"no testbed: {done.stderr.strip()}")


class Slurm(Hosts):
    """The back end `slurm`: a stock Slurm on a testbed."""

    def describe(self) -> str:
        return f"A testbed with a Slurm of {self.nodes} nodes, {self.cores} cores each, of which jobs get whole ones"

    def config(self) -> str:
        return '[backend]\nkind = "slurm"\n[slurm]\npoll_interval = "500ms"\n'

    def options(self) -> list[str]:
        return ["--slurm", "--cpus", str(self.cores)]


MACHINES = {"local": Local, "hosts": Hosts, "slurm": Slurm}
