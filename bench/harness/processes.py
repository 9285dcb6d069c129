"""Processes that a program starts, clients and servers, by bench/process_cost.c, modify_cost.c, task_cost.c and
spawn_merge.c: each operation beside what MPI, or the system, has for it.  Messages between processes started apart are in
worlds.py."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from statistics import median

from .bench import Bench
from .launch import Line
from .result import Case, Rounds, Variant, ratio_case
from .windows import adaptations, standstill
from .worlds import spawned

TASKS = 100  # of a round
MORE = 1  # processes that MPIX_Comm_modify creates beside one


def _pairs(bench: Bench, *arguments: object, processes: int = 2, program: str = "process_cost") -> Variant:
    def run() -> dict[str, list[float]]:
        return bench.ours.run(processes, program, *arguments, deadline_s=300).samples()

    return run


def _pair(bench: Bench, bar: str, ours: str, reference: str, budget_s: float, run: Variant) -> Case:
    """Both are samples of the same run, in which they take turns."""
    rounds = Rounds.measure({"both": run}, budget_s, bench.progress, least=3)
    return ratio_case(
        bar, f"{ours} / {reference}", rounds.of("both", ours), rounds.of("both", reference), others=rounds.others,
        note=rounds.note(),
    )  # fmt: skip


def named(bench: Bench) -> list[Case]:
    budget_s = bench.amount.pick(10, 30, 60)
    return [
        _pair(bench, "process_connect", "connect", "lookup_connect", budget_s, _pairs(bench, "connect", 50)),
        _pair(bench, "process_spawn", "spawn", "spawn_multiple", 2 * budget_s, _pairs(bench, "spawn", 10)),
    ]


# ---- tasks ---------------------------------------------------------------------------------------------------------


def tasks(bench: Bench) -> list[Case]:
    run = _pairs(bench, TASKS, processes=1, program="task_cost")
    variants: dict[str, Variant] = {"ours": run}
    if bench.stock is not None:
        variants["stock"] = lambda: bench.need_stock().run(1, "spawn_merge", 1, 3, deadline_s=300).samples()
    rounds = Rounds.measure(variants, bench.amount.pick(15, 40, 90), bench.progress, least=3)
    ours = rounds.of("ours", "task")
    cases = [
        ratio_case(
            "task_system", "task / posix_spawn", ours, rounds.of("ours", "posix_spawn"), others=rounds.others,
            note=rounds.note(),
        )
    ]  # fmt: skip
    if "stock" in variants:
        cases.append(
            ratio_case(
                "task_spawn", "task / MPI_Comm_spawn", ours, rounds.of("stock", "spawn_alone"), others=rounds.others,
                note=rounds.note(),
            )
        )  # fmt: skip
    return cases


# ---- MPIX_Comm_modify -----------------------------------------------------------------------------------------------


def _growths(path: Path) -> list[float]:
    """Of each growth the time from the request until the joining processes are prepared, in microseconds."""
    times, requested, joining = [], None, None
    for line in path.read_text().splitlines():
        event: Line = json.loads(line)
        if event["event"] == "requested":
            requested, joining = event["time_ms"], None
        elif event["event"] == "placed":
            joining = event["group"]
        elif event["event"] == "prepared" and requested is not None and event["group"] == joining:
            times.append(1e3 * (event["time_ms"] - requested))
            requested = None
    return times


def _launch_and_standstill(bench: Bench) -> Variant:
    def run() -> dict[str, list[float]]:
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            log = Path(folder) / "log"
            lines = adaptations(bench.ours, (1, 1 + MORE), 5, options=("--adapt-log", log))
            launches = _growths(log)
        stands = [standstill(line) for line in lines if line["to"] > line["from"]]
        return {"modify": [median(launches) + us for us in stands]}

    return run


def modify(bench: Bench) -> list[Case]:
    variants: dict[str, Variant] = {
        "ours": _pairs(bench, MORE, 5, processes=1, program="modify_cost"),
        "adaptation": _launch_and_standstill(bench),
    }
    if bench.stock is not None:
        variants["stock"] = lambda: {
            "modify": bench.need_stock().run(1, "spawn_merge", MORE, 3, deadline_s=300).samples()["spawn"]
        }
    rounds = Rounds.measure(variants, bench.amount.pick(20, 60, 120), bench.progress, least=3)
    cases = rounds.compare("modify_adaptation", "ours", "adaptation", f"1 → {1 + MORE}, ")
    if "stock" in variants:
        cases += rounds.compare("modify_spawn", "ours", "stock", f"1 → {1 + MORE}, ")
    return cases


def processes(bench: Bench) -> list[Case]:
    return [*spawned(bench), *named(bench), *tasks(bench), *modify(bench)]
