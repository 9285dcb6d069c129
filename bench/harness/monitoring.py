"""What measuring an adaptive program costs: the graph of its loops by itself, and the MPI calls.

The graph by bench/graph_costs.cpp, without MPI: the relations of figures 13.2 and 13.3 of Compres 2017.  The calls by
bench/measured_calls.c, measured and not, side by side: figure 13.4.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from .bench import Bench
from .launch import RunFailure
from .result import Case, Rounds, Variant, ratio_case, value_case

ROOT = Path(__file__).resolve().parent.parent.parent
C_SOURCES = tuple(f"src/mpi/adapt/perf_{part}.c" for part in ("graph", "measure", "pack"))
LOOP_PARTS = ("bytes", "graph", "items", "reader", "reduction", "set")
SOURCES = (*C_SOURCES, *(f"src/pm/hydra/elastic/wire/loop_{part}.c" for part in LOOP_PARTS))
INCLUDES = ("-Isrc", "-Isrc/pmi/include")
LEAST, USUAL, MOST = 8, 128, 1024  # sites
PROCESSES_LEAST, PROCESSES_MOST = 2, 128
LATENCY = ("latency:0", "latency:8", "latency:4096")
DETECTING_SMALL = ("latency:16", "bcast:16")
DETECTING_LARGE = ("latency:8192", "bcast:8192")
DETECTING_LARGEST = (*DETECTING_LARGE, "latency:1048576", "bcast:1048576")

Costs = dict[tuple[str, int], list[float]]  # nanoseconds by operation and number of sites or processes


def build(folder: Path) -> Path:
    target = folder / "graph_costs"
    objects = []
    with (folder / "graph_costs-build.log").open("w") as log:

        def compile_with(*words: str) -> None:
            if subprocess.run(words, cwd=ROOT, stdout=log, stderr=log, check=False).returncode != 0:
                raise RunFailure(f"graph_costs cannot be compiled: {log.name}")

        for source in SOURCES:
            objects.append(str(folder / (Path(source).stem + ".o")))
            compile_with(os.environ.get("CC", "gcc"), "-O2", "-std=gnu11", *INCLUDES, "-c", source, "-o", objects[-1])
        compile_with(
            os.environ.get("CXX", "g++"), "-O2", "-std=c++20", *INCLUDES, "bench/graph_costs.cpp", *objects,
            "-o", str(target),
        )  # fmt: skip
    return target


def read_costs(program: Path, *options: str) -> Costs:
    printed = subprocess.run([str(program), *options], capture_output=True, text=True, check=True, timeout=300).stdout
    lines = [json.loads(line) for line in printed.splitlines()]
    return {(line["what"], line["size"]): line["ns"] for line in lines}


def of_graph(bench: Bench) -> list[Case]:
    program = build(bench.folder)
    rounds = []
    for number in range(bench.amount.pick(3, 7, 21)):
        bench.progress.report(f"graph, round {number + 1}")
        rounds.append(read_costs(program))

    def samples(what: str, size: int) -> list[list[float]]:
        return [costs[what, size] for costs in rounds]

    def value(key: str, what: str, size: int, per: float = 1) -> Case:
        return value_case(key, f"{what}, {size}", [median(s) / per for s in samples(what, size)], "ns" if per == 1 else "µs")

    def ratio(key: str, what: str, large: int, small: int, per_process: bool = False) -> Case:
        shares = (large, small) if per_process else (1, 1)
        ours = [[x / shares[0] for x in s] for s in samples(what, large)]
        reference = [[x / shares[1] for x in s] for s in samples(what, small)]
        return ratio_case(key, f"{what}, {large} against {small}", ours, reference, unit="ns")

    # what processes with the same graph may cost: twice one in full, and reading the others
    homogeneous = [
        [2 * median(costs["reduce equal", 1]) + median(costs["read all", PROCESSES_MOST])] for costs in rounds
    ]
    return [
        value("graph_step", "step", USUAL),
        ratio("graph_flat", "step", MOST, LEAST),
        value("graph_change", "change", MOST, 1000),
        *(value("graph_pack", what, MOST, 1000) for what in ("pack", "write", "read", "collapse")),
        *(ratio("graph_linear", what, MOST, LEAST) for what in ("pack", "write", "read", "collapse")),
        value("graph_reduce", "reduce", PROCESSES_MOST, 1000),
        ratio("graph_processes", "reduce", PROCESSES_MOST, PROCESSES_LEAST, per_process=True),
        ratio_case("graph_homogeneous", f"reduce equal, {PROCESSES_MOST}", samples("reduce equal", PROCESSES_MOST), homogeneous, "ns"),
    ]


def _variant(bench: Bench, measured: bool, points: Sequence[str], *options: str) -> Variant:
    environment = {"MPIR_CVAR_ADAPT_MEASURE": "1" if measured else "0"}

    def run() -> dict[str, list[float]]:
        return bench.ours.run(2, "measured_calls", *options, *points, environment=environment).samples()

    return run


def of_processes(bench: Bench) -> list[Case]:
    """Processes that measure themselves at the same time; sides by turns."""
    program = bench.folder / "graph_costs"
    sides: dict[int, list[dict[str, list[float]]]] = {PROCESSES_LEAST: [], PROCESSES_MOST: []}
    for number in range(bench.amount.pick(3, 7, 21)):
        bench.progress.report(f"processes beside each other, round {number + 1}")
        for processes in sorted(sides, reverse=number % 2 == 1):
            costs = read_costs(program, "--processes", str(processes))
            sides[processes].append({what: ns for (what, _), ns in costs.items()})
    return [
        ratio_case("graph_processes_many", f"{what} in {PROCESSES_MOST} processes against {PROCESSES_LEAST}",
                   [costs[what] for costs in sides[PROCESSES_MOST]], [costs[what] for costs in sides[PROCESSES_LEAST]], unit="ns")
        for what in ("step", "collapse")
    ]  # fmt: skip


def of_writes(bench: Bench) -> Case:
    """With the interval that a step has unless elasticd or --adapt-performance states otherwise: 1 s."""
    point = f"writes:{bench.amount.pick(4, 10, 30)}"
    rates = [bench.ours.run(2, "measured_calls", point).samples()["writes"][0] for _ in range(bench.amount.pick(1, 3, 5))]
    return value_case("measured_writes", "two processes", rates, "a second")


def of_calls(bench: Bench) -> list[Case]:
    budget = bench.amount.pick(30, 120, 400)
    large = bench.amount.pick(DETECTING_LARGE, DETECTING_LARGEST, DETECTING_LARGEST)

    def compare(key: str, prefix: str, points: Sequence[str], *options: str) -> list[Case]:
        rounds = Rounds.measure(
            {"on": _variant(bench, True, points, *options), "off": _variant(bench, False, points, *options)},
            budget, bench.progress, least=5,
        )  # fmt: skip
        return rounds.compare(key, "on", "off", prefix)

    return [
        *compare("measured_known", "known loops, ", LATENCY),
        *compare("measured_small", "detecting, ", DETECTING_SMALL, "--detect"),
        *compare("measured_large", "detecting, ", large, "--detect"),
    ]


def monitoring(bench: Bench) -> list[Case]:
    return [*of_graph(bench), *of_processes(bench), of_writes(bench), *of_calls(bench)]
