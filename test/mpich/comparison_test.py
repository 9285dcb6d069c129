"""The comparison with a stock MPICH: the results that are a failure, and the tests that run again."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import suite  # noqa: E402
from suite import Comparison, Entry, Suite  # noqa: E402


class ScriptedSuite(Suite):
    """Has one list of results for each of its tests, and records the runs."""

    def __init__(self, prefix: Path, results: dict[str, str]):
        super().__init__(prefix)
        self.folder = prefix
        self.results = {name: iter(words.split()) for name, words in results.items()}
        self.runs: list[list[str]] = []
        (prefix / "bin").mkdir(parents=True, exist_ok=True)
        for program in ("mpiexec", "hydra_pmi_proxy"):
            (prefix / "bin" / program).touch()

    def run(self, entries: Iterable[Entry]) -> dict[str, str]:
        self.runs.append([entry.name for entry in entries])
        return {name: next(self.results[name]) for name in self.runs[-1]}


ENTRIES = [Entry("pt2pt", f"{name} 2", name) for name in ("a", "b")] + [Entry("coll", "c 4", "c")]


def compared(folder: Path, ours: dict[str, str], stock: dict[str, str]) -> tuple[Comparison, ScriptedSuite, ScriptedSuite]:
    suites = ScriptedSuite(folder / "ours", ours), ScriptedSuite(folder / "stock", stock)
    return Comparison(*suites, ENTRIES), *suites


@pytest.mark.parametrize(
    ("ours", "stock", "result"),
    [
        ("passed", "", "passed"),
        ("skipped", "skipped", "skipped"),
        ("failed", "failed", "passed"),
        ("failed failed failed", "passed passed passed", "failed"),
        ("failed failed failed", "failed passed failed", "passed"),
        ("failed failed passed", "passed passed passed", "passed"),
        ("skipped skipped skipped", "passed passed passed", "failed"),
        ("failed failed failed", "skipped skipped skipped", "passed"),
    ],
)
def test_what_stock_passes_and_ours_never_does_is_a_failure(ours: str, stock: str, result: str, tmp_path: Path) -> None:
    comparison, *_ = compared(tmp_path, {"c": ours}, {"c": stock})
    assert comparison.compare(ENTRIES[2])[0] == result


@pytest.mark.parametrize(("ours", "result"), [("failed", "passed"), ("passed", "failed")])
def test_a_wrong_test_must_fail(ours: str, result: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "wrong_tests", lambda: {"coll/c": "something else"})
    comparison, *_ = compared(tmp_path, {"c": ours}, {})
    assert comparison.compare(ENTRIES[2]) == (result, f"{ours}, but the test is wrong: something else")


def test_a_folder_runs_at_once_and_stock_what_does_not_pass(tmp_path: Path) -> None:
    results = {"a": "passed", "b": "skipped", "c": "passed"}
    comparison, ours, stock = compared(tmp_path, results, {"b": "skipped"})
    assert [comparison.compare(entry)[0] for entry in ENTRIES] == ["passed", "skipped", "passed"]
    assert ours.runs == [["a", "b"], ["c"]] and stock.runs == [["b"]]


def test_an_interrupted_comparison_continues(tmp_path: Path) -> None:
    comparison, *_ = compared(tmp_path, {"a": "passed", "b": "failed"}, {"b": "failed"})
    assert comparison.compare(ENTRIES[1])[0] == "passed"
    again, ours, stock = compared(tmp_path, {"c": "passed"}, {})
    assert [again.compare(entry)[0] for entry in ENTRIES] == ["passed", "passed", "passed"]
    assert ours.runs == [["c"]] and stock.runs == []
