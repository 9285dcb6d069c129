"""One test on a testbed of its own: the counterpart, on hosts, of harness.job on one machine.

Jobs are started on a host as a user there would; programs, working folder and logs lie on the file system that all
hosts share.  After the test every host must be as it was before: processes, /dev/shm and /run.
"""

from __future__ import annotations

import os
import subprocess
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness import processes
from harness.job import GRACE_S, POLL_S, Job, Setting, TestRun
from harness.testlist import Test
from testbed import command, hosts, state
from testbed.state import Cluster, Host
from support import procfs

PRIVATE = ("dev/shm", "run")  # each host has its own
hosts.end_with_this_process = True
WORKERS = 2  # these tests wait for more than half of their time


def marks(name: str, clauses: Sequence[str], deadline_s: float, full: bool) -> list[Any]:
    """The marks of a test over hosts.  They spread over WORKERS workers of pytest, the same way in each run."""
    worker = pytest.mark.xdist_group(f"hosts-{zlib.crc32(name.encode()) % WORKERS}")
    found = [pytest.mark.clause(clause) for clause in clauses]
    found += [pytest.mark.hosts, worker, pytest.mark.timeout(4 * deadline_s + 120)]
    return [*found, pytest.mark.slow] if full else found


class HostRun(TestRun):
    """A test in progress, on `nodes` hosts, or on a testbed that it shares with other tests."""

    def __init__(
        self,
        test: Test,
        setting: Setting,
        folder: Path,
        nodes: int = 0,
        slurm: bool = False,
        accounting: bool = False,
        cpus: Sequence[int] = (4,),
        shared: Cluster | None = None,
    ) -> None:
        super().__init__(test, setting, folder)
        self.environment["XDG_RUNTIME_DIR"] = str(self.runtime) if shared else f"/run/user/{os.getuid()}"
        self.shared = shared is not None
        self.cluster_folder = Path(shared.folder) if shared else folder / "c"
        self.cluster: Cluster = shared or command.up(self.cluster_folder, nodes, slurm, cpus, accounting)
        self.files_before = {host.name: self._private_files(host) for host in self._all()}
        self.processes_before = {host.name: set(hosts.processes(host)) for host in self._all()}

    def _all(self) -> list[Host]:
        return [*self.cluster.hosts, self.cluster.head]

    def host(self, name: str) -> Host:
        return self.cluster.host(name)

    # ---- commands

    def inside(self, words: Sequence[str], host: str = "h1") -> list[str]:
        return hosts.enter(self.host(host), words, str(self.work))

    def start(self, command: Sequence[str], stdin: str | None = None) -> Job:
        return super().start(self.inside(command), stdin)

    def on(self, host: str, *words: str, limit_s: float = 60) -> subprocess.CompletedProcess[str]:
        """Runs a command on a host and waits for it."""
        done = subprocess.run(
            self.inside(words, host),
            capture_output=True,
            text=True,
            env=self.environment,
            timeout=limit_s,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        self.notes.append(f"{host}$ {' '.join(words)} -> {done.returncode}")
        self.notes += (done.stdout + done.stderr).splitlines()
        return done

    def elastic(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.setting.prefix / "bin" / "elastic"), *arguments]
        return self.on("h1", *command, limit_s=self.time_left())

    def pids(self, host: str, program: str) -> list[int]:
        """Processes of a program on a host, as numbered outside."""
        return [pid for pid in hosts.processes(self.host(host)) if procfs.name(pid) == program[:15]]

    def crash(self, host: str) -> None:
        hosts.crash(self.host(host))
        self.notes.append(f"crashed {host}")

    # ---- end

    def _private_files(self, host: Host) -> set[str]:
        found: set[str] = set()
        for part in PRIVATE:
            root = Path(f"/proc/{host.pid}/root") / part
            for folder, _, names in os.walk(root):
                found.update(os.path.join(folder, name).split("/root/", 1)[1] for name in names)
        return found

    def _left_on(self, host: Host) -> list[str]:
        left = []
        for pid in set(hosts.processes(host)) - self.processes_before[host.name]:
            if hosts.start_time(pid) < 0:
                continue  # has ended; we are its parent now and collect it later
            if procfs.stat(pid):
                left.append(f"left over on {host.name}: process {' '.join(procfs.words(pid))[:120]}")
        new = self._private_files(host) - self.files_before[host.name]
        return left + [f"left over on {host.name}: file /{name}" for name in sorted(new)]

    def leftovers(self) -> list[str]:
        try:
            for job in self.jobs:
                job.stop()
            left = self._await_clean()
            for host in self._all():
                log = self.cluster_folder / "log" / f"sshd-{host.name}"
                if left and log.exists():
                    self.notes += log.read_text(errors="replace").splitlines()[-5:]
            for log in sorted((self.cluster_folder / "log").glob("slurm*")):
                self.notes += [f"{log.name}: {line}" for line in log.read_text(errors="replace").splitlines()[-20:]]
        finally:
            if not self.shared:
                command.down(self.cluster_folder)
        self.before = processes.shared_names()  # outside others work, too; what the hosts have is checked
        return left + super().leftovers()

    def _await_clean(self) -> list[str]:
        end = time.monotonic() + GRACE_S * self.setting.patience_factor
        while True:
            left = [text for host in self._all() if hosts.alive(host) for text in self._left_on(host)]
            if not left or time.monotonic() > end:
                return left
            time.sleep(POLL_S)


def temporary_testbed(folder: Path) -> Path:
    """A folder for a testbed that a test brings up by the command."""
    return state.folder_of("", str(folder))
