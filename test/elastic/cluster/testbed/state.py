"""The folder of a testbed, and the selection of one.

A testbed is known by its folder.  Everything that belongs to it is either in that folder or a process whose environment
names the folder, so that `down` needs no other record, also after an `up` that has failed.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

MARKER = "ELASTIC_CLUSTER"  # in the environment of every process of a testbed: its folder
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,30}")
# Sockets lie in the folder, and the path of a socket has at most 107 bytes.
PATH_BYTES = 70


class TestbedError(Exception):
    """The reason of a failure and its remedy, as text for users."""


@dataclass
class Host:
    """One host: its name, address, and the process (seen from outside) that it stands and falls with."""

    name: str
    address: str
    pid: int
    started: int  # clock ticks since boot, so that another process of the same number is not taken for it


@dataclass
class Cluster:
    """The known data of a testbed that is up: `head` is the switch and the login node, not a compute node."""

    folder: str
    head: Host
    hosts: list[Host]
    daemons: list[str] = field(default_factory=list)  # of slurm

    def host(self, name: str) -> Host:
        for host in [self.head, *self.hosts]:
            if host.name == name:
                return host
        names = " ".join(host.name for host in [*self.hosts, self.head])
        raise TestbedError(f"no host {name}; there are: {names}")


def default_base() -> Path:
    return Path(tempfile.gettempdir()) / f"elastic-cluster-{os.getuid()}"


def check_owner(folder: Path) -> None:
    """Refuses a folder that another user has made, or can change: processes are ended by the files in it."""
    try:
        status = os.lstat(folder)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise TestbedError(f"{folder} is not a folder of yours alone; choose another folder with --state, or with TMPDIR")


def folder_of(name: str, state: str | None) -> Path:
    """The folder of a testbed: given, or by its name."""
    if state is None and not NAME.fullmatch(name):
        raise TestbedError(f"'{name}' cannot be a testbed's name: use letters, digits, - and _")
    folder = Path(os.path.abspath(state)) if state else default_base() / name
    if len(os.fsencode(folder)) > PATH_BYTES:
        raise TestbedError(f"the path {folder} is too long for sockets; choose a shorter one with --state")
    if state is None:
        check_owner(default_base())
    check_owner(folder)
    return folder


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One `up` or `down` at a time for testbeds in the same folder."""
    try:
        folder.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        if folder.parent == default_base():  # made now, by us or by somebody who was faster
            check_owner(folder.parent)
        descriptor = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise TestbedError(f"cannot use {folder.parent}: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def save(cluster: Cluster) -> None:
    (Path(cluster.folder) / "cluster.json").write_text(json.dumps(asdict(cluster), indent=1), encoding="utf-8")


def load(folder: Path) -> Cluster | None:
    """The testbed as it was brought up; None if that was never finished."""
    try:
        known = json.loads((folder / "cluster.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    hosts = [Host(**host) for host in known["hosts"]]
    return Cluster(known["folder"], Host(**known["head"]), hosts, known["daemons"])


def remove_files(folder: Path) -> None:
    """Removes a testbed's folder, and the one above if it was the last in it."""
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "log").is_dir():
        raise TestbedError(f"{folder} is not the folder of a testbed; remove or rename it yourself")
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        if folder.parent == default_base():
            folder.parent.rmdir()
