"""test/expected-skips: which tests may be skipped, under which condition and for which reason."""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


def cgroup2_controllers() -> set[str] | None:
    """The controllers of the cgroup v2 file system; None if none is mounted."""
    for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines():
        _, mount, kind, *_ = line.split()
        if kind == "cgroup2":
            return set((Path(mount) / "cgroup.controllers").read_text(encoding="utf-8").split())
    return None


CONDITIONS: dict[str, Callable[[], bool]] = {
    "always": lambda: True,
    "not-root": lambda: os.geteuid() != 0,
    "not-debian": lambda: shutil.which("dpkg-query") is None,
    "no-fuse": lambda: not os.access("/dev/fuse", os.R_OK | os.W_OK),
    "no-clang-format": lambda: shutil.which("clang-format") is None,
    "no-cgroup2": lambda: cgroup2_controllers() is None,
    "no-cgroup2-memory": lambda: "memory" not in (cgroup2_controllers() or set()),
}


class SkipListError(Exception):
    """A line of the list that cannot be understood."""


@dataclass(frozen=True)
class Line:
    """`tests` is a pattern of node ids (as of the shell), `reason` a regular expression."""

    tests: str
    condition: str
    reason: str

    def allows(self, nodeid: str, reason: str) -> bool:
        matches = fnmatch.fnmatchcase(nodeid, self.tests) and re.search(self.reason, reason) is not None
        return matches and CONDITIONS[self.condition]()


@dataclass(frozen=True)
class ExpectedSkips:
    """The list: `node id pattern | condition | reason`."""

    lines: list[Line]

    @classmethod
    def read(cls, path: Path) -> ExpectedSkips:
        lines = []
        for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if not text.strip() or text.startswith("#"):
                continue
            parts = [part.strip() for part in text.split(" | ")]
            if len(parts) != 3 or parts[1] not in CONDITIONS:
                known = ", ".join(sorted(CONDITIONS))
                raise SkipListError(f"{path}:{number}: `tests | condition | reason` expected, with a condition of {known}")
            lines.append(Line(*parts))
        return cls(lines)

    def allow(self, nodeid: str, reason: str) -> bool:
        """Whether a test may be skipped for `reason` here."""
        return any(line.allows(nodeid, reason) for line in self.lines)

    def without_effect(self, reasons: dict[str, str | None]) -> list[Line]:
        """Lines whose condition holds here and whose tests ran, none of which was skipped: test -> reason of its
        skip."""
        return [
            line
            for line in self.lines
            if CONDITIONS[line.condition]()
            and any(fnmatch.fnmatchcase(nodeid, line.tests) for nodeid in reasons)
            and not any(reason is not None and fnmatch.fnmatchcase(nodeid, line.tests) for nodeid, reason in reasons.items())
        ]
