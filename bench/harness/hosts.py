"""Two hosts on one machine: network namespaces with an address, a name and an sshd each.

Needs root, iproute2 and openssh-server.  Names and addresses are private to the run; everything is
taken away at the end, processes in the namespaces included.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .bench import Bench, Skipped
from .joining import wait_for
from .launch import RunFailure
from .result import Case
from .windows import host_cases

SUBNET = "10.213.77"
SSHD = "/usr/sbin/sshd"


def _sh(*words: object) -> str:
    command = [str(word) for word in words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    if done.returncode != 0:
        raise RunFailure(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def inside(name: str) -> tuple[str, ...]:
    """What a command has to be run under to be on that host, with its name."""
    naming = 'hostname "$0" && exec "$@"'
    return ("ip", "netns", "exec", name, "unshare", "--uts", "sh", "-c", naming, name)


class TwoHosts:
    """Namespaces bench<pid>a and …b, joined by a pair of virtual interfaces."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names = [f"bench{os.getpid()}{letter}" for letter in "ab"]
        self.sshd: list[subprocess.Popen[bytes]] = []

    def up(self) -> None:
        for name in self.names:
            etc = Path("/etc/netns") / name
            etc.mkdir(parents=True)
            lines = [f"{SUBNET}.{i} {host}" for i, host in enumerate(self.names, 1)]
            (etc / "hosts").write_text("\n".join(["127.0.0.1 localhost", *lines]) + "\n")
            (etc / "hostname").write_text(name + "\n")
            _sh("ip", "netns", "add", name)
        first, second = self.names
        _sh(
            "ip",
            "link",
            "add",
            "eth0",
            "netns",
            first,
            "type",
            "veth",
            "peer",
            "name",
            "eth0",
            "netns",
            second,
        )
        for number, name in enumerate(self.names, 1):
            for words in (
                f"addr add {SUBNET}.{number}/24 dev eth0", "link set eth0 up", "link set lo up",
            ):  # fmt: skip
                _sh("ip", "-n", name, *words.split())
        self._keys()
        for number, name in enumerate(self.names, 1):
            self._start_sshd(name, f"{SUBNET}.{number}")

    def _keys(self) -> None:
        for name in ("host", "user"):
            _sh("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name)
        shutil.copy(self.folder / "user.pub", self.folder / "authorized")
        (self.folder / "home").mkdir()
        (self.folder / "sshd_config").write_text(
            f"HostKey {self.folder}/host\nAuthorizedKeysFile {self.folder}/authorized\n"
            "StrictModes no\nUsePAM no\nUseDNS no\nPidFile none\nMaxStartups 100\n"
            f"PermitRootLogin yes\nSetEnv HOME={self.folder}/home\n"
        )
        ssh = self.folder / "ssh"
        ssh.write_text(
            "#!/bin/sh\nexec ssh -q -x -F none -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
            f' -o BatchMode=yes -i {self.folder}/user "$@"\n'
        )
        ssh.chmod(0o755)

    def _start_sshd(self, name: str, address: str) -> None:
        Path("/run/sshd").mkdir(exist_ok=True)
        log = self.folder / f"sshd-{name}"
        config = self.folder / "sshd_config"
        with log.open("wb") as file:
            self.sshd.append(
                subprocess.Popen(
                    [*inside(name), shutil.which("sshd") or SSHD, "-D", "-e", "-f", str(config)],
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=file,
                )
            )
        wait_for(f"sshd at {address}", lambda: "listening" in log.read_text(errors="replace"))

    def down(self) -> None:
        for name in self.names:
            with contextlib.suppress(RunFailure):
                for pid in _sh("ip", "netns", "pids", name).split():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(pid), signal.SIGTERM)
        for process in self.sshd:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for name in self.names:
            with contextlib.suppress(RunFailure):
                _sh("ip", "netns", "del", name)
            shutil.rmtree(Path("/etc/netns") / name, ignore_errors=True)

    def options(self) -> list[str]:
        """For an mpiexec in the first namespace: a process on each host by turns."""
        return [
            "-launcher",
            "ssh",
            "-launcher-exec",
            str(self.folder / "ssh"),
            "-hosts",
            ",".join(self.names),
            "-ppn",
            "1",
        ]


@contextlib.contextmanager
def two_hosts() -> Iterator[TwoHosts]:
    if os.geteuid() != 0:
        raise Skipped("network namespaces need root")
    for program, package in (
        ("ip", "iproute2"),
        (SSHD, "openssh-server"),
        ("ssh", "openssh-client"),
    ):
        if not shutil.which(program):
            raise Skipped(f"{program} is missing (apt-get install {package})")
    with tempfile.TemporaryDirectory(prefix="bench-hosts-") as folder:
        hosts = TwoHosts(Path(folder))
        try:
            hosts.up()
            yield hosts
        finally:
            hosts.down()


def standstill(bench: Bench) -> list[Case]:
    with two_hosts() as hosts:
        return host_cases(
            bench,
            *hosts.names,
            options=hosts.options(),
            before=inside(hosts.names[0]),
            environment={"FI_PROVIDER": "tcp"},
            deadline_s=90,
        )
