#!/usr/bin/python3
"""MPICH's own test suite (test/mpi of the release) on an installed MPI.

    test/mpich/suite.py --mpi PREFIX        unpack and configure the suite for this MPI

pytest runs the tests of quick.list, and with --compare the whole suite (test_mpich.py).

The suite always comes from the pristine release, configured and compiled against the MPI under test in
$ELASTIC_BUILD/mpich-tests/; MPICH's runtests runs it and decides about the results.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from support.folders import BUILD, ROOT  # noqa: E402

QUICK_MAX_PROCESSES = 4
JOBS = os.cpu_count() or 1
SHOWN_LINES = 20  # of what a failed test printed
# Tests have more processes than a small machine has cores, and those of stock MPICH never give way.
PATIENCE = {"MPITEST_CLEANUP": "0", "MPITEST_TIMEOUT": "120"}


class SuiteError(Exception):
    """Why the suite cannot be run."""


@dataclass(frozen=True)
class Entry:
    """One line of a testlist: folder, the line, and a name that is unique in the suite."""

    folder: str
    line: str
    name: str

    @property
    def program(self) -> str:
        return self.line.split()[0]

    @property
    def processes(self) -> int:
        words = self.line.split()
        return int(words[1]) if len(words) > 1 and words[1].isdigit() else 2


def report(text: str) -> None:
    print(f"# {text}", flush=True)


def sum_of(paths: Iterable[Path]) -> str:
    """The sum of some files."""
    total = hashlib.sha256()
    for path in paths:
        total.update(path.read_bytes())
    return total.hexdigest()


# ---------------------------------------------------------------- the suite, compiled for one MPI


class Suite:
    """test/mpi of the release, configured for the MPI at `prefix`."""

    def __init__(self, prefix: Path):
        self.prefix = prefix
        name = hashlib.sha256(str(prefix).encode()).hexdigest()[:12]
        self.folder = BUILD / "mpich-tests" / name
        self.log = BUILD / "logs" / f"mpich-tests-{name}.log"
        self.tests = self.folder / "test" / "mpi"
        self.output: dict[str, list[str]] = {}  # what failed tests printed, by name
        tools = "/usr/lib/ccache:" if Path("/usr/lib/ccache").is_dir() else ""
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "elastic-mpich" / "ccache"
        self.environment = {
            **os.environ,
            **PATIENCE,
            "PATH": f"{tools}{prefix}/bin:{os.environ['PATH']}",
            "LD_LIBRARY_PATH": f"{prefix}/lib",
            "CCACHE_DIR": os.environ.get("CCACHE_DIR", str(cache)),
            "CCACHE_BASEDIR": str(self.folder),
            "CCACHE_NOHASHDIR": "1",
        }

    def call(self, *command: str, folder: Path | None = None) -> bool:
        """Run a command with its output in the log; whether it worked."""
        with self.log.open("ab") as log:
            log.write(f"\n=== {' '.join(command)[:2000]}\n".encode())
            log.flush()
            done = subprocess.run(
                command,
                cwd=folder or self.tests,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                check=False,
            )
        return done.returncode == 0

    def is_prepared(self) -> bool:
        """Whether the suite is unpacked and configured for these headers and wrappers."""
        stamp = self.folder / "prepared"
        return stamp.is_file() and stamp.read_text() == self._key()

    def _key(self) -> str:
        return sum_of([*sorted((self.prefix / "include").glob("*.h")), self.prefix / "bin" / "mpicc"])

    def prepare(self) -> None:
        """Unpack and configure, unless that has been done."""
        if not (self.prefix / "bin" / "mpicc").is_file():
            raise SuiteError(f"no MPI in {self.prefix}: bin/mpicc is missing")
        if self.is_prepared():
            return
        report(f"preparing MPICH's tests for {self.prefix}")
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        fetched = subprocess.run([str(ROOT / "maint" / "fetch")], stdout=subprocess.PIPE, text=True, check=False)
        if fetched.returncode != 0:
            raise SuiteError("the MPICH release is not there")
        names = subprocess.run(
            ["tar", "-x", "-f", fetched.stdout.strip(), "-C", str(self.folder), "--strip-components=1",
             "--no-same-owner", "--wildcards", "*/test/mpi", "*/confdb"], check=False)  # fmt: skip
        flags = [f"{name}=-fallow-argument-mismatch" for name in ("FFLAGS", "FCFLAGS")]
        if names.returncode != 0 or not self.call("./configure", f"--with-mpi={self.prefix}", *flags):
            raise SuiteError(f"MPICH's tests cannot be configured; see {self.log}")
        for support in ("util", "dtpools"):
            if not self.call("make", f"-j{JOBS}", folder=self.tests / support):
                raise SuiteError(f"MPICH's test support cannot be compiled; see {self.log}")
        (self.folder / "prepared").write_text(self._key())

    def folders(self, top: str = ".") -> list[str]:
        """Folders with tests, as the configured testlists name them."""
        found: list[str] = []
        for line in self.lines(top):
            path = os.path.normpath(os.path.join(top, line.split()[0]))
            if (self.tests / path).is_dir():
                found += [path] + self.folders(path)
        return found

    def lines(self, folder: str) -> list[str]:
        """Lines of a folder's testlist, comments dropped."""
        path = self.tests / folder / "testlist"
        text = path.read_text() if path.is_file() else ""
        return [line for line in (raw.split("#", 1)[0].strip() for raw in text.splitlines()) if line]

    def entries(self, folder: str) -> list[Entry]:
        """The tests of one folder; the same line twice gets a number."""
        counts: Counter[str] = Counter()
        result = []
        for line in self.lines(folder):
            if line.startswith("!") or (self.tests / folder / line.split()[0]).is_dir():
                continue
            counts[line] += 1
            suffix = f" ({counts[line]})" if counts[line] > 1 else ""
            result.append(Entry(folder, line, f"{folder}/{line}{suffix}"))
        return result

    def run(self, entries: list[Entry]) -> dict[str, str]:
        """Compile and run some tests of one folder: name -> passed, failed or skipped."""
        folder = self.tests / entries[0].folder
        for raw in (folder / "testlist").read_text().splitlines():
            if match := re.match(r"\s*!([^:]*):(\S*)", raw):  # support code that runtests would make, too
                self.call("make", match[2], folder=folder / match[1])
        programs = sorted({entry.program for entry in entries})
        if (folder / "Makefile").is_file():
            self.call("make", "-k", f"-j{JOBS}", *[p for p in programs if "/" not in p], folder=folder)
        chosen = self.folder / f"list-{os.getpid()}"  # workers of pytest run at the same time
        chosen.write_text("".join(f"{entry.line}\n" for entry in entries))
        tap = self.folder / f"tap-{os.getpid()}"
        tap.unlink(missing_ok=True)
        self.call(
            str(self.tests / "runtests"), f"-mpiexec={self.prefix}/bin/mpiexec", f"-tests={chosen}",
            f"-tapfile={tap}", folder=folder,
        )  # fmt: skip
        text = tap.read_text(errors="replace") if tap.is_file() else ""
        lines = [line for line in text.splitlines() if re.match(r"(not )?ok ", line)]
        results = [
            "skipped" if "# SKIP" in line else "failed" if line.startswith("not ok") else "passed" for line in lines
        ]
        outputs = re.split(r"^(?=(?:not )?ok )", text, flags=re.M)[1:]
        for entry, output in zip(entries, outputs, strict=False):
            self.output[entry.name] = [line for line in output.splitlines() if line.startswith("## ")]
        # runtests gives up after too many timeouts: what it did not reach has failed.
        results += ["failed"] * (len(entries) - len(results))
        return {entry.name: result for entry, result in zip(entries, results, strict=True)}


# ---------------------------------------------------------------- the quick selection


def quick_entries(suite: Suite) -> list[Entry]:
    """The tests that quick.list selects."""
    chosen: list[Entry] = []
    for raw in (HERE / "quick.list").read_text().splitlines():
        line = raw.split("#", 1)[0].strip()
        if not line:
            continue
        folder, _, programs = line.removeprefix("not ").partition(":")
        if line.startswith("not "):
            out = {f"{folder}/{program}" for program in programs.split()}
            chosen = [entry for entry in chosen if f"{entry.folder}/{entry.program}" not in out]
            continue
        entries = [entry for entry in suite.entries(folder) if entry.processes <= QUICK_MAX_PROCESSES]
        if not programs:
            chosen += entries
            continue
        for program in programs.split():
            first = next((entry for entry in entries if entry.program == program), None)
            if not first:
                raise SuiteError(f"quick.list: no test {folder}/{program} with at most {QUICK_MAX_PROCESSES} processes")
            chosen.append(first)
    return chosen


def wrong_tests() -> dict[str, str]:
    """The tests that expect what stock does wrong: folder/program -> what is right."""
    wrong: dict[str, str] = {}
    for line in (HERE / "wrong-tests.list").read_text().splitlines():
        name, _, right = line.partition(" ")
        if name and not line.startswith("#"):
            wrong[name] = right.strip()
    return wrong


# ---------------------------------------------------------------- the comparison


class StoredResults:
    """Results of a suite, by the sum of the library they belong to."""

    def __init__(self, suite: Suite):
        libraries = [p for p in sorted((suite.prefix / "lib").glob("lib*.so.*")) if not p.is_symlink()]
        programs = [suite.prefix / "bin" / name for name in ("mpiexec", "hydra_pmi_proxy")]
        self.path = suite.folder / f"results-{sum_of(libraries + programs)[:16]}.json"
        self.results: dict[str, str] = json.loads(self.path.read_text()) if self.path.is_file() else {}

    def add(self, results: dict[str, str]) -> None:
        self.results.update(results)
        temporary = self.path.with_suffix(".new")
        temporary.write_text(json.dumps(self.results, indent=0))
        temporary.replace(self.path)


class Comparison:
    """Our results beside those of a stock MPICH, which runs the tests that do not pass with ours."""

    def __init__(self, ours: Suite, stock: Suite, chosen: list[Entry]):
        self.suites = {"ours": ours, "stock": stock}
        self.results = {name: StoredResults(suite) for name, suite in self.suites.items()}
        self.chosen = chosen

    def result(self, side: str, entry: Entry, needed: list[Entry]) -> str:
        """The result of one test; those that are needed of its folder run together."""
        known = self.results[side]
        if missing := [each for each in needed if each.name not in known.results]:
            known.add(self.suites[side].run(missing))
        return known.results[entry.name]

    def compare(self, entry: Entry) -> tuple[str, str]:
        """passed (no worse than stock), failed or skipped (on both), and the results."""
        folder = [each for each in self.chosen if each.folder == entry.folder]
        ours = self.result("ours", entry, folder)
        if right := wrong_tests().get(f"{entry.folder}/{entry.program}"):
            return ("passed" if ours == "failed" else "failed"), f"{ours}, but the test is wrong: {right}"
        if ours == "passed":
            return "passed", ours
        bad = [each for each in folder if self.results["ours"].results[each.name] != "passed"]
        stock = self.result("stock", entry, bad)
        if stock == ours:
            return "skipped" if ours == "skipped" else "passed", f"{ours} on both"
        # Chance or change?
        again = {side: [suite.run([entry])[entry.name] for _ in range(2)] for side, suite in self.suites.items()}
        story = f"stock: {', '.join([stock, *again['stock']])}; ours: {', '.join([ours, *again['ours']])}"
        worse = "passed" in [stock, *again["stock"]] and "passed" not in [ours, *again["ours"]]
        return "failed" if worse else "passed", story


def main() -> int:
    parser = argparse.ArgumentParser(description="Unpack and configure MPICH's own tests for an installed MPI.")
    parser.add_argument("--mpi", required=True, type=Path, metavar="PREFIX")
    try:
        Suite(parser.parse_args().mpi.resolve()).prepare()
    except SuiteError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
