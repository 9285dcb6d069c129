"""The option of the launcher's tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--reference", type=Path, metavar="MPIEXEC", help="a stock mpiexec, for the launcher's tests")
