"""A model of the standstill: its parts as functions of staying, joining, leaving and nodes.

Measured on as many processes as are practical here; nodes are simulated by the fork launcher, with a
daemon for each name, as mpiexec sees them.  With more processes than cores the time of a staying process
holds waiting for a core, so two models are fitted: wall time, and the CPU time of the staying process that
needed most.  Both by least squares on relative errors, with no negative coefficient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from . import stats
from .bench import Amount, Bench
from .launch import Line, RunFailure
from .windows import adaptations, of_staying, standstill

TERMS = ("constant", "growing", "staying", "joining", "leaving", "nodes")
ROUNDS = 4


@dataclass(frozen=True)
class Plan:
    """Between two sizes on some nodes."""

    small: int
    large: int
    nodes: int = 1


def plans(amount: Amount) -> list[Plan]:
    few = [Plan(1, 2), Plan(1, 4), Plan(2, 4), Plan(3, 4), Plan(2, 8), Plan(4, 8), Plan(7, 8)]
    nodes = [Plan(2, 4, 2), Plan(4, 8, 2), Plan(4, 8, 4), Plan(7, 8, 8)]
    more = [Plan(1, 16), Plan(8, 16), Plan(15, 16), Plan(8, 16, 4), Plan(8, 16, 16)]
    many = [Plan(1, 32), Plan(16, 32), Plan(31, 32), Plan(32, 64), Plan(63, 64), Plan(16, 32, 8)]
    most = [Plan(64, 128), Plan(128, 256)]
    return few + nodes + amount.pick([], more, more + many + most)


def environment(plan: Plan) -> dict[str, str]:
    """A node that is simulated knows of its own processes only, not that all share these cores."""
    return {"MPIR_CVAR_PROGRESS_YIELD": "always"} if plan.nodes > 1 else {}


def node_options(plan: Plan) -> list[str]:
    """Processes are dealt to the nodes in blocks; joining ones go where there is space."""
    if plan.nodes == 1:
        return []
    each = -(-plan.large // plan.nodes)
    names = ",".join(f"n{i}:{each}" for i in range(plan.nodes))
    return ["-launcher", "fork", "-hosts", names]


def row(line: Line, nodes: int) -> list[float]:
    return [
        1.0,
        float(line["joining"] > 0),
        float(line["staying"]),
        float(line["joining"]),
        float(line["leaving"]),
        float(nodes),
    ]


def _points(lines: Sequence[Line], plan: Plan) -> list[dict[str, Any]]:
    """One point for growing, one for shrinking."""
    points = []
    for direction in (True, False):
        mine = [line for line in lines if (line["joining"] > 0) == direction]
        if mine:
            points.append(
                {
                    "inputs": row(mine[0], plan.nodes),
                    "standstill_us": median(standstill(line) for line in mine),
                    "cpu_us": median(max(of_staying(line, "cpu_us")) for line in mine),
                    "begin_us": median(median(of_staying(line, "begin_us")) for line in mine),
                    "commit_us": median(median(of_staying(line, "commit_us")) for line in mine),
                    "dup_us": median(max(line["dup_us"]) for line in mine),
                }
            )
    return points


def fit(points: Sequence[dict[str, Any]], part: str) -> dict[str, Any]:
    """Relative errors count, or the largest worlds would be all that is seen."""
    values = [point[part] for point in points]
    inputs = [point["inputs"] for point in points]
    found = stats.least_squares(inputs, values, [1 / max(v, 1e-3) ** 2 for v in values])
    predicted = [sum(c * x for c, x in zip(found, row_, strict=True)) for row_ in inputs]
    errors = [abs(p - v) / v for p, v in zip(predicted, values, strict=True) if v]
    return {
        "coefficients_us": dict(zip(TERMS, found, strict=True)),
        "r_squared": stats.explained(values, predicted),
        "median_relative_error": median(errors),
    }


def measure(bench: Bench) -> dict[str, Any]:
    """Points that could be measured, fits of each part, and what could not be measured."""
    points: list[dict[str, Any]] = []
    missing = []
    for plan in plans(bench.amount):
        bench.progress.report(f"{plan.small} ↔ {plan.large} on {plan.nodes} nodes")
        try:
            lines = adaptations(
                bench.ours, (plan.small, plan.large), ROUNDS, options=node_options(plan),
                environment=environment(plan),
                deadline_s=300,
            )  # fmt: skip
        except RunFailure as failure:
            missing.append(f"{plan}: {str(failure).splitlines()[0][:160]}")
            continue
        points += _points(lines, plan)
    parts = ("standstill_us", "cpu_us", "begin_us", "commit_us", "dup_us")
    return {
        "terms": TERMS,
        "points": points,
        "fits": {part: fit(points, part) for part in parts},
        "not_measured": missing,
    }
