"""--random-order: all tests, in an order that the seed repeats, files in one piece."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

from support.folders import ROOT


def collected(*options: str) -> list[str]:
    words = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "test/support/skips_test.py",
             "test/clauses", "test/pm/test_command_line.py", *options]  # fmt: skip
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_a_seed_repeats_the_order() -> None:
    listed, drawn = collected(), collected("--random-order", "--seed", "7")
    assert drawn == collected("--random-order", "--seed", "7")
    assert drawn != listed and sorted(drawn) == sorted(listed)
    assert collected("--random-order", "--seed", "8") != drawn


def test_a_file_stays_in_one_piece() -> None:
    files = [name.split("::")[0] for name in collected("--random-order", "--seed", "7")]
    assert len(list(itertools.groupby(files))) == len(set(files)) > 1
