"""Debian's programs that are linked to libmpich12, with our library instead: a sample; with --compare all, beside Debian's MPI."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from debian_programs import (  # noqa: E402
    PACKAGES,
    SAMPLE,
    SAMPLE_PACKAGES,
    SHOWN_LINES,
    Debian,
    Program,
    Runner,
    Unavailable,
    all_programs,
    is_worse,
    show,
)

pytestmark = pytest.mark.xdist_group("debian")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "compared" not in metafunc.fixturenames:
        return
    programs: list[Program | str] = ["not compared"]
    if metafunc.config.option.compare:
        try:
            programs = list(all_programs(Debian(PACKAGES).libraries))
        except Unavailable as problem:
            programs = [str(problem)]
    metafunc.parametrize("compared", programs, ids=lambda program: getattr(program, "name", "packages"))


@pytest.fixture(scope="module")
def runner(mpi: Path, pytestconfig: pytest.Config) -> Runner:
    try:
        return Runner(mpi, Debian(PACKAGES if pytestconfig.option.compare else SAMPLE_PACKAGES))
    except Unavailable as problem:
        pytest.skip(f"Debian's packages cannot be downloaded: {problem}")


@pytest.mark.parametrize("program", SAMPLE, ids=lambda program: program.name)
def test_debian(program: Program, runner: Runner) -> None:
    result = runner.ours(program)
    if result.end != "done" or set(result.printed) != {"passed"}:
        pytest.fail("\n".join([show(result), *result.output.splitlines()[-SHOWN_LINES:]]), pytrace=False)


@pytest.mark.compare
@pytest.mark.timeout(4 * 3600)
def test_no_worse_than_debian(compared: Program | str, request: pytest.FixtureRequest) -> None:
    if isinstance(compared, str):
        pytest.fail(f"Debian's packages cannot be downloaded: {compared}", pytrace=False)
    runner: Runner = request.getfixturevalue("runner")
    theirs = runner.theirs(compared)
    if theirs.end != "done":
        pytest.skip(f"with Debian's own MPI: {theirs.end}")
    ours = runner.ours(compared)
    if is_worse(ours, theirs):
        story = f"{show(ours)}; Debian's: {show(theirs)}"
        pytest.fail("\n".join([story, *ours.output.splitlines()[-SHOWN_LINES:]]), pytrace=False)
