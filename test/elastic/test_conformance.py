"""The conformance suite of the adaptation operations, process sets and dynamic processes: one test for each line of testlist."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harness import checks, scenarios, testlist
from harness import (  # noqa: F401  (these add their scenarios)
    dynproc,
    scenarios_adaptation,
    scenarios_command,
    scenarios_data,
    scenarios_environment,
    scenarios_epop,
    scenarios_psets,
)
from harness.build import sources
from harness.job import Setting, TestRun
from harness.testlist import Test

LIST = Path(__file__).resolve().parent / "testlist"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "listed" in metafunc.fixturenames:
        tests = testlist.read(LIST, metafunc.config.option.seed, metafunc.config.option.network)
        metafunc.parametrize("listed", [pytest.param(test, id=test.name, marks=marks(test)) for test in tests])


def marks(test: Test) -> list[Any]:
    found = [pytest.mark.clause(clause) for clause in test.clauses]
    found += [pytest.mark.timeout(4 * test.deadline_s + 120)]
    found += [pytest.mark.load_sensitive] if test.load_sensitive else []
    # They run as long as their adaptations take: two at once, whose processes poll, starve each other.
    found += [pytest.mark.xdist_group("converted")] if test.name.startswith("converted") else []
    return found + ([pytest.mark.slow] if test.full else [])


def body(run: TestRun) -> None:
    if not run.test.scenario:
        checks.ordinary(run)
        return
    name, *parts = run.test.scenario.split(":")
    scenarios.SCENARIOS[name](run, *parts)


def test_conformance(listed: Test, setting: Setting, drive: Callable[..., None]) -> None:
    drive(lambda folder: TestRun(listed, setting, folder), body)


def test_no_scenario_and_no_program_is_unused() -> None:
    """A list that has been cut off fails."""
    tests = testlist.read(LIST, 0)
    texts = "".join(path.read_text(encoding="utf-8") for path in LIST.parent.rglob("*.py")) + " ".join(test.scenario for test in tests)
    assert set(scenarios.SCENARIOS) == {test.scenario.split(":")[0] for test in tests if test.scenario}
    unused = sources(LIST.parent / "programs").keys() - {name for test in tests for name in (test.program, test.tool)}
    assert [name for name in sorted(unused) if not re.search(rf"\b{name}\b", texts)] == []


def test_every_clause_has_a_test() -> None:
    assert testlist.uncovered(testlist.read(LIST, 0)) == []
