"""A scaled day of a workload under a real elasticd, beside the result of elasticsim.

The jobs are bench/phases, whose iterations sleep: of each it is known how fast it is at each size, and many of them need
no cores.  They keep time (-k), so that they are as fast as that on a busy machine, too.  elasticd plays one node of CORES
cores here.  A job's run time is all of its step, so that what a start takes is measured before, by size, and taken from it.
"""

from __future__ import annotations

import csv
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from evaluation import workloads
from evaluation.report import table
from evaluation.runs import Failed
from evaluation.workloads import Workload

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test"), str(ROOT / "test" / "rm")]
from daemon_under_test import Bench, Daemon, Failure, find_programs  # noqa: E402

POLICIES = ["easy", "fill", "measured"]
CORES = 16
LOAD = 0.9  # offered
RUN_S = (15, 40, 150)  # least, mean (before it is held within the others) and greatest
ITERATION_MS = 100  # at the size of the trace
MU_LINEAR = 0.02  # phases -m linear: MPI time for time outside, for each process
SHARE = 0.5  # of malleable jobs
RANGE = (0.25, 4)  # their sizes, as elasticsim has it
SAMPLE_S = 2  # the first two of a size in half of it, which is the least that elasticd does
STARTS = 3  # of each size that are measured
START_SIZES = (1, 4, 16)
AGREEMENT = 0.07  # live times differ from simulated ones by so much at most


class LiveJob(NamedTuple):
    submit_s: int
    run_s: int
    size: int
    limit_s: int


def iteration_ms(work_ms: float, processes: int) -> float:
    """Of bench/phases, which explains why."""
    each_ms, mu = work_ms / processes, MU_LINEAR * processes
    return each_ms if processes == 1 else each_ms * (1 + mu * processes / (processes - 1 - mu))


def speed(processes: int) -> float:
    return iteration_ms(1, 1) / iteration_ms(1, processes)


def scaled_day(workload: Workload, count: int) -> list[LiveJob]:
    """So many jobs of the most loaded day, evenly chosen; their sizes are scaled to the machine, their run times to a
    common mean, and the times of submission so that they are as many as the load requests."""
    day = [job.line.split() for job in workloads.most_loaded(workloads.read_jobs(workload.trace), 1)]
    chosen = day[:: max(len(day) // count, 1)][:count]
    nodes, cores = workload.machine
    mean_s = statistics.mean(max(int(fields[3]), 1) for fields in chosen)
    jobs = []
    for fields in chosen:
        trace_run_s, processors = max(int(fields[3]), 1), max(int(fields[4]), int(fields[7]), 1)
        run_s = min(max(round(trace_run_s * RUN_S[1] / mean_s), RUN_S[0]), RUN_S[2])
        requested = max(int(fields[8]) / trace_run_s, 2)
        size = min(max(round(processors * CORES / (nodes * cores)), 1), CORES)
        jobs.append(LiveJob(int(fields[1]), run_s, size, round(run_s * min(requested, 10))))
    span_s = sum(job.size * job.run_s for job in jobs) / (CORES * LOAD)
    first_s = jobs[0].submit_s
    day_s = max(jobs[-1].submit_s - first_s, 1)
    return [job._replace(submit_s=round((job.submit_s - first_s) * span_s / day_s)) for job in jobs]


def predict(elasticsim: str, jobs: list[LiveJob], policy: str, seed: int, folder: Path) -> list[dict[str, str]]:
    """elasticsim's line of each job."""
    trace, lines = folder / "live.swf", folder / f"live-{policy}.csv"
    trace.write_text(
        "".join(
            f"{number} {job.submit_s} -1 {job.run_s} {job.size} -1 -1 {job.size} {job.limit_s} -1 1 1 -1 -1 -1 -1 -1 -1\n"
            for number, job in enumerate(jobs, 1)
        )
    )
    law = "table:" + ",".join(f"{size}={speed(size):.9g}" for size in range(1, CORES + 1))
    command = [elasticsim, trace, "--nodes", 1, "--cores", CORES, "--policy", policy, "--speedup", law, "--sample", SAMPLE_S]
    command += ["--malleable", SHARE, "--range", f"{RANGE[0]}:{RANGE[1]}", "--seed", seed, "--csv", lines, "--quiet", "--json"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(done.stderr)
    with open(lines) as file:
        return list(csv.DictReader(file))


def between(values: dict[int, float], size: int) -> float:
    """At a size between two that are known, by a line."""
    low, high = max(s for s in values if s <= size), min(s for s in values if s >= size)
    part = (size - low) / (high - low) if high > low else 0
    return values[low] + part * (values[high] - values[low])


def compile_phases(mpi: Path, folder: Path) -> Path:
    program = folder / "phases"
    source = ROOT / "bench" / "phases" / "phases.c"
    command: list[str | Path] = [mpi / "bin/mpicc", "-O2", "-std=gnu11", "-DPHASES_WAITS_SLEEP", source, "-o", program, "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"bench/phases cannot be compiled: {done.stderr}")
    return program


class LiveMachine:
    """An elasticd with simulated cores."""

    def __init__(self, mpi: Path, folder: Path):
        self.programs = find_programs(mpi / "bin", mpi)
        self.program = compile_phases(mpi, folder)
        self.bench = Bench(self.programs, folder, False, 0)

    def run(self, jobs: list[LiveJob], predicted: list[dict[str, str]], policy: str) -> list[dict[str, Any]]:
        """The jobs as elasticd shows them after their ends."""
        config = f'[scheduling]\npolicy = "{policy}"\n[monitor]\ninterval = "{SAMPLE_S}s"\n'
        daemon = self.bench.daemon(config=config, name=policy, nodes=1, cores=CORES)
        try:
            daemon.start()
            starts = self.measure_starts(daemon)
            begin, numbers = time.monotonic(), []
            for job, row in zip(jobs, predicted):
                time.sleep(max(begin + job.submit_s - time.monotonic(), 0))
                numbers.append(self.submit(daemon, job, row["class"] == "malleable", policy, starts))
            shown = [self.wait_end(daemon, number) for number in numbers]
            daemon.stop()
            return shown
        except Failure as failure:
            raise Failed(f"{failure}\n{self.bench.logs()}") from None
        finally:
            self.bench.clean()

    def measure_starts(self, daemon: Daemon) -> dict[int, float]:
        """Milliseconds that a step takes beside its iterations, by its size."""
        took: dict[int, list[float]] = {size: [] for size in START_SIZES}
        for size in START_SIZES * STARTS:
            job = self.wait_end(daemon, daemon.submit(str(self.program), "-i", "1", "-w", "1", "-m", "0", min=size, max=size))
            took[size].append(job["end_ms"] - job["start_ms"])
        return {size: statistics.median(times) for size, times in took.items()}

    def submit(self, daemon: Daemon, job: LiveJob, malleable: bool, policy: str, starts: dict[int, float]) -> int:
        start_ms = between(starts, job.size)
        work_ms = ITERATION_MS * speed(job.size)
        iterations = max(round((job.run_s * 1000 - start_ms) / ITERATION_MS), 1)
        fields: dict[str, Any] = {"kind": "rigid", "min": job.size, "max": job.size}
        if malleable:
            least, most = -int(-job.size * RANGE[0] // 1), min(int(job.size * RANGE[1]), CORES)
            fields = {"kind": "malleable", "min": least, "max": most}
            if policy == "easy":
                fields["preferred"] = job.size
        limit_ms = job.limit_s * 1000 * speed(job.size) / speed(fields["min"])
        return daemon.submit(
            str(self.program), "-k", "-i", str(iterations), "-w", f"{work_ms:.6f}", "-m", f"linear:{MU_LINEAR}",
            time_limit_ms=int(limit_ms) + 1, **fields,
        )  # fmt: skip

    @staticmethod
    def wait_end(daemon: Daemon, number: int) -> dict[str, Any]:
        while (job := daemon.job(number))["state"] not in ("DONE", "FAILED", "CANCELLED"):
            time.sleep(0.2)
        if job["state"] != "DONE":
            raise Failed(f"job {number} has ended as {job['state']}: {job['reason']}")
        return job


def seconds_of(jobs: list[dict[str, Any]]) -> tuple[float, float]:
    """Makespan and mean turnaround."""
    times = [(int(job["submit_ms"]), int(job["end_ms"])) for job in jobs]
    makespan_ms = max(end for _, end in times) - times[0][0]
    return makespan_ms / 1000, statistics.mean(end - submit for submit, end in times) / 1000


def report(elasticsim: str, workload: Workload, mpi: Path, count: int, seed: int, folder: Path) -> str:
    jobs = scaled_day(workload, count)
    machine = LiveMachine(mpi, folder)
    rows, apart = [], []
    for policy in POLICIES:
        predicted = predict(elasticsim, jobs, policy, seed, folder)
        simulated, live = seconds_of(predicted), seconds_of(machine.run(jobs, predicted, policy))
        cells = [f"{was:.1f} / {printed:.1f} ({100 * (was / printed - 1):+.1f} %)" for printed, was in zip(simulated, live)]
        rows.append([policy, *cells])
        apart += [policy] if any(abs(was / printed - 1) > AGREEMENT for printed, was in zip(simulated, live)) else []
        print(f"evaluate: {' | '.join(rows[-1])}", file=sys.stderr)
    heads = ["policy", "makespan, s: live / simulated", "mean turnaround, s: live / simulated"]
    agree = f"more than {AGREEMENT:.0%} apart: {', '.join(apart)}" if apart else f"all within {AGREEMENT:.0%}"
    return f"{len(jobs)} jobs of {workload.name} on {CORES} simulated cores: {agree}\n\n" + table(heads, rows)
