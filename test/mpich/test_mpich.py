"""MPICH's own tests: those of quick.list, with at most four processes each; with --compare all, beside a stock MPICH.

Stock's waiting processes never yield, which makes its suite three times as long on few cores: it runs the tests that do
not pass with ours.  Results are stored by the sum of the library, so that an interrupted comparison continues.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from suite import SHOWN_LINES, Comparison, Entry, Suite, quick_entries, wrong_tests  # noqa: E402

pytestmark = pytest.mark.mpich


def every_entry(suite: Suite) -> list[Entry]:
    return [entry for folder in suite.folders() for entry in suite.entries(folder)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    config = metafunc.config
    for name, wanted, choose in (("entry", True, quick_entries), ("compared", config.option.compare, every_entry)):
        if name not in metafunc.fixturenames:
            continue
        suite = Suite(config.option.mpi)
        entries = choose(suite) if wanted and suite.is_prepared() else []
        # Programs of one folder are compiled in that folder: one worker runs them.
        marked = [pytest.param(entry, id=entry.name, marks=pytest.mark.xdist_group(f"mpich-{entry.folder}")) for entry in entries]
        metafunc.parametrize(name, marked or [pytest.param(None, id="suite")])


@pytest.fixture(scope="module")
def suite(mpi: Path) -> Suite:
    return Suite(mpi)


@pytest.fixture(scope="module")
def comparison(suite: Suite, request: pytest.FixtureRequest) -> Comparison:
    stock = request.config.option.stock
    if not (stock / "bin" / "mpiexec").exists():
        pytest.fail(f"there is no stock MPICH in {stock}: maint/build --stock --prefix {stock}", pytrace=False)
    other = Suite(stock.resolve())
    other.prepare()
    parameters = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    return Comparison(suite, other, [each["compared"] for each in parameters if each.get("compared")])


def not_prepared(suite: Suite) -> None:
    pytest.fail(f"the suite is not prepared: test/mpich/suite.py --mpi {suite.prefix}", pytrace=False)


def test_mpich(entry: Entry | None, suite: Suite) -> None:
    if entry is None:
        return not_prepared(suite)
    result = suite.run([entry])[entry.name]
    right = wrong_tests().get(f"{entry.folder}/{entry.program}")
    if result == "skipped":
        pytest.skip("MPICH's runtests skips it")
    if right and result == "passed":
        pytest.fail(f"passes, but the test is wrong: {right}", pytrace=False)
    if right:
        pytest.xfail(f"the test is wrong: {right}")
    if result == "failed":
        pytest.fail("\n".join(suite.output.get(entry.name, [])[:SHOWN_LINES]) or "not reached", pytrace=False)


@pytest.mark.compare
@pytest.mark.timeout(4 * 3600)  # the first test of a folder runs them all
def test_no_worse_than_stock(compared: Entry | None, suite: Suite, comparison: Comparison) -> None:
    if compared is None:
        return not_prepared(suite)
    result, story = comparison.compare(compared)
    print(story)
    if result == "skipped":
        pytest.skip("MPICH's runtests skips it on both")
    if result == "failed":
        pytest.fail("\n".join([story, *suite.output.get(compared.name, [])[:SHOWN_LINES]]), pytrace=False)
