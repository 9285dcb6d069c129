"""The tables of doc/record/evaluation-tables.md, from the results of all traces."""

from __future__ import annotations

from datetime import date

from evaluation.report import METRICS, Metric, Results, mean_and_interval, number, percent, rigid, table, values_of

HEAD = """# The scheduling policies compared: tables

This page records the results that [evaluation.md](evaluation.md) explains. `./run evaluate --traces DIR --window --record`
writes it: do not edit it. {today}; {draws} draws of each trace, share of malleable jobs and policy.

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


def differences(results: Results, traces: dict[str, str], shares: list[float], policies: list[str], metric: Metric) -> str:
    others = [policy for policy in policies if policy != BASE]
    rows = []
    for workload, trace in traces.items():
        for share in shares:
            cells = []
            for other in others:
                change = percent(results[workload, share, BASE], results[workload, share, other], metric)
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
                    change = percent(results[workload, share, BASE], results[workload, share, other], metric)
                    if share > 0 and other not in (BASE, "oracle") and change and change[0] > change[1]:
                        found.append([title, trace, f"{share:.0%}", other, f"{change[0]:+.1f} ± {change[1]:.1f}"])
    return table(["figure", "trace", "malleable", "better policy", "measured, %"], found) if found else "None.\n"


def means(results: Results, traces: dict[str, str], shares: list[float], policies: list[str]) -> str:
    rows = []
    for workload, trace in traces.items():
        for share in shares:
            cells = {policy: [mean_cell(results[workload, share, policy], metric) for metric in MEANS.values()] for policy in policies}
            if all(each == cells[BASE] for each in cells.values()):
                cells = {"all the same": cells[BASE]}
            rows += [[trace, f"{share:.0%}", policy, *each] for policy, each in cells.items()]
    return table(["trace", "malleable", "policy", *MEANS], rows)


def page(results: Results, workloads: list[str], shares: list[float], policies: list[str]) -> str:
    """All of it; `workloads` as maint/evaluate names them."""
    traces = {name: name.removesuffix("-window") for name in workloads}
    draws = len(results[workloads[0], shares[0], BASE])
    text = HEAD.format(today=date.today().isoformat(), draws=draws)
    text += f"The first tables compare `{BASE}` with each other policy, draw by draw: per cent more (+) or less (−), and half of\nthe 95 % interval.\n"
    for title, metric in DIFFERENCES + COSTS:
        text += f"\n## {title}\n\n{differences(results, traces, shares, policies, metric)}"
    text += f"\n## Where `{BASE}` is worse than another policy\n\nOf the first four figures. The oracle is left out: it knows the scaling models.\n\n"
    text += losses(results, traces, shares, policies)
    text += "\n## Means\n\n± half of their 95 % intervals (wasted: [simulation.md](../admin/simulation.md)).\n\n"
    return text + means(results, traces, shares, policies)
