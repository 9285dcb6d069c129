"""`maint/evaluate` compares all policies that elasticsim has."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "maint"))
from evaluation import record  # noqa: E402


def draws_of(turnaround_ms: list[int], rigid_wait_ms: int | None) -> list[dict]:
    rigid = {} if rigid_wait_ms is None else {"rigid": {"mean_wait_ms": rigid_wait_ms, "p99_wait_ms": rigid_wait_ms}}
    return [
        {"mean_turnaround_ms": each, "mean_bounded_slowdown": 2.0, "wasted_core_hours": 1000, "adaptations": 0, "classes": rigid}
        for each in turnaround_ms
    ]


def test_the_page_of_tables_names_losses() -> None:
    """A difference counts as a loss only if it is larger than its interval."""
    hour = 3600000
    results = {
        ("T-window", 0.5, "measured"): draws_of([2 * hour, 2 * hour, 2 * hour], 2 * hour),
        ("T-window", 0.5, "fill"): draws_of([hour, hour, hour], hour),
        ("T-window", 0.5, "easy"): draws_of([hour, 2 * hour, 3 * hour], 2 * hour),
        ("T-window", 0.5, "oracle"): draws_of([hour, hour, hour], hour),
    }
    text = record.page(results, ["T-window"], [0.5], ["easy", "fill", "measured", "oracle"])
    losses = text.split("## Where `measured` is worse")[1].split("## Means")[0]
    assert "| Mean turnaround | T | 50% | fill | +100.0 ± 0.0 |" in losses
    assert "| Wait of rigid jobs, mean | T | 50% | fill | +100.0 ± 0.0 |" in losses
    assert "easy" not in losses and "| oracle" not in losses
    assert "| T | 50% | measured | 2 | 2 | 2 | 2 | 1 | 0 |" in text, text
    assert "| T | 50% | easy | 2.0 ± 2.5 |" in text, text


def test_the_page_of_tables_without_rigid_jobs() -> None:
    results = {("T", 1.0, policy): draws_of([1, 2], None) for policy in ("easy", "measured")}
    text = record.page(results, ["T"], [1.0], ["easy", "measured"])
    assert "## Where `measured` is worse than another policy" in text and "\nNone.\n" in text, text
    assert "| T | 100% | all the same |" in text, text


def test_the_page_of_tables_states_what_was_left_out() -> None:
    """A trace may lack policies; its other tables are those of the rest."""
    results = {("T", 0.5, policy): draws_of([1, 2], 1) for policy in ("easy", "measured")}
    results |= {("U", 0.5, policy): [draw | {"date": "2026-01-02"} for draw in draws_of([1, 2], 1)] for policy in ("measured",)}
    text = record.page(results, ["T", "U"], [0.5], ["easy", "measured"])
    assert "| T | unknown | none |\n| U | 2026-01-02 | easy |" in text, text
    assert "| T | 50% | +0.0 ± 0.0 |" in text and "| U | 50% | +" not in text, text


@pytest.mark.parametrize("options", [["--record"], ["--record", "--traces", ".", "--policies", "easy"]])
def test_record_needs_traces_and_its_base(options: list[str]) -> None:
    result = subprocess.run([str(ROOT / "maint" / "evaluate"), "--elasticsim", "none", *options], capture_output=True, text=True, check=False)
    assert result.returncode == 2 and "--record needs" in result.stderr, result.stderr


def test_mixtures_need_an_installation() -> None:
    command = [str(ROOT / "maint" / "evaluate"), "--elasticsim", "none", "--mixtures", "1"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2 and "--mixtures needs" in result.stderr, result.stderr


@pytest.mark.slow
def test_a_mixture_comes_to_its_best_sizes(mpi: Path, tmp_path: Path) -> None:
    """Two programs that scale as far as the machine: each gets half of it.  (mixtures.py has the bounds.)"""
    command = [str(ROOT / "maint" / "evaluate"), "--elasticsim", "none", "--quick", "--live", str(mpi), "--mixtures", "1", "--seed", "2",
               "--output", str(tmp_path)]  # fmt: skip
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "1 of 1 mixtures are good." in (tmp_path / "mixtures.md").read_text(), result.stdout


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
