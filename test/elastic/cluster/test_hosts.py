"""The conformance tests over real hosts, each a set of namespaces of this machine; some with a Slurm on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from harness.job import Setting, TestFailure
from harness.testlist import Test
from hosttests import (  # noqa: F401  each registers its cases
    back_pressure,
    backend_hosts,
    backend_slurm,
    backend_slurm_limits,
    backend_slurm_mix,
    cases,
    dynamic,
    early_ends,
    faults,
    hostrun,
    nested,
)
from hosttests.cases import Case
from hosttests.hostrun import HostRun
from testbed import hosts, slurm


def marks(case: Case) -> list[Any]:
    found = hostrun.marks(case.name, case.clauses, case.deadline_s, case.full)
    return [*found, pytest.mark.slurm] if case.slurm else found


@pytest.fixture(scope="session")
def impossible() -> str:
    """Why there can be no hosts here; empty if there can."""
    return hosts.impossible()


@pytest.fixture(scope="session", autouse=True)
def fault_table(setting: Setting, pytestconfig: Any) -> Iterator[None]:
    """Writes the outcome of each fault, as a table, beside the logs."""
    yield
    if table := faults.table(setting.folder):
        pytestconfig.option.logs.mkdir(parents=True, exist_ok=True)
        (pytestconfig.option.logs / "faults.md").write_text(table, encoding="utf-8")


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name, marks=marks(case)) for case in cases.CASES])
def test_hosts(case: Case, setting: Setting, drive: Callable[..., None], impossible: str) -> None:
    if impossible:
        pytest.skip(impossible)
    if case.slurm and (reason := slurm.impossible(case.accounting)):
        pytest.skip(reason)
    test = Test(case.name, case.clauses, 1, [], "cycle", [], deadline_s=case.deadline_s)

    def start(folder: Path) -> HostRun:
        return HostRun(test, setting, folder, case.nodes, case.slurm, case.accounting, case.cpus)

    try:
        drive(start, case.drive)
    except hosts.TestbedError as error:
        raise TestFailure(f"no hosts: {error}") from error
