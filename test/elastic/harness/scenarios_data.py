"""Scenarios: programs of the documentation about data, converted programs, Python."""

from __future__ import annotations

import difflib
import re
import subprocess
import sys
import time
from pathlib import Path

from . import checks
from .job import Skip, TestRun
from .scenarios import SOURCES, scenario, unpack_debian


# ---- the page doc/user/published-interface.md -------------------------------------------------------------------

PAGE = Path(__file__).resolve().parents[3] / "doc" / "user" / "published-interface.md"

NUMBERS = 1000  # as in the page's program


def _page_program(run: TestRun) -> Path:
    """The page's pieces of C, in their order, are one program."""
    pieces = re.findall(r"^```c\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    source = run.work / "rows.c"
    source.write_text("\n".join(pieces), encoding="utf-8")
    program = run.work / "rows"
    mpicc = str(run.setting.prefix / "bin" / "mpicc")
    done = run.start([mpicc, "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", str(source), "-o", str(program)])
    run.check(done.wait() == 0, "the page's program does not compile")
    return program


@scenario
def interface_page(run: TestRun) -> None:
    """The page's program survives growth, the leaving of rank 0 and a move of everybody; its file has every line, in order."""
    program = _page_program(run)
    diary = run.work / "rows.diary"
    for iterations in (500, 4000, 16000):  # until the program is longer than its adaptations
        diary.unlink(missing_ok=True)
        run.log_path.unlink(missing_ok=True)
        options = ["--adapt-schedule", "4,3/leave=0,2,2/leave=0+1", "--adapt-log", str(run.log_path)]
        job = run.mpiexec(options, [str(iterations)], 2, str(program))
        run.check(job.wait() == 0, f"exit code {job.process.returncode}")
        first = sum(range(NUMBERS))
        wanted = [f"{i} {first + NUMBERS * i}" for i in range(1, iterations + 1)]
        run.check(diary.read_text().splitlines() == wanted, "the diary is not whole")
        run.check(job.lines[0] == f"rows: {NUMBERS} numbers", f"it begins with {job.lines[:2]}")
        run.check(job.lines[1:] and job.lines[1].startswith(f"rows: {iterations} iterations"), f"it prints {job.lines}")
        if [event["event"] for event in run.events()].count("committed") == 4:
            return
    run.fail("the adaptations were not all committed")


# ---- the programs of the pages doc/user/converting-*.md ------------------------------------------------------

CONVERTING = [  # in the order of the first page's table
    Path(__file__).resolve().parents[3] / "doc" / "user" / f"converting-{name}.md"
    for name in ("examples", "arrays", "particles", "task-queue", "library", "hydrodynamics")
]

DIFF = r"^```diff\n(.*?)^```"


def _converting_pages() -> str:
    return "".join(page.read_text(encoding="utf-8") for page in CONVERTING)


def _converted(run: TestRun, number: int) -> tuple[Path, Path]:
    """Before and after: a block has lines of one of them alone, and lines of both."""
    block = re.findall(DIFF, _converting_pages(), re.MULTILINE | re.DOTALL)[number]
    fortran = "end program" in block
    # what is called back has arguments that nobody needs
    compiler, flag = ("mpifort", "-Wno-unused-dummy-argument") if fortran else ("mpicc", "-std=gnu11")
    words = [str(run.setting.prefix / "bin" / compiler), "-O1", "-Wall", "-Wextra", "-Werror", flag]
    programs = []
    for name, other in (("before", "+"), ("after", "-")):
        source = run.work / f"{name}{'.f90' if fortran else '.c'}"
        source.write_text("".join(f"{line[1:]}\n" for line in block.splitlines() if line[:1] != other))
        library = ["-ladapt_data"] if name == "after" else []
        done = run.start([*words, str(source), "-o", str(run.work / name), *library])
        run.check(done.wait() == 0, f"the program {name} does not compile")
        programs.append(run.work / name)
    return programs[0], programs[1]


@scenario
def converted_lines(run: TestRun) -> None:
    """The table has the lines of the programs; where there is a number for such a code converted by hand, a third of it
    is enough, and 15 lines describe the moved data."""
    text = _converting_pages()
    reported = re.findall(r"^\| ([^|[]+) \| (\d+) \| (\d+) \| (\d+) \| (\d*)", text, re.MULTILINE)
    blocks = re.findall(DIFF, text, re.MULTILINE | re.DOTALL)
    run.check(len(reported) == len(blocks), f"{len(reported)} rows for {len(blocks)} programs")
    for (name, before, added, moves, by_hand), block in zip(reported, blocks, strict=True):
        run.check(f"## {name}\n" in text and text.index(f"## {name}\n") < text.index(block), f"{name}: no such heading")
        signs = [line[:1] for line in block.splitlines() if line[1:].strip()]
        counted = (len(signs) - signs.count("+"), signs.count("+"))
        run.check(counted == (int(before), int(added)), f"{name}: {counted} lines")
        if by_hand:
            run.check(3 * int(added) <= int(by_hand) and int(moves) <= 15, f"{name}: more than a third of {by_hand} lines")

CONVERTED_MOST = 40_000_000

CONVERTED_S = 4.0  # a run in which four adaptations are committed, on a machine that others use


def _compare(run: TestRun, before: Path, after: Path, least: int, record: Path | None = None, rigid_size: int = 2) -> None:
    """The elastic program prints and records the same as the rigid one, and has adapted as often as required."""
    amount = least
    while True:
        run.log_path.unlink(missing_ok=True)
        begin = time.monotonic()
        options = ["--adapt-schedule", "4,3/leave=0,2,2/leave=0+1", "--adapt-log", str(run.log_path)]
        elastic = run.mpiexec(options, [str(amount)], 2, str(after))
        run.check(elastic.wait() == 0, f"after: exit code {elastic.process.returncode}")
        run.check("yaksa" not in str(elastic.err), f"datatypes are left over: {elastic.err}")
        took_s = time.monotonic() - begin
        is_whole = [event["event"] for event in run.events()].count("committed") == 4
        if is_whole or amount == least:  # also of a program that ends before it adapts
            written = record.read_bytes() if record else b""
            rigid = run.mpiexec([], [str(amount)], rigid_size, str(before))
            run.check(rigid.wait() == 0, f"before: exit code {rigid.process.returncode}")
            run.check(elastic.lines == rigid.lines and len(rigid.lines) == 1, f"{elastic.lines}, not {rigid.lines}")
            run.check(not record or record.read_bytes() == written, f"{record} differs")
        if is_whole or amount >= CONVERTED_MOST:
            break
        # As long as its adaptations, and not ten times as long: what it takes is known from the last run.
        amount = min(amount * min(10, max(2, round(CONVERTED_S / took_s))), CONVERTED_MOST)
    run.check(is_whole, "the adaptations were not all committed")


@scenario
def converted(run: TestRun, number: str) -> None:
    """A program of the page, before and after."""
    _compare(run, *_converted(run, int(number)), 1000)

CODES = SOURCES.parent / "examples" / "converted"


@scenario
def converted_code(run: TestRun, name: str) -> None:
    """A larger program of examples/converted, before and after."""
    programs = []
    for stem in (f"{name}_rigid", name):
        source = next(CODES.glob(f"{stem}.*"))
        compiler, flag = ("mpifort", "-Wno-unused-dummy-argument") if source.suffix == ".F90" else ("mpicc", "-std=gnu11")
        words = [str(run.setting.prefix / "bin" / compiler), "-O1", "-Wall", "-Wextra", "-Werror", flag, str(source)]
        done = run.start([*words, "-o", str(run.work / stem), "-ladapt_data", "-lm"])
        run.check(done.wait() == 0, f"{source.name} does not compile: {done.err}")
        programs.append(run.work / stem)
    # Two rigid processes that poll starve each other beside other tests; the result does not depend on their number.
    _compare(run, programs[0], programs[1], 100, run.work / f"{name}.history", rigid_size=1)


@scenario
def converted_code_lines(run: TestRun) -> None:
    """The table of the larger programs on the page has the lines that are added and removed: at most a tenth of the program, 15
    for owners and moves, and no guard."""
    text = _converting_pages()
    reported = re.findall(r"^\| \[`(\w+)\.\w+`\][^|]* \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", text, re.MULTILINE)
    run.check(len(reported) == len(list(CODES.glob("*_rigid.*"))), f"{len(reported)} rows")
    for name, before, added, removed, moves in reported:
        old, new = (next(CODES.glob(f"{stem}.*")).read_text().splitlines() for stem in (f"{name}_rigid", name))
        old, new = ([line for line in lines if line.strip()] for lines in (old, new))
        lines = [line for line in difflib.unified_diff(old, new, n=0) if line[:3] not in ("+++", "---")]
        changes = [line[0] for line in lines]
        counted = (len(old), changes.count("+"), changes.count("-"))
        run.check(10 * counted[1] <= counted[0] and int(moves) <= 15, f"{name}: {counted[1]} lines, {moves} for moves")
        run.check(not [line for line in lines if line.startswith("+#if")], f"{name}: a guard")
        run.check(counted == (int(before), int(added), int(removed)), f"{name}: {counted}")


@scenario
def data_page(run: TestRun) -> None:
    """The whole program of doc/user/data-cpp.md."""
    text = (PAGE.parent / "data-cpp.md").read_text(encoding="utf-8")
    source, program = run.work / "page.cpp", run.work / "page"
    source.write_text("".join(re.findall(r"^```cpp\n(.*?)^```", text, re.MULTILINE | re.DOTALL)), encoding="utf-8")
    mpicxx = str(run.setting.prefix / "bin" / "mpicxx")
    words = [mpicxx, "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", str(source), "-o", str(program), "-ladapt_data"]
    run.check(run.start(words).wait() == 0, "the page's program does not compile")
    job = run.mpiexec([], [], 2, str(program))
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    run.check("yaksa" not in str(job.err), f"datatypes are left over: {job.err}")


@scenario
def data_gpu(run: TestRun, other: str = "") -> None:
    """Memory of a GPU is refused, with a stand-in for the driver of CUDA, for this version of HIP, or for Level Zero (ze)."""
    source = PROGRAMS.parent / "standin" / "libcuda.c"
    library = {"": "libcuda.so.1", "ze": "libze_loader.so.1"}.get(other, f"libamdhip64.so.{other}")
    words = ["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", f"-Wl,-soname,{library}", str(source)]
    words += ["-DSTANDIN_ZE"] if other == "ze" else [f"-DSTANDIN_HIP={other}"] if other else []
    made = run.start([str(run.setting.prefix / "bin" / "mpicc"), *words, "-o", str(run.work / library)])
    run.check(made.wait() == 0, f"the stand-in does not compile: {made.err}")
    job = run.mpiexec()
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    checks.pass_line(run, job, 1, 3)


# ---- Python --------------------------------------------------------------------------------------

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"


def _has_numpy(python: str) -> bool:
    try:
        return subprocess.run([python, "-c", "import numpy"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _python(run: TestRun, *folders: Path) -> str:
    """An interpreter, with NumPy if there is one, that finds elastic_mpi as it is installed, and what is in the folders."""
    package = run.setting.prefix / "lib" / "python3"
    run.check((package / "elastic_mpi" / "__init__.py").is_file(), f"no elastic_mpi in {package}")
    run.environment["PYTHONPATH"] = ":".join(str(folder) for folder in (package, *folders))
    run.environment["PYTHONDONTWRITEBYTECODE"] = "1"
    return next(filter(_has_numpy, (sys.executable, "/usr/bin/python3")), sys.executable)


@scenario
def python_program(run: TestRun, name: str) -> None:
    """A program of elastic_mpi."""
    schedule = ["4", "1", "3/leave=0", "2/leave=0+1+2"]
    options = ["--adapt-schedule", ",".join(schedule), "--adapt-log", str(run.log_path)]
    job = run.mpiexec(options, [str(PROGRAMS / f"{name}.py"), str(len(schedule))], 2, _python(run))
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    run.check(job.lines[-1:] and job.lines[-1].startswith(f"PASS epoch={len(schedule)} size=2"), f"{job.lines[-3:]}")
    run.check([event["event"] for event in run.events()].count("committed") == len(schedule), "not all committed")


@scenario
def python_jacobi(run: TestRun) -> None:
    """examples/python with the stand-in for mpi4py: the same bits as a rigid run; an mpi4py of another MPI is reported."""
    python = _python(run, PROGRAMS.parent / "standin")
    if not _has_numpy(python):
        raise Skip("no NumPy here")
    example = str(SOURCES.parent / "examples" / "python" / "jacobi.py")
    schedule = ["4", "1", "3/leave=0"]
    job = run.mpiexec(["--adapt-schedule", ",".join(schedule)], [example, "40", "200", str(len(schedule)), "5"], 2, python)
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    run.check(job.lines[0] == f"jacobi: {len(schedule)} adaptations", f"{job.lines}")
    sweeps = re.fullmatch(r"jacobi: after (\d+) sweeps .* temperatures [0-9a-f]{16}", job.lines[-1])
    count = sweeps[1] if sweeps else "0"
    run.check(int(count) >= 200, f"{job.lines}")
    rigid = run.mpiexec([], [example, "40", count], 4, python)
    run.check(rigid.wait() == 0, f"rigid: exit code {rigid.process.returncode}")
    run.check(rigid.lines == ["jacobi: 0 adaptations", job.lines[-1]], f"{rigid.lines} and not {job.lines}")
    run.environment["STANDIN_FOREIGN"] = "1"
    foreign = run.mpiexec([], [example], 1, python)
    run.check(foreign.wait() != 0, "an mpi4py of another MPI is taken")
    printed = "it is linked with another MPI, Another MPI 1.0. Compile one with this MPI: MPICC="
    run.check(printed in foreign.err, f"it prints {foreign.err!r}")


def _debian_mpich(run: TestRun) -> dict[str, Path]:
    top = unpack_debian(run, "libmpich12", "libmpich-dev", "mpich")
    libraries = next(top.glob("usr/lib/*-linux-gnu"))
    return {"mpiexec": top / "usr" / "bin" / "mpiexec.hydra", "include": top / "usr" / "include" / libraries.name / "mpich",
            "modules": next(libraries.glob("fortran/gfortran-mod-*/mpich")), "libraries": libraries, "links": libraries}  # fmt: skip


OPENMPI = ("libopenmpi3", "libopenmpi-dev", "openmpi-bin", "openmpi-common", "libpmix2", "libucx0", "libevent-core-2.1-7",
           "libevent-pthreads-2.1-7")  # fmt: skip


def _debian_openmpi(run: TestRun) -> dict[str, Path]:
    """It finds its own files by the variables that are set here."""
    top = unpack_debian(run, *OPENMPI, version="*")
    libraries = next(top.glob("usr/lib/*-linux-gnu"))
    own = libraries / "openmpi"
    run.environment["LD_LIBRARY_PATH"] = f"{libraries}:{own / 'lib'}"
    run.environment |= {"OPAL_PREFIX": str(top / "usr"), "PMIX_INSTALL_PREFIX": str(top / "usr")}
    run.environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    run.environment |= {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_btl": "self,vader", "OMPI_MCA_pml": "ob1"}
    return {"mpiexec": top / "usr" / "bin" / "orterun", "include": own / "include",
            "modules": next(libraries.glob("fortran/gfortran-mod-*/openmpi")), "libraries": libraries, "links": own / "lib"}  # fmt: skip


@scenario
def data_stub(run: TestRun, which: str = "mpich") -> None:
    """Programs without #ifdef, in C and Fortran, and the library compiled with Debian's MPICH or Open MPI: the world never
    changes, and they print the same."""
    before, _ = _converted(run, 0)
    ours = {"stub_c": run.mpiexec([], ["50"], 2, str(before)), "stub_fortran": run.mpiexec([], ["10"], 2, str(run.program()))}
    run.check(all(job.wait() == 0 for job in ours.values()), "with this MPI a program fails")
    theirs = _debian_openmpi(run) if which == "openmpi" else _debian_mpich(run)
    in_c, in_fortran = ("mpi", "mpi_usempif08 mpi_mpifh mpi") if which == "openmpi" else ("mpich", "mpichfort mpich")
    link = [f"-L{theirs['links']}", f"-Wl,-rpath,{theirs['libraries']}", "-Wl,--allow-shlib-undefined"]
    library = run.folder / "library"
    words = [f"BUILD={library}", "CC=gcc", "CFLAGS=-O1", "FC=gfortran", "RIGID=1", f"MPI_INCLUDE={theirs['include']}"]
    made = run.start(["make", "-s", "-f", str(SOURCES / "adapt_data" / "Makefile"), *words])
    run.check(made.wait() == 0 and not made.err, f"the library does not compile: {made.err}")
    headers = [f"-I{folder}" for folder in (theirs["include"], SOURCES / "adapt_data")]
    strict = ["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", *headers, str(run.work / "after.c")]
    source = Path(__file__).resolve().parents[1] / "programs" / "data_stub.f90"
    modern = ["gfortran", f"-I{theirs['modules']}", f"-I{library}", f"-J{run.work}", str(source)]
    for name, compile_it, libraries in (("stub_c", strict, in_c), ("stub_fortran", modern, in_fortran)):
        words = ["-o", str(run.work / name), f"-L{library}", "-ladapt_data", *link, *(f"-l{one}" for one in libraries.split())]
        compiled = run.start([*compile_it, *words])
        run.check(compiled.wait() == 0, f"{name} does not compile: {compiled.err}")
    mpiexec = str(theirs["mpiexec"])
    if which == "mpich" and run.start([str(run.work / "stub_c"), "1"]).wait() == 127:
        # The dependencies of Debian's library are not here.  Ours has its names; what was compiled for Debian's calls
        # nothing else.
        run.environment["LD_LIBRARY_PATH"] = str(run.setting.prefix / "lib")
        mpiexec = str(run.setting.prefix / "bin" / "mpiexec")
    for name, amount in (("stub_c", "50"), ("stub_fortran", "10")):
        job = run.start([mpiexec, "-n", "2", str(run.work / name), amount])
        run.check(job.wait() == 0, f"{name}: exit code {job.process.returncode}: {job.err}")
        run.check(job.lines == ours[name].lines and len(job.lines) == 1, f"{name}: {job.lines}, not {ours[name].lines}")
