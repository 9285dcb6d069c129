"""The common part of the tests of programs: the installation, its compiled programs, and the run of one test."""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "cluster"))
from harness.build import Programs  # noqa: E402
from harness.job import LAST_LINES, Setting, Skip, TestFailure, TestRun  # noqa: E402
from support.folders import BUILD  # noqa: E402


@pytest.fixture(scope="session")
def setting(mpi: Path, pytestconfig: Any) -> Iterator[Setting]:
    option = pytestconfig.option
    name = hashlib.sha256(str(mpi).encode()).hexdigest()[:12]
    programs = Programs.of(mpi, HERE / "programs", BUILD / "test-programs" / name)
    # Not below pytest's folder, which nobody else may enter: tests have other users.  Short: it holds sockets.
    folder = Path(tempfile.mkdtemp(prefix="et-"))
    yield Setting(mpi, programs, folder, option.seed, option.stock_mpiexec, patience_factor=option.patience)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def drive(setting: Setting, request: pytest.FixtureRequest) -> Callable[..., None]:
    """Runs one test: `drive(start, body)`, where start() makes its TestRun; checks that nothing is left, writes a log
    of a failure."""

    def run_one(start: Callable[[Path], TestRun], body: Callable[[Any], None]) -> None:
        folder = setting.folder / f"t{sum(1 for _ in setting.folder.iterdir()) + 1}"
        run = start(folder)
        failure = ""
        try:
            body(run)
        except TestFailure as error:
            failure = str(error)
        except Skip:
            finish(run, "", request)
            raise
        except BaseException:
            run.leftovers()
            raise
        finish(run, failure, request)

    return run_one


def finish(run: TestRun, failure: str, request: pytest.FixtureRequest) -> None:
    """Ends the processes of a test, and fails it if it has failed or left something."""
    left = run.leftovers()
    reasons = ([failure] if failure else []) + left[:5]
    log = run.log() if reasons else ""
    run.remove()
    if not reasons:
        return
    option = request.config.option
    option.logs.mkdir(parents=True, exist_ok=True)
    path = option.logs / f"{run.test.name}.log"
    path.write_text("; ".join(reasons) + "\n" + log, encoding="utf-8")
    tail = "\n".join(log.splitlines()[-LAST_LINES:])
    again = f"pytest '{request.node.nodeid}' --mpi {option.mpi} --seed {option.seed}"
    pytest.fail("\n".join(["; ".join(reasons), tail, f"log: {path}", f"again: {again}"]), pytrace=False)
