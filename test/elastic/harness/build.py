"""Compiles the test programs with the compilers of the tree under test."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
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


@dataclass
class Built:
    """Where the programs are, and what the compilers said about those that are not."""

    folder: Path
    failures: dict[str, str] = field(default_factory=dict)

    def program(self, name: str) -> Path:
        return self.folder / name


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


def build(prefix: Path, programs: Path, names: set[str], folder: Path, jobs: int) -> Built:
    """Builds the named programs into `folder`.  A program that does not compile fails its tests."""
    built = Built(folder)
    known = sources(programs)
    common = folder / f"{COMMON}.o"
    failure = _compile(
        [str(prefix / "bin" / "mpicc"), *FLAGS[".c"], "-fPIC", "-c", str(programs / f"{COMMON}.c")]
        + ["-o", str(common)]
    )
    if failure:
        built.failures = {name: failure for name in names}
        return built

    def one(name: str) -> tuple[str, str]:
        source = known.get(name)
        if source is None:
            return name, f"no program {name} in {programs}"
        command = [str(prefix / "bin" / COMPILERS[source.suffix]), *FLAGS[source.suffix]]
        command += [str(source), "-o", str(folder / name)]
        if name.startswith(TOOL):
            command += ["-shared", "-fPIC"]
        elif source.suffix in (".c", ".cpp"):
            command += [str(common), "-lpthread"]
            command += ["-shared", "-fPIC"] if name.startswith(EPOP) else []
            command += ["-ladapt_data"] if name.startswith((DATA, EPOP)) else []
        else:
            command += ["-J", str(folder)]
            command += ["-ladapt_data"] if name.startswith(DATA) else []
            command += ["-lmpidynres"] if name.startswith(DYNRES) else []
        return name, _compile(command)

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        for name, failure in pool.map(one, sorted(names)):
            if failure:
                built.failures[name] = failure
    return built
