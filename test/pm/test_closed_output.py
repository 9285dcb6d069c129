"""Jobs whose processes have closed their output, so that only mpiexec and PMI communicate with the proxy."""

from __future__ import annotations

import signal
import subprocess
import sys

from launcher import Bench, finish_all_soon, finish_soon
from support.checks import expect, wait_for

SILENT = "exec >&- 2>&-; : > $PWD/silent-$PMI_RANK; "

# One barrier of PMI-1, after its output is closed.
JOINS = """
import os

os.close(1)
os.close(2)
pmi = os.fdopen(int(os.environ["PMI_FD"]), "r+b", buffering=0)
for line in (b"init pmi_version=1 pmi_subversion=1", b"barrier_in", b"finalize"):
    pmi.write(b"cmd=" + line + b"\\n")
    while pmi.read(1) != b"\\n":
        pass
"""

OVER_TWO = ["-hosts", "aa,bb", "-ppn", 2]


def start(bench: Bench, program: str, *args: object, count: int = 2) -> subprocess.Popen[str]:
    """`count` processes close their output and continue with the program."""
    for left in bench.folder.glob("silent-*"):
        left.unlink()
    launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh]
    job = bench.start(*launcher, *args, program=["sh", "-c", SILENT + program])
    wait_for("the processes to close their output", lambda: len(list(bench.folder.glob("silent-*"))) == count)
    return job


def test_signals_end_it(bench: Bench) -> None:
    """On this host and on two, with handlers and without; a rigid job and one that may adapt."""
    jobs = []
    layouts: list[list[object]] = [["-n", 2], ["-n", 4, *OVER_TWO], ["-n", 2, "--adapt-range", "1:4"]]
    for layout in layouts:
        for number in (signal.SIGTERM, signal.SIGINT):
            jobs.append(start(bench, "exec sleep 1000", *layout, count=int(str(layout[1]))))
            jobs[-1].send_signal(number)
    finish_all_soon(bench, jobs)


def test_signals_are_passed_on(bench: Bench) -> None:
    job = start(bench, "trap 'exit 5' USR1; : > ready-$PMI_RANK; while :; do sleep 0.1; done", "-n", 2)
    wait_for("the handlers", lambda: len(list(bench.folder.glob("ready-*"))) == 2)
    job.send_signal(signal.SIGUSR1)
    result = finish_soon(bench, job)
    expect(result.code == 5, f"exit code {result.code}: {result.err}")


def test_mpiexec_is_killed(bench: Bench) -> None:
    job = start(bench, "exec sleep 1000", "-n", 4, *OVER_TWO, count=4)
    job.kill()
    finish_soon(bench, job)


def test_others_end_the_job(bench: Bench) -> None:
    """One process is killed: on another host, on the same one."""
    layouts: list[list[object]] = [[*OVER_TWO], []]
    for hosts in layouts:
        job = start(bench, "test $PMI_RANK -eq 0 || exec sleep 1000; sleep 0.5; kill -9 $$", "-n", 4, *hosts, count=4)
        result = finish_soon(bench, job)
        expect(result.code == 9, f"exit code {result.code}: {result.err}")


def test_pmi_is_answered(bench: Bench) -> None:
    script = bench.folder / "meets.py"
    script.write_text(JOINS)
    layouts: list[list[object]] = [["-n", 2], ["-n", 4, *OVER_TWO]]
    for layout in layouts:
        launcher = ["-launcher", "ssh", "-launcher-exec", bench.ssh]
        result = finish_soon(bench, bench.start(*launcher, *layout, program=[sys.executable, script]))
        expect(result.code == 0 and not result.err, f"exit code {result.code}: {result.err}")


def test_exit_codes(bench: Bench) -> None:
    """The ends of processes are noticed one by one, and all at once."""
    for wait in ("sleep 0.$PMI_RANK; ", ""):
        result = finish_soon(bench, start(bench, f"{wait}exit $((4 * ($PMI_RANK % 2)))", "-n", 4, *OVER_TWO, count=4))
        expect(result.code == 4, f"exit code {result.code}: {result.err}")
