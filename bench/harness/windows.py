"""Adaptations themselves, by bench/adapt_latency.c and probe_cost.c: probe, standstill, endurance."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean, median
from typing import Any

from .bench import Bench
from .launch import Line, Mpi, Others, cores
from .result import Case, budget, ratio_case, value_case
from .stats import percentile

WARM = 2  # adaptations at the start of a run that are not counted
ADAPTATIONS = 20  # of each kind in a run: its p90 is not its maximum


def adaptations(
    mpi: Mpi,
    sizes: Sequence[int],
    rounds: int,
    *,
    options: Sequence[object] = (),
    arguments: Sequence[object] = (),
    joining_hosts: str = "",
    deadline_s: float = 600,
    **how: Any,
) -> list[Line]:
    """From sizes[0] through the others and back to it, `rounds` times after a warm one.

    The lines of adapt_latency -j: one for each adaptation.  `joining_hosts` as in a schedule (a+b).
    """
    where = f"/hosts={joining_hosts}" if joining_hosts else ""
    after = [*sizes[1:], sizes[0]]
    cycle = [f"{new}{where if new > old else ''}" for old, new in zip(sizes, after, strict=True)]
    warm = -(-WARM // len(cycle))
    schedule = ",".join(cycle * (rounds + warm))
    counted = len(cycle) * rounds
    lines = mpi.run(
        sizes[0], "adapt_latency", "-j", "-x", len(cycle) * warm, "-i", counted, *arguments,
        options=("--adapt-schedule", schedule, *options), deadline_s=deadline_s, **how,
    ).lines  # fmt: skip
    return lines[len(cycle) * warm :]


def kind_of(line: Line) -> str:
    return f"{line['from']} → {line['to']}"


def standstill(line: Line) -> float:
    """Of the staying process that stood still longest."""
    return max(of_staying(line, "standstill_us"))


def of_staying(line: Line, part: str) -> list[float]:
    """A part of the times, of each staying process."""
    return [us for us, stayed in zip(line[part], line["stayed"], strict=True) if stayed]


def dup(line: Line) -> float:
    """Of the larger world, mean over the staying processes."""
    return fmean(of_staying(line, "dup_us"))


def by_kind(lines: Iterable[Line]) -> dict[str, list[Line]]:
    kinds: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        kinds[kind_of(line)].append(line)
    return kinds


# ---- probe ------------------------------------------------------------------------------------


def probe(bench: Bench) -> list[Case]:
    cases, medians = [], {}
    for processes in bench.amount.pick((1, 16), (1, 16), (1, 16, 64)):
        runs = bench.amount.pick(2, 5, 5) if processes <= cores() else 1
        samples: list[float] = []
        for number in range(runs):
            bench.progress.report(f"{processes} processes, run {number + 1}")
            samples += bench.ours.run(processes, "probe_cost", deadline_s=300).lines[0]["ns"]
        cases.append(value_case("probe", f"{processes} processes", samples, "ns"))
        medians[processes] = [[sample] for sample in samples]
    return cases + [
        ratio_case("probe_flat", f"{processes} processes against 1", samples, medians[1], "ns")
        for processes, samples in medians.items()
        if processes > 1
    ]


# ---- standstill -------------------------------------------------------------------------------


def _spawn_us(bench: Bench, small: int, joining: int, rounds: int) -> list[float]:
    run = bench.need_stock().run(small, "spawn_merge", joining, rounds, deadline_s=600)
    return run.samples()["spawn"]


def _standstill_cases(key: str, lines: list[Line], others: float) -> list[Case]:
    """A case for each kind."""
    return [
        ratio_case(
            key, name, [[standstill(line)] for line in mine], [[dup(line)] for line in mine],
            others=others,
        )
        for name, mine in by_kind(lines).items()
    ]  # fmt: skip


def _spread_cases(runs: list[list[Line]], others: float) -> list[Case]:
    """A round is a run."""
    kinds: dict[str, list[list[float]]] = defaultdict(list)
    for lines in runs:
        for name, mine in by_kind(lines).items():
            kinds[name].append([standstill(line) for line in mine])
    return [
        ratio_case(
            "standstill_spread", name, [[percentile(s, 90)] for s in samples],
            [[median(s)] for s in samples], others=others,
        )
        for name, samples in kinds.items()
    ]  # fmt: skip


BUSY_LOOPS = 4


@contextlib.contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Processes that compute and belong to nobody's job."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def _in_dups(lines: list[Line]) -> float:
    return median(map(standstill, lines)) / median(map(dup, lines))


def busy(bench: Bench) -> list[Case]:
    """Idle and beside busy loops, by turns."""
    cases = []
    for small, large in bench.amount.pick(((1, 2),), ((1, 2), (2, 4)), ((1, 2), (2, 4), (4, 8))):
        idle: dict[str, list[list[float]]] = defaultdict(list)
        beside: dict[str, list[list[float]]] = defaultdict(list)
        for number in budget(bench.amount.pick(15, 30, 60), least=2, most=6):
            for ratios, loops in ((idle, 0), (beside, BUSY_LOOPS)):
                bench.progress.report(f"{small} ↔ {large} beside {loops} busy loops, run {number + 1}")
                with busy_loops(loops):
                    lines = adaptations(bench.ours, (small, large), 10)
                for name, mine in by_kind(lines).items():
                    ratios[name].append([_in_dups(mine)])
        cases += [
            ratio_case("standstill_busy", name, beside[name], idle[name], "MPI_Comm_dup")
            for name in idle
        ]
    return cases


def standstills(bench: Bench) -> list[Case]:
    """Growing and shrinking on one node, beside MPI_Comm_dup and beside spawn in stock MPICH.

    Each pair of sizes: a run of ours, a run of stock, and again.
    """
    cases = []
    for small, large in bench.amount.pick(
        ((1, 2), (2, 4)),
        ((1, 2), (2, 4), (4, 8), (8, 16)),
        ((1, 2), (2, 4), (4, 8), (8, 16), (16, 32), (32, 64)),
    ):
        runs: list[list[Line]] = []
        spawned: list[float] = []
        others = []
        for number in budget(bench.amount.pick(15, 30, 60), least=1 if large > 8 else 2, most=6):
            bench.progress.report(f"{small} ↔ {large}, run {number + 1}")
            load = Others()
            runs.append(adaptations(bench.ours, (small, large), ADAPTATIONS if large <= 8 else 6))
            others.append(load.share())
            if bench.stock is not None:
                bench.progress.report(f"{small} → {large} by spawn in stock MPICH, run {number + 1}")
                spawned += _spawn_us(bench, small, large - small, 5 if large <= cores() else 2)
        lines = [line for run in runs for line in run]
        cases += _standstill_cases("standstill", lines, median(others))
        cases += _spread_cases(runs, median(others))
        if spawned:
            grown = [[standstill(line)] for line in lines if line["joining"] > 0]
            cases.append(
                ratio_case(
                    "spawn", f"{small} → {large}", grown, [[us] for us in spawned],
                    others=median(others),
                )  # fmt: skip
            )
    return cases


def host_cases(bench: Bench, first: str, second: str, **how: Any) -> list[Case]:
    """On two hosts, by the ways of launching in `how`: each world has processes on both."""
    cases = []
    for small, large in bench.amount.pick(((1, 2),), ((1, 2), (2, 4)), ((1, 2), (2, 4), (4, 8))):
        lines: list[Line] = []
        load = Others()
        for number in range(bench.amount.pick(1, 2, 4)):
            bench.progress.report(f"{small} ↔ {large}, run {number + 1}")
            where = second if small == 1 else f"{first}+{second}"
            lines += adaptations(bench.ours, (small, large), 10, joining_hosts=where, **how)
        cases += _standstill_cases("hosts", lines, load.share())
    return cases


# ---- endurance --------------------------------------------------------------------------------


def _growth(bench: Bench, lines: list[Line]) -> list[Case]:
    """Each of rank 0's resources in the worlds of the smaller size, the late ones to the early."""
    tenth = max(1, len(lines) // 10)
    small = [line["usage"] for line in lines if line["to"] == 1]
    early, late = small[tenth // 2 : tenth], small[-(tenth - tenth // 2) :]
    cases = []
    for name in small[0]:
        cases.append(
            ratio_case(
                "flat", f"{len(lines)} adaptations, {name.replace('_', ' ')}",
                [[u[name]] for u in late], [[u[name]] for u in early], "KiB" if "kib" in name else "",
            )  # fmt: skip
        )
    return cases


def endurance(bench: Bench) -> list[Case]:
    rounds = bench.amount.pick(50, 250, 500)
    bench.progress.report(f"{2 * rounds} adaptations")
    load = Others()
    lines = adaptations(bench.ours, (1, 2), rounds, arguments=("-u",), deadline_s=1200)
    tenth = len(lines) // 10
    cases = []
    for kind, mine in by_kind(lines).items():
        part = max(1, len(mine) // 10)
        cases.append(
            ratio_case(
                "endurance", f"{len(lines)} adaptations, {kind}",
                [[standstill(line)] for line in mine[-part:]],
                [[standstill(line)] for line in mine[:part]], others=load.share(),
            )  # fmt: skip
        )
    bench.extra["endurance"] = {
        "adaptations": len(lines),
        "standstill_us": [round(standstill(line), 1) for line in lines],
        "usage": [line["usage"] for line in lines[:: max(1, tenth)]],
    }
    return cases + _growth(bench, lines)
