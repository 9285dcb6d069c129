"""Processes of the launch that end too early, on another host than mpiexec's."""

from __future__ import annotations

from harness.job import Job

from .cases import await_none, case
from .hostrun import HostRun

LIMIT_S = 30.0


def over_two(run: HostRun, program: str, *arguments: str) -> Job:
    """Ranks 0 and 1 on h1 and h2."""
    return run.mpiexec(["-launcher", "ssh", "-hosts", "h1,h2", "-ppn", "1"], arguments, 2, program)


def job_ends(run: HostRun, job: Job, code: int, *printed: str) -> None:
    run.check(job.wait() == code, f"exit code {job.process.returncode}, expected {code}: {job.err[-600:]}")
    for words in printed:
        run.check(words in job.out + job.err, f"'{words}' is missing: {job.out[-600:]}{job.err[-600:]}")
    for host, program in (("h1", "rigid"), ("h1", "exit_code"), ("h2", "exit_code")):
        await_none(run, host, program, LIMIT_S)


@case("I3", nodes=2)
def ends_before_init_elsewhere(run: HostRun) -> None:
    """MPI_Init on h1 waits for a process on h2 that exits, also with 0, or is killed: mpiexec names it, and the job ends."""
    for how, code, printed in (("exit 3", 3, "exit code 3"), ("exit 0", 1, "exit code 0"), ("kill -9 $$", 9, "Killed")):
        job = over_two(run, "/bin/sh", "-c", f'[ "$PMI_RANK" = 0 ] || {{ {how}; }}; exec {run.program("rigid")}')
        job_ends(run, job, code, printed, "h2")


@case("I3", nodes=2)
def ends_without_finalize_elsewhere(run: HostRun) -> None:
    """A process on h2 exits, also with 0, or is killed, between MPI_Init and MPI_Finalize: the job ends with its code."""
    for how, number, code in (("exit", "3", 3), ("exit", "0", 1), ("kill", "7", 9)):
        job = over_two(run, "exit_code", "--rigid", "1", "--how", how, "--code", number)
        job_ends(run, job, code)
