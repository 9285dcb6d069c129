"""What the measured share of MPI shows of a program: bench/phases with a law as Cannon's, from 4 to 36 processes that sleep; and
whether it is what a trace of the calls shows: Gaussian elimination (examples/gauss) with 4 and 8 processes.

Figures 10.6, 14.1, 14.2, 14.5 and 14.6 of Comprés 2017, by their relations: efficiency falls as MPI time by computing time
rises, and is still high where that is below 0.1; elimination is never below it, and what is measured is what a trace shlls.
"""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Iterable
from statistics import median

from . import phases
from .bench import Bench
from .launch import SOURCES, RunFailure
from .result import Case, Rounds, Variant, ratio_case, value_case

PROCESSES = (4, 9, 16, 25, 36)
POWER, ROOT = 0.0006, 0.008  # MPI time by the rest: POWER P^1.5 + ROOT P^0.5
WORK_MS = 3600  # of all processes: 100 ms of each of 36, so that they need no cores
SECONDS = 5  # of a run
UPPER = 0.1  # below, a program is taken for efficient


def law(processes: int) -> float:
    return POWER * processes**1.5 + ROOT * math.sqrt(processes)


def iteration_s(processes: int) -> float:
    each_s, mu = WORK_MS / processes / 1000, law(processes)
    return each_s * (1 + mu * processes / (processes - 1 - mu))


def _variant(bench: Bench, processes: int) -> Variant:
    samples = bench.folder / f"law-{processes}-samples"

    def run() -> dict[str, list[float]]:
        samples.unlink(missing_ok=True)
        bench.ours.run(
            processes, "hand", "-k", "-i", math.ceil(SECONDS / iteration_s(processes)), "-w", WORK_MS,
            "-m", f"cannon:{POWER},{ROOT}", options=("--adapt-performance", samples),
            environment={"MPIEXEC_ADAPT_SAMPLE": "1s"}, deadline_s=300,
        )  # fmt: skip
        rows = json.loads(samples.read_text().splitlines()[-1])["loops"]
        probe = next(row for row in rows if row["key"] == "probe")
        seconds = probe["loop_us"] / probe["iterations"] / 1e6
        return {"mtct": [probe["mpi_us"] / (probe["loop_us"] - probe["mpi_us"])], "efficiency": [WORK_MS / 1000 / processes / seconds]}

    return run


def _agreeing_pairs(mtct: dict[int, float], efficiency: dict[int, float]) -> float:
    """Of all pairs of sizes the part in which the one with more MPI time is the less efficient one."""
    pairs = [(a, b) for a in PROCESSES for b in PROCESSES if a < b]
    return sum((mtct[a] < mtct[b]) == (efficiency[a] > efficiency[b]) for a, b in pairs) / len(pairs)


def models(bench: Bench) -> list[Case]:
    phases.compile_style(bench, "hand")
    rounds = Rounds.measure(
        {str(p): _variant(bench, p) for p in PROCESSES}, bench.amount.pick(60, 180, 600), bench.progress, least=2
    )

    def of(point: str, p: int) -> list[list[float]]:
        return rounds.of(str(p), point)

    def middle(point: str) -> dict[int, float]:
        return {p: median(each[0] for each in of(point, p)) for p in PROCESSES}

    mtct = middle("mtct")
    efficient = [p for p in PROCESSES[1:] if mtct[p] < UPPER]

    def ratios(key: str, cases: Iterable[tuple[str, list[list[float]], list[list[float]]]]) -> list[Case]:
        return [ratio_case(key, name, ours, reference, "", rounds.others, rounds.note()) for name, ours, reference in cases]

    truth = {p: [[law(p)]] * len(rounds.used) for p in PROCESSES}
    return [
        *ratios("law_efficiency", ((f"{p} processes", of("efficiency", p), of("efficiency", PROCESSES[0])) for p in efficient)),
        value_case("law_order", "pairs of sizes", [_agreeing_pairs(mtct, middle("efficiency"))], ""),
        *ratios("law_share", ((f"{p} processes", of("mtct", p), truth[p]) for p in PROCESSES)),
        *ratios("law_share", ((f"{p} processes, by the law", truth[p], of("mtct", p)) for p in PROCESSES)),
    ]


GAUSS = SOURCES.parent / "examples" / "gauss"
GAUSS_PROCESSES = (4, 8)
# Rows, milliseconds that all processes of a column compute (they sleep), and so many systems: some 12 s.
GAUSS_OPTIONS = ("--size", 40, "--sleep", 40, "--systems", 10)


def _compile_gauss(bench: Bench) -> None:
    sources = [GAUSS / f"{name}.c" for name in ("gauss", "gauss_plain", "balance", "root")]
    words = [bench.ours.bin / "mpicc", *phases.FLAGS, "-include", SOURCES / "traced_calls.h", *sources]
    words += ["-o", bench.ours.folder / "traced_gauss", "-ladapt_data", "-lepop", "-lm"]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunFailure(f"examples/gauss cannot be compiled: {done.stderr[-2000:]}")


def _by_rest(mpi: float, all_time: float) -> list[float]:
    return [mpi / (all_time - mpi)]


def _gauss_variant(bench: Bench, processes: int) -> Variant:
    samples = bench.folder / f"gauss-{processes}-samples"

    def run() -> dict[str, list[float]]:
        samples.unlink(missing_ok=True)
        done = bench.ours.run(
            processes, "traced_gauss", *GAUSS_OPTIONS, options=("--adapt-performance", samples),
            environment={"MPIEXEC_ADAPT_SAMPLE": "1s"}, deadline_s=300,
        )  # fmt: skip
        trace = done.lines[-1]
        probe, *others = json.loads(samples.read_text().splitlines()[-1])["loops"]
        # as in the dissertation: what is spent in the calls of a loop inside is not the outer one's
        own_us = probe["mpi_us"] - sum(row["mpi_us"] for row in others if row["parent"] == "probe")
        return {
            "trace": _by_rest(trace["mpi_s"], trace["loop_s"]),
            "ours": _by_rest(probe["mpi_us"], probe["loop_us"]),
            "own": _by_rest(own_us, probe["loop_us"]),
        }

    return run


def traces(bench: Bench) -> list[Case]:
    _compile_gauss(bench)
    rounds = Rounds.measure(
        {str(p): _gauss_variant(bench, p) for p in GAUSS_PROCESSES}, bench.amount.pick(60, 120, 400), bench.progress, least=2
    )

    def cases(key: str, ours: str, reference: str) -> list[Case]:
        return [
            ratio_case(
                key, f"{p} processes", rounds.of(str(p), ours), rounds.of(str(p), reference), "", rounds.others, rounds.note()
            )
            for p in GAUSS_PROCESSES
        ]  # fmt: skip

    mpi = [value_case("trace_mpi", f"{p} processes", [each[0] for each in rounds.of(str(p), "ours")], "") for p in GAUSS_PROCESSES]
    return [*mpi, *cases("trace_ratio", "ours", "trace"), *cases("trace_inner", "own", "trace")]
