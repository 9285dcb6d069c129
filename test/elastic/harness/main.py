"""Command line, order of the tests and report."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from . import build, checks, processes, scenarios, testlist
from . import dynproc as _  # noqa: F401  (adds its scenarios)
from .job import LAST_LINES, Setting, Skip, TestFailure, TestRun
from .testlist import Test

HERE = Path(__file__).resolve().parent.parent


@dataclass
class Result:
    """How a test ended."""

    test: Test
    outcome: str  # ok, not ok, skip
    seconds: float
    why: str = ""
    log: str = ""


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="test/elastic/run",
        description="Runs the conformance suite of the adaptation operations against an"
        " installed Elastic MPICH.",
    )
    parser.add_argument("--mpi", type=Path, metavar="PREFIX", help="where it is installed")
    parser.add_argument("-k", dest="pattern", metavar="PATTERN", help="only tests whose name fits")
    parser.add_argument(
        "--clause", metavar="P3", help="only tests of a clause of the specification"
    )
    parser.add_argument("--full", action="store_true", help="the long tests as well")
    parser.add_argument("--seed", type=int, help="for schedules and pauses that are drawn")
    parser.add_argument("--list", action="store_true", help="show tests and clauses, run nothing")
    parser.add_argument("--jobs", type=int, default=1, help="tests at the same time (default 1)")
    parser.add_argument("--keep", action="store_true", help="keep programs and working folders")
    parser.add_argument("--logs", type=Path, help="where logs of failed tests go")
    parser.add_argument("--stock-mpiexec", type=Path, help="a launcher without the extension")
    parser.add_argument(
        "--patience", type=float, default=1.0, help="factor on all deadlines (default 1)"
    )
    options = parser.parse_args(words)
    if options.mpi is None and not options.list:
        parser.error("--mpi PREFIX is needed")
    if options.jobs < 1:
        parser.error("--jobs must be at least 1")
    return options


def select(tests: list[Test], options: argparse.Namespace) -> list[Test]:
    wanted = tests
    if options.pattern:
        wanted = [test for test in wanted if re.search(options.pattern, test.name)]
    if options.clause:
        wanted = [test for test in wanted if options.clause.upper() in test.clauses]
    if not options.full and not options.list:
        wanted = [test for test in wanted if not test.full]
    return wanted


def show_list(tests: list[Test], every: list[Test]) -> int:
    width = max((len(test.name) for test in tests), default=1)
    for test in tests:
        full = " (full)" if test.full else ""
        print(f"{test.name:{width}}  {' '.join(test.clauses)}{full}")
    missing = testlist.uncovered(every)
    print(f"{len(tests)} tests, {len(testlist.CLAUSES)} clauses")
    print("clauses without a test: " + (" ".join(missing) or "none"))
    return 1 if missing else 0


def _rerun(options: argparse.Namespace, test: Test, seed: int) -> str:
    command = [sys.argv[0], "--mpi", str(options.mpi), "-k", f"^{test.name}$", "--seed", str(seed)]
    if test.full:
        command.append("--full")
    if options.stock_mpiexec:
        command += ["--stock-mpiexec", str(options.stock_mpiexec)]
    return shlex.join(command)


class Runner:
    """Runs tests; every result is printed as it comes, in the order in which tests end."""

    def __init__(self, setting: Setting, options: argparse.Namespace, count: int) -> None:
        self.setting = setting
        self.options = options
        self.count = count
        self.results: list[Result] = []
        self.lock = threading.Lock()
        self.folders = 0
        self.logs: Path | None = options.logs

    def _log_folder(self) -> Path:
        if self.logs is None:
            self.logs = Path(tempfile.mkdtemp(prefix="elastic-test-logs-"))
        self.logs.mkdir(parents=True, exist_ok=True)
        return self.logs

    def _drive(self, run: TestRun) -> None:
        if not run.test.scenario:
            checks.ordinary(run)
            return
        name, *parts = run.test.scenario.split(":")
        drive: Callable[..., None] = scenarios.SCENARIOS[name]
        drive(run, *parts)

    def one(self, test: Test) -> None:
        with self.lock:
            self.folders += 1
            folder = self.setting.folder / f"t{self.folders}"
        run = TestRun(test, self.setting, folder)
        outcome, why = "ok", ""
        try:
            self._drive(run)
        except Skip as skip:
            outcome, why = "skip", str(skip)
        except TestFailure as failure:
            outcome, why = "not ok", str(failure)
        except Exception as error:  # a bug of the harness must not hide the other tests
            outcome, why = "not ok", f"harness: {type(error).__name__}: {error}"
        except BaseException:  # the run is being ended: leave nothing behind
            run.leftovers()
            raise
        left = run.leftovers()
        if left:
            outcome = "not ok"
            why = "; ".join(([why] if why else []) + left[:5])
        result = Result(test, outcome, time.monotonic() - run.started, why)
        if outcome == "not ok":
            result.log = run.log()
        if not self.options.keep:
            run.remove()
        with self.lock:
            self._report(result)

    def _report(self, result: Result) -> None:
        self.results.append(result)
        test = result.test
        number = len(self.results)
        word = "ok" if result.outcome == "skip" else result.outcome
        line = f"{word} {number} - {test.name} [{' '.join(test.clauses)}] {result.seconds:.1f} s"
        if result.outcome == "skip":
            line += f" # SKIP {result.why}"
        print(line, flush=True)
        if result.outcome != "not ok":
            return
        path = self._log_folder() / f"{test.name}.log"
        path.write_text(f"{result.why}\n{result.log}", encoding="utf-8")
        for text in result.why.splitlines()[:LAST_LINES]:
            print(f"# {text}")
        for text in result.log.splitlines()[-LAST_LINES:]:
            print(f"#   {text}")
        print(f"# seed: {self.setting.seed}")
        print(f"# log: {path}")
        print(f"# again: {_rerun(self.options, test, self.setting.seed)}", flush=True)

    def all(self, tests: list[Test]) -> None:
        if self.options.jobs == 1:
            for test in tests:
                self.one(test)
            return
        with ThreadPoolExecutor(max_workers=self.options.jobs) as pool:
            list(pool.map(self.one, tests))


def main(words: list[str] | None = None) -> int:
    options = arguments(words)
    seed = options.seed if options.seed is not None else int.from_bytes(os.urandom(3), "big")
    try:
        every = testlist.read(HERE / "testlist", seed)
    except testlist.ListError as error:
        print(f"test/elastic/run: {error}", file=sys.stderr)
        return 2
    tests = select(every, options)
    if options.list:
        return show_list(tests, every)
    prefix = options.mpi.resolve()
    for tool in ("mpicc", "mpiexec"):
        if not (prefix / "bin" / tool).exists():
            print(f"test/elastic/run: no {tool} in {prefix / 'bin'}", file=sys.stderr)
            return 2
    processes.become_reaper()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    folder = Path(tempfile.mkdtemp(prefix="et-"))
    try:
        return _run(options, tests, seed, prefix, folder)
    finally:
        if options.keep:
            print(f"# kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _run(
    options: argparse.Namespace, tests: list[Test], seed: int, prefix: Path, folder: Path
) -> int:
    print(f"# {len(tests)} tests, seed {seed}", flush=True)
    programs = folder / "bin"
    programs.mkdir()
    names = {test.program for test in tests} | {test.tool for test in tests if test.tool}
    if any(test.scenario for test in tests):
        names |= {"serve", "cycle"}
    names |= {name for test in tests for name in test.scenario.split(":")[1:] if name.startswith("plain_")}
    built = build.build(prefix, HERE / "programs", names, programs, os.cpu_count() or 1)
    setting = Setting(
        prefix, built, folder, seed, options.stock_mpiexec, patience_factor=options.patience
    )
    runner = Runner(setting, options, len(tests))
    runner.all(tests)
    counts = {
        outcome: sum(result.outcome == outcome for result in runner.results)
        for outcome in ("ok", "not ok", "skip")
    }
    closing = f"{counts['ok']} passed, {counts['not ok']} failed"
    if counts["skip"]:
        closing += f", {counts['skip']} skipped"
    print(closing, flush=True)
    return 1 if counts["not ok"] else 0
