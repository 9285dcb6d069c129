"""Command line, order of the tests over hosts, and report."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from harness import build, processes
from harness.job import LAST_LINES, Setting, Skip, TestFailure
from harness.testlist import Test
from playground import hosts, slurm

from . import back_pressure, backend_hosts, backend_slurm, backend_slurm_mix, cases, dynamic, faults, nested  # noqa: F401  each registers its cases
from .cases import Case
from .hostrun import HostRun

PROGRAMS = {
    "cycle", "dyn_spawn", "dyn_widow", "hold", "leak", "new_world", "prints", "serve", "session_alone",
    "session_arguments", "session_cycles", "session_groups", "session_random", "window_coll", "window_pt2pt",
    "window_rma",
}
SOURCES = Path(__file__).resolve().parent.parent.parent / "programs"


def arguments(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="test/elastic/cluster/run", description="Adaptations between hosts that are namespaces of this machine."
    )
    parser.add_argument("--mpi", type=Path, metavar="PREFIX", required=True, help="where it is installed")
    parser.add_argument("-k", dest="pattern", metavar="PATTERN", help="only tests whose name fits")
    parser.add_argument("--full", action="store_true", help="the long ones as well")
    parser.add_argument("--seed", type=int, help="for schedules that are drawn")
    parser.add_argument("--logs", type=Path, help="where logs of failed tests go")
    parser.add_argument("--keep", action="store_true", help="keep programs and working folders")
    parser.add_argument("--patience", type=float, default=1.0, help="factor on all deadlines (default 1)")
    return parser.parse_args(words)


def one(case: Case, setting: Setting, folder: Path) -> tuple[str, str, str]:
    """Outcome, why, and log of a test."""
    if case.slurm and (why := slurm.impossible(case.accounting)):
        return "skip", why, ""
    test = Test(case.name, case.clauses, 1, [], "cycle", [], deadline_s=case.deadline_s)
    try:
        run = HostRun(test, setting, folder, case.nodes, case.slurm, case.accounting, case.cpus)
    except hosts.PlaygroundError as error:
        return "not ok", f"no playground: {error}", ""
    outcome, why = "ok", ""
    try:
        case.drive(run)
    except Skip as skip:
        outcome, why = "skip", str(skip)
    except TestFailure as failure:
        outcome, why = "not ok", str(failure)
    except Exception as error:  # a bug of a test must not hide the others
        outcome, why = "not ok", f"{type(error).__name__}: {error}"
    except BaseException:
        run.leftovers()
        raise
    left = run.leftovers()
    if left:
        outcome, why = "not ok", "; ".join(([why] if why else []) + left[:5])
    return outcome, why, run.log() if outcome == "not ok" else ""


def report(number: int, case: Case, outcome: str, why: str, seconds: float) -> None:
    word = "ok" if outcome == "skip" else outcome
    clauses = f" [{' '.join(case.clauses)}]" if case.clauses else ""
    skip = f" # SKIP {why}" if outcome == "skip" else ""
    print(f"{word} {number} - {case.name}{clauses} {seconds:.1f} s{skip}", flush=True)


def explain(options: argparse.Namespace, case: Case, seed: int, why: str, log: str) -> None:
    logs = options.logs or Path(tempfile.mkdtemp(prefix="elastic-test-logs-"))
    logs.mkdir(parents=True, exist_ok=True)
    path = logs / f"{case.name}.log"
    path.write_text(f"{why}\n{log}", encoding="utf-8")
    for text in why.splitlines()[:LAST_LINES]:
        print(f"# {text}")
    for text in log.splitlines()[-LAST_LINES:]:
        print(f"#   {text}")
    again = [sys.argv[0], "--mpi", str(options.mpi), "-k", f"^{case.name}$", "--seed", str(seed)]
    print(f"# log: {path}\n# again: {shlex.join(again + ['--full'] * case.full)}", flush=True)


def run_all(options: argparse.Namespace, folder: Path, selected: list[Case]) -> int:
    seed = options.seed if options.seed is not None else int.from_bytes(os.urandom(3), "big")
    print(f"# {len(selected)} tests over hosts, seed {seed}", flush=True)
    programs = folder / "bin"
    programs.mkdir()
    prefix = options.mpi.resolve()
    built = build.build(prefix, SOURCES, set(PROGRAMS), programs, os.cpu_count() or 1)
    setting = Setting(prefix, built, folder, seed, None, patience_factor=options.patience)
    counts = {"ok": 0, "not ok": 0, "skip": 0}
    for number, case in enumerate(selected, 1):
        start = time.monotonic()
        outcome, why, log = one(case, setting, folder / f"t{number}")
        counts[outcome] += 1
        report(number, case, outcome, why, time.monotonic() - start)
        if outcome == "not ok":
            explain(options, case, seed, why, log)
        if not options.keep:
            shutil.rmtree(folder / f"t{number}", ignore_errors=True)
    if matrix := faults.table(folder):
        print("".join(f"# {line}\n" for line in matrix.splitlines()), end="", flush=True)
    skipped = f", {counts['skip']} skipped" if counts["skip"] else ""
    print(f"{counts['ok']} passed, {counts['not ok']} failed{skipped}", flush=True)
    return 1 if counts["not ok"] else 0


def main(words: list[str] | None = None) -> int:
    options = arguments(words)
    selected = cases.selection(options.full, options.pattern)
    if why := hosts.impossible():
        for number, case in enumerate(selected, 1):
            report(number, case, "skip", why, 0)
        failed = int(options.full and bool(selected))  # whoever wants all of them is not told that all is well
        if failed:
            print(f"not ok - there can be no hosts here: {why}")
        print(f"0 passed, {failed} failed, {len(selected)} skipped")
        return failed
    processes.become_reaper()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    folder = Path(tempfile.mkdtemp(prefix="eh-"))
    try:
        return run_all(options, folder, selected)
    finally:
        if options.keep:
            print(f"# kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
