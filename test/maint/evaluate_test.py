"""`maint/evaluate` compares all policies that elasticsim has."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_all_policies_are_compared(mpi: Path, tmp_path: Path) -> None:
    elasticsim = str(mpi / "bin" / "elasticsim")
    command = [str(ROOT / "maint" / "evaluate"), "--elasticsim", elasticsim, "--quick", "--draws", "2", "--jobs", "30",
               "--shares", "50", "--output", str(tmp_path)]  # fmt: skip
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    draws = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    refused = subprocess.run([elasticsim, "x.swf", "--nodes", "1", "--policy", "none"], capture_output=True, text=True, check=False)
    known = refused.stderr.partition("{")[2].partition("}")[0].split(",")
    assert "measured" in known and "average-steal-agreement" in known, refused.stderr
    # `fcfs` alone is left out: `easy` is never worse.
    assert {draw["setting"]["policy"].partition(":")[0] for draw in draws} == set(known) - {"fcfs"}
    assert all(len([1 for draw in draws if draw["setting"] == other["setting"]]) == 2 for other in draws)
