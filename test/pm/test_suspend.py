"""A resource manager suspends a job: mpiexec stops its processes on all hosts, and lets them continue."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from launcher import Bench
from support import procfs
from support.checks import expect, wait_for

MANAGED = {"ELASTIC_STEP_REGISTER": "00"}  # nobody listens there
HOSTS = ("-launcher", "fork", "-hosts", "aa,bb", "-ppn", 1, "-n", 2)


def start(bench: Bench) -> tuple[subprocess.Popen[str], list[int]]:
    folder = bench.folder / "pids"
    folder.mkdir()
    script = f'echo $$ >{folder}/$PMI_RANK.new; mv {folder}/$PMI_RANK.new {folder}/$PMI_RANK; while :; do sleep 0.1; done'
    job = bench.start(*HOSTS, program=["bash", "-c", script])
    files = [folder / "0", folder / "1"]
    wait_for("both processes", lambda: all(file.exists() for file in files))
    return job, [int(file.read_text()) for file in files]


def states(pids: list[int]) -> set[str]:
    return {procfs.stat(pid)[0] for pid in pids}


def test_all_processes_stop_and_continue(bench: Bench) -> None:
    bench.extra |= MANAGED
    job, pids = start(bench)
    for _ in range(2):
        job.send_signal(signal.SIGTSTP)
        wait_for("both to stop", lambda: states(pids) == {"T"})
        expect(procfs.stat(job.pid)[0] != "T", "mpiexec goes on")
        job.send_signal(signal.SIGCONT)
        wait_for("both to continue", lambda: "T" not in states(pids))
    os.kill(pids[0], signal.SIGKILL)
    result = bench.finish(job)
    expect(result.code == 9, f"the exit code is that of the process that was killed: {result}")


def test_an_end_of_a_suspended_job(bench: Bench) -> None:
    bench.extra |= MANAGED
    job, pids = start(bench)
    job.send_signal(signal.SIGTSTP)
    wait_for("both to stop", lambda: states(pids) == {"T"})
    job.send_signal(signal.SIGTERM)
    job.send_signal(signal.SIGCONT)
    bench.finish(job)
    wait_for("both to end", lambda: all(procfs.has_ended(pid) for pid in pids))


def test_without_a_manager_both_signals_keep_their_meaning(bench: Bench) -> None:
    job, _ = start(bench)
    status = Path(f"/proc/{job.pid}/status").read_text(encoding="ascii")
    caught = int(next(line for line in status.splitlines() if line.startswith("SigCgt")).split()[1], 16)
    for number in (signal.SIGTSTP, signal.SIGCONT):
        expect(not caught >> (number - 1) & 1, f"mpiexec takes {number!r}")
    job.send_signal(signal.SIGTERM)
    bench.finish(job)
