"""The report as one HTML page: tables and SVG plots, written by hand, nothing from the network."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from . import stats
from .bars import BARS, Bar
from .report import HEADINGS, Report, number, row, statements, verdict
from .result import Case

STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --paper: #fff; --soft: #66707f; --line: #d9dee5;
  --good: #15803d; --bad: #c2261c; --unsure: #b7791f; --ours: #1f6feb; --other: #8a94a3; }
@media (prefers-color-scheme: dark) { :root { --ink: #e5e9ef; --paper: #14181f; --soft: #98a2b1;
  --line: #303845; --good: #4ade80; --bad: #f87171; --unsure: #fbbf24; --ours: #6cb0ff; --other: #7d8797; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
p.soft, .soft { color: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
.good { color: var(--good); } .bad { color: var(--bad); font-weight: 600; } .unsure { color: var(--unsure); }
ul.bars { list-style: none; padding: 0; } ul.bars li { padding: .15rem 0; }
svg { max-width: 100%; height: auto; } svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
svg .soft { fill: var(--soft); } svg .grid { stroke: var(--line); } svg .limit { stroke: var(--bad); stroke-dasharray: 4 3; }
"""

WIDTH = 900
LABEL = 300
ROW = 18


def colour(case: Case) -> str:
    if not case.certain:
        return "var(--unsure)"
    return "var(--good)" if case.holds else "var(--bad)"


class Scale:
    """Logarithmic from values to pixels."""

    def __init__(self, values: Sequence[float], left: float, right: float) -> None:
        good = [v for v in values if 0 < v < math.inf] or [1.0]
        low, high = math.log10(min(good)), math.log10(max(good))
        pad = max(0.02, 0.05 * (high - low))
        self.low, self.high = low - pad, high + pad
        self.left, self.right = left, right

    def __call__(self, value: float) -> float:
        at = (math.log10(max(value, 1e-12)) - self.low) / (self.high - self.low)
        return self.left + min(1.0, max(0.0, at)) * (self.right - self.left)

    def ticks(self) -> list[float]:
        """Round numbers, four to eight of them."""
        for steps in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
            ticks = [
                s * 10.0**e
                for e in range(math.floor(self.low) - 1, math.ceil(self.high) + 1)
                for s in steps
                if self.low <= math.log10(s * 10.0**e) <= self.high
            ]
            if len(ticks) >= 4:
                return ticks
        low, high = 10**self.low, 10**self.high
        return [low + (high - low) * i / 4 for i in range(5)]


def svg(width: float, height: float, parts: Sequence[str], title: str) -> str:
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img" '
        f'aria-label="{escape(title)}">{"".join(parts)}</svg>'
    )


def text(x: float, y: float, words: str, anchor: str = "start", kind: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}/>'


def ratio_plot(bar: Bar, cases: Sequence[Case]) -> str:
    """A row for each case: the ratios of the rounds, the interval, the value; the limit as a line."""
    values = [bar.limit, *(v for c in cases for v in (c.low, c.high, c.value, *_most(c)))]
    scale = Scale(values, LABEL, WIDTH - 70)
    height = ROW * len(cases) + 40
    parts = []
    for tick in scale.ticks():
        parts.append(line(scale(tick), 8, scale(tick), height - 26, 'class="grid"'))
        parts.append(text(scale(tick), height - 10, number(tick), "middle", "soft"))
    for i, case in enumerate(cases):
        y = 18 + ROW * i
        parts.append(text(LABEL - 10, y + 4, case.name, "end"))
        parts += [
            f'<circle cx="{scale(v):.1f}" cy="{y}" r="2" fill="var(--other)" fill-opacity=".5"/>'
            for v in _most(case)
        ]
        style = f'stroke="{colour(case)}" stroke-width="3"'
        parts.append(line(scale(case.low), y, scale(case.high), y, style))
        parts.append(
            f'<circle cx="{scale(case.value):.1f}" cy="{y}" r="4.5" fill="{colour(case)}">'
            f"<title>{escape(case.name)}: {number(case.value)} {escape(verdict(case))}</title></circle>"
        )
        parts.append(text(WIDTH - 60, y + 4, number(case.value)))
    parts.append(line(scale(bar.limit), 4, scale(bar.limit), height - 26, 'class="limit"'))
    return svg(WIDTH, height, parts, f"{bar.title}: values of {len(cases)} cases and the limit")


def _most(case: Case) -> list[float]:
    """Ratios of rounds, without the outermost tenths that would squeeze the plot."""
    ordered = sorted(case.rounds)
    cut = len(ordered) // 10
    return ordered[cut : len(ordered) - cut]


def curve_plot(
    curves: Sequence[tuple[str, str, Sequence[tuple[float, float]]]], x_name: str, y_name: str
) -> str:
    """Curves (name, colour, points) over two logarithmic axes."""
    width, height, left, bottom = 640, 340, 70, 40
    points = [p for _, _, ps in curves for p in ps if p[0] > 0 and p[1] > 0]
    if not points:
        return ""
    across = Scale([p[0] for p in points], left, width - 20)
    up = Scale([p[1] for p in points], height - bottom, 16)
    parts = []
    for tick in across.ticks():
        parts.append(line(across(tick), 16, across(tick), height - bottom, 'class="grid"'))
        parts.append(text(across(tick), height - bottom + 16, number(tick), "middle", "soft"))
    for tick in up.ticks():
        parts.append(line(left, up(tick), width - 20, up(tick), 'class="grid"'))
        parts.append(text(left - 6, up(tick) + 4, number(tick), "end", "soft"))
    for i, (name, stroke, some) in enumerate(curves):
        drawn = [(across(x), up(y)) for x, y in some if x > 0 and y > 0]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in drawn)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{stroke}" stroke-width="1.5"/>'
        )
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{stroke}"/>' for x, y in drawn]
        parts.append(
            f'<rect x="{left + 10}" y="{20 + 16 * i}" width="10" height="10" fill="{stroke}"/>'
        )
        parts.append(text(left + 26, 29 + 16 * i, name))
    parts.append(text((left + width) / 2, height - 6, x_name, "middle"))
    parts.append(text(left - 60, 11, y_name))
    return svg(width, height, parts, f"{y_name} over {x_name}")


def distribution_plot(case: Case) -> str:
    """Cumulative distributions of both sides' samples."""
    sides = [("this library" if case.reference else case.name, "var(--ours)", case.ours)]
    if case.reference:
        sides.append(("reference", "var(--other)", case.reference))
    width, height, left, bottom = 420, 200, 40, 34
    inner = [v for _, _, s in sides for v in (stats.percentile(s, 1), stats.percentile(s, 99))]
    across = Scale(inner, left, width - 14)

    def y(share: float) -> float:
        return height - bottom - share * (height - bottom - 18)

    parts = [line(left, y(s), width - 14, y(s), 'class="grid"') for s in (0, 0.5, 1)]
    parts += [text(left - 5, y(s) + 4, f"{100 * s:.0f}%", "end", "soft") for s in (0, 0.5, 1)]
    parts += [
        text(across(t), height - bottom + 15, number(t), "middle", "soft")
        for t in across.ticks()[:7]
    ]
    for name, stroke, samples in sides:
        ordered = sorted(samples)
        step = max(1, len(ordered) // 200)
        path = " ".join(
            f"{across(v):.1f},{y((i * step + 1) / len(ordered)):.1f}"
            for i, v in enumerate(ordered[::step])
        )
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{stroke}" stroke-width="1.5"/>'
        )
    parts.append(text(left, 12, f"{case.name}, {case.unit or case.bar.unit}"))
    return svg(width, height, parts, f"distribution of {case.name}")


def case_table(cases: Sequence[Case]) -> str:
    head = "".join(f"<th>{escape(h)}</th>" for h in HEADINGS)
    rows = []
    for case in cases:
        kind = ("good" if case.holds else "bad") if case.certain else "unsure"
        cells = [
            f'<td class="{kind}">{escape(c)}</td>' if i == 4 else f"<td>{escape(c)}</td>"
            for i, c in enumerate(row(case))
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f'<div class="scroll"><table><tr>{head}</tr>{"".join(rows)}</table></div>'


def speed_curves(report: Report, point: str) -> str:
    """Latency or time per message over the size, ours and stock."""
    prefix = point + ":"
    cases = [
        c for c in report.of(BARS["stock"]) if c.name.startswith(prefix) and c.name != prefix + "0"
    ]
    if len(cases) < 3:
        return ""
    sides: list[tuple[str, str, Callable[[Case], list[float]]]] = [
        ("this library", "var(--ours)", lambda c: c.ours),
        ("stock", "var(--other)", lambda c: c.reference),
    ]
    curves = [
        (
            name,
            stroke,
            [(float(c.name.split(":")[1]), stats.summary(samples(c))["p50"]) for c in cases],
        )
        for name, stroke, samples in sides
    ]
    return curve_plot(curves, "bytes", f"{point}, µs (medians)")


def endurance_curve(report: Report) -> str:
    values = report.bench.extra.get("endurance", {}).get("standstill_us", [])
    if not values:
        return ""
    block = max(1, len(values) // 50)
    blocks = [values[i : i + block] for i in range(0, len(values) - block + 1, block)]
    points = [((i + 1.0) * block, stats.summary(b)["p50"]) for i, b in enumerate(blocks)]
    return curve_plot(
        [("median of a block", "var(--ours)", points)], "adaptations", "standstill, µs"
    )


def model_section(model: dict[str, Any]) -> str:
    head = "".join(f"<th>{escape(h)}</th>" for h in ("µs", *model["terms"], "R²", "median error"))
    rows = []
    for part, fitted in model["fits"].items():
        cells = [
            part.removesuffix("_us"),
            *(number(fitted["coefficients_us"][t]) for t in model["terms"]),
        ]
        cells += [f"{fitted['r_squared']:.3f}", f"{100 * fitted['median_relative_error']:.0f} %"]
        rows.append("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in cells) + "</tr>")

    def over_size(part: str) -> list[tuple[float, float]]:
        on_one = [p for p in model["points"] if p["inputs"][5] == 1 and p["inputs"][1]]
        return sorted((p["inputs"][2] + p["inputs"][3], p[part]) for p in on_one)

    curves = [
        ("standstill", "var(--ours)", over_size("standstill_us")),
        ("CPU time of a staying process", "var(--good)", over_size("cpu_us")),
        ("MPI_Comm_dup", "var(--other)", over_size("dup_us")),
    ]
    missing = "".join(f"<li>{escape(m)}</li>" for m in model["not_measured"])
    return (
        "<h2>Standstill as a function of processes</h2><p class=soft>Least squares on relative errors; "
        "coefficients in microseconds per process or node.</p>"
        f'<div class="scroll"><table><tr>{head}</tr>{"".join(rows)}</table></div>'
        + curve_plot(curves, "processes after growing, one node", "µs")
        + (f"<p>Not measured:</p><ul>{missing}</ul>" if missing else "")
    )


def bar_section(report: Report, bar: Bar) -> str:
    cases = report.of(bar)
    worst = sorted(cases, key=lambda c: bar.margin(c.value))[:3]
    parts = [
        f'<h2 id="{bar.key}">{escape(bar.title)} <span class="soft">{escape(bar.limit_text())}</span></h2>',
        f'<p class="soft">Measured: {escape(bar.measured)}. Against: {escape(bar.reference)}.'
        + (f" Elsewhere: {escape(bar.elsewhere)}." if bar.elsewhere else "")
        + "</p>",
        ratio_plot(bar, cases),
    ]
    if bar.key == "stock":
        parts += [speed_curves(report, "latency"), speed_curves(report, "flood")]
    if bar.key == "endurance":
        parts.append(endurance_curve(report))
    parts.append("<p>Distributions of the samples, worst cases:</p>")
    parts += [distribution_plot(case) for case in worst if len(case.ours) > 1]
    parts.append(case_table(cases))
    return "".join(parts)


def _statement_item(words: str) -> str:
    first = words.split()[0]
    kind = {"holds": "good", "UNDECIDED": "unsure", "not": "unsure"}.get(first, "bad")
    return f'<li class="{kind}">{escape(words)}</li>'


def html(report: Report) -> str:
    facts = report.machine
    about = (
        f"{facts['date']}, {facts['processor']}, {facts['cores']} cores, {facts['memory_gib']} GiB, "
        f"{facts['system']}; load at the start {facts['load_at_start']}; {report.seconds / 60:.0f} minutes"
    )
    sections = [bar_section(report, bar) for bar in BARS.values() if report.of(bar)]
    if "model" in report.bench.extra:
        sections.append(model_section(report.bench.extra["model"]))
    failures = "".join(
        f"<h2>{escape(title)}: failed to run</h2><pre>{escape(why)}</pre>"
        for title, why in report.failed.items()
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" '
        'content="width=device-width"><title>Elastic MPICH: measurements</title>'
        f"<style>{STYLE}</style><h1>Elastic MPICH: measurements</h1><p>{escape(about)}</p>"
        f'<p class="soft">{escape(report.command)}</p><ul class="bars">'
        + "".join(map(_statement_item, statements(report)))
        + "</ul><p class=soft>In the plots a grey point is the ratio in one round, the coloured point "
        "their median, the thick line its 90 % interval, the dashed line the limit.</p>"
        + "".join(sections)
        + failures
        + "</html>\n"
    )
