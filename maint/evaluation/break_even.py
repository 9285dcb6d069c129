"""How long an adaptation may let a job stand still until adapting gains nothing over `easy`."""

from __future__ import annotations

import math

from evaluation.report import mean_and_interval, table
from evaluation.runs import Runs, Setting
from evaluation.workloads import Workload

LEAST_S, GREATEST_S = 1.0, 100000.0
STEPS = 7  # each halves the interval's logarithm: the cost is known to a tenth
POLICIES = ["fill", "measured"]


def gain(runs: Runs, workload: Workload, setting: Setting, easy: list[dict]) -> float:
    """Of mean turnaround over easy's, draw by draw, as a part of it."""
    draws = runs.draws(workload, setting, range(easy[0]["seed"], easy[-1]["seed"] + 1))
    name = "mean_turnaround_ms"
    return mean_and_interval([1 - draw[name] / other[name] for draw, other in zip(draws, easy)])[0]


def cost(runs: Runs, workload: Workload, setting: Setting, easy: list[dict]) -> str:
    """By bisection: the gain falls with the cost."""

    def gains_at(seconds: float) -> bool:
        return gain(runs, workload, setting._replace(adapt_cost_s=seconds), easy) > 0

    low, high = LEAST_S, GREATEST_S
    if not gains_at(low):
        return f"below {low:.0f} s"
    if gains_at(high):
        return f"above {high:.0f} s"
    for _ in range(STEPS):
        middle = round(math.sqrt(low * high), 1)
        low, high = (middle, high) if gains_at(middle) else (low, middle)
    return f"{low:.0f} to {high:.0f} s"


def report(runs: Runs, workloads: list[Workload], setting: Setting, seeds: range) -> str:
    rows = []
    for workload in workloads:
        easy = runs.draws(workload, setting._replace(policy="easy"), seeds)
        costs = [cost(runs, workload, setting._replace(policy=policy), easy) for policy in POLICIES]
        cheap = gain(runs, workload, setting._replace(policy="fill"), easy)
        rows.append([workload.name, *costs, f"{cheap:.0%}"])
    heads = ["workload", *POLICIES, f"gain of fill at {setting.adapt_cost_s:g} s"]
    return table(heads, rows)
