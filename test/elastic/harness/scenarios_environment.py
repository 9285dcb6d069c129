"""Scenarios: other process managers, tools, output and input, signals, wrong options, containers."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

from . import checks
from .job import Skip, TestRun
from .scenarios import scenario, unpack_debian


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
    mpiexec = unpack_debian(run, "mpich") / "usr" / "bin" / "mpiexec.hydra"
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
    """I3: the resource manager is notified that the job is rigid, and it cannot be resized."""
    options = ["--adapt-log", str(run.log_path)]
    job = run.mpiexec(options, ["--work-ms", "4000"])
    run.await_event("rigid")
    listed = run.elastic("ps", "--json").stdout.splitlines()
    run.check(all(json.loads(row)["mode"] == "rigid" for row in listed), f"ps prints {listed}")
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
    """No invalid read or write, and no use of uninitialised memory."""
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
    """The test makes the very mistake that it searches for, and must find it."""
    job = run.mpiexec()
    run.check(job.wait() != 0, "the mistake was not found")
    checks.patterns(run, job.err, run.test.errors, "standard error")


@scenario
def reported_again(run: TestRun, times: str) -> None:
    """The same job again and again: each time it prints the same."""
    for _ in range(int(times)):
        job = run.mpiexec()
        checks.exit_code(run, job)
        checks.patterns(run, job.err, run.test.errors, "standard error")


@scenario
def no_shared_memory(run: TestRun, size: str = "16k", expected: str = "") -> None:
    """/dev/shm is too small for the segments of a node: MPI_Init reports it, and no process ends by SIGBUS.  With a
    size and a line of output: it is too small for the allocations of the program, which handles the error.  Segments
    have names, as with a separate pid namespace for each process."""
    small = f'mount -t tmpfs -o size={size} tmpfs /dev/shm && exec "$@"'
    words = ["unshare", "-rm", "/bin/sh", "-c", small, "sh", str(run.setting.prefix / "bin" / "mpiexec")]
    job = run.start([*words, "-n", str(run.test.processes), "env", "PMI_PID_NAMESPACE=0", run.program()])
    code = job.wait()
    if expected:
        run.check(code == 0, f"exit code {code}")
        run.check(f"PASS {expected}" in job.lines, "no PASS line")
    else:
        run.check(code not in (0, signal.SIGBUS, 128 + signal.SIGBUS), f"exit code {code}")
    checks.patterns(run, job.err, [r"^shared memory: a segment needs \d+ KiB, and /dev/shm has \d+ KiB left"], "error")


@scenario
def closed_descriptors(run: TestRun) -> None:
    """A wrapper closes the inherited descriptors of the program: the error names the descriptor."""
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
    printed = Counter(job.lines)
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
        run.check(printed[line] == count, f"'{line}' came {printed[line]} times, expected {count}")
    errors = Counter(job.err.splitlines())
    run.check(errors["TO-STDERR NEW"] == 2, "standard error of the launched ones is missing")
    run.check(errors["TO-STDERR JOINING"] == 3, "standard error of the joining ones is missing")
    checks.pass_line(run, job, 1, 5)


@scenario
def other_directory(run: TestRun) -> None:
    """I5: -wdir counts for joining processes."""
    folder = run.work / "folder"
    folder.mkdir()
    job = run.mpiexec(["-wdir", str(folder), "--adapt-schedule", "3"], ["--epochs", "1"], 1)
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    line = f"DIRECTORY {os.path.realpath(folder)}"
    run.check(job.lines.count(line) == 3, f"'{line}' came {job.lines.count(line)} times")


@scenario
def two_programs(run: TestRun) -> None:
    """MPMD: one world of two programs, each with its own arguments, environment and directory, for joining processes too."""
    parts: list[list[str]] = []
    for number, name in enumerate(("first", "second")):
        folder = run.work / name
        folder.mkdir()
        shutil.copy(run.program(), folder / name)
        words = ["-n", str(number + 1), "-env", "ET_WORD", name, "-wdir", str(folder), f"./{name}"]
        parts.append([*words, *run.test.arguments, name])
    command = [str(run.setting.prefix / "bin" / "mpiexec"), *run.test.options, *parts[0], ":", *parts[1]]
    job = run.start(command)
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    printed = Counter(job.lines)
    expected = {"HERE NEW": 3, "HERE JOINING": sum(change.joining for change in run.test.changes)}
    for number, name in enumerate(("first", "second")):
        count = number + 1 + sum(change.joining for change in run.test.changes if change.program == number)
        expected |= {f"APPNUM {number}": count}
        directory = os.path.realpath(run.work / name)
        arguments = "".join(f"[{word}]" for word in (*run.test.arguments, name))
        expected |= {f"ARGUMENTS {arguments}": count, f"WORD {name}": count}
        expected |= {f"DIRECTORY {directory}": count, f"PROGRAM {directory}/{name}": count}
    for line, count in expected.items():
        run.check(printed[line] == count, f"'{line}' came {printed[line]} times, expected {count}")
    checks.pass_line(run, job, len(run.test.changes), run.test.final_size)
    checks.member_lines(run, job, run.test.changes)


@scenario
def whole_output(run: TestRun) -> None:
    """I5: no line of a long output is missing, torn or doubled."""
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
    """I5: output arrives while the program waits for its reader, and a long output arrives completely."""
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
    run.check(len(joined) == 2, f"{len(joined)} joining processes were reported")
    run.check(any("PASS epoch=1 size=4" in line for line in job.lines), "no PASS line")


@scenario
def standard_input(run: TestRun) -> None:
    """Standard input goes to rank 0 only."""
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
    """C3: the stdio buffers of leaving processes are written to their files."""
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
    job.wait()  # with any code: stock mpiexec sometimes returns 0 after a signal
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
    """Each bad option leads to one clear message and a non-zero exit code, and nothing is launched."""
    for options in BAD_OPTIONS:
        shown = " ".join(options)
        marker = run.work / "launched"
        command = [str(run.setting.prefix / "bin" / "mpiexec"), "-n", "2", *options]
        job = run.start([*command, "touch", str(marker)])
        run.check(job.wait() != 0, f"{shown}: exit code 0")
        run.check(not marker.exists(), f"{shown}: the program was launched")
        printed = [line for line in (job.err + job.out).splitlines() if line.strip()]
        run.check(printed, f"{shown}: no message")
        named = any("adapt" in line for line in printed)
        run.check(named, f"{shown}: the message does not name the option: {printed[:2]}")
        crash = re.search(r"Assert|Segmentation|HYD\w+ \(", job.err)
        run.check(not crash, f"{shown}: internal messages: {printed[:2]}")
        run.jobs.pop()


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
    """A host that is split into several nodes, for debugging: an adaptation is withdrawn, with its reason.  That is found
    when the processes prepare, for which a shrink waits."""
    run.environment["MPIEXEC_ADAPT_PREPARE"] = "1m"
    job = run.mpiexec([*run.test.options, "--adapt-log", str(run.log_path)])
    reason = run.await_event("withdrawn")["reason"]
    run.check("Unset MPIR_CVAR_NUM_CLIQUES" in reason, f"the reason is: {reason}")
    (run.work / "stop").touch()
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    checks.pass_line(run, job, 0, run.test.processes)


@scenario
def foreign_descriptor(run: TestRun) -> None:
    """P7: a descriptor that is not the named shared memory is not touched."""
    victim, content = run.work / "victim", bytes(range(256)) * 64
    victim.write_bytes(content)
    job = run.mpiexec([*run.test.options, "--adapt-log", str(run.log_path)])
    reason = run.await_event("withdrawn")["reason"]
    run.check("Could not open the shared memory" in reason, f"the reason is: {reason}")
    run.check(victim.read_bytes() == content, "the file was written to")
    (run.work / "stop").touch()
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    checks.pass_line(run, job, 0, 2)
