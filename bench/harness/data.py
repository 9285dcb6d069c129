"""libadapt_data in the window, by bench/data: bytes, times beside other ways, and what schedules cost.

Programs that need the library are in a folder of their own: the others are compiled with stock MPICH, too.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from .bench import Bench
from .launch import Line, RunFailure
from .result import Case, ratio_case, value_case

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCES = ROOT / "bench" / "data"
PURE = ROOT / "src" / "adapt_data"
FLAGS = ("-O2", "-std=gnu11", "-Wall", "-Wextra")
SCHEDULED_PROCESSES = 1_000_000
ROUNDS_SMALL = 96  # of microseconds, where others' programs are felt
CHUNK = 1 << 20  # bytes of a message, where memory is read
UNMEASURED = ("-genv", "MPIR_CVAR_ADAPT_MEASURE", "0")


def _compile(words: list[object], log: Path) -> None:
    with log.open("w") as file:
        if subprocess.run([str(w) for w in words], stdout=file, stderr=file, check=False).returncode != 0:
            raise RunFailure(f"bench/data cannot be compiled: {log}")


def _schedules(bench: Bench) -> list[Case]:
    program = bench.folder / "schedules"
    pure = [PURE / f"{name}.c" for name in ("layout", "distribution", "positions", "schedule")]
    _compile(["gcc", *FLAGS, SOURCES / "schedules.c", *pure, "-o", program], bench.folder / "schedules-build.log")
    bench.progress.report(f"schedules of {SCHEDULED_PROCESSES} processes")
    done = subprocess.run(
        [program, str(SCHEDULED_PROCESSES)], capture_output=True, text=True, check=True, timeout=600
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [
        value_case("data_schedule", line["layout"], line["ms"], "ms", note=f"{line['runs']} runs") for line in lines
    ]


def _compile_mpi(bench: Bench, name: str) -> None:
    words = [bench.ours.bin / "mpicc", *FLAGS, SOURCES / f"{name}.c", "-o", bench.ours.folder / name, "-ladapt_data"]
    _compile(words, bench.folder / f"{name}-build.log")


def _marks(bench: Bench) -> list[Case]:
    _compile_mpi(bench, "mark_cost")
    cases = []
    for processes in (1, 2):
        bench.progress.report(f"marks of {processes} processes")
        samples = [
            ns
            for _ in range(bench.amount.pick(2, 5, 10))
            for ns in bench.ours.run(processes, "mark_cost", options=UNMEASURED, deadline_s=300).lines[0]["ns"]
        ]
        cases.append(value_case("mark", f"{processes} processes", samples, "ns"))
    return cases


def _windows(
    bench: Bench, mib: int, rounds: int, processes: int, schedule: list[str], options: tuple[object, ...] = ()
) -> list[Line]:
    """An array of so many MiB in all; a line for each window."""
    return bench.ours.run(
        processes, "data_moves", mib << 20, rounds, len(schedule),
        options=("--adapt-schedule", ",".join(schedule), *options), deadline_s=900,
    ).lines  # fmt: skip


def _memory(bench: Bench) -> list[Case]:
    bench.progress.report("memory")
    cases = []
    for small, large in ((1, 2), (2, 4)):
        for line in _windows(bench, 32 * small, 1, small, [str(large), str(small)], ("-genv", "MPIX_ADAPT_DATA_CHUNK", CHUNK)):
            cases.append(value_case("data_memory", f"{line['from']} → {line['to']}", [line["peak"]], ""))
    return cases


def _against(line: Line, bar: str, name: str, reference: str) -> list[Case]:
    """Round by round; a bandwidth is the larger the less time it takes."""
    ours, theirs = [[us] for us in line["helper"]], [[us] for us in line[reference]]
    if bar in ("data_bandwidth", "data_alltoallv"):
        ours, theirs = theirs, ours
    return [ratio_case(bar, name, ours, theirs)]


def _moves(bench: Bench) -> list[Case]:
    _compile_mpi(bench, "data_moves")
    cases = _memory(bench)
    for mib in bench.amount.pick((1, 32), (1, 32, 256), (1, 32, 256, 1024)):  # of each process
        rounds = bench.amount.pick(5, 15, 40) if mib > 1 else ROUNDS_SMALL
        bench.progress.report(f"{mib} MiB, to another process")
        for line in _windows(bench, mib, rounds, 1, ["1/leave=0"]):
            cases += _against(line, "data_bandwidth", f"{mib} MiB", "messages")
        for small, large in bench.amount.pick(((1, 2), (2, 4)), ((1, 2), (2, 4)), ((1, 2), (2, 4), (4, 8))):
            bench.progress.report(f"{mib} MiB, {small} → {large} → {small}")
            for line in _windows(bench, mib * small, rounds, small, [str(large), str(small)]):
                name = f"{line['from']} → {line['to']}, {mib * small} MiB"
                cases.append(value_case("data_bytes", name, [line["bytes"] / line["optimum"]], ""))
                cases += [value_case("data_memory_sum", name, [line["peak_of_sum"]], "")] if mib >= 32 else []
                cases += _against(line, "data_hand", name, "hand")
                cases += _against(line, "data_alltoallv", name, "alltoallv") if mib >= 32 else []
                cases += _against(line, "data_root", name, "root") if large >= 4 else []
    return cases


def data(bench: Bench) -> list[Case]:
    return _schedules(bench) + _marks(bench) + _moves(bench)
