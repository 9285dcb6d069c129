"""Cycles of C and C++ files that include each other.  A header and the source of the same name are one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

TESTS = ("_test.cpp", "_fuzz.cpp", "_fixture.h")
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.M)


def included_file(name: str, header: str, files: Mapping[str, str]) -> str | None:
    """The file that `name` includes by `header`: beside it, else the only one whose path ends so."""
    beside = os.path.normpath(os.path.join(os.path.dirname(name), header))
    if beside in files:
        return beside
    found = [other for other in files if other.endswith(f"/{header}")]
    return found[0] if len(found) == 1 else None


def graph(files: Mapping[str, str]) -> dict[str, set[str]]:
    """Names without suffix, and those that each includes."""
    found: dict[str, set[str]] = {}
    for name, text in files.items():
        included = found.setdefault(os.path.splitext(name)[0], set())
        for header in INCLUDE.findall(text):
            if other := included_file(name, header, files):
                included.add(os.path.splitext(other)[0])
    return found


def cycles(files: Mapping[str, str]) -> list[list[str]]:
    """The sets of files, without suffix, each of which includes all others, over any number of steps (Tarjan 1972)."""
    edges = graph(files)
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        number[name] = lowest[name] = len(number)
        stack.append(name)
        for other in sorted(edges[name]):
            if other not in number:
                visit(other)
            if other in stack:
                lowest[name] = min(lowest[name], lowest[other])
        if lowest[name] == number[name]:
            cycle = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            found.extend([sorted(cycle)] if len(cycle) > 1 else [])

    for name in sorted(edges):
        if name not in number:
            visit(name)
    return found


def larger_than(most: int, files: Mapping[str, str]) -> Iterator[str]:
    """A line for each cycle of more files, tests left out."""
    sources = {name: text for name, text in files.items() if not name.endswith(TESTS)}
    for cycle in cycles(sources):
        if len(cycle) > most:
            yield f"{len(cycle)} files include each other: {' '.join(cycle)}"
