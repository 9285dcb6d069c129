"""Scenarios: EPOP and the case studies."""

from __future__ import annotations

import json
import re
import shutil
import time
from pathlib import Path
from typing import Any

from . import checks, schedule
from .job import Job, TestRun
from .scenarios import GRAPH_LOG, SOURCES, scenario, unpack_debian


@scenario
def epop_same_output(run: TestRun, other: str) -> None:
    """The same program without EPOP prints the same."""
    job = run.mpiexec()
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    checks.pass_line(run, job, len(run.test.changes), run.test.final_size)
    plain = run.start(
        [str(run.setting.prefix / "bin" / "mpiexec"), "-n", str(run.test.processes), *run.test.options]
        + [run.program(other), *run.test.arguments]
    )
    run.check(plain.wait() == 0, f"exit code {plain.process.returncode}")
    run.check(len(job.lines) == 7 and job.lines == plain.lines, f"{job.lines} and {plain.lines} are not the same")


@scenario
def epop_progress(run: TestRun) -> None:
    """The position of a program of phases, and the time of its phases, as reported: not its call sites of MPI."""
    path = run.folder / "samples"
    job = run.mpiexec(["--adapt-performance", str(path)])
    job.await_line("^READY$")

    def newest() -> dict[str, Any]:
        lines = path.read_text().splitlines() if path.exists() else []
        return json.loads(lines[-1]) if lines else {}

    def await_once(name: str, element: int) -> None:
        """A rigid phase without condition: reported although nothing is measured in it, and left when the file
        exists."""

        def is_there() -> dict[str, Any] | None:
            phase = newest().get("phase")
            return phase if phase and (phase["element"], phase["processes"]) == (element, 3) else None

        phase = run.await_value(is_there, f"a sample in {name}")
        reported = (phase["name"], phase["rigid"], phase["iteration"], phase["total"], phase["iteration_us"])
        run.check(reported == (name, True, 0, 1, None), f"the phase is {phase}")
        table = run.elastic("loops", str(run.step()["step"]))
        run.check(f"\nphase {name}, a rigid phase\n" in table.stdout, f"loops prints {table.stdout}{table.stderr}")
        (run.work / name).touch()

    def known() -> dict[str, Any] | None:
        last = newest()
        return last if last.get("phase") and len(last["loops"]) == 5 and last["phase"]["iteration_us"] else None

    await_once("setup", 1)

    first = run.await_value(known, "a sample with a phase")
    phase = first["phase"]
    run.check((phase["name"], phase["element"], phase["rigid"]) == ("solve", 2, False), f"the phase is {phase}")
    run.check((phase["processes"], phase["total"]) == (3, 1000000), f"the phase is {phase}")
    elastic, *phases = first["loops"]
    run.check((elastic["key"], elastic["ranks"]) == ("probe", "0-2"), f"the first loop is {elastic}")
    reported = {loop["name"]: (loop["items"], loop["parent"], loop["ranks"]) for loop in phases}
    wanted = {"solve": (["elastic_phase"], None, "0-2")}
    wanted |= {name: (["rigid_phase"], None, "0-2") for name in ("setup", "between", "output")}
    run.check(reported == wanted, f"the loops are {reported}")
    run.check(not any(loop["iterations"] for loop in phases if loop["name"] != "solve"), f"the loops are {phases}")
    solve = next(loop for loop in phases if loop["name"] == "solve")
    run.check(0 < solve["mpi_us"] <= solve["loop_us"] and solve["iterations"] > 0, f"the phase took {solve}")
    run.check(elastic["iterations"] >= solve["iterations"], f"more of the phase than of the loop: {first['loops']}")

    def goes_on() -> bool:
        later = known()
        return later is not None and later["phase"]["iteration"] > phase["iteration_max"]

    run.await_value(goes_on, "a later iteration")
    table = run.elastic("loops", str(run.step()["step"]))
    printed = re.search(r"^phase solve: \d+ of 1000000 iterations, about \d+ h left$", table.stdout, re.MULTILINE)
    run.check(printed is not None, f"loops prints {table.stdout}{table.stderr}")
    (run.work / "solve").touch()
    await_once("between", 3)
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")


@scenario
def epop_same_share(run: TestRun) -> None:
    """M5: the same iterations by hand and as a phase, with a known share of MPI time: both measure the same.

    Both run at the same time, so that other load of the machine affects both.  They sleep, and leave cores free.
    """
    source = SOURCES.parent / "bench" / "phases" / "phases.c"
    styles: dict[str, list[str]] = {"probe": [], "work": ["-DPHASES_EPOP", "-lepop", "-ladapt_data"]}
    for style, words in styles.items():
        compiler = str(run.setting.prefix / "bin" / "mpicc")
        done = run.start([compiler, "-std=gnu11", "-Wall", "-Wextra", "-Werror", str(source), "-o", style, *words, "-lm"])
        run.check(done.wait() == 0, f"it does not compile: {done.err}")
    mpiexec = str(run.setting.prefix / "bin" / "mpiexec")
    jobs = [run.start([mpiexec, "-n", "4", f"./{style}", "-i", "60", "-w", "400", "-m", "0.5"]) for style in styles]
    phases: dict[str, dict[str, Any]] = {}
    while any(job.process.poll() is None for job in jobs):
        rows = [json.loads(line) for line in run.elastic("ps", "--json").stdout.splitlines()]
        for row in rows:
            answer = run.elastic("loops", str(row["step"]), "--json")
            for loop in json.loads(answer.stdout).get("loops", []) if answer.returncode == 0 else []:
                phases.update({style: loop for style in styles if style in (loop["key"], loop.get("name"))})
        time.sleep(0.2)
    run.check(all(job.wait() == 0 for job in jobs), f"exit codes {[job.process.returncode for job in jobs]}")
    shares = []
    for style in styles:
        phase = phases.get(style)
        run.check(phase is not None and phase["ranks"] == "0-3" and phase["iterations"] >= 40, f"{style}: {phase}")
        assert phase
        mean_us = phase["loop_us"] / phase["iterations"]
        run.check(mean_us > 175000, f"iterations of 100 and 80 ms cannot take {mean_us} us")
        shares.append(phase["mpi_us"] / (phase["loop_us"] - phase["mpi_us"]))
    by_hand, as_phase = shares
    # processes that a busy machine wakes late let the others wait: more time in MPI, of both equally
    run.check(by_hand > 0.4 and 0.8 < by_hand / as_phase < 1.25, f"time in MPI for time outside: {shares}, not 0.5")


@scenario
def epop_alone(run: TestRun) -> None:
    """P6: started by hand, without mpiexec."""
    job = run.start([str(run.setting.prefix / "bin" / "epop"), run.program(), *run.test.arguments])
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    checks.pass_line(run, job, 0, 1)


@scenario
def epop_stock(run: TestRun) -> None:
    """E4: the driver's sources and an archive's, with Debian's MPI."""
    top = unpack_debian(run, "libmpich12", "libmpich-dev", "mpich")
    libraries = next(top.glob("usr/lib/*-linux-gnu"))
    include = top / "usr" / "include" / libraries.name / "mpich"
    link = f"-L{libraries} -Wl,-rpath,{libraries} -Wl,--allow-shlib-undefined -lmpich"
    driver = run.folder / "driver"
    made = run.start(
        ["make", "-s", "-f", str(SOURCES / "epop" / "Makefile"), f"BUILD={driver}", "CC=gcc", "CFLAGS=-O1"]
        + [f"MPI_INCLUDE={include}", f"MPI_LIBS={link}"]
    )
    run.check(made.wait() == 0 and not made.err, f"the driver does not compile: {made.err}")
    source = Path(__file__).resolve().parents[1] / "programs" / f"{run.test.program}.c"
    headers = [f"-I{folder}" for folder in (include, SOURCES / "epop", SOURCES / "adapt_data")]
    archive = run.work / "archive.so"
    words = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", *headers, str(source), "-o", str(archive)]
    compiled = run.start(["gcc", *words, *link.split()])
    run.check(compiled.wait() == 0, f"the archive does not compile: {compiled.err}")
    mpiexec = str(top / "usr" / "bin" / "mpiexec.hydra")
    if run.start([str(driver / "epop"), "--help"]).wait() == 127:
        # The dependencies of Debian's library are not here.  Ours has its names; what was compiled for Debian's calls
        # nothing else.
        run.environment["LD_LIBRARY_PATH"] = str(run.setting.prefix / "lib")
        mpiexec = str(run.setting.prefix / "bin" / "mpiexec")
    job = run.start([mpiexec, "-n", str(run.test.processes), str(driver / "epop"), "--check", "archive"])
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    run.check(job.lines == [f"PASS {run.test.processes} 10"], f"it prints {job.lines}")


def _epop(run: TestRun, *words: str) -> Job:
    job = run.start([str(run.setting.prefix / "bin" / "epop"), *words])
    job.wait()
    return job


def _archive(run: TestRun, name: str, text: str) -> None:
    """An archive in the working directory."""
    source = run.folder / "archive.c"
    source.write_text(text)
    mpicc = str(run.setting.prefix / "bin" / "mpicc")
    done = run.start([mpicc, "-shared", "-fPIC", str(source), "-o", str(run.work / name)])
    run.check(done.wait() == 0, f"{name} does not compile: {done.err}")


@scenario
def epop_archives(run: TestRun) -> None:
    """E1: valid archives, the search for them, and messages for invalid ones; before MPI, with code 2."""
    _archive(run, "empty.so", "int something;\n")
    _archive(run, "headless", "int *get_program(void) { return 0; }\n")
    entry = "#include <epop.h>\nprogram_t *get_program(void) { return 0; }\n"
    _archive(run, "null.so", entry)
    _archive(run, "old.so", "const int epop_archive_abi = 77;\nint *get_program(void) { return 0; }\n")
    _archive(run, "undefined.so", entry.replace("return 0", "extern program_t *nowhere(void); return nowhere()"))
    (run.work / "text").write_text("no object\n")
    (run.work / "folder").mkdir()
    for name, why in (
        ("nothing", "there is no such file, nor one with the ending .epop or .so"),
        ("folder", "there is no such file"),
        ("libc.so.6", "there is no such file"),  # not searched for in the folders of libraries
        ("text", "cannot be loaded as an archive"),
        ("undefined", "undefined symbol: nowhere"),
        ("empty", "it has no function get_program"),
        ("headless", "was not compiled with epop.h"),
        ("old", "epop.h of version 77, and this driver is of version 2"),
        ("null", "get_program has returned NULL"),
    ):
        job = _epop(run, name)
        run.check(job.process.returncode == 2, f"{name}: exit code {job.process.returncode}")
        run.check(job.err.startswith("epop: ") and name in job.err and why in job.err, f"{name}: {job.err!r}")
        run.check(len(job.err.splitlines()) == 1, f"{name}: {job.err!r}")
    shutil.copy(run.program(), run.work / "p.so")
    shown = _epop(run, "--print", "p")
    structure = json.loads(shown.out)
    kinds = [(element["pc"], element["type"], element["name"]) for element in structure["elements"]]
    wanted = [(0, "INIT", "init"), (1, "EP", "solve"), (2, "EP", "smooth"), (3, "BRANCH", "back"), (4, "RP", "output")]
    run.check(shown.process.returncode == 0 and structure["program"] == "phases" and kinds == wanted, shown.out)
    # p.epop comes before p.so, p before both
    shutil.copy(run.work / "p.so", run.work / "p.epop")
    (run.work / "p.so").write_text("no object\n")
    run.check(_epop(run, "--print", "p").process.returncode == 0, "p.epop is not taken")
    (run.work / "p").write_text("no object\n")
    run.check(_epop(run, "--print", "./p").process.returncode == 2, "p is not taken")
    run.check(_epop(run, "--print", str(run.work / "p.epop")).process.returncode == 0, "a path is not taken")
    for words, code in (((), 2), (("--unknown", "p"), 2), (("--help",), 0)):
        run.check(_epop(run, *words).process.returncode == code, f"{words}: not exit code {code}")


@scenario
def epop_structure(run: TestRun) -> None:
    """W2: joining processes that run another program end the job; both structures are reported."""
    job = run.mpiexec(["--adapt-log", str(run.log_path)])
    job.await_line("^READY$")
    run.await_event("adaptive")
    (run.work / "other").touch()
    run.elastic("resize", str(run.step()["step"]), "3")
    run.check(job.wait() == 1, f"exit code {job.process.returncode}")
    reported = re.search(r"joins a program of another structure: it has (\w{16}), the others have (\w{16})", job.err)
    run.check(reported and reported[1] != reported[2], f"it prints {job.err!r}")

EXAMPLES = SOURCES.parent / "examples"


def _case_study(run: TestRun, name: str) -> tuple[list[str], list[str]]:
    """Its commands, by hand and as phases."""
    folder = run.work / "examples"
    made = run.start(
        ["make", "-s", "-C", str(EXAMPLES), f"MPICC={run.setting.prefix / 'bin' / 'mpicc'}", f"BUILD={folder}"]
        + [str(folder / f"{name}_plain"), str(folder / f"{name}.epop")]
    )
    run.check(made.wait() == 0 and not made.err, f"{name} does not compile: {made.err}")
    driver = str(run.setting.prefix / "bin" / "epop")
    return [str(folder / f"{name}_plain")], [driver, "--check", str(folder / name)]


def _adapt_study(run: TestRun, command: list[str]) -> Job:
    """With the adaptations of the test."""
    run.log_path.unlink(missing_ok=True)
    mpiexec = [str(run.setting.prefix / "bin" / "mpiexec"), "-n", str(run.test.processes)]
    options = [*run.test.options, "--adapt-log", str(run.log_path)]
    job = run.start([*mpiexec, *options, *command, *run.test.arguments])
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    sizes = [event["size"] for event in run.events() if event["event"] == "committed"]
    run.check(sizes == [change.size for change in run.test.changes], f"sizes {sizes}")
    return job


def _same_bits(run: TestRun, name: str, count: str, job: Job, others: tuple[list[str], list[str]]) -> None:
    """The results of `job` equal those without adaptations, on one process and on four."""
    reported = re.fullmatch(rf"{name}: after (\d+) (.*)", job.lines[-1])
    run.check(reported, f"it prints {job.lines[-1]}")
    assert reported
    mpiexec, (plain, phases) = str(run.setting.prefix / "bin" / "mpiexec"), others
    for n, other in (("1", phases), ("4", plain)):
        rigid = run.start([mpiexec, "-n", n, *other, *run.test.arguments[:2], f"--{count}", reported[1]])
        run.check(rigid.wait() == 0, f"exit code {rigid.process.returncode}")
        run.check(rigid.lines[-1] == job.lines[-1], f"{rigid.lines[-1]} without adaptations, {job.lines[-1]} with")


@scenario
def epop_example(run: TestRun, name: str, count: str, moved: str = "") -> None:
    """A case study, by hand and as phases: the results have the same bits as without adaptations.  `count` is the
    option for the length of the run, `moved` the number of rows that its windows send."""
    commands = _case_study(run, name)
    for command in commands:
        job = _adapt_study(run, command)
        wanted = f"{name}: {len(run.test.changes)} adaptations" + (f", {moved} rows moved" if moved else "")
        run.check(job.lines[-2] == wanted, f"it prints {job.lines[-2:]}")
        _same_bits(run, name, count, job, commands)


def _loops_logged(path: Path) -> set[str]:
    """Of a process' log, its loops by the sites of their heads."""
    lines = path.read_text().splitlines()
    first, end = (next(i for i, line in enumerate(lines) if line.startswith(word)) for word in ("Sites ", "Loops "))
    sites = dict(line.split(": ", 1) for line in lines[first + 1 : end])
    return {sites[line.split(":")[0]] for line in lines[end + 1 :] if ":" in line}


@scenario
def cannon_loops(run: TestRun) -> None:
    """SPEC-performance G, figure 14.4: the merged loops of a multiplication are those of all processes, and each
    process has found the same ones by itself.  (Scenario samples: loops of one process alone are not merged.)"""
    path = run.folder / "samples"
    command, _ = _case_study(run, "cannon")
    mpiexec = [str(run.setting.prefix / "bin" / "mpiexec"), "-n", str(run.test.processes), "--adapt-performance", str(path)]
    job = run.start([*mpiexec, "-genv", GRAPH_LOG, str(run.folder / "graph"), *command, *run.test.arguments])
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    loops = json.loads(path.read_text().splitlines()[-1])["loops"]
    every = f"0-{run.test.processes - 1}"
    run.check([loop["parent"] for loop in loops] == [None, "probe"], f"not a loop in the loop that probes: {loops}")
    run.check(all((loop["ranks"], loop["processes"]) == (every, run.test.processes) for loop in loops), f"whose loops? {loops}")
    logged = {rank: _loops_logged(run.folder / f"graph.{rank}") for rank in range(run.test.processes)}
    heads = {"PROBE", f"P2P {loops[1]['name']}"}
    for rank, found in logged.items():
        names = {re.sub(r"(?<=P2P ).*/", "", site) for site in found}
        run.check(names == heads, f"rank {rank} has the loops {names}, all together {heads}")


def _owners(world: list[int], n: int, split: int) -> dict[int, int]:
    """Of rows `split` to n - 1, evenly."""
    left, size = n - split, len(world)
    ranges = [(split + rank * left // size, split + (rank + 1) * left // size) for rank in range(size)]
    return {row: process for process, (low, high) in zip(world, ranges, strict=True) for row in range(low, high)}


def _rows_moved(n: int, positions: list[tuple[int, int]], changes: list[schedule.Change]) -> int:
    """The rows whose owner changes, by windows before these columns of these systems: remaining rows are split evenly,
    finished ones stay, or move to the preceding staying process.  Processes are numbered in the order in which they
    joined."""
    world, moved, split, system = list(range(changes[0].before)), 0, 0, 1
    born, finished = len(world), dict[int, int]()
    for change, (column, now) in zip(changes, positions, strict=True):
        if now != system:
            split, system, finished = 0, now, {}
        before = _owners(world, n, split)
        finished |= {row: before[row] for row in range(split, column)}
        staying = [process for rank, process in enumerate(world) if rank not in change.leaving]
        coming = [*staying, *range(born, born + change.joining)]
        born += change.joining
        after = _owners(coming, n, column)
        moved += sum(before[row] != after[row] for row in range(column, n))
        moved += sum(owner not in staying for owner in finished.values())
        successors = {
            process: next((other for other in reversed(world[:rank]) if other in staying), coming[0])
            for rank, process in enumerate(world)
        }
        finished = {row: owner if owner in staying else successors[owner] for row, owner in finished.items()}
        world, split = coming, column
    return moved


@scenario
def epop_balance(run: TestRun) -> None:
    """C6, --balance: after each window no process has more than an even part of the remaining rows, only rows whose
    owner changes have been sent, and the solutions have the same bits."""
    commands = _case_study(run, "gauss")
    line = r"gauss: (\d+) processes from column (\d+) of system (\d+) on, with up to (\d+) rows each"
    n, changes = int(run.test.arguments[1]), run.test.changes
    for command in commands:
        job = _adapt_study(run, command)
        found = [match for each in job.lines if (match := re.fullmatch(line, each))]
        reported = [tuple(int(number) for number in match.groups()) for match in found]
        sizes = [changes[0].before, *(change.size for change in changes)]
        run.check([size for size, *_ in reported] == sizes, f"it prints {job.lines}")
        for size, column, _, most in reported:
            run.check(most == -(-(n - column) // size), f"{most} of {n - column} rows on one of {size} processes")
        moved = _rows_moved(n, [(column, system) for _, column, system, _ in reported[1:]], changes)
        wanted = f"gauss: {len(changes)} adaptations, {moved} rows moved"
        run.check(job.lines[-2] == wanted, f"it prints {job.lines}, but should {wanted}")
        _same_bits(run, "gauss", "systems", job, commands)


@scenario
def fortran_solver(run: TestRun) -> None:
    """examples/elastic_cg.F90: the solutions have the same bits as without adaptations."""
    program = run.work / "examples" / "elastic_cg"
    compilers = [f"{name}={run.setting.prefix / 'bin' / tool}" for name, tool in (("MPICC", "mpicc"), ("MPIFC", "mpifort"))]
    flags = "FCFLAGS=-O2 -Wall -Wextra -Werror"
    made = run.start(["make", "-s", "-C", str(EXAMPLES), *compilers, flags, f"BUILD={program.parent}", str(program)])
    run.check(made.wait() == 0 and not made.err, f"elastic_cg does not compile: {made.err}")
    job = _adapt_study(run, [str(program)])
    run.check("leaked" not in job.err, f"it complains: {job.err}")
    run.check(job.lines[-2] == f"cg: {len(run.test.changes)} adaptations", f"it prints {job.lines}")
    reported = re.fullmatch(r"cg: after (\d+) systems the solutions are [0-9A-F]{16}", job.lines[-1])
    run.check(reported, f"it prints {job.lines}")
    assert reported
    seen = [int(line.split()[1]) for line in job.lines if " processes after iteration " in line]
    run.check(seen == [change.size for change in run.test.changes], f"it prints {job.lines}")
    for processes in ("1", "3"):
        mpiexec = [str(run.setting.prefix / "bin" / "mpiexec"), "-n", processes]
        rigid = run.start([*mpiexec, str(program), run.test.arguments[0], reported[1]])
        run.check(rigid.wait() == 0, f"exit code {rigid.process.returncode}")
        run.check(rigid.lines[-1] == job.lines[-1], f"{rigid.lines[-1]} without adaptations, {job.lines[-1]} with")


@scenario
def epop_no_square(run: TestRun) -> None:
    """C4: a number of processes that makes no square grid is refused at launch, and does not occur later."""
    folder = run.work / "examples"
    words = [f"MPICC={run.setting.prefix / 'bin' / 'mpicc'}", f"BUILD={folder}", str(folder / "cannon.epop")]
    made = run.start(["make", "-s", "-C", str(EXAMPLES), *words])
    run.check(made.wait() == 0, f"cannon does not compile: {made.err}")
    mpiexec, driver = (str(run.setting.prefix / "bin" / word) for word in ("mpiexec", "epop"))
    job = run.start([mpiexec, "-n", "3", driver, str(folder / "cannon")])
    run.check(job.wait() == 1, f"exit code {job.process.returncode}")
    options = ["--adapt-schedule", "3,4", "--adapt-log", str(run.log_path)]
    job = run.start([mpiexec, "-n", "1", *options, driver, str(folder / "cannon"), "--adaptations", "1", "--sleep", "5"])
    run.check(job.wait() == 0 and "the program cannot use 3" in job.err, f"it prints {job.err!r}")
    sizes = [event["size"] for event in run.events() if event["event"] == "committed"]
    run.check(sizes == [4], f"sizes {sizes}")

EPOP_PAGES = [SOURCES.parent / "doc" / "user" / name for name in ("epop.md", "epop-cpp.md")]


@scenario
def epop_linked_check(run: TestRun) -> None:
    """A program that the driver is linked to: EPOP_CHECK=1 stands for --check."""
    entry = run.work / "entry.c"
    entry.write_text("#include <epop.h>\nint main(int argc, char **argv) { return epop_main(argc, argv, get_program); }\n")
    programs = Path(__file__).parents[1] / "programs"
    sources = [str(entry), *(str(programs / f"{name}.c") for name in ("epop_wrong", "elastic_test"))]
    words = ["-std=gnu11", f"-I{programs}", *sources, "-o", "linked", "-lepop", "-ladapt_data", "-lpthread"]
    done = run.start([str(run.setting.prefix / "bin" / "mpicc"), *words])
    run.check(done.wait() == 0, f"it does not compile: {done.err}")
    mpiexec = str(run.setting.prefix / "bin" / "mpiexec")
    options = ["-genv", "EPOP_CHECK", "1", "--adapt-schedule", "3"]
    job = run.start([mpiexec, "-n", "2", *options, "./linked", "--what", "total"])
    printed = "".join(job.err) if job.wait() == 2 else f"exit code {job.process.returncode}"
    run.check("loop_total, after " in printed and "is not the same on all ranks" in printed, f"it prints {printed}")


@scenario
def epop_page(run: TestRun) -> None:
    """The programs of the two pages compile and have the same result with and without adaptations."""
    text = "".join(page.read_text(encoding="utf-8") for page in EPOP_PAGES)
    languages = {"c": ["mpicc", "-std=gnu11", "-ladapt_data"], "cpp": ["mpicxx", "-std=c++20"]}
    for kind, (compiler, standard, *libraries) in languages.items():
        (piece,) = re.findall(rf"^```{kind}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        source = run.work / f"page.{kind}"
        source.write_text(piece, encoding="utf-8")
        words = [standard, "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", str(source), "-o", f"{kind}.epop"]
        done = run.start([str(run.setting.prefix / "bin" / compiler), *words, *libraries])
        run.check(done.wait() == 0, f"the page's program in {kind} does not compile: {done.err}")
    mpiexec, driver = (str(run.setting.prefix / "bin" / word) for word in ("mpiexec", "epop"))
    job = run.start([mpiexec, "-n", "2", driver, "--check", "cpp"])
    run.check(job.wait() == 0 and job.lines == [f"sum {sum(range(3000))}"], f"cpp: it prints {job.lines} {job.err}")
    for steps in (2000, 20000, 200000, 2000000):  # until the program is longer than its adaptations
        run.log_path.unlink(missing_ok=True)
        options = ["--adapt-schedule", "4,1", "--adapt-log", str(run.log_path)]
        job = run.start([mpiexec, "-n", "2", *options, driver, "c", str(steps)])
        run.check(job.wait() == 0, f"exit code {job.process.returncode}")
        sizes = [event["size"] for event in run.events() if event["event"] == "committed"]
        heights = sum(steps * (i % 7) + steps // 5 * 10 for i in range(1000))
        wanted = f"waves: {steps} steps, {[2, *sizes][-1]} processes, sum {heights}"
        run.check(job.lines == [wanted], f"it prints {job.lines}, expected {wanted}")
        if len(sizes) == 2:
            return
    run.fail("the adaptations were not all committed")
