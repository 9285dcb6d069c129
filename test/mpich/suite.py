#!/usr/bin/python3
"""MPICH's own test suite (test/mpi of the release) on an installed MPI.

    test/mpich/suite.py --mpi PREFIX --prepare
    test/mpich/suite.py --mpi PREFIX --compare [--stock PREFIX] [-k PATTERN]

pytest runs what quick.list names (test_mpich.py); --prepare configures the suite for that.  --compare runs the whole suite
on PREFIX, and what does not pass there on a stock MPICH as well (built with maint/build --stock if none is given; its
waiting processes never yield, which makes the suite three times as long on few cores).  Each test whose result differs is
listed and repeated twice on both sides, so that chance is distinguished from change.  Results of --compare are kept by the sum of
the library, so an interrupted comparison continues.

The suite always comes from the pristine release, configured and compiled against the MPI under test in
$ELASTIC_BUILD/mpich-tests/; MPICH's runtests runs it and decides what passes.  --compare prints TAP-like lines and closes
with `N passed, N failed[, N skipped]`; skipped are the tests that runtests skips.
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
import time
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


def say(text: str) -> None:
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
        self.seconds: dict[str, float] = {}  # how long each test took, by name
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
        say(f"preparing MPICH's tests for {self.prefix}")
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
        for entry, line in zip(entries, lines, strict=False):
            if match := re.search(r"# time=([\d.]+)", line):
                self.seconds[entry.name] = float(match[1])
        outputs = re.split(r"^(?=(?:not )?ok )", text, flags=re.M)[1:]
        for entry, output in zip(entries, outputs, strict=False):
            self.output[entry.name] = [line for line in output.splitlines() if line.startswith("## ")]
        # runtests gives up after too many timeouts: what it did not reach has failed.
        results += ["failed"] * (len(entries) - len(results))
        return {entry.name: result for entry, result in zip(entries, results, strict=True)}


# ---------------------------------------------------------------- the quick selection


def quick_entries(suite: Suite) -> list[Entry]:
    """What quick.list chooses."""
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


def expected_failures() -> dict[str, str]:
    """folder/program -> reason."""
    known: dict[str, str] = {}
    for line in (HERE / "expected-fail.list").read_text().splitlines():
        name, _, reason = line.partition(" ")
        if name and not line.startswith("#"):
            known[name] = reason.strip()
    return known


# ---------------------------------------------------------------- the comparison


class Kept:
    """Results of a suite, kept by the sum of the library they belong to."""

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


def build_stock() -> Path:
    """A stock MPICH, built and installed the same way."""
    prefix = BUILD / "stock-install"
    command = [str(ROOT / "maint" / "build"), "--stock", "--build-dir", str(BUILD), "--prefix", str(prefix)]
    if subprocess.run(command, check=False).returncode != 0:
        raise SuiteError("the stock MPICH to compare with cannot be built")
    return prefix


def run_missing(suite: Suite, kept: Kept, entries: list[Entry], title: str) -> None:
    """Run the tests of one folder whose results are not known yet."""
    left = [entry for entry in entries if entry.name not in kept.results]
    if left:
        start = time.monotonic()
        kept.add(suite.run(left))
        say(f"{title} on {suite.prefix}: {len(left)} tests in {time.monotonic() - start:.0f} s")


def run_compare(prefix: Path, stock: Path | None, pattern: str) -> Counter[str]:
    """The whole suite; what does not pass is run on stock, too.  Passed are the tests with no worse result than stock's."""
    suites = [Suite(stock or build_stock()), Suite(prefix)]
    kept = []
    for suite in suites:
        suite.prepare()
        kept.append(Kept(suite))
    totals: Counter[str] = Counter()
    folders = [folder for folder in suites[1].folders() if suites[1].entries(folder)]
    for number, folder in enumerate(folders, 1):
        entries = [entry for entry in suites[1].entries(folder) if pattern in entry.name]
        title = f"[{number}/{len(folders)}] {folder}"
        run_missing(suites[1], kept[1], entries, title)
        run_missing(suites[0], kept[0], [e for e in entries if kept[1].results[e.name] != "passed"], title)
        for entry in entries:
            totals[compare(entry, suites, kept)] += 1
    return totals


def compare(entry: Entry, suites: list[Suite], kept: list[Kept]) -> str:
    """Print how one test's results compare; passed (same), failed (worse than stock) or skipped."""
    ours = kept[1].results[entry.name]
    if ours == "passed":
        print(f"ok - mpich: {entry.name}")
        return "passed"
    stock = kept[0].results[entry.name]
    if stock == ours:
        print(f"ok - mpich: {entry.name}: {ours} on both" + (" # SKIP" if ours == "skipped" else ""))
        return "skipped" if ours == "skipped" else "passed"
    again = [[suite.run([entry])[entry.name] for _ in range(2)] for suite in suites]
    story = f"stock: {', '.join([stock, *again[0]])}; ours: {', '.join([ours, *again[1]])}"
    worse = "passed" in [stock, *again[0]] and "passed" not in [ours, *again[1]]
    print(f"{'not ok' if worse else 'ok'} - mpich: {entry.name}: DIFFERENCE: {story}")
    return "failed" if worse else "passed"


def main() -> int:
    parser = argparse.ArgumentParser(description="MPICH's own tests on an installed MPI.")
    parser.add_argument("--mpi", required=True, metavar="PREFIX")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--prepare", action="store_true", help="unpack and configure the suite")
    what.add_argument("--compare", action="store_true", help="the whole suite, compared with a stock MPICH")
    parser.add_argument("--stock", metavar="PREFIX", help="an installed stock MPICH (default: built)")
    parser.add_argument("-k", dest="pattern", default="", help="only tests whose name contains this")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    prefix = Path(options.mpi).resolve()
    try:
        if options.prepare:
            Suite(prefix).prepare()
            return 0
        totals = run_compare(prefix, Path(options.stock).resolve() if options.stock else None, options.pattern)
    except SuiteError as error:
        print(f"not ok - mpich: {error}")
        totals = Counter(failed=1)
    skipped = f", {totals['skipped']} skipped" if totals["skipped"] else ""
    print(f"{totals['passed']} passed, {totals['failed']} failed{skipped}")
    return 1 if totals["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
