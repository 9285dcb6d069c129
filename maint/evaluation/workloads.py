"""What is simulated: a workload that is made here, job traces, and the loaded weeks of them."""

from __future__ import annotations

import gzip
import math
import random
from pathlib import Path
from typing import NamedTuple

# Nodes, and what a trace counts of each (cores, or the node itself), of the machines that are known by name.
MACHINES = {
    "KTH-SP2-1996": (100, 1),
    "CEA-Curie-2011": (5832, 16),
    "ALCF-Mira-2018": (49152, 1),
    "ALCF-Theta-2022": (4360, 1),
    "EPCC-Cirrus-2024": (368, 36),
}
DAY_S = 86400
# The days of a loaded window: the first of these that has no more than so many jobs, else the last.
WINDOW_DAYS = (28, 7)
WINDOW_JOBS_MAX = 10000


class Workload(NamedTuple):
    name: str
    trace: Path
    machine: tuple[int, int]


def synthetic(path: Path, jobs: int, seed: int) -> Workload:
    nodes = 128
    path.write_text(f"; MaxProcs: {nodes}\n" + "".join(synthetic_lines(jobs, nodes, 0.9, random.Random(seed))))
    return Workload("synthetic", path, (nodes, 1))


def synthetic_lines(jobs: int, cores: int, load: float, chance: random.Random) -> list[str]:
    """Poisson arrivals that follow the time of day, sizes mostly powers of two, run times log-normal; users request for
    one to three times as long.  `load`: offered core time by what the machine has."""
    drawn = []
    for _ in range(jobs):
        size = 2 ** chance.randint(0, int(math.log2(cores)) - 1)
        if chance.random() < 0.25:
            size = max(1, int(size * chance.uniform(0.6, 1.4)))
        run_s = int(min(max(chance.lognormvariate(math.log(1200), 1.2), 30), 86400))
        drawn.append((size, run_s, int(run_s * chance.uniform(1, 3)) + 60, chance.randint(1, 40)))
    offered = sum(size * run_s for size, run_s, _, _ in drawn)
    rate = jobs / (offered / (cores * load))
    lines, at_s = [], 0.0
    for number, (size, run_s, requested_s, user) in enumerate(drawn, 1):
        by_day = 1 + 0.6 * math.sin(2 * math.pi * at_s / DAY_S)
        at_s += chance.expovariate(rate * by_day)
        lines.append(f"{number} {int(at_s)} -1 {run_s} {size} -1 -1 {size} {requested_s} -1 1 {user} -1 -1 -1 -1 -1 -1\n")
    return lines


class TraceJob(NamedTuple):
    submit_s: int
    core_s: int
    line: str


def read_jobs(path: Path) -> list[TraceJob]:
    """The jobs of a trace in the Standard Workload Format, in the order of their submission."""
    opened = gzip.open(path, "rt") if path.name.endswith(".gz") else open(path)
    with opened as lines:
        rows = [(line.split(), line) for line in lines if line.strip() and not line.lstrip().startswith(";")]
    jobs = []
    for fields, line in rows:
        size = int(fields[4]) if int(fields[4]) > 0 else int(fields[7])
        jobs.append(TraceJob(int(fields[1]), max(int(fields[3]), 0) * max(size, 0), line))
    return sorted(jobs, key=lambda job: job.submit_s)


def most_loaded(jobs: list[TraceJob], days: int) -> list[TraceJob]:
    """Of the windows of so many days that begin with whole days after the first submission, the one with the greatest
    offered load; the first of equals.  All of a trace that is shorter."""
    first_s, last_s = jobs[0].submit_s, jobs[-1].submit_s
    whole_days = (last_s - first_s) // DAY_S + 1
    offered = [0] * whole_days
    for job in jobs:
        offered[(job.submit_s - first_s) // DAY_S] += job.core_s
    starts = range(max(whole_days - days, 0) + 1)
    begin = max(starts, key=lambda day: (sum(offered[day : day + days]), -day))
    return [job for job in jobs if begin <= (job.submit_s - first_s) // DAY_S < begin + days]


def window(trace: Workload, folder: Path) -> Workload:
    """The loaded days of a trace, as a trace of its own (WINDOW_DAYS)."""
    jobs = read_jobs(trace.trace)
    for days in WINDOW_DAYS:
        chosen = most_loaded(jobs, days)
        if len(chosen) <= WINDOW_JOBS_MAX:
            break
    path = folder / f"{trace.name}-window.swf"
    path.write_text("".join(job.line for job in chosen))
    return Workload(f"{trace.name}-window", path, trace.machine)


def found_in(folder: Path) -> tuple[list[Workload], list[str]]:
    """The traces there whose machines are known, and the names of the others."""
    known, unknown = [], []
    for path in sorted(folder.iterdir()):
        if not path.name.endswith((".swf", ".swf.gz")):
            continue
        name = path.name.split(".")[0]
        if name in MACHINES:
            known.append(Workload(name, path, MACHINES[name]))
        else:
            unknown.append(path.name)
    return known, unknown
