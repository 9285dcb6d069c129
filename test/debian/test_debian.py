"""A sample of Debian's programs that are linked to libmpich12, with our library instead."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from debian_programs import SAMPLE, SAMPLE_PACKAGES, SHOWN_LINES, Debian, Program, Runner, Unavailable, show  # noqa: E402

pytestmark = pytest.mark.xdist_group("debian")


@pytest.fixture(scope="module")
def runner(mpi: Path) -> Runner:
    try:
        return Runner(mpi, Debian(SAMPLE_PACKAGES))
    except Unavailable as problem:
        pytest.skip(f"Debian's packages cannot be downloaded: {problem}")


@pytest.mark.parametrize("program", SAMPLE, ids=lambda program: program.name)
def test_debian(program: Program, runner: Runner) -> None:
    result = runner.ours(program)
    if result.end != "done" or set(result.printed) != {"passed"}:
        pytest.fail("\n".join([show(result), *result.output.splitlines()[-SHOWN_LINES:]]), pytrace=False)
