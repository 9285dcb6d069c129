"""Tests that need actions from outside while the job runs: each function drives one.

`scenario=NAME:ARGUMENT` in the test list calls the function NAME; the argument's parts, separated by colons, are its
further parameters.  Each function waits for conditions, never for a fixed time.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from . import checks
from .job import Job, Skip, TestRun

sys.path.append(str(Path(__file__).resolve().parents[3] / "maint"))
from private_apt import AptError, debian_packages  # noqa: E402

Scenario = Callable[..., None]

SCENARIOS: dict[str, Scenario] = {}


def scenario(function: Scenario) -> Scenario:
    assert function.__name__ not in SCENARIOS, f"a second scenario {function.__name__}"
    SCENARIOS[function.__name__] = function
    return function


def _stop(run: TestRun, job: Job, epoch: int, size: int) -> None:
    """Ends a `serve` job and checks its last word."""
    (run.work / "stop").touch()
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    checks.pass_line(run, job, epoch, size)


def _serve(run: TestRun, n: int, *options: str, arguments: tuple[str, ...] = ()) -> Job:
    job = run.mpiexec([*options, "--adapt-log", str(run.log_path)], arguments, n, "serve")
    job.await_line("^READY$")
    run.await_event("adaptive")
    return job

GRAPH_LOG = "MPIR_CVAR_ADAPT_GRAPH_LOG"


# ---- the driver of phases ------------------------------------------------------------------------

SOURCES = Path(__file__).resolve().parents[3] / "src"


def _states(run: TestRun, path: Path) -> list[tuple[str, str]]:
    """The letters and the event's name of each line of a log of states; its header is read."""
    lines = path.read_text(encoding="utf-8").splitlines()
    run.check("\x1b" not in "".join(lines), "there are colours in a file")
    begin = next((i for i, line in enumerate(lines) if set(line) == {"="}), -1) + 1
    run.check(begin > 2 and lines[0].split() == ["TIME", "STATE", "EVENT"], f"the header is {lines[:4]}")
    parsed = []
    for line in lines[begin:]:
        match = re.fullmatch(r" *(\d+\.\d+)ms ([IPRSA]+) (\w+).*", line)
        if match is None:
            run.fail(f"a line is '{line}'")
        parsed.append((match.group(2), match.group(3)))
    return parsed


def unpack_debian(run: TestRun, *names: str, version: str = "4.0.2") -> Path:
    """The folder of Debian's packages of this version, at first MPICH's, or of any (*): unpacked, not installed."""
    try:
        packages = debian_packages(list(names), version)
    except AptError as error:
        raise Skip(str(error)) from error
    folder = run.folder / "debian"
    for package in packages:
        subprocess.run(["dpkg", "-x", str(package), str(folder)], check=True)
    return folder
