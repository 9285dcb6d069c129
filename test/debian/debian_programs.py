"""Programs of Debian that are linked to libmpich12 and test something, with our library instead (test_debian.py).

Debian's packages come through a private apt and are unpacked beside (nothing is installed), in $ELASTIC_BUILD/debian;
the results of Debian's own MPI are stored there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "maint"), str(ROOT / "test")]
from private_apt import PrivateApt  # noqa: E402
from support import folders  # noqa: E402

BUILD = folders.BUILD / "debian"
MPI_PACKAGES = ("mpich", "libmpich12")
SHOWN_LINES = 20


class Unavailable(Exception):
    """Why Debian's packages cannot be had."""


@dataclass(frozen=True)
class Program:
    """A program: its folder, its command, and the results that its output shows."""

    name: str
    folder: str  # below usr/lib/*-linux-gnu, copied for the run: programs write files beside them; "": none
    command: str
    files: str = ""  # a folder beside this script, whose files replace the package's
    libraries: str = ""  # what a NAME.c among these files is linked to, for the command ./NAME
    ends: str = ""  # its last line, of a program that ends itself by an error
    processes: int = 4
    limit_s: int = 120


# ScaLAPACK's condition estimator (P?LACON, under xslu, xsllt and their like) compares with an estimate that nobody has set,
# on the stack of P?PORFS and P?GERFS: now and then columns of processes decide differently and wait for each other for
# ever, under either MPI.
TRIES = 3
VALGRIND = "valgrind --log-file=valgrind.%p"
VALGRIND_TIMES = 5  # slower
# A decision by a value that was never set, and where that is.
UNSET_VALUE = re.compile(r"uninitialised value\(s\)\n==\d+==    at [^\n]*\(in ([^\n]*)\)")
UNFINISHED = "not finished after"

# ScaLAPACK's testers of P?SYEVR and P?HEEVR hand over VL and VU, of which they have set nothing where all eigenvalues are
# wanted, and compare them with themselves afterwards.  If what stood on the stack is not a number, the test counts as
# failed: by chance under any MPI, Debian's too (up to 31 of 136 tests), never when the jump for "unordered" is taken out of
# the tester.  So these verdicts count by their residuals.
EVR_VERDICT = re.compile(r"^((?:\s+\d+){5}\s+[YN]\s+\S+\s+\S+\s+(\S+)\s+(\S+)\s+)FAILED\b", re.M)
EVR_THRESHOLD = 80.0  # the smallest of SEPR.dat
VERDICT = re.compile(r"\b(passed|skipped|failed|suspect|error)\b", re.I)


@dataclass(frozen=True)
class Result:
    """How a run went: "done" or why not, and how often the output contains each word of VERDICT."""

    end: str
    printed: dict[str, int]
    output: str = ""
    unset: bool = False  # under valgrind: the program decides by values that it has never set


# ---------------------------------------------------------------- the programs

SCALAPACK = "scalapack/mpich-tests"
# BLACS' tester ends with a test of BLACS_ABORT.
BLACS_END = "If processes survive the call, your BLACS_ABORT is incorrect."
SAMPLE_PACKAGES = ["scalapack-mpi-test"]
PACKAGES = [*SAMPLE_PACKAGES, "libcoarrays-mpich-dev", "libhdf5-mpich-dev", "libmpich-dev"]
SAMPLE = [
    Program("BLACS: combine operations", SCALAPACK, "./xCbtest", "blacs-combine"),
]


def scalapack_programs(libraries: Path) -> list[Program]:
    """The programs in the package's own lists."""
    programs = [
        Program(f"BLACS: {name}", SCALAPACK + "/BLACS", f"./{name}", ends=BLACS_END)
        for name in ("xCbtest", "xFbtest")
    ]
    for folder in (SCALAPACK, SCALAPACK + "/PBLAS"):
        text = (libraries / folder / "CTestTestfile.cmake").read_text()
        for name, count in re.findall(r'^add_test\((\S+) "\S*mpiexec\S*" "-n" "(\d+)"', text, re.M):
            title = f"{folder.rsplit('/', maxsplit=1)[-1].replace('mpich-tests', 'ScaLAPACK')}: {name}"
            programs.append(Program(title, folder, f"./{name}", processes=int(count)))
    return programs


def coarray_programs(libraries: Path) -> list[Program]:
    """The tests of OpenCoarrays: one-sided communication and collectives.  Many want other numbers of processes."""
    folder = "open-coarrays/mpich/bin/OpenCoarrays-2.10.1-tests"
    names = sorted(path.name for path in (libraries / folder).iterdir() if not path.name.startswith("image_fail"))
    return [
        Program(f"OpenCoarrays: {name}", folder, f"./{name}", limit_s=60) for name in names
    ]


# Its package has no tests of its own.
HDF5 = Program("HDF5: columns", "", "./columns", files="hdf5", libraries="hdf5_mpich mpich")


def all_programs(libraries: Path) -> list[Program]:
    return [*SAMPLE, *scalapack_programs(libraries), *coarray_programs(libraries), HDF5]


# ---------------------------------------------------------------- Debian's packages


class Debian:
    """Debian's packages and what these need, unpacked in one folder."""

    def __init__(self, packages: list[str]):
        self.top = BUILD / "root"
        wanted = sorted({*MPI_PACKAGES, *packages})
        stamp = BUILD / "unpacked"
        if not stamp.is_file() or not set(wanted) <= set(stamp.read_text().split()):
            self.unpack(wanted)
            stamp.write_text("\n".join(wanted))
        self.libraries = next(self.top.glob("usr/lib/*-linux-gnu"))

    def unpack(self, wanted: list[str]) -> None:
        print("# getting Debian's packages (20 MB; for --compare 50 MB)")
        apt_folder = BUILD / "apt"
        shutil.rmtree(apt_folder, ignore_errors=True)
        shutil.rmtree(self.top, ignore_errors=True)
        apt_folder.mkdir(parents=True)
        apt = PrivateApt(apt_folder, "bookworm", "deb")
        archives = apt_folder / "cache" / "archives"
        # By name what must not come from the machine itself, then what that lacks.
        if not (
            apt.run("update")
            and apt.run("download", *wanted, cwd=archives)
            and apt.run("install", "--download-only", "--yes", "--no-install-recommends", *wanted)
        ):
            raise Unavailable(apt.problem)
        for archive in sorted(archives.glob("*.deb")):
            subprocess.run(["dpkg", "-x", str(archive), str(self.top)], check=True)
        shutil.rmtree(apt_folder)

    def mpiexec(self) -> str:
        return str(self.top / "usr" / "bin" / "mpiexec.hydra")

    def compile(self, source: Path, program: Path, libraries: str) -> None:
        include = [str(self.top / "usr" / "include" / name) for name in ("hdf5/mpich", f"{self.libraries.name}/mpich")]
        command = ["gcc", "-O1", "-Wall", "-Werror", str(source), "-o", str(program), f"-L{self.libraries}"]
        command += [f"-I{folder}" for folder in include] + [f"-l{name}" for name in libraries.split()]
        command += [f"-Wl,-rpath-link,{':'.join(self.library_path())}", "-Wl,--allow-shlib-undefined"]
        subprocess.run(command, check=True)

    def giving_way(self) -> list[str]:
        """Options of Debian's mpiexec, whose waiting processes never yield by themselves."""
        library = BUILD / "gives_way.so"
        source = HERE / "gives_way.c"
        subprocess.run(["gcc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
        return ["-genv", "LD_PRELOAD", str(library)]

    def library_path(self) -> list[str]:
        """Where the packages' libraries are; those of lapack and blas are alternatives in folders of their own."""
        return [str(self.libraries), *(str(self.libraries / name) for name in ("lapack", "blas"))]


# ---------------------------------------------------------------- runs


def by_residuals(verdict: re.Match[str]) -> str:
    """A line of EVR_VERDICT; a residual may be too large for its column, or not a number."""
    try:
        good = all(float(residual) < EVR_THRESHOLD for residual in verdict.groups()[1:])
    except ValueError:
        good = False
    return verdict[1] + ("PASSED" if good else "FAILED")


def run(program: Program, debian: Debian, mpiexec: list[str], library_path: list[str], work: Path) -> Result:
    """Run a program in a copy of its folder.  `mpiexec` is a command and its options."""
    shutil.rmtree(work, ignore_errors=True)
    # Links to data elsewhere in the package become files.
    if program.folder:
        shutil.copytree(debian.libraries / program.folder, work)
    if program.files:
        shutil.copytree(HERE / program.files, work, dirs_exist_ok=True)
    for source in work.glob("*.c") if program.libraries else ():
        debian.compile(source, source.with_suffix(""), program.libraries)
    environment = {**os.environ, "LD_LIBRARY_PATH": ":".join([*library_path, *debian.library_path()])}
    command = [*mpiexec, "-n", str(program.processes), *program.command.split()]
    with subprocess.Popen(
        command, cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
    ) as job:  # fmt: skip
        try:
            output, _ = job.communicate(timeout=program.limit_s)
            end = "done" if job.returncode == 0 else f"exit code {job.returncode}"
        except subprocess.TimeoutExpired:
            job.send_signal(signal.SIGTERM)
            output, _ = job.communicate()
            end = f"{UNFINISHED} {program.limit_s} s"
    if program.ends and job.returncode not in (0, None) and program.ends in output:
        end = "done"
    logs = "".join(path.read_text(errors="replace") for path in work.glob("valgrind.*"))
    unset = any("libmpi" not in path and "libfabric" not in path for path in UNSET_VALUE.findall(logs))
    shutil.rmtree(work)
    judged = EVR_VERDICT.sub(by_residuals, output) if "EVR - testing" in output else output
    return Result(end, dict(Counter(word.lower() for word in VERDICT.findall(judged))), output, unset)


def run_until_it_ends(program: Program, *how: Any) -> Result:
    """As `run`, a few times if it has not ended."""
    for _ in range(TRIES):
        result = run(program, *how)
        if not result.end.startswith(UNFINISHED):
            break
        print(f"# {program.name}: {result.end}, with {how[1][0]}")
    return result


def is_worse(ours: Result, theirs: Result) -> bool:
    """Whether ours went worse: it ended otherwise, or its output contains less that is good, or more that is bad.  BLACS'
    tester skips its test of repeatable sums where sums happened to be repeatable."""

    def count(result: Result, *words: str) -> int:
        return sum(result.printed.get(word, 0) for word in words)

    more_bad = any(count(ours, word) > count(theirs, word) for word in ("failed", "suspect", "error"))
    return ours.end != "done" or more_bad or count(ours, "passed", "skipped") < count(theirs, "passed", "skipped")


def show(result: Result) -> str:
    printed = ", ".join(f"{word} {n}" for word, n in sorted(result.printed.items())) or "no verdict"
    return f"{result.end} ({printed})"


class Runner:
    """Runs programs with our library and, for comparison, with Debian's own."""

    def __init__(self, prefix: Path, debian: Debian):
        self.prefix, self.debian = prefix, debian
        self.stored_path = BUILD / "verdicts.json"
        self.stored: dict[str, dict[str, object]] = {}
        if self.stored_path.is_file():
            self.stored = json.loads(self.stored_path.read_text())

    def ours(self, program: Program) -> Result:
        path = [f"{self.prefix}/lib"]
        how = self.debian, [f"{self.prefix}/bin/mpiexec"], path, BUILD / "work-ours"
        result = run_until_it_ends(program, *how)
        if result.end.startswith(UNFINISHED) and shutil.which("valgrind"):
            limit_s = VALGRIND_TIMES * program.limit_s
            checked = run(replace(program, command=f"{VALGRIND} {program.command}", limit_s=limit_s), *how)
            if checked.unset:
                print(f"# {program.name}: under valgrind, as it decides by values that it has never set")
                return checked
        return result

    def theirs(self, program: Program) -> Result:
        """The results of Debian's own MPI, from an earlier run if there was one."""
        if program.name not in self.stored:
            command = [self.debian.mpiexec(), *self.debian.giving_way()]
            result = run_until_it_ends(program, self.debian, command, [], BUILD / "work-debian")
            self.stored[program.name] = {"end": result.end, "said": result.printed}
            self.stored_path.write_text(json.dumps(self.stored, indent=1))
        known = self.stored[program.name]
        return Result(str(known["end"]), dict(known["said"]))  # type: ignore[call-overload]
