"""The socket of the step protocol: private, removed, never shared."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import stat
import time
from pathlib import Path

from launcher import Bench, query
from support.checks import expect, wait_for


# ---- the step socket -----------------------------------------------------------------------------


def test_socket_is_private_and_removed(bench: Bench) -> None:
    folder = bench.runtime / f"elastic-mpich-{os.geteuid()}"
    folder.mkdir(mode=0o700)
    stale = folder / "step-999999.sock"
    foreign = folder / "step-999999.socket"
    foreign.touch()
    new, long_new = folder / "new-00000001", folder / "new-00000002"  # their mpiexecs do not listen yet
    for path in (stale, new, long_new):
        with socket.socket(socket.AF_UNIX) as stale_socket:
            stale_socket.bind(str(path))
    os.utime(long_new, (time.time() - 3600,) * 2)
    job = bench.start("-n", 1, program=[bench.process, "seconds=1"])
    mine = folder / f"step-{job.pid}.sock"
    wait_for("the socket", mine.exists)
    expect(stat.S_IMODE(folder.stat().st_mode) == 0o700, "the folder is not private")
    expect(not stale.exists(), "the socket of an ended mpiexec is still there")
    expect(bench.finish(job).code == 0, "the job failed")
    expect(sorted(folder.iterdir()) == [new, foreign], f"left over: {list(folder.iterdir())}")


def test_same_pid_in_two_namespaces(bench: Bench) -> None:
    """Two containers that share the folder: each step has an id and a socket of its own, and no step removes the
    other's."""
    folder = bench.runtime / f"elastic-mpich-{os.geteuid()}"
    unshare = ["--pid", "--fork", "--mount-proc", *(["--user", "--map-root-user"] if os.geteuid() else [])]
    options = [*unshare, bench.mpiexec, "-n", 1]
    ids, jobs = ("1", "1-2", "1-3"), []
    with contextlib.ExitStack() as unix:
        for count, step in enumerate(ids):
            if count == 1:  # one that has failed is nobody's
                stale_socket = unix.enter_context(socket.socket(socket.AF_UNIX))
                stale_socket.bind(str(folder / "step-1-2.sock"))
                stale_socket.close()
            job = bench.start(*options, mpiexec=Path("unshare"), program=[bench.process, "seconds=60"])
            jobs.append(job)
            wait_for(f"the socket of step {step}", (folder / f"step-{step}.sock").exists)
            wait_for("it to be the living one's", lambda: listens(folder / f"step-{step}.sock"))
    for step in ids:
        expect(query(folder / f"step-{step}.sock", "hello")["step"] == step, f"step {step} calls itself otherwise")
    for job, step in zip(jobs, ids):
        expect(listens(folder / f"step-{step}.sock"), f"step {step} has no socket")
        for pid in bench.running(bench.mpiexec):
            if f"{job.pid}" == Path(f"/proc/{pid}/stat").read_text().split()[3]:
                os.kill(pid, signal.SIGTERM)
        bench.finish(job)
    expect(not list(folder.iterdir()), f"left: {list(folder.iterdir())}")


def listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0


def test_foreign_folder_is_refused(bench: Bench) -> None:
    (bench.runtime / f"elastic-mpich-{os.geteuid()}").mkdir(mode=0o755)
    result = bench.run("-n", 1, program=[bench.process, "seconds=0.3"])
    expect(result.code == 0 and "cannot be resized from outside" in result.err, f"{result.code}: {result.err}")
