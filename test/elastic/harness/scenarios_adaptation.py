"""Scenarios: offers of the step manager, phases, windows, sizes, faults."""

from __future__ import annotations

import contextlib
import random
import re
import shutil
import subprocess
import time
from pathlib import Path

from . import checks, processes
from .job import Job, TestRun
from .scenarios import _serve, _stop, scenario


# ---- the step manager's own offers ---------------------------------------------------------------


@scenario
def policy(run: TestRun, sizes: str) -> None:
    """A policy makes its offers; `sizes` (if given) are the ones that must come, in order."""
    job = run.mpiexec()
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    epochs = int(run.test.arguments[run.test.arguments.index("--epochs") + 1])
    printed = [line for line in job.lines if line.startswith("PASS")]
    run.check(len(printed) == 1 and printed[0].startswith(f"PASS epoch={epochs} "), f"got {printed}")
    got = [event["size"] for event in run.events() if event["event"] == "committed"]
    run.check(len(got) == epochs, f"{len(got)} adaptations were committed, not {epochs}")
    run.check(printed[0].endswith(f"size={got[-1]}"), f"the log ends with size {got[-1]}: {printed[0]}")
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
        positions = [names.index(name) for name in wanted if name in names]
        run.check(
            len(positions) == len(wanted) and positions == sorted(positions),
            f"epoch {change.epoch}: phases {names}, expected {wanted} in this order",
        )
        freed = "freed" in names
        run.check(freed == bool(change.leaving), f"epoch {change.epoch}: freed is {freed}")
        if freed:
            run.check(names.index("freed") > names.index("committed"), "freed before committed")


@scenario
def behind(run: TestRun) -> None:
    """P8: ranks that do not reach the agreed probe are named; nothing is ended."""
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
    inside = r"the adaptation window is open, between begin and commit for .* ms: .*leaving rank 1 on node"
    run.await_value(lambda: re.search(inside, job.err), "report on standard error")
    run.check(job.process.poll() is None, "the job was ended")
    (run.work / "go").touch()
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    checks.pass_line(run, job, 1, 4)


@scenario
def joining_finalizes(run: TestRun) -> None:
    """A joining process that calls MPI_Finalize without begin: the adaptation fails with that reason, the job
    continues."""
    job = run.mpiexec(["--adapt-schedule", "4", "--adapt-log", str(run.log_path)])
    failed = run.await_event("failed")
    run.check("without having called MPI_Comm_adapt_begin" in failed["reason"], f"the reason is {failed['reason']!r}")
    (run.work / "failed").touch()
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    checks.pass_line(run, job, 0, 2)


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
    """A size that the program cannot use is refused with its reason; ps and the events show the rule."""
    job = _serve(run, 2, arguments=("--sizes", "1, 2-9 & multiple:3"))
    reported = run.await_event("sizes")
    run.check(reported["rule"] == "1,2-9&multiple:3", f"the rule is {reported['rule']!r}")
    step = run.step()
    run.check(step["sizes"] == "1,2-9&multiple:3", f"ps prints {step}")
    name = str(step["step"])
    done = run.elastic("resize", name, "4")
    run.check(done.returncode == 1, f"exit code {done.returncode}")
    run.check("cannot use 4 processes" in done.stderr and "3 and 6" in done.stderr, f"it prints {done.stderr!r}")
    for size in ("3", "1"):
        done = run.elastic("resize", name, size, "--wait")
        run.check(done.returncode == 0, f"resize {size}: {done.stderr}")
    _stop(run, job, 2, 1)


@scenario
def verbose_summary(run: TestRun) -> None:
    """-v closes with a summary; without it mpiexec prints nothing of its own."""
    quiet = run.mpiexec(["--adapt-schedule", "3,1"], ["--epochs", "2"], 1, "cycle")
    run.check(quiet.wait() == 0, f"exit code {quiet.process.returncode}")
    run.check(quiet.err == "", f"standard error: {quiet.err[:200]}")
    job = run.mpiexec(["-v", "--adapt-schedule", "3,1"], ["--epochs", "2"], 1, "cycle")
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    text = job.out + job.err
    run.check(re.search(r"2 committed", text), "no summary with -v")


@scenario
def no_host(run: TestRun) -> None:
    """Joining processes on a host that does not exist: the adaptation fails, the job continues."""
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
    """The launcher of a growth that failed fails itself, at the job's end: after mpiexec has searched for events, and before it
    searches for children that have ended.  It is not taken for a launcher of the job."""
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
def ends_in_init(run: TestRun, who: str = "") -> None:
    """A process, of MPI_Comm_spawn if `who` is "spawned", ends in MPI_Init while others wait for it in shared memory: the job
    ends, and no segment is left."""
    library = _interposed(run, "ends_in_init")
    if who:
        run.environment["ENDS_SPAWNED"] = "1"
    job = run.mpiexec(["-disable-auto-cleanup", "-genv", "LD_PRELOAD", library])
    code = job.wait()
    run.check(code == 3, f"exit code {code}")
    of_spawned = " of the spawned processes" if who else ""
    pattern = rf"\(rank 1{of_spawned}\) ended with exit code 3 in MPI_Init, in which the others wait for it"
    checks.patterns(run, job.err, [pattern], "error")
    run.check(not list(Path("/dev/shm").glob("mpich_shar_tmp*")), "a segment is left")


def _end(job: Job) -> None:
    """A job that continues without a joining process ends soon after a signal."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        job.process.wait(timeout=1)
    if job.process.poll() is None:
        job.process.terminate()
    job.wait()


@scenario
def killed_at_random(run: TestRun, times: str) -> None:
    """E4: one process of a job is killed at a random moment of its start, its adaptations or its end: nothing is left, but
    for the socket of a killed mpiexec, which the next one removes."""
    chance, started = random.Random(run.setting.seed), time.monotonic()
    run.environment["MPIEXEC_ADAPT_KILL"] = "500ms"
    run.check(run.mpiexec().wait() == 0, "the job fails when nobody is killed")
    lasts = time.monotonic() - started
    for number in range(int(times)):
        job = run.mpiexec()
        time.sleep(chance.uniform(0, lasts))
        victims = processes.marked(run.marker)
        if victims:
            victim = chance.choice(victims)
            processes.kill([victim])
            run.notes.append(f"job {number + 1}: killed {victim}")
        _end(job)
        left = [each for each in run.leftovers() if not each.endswith(".sock")]
        run.check(not left, f"job {number + 1}: {left}: {run.notes[-1:]}, --seed {run.setting.seed}")
    run.check(run.mpiexec().wait() == 0, "the job fails after all")


@scenario
def two_nics(run: TestRun) -> None:
    """Several network interfaces: an interposed fi_getinfo makes one of them two."""
    library = _interposed(run, "two_nics", "-lfabric")
    options = ["-genv", "LD_PRELOAD", library, "-genv", "MPIR_CVAR_DEBUG_SUMMARY", "1"]
    job = run.mpiexec([*options, *run.test.options])
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    run.check("num_nics: 2" in job.lines, "MPI did not use two interfaces")
    checks.pass_line(run, job, len(run.test.changes), run.test.final_size)


@scenario
def slow_mutex(run: TestRun) -> None:
    """Mutexes that threads initialise at once: an interposed pthread_mutex_init takes its time, from the program's file on."""
    library = _interposed(run, "slow_mutex")
    options = ["-genv", "LD_PRELOAD", library, "-genv", "SLOW_MUTEX", "begin"]
    job = run.mpiexec([*options, *run.test.options])
    run.check(job.wait() == 0, f"exit code {job.process.returncode}")
    run.check("PASS files first" in job.lines, "the program has not passed")


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
    code, printed = job.wait(), f"allocation {number} in {where}"
    if code == 0:
        checks.pass_line(run, job, 1, 4)
        run.check(("FAILED" in job.lines) != ("MISSED" in job.lines), f"{printed}: no word of it")
        return "FAILED" in job.lines
    messages = re.findall(r"Adaptation 1 cannot be completed", job.err)
    run.check(len(messages) == 1, f"{printed}: exit code {code}, {len(messages)} messages")
    return True


@scenario
def faults(run: TestRun, where: str, *numbers: str) -> None:
    """A call that cannot allocate its memory fails and changes nothing, or ends the job with one message.  The numbers
    are of allocations of ours; later ones, of MPICH's communicators, are not all checked by MPICH."""
    reached = [number for number in numbers if _fault(run, where, int(number))]
    run.check(reached, "no fault was reached")
