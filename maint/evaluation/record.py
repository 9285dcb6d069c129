"""The tables of doc/record/evaluation-tables.md, from the results of all traces."""

from __future__ import annotations

from evaluation.report import METRICS, Metric, Results, mean_and_interval, number, percent, rigid, table, values_of

HEAD = """# The scheduling policies compared: tables

This page records the results that [evaluation.md](evaluation.md) explains. `./run evaluate --traces DIR --window
--record` writes it: do not edit it. {draws} draws of each trace, share of malleable jobs and policy; 1 at 0 %, where all
draws are the same.

"""
BASE = "measured"
DIFFERENCES: list[tuple[str, Metric]] = [
    ("Mean turnaround", METRICS["turnaround, min"]),
    ("Mean bounded slowdown", METRICS["bounded slowdown"]),
    ("Wait of rigid jobs, mean", METRICS["rigid jobs' wait, min"]),
    ("Wait of rigid jobs, 99th percentile", METRICS["its p99, min"]),
]
COSTS: list[tuple[str, Metric]] = [
    ("Wasted core hours", METRICS["wasted core hours"]),
    ("Adaptations", METRICS["adaptations"]),
]
MEANS: dict[str, Metric] = {
    "turnaround, h": lambda draw: draw["mean_turnaround_ms"] / 3600000,
    "bounded slowdown": METRICS["bounded slowdown"],
    "rigid: mean wait, h": lambda draw: in_hours(rigid("mean_wait_ms")(draw)),
    "rigid: p99, h": lambda draw: in_hours(rigid("p99_wait_ms")(draw)),
    "wasted, 1000 core hours": lambda draw: draw["wasted_core_hours"] / 1000,
    "adaptations, 1000": lambda draw: draw["adaptations"] / 1000,
}


def in_hours(minutes: float | None) -> float | None:
    return None if minutes is None else minutes / 60


def mean_cell(draws: list[dict], metric: Metric) -> str:
    """The interval with two digits, and the mean with as many decimals."""
    values = values_of(draws, metric)
    if not values:
        return ""
    mean, half = mean_and_interval(values)
    if half <= 1e-6 * abs(mean):
        return number(mean, 4)
    decimals = max(0, 1 - int(f"{half:e}".partition("e")[2]))
    return f"{mean:,.{decimals}f} ± {half:,.{decimals}f}"


def simulated(results: Results, traces: dict[str, str], shares: list[float], policies: list[str]) -> str:
    """When each trace was simulated, and what of it was not."""
    rows = []
    for workload, trace in traces.items():
        days = {day for share in shares for policy in policies for draw in results.get((workload, share, policy), []) if (day := draw.get("date"))}
        lacks = [policy for policy in policies if not all(results.get((workload, share, policy)) for share in shares)]
        rows.append([trace, " to ".join(sorted({min(days), max(days)})) if days else "unknown", ", ".join(lacks) or "none"])
    return table(["trace", "simulated", "policies left out"], rows)


def compared(results: Results, workload: str, share: float, other: str, metric: Metric) -> tuple[float, float] | None:
    """`measured` to another policy; nothing if one of them was not simulated."""
    draws, others = results.get((workload, share, BASE)), results.get((workload, share, other))
    return percent(draws, others, metric) if draws and others else None


def differences(results: Results, traces: dict[str, str], shares: list[float], policies: list[str], metric: Metric) -> str:
    others = [policy for policy in policies if policy != BASE]
    rows = []
    for workload, trace in traces.items():
        for share in shares:
            cells = []
            for other in others:
                change = compared(results, workload, share, other, metric)
                cells.append(f"{change[0]:+.1f} ± {change[1]:.1f}" if change else "")
            if share > 0 and any(cells):
                rows.append([trace, f"{share:.0%}", *cells])
    return table(["trace", "malleable", *others], rows)


def losses(results: Results, traces: dict[str, str], shares: list[float], policies: list[str]) -> str:
    """Each case in which another policy is better than `measured` by more than chance."""
    found = []
    for title, metric in DIFFERENCES:
        for workload, trace in traces.items():
            for share in shares:
                for other in policies:
                    change = compared(results, workload, share, other, metric)
                    if share > 0 and other not in (BASE, "oracle") and change and change[0] > change[1]:
                        found.append([title, trace, f"{share:.0%}", other, f"{change[0]:+.1f} ± {change[1]:.1f}"])
    return table(["figure", "trace", "malleable", "better policy", "measured, %"], found) if found else "None.\n"


def means(results: Results, traces: dict[str, str], shares: list[float], policies: list[str]) -> str:
    rows = []
    for workload, trace in traces.items():
        for share in shares:
            known = {policy: draws for policy in policies if (draws := results.get((workload, share, policy)))}
            cells = {policy: [mean_cell(draws, metric) for metric in MEANS.values()] for policy, draws in known.items()}
            if BASE in cells and all(each == cells[BASE] for each in cells.values()):
                cells = {"all the same": cells[BASE]}
            rows += [[trace, f"{share:.0%}", policy, *each] for policy, each in cells.items()]
    return table(["trace", "malleable", "policy", *MEANS], rows)


def page(results: Results, workloads: list[str], shares: list[float], policies: list[str]) -> str:
    """All of it; `workloads` as maint/evaluate names them."""
    traces = {name: name.removesuffix("-window") for name in workloads}
    draws = max(len(each) for each in results.values())
    text = HEAD.format(draws=draws) + simulated(results, traces, shares, policies) + "\n"
    text += f"The first tables compare `{BASE}` with each other policy, draw by draw: per cent more (+) or less (−), and half of\nthe 95 % interval.\n"
    for title, metric in DIFFERENCES + COSTS:
        text += f"\n## {title}\n\n{differences(results, traces, shares, policies, metric)}"
    text += f"\n## Where `{BASE}` is worse than another policy\n\nOf the first four figures. The oracle is left out: it knows the scaling models.\n\n"
    text += losses(results, traces, shares, policies)
    text += "\n## Means\n\n± half of their 95 % intervals (wasted: [simulation.md](../admin/simulation.md)).\n\n"
    return text + means(results, traces, shares, policies)
