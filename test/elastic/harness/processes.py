"""Finds the leftovers of a test: processes by a variable of the test's own, files by name.

The harness makes itself the reaper of orphans, so that a process that outlives its launcher is still found, and reaped
at the end.  Processes are ended by their number only.  Children of the harness are left to the code that waits for
them: another test may be about to, and would miss the exit code.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support import procfs

MARKER = "ELASTIC_TEST_MARKER"
PR_SET_CHILD_SUBREAPER = 36
SHARED_MEMORY = Path("/dev/shm")
TEMPORARY = Path("/tmp")
OURS = re.compile(r"^(mpich|MPICH|mpi_|MPI_|hydra|pmi|PMI|romio|adapt|elastic_|fi_|ofi|psm|sem\.)")


@dataclass(frozen=True)
class Process:
    """A process as /proc shows it."""

    pid: int
    parent: int
    session: int
    state: str
    command: str

    def __str__(self) -> str:
        return f"process {self.pid} (state {self.state}): {self.command[:200]}"


def become_reaper() -> None:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _lookup_process(pid: int) -> Process | None:
    fields = procfs.stat(pid)
    return Process(pid, int(fields[1]), int(fields[3]), fields[0], " ".join(procfs.words(pid))) if fields else None


def marked(marker: str) -> list[Process]:
    """Living processes of a test.  (Zombies have no environment.)"""
    found = map(_lookup_process, procfs.marked(MARKER, marker))
    return [process for process in found if process and process.state != "Z"]


_started: set[int] = set()
_starting = threading.Lock()


def start(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
    """A process in a session of its own; the caller waits for it."""
    with _starting:
        process = subprocess.Popen(command, start_new_session=True, **options)
        _started.add(process.pid)
    return process


def collect_orphans() -> None:
    """Reaps ended processes that became children of the harness; those in its own session it has started."""
    me, session = os.getpid(), os.getsid(0)
    with _starting:
        for pid in procfs.pids():
            process = _lookup_process(pid)
            if not process or process.parent != me or process.state != "Z":
                continue
            if process.session == session or pid in _started:
                continue
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass


def await_end_of_processes(marker: str, grace_s: float) -> list[Process]:
    """Waits for a test's processes to end; returns the remaining ones."""
    deadline = time.monotonic() + grace_s
    while True:
        left = marked(marker)
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.02)


def kill(processes: list[Process]) -> None:
    for process in processes:
        try:
            os.kill(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def stacks(marker: str) -> str:
    """Where a test's processes are, if there is a debugger."""
    text = ""
    debugger = shutil.which("gdb")
    for process in marked(marker):
        text += f"--- {process}\n"
        if debugger is None:
            continue
        command = [debugger, "-batch", "-p", str(process.pid), "-ex", "thread apply all bt 25"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
        except subprocess.TimeoutExpired:
            continue
        text += "".join(line + "\n" for line in done.stdout.splitlines() if line[:1] in "#T")
    return text


def _in_use(path: Path) -> bool:
    """Whether any living process has the file mapped."""
    for pid in procfs.pids():
        try:
            if str(path) in Path(f"/proc/{pid}/maps").read_text(errors="replace"):
                return True
        except OSError:
            continue
    return False


def shared_names() -> set[Path]:
    """Files that a job could leave in folders shared by all users."""
    names: set[Path] = set()
    for folder in (SHARED_MEMORY, TEMPORARY):
        if folder.is_dir():
            names.update(path for path in folder.iterdir() if OURS.match(path.name))
    return names


def new_files(before: set[Path]) -> list[Path]:
    """New shared files of this user that no process uses (others may run jobs at the same time)."""
    found = []
    for path in shared_names() - before:
        try:
            mine = path.lstat().st_uid == os.getuid()
        except OSError:
            continue
        if mine and not _in_use(path) and path.exists():
            found.append(path)
    return found
