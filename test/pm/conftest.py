"""Fixtures of the tests of mpiexec."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from launcher import HERE, Bench


@pytest.fixture(scope="session")
def process(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program test_process, compiled."""
    program = tmp_path_factory.mktemp("pm") / "test_process"
    include = HERE.parents[1] / "src" / "pmi" / "include"
    flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{include}"]
    subprocess.run(["cc", *flags, str(HERE / "test_process.c"), "-o", str(program)], check=True)
    return program


@pytest.fixture
def bench(mpi: Path, process: Path, pytestconfig: Any) -> Iterator[Bench]:
    folder = Path(tempfile.mkdtemp(prefix="pm-"))  # short: it holds sockets
    made = Bench(mpi / "bin" / "mpiexec", pytestconfig.option.reference, process, folder)
    try:
        yield made
    finally:
        made.close()
        print(f"last command: {' '.join(made.command)}")  # pytest shows it where the test has failed
        shutil.rmtree(folder, ignore_errors=True)
