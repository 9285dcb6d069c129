"""Compiles the test programs with the compilers of the installation under test, each when a test first needs it.

The programs stay in one folder for all workers and later runs.  A program is compiled again when its source, a header
beside it, or a file of the installation that it is compiled with is newer.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

COMPILERS = {".c": "mpicc", ".cpp": "mpicxx", ".f": "mpifort", ".f90": "mpifort"}
FLAGS = {
    ".c": ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra"],
    ".cpp": ["-std=c++20", "-O1", "-g", "-Wall", "-Wextra", "-Werror"],
    ".f": ["-O1", "-g", "-fallow-argument-mismatch"],
    ".f90": ["-O1", "-g", "-fallow-argument-mismatch"],
}
COMMON = "elastic_test"
DATA = "data_"  # programs of this name use adapt_data.h
EPOP = "epop_"  # programs of this name are archives of the driver epop, and may use adapt_data.h
DYNRES = ("dynres_", "v2a_")  # programs of these names, if they are in Fortran, use the modules of libmpidynres
TOOL = "tool_"  # programs of this name are profiling tools: libraries to be loaded before MPI


def sources(folder: Path) -> dict[str, Path]:
    """Program names and their files."""
    return {
        path.stem: path
        for path in sorted(folder.iterdir())
        if path.suffix in COMPILERS and path.stem != COMMON
    }


def _compile(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else " ".join(command) + "\n" + done.stdout + done.stderr


@dataclass
class Programs:
    """The programs of one installation."""

    prefix: Path
    folder: Path
    sources: dict[str, Path]
    newest_input_ns: int
    checked: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, prefix: Path, source_folder: Path, folder: Path) -> Programs:
        folder.mkdir(parents=True, exist_ok=True)
        inputs = [*source_folder.glob("*.h"), source_folder / f"{COMMON}.c", *(prefix / "include").glob("*")]
        inputs += [*(prefix / "lib").glob("lib*.so"), prefix / "bin" / "mpicc", Path(__file__)]
        newest = max(path.stat().st_mtime_ns for path in inputs if path.exists())
        return cls(prefix, folder, sources(source_folder), newest)

    def failure(self, name: str) -> str:
        """Brings the program up to date; returns the compiler's messages if it cannot be compiled, else nothing."""
        if name not in self.checked:
            self.checked[name] = self._make(name)
        return self.checked[name]

    def program(self, name: str) -> Path:
        return self.folder / name

    def _make(self, name: str) -> str:
        with (self.folder / f".{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            source = self.sources.get(name)
            if name == COMMON:
                flags = [*FLAGS[".c"], "-fPIC", "-c", str(self._common_source())]
                return self._up_to_date(self.folder / f"{COMMON}.o", self._common_source(), "mpicc", flags)
            if source is None:
                return f"there is no program {name} in test/elastic/programs"
            if source.suffix in (".c", ".cpp") and (failure := self.failure(COMMON)):
                return failure
            return self._up_to_date(self.folder / name, source, COMPILERS[source.suffix], self._words(name, source))

    def _common_source(self) -> Path:
        return next(iter(self.sources.values())).parent / f"{COMMON}.c"

    def _up_to_date(self, target: Path, source: Path, compiler: str, words: list[str]) -> str:
        newest = max(self.newest_input_ns, source.stat().st_mtime_ns)
        if target.exists() and target.stat().st_mtime_ns > newest:
            return ""
        temporary = target.with_name(f"{target.name}.new")
        failure = _compile([str(self.prefix / "bin" / compiler), *words, "-o", str(temporary)])
        if not failure:
            os.replace(temporary, target)
        return failure

    def _words(self, name: str, source: Path) -> list[str]:
        words = [*FLAGS[source.suffix], str(source)]
        if name.startswith(TOOL):
            return words + ["-shared", "-fPIC"]
        if source.suffix in (".c", ".cpp"):
            words += [str(self.folder / f"{COMMON}.o"), "-lpthread"]
            words += ["-shared", "-fPIC"] if name.startswith(EPOP) else []
            return words + (["-ladapt_data"] if name.startswith((DATA, EPOP)) else [])
        words += ["-J", str(self.folder / f"modules-{name}")]
        (self.folder / f"modules-{name}").mkdir(exist_ok=True)
        words += ["-ladapt_data"] if name.startswith(DATA) else []
        return words + (["-lmpidynres"] if name.startswith(DYNRES) else [])
