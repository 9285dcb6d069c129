"""Tests that need a hand from outside while the job runs: each function drives one.

`scenario=NAME:ARGUMENT` in the test list calls the function NAME; the argument's parts, separated
by colons, are its further parameters.  Everything is waited for; nothing counts on time.
"""

from __future__ import annotations

import contextlib
import ctypes
import difflib
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import checks, processes, schedule
from .job import Job, Skip, TestRun

sys.path.append(str(Path(__file__).resolve().parents[3] / "maint"))
from private_apt import AptError, debian_packages  # noqa: E402

Scenario = Callable[..., None]
SCENARIOS: dict[str, Scenario] = {}


def scenario(function: Scenario) -> Scenario:
    assert function.__name__ not in SCENARIOS, f"a second scenario {function.__name__}"
    SCENARIOS[function.__name__] = function
    return function


def _stop(run: TestRun, job: Job, epoch: int, size: int) -> None:
    """Ends a `serve` job and checks its last word."""
    (run.work / "stop").touch()
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    checks.pass_line(run, job, epoch, size)


def _serve(run: TestRun, n: int, *options: str, arguments: tuple[str, ...] = ()) -> Job:
    job = run.mpiexec([*options, "--adapt-log", str(run.log_path)], arguments, n, "serve")
    job.await_line("^READY$")
    run.await_event("adaptive")
    return job


# ---- without the extended process manager ------------------------------------------------------


@scenario
def singleton(run: TestRun) -> None:
    """I3: started by hand, without mpiexec."""
    job = run.start([run.program(), *run.test.arguments])
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    expected = "PASS alone size=1" if run.test.program == "alone" else f"PASS {run.test.program}"
    run.check(any(line.startswith(expected) for line in job.lines), f"no '{expected}'")


def _debian_mpiexec(run: TestRun) -> Path:
    """That of Debian's package mpich, unpacked, not installed."""
    try:
        (package,) = debian_packages(["mpich"], "4.0.2")
    except AptError as error:
        raise Skip(str(error)) from error
    subprocess.run(["dpkg", "-x", str(package), str(run.folder / "debian")], check=True)
    mpiexec = run.folder / "debian" / "usr" / "bin" / "mpiexec.hydra"
    tried = subprocess.run([str(mpiexec), "--version"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        raise Skip(f"Debian's mpiexec does not run here: {tried.stderr.strip()[-200:]}")
    return mpiexec


@scenario
def under_stock(run: TestRun) -> None:
    """I3: started by an mpiexec that lacks the extension."""
    stock = run.setting.stock_mpiexec or _debian_mpiexec(run)
    job = run.start([str(stock), "-n", str(run.test.processes), run.program(), *run.test.arguments])
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    begin, end = f"PASS {run.test.program}", f" size={run.test.processes}"
    run.check(any(line.startswith(begin) and line.endswith(end) for line in job.lines), f"no '{begin}{end}'")


@scenario
def rigid_job(run: TestRun) -> None:
    """I3: the resource manager is notified that the job is rigid, and nobody can resize it."""
    options = ["--adapt-log", str(run.log_path)]
    job = run.mpiexec(options, ["--work-ms", "4000"])
    run.await_event("rigid")
    listed = run.elastic("ps", "--json").stdout.splitlines()
    run.check(all(json.loads(row)["mode"] == "rigid" for row in listed), f"ps says {listed}")
    done = run.elastic("resize", str(job.process.pid), "4")
    run.check(done.returncode != 0, "a rigid job was resized")
    run.check(done.stderr.strip(), "the refusal has no message")
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    run.check(f"PASS rigid size={run.test.processes}" in job.lines, "no PASS line")


LATE_SSH = """#!/bin/sh
# plays ssh: [options] host command...; the host `late` starts its proxy when the job has become dynamic
while :; do case "$1" in -*) shift ;; *) break ;; esac; done
host=$1; shift
[ "$host" = late ] && until grep -q '"event":"adaptive"' {log}; do sleep 0.05; done
unset HYDI_CONTROL_FD
eval exec "$@"
"""


@scenario
def late_proxy(run: TestRun) -> None:
    """SC2, SW1: the job changes through process sets before the last proxy of the launch has connected."""
    launcher = run.work / "ssh"
    launcher.write_text(LATE_SSH.format(log=run.log_path), encoding="utf-8")
    launcher.chmod(0o755)
    hosts = ["-launcher", "ssh", "-launcher-exec", str(launcher), "-hosts", "n1,late", "-ppn", "1"]
    job = run.mpiexec([*hosts, *run.test.options, "--adapt-log", str(run.log_path)])
    run.check(job.wait() == 0, f"exit code {job.process.returncode}: {job.err}")
    run.check('"event":"committed"' in run.log_path.read_text(encoding="utf-8"), "no change is committed")


# ---- under tools ----------------------------------------------------------------------------------


@scenario
def under_valgrind(run: TestRun) -> None:
    """Nobody reads or writes what is not there, or depends on what was never set."""
    if shutil.which("valgrind") is None:
        raise Skip("there is no valgrind here (Debian: valgrind)")
    known = Path(__file__).resolve().parent / "valgrind.supp"
    words = ["-q", f"--suppressions={known}", f"--log-file={run.folder}/valgrind.%p"]
    job = run.mpiexec(program=shutil.which("valgrind"), arguments=[*words, run.program(), *run.test.arguments])
    checks.result(run, job)
    reports = sorted(run.folder.glob("valgrind.*"))
    members = run.test.processes + sum(change.joining for change in run.test.changes)
    run.check(len(reports) == members, f"{len(reports)} processes under valgrind, expected {members}")
    for report in reports:
        text = report.read_text(encoding="utf-8", errors="replace")
        run.check(not text, "\n".join(text.splitlines()[:40]))


@scenario
def finds(run: TestRun) -> None:
    """The test makes the very mistake that it looks for, and must find it."""
    job = run.mpiexec()
    run.check(job.wait() != 0, "the mistake was not found")
    checks.patterns(run, job.err, run.test.errors, "standard error")


@scenario
def heard_again(run: TestRun, times: str) -> None:
    """The same job again and again: each time it prints the same."""
    for _ in range(int(times)):
        job = run.mpiexec()
        checks.exit_code(run, job)
        checks.patterns(run, job.err, run.test.errors, "standard error")


@scenario
def no_shared_memory(run: TestRun, size: str = "16k", expected: str = "") -> None:
    """/dev/shm is too small for the segments of a node: MPI_Init states so, and nobody dies of SIGBUS.  With a size and a
    line of output: it is too small for what the program allocates, which it handles."""
    small = f'mount -t tmpfs -o size={size} tmpfs /dev/shm && exec "$@"'
    words = ["unshare", "-rm", "/bin/sh", "-c", small, "sh", str(run.setting.prefix / "bin" / "mpiexec")]
    job = run.start([*words, "-n", str(run.test.processes), run.program()])
    code = job.wait()
    if expected:
        run.check(code == 0, f"exit code {code}")
        run.check(f"PASS {expected}" in job.lines, "no PASS line")
    else:
        run.check(code not in (0, signal.SIGBUS, 128 + signal.SIGBUS), f"exit code {code}")
    checks.patterns(run, job.err, [r"^shared memory: a segment needs \d+ KiB, and /dev/shm has \d+ KiB left"], "error")


@scenario
def closed_descriptors(run: TestRun) -> None:
    """A wrapper closes what the program inherits: the error names the descriptor."""
    closes = "import os, sys; os.closerange(3, 256); os.execv(sys.argv[1], sys.argv[1:])"
    job = run.mpiexec(program=sys.executable, arguments=["-c", closes, run.program()])
    code = job.wait()
    run.check(code != 0, f"exit code {code}")
    checks.patterns(run, job.err, [r"^MPI_Init: descriptor \d+, the connection to mpiexec \(PMI_FD\)"], "error")


# ---- profiling tools -----------------------------------------------------------------------------


@scenario
def tool_reports(run: TestRun, wanted: str = "") -> None:
    """The program runs as without the tool, and the tool reports of all processes there have been."""
    checks.ordinary(run)
    members = run.test.processes + sum(change.joining for change in run.test.changes)
    reports = [path.read_text(encoding="utf-8") for path in run.work.glob("tool.*")]
    run.notes += reports
    count = int(wanted) if wanted else members
    run.check(len(reports) == count, f"{len(reports)} reports of the tool, expected {count}")


# ---- surroundings, output, input ----------------------------------------------------------------


@scenario
def surroundings(run: TestRun) -> None:
    """I5: same arguments, environment, directory; output and errors arrive."""
    odd = "two words", "$HOME;*", "ümlaut"
    arguments = ["--epochs", "1", *odd]
    options = ["-genv", "ET_WORD", "a word and=more", "--adapt-schedule", "5"]
    job = run.mpiexec(options, arguments, 2)
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    said = Counter(job.lines)
    words = "".join(f"[{word}]" for word in arguments)
    expected = {
        "HERE NEW": 2,
        "HERE JOINING": 3,
        f"ARGUMENTS {words}": 5,
        "WORD a word and=more": 5,
        f"DIRECTORY {os.path.realpath(run.work)}": 5,
        f"PROGRAM {os.path.realpath(run.program())}": 5,
    }
    for line, count in expected.items():
        run.check(said[line] == count, f"'{line}' came {said[line]} times, expected {count}")
    errors = Counter(job.err.splitlines())
    run.check(errors["TO-STDERR NEW"] == 2, "standard error of the launched ones is missing")
    run.check(errors["TO-STDERR JOINING"] == 3, "standard error of the joining ones is missing")
    checks.pass_line(run, job, 1, 5)


@scenario
def other_directory(run: TestRun) -> None:
    """I5: -wdir counts for joining processes."""
    place = run.work / "place"
    place.mkdir()
    job = run.mpiexec(["-wdir", str(place), "--adapt-schedule", "3"], ["--epochs", "1"], 1)
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    line = f"DIRECTORY {os.path.realpath(place)}"
    run.check(job.lines.count(line) == 3, f"'{line}' came {job.lines.count(line)} times")


@scenario
def two_programs(run: TestRun) -> None:
    """MPMD: one world of two programs, each with its own arguments, environment and directory, for joining processes too."""
    parts: list[list[str]] = []
    for number, name in enumerate(("first", "second")):
        place = run.work / name
        place.mkdir()
        shutil.copy(run.program(), place / name)
        words = ["-n", str(number + 1), "-env", "ET_WORD", name, "-wdir", str(place), f"./{name}"]
        parts.append([*words, *run.test.arguments, name])
    command = [str(run.setting.prefix / "bin" / "mpiexec"), *run.test.options, *parts[0], ":", *parts[1]]
    job = run.start(command)
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    said = Counter(job.lines)
    expected = {"HERE NEW": 3, "HERE JOINING": sum(change.joining for change in run.test.changes)}
    for number, name in enumerate(("first", "second")):
        count = number + 1 + sum(change.joining for change in run.test.changes if change.program == number)
        expected |= {f"APPNUM {number}": count}
        place = os.path.realpath(run.work / name)
        words = "".join(f"[{word}]" for word in (*run.test.arguments, name))
        expected |= {f"ARGUMENTS {words}": count, f"WORD {name}": count}
        expected |= {f"DIRECTORY {place}": count, f"PROGRAM {place}/{name}": count}
    for line, count in expected.items():
        run.check(said[line] == count, f"'{line}' came {said[line]} times, expected {count}")
    checks.pass_line(run, job, len(run.test.changes), run.test.final_size)
    checks.member_lines(run, job, run.test.changes)


@scenario
def whole_output(run: TestRun) -> None:
    """I5: no line of a long output is lost, torn or doubled."""
    job = run.mpiexec()
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    bulk = [line for line in job.lines if "BULK" in line]
    members = sum(c.joining + c.before for c in run.test.changes)
    whole = re.compile(r"^BULK epoch=\d+ from=[0-9a-f]+ line=\d+ 0*7$")
    torn = [line for line in bulk if not whole.match(line)]
    run.check(not torn, f"torn: {torn[:2]}")
    run.check(len(bulk) == 400 * members, f"{len(bulk)} lines, expected {400 * members}")
    run.check(len(set(bulk)) == len(bulk), "some lines came twice")


@scenario
def output_flows(run: TestRun, kb: str) -> None:
    """I5: what is printed is there while the program waits for its reader, and all of a long output comes."""
    job = run.mpiexec(arguments=[*run.test.arguments, "--kb", kb])
    job.await_line("^READY ", run.test.processes)
    (run.work / "go").touch()
    checks.exit_code(run, job)
    printed = [line.split() for line in job.lines if line.startswith("PRINTED ")]
    for rank in range(1, run.test.processes):
        numbers = [int(words[2]) for words in printed if words[1] == str(rank)]
        run.check(numbers == list(range(int(kb))), f"{len(numbers)} lines of rank {rank}, expected {kb} in order")
    run.check(all(len(words[3]) == 1000 for words in printed), "some lines are torn")


@scenario
def labels(run: TestRun, option: str) -> None:
    """-l and -prepend-rank label the lines of joining processes as well."""
    job = run.mpiexec([option, "--adapt-schedule", "4"], ["--epochs", "1"], 2)
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    bare = [line for line in job.lines if not re.match(r"^\[\d+\] ", line)]
    run.check(not bare, f"without a label: {bare[:3]}")
    joined = [line for line in job.lines if "JOINED epoch=1" in line]
    run.check(len(joined) == 2, f"{len(joined)} joining processes were heard")
    run.check(any("PASS epoch=1 size=4" in line for line in job.lines), "no PASS line")


@scenario
def standard_input(run: TestRun) -> None:
    """Standard input goes to rank 0 and to nobody else."""
    text = "".join(f"line {i}\n" for i in range(2000))
    job = run.mpiexec(stdin=text)
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    read = [line.split(" ", 2)[2] for line in job.lines if line.startswith("READ ")]
    run.check(read == text.splitlines(), f"{len(read)} lines were read, expected 2000 in order")
    epochs = {line.split()[1] for line in job.lines if line.startswith("READ ")}
    run.check(len(epochs) > 1, "nothing was read after an adaptation")
    checks.pass_line(run, job, len(run.test.changes), run.test.final_size)


@scenario
def left_files(run: TestRun) -> None:
    """C3: what leaving processes had in their stdio buffers is in their files."""
    job = run.mpiexec()
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    checks.pass_line(run, job, len(run.test.changes), run.test.final_size)
    checks.member_lines(run, job, run.test.changes)
    for change in run.test.changes:
        for rank in change.leaving:
            path = run.work / f"left_{change.epoch}_{rank}"
            run.check(path.exists(), f"{path.name} is missing")
            run.check(path.read_text() == f"goodbye from rank {rank}\n", f"{path.name} is empty")
            first = f"HANDLER 1 finalized epoch={change.epoch} rank={rank}"
            second = f"HANDLER 2 finalized epoch={change.epoch} rank={rank}"
            run.check(first in job.lines and second in job.lines, f"no '{first}' or its second")
            order = job.lines.index(first) < job.lines.index(second)
            run.check(order, "exit handlers ran in the wrong order")
    run.check("yaksa" not in job.err, "complaints about what leaving processes could not free")
    leaving = sum(len(change.leaving) for change in run.test.changes)
    ran = job.lines.count("DESTRUCTOR")
    run.check(ran == leaving, f"{ran} destructors ran, {leaving} processes left")


# ---- signals -------------------------------------------------------------------------------------


@scenario
def end_by_signal(run: TestRun, name: str, phase: str) -> None:
    """Ctrl-C or SIGTERM in a phase of an adaptation ends everything."""
    job = run.mpiexec(arguments=["--epochs", "2", "--hold", phase])
    job.await_line(f"^HOLD {phase} ")
    if phase == "slow":
        run.await_event("target")
    job.signal(signal.Signals[name])
    job.wait()  # with any code: stock mpiexec sometimes says 0 after a signal
    run.check("PASS" not in job.out, "the program came to its end")


# ---- bad input -----------------------------------------------------------------------------------

BAD_OPTIONS: tuple[tuple[str, ...], ...] = (
    ("--adapt-schedule", "0"),
    ("--adapt-schedule", "-1"),
    ("--adapt-schedule", "x"),
    ("--adapt-schedule", ""),
    ("--adapt-schedule", "4,,2"),
    ("--adapt-schedule", "4;2"),
    ("--adapt-schedule", "3/leave=9"),
    ("--adapt-schedule", "3/leave=x"),
    ("--adapt-schedule", "3/leave=0+0"),
    ("--adapt-schedule", "1/leave="),
    ("--adapt-schedule", "2/stay=1"),
    ("--adapt-schedule", "5q:3"),
    ("--adapt-schedule", "99999999999999999999"),
    ("--adapt-schedule", "@no-such-file"),
    ("--adapt-schedule",),
    ("--adapt-policy", "no-such-policy"),
    ("--adapt-policy", "random:x"),
    ("--adapt-policy", "increase-decrease", "--adapt-range", "5:2"),
    ("--adapt-policy", "increase-decrease", "--adapt-range", "0:2"),
    ("--adapt-policy", "increase-decrease", "--adapt-range", "a:b"),
    ("--adapt-policy", "increase-decrease", "--adapt-range", "1:4", "--adapt-interval", "soon"),
    ("--adapt-policy", "increase-decrease", "--adapt-range", "1:4", "--adapt-interval", "-1s"),
    ("--adapt-policy", "increase-decrease", "--adapt-schedule", "4"),
    ("--adapt-log", "no-such-folder/log", "--adapt-schedule", "4"),
)


@scenario
def bad_options(run: TestRun) -> None:
    """Each gets one clear message, a non-zero exit code, and nothing is launched."""
    for options in BAD_OPTIONS:
        shown = " ".join(options)
        marker = run.work / "launched"
        command = [str(run.setting.prefix / "bin" / "mpiexec"), "-n", "2", *options]
        job = run.start([*command, "touch", str(marker)])
        run.check(job.wait() != 0, f"{shown}: exit code 0")
        run.check(not marker.exists(), f"{shown}: the program was launched")
        said = [line for line in (job.err + job.out).splitlines() if line.strip()]
        run.check(said, f"{shown}: no message")
        named = any("adapt" in line for line in said)
        run.check(named, f"{shown}: the message does not name the option: {said[:2]}")
        crash = re.search(r"Assert|Segmentation|HYD\w+ \(", job.err)
        run.check(not crash, f"{shown}: internal messages: {said[:2]}")
        run.jobs.pop()


# ---- the elastic command -------------------------------------------------------------------------


@scenario
def resize(run: TestRun) -> None:
    """ps, resize with and without --leave and --wait, events; what cannot be done is refused."""
    job = _serve(run, 2)
    step = run.step()
    run.check(step["size"] == 2 and step["epoch"] == 0, f"ps says {step}")
    name = str(step["step"])
    table = run.elastic("ps")
    run.check(name in table.stdout and "serve" in table.stdout, "ps does not list the step")
    for arguments, size in ((["4"], 4), (["3", "--leave", "0,2"], 3), (["1"], 1), (["2"], 2)):
        done = run.elastic("resize", name, *arguments, "--wait")
        run.check(done.returncode == 0, f"resize {arguments}: {done.stdout}{done.stderr}")
        run.check(run.step()["size"] == size, f"after resize {arguments} ps says {run.step()}")
    for arguments in (
        ["0"],
        ["-3"],
        ["x"],
        ["2"],
        ["3", "--leave", "7"],
        ["1", "--leave", "0,1,2"],
    ):
        done = run.elastic("resize", name, *arguments)
        run.check(done.returncode != 0, f"resize {arguments} was accepted")
        run.check(done.stderr.strip(), f"resize {arguments}: no message")
    run.check(run.step()["epoch"] == 4, "a refused resize changed something")
    _stop(run, job, 4, 2)
    done = run.elastic("resize", name, "3")
    run.check(done.returncode != 0 and done.stderr.strip(), "a step that is gone was resized")


@scenario
def loops(run: TestRun) -> None:
    """What the step does with its time, in each world anew: all its processes have measured the loop that probes."""
    job = _serve(run, 3)
    name = str(run.step()["step"])

    def performance() -> dict[str, Any]:
        said = run.elastic("loops", name, "--json")
        run.check(said.returncode == 0, f"loops: {said.stdout}{said.stderr}")
        return json.loads(said.stdout)

    def measured(size: int) -> dict[str, Any] | None:
        answer = performance()
        rows = answer.get("loops", [])
        return answer if rows and rows[0]["processes"] == size else None

    for epoch, size in enumerate((3, 4, 1)):
        if epoch > 0:
            done = run.elastic("resize", name, str(size), "--wait")
            run.check(done.returncode == 0, f"resize {size}: {done.stdout}{done.stderr}")
        answer = run.await_value(lambda size=size: measured(size), f"a loop measured by {size} processes")
        run.check((answer["epoch"], answer["size"], answer["processes"]) == (epoch, size, size), f"loops says {answer}")
        progress, loop = answer["progress"], answer["loops"][0]
        run.check(0 < loop["iterations"] <= size * (progress["probes"] + 1000), f"more than was probed: {answer}")
        run.check(0 <= loop["mpi_us"] <= loop["loop_us"], f"more MPI than there was: {answer}")
        run.check(loop["loop_us"] <= size * (progress["ms"] + 1000) * 1000, f"more time than there was: {answer}")
        before = progress["probes"]
        run.await_value(lambda before=before: performance().get("progress", {}).get("probes", 0) > before, "more probes")
    table = run.elastic("loops", name)
    run.check("loop that probes, ranks 0: " in table.stdout, f"loops says {table.stdout}{table.stderr}")
    _stop(run, job, 2, 1)
    run.check(run.elastic("loops", name).returncode == 3, "a step that is gone was asked")


def _samples(run: TestRun, hosts: str, least: int) -> None:
    path = run.folder / "samples"
    job = run.mpiexec(["-launcher", "fork", "-hosts", hosts, "--adapt-performance", str(path)])
    job.await_line("^READY$")

    def complete() -> dict[str, Any] | None:
        lines = path.read_text().splitlines() if path.exists() else []
        last = json.loads(lines[-1]) if len(lines) >= least else {}
        return last if len(last.get("loops", [])) >= 3 else None

    sample = run.await_value(complete, f"sample {least}, with three loops")
    run.check(sample["unix_ms"] > 0 and sample["processes"] == 3, f"the sample is {sample}")
    elastic, *inner = sample["loops"]
    run.check((elastic["key"], elastic["ranks"]) == ("probe", "0-2"), f"the first loop is {elastic}")
    sums = [loop for loop in inner if loop["items"] in (["collective"], ["collective", "p2p"])]
    run.check(len(sums) == 1 and sums[0]["ranks"] == "0-2", f"not one loop with sums: {inner}")
    alone = [loop for loop in inner if loop["items"] == ["collective", "collective"]]
    run.check(len(alone) == 1 and alone[0]["ranks"] == "0", f"not one loop of rank 0: {inner}")
    for loop in inner:
        run.check(loop["parent"] == "probe" and "loops_inside+0x" in loop["name"], f"whose loop is {loop}?")
        run.check(0 <= loop["mpi_us"] <= loop["loop_us"], f"more MPI than there was: {loop}")
    (run.work / "stop").touch()
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")


@scenario
def samples(run: TestRun) -> None:
    """--adapt-performance: a line now and then, with the loops of all processes put together."""
    _samples(run, "n1,n2", 2)


@scenario
def samples_tree(run: TestRun) -> None:
    """The same by a tree of proxies, which mpiexec has from the second sample on."""
    run.environment |= {"MPIEXEC_ADAPT_FANOUT": "2"}
    _samples(run, "n1,n2,n3", 4)


GRAPH_LOG = "MPIR_CVAR_ADAPT_GRAPH_LOG"
GIVEN_SITE = 1 << 63  # of the keys of places that have an identifier of the program's


@scenario
def graph_log(run: TestRun) -> None:
    """SPEC-performance D9, D14: each step as listing 10.1 of Comprés 2017, and at the end the table of listing 10.2."""
    job = run.mpiexec(["-genv", GRAPH_LOG, str(run.folder / "graph")])
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    logs = sorted(run.folder.glob("graph.*"))
    run.check([path.name for path in logs] == ["graph.0", "graph.1"], f"the logs are {logs}")
    ids = [2, 0, 6, 3, 1, 6, 3, 1, 6, 3, 1, 9, 7, 9, 7, 3, 1, 6, 3, 1, 6, 3, 1, 9, 7, 9, 7]
    labels = ["NOT in a loop"] * 5 + ["head: 6"] * 6 + ["NOT in a loop"] * 2 + ["head: 9"] * 2
    labels += ["body re-entry; head: 6", *["head: 6"] * 7, "head re-entry; head: 9", *["head: 9"] * 3]
    table = ["id: 2; H: 0; B: 0; Re: 0; Rv: 0; tail: ; head: ", "id: 0; H: 0; B: 0; Re: 0; Rv: 0; tail: ; head: "]
    # index 0 is the probe: 6 is 3, 3 is 4, 1 is 5, 9 is 6 and 7 is 7
    table += ["id: 6; H: 1; B: 0; Re: 0; Rv: 4; tail: 5; head: ", "id: 3; H: 0; B: 1; Re: 1; Rv: 5; tail: 7; head: 3"]
    table += ["id: 1; H: 0; B: 1; Re: 0; Rv: 5; tail: ; head: 3", "id: 9; H: 1; B: 0; Re: 0; Rv: 3; tail: 7; head: "]
    table += ["id: 7; H: 0; B: 1; Re: 0; Rv: 3; tail: ; head: 6"]
    for path in logs:
        lines = [re.sub(r"\d{19,}", lambda key: str(int(key[0]) - GIVEN_SITE), line) for line in path.read_text().splitlines()]
        run.check(lines[0] == "0: root id: 1", f"{path}: the first step is {lines[0]}")
        times = []
        for number, (place, label) in enumerate(zip(ids, labels), 1):
            detected = int(label != "NOT in a loop")
            step = re.fullmatch(rf"{number}: id: {place}; detected: {detected}; -> {label}; \(TD: (\d+)\)", lines[number])
            run.check(step is not None, f"{path}: step {number} is {lines[number]}, wanted: {place}, {label}")
            times.append(int(step[1]) if step else 0)
        run.check(times == sorted(times), f"{path}: times that go back: {times}")
        first = lines.index("Current detected Control Flow Graph (CFG):") + 2
        wanted = [f"{index}; {row}" for index, row in enumerate(table, 1)]
        run.check(lines[first : first + 7] == wanted, f"{path}: the table is {lines[first:first + 7]}, wanted: {wanted}")


def _places(path: Path) -> list[str]:
    """Of a log: "KIND MODULE+OFFSET" of each place but the probe, in the order in which they were found."""
    lines = path.read_text().splitlines()
    first, end = (next(i for i, line in enumerate(lines) if line.startswith(word)) for word in ("Sites ", "Loops "))
    return [line.split(": ", 1)[1] for line in lines[first + 1 : end] if not line.endswith(": PROBE")]


@scenario
def fortran_places(run: TestRun) -> None:
    """SPEC-performance S4, S1: the places are those in the Fortran program, not in the bindings, the same in all processes."""
    run.environment |= {GRAPH_LOG: str(run.folder / "graph")}
    checks.ordinary(run)
    logs = sorted(run.folder.glob("graph.*"))
    run.check(len(logs) >= 2, f"the logs are {logs}")
    places = {path.name: _places(path) for path in logs}
    run.check(bool(places["graph.0"]), f"the places are {places}")
    program = os.path.realpath(run.program())
    for name, found in places.items():
        for place in found:
            kind, _, where = place.partition(" ")
            run.check(where.startswith(program + "+0x"), f"{name}: a {kind} call comes from {where}, not from {program}")
    run.check(places["graph.1"] == places["graph.0"], f"not the same places: {places}")


@scenario
def measured_binding(run: TestRun) -> None:
    """A language binding calls all functions from one place: the loop that probes is found all the same."""
    path = run.folder / "samples"
    script = Path(__file__).parent / "binding_rounds.py"
    library = run.setting.prefix / "lib" / "libmpi.so"
    job = run.mpiexec(["--adapt-performance", str(path)], [str(script), str(library)], 2, sys.executable)
    job.await_line("^READY$")

    def measured() -> dict[str, Any] | None:
        lines = path.read_text().splitlines() if path.exists() else []
        last = json.loads(lines[-1]) if lines else {}
        return last["loops"][0] if last.get("loops") else None

    def measured_apart() -> dict[str, Any] | None:
        """The others wait for rank 0, which sleeps longest; a busy machine blurs that for a while."""
        loop = measured()
        return loop if loop and loop["slowest"][0]["rank"] == 0 else None

    run.await_value(measured, "a sample with the loop that probes")
    loop = run.await_value(measured_apart, "a sample in which rank 0 is the slowest")
    run.check((loop["key"], loop["ranks"], loop["processes"]) == ("probe", "0-1", 2), f"the loop is {loop}")
    run.check(0 < loop["mpi_us"] <= loop["loop_us"], f"more MPI than there was: {loop}")
    (run.work / "stop").touch()
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")


@scenario
def events(run: TestRun) -> None:
    """events, --follow and --json state what the adapt log tells."""
    job = _serve(run, 1)
    name = str(run.step()["step"])
    command = [str(run.setting.prefix / "bin" / "elastic"), "events", name, "--follow", "--json"]
    follower = run.start(command)
    for size in (3, 2):
        done = run.elastic("resize", name, str(size), "--wait")
        run.check(done.returncode == 0, f"resize {size}: {done.stderr}")
    once = run.elastic("events", name, "--json")
    run.check(once.returncode == 0, "events failed")
    seen = [json.loads(line)["event"] for line in once.stdout.splitlines()]
    run.check(seen.count("committed") == 2, f"events tells {seen}")
    plain = run.elastic("events", name)
    run.check(plain.stdout.count("committed") >= 2, "events without --json tells less")
    _stop(run, job, 2, 2)
    run.check(follower.wait() == 0, "events --follow did not end well with the job")
    followed = [json.loads(line)["event"] for line in follower.lines]
    logged = [event["event"] for event in run.events()]
    run.check(followed == logged, f"--follow tells {followed}, the log {logged}")


@scenario
def second_resize(run: TestRun) -> None:
    """A second resize while one is under way is refused; the first goes on."""
    job = run.mpiexec(["--adapt-log", str(run.log_path)], ["--stop-probing-at", "43"], 2, "serve")
    job.await_line("^READY$")
    run.await_event("adaptive")
    name = str(run.step()["step"])
    done = run.elastic("resize", name, "3")
    run.check(done.returncode == 0, f"resize: {done.stderr}")
    again = run.elastic("resize", name, "4")
    run.check(again.returncode != 0, "a second resize was accepted")
    run.check(again.stderr.strip(), "the refusal has no message")
    (run.work / "go").touch()
    run.await_event("committed")
    _stop(run, job, 1, 3)


@scenario
def cancelled(run: TestRun) -> None:
    """P7: an adaptation withdrawn before agreement is never seen; the next one is."""
    options = ["--adapt-log", str(run.log_path)]
    job = run.mpiexec(options, ["--joiner-waits"], 2, "serve")
    run.await_event("adaptive")
    name = str(run.step()["step"])
    done = run.elastic("resize", name, "4")
    run.check(done.returncode == 0, f"resize: {done.stderr}")
    job.await_line("^JOINER WAITS$")
    done = run.elastic("cancel", name)
    run.check(done.returncode == 0, f"cancel: {done.stderr}")
    run.await_event("withdrawn")
    (run.work / "join").touch()
    done = run.elastic("resize", name, "3", "--wait")
    run.check(done.returncode == 0, f"the resize after a cancelled one: {done.stderr}")
    _stop(run, job, 1, 3)


@scenario
def prepared_in_vain(run: TestRun) -> None:
    """P7, C9: what a process prepared for an adaptation that is withdrawn is given back; the next one is committed."""
    run.environment["MPIEXEC_ADAPT_PREPARE"] = "300s"  # the freeze waits for the other process
    job = run.mpiexec(["--adapt-log", str(run.log_path)], ["--epochs", "1"], 2, "prepared")
    said = job.await_line(r"^PID \d+$")[0]
    maps = Path(f"/proc/{said.split()[1]}/maps")
    run.await_event("adaptive")
    name = str(run.step()["step"])

    def has_segment() -> bool:
        return "mpich-adapt" in maps.read_text()

    for attempt in (1, 2):
        done = run.elastic("resize", name, "4")
        run.check(done.returncode == 0, f"resize: {done.stderr}")
        run.await_value(has_segment, "the process that probes prepares")
        run.check(not [e for e in run.events() if e["event"] == "frozen"], "boards were frozen before the other process prepared")
        done = run.elastic("cancel", name)
        run.check(done.returncode == 0, f"cancel: {done.stderr}")
        run.await_event("withdrawn", attempt)
        run.await_value(lambda: not has_segment(), "the process gives back what it prepared")
    (run.work / "go").touch()
    done = run.elastic("resize", name, "3", "--wait")
    run.check(done.returncode == 0, f"the resize after cancelled ones: {done.stderr}")
    _stop(run, job, 1, 3)


@scenario
def missing_executable(run: TestRun) -> None:
    """The executable has ended when processes shall join: the adaptation fails, the job goes on."""
    copy = run.work / "program"
    shutil.copy(run.program("serve"), copy)
    options = ["--adapt-log", str(run.log_path)]
    job = run.mpiexec(options, [], 2, str(copy))
    job.await_line("^READY$")
    run.await_event("adaptive")
    name = str(run.step()["step"])
    copy.rename(run.work / "elsewhere")
    done = run.elastic("resize", name, "4", "--wait")
    run.check(done.returncode != 0, "processes joined without an executable")
    run.check(done.stderr.strip(), "no message")
    (run.work / "elsewhere").rename(copy)
    done = run.elastic("resize", name, "3", "--wait")
    run.check(done.returncode == 0, f"the resize after the failed one: {done.stderr}")
    _stop(run, job, 1, 3)


@scenario
def step_socket(run: TestRun) -> None:
    """The socket lies in a directory of mode 0700 and goes with the job; garbage is answered."""
    job = _serve(run, 1)
    name = str(run.step()["step"])
    sockets = list(run.runtime.glob("elastic-mpich-*/*.sock"))
    run.check(len(sockets) == 1, f"sockets: {sockets}")
    mode = stat.S_IMODE(sockets[0].parent.stat().st_mode)
    run.check(mode == 0o700, f"the directory has mode {mode:o}")
    for line in (b"garbage\n", b"{}\n", b'{"op":"dance"}\n', b"[" * 5000 + b"\n", b"\0\xff\n"):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(run.time_left())
            client.connect(str(sockets[0]))
            client.sendall(line)
            answer = client.recv(65536)
        run.check(b'"ok":false' in answer.replace(b" ", b""), f"{line[:20]!r} gets {answer!r}")
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(run.time_left())
        client.connect(str(sockets[0]))
        try:
            for _ in range(64):
                client.sendall(b"x" * 65536)  # a line without an end is not kept for ever
        except OSError:
            pass
    done = run.elastic("resize", name, "2", "--wait")
    run.check(done.returncode == 0, f"after garbage, resize: {done.stderr}")
    _stop(run, job, 1, 2)
    run.check(not sockets[0].exists(), "the socket is still there")


@scenario
def two_jobs(run: TestRun) -> None:
    """Several jobs may adapt at once; they do not know of each other."""
    places = [run.work / "a", run.work / "b"]
    jobs = []
    for place, sizes in zip(places, ("4,1,3", "1,3/leave=0,2")):
        place.mkdir()
        options = ["-wdir", str(place), "--adapt-schedule", sizes]
        jobs.append(run.mpiexec(options, ["--epochs", "3"], 2, "cycle"))
    for job, sizes in zip(jobs, ("4,1,3", "1,3/leave=0,2")):
        run.check(job.wait() == 0, f"exit code {job.process.returncode}")
        changes = schedule.parse(sizes, 2)
        checks.pass_line(run, job, 3, changes[-1].size)
        checks.member_lines(run, job, changes)


class Created:
    """Names of what has been created in a folder since."""

    IN_CREATE = 0x100

    def __init__(self, folder: str) -> None:
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.fd < 0 or self.libc.inotify_add_watch(self.fd, folder.encode(), self.IN_CREATE) < 0:
            raise Skip(f"{folder} cannot be watched: {os.strerror(ctypes.get_errno())}")

    def names(self) -> list[str]:
        found = []
        with contextlib.suppress(BlockingIOError):
            while events := os.read(self.fd, 65536):
                while events:
                    (length,) = struct.unpack_from("I", events, 12)
                    found.append(events[16 : 16 + length].rstrip(b"\0").decode(errors="replace"))
                    events = events[16 + length :]
        return found

    def close(self) -> None:
        os.close(self.fd)


@scenario
def nameless_segments(run: TestRun) -> None:
    """E4: shared segments have no names at any time, so that nothing is left whoever is killed."""
    created = Created("/dev/shm")
    try:
        job = run.mpiexec()
        run.check(job.wait() == 0, f"exit code {job.process.returncode}")
        named = [name for name in created.names() if name.startswith("mpich_shar_tmp")]
        run.check(not named, f"segments with names: {named}")
    finally:
        created.close()


# ---- the step manager's own offers ---------------------------------------------------------------


@scenario
def policy(run: TestRun, sizes: str) -> None:
    """A policy makes its offers; `sizes` (if given) are the ones that must come, in order."""
    job = run.mpiexec()
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    epochs = int(run.test.arguments[run.test.arguments.index("--epochs") + 1])
    said = [line for line in job.lines if line.startswith("PASS")]
    run.check(len(said) == 1 and said[0].startswith(f"PASS epoch={epochs} "), f"got {said}")
    got = [event["size"] for event in run.events() if event["event"] == "committed"]
    run.check(len(got) == epochs, f"{len(got)} adaptations were committed, not {epochs}")
    run.check(said[0].endswith(f"size={got[-1]}"), f"the log ends with size {got[-1]}: {said[0]}")
    if sizes:
        run.check(got == [int(size) for size in sizes.split("+")], f"the sizes were {got}")
    low, high = (int(part) for part in _option(run, "--adapt-range").split(":"))
    run.check(all(low <= size <= high for size in got), f"sizes out of range: {got}")


def _option(run: TestRun, name: str) -> str:
    return run.test.options[run.test.options.index(name) + 1]


@scenario
def phases(run: TestRun) -> None:
    """C7 and the six steps: the log has every phase in order, never two adaptations at once."""
    job = run.mpiexec()
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    checks.pass_line(run, job, len(run.test.changes), run.test.final_size)
    log = run.events()
    checks.ends(run, ["committed"] * len(run.test.changes))
    times = [event["time_ms"] for event in log]
    run.check(times == sorted(times), "times go backwards")
    run.check([event["seq"] for event in log] == sorted(e["seq"] for e in log), "numbers jump")
    open_epoch = 0
    for event in log:
        if event["event"] == "requested":
            run.check(not open_epoch, f"epoch {event['epoch']} in the midst of {open_epoch}")
            open_epoch = event["epoch"]
        elif event["event"] == "committed":
            open_epoch = 0
    for change in run.test.changes:
        mine = [event for event in log if event.get("epoch") == change.epoch]
        names = [event["event"] for event in mine]
        run.check(names.count("ready") == change.joining, f"epoch {change.epoch}: {names}")
        wanted = ["requested", *["launching"] * (change.joining > 0), "plan", "target", "committed"]
        places = [names.index(name) for name in wanted if name in names]
        run.check(
            len(places) == len(wanted) and places == sorted(places),
            f"epoch {change.epoch}: phases {names}, expected {wanted} in this order",
        )
        freed = "freed" in names
        run.check(freed == bool(change.leaving), f"epoch {change.epoch}: freed is {freed}")
        if freed:
            run.check(names.index("freed") > names.index("committed"), "freed before committed")


@scenario
def behind(run: TestRun) -> None:
    """P8: ranks that do not come to the agreed probe are named; nothing is ended."""
    run.environment["MPIEXEC_ADAPT_BEHIND"] = "500ms"
    options = ["--adapt-schedule", "3", "--adapt-log", str(run.log_path)]
    job = run.mpiexec(options, ["--stop-probing-at", "43"], 2, "serve")
    job.await_line("^READY$")
    # on a busy machine the joining process may be slow enough to be reported, too: no target is set then
    report = run.await_event("behind", where=lambda event: event["target"] > 0)
    ranks = [entry["rank"] for entry in report["ranks"]]
    run.check(1 in ranks, f"rank 1 is behind, reported are {ranks}")
    count = next(entry["count"] for entry in report["ranks"] if entry["rank"] == 1)
    run.check(0 < count < report["target"], f"rank 1 has {count} of {report['target']} probes")
    run.await_value(
        lambda: re.search(rf"rank 1 .*\({count} probes\)", job.err), "report on standard error"
    )
    run.check(job.process.poll() is None, "the job was ended")
    (run.work / "go").touch()
    run.await_event("committed")
    _stop(run, job, 1, 3)


@scenario
def window_hangs(run: TestRun) -> None:
    """P8: the positions of all ranks in a window that hangs are reported; nothing is ended."""
    run.environment["MPIEXEC_ADAPT_BEHIND"] = "500ms"
    job = run.mpiexec(["--adapt-schedule", "4/leave=1", "--adapt-log", str(run.log_path)])
    report = run.await_event(
        "behind", where=lambda event: len(event["ranks"]) == 5 and all(entry["phase"] in (4, 7) for entry in event["ranks"])
    )
    kinds = [(entry["kind"], entry["rank"]) for entry in report["ranks"]]
    wanted = [("staying", 0), ("leaving", 1), ("staying", 2), ("joining", 0), ("joining", 1)]
    run.check(sorted(kinds) == sorted(wanted), f"reported are {kinds}")
    inside = r"the window is open, between begin and commit for .* ms: .*leaving rank 1 on node"
    run.await_value(lambda: re.search(inside, job.err), "report on standard error")
    run.check(job.process.poll() is None, "the job was ended")
    (run.work / "go").touch()
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    checks.pass_line(run, job, 1, 4)


@scenario
def joiner_finalizes(run: TestRun) -> None:
    """A joining process that calls MPI_Finalize without begin: the adaptation fails with that reason, the job goes on."""
    job = run.mpiexec(["--adapt-schedule", "4", "--adapt-log", str(run.log_path)])
    failed = run.await_event("failed")
    run.check("without having called MPI_Comm_adapt_begin" in failed["reason"], f"the reason is {failed['reason']!r}")
    (run.work / "failed").touch()
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    checks.pass_line(run, job, 0, 2)


# ---- the page doc/user/published-interface.md -------------------------------------------------------------------

PUBLISHED = Path(__file__).resolve().parents[3] / "doc" / "user" / "published-interface.md"
NUMBERS = 1000  # as in the page's program


def _published_program(run: TestRun) -> Path:
    """The page's pieces of C, in their order, are one program."""
    pieces = re.findall(r"^```c\n(.*?)^```", PUBLISHED.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    source = run.work / "rows.c"
    source.write_text("\n".join(pieces), encoding="utf-8")
    program = run.work / "rows"
    mpicc = str(run.setting.prefix / "bin" / "mpicc")
    done = run.start([mpicc, "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", str(source), "-o", str(program)])
    run.check(done.wait() == 0, "the page's program does not compile")
    return program


@scenario
def published_page(run: TestRun) -> None:
    """The page's program survives growth, the leaving of rank 0 and a move of everybody; its file has every line, in order."""
    program = _published_program(run)
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
        run.check(job.lines[1:] and job.lines[1].startswith(f"rows: {iterations} iterations"), f"it says {job.lines}")
        if [event["event"] for event in run.events()].count("committed") == 4:
            return
    run.fail("the adaptations were not all committed")


# ---- the programs of doc/user/converting-examples.md ---------------------------------------------------------

CONVERTING = Path(__file__).resolve().parents[3] / "doc" / "user" / "converting-examples.md"
DIFF = r"^```diff\n(.*?)^```"


def _converted(run: TestRun, number: int) -> tuple[Path, Path]:
    """Before and after: a block has lines of one of them alone, and lines of both."""
    block = re.findall(DIFF, CONVERTING.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[number]
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
    """The page's table has the lines of its programs; where there is a number for such a code converted by hand, a third of it
    is enough, and 15 lines state what moves."""
    text = CONVERTING.read_text(encoding="utf-8")
    told = re.findall(r"^\| ([^|]+) \| (\d+) \| (\d+) \| (\d+) \| (\d*)", text, re.MULTILINE)
    blocks = re.findall(DIFF, text, re.MULTILINE | re.DOTALL)
    run.check(len(told) == len(blocks), f"{len(told)} rows for {len(blocks)} programs")
    for (name, before, added, moves, by_hand), block in zip(told, blocks, strict=True):
        run.check(f"## {name}\n" in text and text.index(f"## {name}\n") < text.index(block), f"{name}: no such heading")
        signs = [line[:1] for line in block.splitlines() if line[1:].strip()]
        counted = (len(signs) - signs.count("+"), signs.count("+"))
        run.check(counted == (int(before), int(added)), f"{name}: {counted} lines")
        if by_hand:
            run.check(3 * int(added) <= int(by_hand) and int(moves) <= 15, f"{name}: more than a third of {by_hand} lines")


CONVERTED_MOST = 40_000_000
CONVERTED_S = 4.0  # a run in which four adaptations are committed, on a machine that others use


def _compare(run: TestRun, before: Path, after: Path, least: int, record: Path | None = None) -> None:
    """The elastic program prints what the rigid one does, writes the same record, and has adapted as often as it should."""
    amount = least
    while True:
        run.log_path.unlink(missing_ok=True)
        begin = time.monotonic()
        options = ["--adapt-schedule", "4,3/leave=0,2,2/leave=0+1", "--adapt-log", str(run.log_path)]
        elastic = run.mpiexec(options, [str(amount)], 2, str(after))
        run.check(elastic.wait() == 0, f"after: exit code {elastic.process.returncode}")
        run.check("yaksa" not in str(elastic.err), f"datatypes are left behind: {elastic.err}")
        took_s = time.monotonic() - begin
        is_whole = [event["event"] for event in run.events()].count("committed") == 4
        if is_whole or amount == least:  # also of a program that ends before it adapts
            written = record.read_bytes() if record else b""
            rigid = run.mpiexec([], [str(amount)], 2, str(before))
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


CODES = CONVERTING.parents[2] / "examples" / "converted"


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
    _compare(run, programs[0], programs[1], 100, run.work / f"{name}.history")


@scenario
def converted_code_lines(run: TestRun) -> None:
    """The table of the larger programs on the page has the lines that are added and removed."""
    text = CONVERTING.read_text(encoding="utf-8")
    told = re.findall(r"^\| \[`(\w+)\.\w+`\][^|]* \| (\d+) \| (\d+) \| (\d+) \|", text, re.MULTILINE)
    run.check(len(told) == len(list(CODES.glob("*_rigid.*"))), f"{len(told)} rows")
    for name, before, added, removed in told:
        old, new = (next(CODES.glob(f"{stem}.*")).read_text().splitlines() for stem in (f"{name}_rigid", name))
        old, new = ([line for line in lines if line.strip()] for lines in (old, new))
        changes = [line[0] for line in difflib.unified_diff(old, new, n=0) if line[:3] not in ("+++", "---")]
        counted = (len(old), changes.count("+"), changes.count("-"))
        run.check(counted == (int(before), int(added), int(removed)), f"{name}: {counted}")


@scenario
def data_page(run: TestRun) -> None:
    """The whole program of doc/user/data.md in C++."""
    text = (CONVERTING.parent / "data.md").read_text(encoding="utf-8")
    source, program = run.work / "page.cpp", run.work / "page"
    source.write_text("".join(re.findall(r"^```cpp\n(.*?)^```", text, re.MULTILINE | re.DOTALL)), encoding="utf-8")
    mpicxx = str(run.setting.prefix / "bin" / "mpicxx")
    words = [mpicxx, "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", str(source), "-o", str(program), "-ladapt_data"]
    run.check(run.start(words).wait() == 0, "the page's program does not compile")
    job = run.mpiexec([], [], 2, str(program))
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    run.check("yaksa" not in str(job.err), f"datatypes are left behind: {job.err}")


@scenario
def data_gpu(run: TestRun, hip: str = "") -> None:
    """Memory of a GPU is refused, with a stand-in for the driver of CUDA, or for this version of HIP."""
    source = PROGRAMS.parent / "standin" / "libcuda.c"
    library = f"libamdhip64.so.{hip}" if hip else "libcuda.so.1"
    words = ["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", f"-Wl,-soname,{library}", str(source)]
    words += [f"-DSTANDIN_HIP={hip}"] if hip else []
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
    run.check(sweeps is not None and int(sweeps[1]) >= 200, f"{job.lines}")
    rigid = run.mpiexec([], [example, "40", sweeps[1]], 4, python)
    run.check(rigid.wait() == 0, f"rigid: exit code {rigid.process.returncode}")
    run.check(rigid.lines == ["jacobi: 0 adaptations", job.lines[-1]], f"{rigid.lines} and not {job.lines}")
    run.environment["STANDIN_FOREIGN"] = "1"
    foreign = run.mpiexec([], [example], 1, python)
    run.check(foreign.wait() != 0, "an mpi4py of another MPI is taken")
    said = "it is linked with another MPI, Another MPI 1.0. Compile one with this MPI: MPICC="
    run.check(said in foreign.err, f"it says {foreign.err!r}")


# ---- sizes ---------------------------------------------------------------------------------------


@scenario
def sizes(run: TestRun, entries: str) -> None:
    """Entries of a schedule that the program cannot use are skipped with a line; the others come about."""
    job = run.mpiexec(["--adapt-schedule", entries])
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    checks.pass_line(run, job, len(run.test.changes), run.test.final_size)
    checks.patterns(run, job.err, run.test.errors, "standard error")


@scenario
def sizes_request(run: TestRun) -> None:
    """A size that the program cannot use is refused with its reason; ps and the events tell the rule."""
    job = _serve(run, 2, arguments=("--sizes", "1, 2-9 & multiple:3"))
    told = run.await_event("sizes")
    run.check(told["rule"] == "1,2-9&multiple:3", f"the rule is {told['rule']!r}")
    step = run.step()
    run.check(step["sizes"] == "1,2-9&multiple:3", f"ps says {step}")
    name = str(step["step"])
    done = run.elastic("resize", name, "4")
    run.check(done.returncode == 1, f"exit code {done.returncode}")
    run.check("cannot use 4 processes" in done.stderr and "3 and 6" in done.stderr, f"it says {done.stderr!r}")
    for size in ("3", "1"):
        done = run.elastic("resize", name, size, "--wait")
        run.check(done.returncode == 0, f"resize {size}: {done.stderr}")
    _stop(run, job, 2, 1)


@scenario
def verbose_summary(run: TestRun) -> None:
    """-v closes with a summary; without it mpiexec says nothing of its own."""
    quiet = run.mpiexec(["--adapt-schedule", "3,1"], ["--epochs", "2"], 1, "cycle")
    run.check(quiet.wait() == 0, f"exit code {quiet.process.returncode}")
    run.check(quiet.err == "", f"standard error: {quiet.err[:200]}")
    job = run.mpiexec(["-v", "--adapt-schedule", "3,1"], ["--epochs", "2"], 1, "cycle")
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    text = job.out + job.err
    run.check(re.search(r"2 committed", text), "no summary with -v")


@scenario
def no_host(run: TestRun) -> None:
    """Joining processes on a host that does not exist: the adaptation fails, the job goes on."""
    run.environment["HYDRA_LAUNCHER_EXEC"] = str(Path("/bin/false"))
    job = _serve(run, 2)
    name = str(run.step()["step"])
    done = run.elastic("resize", name, "4", "--hosts", "no-such-host.invalid", "--wait")
    run.check(done.returncode != 0, "processes joined on a host that does not exist")
    run.check(job.process.poll() is None, "the job was ended")
    done = run.elastic("resize", name, "3", "--wait")
    run.check(done.returncode == 0, f"the resize after the failed one: {done.stderr}")
    _stop(run, job, 1, 3)


def _interposed(run: TestRun, name: str, *libraries: str) -> str:
    """A library of preload/, compiled."""
    source = Path(__file__).resolve().parent.parent / "preload" / f"{name}.c"
    library = str(run.folder / f"{name}.so")
    command = ["gcc", "-shared", "-fPIC", "-o", library, str(source), *libraries, "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    run.check(done.returncode == 0, f"{source.name} does not compile:\n{done.stderr}")
    return library


@scenario
def launcher_ends_late(run: TestRun) -> None:
    """The launcher of a growth that failed fails itself, at the job's end: after mpiexec has looked for events, and before it
    looks for children that have ended.  It is not taken for a launcher of the job."""
    late, launcher, program = run.folder / "late", run.folder / "launcher", run.folder / "program"
    launcher.write_text(f"#!/bin/sh\nshift 2\neval \"$@\"\necho $$ >{late}\nwhile test -e {late}; do echo lingers; sleep 0.1; done\nexit 1\n")
    launcher.chmod(0o755)
    shutil.copy(run.program("serve"), program)
    preload = _interposed(run, "late_exit")
    run.environment |= {"HYDRA_LAUNCHER_EXEC": str(launcher), "LD_PRELOAD": preload, "LATE_EXIT": str(late)}
    job = run.mpiexec(["--adapt-log", str(run.log_path)], [], 2, str(program))
    job.await_line("^READY$")
    run.await_event("adaptive")
    program.unlink()
    done = run.elastic("resize", str(run.step()["step"]), "4", "--hosts", "no-such-host.invalid", "--wait")
    run.check(done.returncode != 0, "processes joined without their program")
    run.await_value(late.exists, "launcher that lingers")
    _stop(run, job, 0, 2)
    run.check(not late.exists(), "the launcher did not end last")


@scenario
def two_nics(run: TestRun) -> None:
    """Several network interfaces: an interposed fi_getinfo makes one of them two."""
    library = _interposed(run, "two_nics", "-lfabric")
    options = ["-genv", "LD_PRELOAD", library, "-genv", "MPIR_CVAR_DEBUG_SUMMARY", "1"]
    job = run.mpiexec([*options, *run.test.options])
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    run.check("num_nics: 2" in job.lines, "MPI did not use two interfaces")
    checks.pass_line(run, job, len(run.test.changes), run.test.final_size)


# ---- faults -------------------------------------------------------------------------------------


@scenario
def unable(run: TestRun) -> None:
    """P7: a process that cannot prepare withdraws the adaptation, with its reason; the next one goes through."""
    job = run.mpiexec([*run.test.options, "--adapt-log", str(run.log_path)])
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    run.check("FAILED" in job.lines, "the fault was not reached")
    ends = [e for e in run.events() if e["event"] in ("withdrawn", "failed", "committed")]
    run.check([e["event"] for e in ends] == ["withdrawn", "committed"], f"ended as {ends}")
    reason = ends[0]["reason"]
    run.check("rank 0" in reason and "Could not map" in reason, f"the reason is: {reason}")
    checks.pass_line(run, job, 1, 3)


def _fault(run: TestRun, where: str, number: int) -> bool:
    """One run with the number'th allocation of libmpi failing in this call; whether it was reached."""
    arguments = ["--epochs", "1", "--where", where, "--fail", str(number)]
    job = run.mpiexec(arguments=arguments)
    code, said = job.wait(), f"allocation {number} in {where}"
    if code == 0:
        checks.pass_line(run, job, 1, 4)
        run.check(("FAILED" in job.lines) != ("MISSED" in job.lines), f"{said}: no word of it")
        return "FAILED" in job.lines
    messages = re.findall(r"Adaptation 1 cannot be completed", job.err)
    run.check(len(messages) == 1, f"{said}: exit code {code}, {len(messages)} messages")
    return True


@scenario
def faults(run: TestRun, where: str, *numbers: str) -> None:
    """A call that cannot get its memory fails and changes nothing, or ends the job with one message.  The numbers are of
    allocations of ours; those of MPICH's communicators, which come later, are not all checked by MPICH."""
    reached = [number for number in numbers if _fault(run, where, int(number))]
    run.check(reached, "no fault was reached")


# ---- containers ---------------------------------------------------------------------------------

PID_NAMESPACE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]


def _need_namespaces(run: TestRun) -> None:
    """Skips where this user must not make pid namespaces."""
    probe = run.start([*PID_NAMESPACE, "true"])
    if probe.wait() != 0:
        raise Skip("no pid namespaces for this user: " + probe.err.strip())


@scenario
def container(run: TestRun) -> None:
    """Everything of the host in one pid namespace, in which the pids are others than outside."""
    _need_namespaces(run)
    mpiexec = str(run.setting.prefix / "bin" / "mpiexec")
    count = str(run.test.processes)
    job = run.start(
        [*PID_NAMESPACE, mpiexec, "-n", count, *run.test.options, run.program()]
        + run.test.arguments
    )
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    checks.pass_line(run, job, len(run.test.changes), 3)


@scenario
def container_shared(run: TestRun) -> None:
    """The processes in one pid namespace, mpiexec and the proxies outside of it."""
    _need_namespaces(run)
    holder = run.start([*PID_NAMESPACE, "sleep", "infinity"])
    children = Path(f"/proc/{holder.process.pid}/task/{holder.process.pid}/children")
    pid = run.await_value(lambda: children.read_text().split(), "process in the container")[0]
    arguments = ["--target", pid, "--pid", "--mount", run.program(), *run.test.arguments]
    job = run.mpiexec(arguments=arguments, program=shutil.which("nsenter"))
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    checks.pass_line(run, job, len(run.test.changes), 3)
    os.kill(int(pid), signal.SIGKILL)  # the first process of a pid namespace ignores other signals
    holder.wait()


@scenario
def container_each(run: TestRun) -> None:
    """P7: a pid namespace for each process.  Growing on a host is withdrawn, with its reason; shrinking works."""
    _need_namespaces(run)
    options = [*run.test.options, "--adapt-log", str(run.log_path)]
    arguments = [*PID_NAMESPACE[1:], run.program(), *run.test.arguments]
    job = run.mpiexec(options, arguments, program=shutil.which("unshare"))
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    ends = [e for e in run.events() if e["event"] in ("withdrawn", "failed", "committed")]
    run.check([e["event"] for e in ends] == ["withdrawn", "committed"], f"ended as {ends}")
    run.check("pid namespaces" in ends[0]["reason"], f"the reason is: {ends[0]['reason']}")
    checks.pass_line(run, job, 1, 1)


@scenario
def cliques(run: TestRun) -> None:
    """A host that is split into several nodes, for debugging: an adaptation is withdrawn, with its reason."""
    job = run.mpiexec([*run.test.options, "--adapt-log", str(run.log_path)])
    reason = run.await_event("withdrawn")["reason"]
    run.check("Unset MPIR_CVAR_NUM_CLIQUES" in reason, f"the reason is: {reason}")
    (run.work / "stop").touch()
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    checks.pass_line(run, job, 0, run.test.processes)


@scenario
def foreign_descriptor(run: TestRun) -> None:
    """P7: what is not the shared memory that was named is left alone."""
    victim, content = run.work / "victim", bytes(range(256)) * 64
    victim.write_bytes(content)
    job = run.mpiexec([*run.test.options, "--adapt-log", str(run.log_path)])
    reason = run.await_event("withdrawn")["reason"]
    run.check("Could not open the shared memory" in reason, f"the reason is: {reason}")
    run.check(victim.read_bytes() == content, "the file was written to")
    (run.work / "stop").touch()
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    checks.pass_line(run, job, 0, 2)


# ---- the driver of phases ------------------------------------------------------------------------

SOURCES = Path(__file__).resolve().parents[3] / "src"


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
    """Where a program of phases is, and what its phases take, seen from outside: not the places that it calls MPI from."""
    path = run.folder / "samples"
    job = run.mpiexec(["--adapt-performance", str(path)])
    job.await_line("^READY$")

    def newest() -> dict[str, Any]:
        lines = path.read_text().splitlines() if path.exists() else []
        return json.loads(lines[-1]) if lines else {}

    def await_once(name: str, element: int) -> None:
        """A rigid phase without condition: known although nothing is measured in it, and left when the file is there."""

        def is_there() -> dict[str, Any] | None:
            phase = newest().get("phase")
            return phase if phase and (phase["element"], phase["processes"]) == (element, 3) else None

        phase = run.await_value(is_there, f"a sample in {name}")
        told = (phase["name"], phase["rigid"], phase["iteration"], phase["total"], phase["iteration_us"])
        run.check(told == (name, True, 0, 1, None), f"the phase is {phase}")
        table = run.elastic("loops", str(run.step()["step"]))
        run.check(f"\nphase {name}, a rigid phase\n" in table.stdout, f"loops says {table.stdout}{table.stderr}")
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
    told = {loop["name"]: (loop["items"], loop["parent"], loop["ranks"]) for loop in phases}
    wanted = {"solve": (["elastic_phase"], None, "0-2")}
    wanted |= {name: (["rigid_phase"], None, "0-2") for name in ("setup", "between", "output")}
    run.check(told == wanted, f"the loops are {told}")
    run.check(not any(loop["iterations"] for loop in phases if loop["name"] != "solve"), f"the loops are {phases}")
    solve = next(loop for loop in phases if loop["name"] == "solve")
    run.check(0 < solve["mpi_us"] <= solve["loop_us"] and solve["iterations"] > 0, f"the phase took {solve}")
    run.check(elastic["iterations"] >= solve["iterations"], f"more of the phase than of the loop: {first['loops']}")

    def goes_on() -> bool:
        later = known()
        return later is not None and later["phase"]["iteration"] > phase["iteration_max"]

    run.await_value(goes_on, "a later iteration")
    table = run.elastic("loops", str(run.step()["step"]))
    said = re.search(r"^phase solve: \d+ of 1000000 iterations, about \d+ h left$", table.stdout, re.MULTILINE)
    run.check(said is not None, f"loops says {table.stdout}{table.stderr}")
    (run.work / "solve").touch()
    await_once("between", 3)
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")


@scenario
def epop_same_share(run: TestRun) -> None:
    """M5: the same iterations by hand and as a phase, of which it is known how much time is MPI's: the same is measured.

    Both run at the same time, so that whatever else the machine does meets both.  They sleep, and leave cores free.
    """
    source = SOURCES.parent / "bench" / "phases" / "phases.c"
    styles = {"probe": [], "work": ["-DPHASES_EPOP", "-lepop", "-ladapt_data"]}
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
            done = run.elastic("loops", str(row["step"]), "--json")
            for loop in json.loads(done.stdout).get("loops", []) if done.returncode == 0 else []:
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
    # processes that a busy machine wakes late let the others wait: more time in MPI, of both alike
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
    try:
        packages = debian_packages(["libmpich12", "libmpich-dev", "mpich"], "4.0.2")
    except AptError as error:
        raise Skip(str(error)) from error
    top = run.folder / "debian"
    for package in packages:
        subprocess.run(["dpkg", "-x", str(package), str(top)], check=True)
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
        # What Debian's library needs is not here.  Ours has its names; what was compiled for Debian's calls nothing else.
        run.environment["LD_LIBRARY_PATH"] = str(run.setting.prefix / "lib")
        mpiexec = str(run.setting.prefix / "bin" / "mpiexec")
    job = run.start([mpiexec, "-n", str(run.test.processes), str(driver / "epop"), "--check", "archive"])
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    run.check(job.lines == [f"PASS {run.test.processes} 10"], f"it says {job.lines}")


@scenario
def data_stub(run: TestRun) -> None:
    """Programs without #ifdef, in C and Fortran, and the library compiled with Debian's MPI: the world never changes, and
    they print the same."""
    try:
        packages = debian_packages(["libmpich12", "libmpich-dev", "mpich"], "4.0.2")
    except AptError as error:
        raise Skip(str(error)) from error
    top = run.folder / "debian"
    for package in packages:
        subprocess.run(["dpkg", "-x", str(package), str(top)], check=True)
    libraries = next(top.glob("usr/lib/*-linux-gnu"))
    include = top / "usr" / "include" / libraries.name / "mpich"
    modules = next(libraries.glob("fortran/gfortran-mod-*/mpich"))
    link = [f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-Wl,--allow-shlib-undefined"]
    library = run.folder / "library"
    words = [f"BUILD={library}", "CC=gcc", "CFLAGS=-O1", "FC=gfortran", "RIGID=1", f"MPI_INCLUDE={include}"]
    made = run.start(["make", "-s", "-f", str(SOURCES / "adapt_data" / "Makefile"), *words])
    run.check(made.wait() == 0 and not made.err, f"the library does not compile: {made.err}")
    before, _ = _converted(run, 0)
    headers = [f"-I{folder}" for folder in (include, SOURCES / "adapt_data")]
    source = Path(__file__).resolve().parents[1] / "programs" / "data_stub.f90"
    in_c, in_fortran = run.work / "stub_c", run.work / "stub_fortran"
    strict = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", *headers, str(run.work / "after.c")]
    compiled = run.start(["gcc", *strict, "-o", str(in_c), f"-L{library}", "-ladapt_data", *link, "-lmpich"])
    run.check(compiled.wait() == 0, f"the program in C does not compile: {compiled.err}")
    strict = [f"-I{modules}", f"-I{library}", f"-J{run.work}", str(source)]
    compiled = run.start(["gfortran", *strict, "-o", str(in_fortran), f"-L{library}", "-ladapt_data", *link, "-lmpichfort", "-lmpich"])
    run.check(compiled.wait() == 0, f"the program in Fortran does not compile: {compiled.err}")
    mpiexec = str(top / "usr" / "bin" / "mpiexec.hydra")
    if run.start([str(in_c), "1"]).wait() == 127:
        # What Debian's library needs is not here.  Ours has its names; what was compiled for Debian's calls nothing else.
        run.environment["LD_LIBRARY_PATH"] = str(run.setting.prefix / "lib")
        mpiexec = str(run.setting.prefix / "bin" / "mpiexec")
    for stub, ours, amount in ((in_c, before, "50"), (in_fortran, Path(run.program()), "10")):
        lines = [run.mpiexec([], [amount], 2, str(ours)), run.start([mpiexec, "-n", "2", str(stub), amount])]
        run.check(all(job.wait() == 0 for job in lines), f"{stub.name}: exit codes {[job.process.returncode for job in lines]}")
        run.check(lines[0].lines == lines[1].lines and len(lines[0].lines) == 1, f"{stub.name}: {lines[1].lines}, not {lines[0].lines}")


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
    """E1: what is an archive, where it is looked for, and which message comes for what is none; before MPI, with code 2."""
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
        ("libc.so.6", "there is no such file"),  # not looked for in the folders of libraries
        ("text", "cannot be loaded as an archive"),
        ("undefined", "undefined symbol: nowhere"),
        ("empty", "it has no function get_program"),
        ("headless", "was not compiled with epop.h"),
        ("old", "epop.h of version 77, and this driver is of version 2"),
        ("null", "get_program has given NULL"),
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
    told = re.search(r"joins a program of another structure: it has (\w{16}), the others have (\w{16})", job.err)
    run.check(told and told[1] != told[2], f"it says {job.err!r}")


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
    """What came out of `job` is what comes out without adaptations, on one process and on four."""
    told = re.fullmatch(rf"{name}: after (\d+) (.*)", job.lines[-1])
    run.check(told, f"it says {job.lines[-1]}")
    assert told
    mpiexec, (plain, phases) = str(run.setting.prefix / "bin" / "mpiexec"), others
    for n, other in (("1", phases), ("4", plain)):
        rigid = run.start([mpiexec, "-n", n, *other, *run.test.arguments[:2], f"--{count}", told[1]])
        run.check(rigid.wait() == 0, f"exit code {rigid.process.returncode}")
        run.check(rigid.lines[-1] == job.lines[-1], f"{rigid.lines[-1]} without adaptations, {job.lines[-1]} with")


@scenario
def epop_example(run: TestRun, name: str, count: str, moved: str = "") -> None:
    """A case study, by hand and as phases: what comes out has the same bits as without adaptations.  `count` is the option
    that states how long it runs, `moved` the number of rows that its windows send."""
    commands = _case_study(run, name)
    for command in commands:
        job = _adapt_study(run, command)
        wanted = f"{name}: {len(run.test.changes)} adaptations" + (f", {moved} rows moved" if moved else "")
        run.check(job.lines[-2] == wanted, f"it says {job.lines[-2:]}")
        _same_bits(run, name, count, job, commands)


def _loops_logged(path: Path) -> set[str]:
    """Of a process' log, its loops by the places of their heads."""
    lines = path.read_text().splitlines()
    first, end = (next(i for i, line in enumerate(lines) if line.startswith(word)) for word in ("Sites ", "Loops "))
    places = dict(line.split(": ", 1) for line in lines[first + 1 : end])
    return {places[line.split(":")[0]] for line in lines[end + 1 :] if ":" in line}


@scenario
def cannon_loops(run: TestRun) -> None:
    """SPEC-performance G, figure 14.4: put together, the loops of a multiplication are those of all processes, and each process
    has found the same ones by itself.  (That what one process alone does stays its own: scenario samples.)"""
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
        names = {re.sub(r"(?<=P2P ).*/", "", place) for place in found}
        run.check(names == heads, f"rank {rank} has the loops {names}, all together {heads}")


def _owners(world: list[int], n: int, split: int) -> dict[int, int]:
    """Of rows `split` to n - 1, evenly."""
    left, size = n - split, len(world)
    ranges = [(split + rank * left // size, split + (rank + 1) * left // size) for rank in range(size)]
    return {row: process for process, (low, high) in zip(world, ranges, strict=True) for row in range(low, high)}


def _rows_moved(n: int, places: list[tuple[int, int]], changes: list[schedule.Change]) -> int:
    """The rows whose owner changes, by windows before these columns of these systems: what is left is split evenly, what
    is finished stays, or goes to the one before who stays.  Processes have the numbers in which they came."""
    world, moved, split, system = list(range(changes[0].before)), 0, 0, 1
    born, finished = len(world), dict[int, int]()
    for change, (column, now) in zip(changes, places, strict=True):
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
        heirs = {
            process: next((other for other in reversed(world[:rank]) if other in staying), coming[0])
            for rank, process in enumerate(world)
        }
        finished = {row: owner if owner in staying else heirs[owner] for row, owner in finished.items()}
        world, split = coming, column
    return moved


@scenario
def epop_balance(run: TestRun) -> None:
    """C6, --balance: after each window nobody has more than an even part of what is left, only rows whose owner changes have
    been sent, and the solutions have the same bits."""
    commands = _case_study(run, "gauss")
    line = r"gauss: (\d+) processes from column (\d+) of system (\d+) on, with up to (\d+) rows each"
    n, changes = int(run.test.arguments[1]), run.test.changes
    for command in commands:
        job = _adapt_study(run, command)
        found = [match for each in job.lines if (match := re.fullmatch(line, each))]
        told = [tuple(int(number) for number in match.groups()) for match in found]
        sizes = [changes[0].before, *(change.size for change in changes)]
        run.check([size for size, *_ in told] == sizes, f"it says {job.lines}")
        for size, column, _, most in told:
            run.check(most == -(-(n - column) // size), f"{most} of {n - column} rows on one of {size} processes")
        moved = _rows_moved(n, [(column, system) for _, column, system, _ in told[1:]], changes)
        wanted = f"gauss: {len(changes)} adaptations, {moved} rows moved"
        run.check(job.lines[-2] == wanted, f"it says {job.lines}, but should {wanted}")
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
    run.check(job.lines[-2] == f"cg: {len(run.test.changes)} adaptations", f"it says {job.lines}")
    told = re.fullmatch(r"cg: after (\d+) systems the solutions are [0-9A-F]{16}", job.lines[-1])
    run.check(told, f"it says {job.lines}")
    assert told
    seen = [int(line.split()[1]) for line in job.lines if " processes after iteration " in line]
    run.check(seen == [change.size for change in run.test.changes], f"it says {job.lines}")
    for processes in ("1", "3"):
        mpiexec = [str(run.setting.prefix / "bin" / "mpiexec"), "-n", processes]
        rigid = run.start([*mpiexec, str(program), run.test.arguments[0], told[1]])
        run.check(rigid.wait() == 0, f"exit code {rigid.process.returncode}")
        run.check(rigid.lines[-1] == job.lines[-1], f"{rigid.lines[-1]} without adaptations, {job.lines[-1]} with")


@scenario
def epop_no_square(run: TestRun) -> None:
    """C4: a number of processes that makes no square grid is refused at launch, and never comes about later."""
    folder = run.work / "examples"
    words = [f"MPICC={run.setting.prefix / 'bin' / 'mpicc'}", f"BUILD={folder}", str(folder / "cannon.epop")]
    made = run.start(["make", "-s", "-C", str(EXAMPLES), *words])
    run.check(made.wait() == 0, f"cannon does not compile: {made.err}")
    mpiexec, driver = (str(run.setting.prefix / "bin" / word) for word in ("mpiexec", "epop"))
    job = run.start([mpiexec, "-n", "3", driver, str(folder / "cannon")])
    run.check(job.wait() == 1, f"exit code {job.process.returncode}")
    options = ["--adapt-schedule", "3,4", "--adapt-log", str(run.log_path)]
    job = run.start([mpiexec, "-n", "1", *options, driver, str(folder / "cannon"), "--adaptations", "1", "--sleep", "5"])
    run.check(job.wait() == 0 and "the program cannot use 3" in job.err, f"it says {job.err!r}")
    sizes = [event["size"] for event in run.events() if event["event"] == "committed"]
    run.check(sizes == [4], f"sizes {sizes}")


EPOP_PAGE = SOURCES.parent / "doc" / "user" / "epop.md"


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
    said = "".join(job.err) if job.wait() == 2 else f"exit code {job.process.returncode}"
    run.check("loop_total, after " in said and "is not the same on all ranks" in said, f"it says {said}")


@scenario
def epop_page(run: TestRun) -> None:
    """The page's two programs compile and come to the same result with and without adaptations."""
    text = EPOP_PAGE.read_text(encoding="utf-8")
    options = {"c": ["mpicc", "-std=gnu11", "-ladapt_data"], "cpp": ["mpicxx", "-std=c++20"]}
    for kind, (compiler, standard, *libraries) in options.items():
        (piece,) = re.findall(rf"^```{kind}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        source = run.work / f"page.{kind}"
        source.write_text(piece, encoding="utf-8")
        words = [standard, "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", str(source), "-o", f"{kind}.epop"]
        done = run.start([str(run.setting.prefix / "bin" / compiler), *words, *libraries])
        run.check(done.wait() == 0, f"the page's program in {kind} does not compile: {done.err}")
    mpiexec, driver = (str(run.setting.prefix / "bin" / word) for word in ("mpiexec", "epop"))
    job = run.start([mpiexec, "-n", "2", driver, "--check", "cpp"])
    run.check(job.wait() == 0 and job.lines == [f"sum {sum(range(3000))}"], f"cpp: it says {job.lines} {job.err}")
    for steps in (2000, 20000, 200000, 2000000):  # until the program is longer than its adaptations
        run.log_path.unlink(missing_ok=True)
        options = ["--adapt-schedule", "4,1", "--adapt-log", str(run.log_path)]
        job = run.start([mpiexec, "-n", "2", *options, driver, "c", str(steps)])
        run.check(job.wait() == 0, f"exit code {job.process.returncode}")
        sizes = [event["size"] for event in run.events() if event["event"] == "committed"]
        heights = sum(steps * (i % 7) + steps // 5 * 10 for i in range(1000))
        wanted = f"waves: {steps} steps, {[2, *sizes][-1]} processes, sum {heights}"
        run.check(job.lines == [wanted], f"it says {job.lines}, expected {wanted}")
        if len(sizes) == 2:
            return
    run.fail("the adaptations were not all committed")


# ---- published interfaces of process sets --------------------------------------------------------------------


@scenario
def stairs(run: TestRun, times: str) -> None:
    """SM1: one more each time up to the greatest size of the range, then one fewer down to the least."""
    low, high = (int(size) for size in run.test.options[run.test.options.index("--adapt-range") + 1].split(":"))
    job = run.mpiexec([*run.test.options, "--adapt-log", str(run.log_path)])
    checks.exit_code(run, job)
    sizes = [event["size"] for event in run.events() if event["event"] == "committed"]
    size, step, expected = run.test.processes, 1, []
    for _ in range(int(times)):
        step = -1 if size == high else 1 if size == low else step
        size += step
        expected.append(size)
    # one more may be under way when the program has seen enough
    run.check(sizes[: int(times)] == expected, f"sizes {sizes}, not {expected}")
    run.check(f"{times} changes, {size} processes at the end" in job.lines, "the program saw other changes")


def _states(run: TestRun, path: Path) -> list[tuple[str, str]]:
    """The letters and the event's name of each line of a log of states; its header is read."""
    lines = path.read_text(encoding="utf-8").splitlines()
    run.check("\x1b" not in "".join(lines), "there are colours in a file")
    begin = next((i for i, line in enumerate(lines) if set(line) == {"="}), -1) + 1
    run.check(begin > 2 and lines[0].split() == ["TIME", "STATE", "EVENT"], f"the header is {lines[:4]}")
    parsed = []
    for line in lines[begin:]:
        match = re.fullmatch(r" *(\d+\.\d+)ms ([IPRSA]+) (\w+).*", line)
        if match is None:
            run.fail(f"a line is '{line}'")
        parsed.append((match.group(2), match.group(3)))
    return parsed


def _daemons(job: Job) -> list[int]:
    """mpiexec's proxies."""
    command = ["ps", "-o", "pid=,comm=", "--ppid", str(job.process.pid)]
    rows = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    return [int(row.split()[0]) for row in rows if row.split()[1].startswith("hydra_pmi")]


@scenario
def sets_daemon_lost(run: TestRun) -> None:
    """SF4: a proxy is killed; the job ends with a report, and nothing is left."""
    job = run.mpiexec()
    job.await_line("^READY ", run.test.processes)
    os.kill(_daemons(job)[-1], signal.SIGKILL)
    checks.exit_code(run, job)
    checks.patterns(run, job.err, run.test.errors, "standard error")


@scenario
def lost_while_all_wait(run: TestRun, what: str) -> None:
    """SF4: each process waits in another call for what does not come, a joining one to be accepted, when mpiexec or a
    proxy is killed: all end, and nothing is left."""
    job = run.mpiexec([*run.test.options, "--adapt-log", str(run.log_path)])
    job.await_line("^WAITS$", run.test.processes)
    run.await_event("ready")
    if what == "mpiexec":
        job.signal(signal.SIGKILL)
    else:
        os.kill(_daemons(job)[1], signal.SIGKILL)
    checks.exit_code(run, job)
    run.await_value(lambda: not processes.await_gone(run.marker, 1), "end of all processes")
    run.check("CAME" not in job.lines, "what did not come has come")


@scenario
def psets_listed(run: TestRun) -> None:
    """SM3: the sets can be observed from outside, and the log tells of their beginning and end."""
    job = run.mpiexec([*run.test.options, "--adapt-log", str(run.log_path)])
    job.await_line("^READY ", run.test.processes)
    listed = run.elastic("psets", str(run.step()["step"]))
    for uid in range(run.test.processes):
        found = re.search(rf"^mpix://op/{uid}\.1 +{run.test.processes} +running ", listed.stdout, re.MULTILINE)
        run.check(found, f"the set of process {uid} is not listed: {listed.stdout}")
    (run.work / "go").touch()
    checks.exit_code(run, job)
    made = [event["name"] for event in run.events() if event["event"] == "set_made"]
    run.check(len(made) == run.test.processes, f"made: {made}")


def _looks(run: TestRun) -> int:
    """How often mpiexec has been queried for a set by its name."""
    sockets = run.await_value(lambda: list(run.runtime.glob("elastic-mpich-*/*.sock")), "the step's socket")
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(run.time_left())
        client.connect(str(sockets[0]))
        client.sendall(b'{"id":1,"op":"psets"}\n')
        with client.makefile() as lines:
            for line in lines:
                answer = json.loads(line)
                if answer.get("id") == 1:
                    return int(answer["looks"])
    run.fail("mpiexec does not answer")


@scenario
def looks_counted(run: TestRun, wanted: str) -> None:
    """Costs of Part A: a fresh name that all processes request at once is one question of each daemon."""
    job = run.mpiexec([*run.test.options, "--adapt-log", str(run.log_path)])
    job.await_line("^READY$")
    before = _looks(run)
    (run.work / "go").touch()
    job.await_line("^LOOKED$")
    asked = _looks(run) - before
    (run.work / "end").touch()
    checks.result(run, job)
    run.check(asked == int(wanted), f"{asked} questions, not {wanted}")


@scenario
def psets_of_windows(run: TestRun) -> None:
    """SM3: a job with windows is queried for its sets, of which its program has made none; it goes on."""
    job = _serve(run, 2)
    name = str(run.step()["step"])
    for _ in range(2):
        listed = run.elastic("psets", name)
        run.check(listed.returncode == 0 and "app://" not in listed.stdout, f"psets: {listed.stdout}{listed.stderr}")
        done = run.elastic("resize", name, "3" if run.step()["size"] == 2 else "2", "--wait")
        run.check(done.returncode == 0, f"resize: {done.stdout}{done.stderr}")
    _stop(run, job, 2, 2)


@scenario
def one_at_a_time(run: TestRun) -> None:
    """SR5: no change is requested before the one before has ended, and each is notified, accepted and committed in order."""
    job = run.mpiexec([*run.test.options, "--adapt-log", str(run.log_path)])
    checks.result(run, job)
    names = [event["event"] for event in run.events()]
    steps = [name for name in names if name in ("requested", "told", "accepted", "committed")]
    wanted = ["requested", "told", "accepted", "committed"] * len(run.test.changes)
    run.check(steps == wanted, f"the changes went {steps}")


@scenario
def leaver_stays(run: TestRun) -> None:
    """SL3: who is to leave and does not end is reported, and nothing is ended."""
    run.environment["MPIEXEC_ADAPT_BEHIND"] = "500ms"
    job = run.mpiexec([*run.test.options, "--adapt-log", str(run.log_path)])

    def names_leaver(event: dict[str, Any]) -> bool:
        return any(entry["kind"] == "leaving" for entry in event["ranks"])

    report = run.await_event("behind", where=names_leaver)
    run.check([entry["rank"] for entry in report["ranks"]] == [3], f"reported are {report['ranks']}")
    run.await_value(lambda: re.search(r"have not ended: rank 3 on node ", job.err), "report on standard error")
    run.check(job.process.poll() is None, "the job was ended")
    (run.work / "reported").touch()
    checks.result(run, job)


@scenario
def leaver_unheard(run: TestRun) -> None:
    """SL3: who is to leave dies before its proxy has heard that it was let go; the others go on."""
    job = run.mpiexec([*run.test.options, "--adapt-log", str(run.log_path)])
    (line,) = job.await_line(r"^LEAVER \d+$")
    job.await_line("^TOLD$")
    daemon, leaver = _daemons(job)[-1], int(line.split()[1])
    os.kill(daemon, signal.SIGSTOP)
    (run.work / "accept").touch()
    run.await_event("accepted")
    run.await_value(lambda: not _lives(leaver), "end of the leaving process")
    os.kill(daemon, signal.SIGCONT)
    checks.exit_code(run, job)
    checks.patterns(run, job.out, run.test.expect, "standard output")
    checks.ends(run, ["committed"])


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


@scenario
def joiner_dies(run: TestRun, stage: str) -> None:
    """SF2: a joining process is killed at this step of its addition; the job goes on, and the next one works."""
    job = run.mpiexec(["--adapt-schedule", "4,3", "--adapt-log", str(run.log_path)], ["--stage", stage])
    number = "2" if stage == "joining" else "3"
    (started,) = job.await_line(rf"^STARTED {number} \d+$")
    pid = int(started.split()[2])
    if stage == "joining":
        job.await_line("^OPENING 2$")
    elif stage == "offered":
        run.await_event("ready", 2)
    elif stage != "launching":
        job.await_line("^TOLD$")
    if stage in ("taken", "meeting"):
        os.kill(pid, signal.SIGSTOP)  # before it is let go
        (run.work / "accept").touch()
        run.await_event("accepted")
    if stage != "launching":
        os.kill(pid, signal.SIGKILL)
    run.await_event("failed")
    (run.work / "over").touch()
    checks.exit_code(run, job)
    checks.patterns(run, job.out, ["^PASS session_joiner_dies$"], "standard output")
    checks.ends(run, ["failed", "committed"])


@scenario
def state_log(run: TestRun, how: str = "option") -> None:
    """SM2: replaying the log of states gives the sizes of the adapt log."""
    path = run.work / "states"
    high = int(run.test.options[run.test.options.index("--adapt-range") + 1].split(":")[1])
    options = [*run.test.options, "--adapt-log", str(run.log_path)]
    if how == "option":
        options += ["--sets-log", str(path)]
    else:
        run.environment["MPIDYNRES_STATELOG"] = str(path)
    job = run.mpiexec(options)
    checks.exit_code(run, job)
    states, events = _states(run, path), run.events()
    in_order = "increase-decrease" in run.test.options  # SM1: into the lowest places, from the highest
    run.check([name for _, name in states] == [event["event"] for event in events], "other events than in the adapt log")
    run.check(any(set(letters) & set("P") for letters, _ in states), "nobody was reserved")
    run.check(any(set(letters) & set("SA") for letters, _ in states), "nobody was to leave")
    removed = {uid for event in events if event["event"] == "freed" for uid in event["uids"]}
    program_ends = False
    for (letters, name), event in zip(states, events):
        run.check(len(letters) == high, f"{len(letters)} places, not {high}")
        program_ends = program_ends or (name == "exited" and event["uid"] not in removed)
        fits = re.fullmatch("R+(P*|[SA]*)I*", letters) or program_ends or not in_order
        run.check(fits, f"'{letters}' at '{name}': not the lowest free, or the highest place")
        if name == "committed" and not program_ends:
            size = sum(letter in "RSA" for letter in letters)
            run.check(size == event["size"], f"'{letters}' where the adapt log has {event['size']} processes")


@scenario
def state_log_terminal(run: TestRun) -> None:
    """SM2: colours on a terminal; without them it is the log as ever."""
    reader, terminal = os.openpty()
    os.set_blocking(reader, False)
    job = run.mpiexec([*run.test.options, "--sets-log", os.ttyname(terminal)])
    shown = b""
    while job.process.poll() is None:
        run.check(run.time_left() > 0.1, "the job does not end")
        with contextlib.suppress(BlockingIOError):
            shown += os.read(reader, 4096)
        time.sleep(0.01)
    with contextlib.suppress(BlockingIOError):
        while True:
            shown += os.read(reader, 4096)
    os.close(terminal)
    os.close(reader)
    checks.exit_code(run, job)
    run.check(b"\x1b[" in shown, f"there are no colours: {shown[:400]!r}")
    path = run.work / "states"
    path.write_bytes(re.sub(rb"\x1b\[[0-9;]*m", b"", shown).replace(b"\r", b""))
    run.check("committed" in [name for _, name in _states(run, path)], f"it is {shown[:400]!r}")


@scenario
def state_log_unwritten(run: TestRun) -> None:
    """SM2: a log that cannot be written, or that nobody reads, ends; the job goes on."""
    fifo = run.work / "pipe"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
    try:
        for path, why in ((Path("/dev/full"), "No space left on device"), (fifo, "nobody reads it|no room")):
            job = run.mpiexec([*run.test.options, "--sets-log", str(path)])
            checks.exit_code(run, job)
            checks.patterns(run, job.err, [f"--sets-log: unable to write \\(({why})\\); the log ends"], "standard error")
    finally:
        os.close(reader)
    refused = run.mpiexec([*run.test.options, "--sets-log", "no-such-folder/states"])
    run.check(refused.wait() != 0, "a log that cannot be opened is no error")
    checks.patterns(run, refused.err, ["--sets-log.*no-such-folder"], "standard error")
