"""The C++ unit tests, one test for each GoogleTest case: each program once, the cores under ASan with UBSan; with --full
the rest under ASan with UBSan as well, and the programs that have threads under TSan.

ELASTIC_UNIT_BUILT=plain runs all as plain programs, which are compiled sooner (`test/unit/build plain`).

The cases of one GoogleTest suite run in one process, for the ones that are selected.
"""

from __future__ import annotations

import functools
import os
import sys
from collections import defaultdict
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from unit_programs import FULL, PROGRAMS, QUICK, Program, build, built_already  # noqa: E402

selected: dict[tuple[Program, str], list[str]] = defaultdict(list)


def wanted(config: pytest.Config) -> tuple[list[str], list[Program]]:
    """Variants of test/unit/build, and the programs that run."""
    if config.option.full:
        os.environ.setdefault("SEEDS", "100")  # of elasticd's simulation (Program.environment)
        return ["quick", "full"], [*QUICK, *FULL]
    if built_already() == {"plain"}:
        return ["plain"], [Program("plain", title) for title in PROGRAMS]
    return ["quick"], list(QUICK)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" not in metafunc.fixturenames:
        return
    variants, programs = wanted(metafunc.config)
    if failure := build(*variants):
        metafunc.parametrize("program, case", [pytest.param(None, failure, id="compiles")])
        return
    cases = []
    for program in programs:
        for name in program.cases():
            group = pytest.mark.xdist_group(f"{program.variant}-{program.title}-{name.split('.')[0]}")
            cases.append(pytest.param(program, name, id=f"{program.variant}-{program.title}-{name}", marks=group))
    metafunc.parametrize("program, case", cases)


@functools.cache
def results(program: Program, suite: str) -> dict[str, tuple[str, str]]:
    return program.run(selected[program, suite])


@pytest.fixture(scope="module", autouse=True)
def note_selected(request: pytest.FixtureRequest) -> None:
    for item in request.session.items:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        if isinstance(parameters.get("program"), Program) and "case" in parameters:
            selected[parameters["program"], parameters["case"].split(".")[0]].append(parameters["case"])


def test_unit(program: Program | None, case: str) -> None:
    if program is None:
        pytest.fail(case, pytrace=False)
    result, text = results(program, case.split(".")[0])[case]
    if result == "skipped":
        pytest.skip(text)
    if result != "passed":
        again = f"{program.path} --gtest_filter={case}"
        pytest.fail(f"{result}\n{text}\nagain: {again}", pytrace=False)
