"""The expected result of an adaptation schedule: sizes, and the joining and leaving processes of each epoch.

Only the part that the tests need: mpiexec implements the grammar of --adapt-schedule, and the harness computes the
expected result separately, so that a run without adaptations fails.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    """One adaptation: the size before and after it, and its members."""

    epoch: int
    before: int
    size: int
    leaving: tuple[int, ...]
    joining: int
    program: int = 0  # what the joining ones run, of several


def parse(text: str, launch: int) -> list[Change]:
    """The changes that the schedule makes to a world of `launch` processes."""
    changes: list[Change] = []
    size = launch
    for entry in re.split(r"[,\n]+(?![^\[]*\])", text.strip()):
        head, *options = entry.strip().split("/")
        wanted = int(head.rsplit(":", 1)[-1])
        leaving = tuple(range(wanted, size)) if wanted < size else ()
        program = 0
        for option in options:
            key, _, value = option.partition("=")
            if key == "leave":
                leaving = tuple(sorted(int(rank) for rank in re.split(r"[+,]", value.strip("[]"))))
            elif key == "program":
                program = int(value)
        joining = wanted - (size - len(leaving))
        if leaving or joining:
            changes.append(Change(len(changes) + 1, size, wanted, leaving, joining, program))
        size = wanted
    return changes


def joined_lines(changes: list[Change]) -> set[str]:
    """The reports of joining processes after their first commit."""
    return {
        f"JOINED epoch={change.epoch} rank={rank}"
        for change in changes
        for rank in range(change.size - change.joining, change.size)
    }


def left_lines(changes: list[Change]) -> set[str]:
    """The reports of leaving processes in an exit handler."""
    return {
        f"LEFT epoch={change.epoch} rank={rank}" for change in changes for rank in change.leaving
    }


def draw(seed: int, launch: int, length: int, low: int, high: int) -> str:
    """A schedule of any sizes in a range; some entries name the leaving ranks, some all of them."""
    dice = random.Random(seed)
    entries: list[str] = []
    size = launch
    while len(entries) < length:
        wanted = dice.randint(low, high)
        fewest = max(0, size - wanted)
        kind = dice.random()
        if kind < 0.4:
            if wanted == size:
                continue
            entries.append(str(wanted))
        else:
            count = size if kind > 0.9 else dice.randint(fewest, size)
            if count == 0:
                continue
            ranks = sorted(dice.sample(range(size), count))
            entries.append(f"{wanted}/leave={'+'.join(map(str, ranks))}")
        size = wanted
    return ",".join(entries)
