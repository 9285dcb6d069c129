"""What came out, for people (tables on standard output) and programs (JSON)."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import stats
from .bars import BARS, Bar
from .bench import Bench
from .result import Case


@dataclass
class Report:
    """All results of a run."""

    bench: Bench
    command: str
    seconds: float = 0.0
    cases: list[Case] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)  # section → why
    failed: dict[str, str] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)

    def of(self, bar: Bar) -> list[Case]:
        return [case for case in self.cases if case.bar is bar]


def machine() -> dict[str, Any]:
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in _lines("/proc/cpuinfo")
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    memory = next(
        (line.split()[1] for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), "0"
    )
    return {
        "processor": model,
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(int(memory) / 2**20, 1),
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "load_at_start": round(os.getloadavg()[0], 2),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
    }


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def number(value: float) -> str:
    if value == float("inf"):
        return "∞"
    if abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:.4g}"


HEADINGS = (
    "case",
    "value",
    "90 % interval",
    "bar",
    "",
    "p50",
    "p90",
    "p99",
    "reference p50",
    "unit",
    "n",
)


def row(case: Case) -> list[str]:
    ours = stats.summary(case.ours)
    reference = number(stats.summary(case.reference)["p50"]) if case.reference else "–"
    return [
        case.name, number(case.value), f"{number(case.low)} … {number(case.high)}",
        case.bar.limit_text(), verdict(case), number(ours["p50"]), number(ours["p90"]),
        number(ours["p99"]), reference, case.unit or case.bar.unit, str(ours["count"]),
    ]  # fmt: skip


def verdict(case: Case) -> str:
    if case.certain:
        return "holds" if case.holds else "FAILS"
    return "holds?" if case.holds else "fails?"


def text_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(r[i]) for r in (headings, *rows)) for i in range(len(headings))]
    lines = []
    for r in (headings, *rows):
        cells = [
            c.ljust(w) if i == 0 else c.rjust(w)
            for i, (c, w) in enumerate(zip(r, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def statement(bar: Bar, cases: Sequence[Case]) -> str:
    """Whether the bar holds, and by how much its worst case lies on either side."""
    worst = min(cases, key=lambda case: bar.margin(case.value))
    bad = [case for case in cases if not case.holds]
    printed = "holds"
    if bad:
        printed = "DOES NOT HOLD" if any(case.certain for case in bad) else "UNDECIDED"
    unsure = sum(not case.certain for case in cases)
    return (
        f"{printed:<14}{bar.title} ({bar.limit_text()}): {len(cases) - len(bad)} of {len(cases)} cases"
        + (f", {unsure} of them within the noise" if unsure else "")
        + f"; worst {worst.name}: {number(worst.value)}{' ' + bar.unit if bar.unit else ''}"
    )


def statements(report: Report) -> list[str]:
    lines = []
    for bar in BARS.values():
        cases = report.of(bar)
        if cases:
            lines.append(statement(bar, cases))
    for what, sections in (("not measured", report.skipped), ("FAILED TO RUN", report.failed)):
        lines += [f"{what:<14}{title}: {why.splitlines()[0]}" for title, why in sections.items()]
    return lines


def print_report(report: Report) -> None:
    for bar in BARS.values():
        cases = report.of(bar)
        if cases:
            print(
                f"\n{bar.title} ({bar.limit_text()})\n  measured: {bar.measured}\n  against: {bar.reference}"
            )
            print(text_table(HEADINGS, [row(case) for case in cases]))
    if "model" in report.bench.extra:
        print("\nstandstill as a function of processes (least squares on relative errors)")
        print(model_table(report.bench.extra["model"]))
    for title, why in report.failed.items():
        print(f"\n{title} FAILED TO RUN: {why}")
    print()
    for line in statements(report):
        print(line)
    print(
        "\nValues are medians of the ratios of rounds unless they have a unit.  holds? and fails?: the limit"
        "\nlies in the interval, within the noise of this run.  UNDECIDED: nothing fails beyond the noise."
        "\nn counts batches or adaptations."
    )


def model_table(model: dict[str, Any]) -> str:
    headings = [
        "microseconds",
        *model["terms"],
        "R²",
        "median error",
    ]
    rows = []
    for part, fitted in model["fits"].items():
        rows.append(
            [
                part.removesuffix("_us"),
                *(number(fitted["coefficients_us"][term]) for term in model["terms"]),
                f"{fitted['r_squared']:.3f}",
                f"{100 * fitted['median_relative_error']:.0f} %",
            ]
        )
    return text_table(headings, rows)


def as_json(report: Report) -> dict[str, Any]:
    return {
        "command": report.command,
        "machine": report.machine,
        "seconds": round(report.seconds, 1),
        "amount": report.bench.amount.name.lower(),
        "statements": statements(report),
        "bars": {
            bar.key: {"title": bar.title, "limit": bar.limit, "at_least": bar.at_least, "unit": bar.unit,
                      "measured": bar.measured, "reference": bar.reference, "elsewhere": bar.elsewhere}
            for bar in BARS.values()
        },  # fmt: skip
        "cases": [case.as_json() for case in report.cases],
        "skipped": report.skipped,
        "failed": report.failed,
        **report.bench.extra,
    }
