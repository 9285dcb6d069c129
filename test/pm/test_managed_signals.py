"""Signals of a resource manager reach the processes on all hosts; it suspends a job by SIGTSTP, until SIGCONT."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
from pathlib import Path

from launcher import Bench
from support import procfs
from support.checks import expect, wait_for

MANAGED = {"ELASTIC_STEP_REGISTER": "00"}  # nobody listens there
HOSTS = ("-launcher", "fork", "-hosts", "aa,bb", "-ppn", 1, "-n", 2)


PASSED_ON = ("HUP", "USR2", "URG", "WINCH", "XCPU")


def start(bench: Bench, traps: str = "") -> tuple[subprocess.Popen[str], list[int]]:
    folder = bench.folder / "pids"
    folder.mkdir()
    script = f'{traps} echo $$ >{folder}/$PMI_RANK.new; mv {folder}/$PMI_RANK.new {folder}/$PMI_RANK; while :; do sleep 0.1; done'
    job = bench.start(*HOSTS, program=["bash", "-c", script])
    files = [folder / "0", folder / "1"]
    wait_for("both processes", lambda: all_exist(files))
    return job, [int(file.read_text()) for file in files]


def all_exist(files: list[Path]) -> bool:
    return all(file.exists() for file in files)


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


def caught(pid: int) -> set[signal.Signals]:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    mask = int(next(line for line in status.splitlines() if line.startswith("SigCgt")).split()[1], 16)
    return {number for number in signal.Signals if mask >> (number - 1) & 1}


def test_signals_reach_all_processes(bench: Bench) -> None:
    """Such as those of --signal.  Stock's mpiexec would end by them."""
    bench.extra |= MANAGED
    got = bench.folder / "got"
    got.mkdir()
    traps = "".join(f"trap ': >{got}/{name}-$PMI_RANK' {name};" for name in PASSED_ON)
    job, _ = start(bench, traps)
    for name in PASSED_ON:
        job.send_signal(signal.Signals[f"SIG{name}"])
        wait_for(f"{name} to arrive", functools.partial(all_exist, [got / f"{name}-{rank}" for rank in (0, 1)]))
    job.send_signal(signal.SIGTERM)
    bench.finish(job)


def test_an_ignored_signal_stays_ignored(bench: Bench) -> None:
    """As nohup leaves SIGHUP."""
    bench.extra |= MANAGED
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        job, _ = start(bench)
    finally:
        signal.signal(signal.SIGHUP, before)
    expect(caught(job.pid) & {signal.SIGHUP, signal.SIGUSR2} == {signal.SIGUSR2}, f"mpiexec takes {caught(job.pid)}")
    job.send_signal(signal.SIGTERM)
    bench.finish(job)


def test_without_a_manager_they_keep_their_meaning(bench: Bench) -> None:
    job, _ = start(bench)
    managed = {signal.Signals[f"SIG{name}"] for name in ("TSTP", "CONT", *PASSED_ON)}
    expect(not caught(job.pid) & managed, f"mpiexec takes {caught(job.pid) & managed}")
    job.send_signal(signal.SIGTERM)
    bench.finish(job)
