"""The record: figures come from the results alone, and text around the generated part stays."""

from __future__ import annotations

import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast
from xml.etree import ElementTree

from . import data, record
from .bars import BARS
from .bench import Amount, Bench
from .launch import Mpi, RunFailure
from .record import BEGIN, END, NOTHING, Files, RecordError
from .report import Report, statement
from .result import Case, Progress, value_case

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = f"# Title\n\nwords before\n\n{BEGIN}old figures\n{END}\nwords after\n"
MACHINE = {"date": "2026-11-28 12:00 UTC", "processor": "P", "cores": 2, "memory_gib": 4.0, "system": "Linux 6", "load_at_start": 0.1}


def case(key: str, name: str, value: float, low: float, high: float) -> Case:
    return Case(BARS[key], name, "µs", [value, value], [1.0], value, low, high)


def report(*cases: Case) -> Report:
    bench = Bench(cast(Mpi, None), None, Amount.FULL, Path(), Progress())
    return Report(bench, "maint/bench", cases=list(cases), machine=MACHINE)


CASES = (
    case("stock", "latency", 1.01, 1.0, 1.015),
    case("stock", "barrier", 1.04, 1.03, 1.05),
    case("adapted", "rate", 1.06, 1.01, 1.1),
    value_case("probe", "1 process", [8.0, 9.0, 10.0], "ns"),
)


class RecordTest(unittest.TestCase):
    def test_a_result_equals_the_report(self) -> None:
        results = record.results_of(report(*CASES), "abc")
        words = {"holds": "holds", "does not hold": "DOES NOT HOLD", "undecided": "UNDECIDED"}
        for key in ("stock", "adapted", "probe"):
            printed = statement(BARS[key], [c for c in CASES if c.bar.key == key])
            self.assertTrue(printed.startswith(words[record.outcome(BARS[key], results[key]["cases"])]), printed)

    def test_the_page_has_the_figures_and_keeps_its_text(self) -> None:
        page = record.with_results(PAGE, record.results_of(report(*CASES), "abcd1234+"))
        self.assertTrue(page.startswith("# Title\n\nwords before\n\n") and page.endswith("\nwords after\n"))
        self.assertNotIn("old figures", page)
        for words in ("1 of 2 cases; worst barrier: 1.04 (1.03 … 1.05)", "**does not hold**", "9 ns (8 … 10)",
                      "2026-11-28, `abcd1234+`, full", "- 2026-11-28: P, 2 processors, 4.0 GiB, Linux 6; load at the start 0.1"):  # fmt: skip
            self.assertIn(words, page)

    def test_what_is_written_is_made_again_from_the_results(self) -> None:
        with TemporaryDirectory() as folder:
            files = Files(Path(folder))
            files.page.write_text(PAGE, encoding="utf-8")
            record.write(files, record.results_of(report(*CASES), "abc"))
            first = [path.read_text(encoding="utf-8") for path in (files.results, files.page, files.plot)]
            record.write(files, record.read(files))
            self.assertEqual(first, [path.read_text(encoding="utf-8") for path in (files.results, files.page, files.plot)])
            circles = ElementTree.fromstring(first[2]).iter("{http://www.w3.org/2000/svg}circle")
            self.assertEqual(len(list(circles)), 3)

    def test_targets_that_were_not_measured_keep_their_figures(self) -> None:
        old = record.results_of(report(*CASES), "old")
        new = record.results_of(report(case("stock", "latency", 1.0, 0.99, 1.01)), "new")
        merged = record.merge(old | {"no_target_any_more": old["stock"]}, new)
        self.assertEqual({key: entry["commit"] for key, entry in merged.items()}, {"stock": "new", "adapted": "old", "probe": "old"})
        self.assertEqual(len(merged["stock"]["cases"]), 1)

    def test_a_page_without_a_generated_part_is_an_error(self) -> None:
        with self.assertRaises(RecordError):
            record.with_results(PAGE.replace(END, ""), {})

    def test_the_page_of_this_repository(self) -> None:
        """Nobody has typed a figure into it."""
        files = Files(REPOSITORY / "doc" / "record")
        page = files.page.read_text(encoding="utf-8")
        results = record.read(files)
        self.assertEqual(page, record.with_results(page, results))
        if results:
            self.assertEqual(files.plot.read_text(encoding="utf-8"), record.plot(results))
        else:
            self.assertIn(BEGIN + NOTHING, page)


class CompileTest(unittest.TestCase):
    def test_a_program_that_does_not_compile_is_a_failure(self) -> None:
        with TemporaryDirectory() as folder, self.assertRaises(RunFailure):
            data._compile(["false"], Path(folder) / "log")


if __name__ == "__main__":
    unittest.main()
