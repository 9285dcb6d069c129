"""The programs of the conformance suite over real hosts, launched on two of them, or grown onto the second."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import test_conformance
from harness import testlist
from harness.job import Setting
from harness.testlist import Test
from hosttests import hostrun, programs
from testbed import command, hosts
from testbed.state import Cluster

LIST = Path(__file__).resolve().parent / "programs.list"
TESTS = LIST.parent.parent / "testlist"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "listed" not in metafunc.fixturenames:
        return
    rules = programs.read(LIST)
    found = []
    for test in testlist.read(TESTS, metafunc.config.option.seed):
        for placement in programs.placements(test):
            when = programs.when(test, placement, rules)
            if when != programs.ONE_HOST:
                found.append(pytest.param(test, placement, id=f"{test.name}-{placement}", marks=marks(test, when)))
    metafunc.parametrize(("listed", "placement"), found)


def marks(test: Test, when: str) -> list[Any]:
    return hostrun.marks(test.name, test.clauses, test.deadline_s, when == programs.FULL)


@pytest.fixture(scope="module")
def cluster(setting: Setting) -> Iterator[Cluster]:
    """One testbed for all programs of this worker."""
    if reason := hosts.impossible():
        pytest.skip(reason)
    folder = setting.folder / "cluster"
    yield command.up(folder, programs.HOSTS)
    command.down(folder)


def test_program(listed: Test, placement: str, setting: Setting, drive: Callable[..., None], cluster: Cluster) -> None:
    def start(folder: Path) -> programs.ProgramRun:
        run = programs.ProgramRun(programs.on_hosts(listed), setting, folder, shared=cluster)
        run.placement = placement
        return run

    drive(start, test_conformance.body)


def test_each_line_names_tests() -> None:
    """A line without effect is outdated."""
    pairs = [(test, placement) for test in testlist.read(TESTS, 0) for placement in programs.placements(test)]
    single = [programs.Rule(rule.when, (pattern,)) for rule in programs.read(LIST) for pattern in rule.patterns]
    assert [rule.patterns[0] for rule in single if not any(rule.holds(*pair) for pair in pairs)] == []
