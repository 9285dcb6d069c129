"""Larger default types of Fortran: the sizes of the types by which data with gaps are transferred (defect 49), and their
data in external32 (defect 45)."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from support.folders import BUILD, ROOT

TREE = BUILD / "mpich"
SOURCE = "src/mpi/datatype/typerep/src/typerep_yaksa_init.c"
OBJECT = "src/mpi/datatype/typerep/src/lib_libmpi_la-typerep_yaksa_init.lo"

# Bytes of each type: as configured, and with options of gfortran.
USUAL: dict[str, int] = {}
REALS = {"REAL": 8, "COMPLEX": 16, "2REAL": 16, "DOUBLE_PRECISION": 16, "DOUBLE_COMPLEX": 32, "2DOUBLE_PRECISION": 32}
INTEGERS = {"INTEGER": 8, "LOGICAL": 8, "2INTEGER": 16}


def header_with(sizes: dict[str, int]) -> str:
    """mpi.h, whose handles have the size in their third byte."""
    text = (TREE / "src/include/mpi.h").read_text()
    for name, size in sizes.items():
        handle = rf"(#define MPI_{name}\s+\(\(MPI_Datatype\)0x4c00)[0-9a-f]{{2}}([0-9a-f]{{2}}\))"
        text, found = re.subn(handle, rf"\g<1>{size:02x}\g<2>", text)
        assert found == 1, f"mpi.h has {found} times MPI_{name}"
    return text


def flags() -> list[str]:
    """Of make, by which the library's file is compiled."""
    command = ["make", "-n", "V=1", "-W", SOURCE, OBJECT]
    lines = subprocess.run(command, cwd=TREE, capture_output=True, text=True, check=True).stdout.splitlines()
    words = shlex.split(next(line for line in lines if line.endswith(SOURCE) and "--mode=compile" in line))
    return [word for word in words if re.match(r"-[DI].", word)]


def lines_of(name: str, sizes: dict[str, int], folder: Path) -> list[str]:
    """What the program prints, compiled with these sizes."""
    (folder / "mpi.h").write_text(header_with(sizes))
    program = folder / name
    compiler = ["gcc", "-w", f"-I{folder}", "-include", str(folder / "mpi.h"), *flags(), "-o", str(program)]
    files = [str(ROOT / f"test/unit/{name}.c"), "modules/yaksa/.libs/libyaksa.a"]
    subprocess.run([*compiler, *files, "-Llib/.libs", "-lmpi", "-lm", "-lpthread"], cwd=TREE, check=True)
    environment = {"LD_LIBRARY_PATH": str(TREE / "lib/.libs")}
    return subprocess.run([program], env=environment, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize("sizes", [USUAL, REALS | INTEGERS], ids=["usual", "larger"])
def test_sizes_of_types(sizes: dict[str, int], tmp_path: Path) -> None:
    lines = lines_of("fortran_sizes", sizes, tmp_path)
    assert len(lines) == 9, lines
    for line in lines:
        name, size, taken = line.split()
        assert size == taken, f"{name} has {size} bytes, and {taken} are transferred"
        assert int(size) == sizes.get(name.removeprefix("MPI_"), int(size)), line


def test_external32_has_the_sizes_of_the_standard(tmp_path: Path) -> None:
    """Numbers are rounded to these sizes, and integers lose upper bytes."""
    assert lines_of("external32_fortran", REALS | INTEGERS, tmp_path) == []
