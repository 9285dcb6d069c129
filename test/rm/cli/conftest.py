"""Fixtures of the tests of `elastic`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from cli_setup import Setup  # noqa: E402
from support.checks import expect  # noqa: E402


@pytest.fixture
def here(mpi: Path) -> Iterator[Setup]:
    with tempfile.TemporaryDirectory(prefix="elastic-cli-") as folder:
        here = Setup(str(mpi / "bin" / "elastic"), Path(folder))
        try:
            yield here
        finally:
            here.fake.close()
        left = sorted(path.name for path in Path(folder).glob("elastic-run-*"))
        expect(not left, f"left over: {left}")
