"""What a growth costs mpiexec, in processor time, so that a busy machine matters little.

Twice: the step manager's core alone, to which proxies and processes of a large job are simulated by one program
(bench/growth_reports.cpp, which needs no MPI); and mpiexec itself, with real proxies on hosts that the fork launcher
plays, whose processes compute nothing (bench/simulated/simulated_process.c).
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path

from .bench import Bench, Skipped
from .joining import Step
from .launch import FLAGS, SOURCES, RunFailure
from .result import Case, ratio_case

ROOT = Path(__file__).resolve().parent.parent.parent
RULES = ROOT / "src" / "pm" / "hydra" / "elastic" / "Makefile.tests"
PROXIES = 400
LEAST, MORE, MOST = 5000, 10000, 20000  # processes


def build(folder: Path) -> Path:
    """The program, compiled where the unit tests are."""
    build_folder = Path(os.environ.get("ELASTIC_BUILD") or ROOT / "build") / "unit" / "bench"
    target = build_folder / "growth_reports"
    command = ["make", "-s", f"-j{os.cpu_count()}", "-f", str(RULES), f"BUILD={build_folder}", str(target)]
    with (folder / "reports-build.log").open("w") as log:
        if subprocess.run(command, stdout=log, stderr=log, check=False).returncode != 0:
            raise RunFailure(f"growth_reports cannot be compiled: {log.name}")
    return target


def per_process(program: Path, processes: int) -> tuple[float, float]:
    """Microseconds of processor time for each process: of the growth, of the end of the job."""
    command = [str(program), str(processes), str(PROXIES)]
    line = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=600).stdout)
    return line["growth_s"] * 1e6 / processes, line["end_s"] * 1e6 / processes


def core(bench: Bench) -> list[Case]:
    program = build(bench.folder)
    rounds: dict[int, list[tuple[float, float]]] = {LEAST: [], MORE: [], MOST: []}
    for number in range(bench.amount.pick(3, 5, 15)):
        for processes, times in rounds.items():
            bench.progress.report(f"round {number + 1}, {processes} processes")
            times.append(per_process(program, processes))
    return [
        ratio_case(
            "reports", f"core, {what}, {processes} processes against {LEAST}", [[t[i]] for t in rounds[processes]],
            [[t[i]] for t in rounds[LEAST]], unit="µs of each process",
        )
        for i, what in enumerate(("growth", "end"))
        for processes in (MORE, MOST)
    ]  # fmt: skip


# ---- mpiexec and real proxies -------------------------------------------------------------------

PATIENCE_S = 900.0
CALM_S = 2.0  # mpiexec has nothing to do
KIB_PER_PROCESS = 400  # of memory, with its share of a proxy
PROCESSES_APART = 2000  # of the machine's numbers, for everything else


def build_process(bench: Bench) -> None:
    """Without libraries, whose start would take most of the time and memory."""
    source, include = SOURCES / "simulated" / "simulated_process.c", ROOT / "src" / "pmi" / "include"
    command = ["gcc", *FLAGS, "-static", f"-I{include}", str(source), "-o", str(bench.ours.folder / source.stem)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunFailure(f"simulated_process cannot be compiled: {done.stderr[-500:]}")


def capacity() -> int:
    """How many processes this machine takes."""
    kib = int(Path("/proc/meminfo").read_text().split("MemAvailable:")[1].split()[0])
    numbers = int(Path("/proc/sys/kernel/pid_max").read_text())
    of_user, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if of_user == resource.RLIM_INFINITY:
        of_user = numbers
    return min(kib // KIB_PER_PROCESS, min(numbers, of_user) - PROCESSES_APART)


def processor_s(pid: int) -> float:
    """Of all threads that it has."""
    times = [int(file.read_text().split()[0]) for file in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    return sum(times) / 1e9


def calm(pid: int) -> float:
    """When it has used no more for a while: how much it has used."""
    before = -1.0
    end = time.monotonic() + PATIENCE_S
    while (now := processor_s(pid)) - before > 0.001 and time.monotonic() < end:
        before = now
        time.sleep(CALM_S)
    return now


def grow_job(bench: Bench, processes: int, proxies: int) -> float:
    """Seconds of mpiexec's processor time while half of the processes on half of the proxies become all of them."""
    hosts = ",".join(f"n{i}:{processes // proxies}" for i in range(proxies))
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        environment = {"XDG_RUNTIME_DIR": folder}
        options = ("-launcher", "fork", "-hosts", hosts)
        with bench.ours.job(processes // 2, "simulated_process", options=options, environment=environment) as job:
            step = Step(bench, job, environment, patience_s=PATIENCE_S)
            step.find()
            pid = job.process.pid
            before = calm(pid)
            step.elastic("resize", step.id, processes, "--wait")
            return calm(pid) - before


def proxies(bench: Bench) -> list[Case]:
    """Processes by processes, on the same proxies."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        build_process(bench)
        sizes = bench.amount.pick((1000, 2000), (LEAST, MORE), (LEAST, MORE, MOST))
        sizes = tuple(size for size in sizes if size <= capacity())
        if len(sizes) < 2:
            raise Skipped(f"there is space for {capacity()} processes")
        rounds: dict[int, list[float]] = {size: [] for size in sizes}
        for number in range(bench.amount.pick(1, 2, 3)):
            for size, times in rounds.items():
                bench.progress.report(f"round {number + 1}, {size} processes of {PROXIES} proxies")
                times.append(grow_job(bench, size, PROXIES) * 1e6 / size)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    bench.extra["reports"] = {size: [round(t * size / 1e6, 3) for t in times] for size, times in rounds.items()}
    return [
        ratio_case(
            "reports", f"mpiexec, growth, {size} processes against {sizes[0]}", [[t] for t in rounds[size]],
            [[t] for t in rounds[sizes[0]]], unit="µs of each process",
        )
        for size in sizes[1:]
    ]  # fmt: skip


def reports(bench: Bench) -> list[Case]:
    return core(bench) + proxies(bench)
