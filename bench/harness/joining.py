"""While joining processes start, by bench/steady_loop.c: the staying processes' throughput, and how long it
takes until the growth is offered to them."""

from __future__ import annotations

import array
import bisect
import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .bench import Bench, Skipped
from .launch import Job, Line, Others, RunFailure, parse_lines
from .result import Case, budget, ratio_case

PROGRAM = "steady_loop"
PATIENCE_S = 120.0
PAUSE_S = 0.05  # between two events, so that what has left has ended


def wait_for(what: str, condition: Callable[[], Any], patience_s: float = PATIENCE_S) -> Any:
    """The condition's value, once it is not empty."""
    end = time.monotonic() + patience_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise RunFailure(f"waited {patience_s:.0f} s for {what}")
        time.sleep(0.002)


@dataclass
class Step:
    """A running world of one process that can be resized."""

    bench: Bench
    job: Job
    environment: dict[str, str]
    id: str = ""
    patience_s: float = PATIENCE_S

    def elastic(self, *words: object) -> str:
        command = [str(self.bench.ours.bin / "elastic"), *map(str, words)]
        done = subprocess.run(
            command, env={**os.environ, **self.environment}, capture_output=True, text=True,
            timeout=self.patience_s, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise RunFailure(f"{' '.join(command)}: {done.stderr.strip()}")
        return done.stdout

    def find(self) -> None:
        def running() -> str:
            if self.job.process.poll() is not None:
                self.job.fail("ended early")
            for line in parse_lines(self.elastic("ps", "--json")):
                if line["state"] == "running" and line["mode"] == "adaptive":
                    return str(line["step"])
            return ""

        self.id = wait_for("the step", running, self.patience_s)

    def reported(self, what: str) -> list[Line]:
        return [line for line in parse_lines(self.job.text()) if line["what"] == what]

    def resize(self, size: int) -> None:
        """Returns when it is committed and its processes that left have ended."""
        self.elastic("resize", self.id, size, "--wait")
        time.sleep(PAUSE_S)

    def grow(self, size: int) -> tuple[float, float]:
        """From the start of the command to the offer, seconds since 1970."""
        before = len(self.reported("offered"))
        requested = time.time()
        self.resize(size)
        offers = wait_for("the offer", lambda: self.reported("offered")[before:])
        return requested, offers[0]["at"]


@contextlib.contextmanager
def steady_step(bench: Bench, *arguments: object, before: tuple[str, ...] = ()) -> Iterator[Step]:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        environment = {"XDG_RUNTIME_DIR": folder}
        with bench.ours.job(1, PROGRAM, *arguments, environment=environment, before=before) as job:
            step = Step(bench, job, environment)
            step.find()
            yield step
            job.finish(PATIENCE_S)


def plain_start(bench: Bench, processes: int, before: tuple[str, ...] = ()) -> tuple[float, float]:
    """From the start of a plain mpiexec to its last process' end of initialisation."""
    with bench.ours.job(processes, PROGRAM, "--start", before=before) as job:
        lines = job.finish(PATIENCE_S).lines
        if len(lines) != processes:
            job.fail(f"{len(lines)} of {processes} processes reported that they are initialised")
    return job.started, max(line["at"] for line in lines)


# ---- throughput -------------------------------------------------------------------------------


def _units_per_s(ends: "array.array[float]", begin: float, end: float) -> float:
    return (bisect.bisect(ends, end) - bisect.bisect(ends, begin)) / (end - begin)


def undisturbed(bench: Bench) -> list[Case]:
    """The staying process on the last core, everything else on the others."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        raise Skipped("needs two cores")
    own, rest = allowed[-1], ",".join(map(str, allowed[:-1]))
    elsewhere = ("taskset", "-c", rest)
    cases = []
    for joining in bench.amount.pick((1,), (1, 4), (1, 4, 16)):
        trace = bench.folder / "units"
        load = Others()
        joined, plain = [], []
        with steady_step(bench, "--work", trace, own, before=elsewhere) as step:
            for number in budget(bench.amount.pick(12, 30, 60), least=5, most=40):
                bench.progress.report(f"{joining} joining, round {number + 1}")
                joined.append(step.grow(1 + joining))
                step.resize(1)
                plain.append(plain_start(bench, joining, elsewhere))
                time.sleep(PAUSE_S)
        ends = array.array("d")
        ends.frombytes(trace.read_bytes())
        trace.unlink()
        cases.append(
            ratio_case(
                "undisturbed", f"{joining} joining",
                [[_units_per_s(ends, *interval)] for interval in joined],
                [[_units_per_s(ends, *interval)] for interval in plain], "1/s", load.share(),
            )  # fmt: skip
        )
    return cases


# ---- the offer --------------------------------------------------------------------------------


def offered(bench: Bench) -> list[Case]:
    cases = []
    for joining in bench.amount.pick((1, 4), (1, 2, 4, 8, 16), (1, 2, 4, 8, 16, 32, 64)):
        load = Others()
        mine, plain = [], []
        with steady_step(bench, "--wait") as step:
            for number in budget(bench.amount.pick(10, 20, 40), least=3, most=30):
                bench.progress.report(f"{joining} joining, round {number + 1}")
                begin, end = step.grow(1 + joining)
                mine.append([1e3 * (end - begin)])
                step.resize(1)
                begin, end = plain_start(bench, joining)
                plain.append([1e3 * (end - begin)])
        cases.append(ratio_case("offered", f"{joining} joining", mine, plain, "ms", load.share()))
    return cases
