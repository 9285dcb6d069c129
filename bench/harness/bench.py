"""What all sections share: the MPIs that are compared, how much is to be done, where files go."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from .launch import Mpi
from .result import Case, Progress

T = TypeVar("T")


class Amount(enum.Enum):
    """How much is measured: --quick, default, --full."""

    QUICK = 0
    USUAL = 1
    FULL = 2

    def pick(self, quick: T, usual: T, full: T) -> T:
        return (quick, usual, full)[self.value]


class Skipped(Exception):
    """Why a section cannot be measured here."""


@dataclass
class Bench:
    """One run of the benchmarks."""

    ours: Mpi
    stock: Mpi | None
    amount: Amount
    folder: Path
    progress: Progress
    extra: dict[str, Any] = field(default_factory=dict)  # for the JSON file, by section

    def need_stock(self) -> Mpi:
        if self.stock is None:
            raise Skipped("no stock MPICH to compare with (maint/build --stock makes one)")
        return self.stock


@dataclass(frozen=True)
class Section:
    """A group of cases that are measured together."""

    key: str
    title: str
    bars: tuple[str, ...]
    measure: Callable[[Bench], list[Case]]
    needs_stock: bool = True  # perhaps for a part of it
