"""A picture for each workload: mean turnaround and bounded slowdown by share and policy."""

from __future__ import annotations

from evaluation.report import METRICS, Results, mean_and_interval

COLOURS = {
    "easy": "#888888",
    "fill": "#4477aa",
    "efficient": "#ccaa33",
    "measured": "#aa3377",
    "measured:0.1": "#882255",
    "measured:0.5": "#ddaacc",
    "oracle": "#228833",
    "pref": "#66ccee",
    "keep-pref": "#ee6677",
    "min-common-pool": "#44aa99",
    "pref-common-pool": "#999933",
    "average-steal-agreement": "#332288",
}


def bars(results: Results, workload: str, shares: list[float], metric: str, left: int) -> str:
    """One chart of an SVG: a group of bars for each share, a bar with its interval for each policy."""
    width, height, top = 400, 240, 40
    data = {}
    for share in shares:
        for policy in COLOURS:
            draws = results.get((workload, share, policy), [])
            if values := [value for draw in draws if (value := METRICS[metric](draw)) is not None]:
                data[share, policy] = mean_and_interval(values)
    highest = max((mean + half for mean, half in data.values()), default=1) or 1

    def y(value: float) -> float:
        return top + height * (1 - value / highest)

    text = f'<text x="{left}" y="{top - 14}" font-weight="bold">{metric}</text>\n'
    for part in (0, 0.5, 1):
        level = y(part * highest)
        text += f'<line x1="{left}" x2="{left + width}" y1="{level:.1f}" y2="{level:.1f}" stroke="#ddd"/>'
        text += f'<text x="{left - 6}" y="{level + 4:.1f}" text-anchor="end">{part * highest:.3g}</text>\n'
    group = width / len(shares)
    bar = group * 0.8 / len(COLOURS)
    for i, share in enumerate(shares):
        middle = left + group * (i + 0.5)
        text += f'<text x="{middle:.1f}" y="{top + height + 18}" text-anchor="middle">{share:.0%}</text>\n'
        for j, policy in enumerate(COLOURS):
            if (share, policy) not in data:
                continue
            mean, half = data[share, policy]
            x = left + group * (i + 0.1) + bar * j
            text += f'<rect x="{x:.1f}" y="{y(mean):.1f}" width="{bar * 0.9:.1f}" height="{top + height - y(mean):.1f}" '
            text += f'fill="{COLOURS[policy]}"><title>{policy}, {share:.0%}: {mean:.4g} ± {half:.2g}</title></rect>'
            x += bar * 0.45
            low, high = y(max(mean - half, 0)), y(mean + half)
            text += f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{high:.1f}" y2="{low:.1f}" stroke="#000"/>\n'
    return text


def chart(results: Results, workload: str, shares: list[float]) -> str:
    text = '<svg xmlns="http://www.w3.org/2000/svg" width="980" height="350" font-family="sans-serif" font-size="12">\n'
    text += '<rect width="100%" height="100%" fill="#fff"/>\n'
    text += bars(results, workload, shares, "turnaround, min", 60)
    text += bars(results, workload, shares, "bounded slowdown", 540)
    for i, (policy, colour) in enumerate(COLOURS.items()):
        text += f'<rect x="{60 + 84 * i}" y="328" width="12" height="12" fill="{colour}"/>'
        text += f'<text x="{76 + 84 * i}" y="338">{policy}</text>\n'
    return text + '<text x="760" y="338">by the share of malleable jobs</text>\n</svg>\n'
