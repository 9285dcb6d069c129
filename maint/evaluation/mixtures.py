"""Random mixtures of programs under a real elasticd with policy `measured`: do their sizes come near to the best ones?

A mixture is 2 to 8 jobs of bench/phases on 8 to 24 simulated cores.  The best sizes are those at which the product of the
jobs' speeds is greatest.  A mixture is good if, when no size has been requested for REST_S, each job

    has its best size, or one process more or less (more, if there are cores that no job can use),
    has changed its size at most CHANGES_MAX times,
    and changes it at most once while WATCH_S pass.

src/rm/core/policy/mixtures_test.cpp has the same in simulated time, with other draws, more cores and shorter iterations.
"""

from __future__ import annotations

import math
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from evaluation import live
from evaluation.report import table
from evaluation.runs import Failed

from daemon_under_test import Bench, Daemon, Failure  # live has set the path

SAMPLE_S = 1
REST_S = 30  # as many samples: without a request the sizes are taken for final
LIMIT_S = 600  # to come to rest
WATCH_S = 100
CHANGES_MAX = 8  # of each job
ITERATION_MS = (250, 2500)  # of one process
MPI_SHARE = 0.02  # MPI time for time outside, where MPI time does not show how far a program scales


class Program(NamedTuple):
    serial: float  # the part that is not shared
    end: int  # more processes do not make it faster
    iteration_ms: float  # of one process
    loss_is_mpi: bool  # what it loses to a linear speed-up is time in MPI

    def speed(self, size: int) -> float:
        return 1 / (self.serial + (1 - self.serial) / min(size, self.end))

    def options(self, error: float) -> list[str]:
        mpi_time = ["-m", "0", "-t"] if self.loss_is_mpi else ["-m", str(MPI_SHARE)]
        work = ["-w", f"{self.iteration_ms:.3f}", "-s", str(self.end), "-a", f"{self.serial:.6f}", "-e", f"{error:.3f}"]
        return ["-k", "-i", "100000000", *work, *mpi_time]

    def text(self) -> str:
        law = f"serial {self.serial:.1%}" if self.serial else "linear"
        return f"{law} to {self.end}{'' if self.loss_is_mpi else ', MPI 2 %'}"


class Mixture:
    def __init__(self, seed: int):
        draw = random.Random(seed)
        self.seed = seed
        self.error = 0.2 * draw.random()
        self.cores = 8 * draw.randint(1, 3)
        self.programs = [
            Program(
                serial=draw.choice([0, 0.001 * 100 ** draw.random()]),
                end=draw.randint(1, 32),
                iteration_ms=ITERATION_MS[0] * (ITERATION_MS[1] / ITERATION_MS[0]) ** draw.random(),
                loss_is_mpi=draw.randrange(3) > 0,
            )
            for _ in range(draw.randint(2, 8))
        ]

    def value(self, sizes: list[int]) -> float:
        """The logarithm of the product of all speeds."""
        return sum(math.log(program.speed(size)) for program, size in zip(self.programs, sizes))

    def best(self) -> list[int]:
        """Each core goes to the job that gains most: the logarithms of the speeds are concave."""
        sizes = [1] * len(self.programs)
        for _ in range(self.cores - len(sizes)):
            gains = [program.speed(size + 1) / program.speed(size) for program, size in zip(self.programs, sizes)]
            if max(gains) == 1:
                break
            sizes[gains.index(max(gains))] += 1
        return sizes


class Outcome(NamedTuple):
    mixture: Mixture
    sizes: list[int]
    changes: list[int]  # of each job until it was at rest
    later: list[int]  # while it was watched

    def faults(self) -> list[str]:
        best = self.mixture.best()
        all_used = sum(best) == self.mixture.cores
        far = [now - size for now, size in zip(self.sizes, best) if now < size - 1 or (now > size + 1 and all_used)]
        found = [f"sizes off by {', '.join(f'{each:+}' for each in far)}"] if far else []
        found += [f"{max(self.changes)} changes of a job"] if max(self.changes) > CHANGES_MAX else []
        return found + ([f"{max(self.later)} later changes of a job"] if max(self.later) > 1 else [])

    def loss(self) -> float:
        """Of the product of all speeds, as a part of one job's speed."""
        return 1 - math.exp(self.mixture.value(self.sizes) - self.mixture.value(self.mixture.best()))


def sizes_of(daemon: Daemon, number: int) -> list[tuple[int, int]]:
    """Time in milliseconds and size, from its start on."""
    return [(record["time_ms"], record["data"]["size"]) for record in daemon.records(job=number) if record["event"] in ("started", "committed")]


def last_request_ms(daemon: Daemon, numbers: list[int]) -> int:
    times = [0]
    for number in numbers:
        times += [record["time_ms"] for record in daemon.records(job=number) if record["event"] in ("requested", "committed", "started")]
    return max(times)


def changes_between(history: list[tuple[int, int]], begin_ms: float, end_ms: float) -> int:
    return sum(1 for time_ms, _ in history[1:] if begin_ms < time_ms <= end_ms)


def run(mixture: Mixture, program: Path, mpi: Path, folder: Path) -> Outcome:
    folder.mkdir(exist_ok=True)
    bench = Bench(live.find_programs(mpi / "bin", mpi), folder, False, mixture.seed)
    config = f'[scheduling]\npolicy = "measured"\n[monitor]\ninterval = "{SAMPLE_S}s"\n'
    try:
        daemon = bench.start(config=config, name=f"mixture-{mixture.seed}", nodes=1, cores=mixture.cores)
        numbers = []
        for each in mixture.programs:
            words = [str(program), *each.options(mixture.error)]
            numbers.append(daemon.submit(*words, kind="malleable", min=1, max=mixture.cores))
            daemon.wait_state(numbers[-1], "RUNNING")
        begin_ms = last_request_ms(daemon, numbers)
        give_up = time.monotonic() + LIMIT_S
        while time.time() * 1000 - last_request_ms(daemon, numbers) < REST_S * 1000 and time.monotonic() < give_up:
            time.sleep(SAMPLE_S)
        rest_ms, sizes = int(time.time() * 1000), [sizes_of(daemon, number)[-1][1] for number in numbers]
        time.sleep(WATCH_S)
        histories = [sizes_of(daemon, number) for number in numbers]
        for number in numbers:
            daemon.post(f"/v1/jobs/{number}/cancel")
        for number in numbers:
            daemon.wait_end(number)
        daemon.stop()
    except Failure as failure:
        raise Failed(f"mixture {mixture.seed}: {failure}\n{bench.logs()}") from None
    finally:
        bench.clean()
    changes = [changes_between(history, begin_ms, rest_ms) for history in histories]
    return Outcome(mixture, sizes, changes, [changes_between(history, rest_ms, math.inf) for history in histories])


def row(outcome: Outcome) -> list[str]:
    mixture = outcome.mixture
    jobs = "; ".join(program.text() for program in mixture.programs)
    best, found = (" ".join(map(str, sizes)) for sizes in (mixture.best(), outcome.sizes))
    faults = "; ".join(outcome.faults()) or "good"
    changes = f"{max(outcome.changes)}, {max(outcome.later)}"
    return [str(mixture.seed), str(mixture.cores), jobs, best, found, changes, f"{outcome.loss():.1%}", faults]


def report(mpi: Path, count: int, seed: int, parallel: int, folder: Path) -> str:
    program = live.compile_phases(mpi, folder)

    def play(mixture: Mixture) -> Outcome:
        outcome = run(mixture, program, mpi, folder / str(mixture.seed))
        print(f"evaluate: {' | '.join(row(outcome))}", file=sys.stderr, flush=True)
        return outcome

    with ThreadPoolExecutor(parallel) as pool:
        outcomes = list(pool.map(play, [Mixture(number) for number in range(seed, seed + count)]))
    good = sum(not outcome.faults() for outcome in outcomes)
    losses = sorted(outcome.loss() for outcome in outcomes)
    text = f"{good} of {count} mixtures are good. Loss of one job's speed: median {losses[count // 2]:.1%}, most {losses[-1]:.1%}.\n\n"
    heads = ["seed", "cores", "speed-up of each job", "best sizes", "sizes", "most changes: until rest, later", "loss", "state"]
    return text + table(heads, [row(outcome) for outcome in outcomes])
