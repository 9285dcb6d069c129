"""elasticd as it is: a real daemon with a state directory of its own, real jobs."""

from __future__ import annotations

import importlib
import inspect
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from daemon_under_test import Bench, Failure, find_programs  # noqa: E402

MODULES = [importlib.import_module(path.stem) for path in sorted(HERE.glob("*_tests.py"))]


def functions_of(module: ModuleType) -> list[Callable[[Bench], None]]:
    """Its functions `name(bench: Bench) -> None`."""
    own = [each for each in vars(module).values() if inspect.isfunction(each) and each.__module__ == module.__name__]
    alone = [each for each in own if list(inspect.signature(each).parameters) == ["bench"]]
    assert all(each.__annotations__.keys() == {"bench", "return"} for each in alone), f"{module.__name__}: annotate all"
    return [each for each in alone if each.__annotations__["return"] == "None"]


ALL = [test for module in MODULES for test in functions_of(module)]
# These measure the speed of programs, which load of the machine changes.
LOAD_SENSITIVE = {"cores_go_to_who_can_use_them", "submissions_are_fast"}


@pytest.fixture
def bench(mpi: Path, pytestconfig: Any) -> Iterator[Bench]:
    folder = Path(tempfile.mkdtemp(prefix="rm-"))  # short: it holds sockets
    option = pytestconfig.option
    made = Bench(find_programs(mpi / "bin", mpi), folder, option.full, option.seed, option.patience)
    try:
        yield made
    finally:
        print(made.logs())  # pytest shows it where the test has failed
        made.clean()
        shutil.rmtree(folder, ignore_errors=True)


# These take up to half an hour if ELASTIC_ATTACK or ELASTIC_HISTORY is "long".
LONG_S = {"an_unprivileged_user_attacks_with_all_there_is": 3600, "long_history_holds_up_nobody": 3600}


def marks(name: str) -> list[Any]:
    found = [pytest.mark.load_sensitive] if name in LOAD_SENSITIVE else []
    return found + ([pytest.mark.timeout(LONG_S[name])] if name in LONG_S else [])


@pytest.mark.parametrize("test", [pytest.param(test, id=test.__name__, marks=marks(test.__name__)) for test in ALL])
def test_elasticd(test: Any, bench: Bench) -> None:
    try:
        test(bench)
        bench.finish()
    except Failure as failure:
        raise Failure(f"{failure}\nagain: --seed {bench.seed} -k {test.__name__}") from failure
