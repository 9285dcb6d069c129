"""Results: what a case of a bar came to, and rounds of runs that are measured side by side."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from . import stats
from .bars import BARS, Bar
from .launch import Others

QUIET_SHARE = 0.15  # others use at most so much of the machine in a quiet round
QUIET_LEAST = 5  # so many quiet rounds are enough to leave the others out


@dataclass
class Case:
    """One case of a bar.  Samples are in `unit`; empty `reference`: the value is no ratio."""

    bar: Bar
    name: str
    unit: str
    ours: list[float]
    reference: list[float]
    value: float
    low: float
    high: float
    rounds: list[float] = field(default_factory=list)  # the ratio in each round
    others: float = 0.0  # median share of the machine that others used
    note: str = ""

    @property
    def holds(self) -> bool:
        return self.bar.holds(self.value)

    @property
    def certain(self) -> bool:
        """Whether both ends of the interval lie on the same side of the limit."""
        return self.bar.holds(self.low) == self.bar.holds(self.high)

    def as_json(self) -> dict[str, Any]:
        return {
            "bar": self.bar.key,
            "case": self.name,
            "value": self.value,
            "interval": [self.low, self.high],
            "limit": self.bar.limit,
            "holds": self.holds,
            "certain": self.certain,
            "unit": self.unit,
            "ours": stats.summary(self.ours),
            "reference": stats.summary(self.reference) if self.reference else None,
            "ratios_of_rounds": self.rounds,
            "others_share": round(self.others, 3),
            "note": self.note,
            "ours_samples": self.ours,
            "reference_samples": self.reference,
        }


def ratio_case(
    key: str,
    name: str,
    ours: Sequence[Sequence[float]],
    reference: Sequence[Sequence[float]],
    unit: str = "µs",
    others: float = 0.0,
    note: str = "",
) -> Case:
    """From the samples of each round; a round's number is the median of its samples."""
    mine = [median(samples) for samples in ours]
    theirs = [median(samples) for samples in reference]
    value, low, high = stats.ratio_interval(mine, theirs)
    rounds = (
        [a / b for a, b in zip(mine, theirs, strict=False) if b] if len(mine) == len(theirs) else []
    )
    return Case(
        BARS[key], name, unit, [x for s in ours for x in s], [x for s in reference for x in s],
        value, low, high, rounds, others, note,
    )  # fmt: skip


def value_case(key: str, name: str, samples: Sequence[float], unit: str, note: str = "") -> Case:
    value = median(samples)
    return Case(
        BARS[key], name, unit, list(samples), [], value,
        stats.percentile(samples, 5), stats.percentile(samples, 95), note=note,
    )  # fmt: skip


class Progress:
    """One line for where we are: rewritten on a terminal, else a new one now and then."""

    INTERVAL_S = 15.0

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._shown = -1e9
        self.section = ""

    def report(self, text: str, force: bool = False) -> None:
        now = time.monotonic()
        elapsed = int(now - self._begin)
        line = f"[{elapsed // 60}:{elapsed % 60:02d}] {self.section}: {text}"
        if sys.stderr.isatty():
            print(f"\r\033[K{line[:118]}", end="", file=sys.stderr, flush=True)
        elif force or now - self._shown >= self.INTERVAL_S:
            self._shown = now
            print(line, file=sys.stderr, flush=True)

    def clear(self) -> None:
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)


@dataclass
class Round:
    """Samples by variant and point, and the share of the machine that others used meanwhile."""

    samples: dict[str, dict[str, list[float]]]
    others: float


Variant = Callable[[], dict[str, list[float]]]


class Rounds:
    """Runs of several variants, one after the other, again and again: A B, B A, A B …"""

    def __init__(self, rounds: list[Round]) -> None:
        quiet = [r for r in rounds if r.others <= QUIET_SHARE]
        self.all = len(rounds)
        self.used = quiet if len(quiet) >= QUIET_LEAST else rounds
        self.others = median(r.others for r in self.used)

    @staticmethod
    def measure(
        variants: dict[str, Variant],
        budget_s: float,
        progress: Progress,
        least: int = 3,
        most: int = 60,
    ) -> "Rounds":
        rounds = []
        for number in budget(budget_s, least, most):
            others = Others()
            samples = {}
            names = list(variants)
            shift = number % len(names)
            for name in names[shift:] + names[:shift]:
                progress.report(f"round {number + 1}, {name}")
                samples[name] = variants[name]()
            rounds.append(Round(samples, others.share()))
        return Rounds(rounds)

    def of(self, variant: str, point: str) -> list[list[float]]:
        return [r.samples[variant][point] for r in self.used]

    def points(self, variant: str) -> list[str]:
        return list(self.used[0].samples[variant])

    def compare(
        self, key: str | dict[str, str], ours: str, reference: str, prefix: str = ""
    ) -> list[Case]:
        """A case for each point that both have, with its bar: one for all, or by point, "" for the others."""
        bars = {"": key} if isinstance(key, str) else key
        return [
            ratio_case(
                bars.get(point, bars[""]), prefix + point, self.of(ours, point), self.of(reference, point),
                others=self.others, note=self.note(),
            )
            for point in self.points(ours)
            if point in self.points(reference)
        ]  # fmt: skip

    def note(self) -> str:
        left_out = self.all - len(self.used)
        return f"{left_out} disturbed rounds of {self.all} left out" if left_out else ""


def budget(seconds: float, least: int, most: int) -> Iterator[int]:
    """0, 1, 2 …: at least `least`, then as long as another one is likely to fit in, at most `most`."""
    begin = time.monotonic()
    for number in range(most):
        elapsed = time.monotonic() - begin
        if number >= least and elapsed + elapsed / number > seconds:
            return
        yield number
