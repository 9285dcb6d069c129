"""elasticd as it is: a real daemon with a state directory of its own, real jobs."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import adaptation_kill_tests  # noqa: E402
import attack_tests  # noqa: E402
import daemon_tests  # noqa: E402
import history_tests  # noqa: E402
import hostile_tests  # noqa: E402
import malleable_tests  # noqa: E402
import names_tests  # noqa: E402
import performance_tests  # noqa: E402
import places_tests  # noqa: E402
import restart_tests  # noqa: E402
import session_tests  # noqa: E402
import slurm_tests  # noqa: E402
import survival_tests  # noqa: E402
import why_tests  # noqa: E402
import wish_tests  # noqa: E402
from daemon_under_test import Bench, Failure, find_programs  # noqa: E402

ALL = [
    *daemon_tests.TESTS, *wish_tests.TESTS, *restart_tests.TESTS, *hostile_tests.TESTS, *malleable_tests.TESTS,
    *performance_tests.TESTS, *why_tests.TESTS, *adaptation_kill_tests.TESTS, *session_tests.TESTS,
    *names_tests.TESTS, *places_tests.TESTS, *history_tests.TESTS, *survival_tests.TESTS, *attack_tests.TESTS,
    *slurm_tests.TESTS,
]  # fmt: skip
# These measure the speed of programs, which load of the machine changes.
LOAD_SENSITIVE = {"cores_go_to_who_can_use_them", "submissions_are_fast"}


@pytest.fixture
def bench(mpi: Path, pytestconfig: Any) -> Iterator[Bench]:
    folder = Path(tempfile.mkdtemp(prefix="rm-"))  # short: it holds sockets
    made = Bench(find_programs(mpi / "bin", mpi), folder, pytestconfig.option.full, pytestconfig.option.seed)
    try:
        yield made
    finally:
        print(made.logs())  # pytest shows it where the test has failed
        made.clean()
        shutil.rmtree(folder, ignore_errors=True)


def marks(name: str) -> list[Any]:
    return [pytest.mark.load_sensitive] if name in LOAD_SENSITIVE else []


@pytest.mark.parametrize("test", [pytest.param(test, id=test.__name__, marks=marks(test.__name__)) for test in ALL])
def test_elasticd(test: Any, bench: Bench) -> None:
    try:
        test(bench)
        bench.finish()
    except Failure as failure:
        raise Failure(f"{failure}\nagain: --seed {bench.seed} -k {test.__name__}") from failure
