"""Each fuzzer of a parser (libFuzzer), for FUZZ_SECONDS (10; with --full 30)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from unit_programs import Fuzzer, build, fuzzers  # noqa: E402

FUZZERS = fuzzers()
SLACK_S = 120


@pytest.fixture(scope="module")
def built() -> str:
    if not shutil.which("clang++"):
        return "clang++ is missing (Debian: clang libclang-rt-dev)"
    return build("fuzz")


@pytest.mark.fuzz
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", FUZZERS)
def test_fuzz(name: str, built: str, pytestconfig: pytest.Config) -> None:
    assert not built, built
    seconds = int(os.environ.get("FUZZ_SECONDS") or (30 if pytestconfig.option.full else 10))
    fuzzer: Fuzzer = FUZZERS[name]
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        words = [f"-max_total_time={seconds}", "-print_final_stats=1", f"-artifact_prefix={folder}/"]
        if fuzzer.seed:
            words.append(f"-seed_inputs={fuzzer.seed}")
        done = subprocess.run(
            [str(fuzzer.program), *words], cwd=folder, capture_output=True, text=True, errors="replace",
            timeout=seconds + SLACK_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-6000:]
        runs = [line for line in done.stderr.splitlines() if line.startswith("stat::number_of_executed_units")]
        assert runs and int(runs[0].split()[-1]) > 0, f"the fuzzer executed nothing\n{done.stderr[-2000:]}"
