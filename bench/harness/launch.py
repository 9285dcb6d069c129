"""Compiles the measuring programs and runs them under an installed MPI.

Each run has a deadline; what it prints is JSON lines, everything else is retained for the message of a
failure.  A run that is late is ended by SIGTERM to its mpiexec, which cleans up, and then by force.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

SOURCES = Path(__file__).resolve().parent.parent
# gcc takes MPI_STATUSES_IGNORE for an array of no elements.
FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Wno-stringop-overflow")
GRACE_S = 10.0
TAIL = 12

Line = dict[str, Any]


class RunFailure(Exception):
    """A program did not compile, run or end; the text states which, and what it printed last."""


def cores() -> int:
    return len(os.sched_getaffinity(0))


def parse_lines(text: str) -> list[Line]:
    """The JSON objects among the lines."""
    return [json.loads(line) for line in text.splitlines() if line.startswith('{"')]


@dataclass
class Run:
    """What a finished run printed, and how long it took from start to end."""

    lines: list[Line]
    seconds: float

    def samples(self) -> dict[str, list[float]]:
        """Of the lines {"what": NAME, "us": [...]}."""
        return {line["what"]: line["us"] for line in self.lines if "us" in line}


class Job:
    """A program under mpiexec that is still running.  Its output is in `output`."""

    def __init__(self, words: Sequence[str], output: Path, environment: Mapping[str, str]) -> None:
        self.words = list(words)
        self.output = output
        self.started = time.time()
        self._begin = time.monotonic()
        with output.open("wb") as file:
            self.process = subprocess.Popen(
                self.words,
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment},
                start_new_session=True,
            )

    def text(self) -> str:
        return self.output.read_text(errors="replace")

    def fail(self, what: str) -> NoReturn:
        printed = "\n".join("    " + line[:200] for line in self.text().splitlines()[-TAIL:])
        raise RunFailure(f"{what}: {' '.join(self.words)}\n{printed}")

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()

    def finish(self, deadline_s: float) -> Run:
        assert self.process.stdin is not None
        try:
            self.process.stdin.close()
            code = self.process.wait(deadline_s)
        except subprocess.TimeoutExpired:
            self.kill()
            self.fail(f"no end after {deadline_s:.0f} s")
        seconds = time.monotonic() - self._begin
        if code != 0:
            self.fail(f"exit code {code}")
        return Run(parse_lines(self.text()), seconds)


class Mpi:
    """An installed MPI and the programs that were compiled with it."""

    def __init__(self, name: str, prefix: Path, folder: Path) -> None:
        self.name = name
        self.prefix = prefix
        self.bin = prefix / "bin"
        self.folder = folder / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self._runs = 0

    def compile(self) -> None:
        for source in sorted(SOURCES.glob("*.c")):
            words = [
                str(self.bin / "mpicc"),
                *FLAGS,
                str(source),
                "-o",
                str(self.folder / source.stem),
            ]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise RunFailure(f"{' '.join(words)}\n{done.stderr[-2000:]}")
            self._check_library(self.folder / source.stem)

    def _check_library(self, program: Path) -> None:
        """What is measured must be what it is called."""
        listed = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False).stdout
        used = re.findall(r"libmpi\.so\S* => (\S+)", listed)
        if used and not Path(used[0]).resolve().is_relative_to(self.prefix.resolve()):
            raise RunFailure(f"{program} was compiled with {self.prefix} and would run with {used[0]}")

    def start(
        self,
        processes: int,
        program: str,
        *arguments: object,
        options: Sequence[object] = (),
        environment: Mapping[str, str] | None = None,
        before: Sequence[str] = (),
    ) -> Job:
        """`options` are mpiexec's; `before` is a command to run it under, e.g. taskset."""
        self._runs += 1
        words = [
            *before, str(self.bin / "mpiexec"), "-n", str(processes), *map(str, options),
            str(self.folder / program), *map(str, arguments),
        ]  # fmt: skip
        return Job(words, self.folder / f"output-{self._runs}", environment or {})

    def run(
        self,
        processes: int,
        program: str,
        *arguments: object,
        options: Sequence[object] = (),
        environment: Mapping[str, str] | None = None,
        before: Sequence[str] = (),
        deadline_s: float = 120.0,
    ) -> Run:
        with self.job(
            processes, program, *arguments, options=options, environment=environment, before=before
        ) as job:
            return job.finish(deadline_s)

    @contextmanager
    def job(self, processes: int, program: str, *arguments: object, **how: Any) -> Iterator[Job]:
        job = self.start(processes, program, *arguments, **how)
        try:
            yield job
        finally:
            job.kill()
            job.output.unlink(missing_ok=True)


# ---- the rest of the machine ------------------------------------------------------------------


def _machine_busy_s() -> float:
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _idle, _wait, irq, softirq, steal = map(int, fields[:8])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def _own_s() -> float:
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in (
            resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
    )


class Others:
    """The share of the machine that others used since this object was made."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._busy = _machine_busy_s()
        self._own = _own_s()

    def share(self) -> float:
        elapsed = max(time.monotonic() - self._begin, 1e-3)
        others = (_machine_busy_s() - self._busy) - (_own_s() - self._own)
        return min(1.0, max(0.0, others / elapsed / (os.cpu_count() or 1)))
