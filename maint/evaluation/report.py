"""Tables of what has been simulated: means, and what one policy has over another, draw by draw."""

from __future__ import annotations

import math
from collections.abc import Callable

# By workload, share and policy: the draws in the order of their seeds.
Results = dict[tuple[str, float, str], list[dict]]
Metric = Callable[[dict], float | None]
# Student's t for a 95 % interval, by the number of draws from 2 on; of more than these it is 2.
T_95 = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09]


def rigid(name: str) -> Metric:
    """Of the rigid jobs alone, in minutes; None: there are none."""
    return lambda draw: draw["classes"]["rigid"][name] / 60000 if "rigid" in draw.get("classes", {}) else None


METRICS: dict[str, Metric] = {
    "turnaround, min": lambda draw: draw["mean_turnaround_ms"] / 60000,
    "bounded slowdown": lambda draw: draw["mean_bounded_slowdown"],
    "wait, min": lambda draw: draw["mean_wait_ms"] / 60000,
    "rigid jobs' wait, min": rigid("mean_wait_ms"),
    "its p99, min": rigid("p99_wait_ms"),
    "makespan, h": lambda draw: draw["makespan_ms"] / 3600000,
    "utilisation": lambda draw: draw["utilisation"],
    "wasted core hours": lambda draw: draw["wasted_core_hours"],
    "adaptations": lambda draw: draw["adaptations"],
}
COMPARED = ["turnaround, min", "bounded slowdown", "rigid jobs' wait, min", "its p99, min"]


def mean_and_interval(values: list[float]) -> tuple[float, float]:
    """The mean, and half of the width of its 95 % interval."""
    mean = sum(values) / len(values)
    if len(values) < 2:
        return mean, 0.0
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
    t = T_95[len(values) - 2] if len(values) - 2 < len(T_95) else 2.0
    return mean, t * deviation / math.sqrt(len(values))


def number(value: float, digits: int) -> str:
    """So many digits at least, and never a power of ten."""
    return f"{value:.0f}" if abs(value) >= 10**digits - 0.5 else f"{value:.{digits}g}"


def values_of(draws: list[dict], metric: Metric) -> list[float]:
    """Of all draws, or nothing: a draw may have no rigid job."""
    values = [value for draw in draws if (value := metric(draw)) is not None]
    return values if len(values) == len(draws) else []


def mean_cell(draws: list[dict], metric: Metric) -> str:
    values = values_of(draws, metric)
    if not values:
        return ""
    mean, half = mean_and_interval(values)
    return number(mean, 4) + (f" ± {number(half, 2)}" if half > 1e-6 * mean else "")


def percent(draws: list[dict], others: list[dict], metric: Metric) -> tuple[float, float] | None:
    """How much more (+) or less (-) than in the other's draws of the same seeds, and half of the 95 % interval."""
    ratios = []
    for draw, other in zip(draws, others):
        value, base = metric(draw), metric(other)
        if value is None or not base:
            return None
        ratios.append(100 * (value / base - 1))
    return mean_and_interval(ratios)


def percent_cell(draws: list[dict], others: list[dict], metric: Metric) -> str:
    change = percent(draws, others, metric)
    return f"{change[0]:+.1f} ± {change[1]:.1f} %" if change else ""


def table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads)] + rows
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def means(results: Results, workload: str, shares: list[float], policies: list[str]) -> str:
    rows = [
        [f"{share:.0%}", policy] + [mean_cell(draws, metric) for metric in METRICS.values()]
        for share in shares
        for policy in policies
        if (draws := results.get((workload, share, policy)))
    ]
    return table(["malleable", "policy", *METRICS], rows)


def differences(results: Results, workload: str, shares: list[float], policies: list[str]) -> str:
    """Of `measured` to each of the others, those that let cores idle to `fill`, and of that to easy."""
    rows = []
    for share in shares:
        pairs = [("measured", policy) for policy in policies if policy != "measured"]
        pairs += [("measured:0.1", "fill"), ("measured:0.5", "fill"), ("fill", "easy")]
        for policy, other in pairs:
            draws, others = results.get((workload, share, policy)), results.get((workload, share, other))
            if share > 0 and draws and others:
                cells = [percent_cell(draws, others, METRICS[name]) for name in COMPARED]
                rows.append([f"{share:.0%}", f"{policy} to {other}", *cells])
    return table(["malleable", "", *(name.removesuffix(", min") for name in COMPARED)], rows) if rows else ""
