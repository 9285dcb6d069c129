"""MPICH's own tests that quick.list names, with at most four processes each."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from suite import SHOWN_LINES, Entry, Suite, expected_failures, quick_entries  # noqa: E402

pytestmark = pytest.mark.mpich


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "entry" not in metafunc.fixturenames:
        return
    suite = Suite(metafunc.config.option.mpi)
    entries = quick_entries(suite) if suite.is_prepared() else []
    # Programs of one folder are compiled in that folder: one worker runs them.
    marked = [pytest.param(entry, id=entry.name, marks=pytest.mark.xdist_group(f"mpich-{entry.folder}")) for entry in entries]
    metafunc.parametrize("entry", marked or [pytest.param(None, id="suite")])


@pytest.fixture(scope="module")
def suite(mpi: Path) -> Suite:
    return Suite(mpi)


def test_mpich(entry: Entry | None, suite: Suite) -> None:
    if entry is None:
        pytest.fail(f"the suite is not prepared: test/mpich/suite.py --mpi {suite.prefix} --prepare", pytrace=False)
    result = suite.run([entry])[entry.name]
    known = expected_failures().get(f"{entry.folder}/{entry.program}")
    if result == "skipped":
        pytest.skip("MPICH's runtests skips it")
    if result == "failed" and known:
        pytest.xfail(f"fails with stock MPICH too: {known}")
    if result == "failed":
        pytest.fail("\n".join(suite.output.get(entry.name, [])[:SHOWN_LINES]) or "not reached", pytrace=False)
