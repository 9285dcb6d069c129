"""The tests of the test list over real hosts: which ones, when, and where their processes are (programs.list)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from harness.testlist import ListError, Test

from .hostrun import HostRun

HOSTS = 4  # most that a test of the list names
QUICK, FULL, ONE_HOST = "quick", "full", "one_host"
SPREAD, GROWN, NAMED = "spread", "grown", "named"
STARTS_PROCESSES = re.compile("D[SACMNX]")  # clauses


@dataclass(frozen=True)
class Rule:
    """A line of programs.list."""

    when: str
    patterns: tuple[str, ...]

    def holds(self, test: Test, placement: str) -> bool:
        names = (test.name, f"{test.name}-{placement}")
        return any(fnmatchcase(name, pattern) for name in names for pattern in self.patterns)


def read(path: Path) -> list[Rule]:
    rules = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        when, *columns = (column.strip() for column in line.split("|"))
        if {QUICK: 1, FULL: 1, ONE_HOST: 2}.get(when) != len(columns) or not all(columns):
            raise ListError(f"{path.name}, line {number}: not `quick | tests`, `full | tests` or `one_host | tests | reason`")
        rules.append(Rule(when, tuple(columns[0].split())))
    return rules


def grows(test: Test) -> bool:
    return any("-adapt-" in word for word in test.options) or any(STARTS_PROCESSES.match(clause) for clause in test.clauses)


def placements(test: Test) -> list[str]:
    if "-hosts" in test.options:
        return [NAMED]
    return [SPREAD, GROWN] if grows(test) and test.processes > 1 else [SPREAD]


def when(test: Test, placement: str, rules: Sequence[Rule]) -> str:
    for rule in rules:
        if rule.holds(test, placement):
            return rule.when
    alone = test.processes == 1 and not grows(test)
    return ONE_HOST if test.scenario or test.full or alone else FULL


def placed(words: Sequence[str], processes: int, placement: str) -> list[str]:
    """Of mpiexec, for real hosts instead of those that `-launcher fork` simulates."""
    if "-hosts" in words:
        return ["ssh" if before == "-launcher" else word for before, word in zip(["", *words], words)]
    where = ["-hosts", f"n1:{processes},n2:{processes}"] if placement == GROWN else ["-hosts", "n1,n2", "-ppn", "1"]
    return ["-launcher", "ssh", *where, *words]


def on_hosts(test: Test) -> Test:
    """The test, whose hosts are not simulated ones (ET_HOSTS), and whose servers listen on the first."""
    environment = {name: text for name, text in test.environment.items() if name != "ET_HOSTS"}
    return replace(test, environment=environment, arguments=[re.sub(r"localhost|127\.0\.0\.1", "n1", word) for word in test.arguments])


class ProgramRun(HostRun):
    """A test of the list in progress."""

    placement = SPREAD

    def complete_options(self, options: Sequence[str], n: int) -> list[str]:
        return placed(options, n, self.placement)
