"""Sessions, by bench/session_looks.c, session_world.c and session_change.c: what looking costs, a session's world
beside that of MPI_Init, communicators from groups beside stock's, a change beside the same adaptation."""

from __future__ import annotations

from collections import defaultdict

from .bench import Bench
from .launch import Line, Mpi
from .result import Case, Rounds, Variant, ratio_case, value_case
from .windows import WARM, adaptations, by_kind, kind_of, standstill

LOOKS = {"rc_test": "ns", "rc_get": "ns", "bcast_pset_info": "ns"}  # the others are look-ups
SIZES = (1, 2)  # of the changes: a core for each process


def looks(bench: Bench) -> list[Case]:
    samples: dict[str, list[float]] = defaultdict(list)
    for number in range(bench.amount.pick(2, 5, 9)):
        bench.progress.say(f"looks, run {number + 1}")
        for line in bench.ours.run(2, "session_looks", deadline_s=300).lines:
            samples[line["what"]] += line["ns"]
    return [
        value_case("session_looks" if name in LOOKS else "session_lookups", name, times, "ns")
        for name, times in samples.items()
    ]


def _world(mpi: Mpi, *arguments: object) -> Variant:
    def run() -> dict[str, list[float]]:
        return mpi.run(2, "session_world", *arguments, deadline_s=120).samples()

    return run


def world(bench: Bench) -> list[Case]:
    rounds = Rounds.measure(
        {"session": _world(bench.ours), "MPI_Init": _world(bench.ours, "--world")},
        bench.amount.pick(20, 60, 150), bench.progress, least=10,
    )  # fmt: skip
    return rounds.compare("session_world", "session", "MPI_Init")


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
    return rounds.compare("session_stock", "session", "stock MPI_Init")


def create(bench: Bench) -> list[Case]:
    if bench.stock is None:
        return []
    rounds = Rounds.measure(
        {"ours": _world(bench.ours, "--create"), "stock": _world(bench.stock, "--create")},
        bench.amount.pick(15, 40, 90), bench.progress, least=5,
    )  # fmt: skip
    return [c for c in rounds.compare("session_create", "ours", "stock") if c.name == "create"]


def _changes(bench: Bench, cycles: int) -> dict[str, list[Line]]:
    """The lines of session_change by kind, without those of the start."""
    after = [*SIZES[1:], SIZES[0]]
    warm = -(-WARM // len(after))
    schedule = ",".join(str(size) for size in after * (cycles + warm))
    run = bench.ours.run(
        SIZES[0], "session_change", len(after) * (cycles + warm), options=("--adapt-schedule", schedule),
        deadline_s=600,
    )  # fmt: skip
    return by_kind(run.lines[len(after) * warm :])


def change(bench: Bench) -> list[Case]:
    """By turns: a run of changes, one of adaptations."""
    ours: dict[str, list[list[float]]] = defaultdict(list)
    theirs: dict[str, list[list[float]]] = defaultdict(list)
    cycles = 10
    for number in range(bench.amount.pick(3, 6, 12)):
        bench.progress.say(f"changes, run {number + 1}")
        for kind, lines in _changes(bench, cycles).items():
            ours[kind].append([max(line["us"]) for line in lines])
        window: dict[str, list[float]] = defaultdict(list)
        for line in adaptations(bench.ours, SIZES, cycles):
            window[kind_of(line)].append(standstill(line))
        for kind, times in window.items():
            theirs[kind].append(times)
    return [ratio_case("session_change", kind, ours[kind], theirs[kind]) for kind in ours]


def sessions(bench: Bench) -> list[Case]:
    return [
        *looks(bench), *world(bench), *component(bench), *beside_stock(bench), *create(bench), *change(bench),
    ]  # fmt: skip
