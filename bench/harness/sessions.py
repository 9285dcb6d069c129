"""Sessions, by bench/session_queries.c, session_world.c and session_change.c: what queries cost, a session's world
beside that of MPI_Init, communicators from groups beside stock's, a change beside the same adaptation and beside a launch,
and what a process keeps of those that have ended."""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from pathlib import Path

from .bench import Bench
from .joining import plain_start
from .launch import Line, Mpi
from .result import Case, Rounds, Variant, budget, ratio_case, value_case
from .windows import WARM, adaptations, by_kind, kind_of, standstill
from .worlds import joined

QUERIES = {"rc_test": "ns", "rc_get": "ns", "bcast_pset_info": "ns"}  # the others are lookups
SIZES = (1, 2)  # of the changes: a core for each process
MANY = 16  # processes, the first two of which send messages
SETTLED = 16  # processes added; libfabric takes space for 16 addresses at a time


def queries(bench: Bench) -> list[Case]:
    samples: dict[str, list[float]] = defaultdict(list)
    for number in range(bench.amount.pick(2, 5, 9)):
        bench.progress.report(f"queries, run {number + 1}")
        for line in bench.ours.run(2, "session_queries", deadline_s=300).lines:
            samples[line["what"]] += line["ns"]
    return [
        value_case("session_queries" if name in QUERIES else "session_lookups", name, times, "ns")
        for name, times in samples.items()
    ]


def _world(mpi: Mpi, *arguments: object, processes: int = 2, schedule: str = "") -> Variant:
    options = ("--adapt-schedule", schedule) if schedule else ()

    def run() -> dict[str, list[float]]:
        return mpi.run(
            processes, "session_world", *arguments, options=options, deadline_s=300
        ).samples()

    return run


def world(bench: Bench) -> list[Case]:
    rounds = Rounds.measure(
        {"session": _world(bench.ours), "MPI_Init": _world(bench.ours, "--world")},
        bench.amount.pick(20, 60, 150), bench.progress, least=10,
    )  # fmt: skip
    bars = {"start": "session_start", "allreduce:8": "session_collectives", "": "session_world"}
    cases = rounds.compare(bars, "session", "MPI_Init")
    rounds = Rounds.measure(
        {
            "session": _world(bench.ours, processes=MANY),
            "MPI_Init": _world(bench.ours, "--world", processes=MANY),
        },
        bench.amount.pick(30, 60, 150), bench.progress, least=3,
    )  # fmt: skip
    many = rounds.compare("session_world", "session", "MPI_Init", f"{MANY} processes, ")
    return cases + [c for c in many if c.name.split(", ")[1] in ("latency:8", "rate:8")]


def component(bench: Bench) -> list[Case]:
    """A program with MPI_Init, a component of which has a session of its own."""
    rounds = Rounds.measure(
        {"component": _world(bench.ours, "--component"), "without": _world(bench.ours, "--world")},
        bench.amount.pick(20, 60, 150), bench.progress, least=10,
    )  # fmt: skip
    return [c for c in rounds.compare("session_component", "component", "without") if c.name != "start"]


def beside_stock(bench: Bench) -> list[Case]:
    if bench.stock is None:
        return []
    rounds = Rounds.measure(
        {"session": _world(bench.ours), "stock MPI_Init": _world(bench.stock, "--world")},
        bench.amount.pick(15, 40, 90), bench.progress, least=5,
    )  # fmt: skip
    bars = dict.fromkeys(("start", "allreduce:8"), "session_stock_start") | {"": "session_stock"}
    return rounds.compare(bars, "session", "stock MPI_Init")


def create(bench: Bench) -> list[Case]:
    if bench.stock is None:
        return []
    rounds = Rounds.measure(
        {
            "ours": _world(bench.ours, "--create"),
            "apart": _world(bench.ours, "--create", "--apart", processes=1, schedule="2"),
            "stock": _world(bench.stock, "--create"),
        },
        bench.amount.pick(20, 60, 120), bench.progress, least=5,
    )  # fmt: skip
    cases = rounds.compare("session_create", "ours", "stock", "one start, ")
    cases += rounds.compare("session_create", "apart", "stock", "two starts, ")
    return [c for c in cases if c.name.endswith("create")]


def _run_changes(bench: Bench, cycles: int, *options: object) -> list[Line]:
    """The lines of session_change, without those of the start."""
    after = [*SIZES[1:], SIZES[0]]
    warm = -(-WARM // len(after))
    schedule = ",".join(str(size) for size in after * (cycles + warm))
    run = bench.ours.run(
        SIZES[0], "session_change", len(after) * (cycles + warm), options=("--adapt-schedule", schedule, *options),
        deadline_s=600,
    )  # fmt: skip
    return run.lines[len(after) * warm :]


def _changes(bench: Bench, cycles: int) -> dict[str, list[Line]]:
    return by_kind(_run_changes(bench, cycles))


def _windows(bench: Bench, cycles: int, *arguments: object) -> dict[str, list[float]]:
    window: dict[str, list[float]] = defaultdict(list)
    for line in adaptations(bench.ours, SIZES, cycles, arguments=arguments):
        window[kind_of(line)].append(standstill(line))
    return window


def change(bench: Bench) -> list[Case]:
    """By turns: a run of changes, one of adaptations, one of those with the barrier that the joining processes come to.

    A communicator is there when they have come; commit returns before."""
    ours: dict[str, list[list[float]]] = defaultdict(list)
    theirs: dict[str, list[list[float]]] = defaultdict(list)
    met: dict[str, list[list[float]]] = defaultdict(list)
    cycles = 10
    for number in range(bench.amount.pick(3, 6, 12)):
        bench.progress.report(f"changes, run {number + 1}")
        for kind, lines in _changes(bench, cycles).items():
            ours[kind].append([max(line["us"]) for line in lines])
        for kind, times in _windows(bench, cycles).items():
            theirs[kind].append(times)
        for kind, times in _windows(bench, cycles, "-b").items():
            met[kind].append(times)
    growth = f"{SIZES[0]} → {SIZES[1]}"
    return [
        *(ratio_case("session_change", kind, ours[kind], theirs[kind]) for kind in ours),
        ratio_case("session_change_met", growth, ours[growth], met[growth]),
    ]


def _notified(bench: Bench) -> list[float]:
    """Of each growth of a run, from its request until the program is notified, in µs."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        log = Path(folder) / "log"
        _run_changes(bench, 5, "--adapt-log", log)
        events = [json.loads(line) for line in log.read_text().splitlines()]
    requested: dict[int, float] = {}
    times = []
    for event in events:
        if event["event"] == "requested" and event["joining"] > 0:
            requested[event["request"]] = event["time_ms"]
        elif event["event"] == "told" and event["request"] in requested:
            times.append(1e3 * (event["time_ms"] - requested.pop(event["request"])))
    return times


def reported(bench: Bench) -> list[Case]:
    """By turns: a run of changes, launches of as many processes as a growth adds."""
    ours, theirs = [], []
    for number in budget(bench.amount.pick(20, 60, 120), 3, 60):
        bench.progress.report(f"request to reported, round {number + 1}")
        ours.append(_notified(bench))
        starts = [plain_start(bench, 1) for _ in range(5)]
        theirs.append([1e6 * (ended - began) for began, ended in starts])
    return [ratio_case("session_told", "1 → 2", ours, theirs)]


def memory(bench: Bench) -> list[Case]:
    cycles = bench.amount.pick(48, 500, 500)
    bench.progress.report(f"{cycles} processes come and go")
    lines = _run_changes(bench, cycles)
    first, last = lines[2 * SETTLED - 1], lines[-1]
    grown = (last["heap"] - first["heap"]) / (cycles - SETTLED)
    return [value_case("session_memory", "of rank 0", [grown], "B")]


def sessions(bench: Bench) -> list[Case]:
    return [
        *queries(bench), *world(bench), *component(bench), *beside_stock(bench), *create(bench), *joined(bench),
        *change(bench), *reported(bench), *memory(bench),
    ]  # fmt: skip
