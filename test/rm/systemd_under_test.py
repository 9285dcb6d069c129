"""A systemd of a test's own: process 1 of new namespaces, with elasticd's units as they are installed and no others."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from pathlib import Path

from daemon_under_test import Bench, ControlGroup, Daemon
from support.checks import Skip, expect, wait_for

# Targets that systemd and the units name; those of a machine are not empty.
TARGETS = ("sysinit", "basic", "shutdown", "sockets", "network", "local-fs", "remote-fs", "nss-user-lookup", "multi-user")
UNITS = ("elasticd.service", "elastic-step.socket", "elastic-step@.service")

# In a control group of its own, which it then takes for the root.  /run and /var/lib are folders of the test.
BOOT = """
echo $$ >{group}/cgroup.procs
exec unshare --pid --mount --cgroup --uts --ipc --fork --kill-child=KILL sh -ec '
mount --make-rprivate /
mount -t proc proc /proc
mount --bind {run} /run
mount --bind {var} /var/lib
umount -R /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
exec env -i container=docker PATH="$PATH" SYSTEMD_UNIT_PATH={units} \\
    /lib/systemd/systemd --system --unit=multi-user.target --log-target=null'
"""


def installed_units(bench: Bench) -> Path:
    return bench.needs_mpi() / "lib/systemd/system"


class Systemd:
    """`with Systemd(bench) as systemd`: elasticd runs as its service; systemd.daemon is that elasticd."""

    def __init__(self, bench: Bench) -> None:
        if os.geteuid() != 0:
            raise Skip("needs root: systemd runs in namespaces")
        self.folder = bench.folder / "systemd"
        self.run, self.var, self.units = (self.folder / name for name in ("run", "var", "units"))
        self.log = self.folder / "services.log"
        for folder in (self.folder, self.run, self.var, self.units):
            folder.mkdir()
        for name in UNITS:
            shutil.copy(installed_units(bench) / name, self.units)
            drop_in = self.units / f"{name}.d"
            drop_in.mkdir()
            if name.endswith(".service"):
                (drop_in / "log.conf").write_text(f"[Service]\nStandardOutput=append:{self.log}\nStandardError=inherit\n")
        for name in TARGETS:
            (self.units / f"{name}.target").write_text(f"[Unit]\nDescription={name}\n")
        with (self.units / "multi-user.target").open("a") as target:
            target.write("Wants=elasticd.service\n")
        self.group = ControlGroup(bench.folder / "groups")
        self.daemon = Daemon(bench.programs, self.folder, [], "")
        self.daemon.socket = self.run / "elasticd/elasticd.sock"
        self.daemon.state = self.var / "elasticd"
        self.daemon.log = self.log

    def __enter__(self) -> Systemd:
        names = {"group": self.group.__enter__(), "run": self.run, "var": self.var, "units": self.units}
        script = BOOT.format(**{name: shlex.quote(str(path)) for name, path in names.items()})
        self.process = subprocess.Popen(["sh", "-ec", script], stdin=subprocess.DEVNULL)
        try:
            wait_for("systemd to start elasticd", self.is_ready)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        wait_for("the processes of systemd to end", lambda: not (self.group.path / "cgroup.procs").read_text() and self.is_empty())
        self.group.__exit__()
        print(self.log.read_text() if self.log.exists() else "no log of the services")

    def is_empty(self) -> bool:
        return "populated 0" in (self.group.path / "cgroup.events").read_text()

    def is_ready(self) -> bool:
        expect(self.process.poll() is None, "systemd ended instead of starting")
        if not (self.run / "systemd/private").exists():
            return False
        self.pid = int(Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()[0])
        state = self.systemctl("is-active", "elasticd", check=False).strip()
        expect(state != "failed", f"elasticd.service: {self.systemctl('status', 'elasticd', check=False)}")
        return state == "active"

    def systemctl(self, *arguments: str, check: bool = True) -> str:
        enter = ["nsenter", f"--target={self.pid}", "--pid", "--mount", "--cgroup", "--uts", "--ipc"]
        done = subprocess.run([*enter, "systemctl", "--no-pager", *arguments], capture_output=True, text=True)
        expect(done.returncode == 0 or not check, f"systemctl {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done.stdout

    def steps(self) -> list[str]:
        """The services of steps."""
        listed = self.systemctl("list-units", "--plain", "--no-legend", "--all", "elastic-step@*.service")
        return [line.split()[0] for line in listed.splitlines()]

    def main_pid(self, unit: str) -> int:
        """As seen from outside."""
        inner = int(self.systemctl("show", "--property=MainPID", "--value", unit))
        for status in Path("/proc").glob("[0-9]*/status"):
            try:
                pids = next(line.split()[1:] for line in status.read_text().splitlines() if line.startswith("NSpid:"))
                same = os.readlink(status.parent / "ns/pid") == os.readlink(f"/proc/{self.pid}/ns/pid")
            except (OSError, StopIteration):
                continue
            if same and int(pids[-1]) == inner:
                return int(pids[0])
        return 0

    def kill(self, unit: str) -> None:
        os.kill(self.main_pid(unit), signal.SIGKILL)
