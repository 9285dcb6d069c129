"""The conformance suite of the adaptation operations, process sets and dynamic processes: one test for each line of testlist."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harness import checks, scenarios, testlist
from harness import dynproc as _  # noqa: F401  (adds its scenarios)
from harness.job import Setting, TestRun
from harness.testlist import Test

LIST = Path(__file__).resolve().parent / "testlist"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "listed" in metafunc.fixturenames:
        tests = testlist.read(LIST, metafunc.config.option.seed)
        metafunc.parametrize("listed", [pytest.param(test, id=test.name, marks=marks(test)) for test in tests])


def marks(test: Test) -> list[Any]:
    found = [pytest.mark.clause(clause) for clause in test.clauses]
    found += [pytest.mark.timeout(4 * test.deadline_s + 120)]
    found += [pytest.mark.load_sensitive] if test.load_sensitive else []
    return found + ([pytest.mark.slow] if test.full else [])


def body(run: TestRun) -> None:
    if not run.test.scenario:
        checks.ordinary(run)
        return
    name, *parts = run.test.scenario.split(":")
    scenarios.SCENARIOS[name](run, *parts)


def test_conformance(listed: Test, setting: Setting, drive: Callable[..., None]) -> None:
    drive(lambda folder: TestRun(listed, setting, folder), body)


def test_every_clause_has_a_test() -> None:
    assert testlist.uncovered(testlist.read(LIST, 0)) == []
