"""Each Python program of the repository starts alone: without pytest, which adds folders to the module path."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def programs() -> list[str]:
    """Programs with options: tracked files that begin with #! and use argparse."""
    tracked = subprocess.run(["git", "ls-files", "maint", "test", "bench"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = tracked.stdout.split() or [str(path.relative_to(ROOT)) for path in (ROOT / "maint").iterdir()]
    return sorted(name for name in names if is_program(ROOT / name))


def is_program(path: Path) -> bool:
    if not path.is_file() or not os.access(path, os.X_OK):
        return False
    text = path.read_bytes()
    has_options = b"ArgumentParser(" in text or b"from bench.harness.main import main" in text
    return text.startswith(b"#!") and b"python3" in text.split(b"\n", 1)[0] and has_options


def test_programs_are_found() -> None:
    assert {"maint/bench", "maint/evaluate", "maint/mutate"} <= set(programs())


@pytest.mark.parametrize("name", programs())
def test_program_prints_its_options(name: str, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    result = subprocess.run([ROOT / name, "--help"], cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, check=False)  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert result.stdout.lower().startswith("usage:"), result.stdout
    assert not list(tmp_path.iterdir()), "it has written files"


@pytest.mark.parametrize("command", ["build", "demo", "test", "bench", "evaluate", "cluster"])
def test_help_of_a_command_builds_nothing(command: str, tmp_path: Path) -> None:
    shutil.copy(ROOT / "run", tmp_path / "run")
    for name in ("maint", "bench"):
        (tmp_path / name).symlink_to(ROOT / name)
    result = subprocess.run([tmp_path / "run", command, "--help"], cwd=tmp_path, stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, check=False)  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert result.stdout.lower().startswith("usage:"), result.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"run", "maint", "bench"}


BENCHMARKS = sorted(path for path in (ROOT / "bench").glob("**/*.c*") if path.suffix in (".c", ".cpp"))


@pytest.mark.parametrize("source", BENCHMARKS, ids=lambda path: path.name)
def test_benchmark_compiles(source: Path, mpi: Path, tmp_path: Path) -> None:
    """`./run test` runs no benchmark: each depends on names of the code that it measures."""
    compiler = ["mpicxx", "-std=c++20"] if source.suffix == ".cpp" else ["mpicc", "-std=gnu11"]
    folders = ["bench", "src", "src/adapt_data", "src/include", "src/pmi/include", "src/mpi/adapt", "src/pm/hydra/elastic"]
    command: list[str | Path] = [mpi / "bin" / compiler[0], compiler[1], "-fsyntax-only", "-D_GNU_SOURCE"]
    subprocess.run([ROOT / "maint/generate-messages", tmp_path], check=True)
    result = subprocess.run([*command, f"-I{tmp_path}", *(f"-I{ROOT / folder}" for folder in folders), source],
                            capture_output=True, text=True, check=False)  # fmt: skip
    assert result.returncode == 0, result.stderr
